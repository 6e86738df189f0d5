/** What goes wrong with a service under test, and exactly where. */
import type { Dice } from './dice.ts';

/** Tables that money and its permissions are kept in: where a fault is worth most. */
export const tables = [
  'credit_journal',
  'wallets',
  'credit_holds',
  'credit_codes',
  'promo_codes',
  'billing_events',
  'usage_meters',
  'usage_months',
  'audit_log',
  'api_keys',
  'owners',
  'idempotency_keys',
  'sessions',
] as const;
export type Table = (typeof tables)[number];

export interface FaultPoint {
  /** A statement that names the table, or the commit of a transaction that has named it. */
  at: 'statement' | 'commit';
  table: Table;
  /** Before it is sent, when it was sent and nothing is known of it, or when it was answered. */
  moment: 'before' | 'sent' | 'after';
  /** Which of them, counted from 1. */
  nth: number;
}

/** `kill`: the process, at once. `cut`: the database drops the connection. `slow`: the database takes its time. */
export type Fault = FaultPoint & { what: 'kill' | 'cut' | 'slow' };

/** How long a slow statement takes. */
export const slowMs = 500;

/** One life of the service, from its start to its end. */
export interface LifePlan {
  faults: Fault[];
  /** Killed from outside after so many replies, wherever it is by then; null: not by this. */
  repliesMax: number | null;
  /** How far the wall clock has jumped since the life before. */
  jumpMs: number;
  /** Whether it comes back as another worker, and the one before is dead for good. */
  isOther: boolean;
  /** How many serve at once. Faults hit the first of them, and all die with it. */
  workers: 1 | 2;
}

const minuteMs = 60_000;
/** Within this time claims of a dead life on idempotency keys are given up. */
const usualJumpMs = 10 * minuteMs;
const jumps = { usual: usualJumpMs, hour: 60 * minuteMs, back: -60 * minuteMs, month: 31 * 24 * 60 * minuteMs };

/** How often a point of this table is chosen, and how often it is named in a hundred requests: in statements, and in transactions that are committed. */
const measures: Record<Table, { weight: number; statements: number; commits: number }> = {
  credit_journal: { weight: 8, statements: 11, commits: 5 },
  wallets: { weight: 6, statements: 12, commits: 6 },
  credit_holds: { weight: 6, statements: 12, commits: 5 },
  credit_codes: { weight: 3, statements: 9, commits: 8 },
  promo_codes: { weight: 2, statements: 7, commits: 3 },
  billing_events: { weight: 3, statements: 12, commits: 10 },
  usage_meters: { weight: 2, statements: 6, commits: 2 },
  usage_months: { weight: 2, statements: 6, commits: 2 },
  audit_log: { weight: 3, statements: 37, commits: 32 },
  api_keys: { weight: 2, statements: 6, commits: 5 },
  owners: { weight: 2, statements: 60, commits: 12 },
  idempotency_keys: { weight: 6, statements: 34, commits: 0 },
  sessions: { weight: 3, statements: 36, commits: 21 },
};
const weights = Object.fromEntries(tables.map((table) => [table, measures[table].weight])) as Record<Table, number>;

function makePoint(dice: Dice, requests: number): FaultPoint {
  const table = dice.weighted(weights);
  const { statements, commits } = measures[table];
  const at = commits > 0 && dice.chance(0.35) ? 'commit' : 'statement';
  const times = ((at === 'commit' ? commits : statements) * requests) / 100;
  return { at, table, moment: dice.pick(['before', 'sent', 'after']), nth: dice.whole(1, Math.max(1, Math.ceil(times))) };
}

/** The lives of a service that is asked so much: each but the last ends by a kill. */
export function makeLives(dice: Dice, requests: number): LifePlan[] {
  const kills = dice.whole(3, 5);
  const isShared = dice.chance(0.25);
  // One month at most: of those that are long past only the sums are kept.
  const monthAt = dice.chance(0.25) ? dice.whole(1, kills - 1) : null;
  // A kill costs some of what was asked.
  const each = Math.ceil((1.2 * requests) / (kills + 1));
  return Array.from({ length: kills + 1 }, (_, life) => {
    const isLast = life === kills;
    const disturbances = Array.from({ length: dice.whole(0, 3) }, (): Fault => ({
      ...makePoint(dice, each),
      what: dice.chance(0.6) ? 'cut' : 'slow',
    }));
    const kill: Fault[] = isLast ? [] : [{ ...makePoint(dice, each), what: 'kill' }];
    const jump = life === monthAt ? 'month' : dice.weighted({ usual: 12, hour: 2, back: isLast ? 0 : 1 });
    return {
      // Claims that a cut has left behind are given up in the next life, so there is one.
      faults: isLast ? disturbances.filter(({ what }) => what === 'slow') : [...disturbances, ...kill],
      repliesMax: isLast ? null : dice.whole(each, 2 * each),
      // The last one comes after every clock that there was.
      jumpMs: isLast ? 3 * jumps.hour : jumps[jump],
      isOther: life > 0 && dice.chance(0.2),
      workers: isShared && life > 0 ? 2 : 1,
    };
  });
}

/** As a plan tells it. */
export const faultText = ({ what, at, table, moment, nth }: Fault): string =>
  `${what} ${moment === 'sent' ? 'with' : moment} ${at} ${nth} on ${table}`;
