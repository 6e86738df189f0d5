/** Reports when the event loop stalled, and what for. */
import type { Log } from '@berth/lib/log.ts';
import { longestSection, type SectionTime } from '@berth/lib/turns/sections.ts';

export interface Stall {
  at: Date;
  ms: number;
  /** Processor time of the main thread. */
  cpuMs: number;
  /** An operation id, the name of a loop or of a section without a caller, `host` when the thread hardly ran, or `unknown`. */
  during: string;
  /** The section in which at least half of the time passed. */
  section: SectionTime | null;
}

export interface StallTotals {
  count: number;
  seconds: number;
}

export interface StallWatchOptions {
  log: Log;
  /** A shorter stall is not reported. */
  stallMsMin?: number;
  /** How often the loop is observed. */
  intervalMs?: number;
  /** Processor time of the main thread so far. */
  readCpuMs?: () => number;
}

/** Callers notice half a second, and nothing of ours takes as long. */
const stallMsDefault = 500;
const intervalMsDefault = 50;
/** Stalls that `/health` still reports. */
const recentMs = 10 * 60_000;
const recentMax = 100;

export class StallWatch {
  readonly #log: Log;
  readonly #stallMsMin: number;
  readonly #intervalMs: number;
  readonly #readCpuMs: () => number;
  readonly #totals = new Map<string, StallTotals>();
  #recent: Stall[] = [];
  #timer: NodeJS.Timeout | undefined;
  #lastMs = 0;
  #lastCpuMs = 0;

  constructor({ log, stallMsMin = stallMsDefault, intervalMs = intervalMsDefault, readCpuMs = threadCpuMs }: StallWatchOptions) {
    this.#readCpuMs = readCpuMs;
    this.#log = log;
    this.#stallMsMin = stallMsMin;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    [this.#lastMs, this.#lastCpuMs] = [performance.now(), this.#readCpuMs()];
    this.#timer = setInterval(() => this.#observe(), this.#intervalMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Stalls since the start, by what they were for. */
  get totals(): ReadonlyMap<string, StallTotals> {
    return this.#totals;
  }

  /** Stalls of the last ten minutes, oldest first. */
  recent(): readonly Stall[] {
    const since = Date.now() - recentMs;
    this.#recent = this.#recent.filter(({ at }) => at.getTime() >= since);
    return this.#recent;
  }

  #observe(): void {
    const [nowMs, cpuMs] = [performance.now(), this.#readCpuMs()];
    const [fromMs, fromCpuMs] = [this.#lastMs, this.#lastCpuMs];
    [this.#lastMs, this.#lastCpuMs] = [nowMs, cpuMs];
    const ms = nowMs - fromMs - this.#intervalMs;
    if (ms < this.#stallMsMin) return;
    this.#report(attribute({ ms, cpuMs: cpuMs - fromCpuMs, longest: longestSection(fromMs, nowMs) }));
  }

  #report(stall: Stall): void {
    const { ms, cpuMs, during, section } = stall;
    this.#recent = [...this.recent(), stall].slice(-recentMax);
    const fields = {
      ms: Math.round(ms),
      cpu_ms: Math.round(cpuMs),
      during,
      section: section?.name,
      request_id: section?.caller?.requestId,
    };
    this.#log.warn(fields, 'event loop stalled');
    const { count, seconds } = this.#totals.get(during) ?? { count: 0, seconds: 0 };
    this.#totals.set(during, { count: count + 1, seconds: seconds + ms / 1000 });
  }
}

/** Names the cause only where at least half of the time is accounted for. */
function attribute({ ms, cpuMs, longest }: { ms: number; cpuMs: number; longest: SectionTime | null }): Stall {
  const section = longest && longest.ms >= ms / 2 ? longest : null;
  const cause = section ? (section.caller?.name ?? section.name) : 'unknown';
  return { at: new Date(), ms, cpuMs, during: cpuMs < ms / 2 ? 'host' : cause, section };
}

/** Unlike the time that passed, it stands still while the host runs something else. */
function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
