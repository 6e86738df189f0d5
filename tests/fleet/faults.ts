/** Faults that a seed plans for the workers of a fleet. */
import type { Random } from '../ledger/random.ts';

/** What happens to a worker, and how it is over. */
export const kinds = {
  /** SIGKILL; it starts again on its data. */
  kill: 5,
  /** SIGSTOP, then SIGCONT. */
  freeze: 4,
  /** Its connections to the database are dropped and refused. */
  cut: 3,
  /** The database does not answer it, and no connection is dropped. */
  silence: 3,
  /** Other workers cannot reach it: their connections are dropped and refused, or get no answer. */
  'cut link': 2,
  'silent link': 2,
  /** Clients cannot reach it; only where it has a network of its own. */
  'cut clients': 0,
  /** Each packet to and from the database takes a fifth of a second longer. */
  slow: 2,
  /** The database drops the connections of all workers and refuses them. */
  restart: 2,
  /** A graceful stop; it starts again with its clock ten minutes ahead or behind. */
  skew: 2,
  /** A graceful stop and start. */
  drain: 2,
  /** A process starts with a copy of its data directory, while the original serves, is frozen, or is cut off from the database. */
  copy: 1,
  'copy of frozen': 1,
  'copy of cut': 1,
};
/** How often each kind is planned. */
export type Weights = typeof kinds;
type Range = readonly [min: number, max: number];
export type FaultKind = keyof typeof kinds;

export interface PlannedFault {
  what: FaultKind;
  /** Index of the worker. */
  worker: number;
  /** Since the round began, or later where the fault before lasts. */
  atMs: number;
  forMs: number;
  /** How far the worker's wall clock is ahead from then on. */
  skewMs: number;
}

export const workersInFleet = 3;
export const slowMs = 200;
const skewMs = 600_000;
/** Longer than it takes to give a silent worker's sessions up. */
const longMs: Range = [10_500, 13_000];
const shortMs: Range = [100, 3000];
const pauseMs: Range = [200, 3000];

/** Faults of each worker, one after another, begun within `withinMs`. Those of different workers overlap. */
export function planFaults(random: Random, withinMs: number, weights: Weights = kinds): PlannedFault[] {
  return Array.from({ length: workersInFleet }, (_, worker) => {
    const own: PlannedFault[] = [];
    for (let atMs = random.integer(...pauseMs); atMs < withinMs;) {
      const what = random.weighted(weights);
      const forMs = random.integer(...(mayBeLong(what) && random.chance(0.25) ? longMs : shortMs));
      own.push({ what, worker, atMs, forMs, skewMs: what === 'skew' ? random.pick([-skewMs, skewMs]) : 0 });
      atMs += forMs + random.integer(...pauseMs);
    }
    return own;
  }).flat();
}

/**
 * What is played without a seed of one's own: two workers lose their leases, each in the middle of its sessions, one frozen and one cut off
 * from the database. The third sees both, is out of the others' reach for a while, and is killed in the end.
 */
export const usualFaults: readonly PlannedFault[] = [
  { what: 'cut', worker: 0, atMs: 2000, forMs: 11_500, skewMs: 0 },
  { what: 'freeze', worker: 1, atMs: 2000, forMs: 11_500, skewMs: 0 },
  { what: 'silent link', worker: 2, atMs: 500, forMs: 1300, skewMs: 0 },
  { what: 'kill', worker: 2, atMs: 13_000, forMs: 200, skewMs: 0 },
];

const mayBeLong = (what: FaultKind): boolean => what !== 'restart' && what !== 'slow';

export const formatFault = ({ what, worker, atMs, forMs, skewMs: skew }: PlannedFault): string =>
  `worker ${worker}: at ${atMs} ms ${what} for ${forMs} ms${skew === 0 ? '' : `, clock ${skew / 60_000} min`}`;
