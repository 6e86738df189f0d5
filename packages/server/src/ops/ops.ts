/** Health checks of this worker. */
import type { Health } from '@berth/contract';
import { abortAfter } from '@berth/lib/deadline.ts';
import type { Disk, DiskLevel } from '../disk/disk.ts';
import type { Fleet } from '../fleet/pool/pool.ts';
import { browserAgeDays, browserAgeDaysMax } from '@berth/machines';
import type { Loop } from '@berth/lib/loop.ts';
import type { Store } from '../store/store.ts';
import type { StallWatch } from './stall-watch.ts';

export interface OpsDeps {
  store: Store;
  fleet: Pick<Fleet, 'stats' | 'lastHeartbeat'>;
  disk: Pick<Disk, 'state'>;
  loops: readonly Loop[];
  stalls: Pick<StallWatch, 'recent'>;
  isDraining: () => boolean;
  nowMs: () => number;
  /** Files of keys that the next start will miss. */
  missingKeys: () => readonly string[];
}

type Check = Health['checks'][string];

const toMegabytes = (bytes: number): number => Math.floor(bytes / 1024 ** 2);
const diskStatus = { ok: 'ok', low: 'degraded', full: 'unhealthy' } as const satisfies Record<DiskLevel, Check['status']>;
const diskNotes: Record<DiskLevel, (megabytesMin: number) => string> = {
  ok: () => '',
  low: (min) => `, less than ${min}: new sessions, jobs and files are refused`,
  full: (min) => `, less than ${min}: the database uses its reserve, everything else is refused`,
};

/** A database that takes longer counts as unavailable. */
const pingMsMax = 2000;

export class Ops {
  readonly #deps: OpsDeps;

  constructor(deps: OpsDeps) {
    this.#deps = deps;
  }

  async health(): Promise<Health> {
    const checks: Record<string, Check> = {
      store: await this.#store(),
      sessions: this.#sessions(),
      machines: this.#machines(),
      disk: this.#disk(),
      drain: this.#drain(),
    };
    const worst = Object.values(checks).map((check) => check.status);
    // A stall is over when it is reported: the worker serves, and removing it would only move the load.
    checks['event_loop'] = this.#eventLoop();
    // What only late work depends on, such as uploads while the bucket is down: it fails on all workers at once.
    checks['loops'] = toCheck(this.#deps.loops.filter(({ isEssential }) => !isEssential));
    // The running service has its keys: without this worker, nobody could read what they seal.
    checks['keys'] = this.#keys();
    // It serves, and the others of a fleet mostly have the same.
    checks['browser'] = this.#browser();
    return { status: worst.includes('unhealthy') ? 'unhealthy' : worst.includes('degraded') ? 'degraded' : 'ok', checks };
  }

  async #store(): Promise<Check> {
    try {
      await this.#deps.store.ping({ signal: abortAfter(pingMsMax) });
      return { status: 'ok', note: 'the database is available' };
    } catch {
      return { status: 'unhealthy', note: 'the database is unavailable' };
    }
  }

  /** Sessions depend on some loops: timers, recovery, the reaper. */
  #sessions(): Check {
    return toCheck(this.#deps.loops.filter(({ isEssential }) => isEssential));
  }

  #machines(): Check {
    const { runtime, machines, failing, templates } = this.#deps.fleet.stats();
    const count = (of: string): number => machines.reduce((sum, { state, count: each }) => (state === of ? sum + each : sum), 0);
    const counts = `${count('ready')} warm, ${count('warming')} warming, ${count('assigned')} in use`;
    const cold = templates.flatMap(({ kind, isCold }) => (isCold ? [kind] : []));
    const troubles = [
      ...failing.map((kind) => `${kind} machines fail to start`),
      ...cold.map((kind) => `${kind} machines are booted cold, without a template`),
    ];
    const note = [`${runtime.name} runtime (${runtime.isolation})`, counts, ...troubles, ...runtime.warnings].join('; ');
    return { status: troubles.length > 0 ? 'degraded' : 'ok', note };
  }

  /** What the host took from the worker is reported, but no fault of the worker. */
  #eventLoop(): Check {
    const stalls = this.#deps.stalls.recent();
    const last = stalls.at(-1);
    if (!last) return { status: 'ok', note: 'no stall in the last ten minutes' };
    const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
    const longest = stalls.reduce((ms, stall) => Math.max(ms, stall.ms), 0);
    const note = `stalled ${stalls.length} times in the last ten minutes, for ${seconds(longest)} at most, last during ${last.during}`;
    return { status: stalls.every(({ during }) => during === 'host') ? 'ok' : 'degraded', note };
  }

  #keys(): Check {
    const missing = this.#deps.missingKeys();
    if (missing.length === 0) return { status: 'ok', note: 'the data directory has its keys' };
    return {
      status: 'degraded',
      note: `missing or damaged in the data directory: ${missing.join(', ')}; restore it before the next start`,
    };
  }

  #browser(): Check {
    const { browser } = this.#deps.fleet.stats().runtime;
    const days = browserAgeDays(browser, this.#deps.nowMs());
    const note = `${browser.version}, ${days} days old`;
    if (days <= browserAgeDaysMax) return { status: 'ok', note };
    return { status: 'degraded', note: `${note}: older than ${browserAgeDaysMax} days, upgrade it` };
  }

  #disk(): Check {
    const { level, freeBytes, freeBytesMin } = this.#deps.disk.state;
    const free = freeBytes === null ? 'not read yet' : `${toMegabytes(freeBytes)} MB free`;
    return { status: diskStatus[level], note: `${free}${diskNotes[level](toMegabytes(freeBytesMin))}` };
  }

  #drain(): Check {
    if (this.#deps.isDraining()) return { status: 'degraded', note: 'shutting down' };
    const { state } = this.#deps.fleet.lastHeartbeat;
    if (state === 'draining') return { status: 'degraded', note: 'drained by its operator: no new work is taken, sessions go on' };
    // Whoever reaches it is served by the others: it need not be left out.
    if (state === 'cordoned') return { status: 'ok', note: 'cordoned by its operator: no new work is taken' };
    return { status: 'ok', note: 'not draining' };
  }
}

function toCheck(loops: readonly Loop[]): Check {
  const failing = loops.filter((loop) => loop.isFailing);
  if (failing.length === 0) return { status: 'ok', note: `${loops.length} loops running` };
  return { status: 'degraded', note: `failing: ${failing.map((loop) => loop.name).join(', ')}` };
}
