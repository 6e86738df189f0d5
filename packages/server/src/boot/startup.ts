/** The steps of a start: logged as they begin, shown to callers that come early, and measured. */
import type { Log } from '@berth/lib/log.ts';

export class Startup {
  readonly #log: Log;
  readonly #running = new Set<string>();
  readonly #ms: Record<string, number> = {};

  constructor(log: Log) {
    this.#log = log;
  }

  /** What runs now, such as `opening the database`. */
  get note(): string {
    return this.#running.size === 0 ? 'beginning' : [...this.#running].join(' and ');
  }

  async step<T>(name: string, work: () => Promise<T> | T): Promise<T> {
    const beganMs = performance.now();
    this.#running.add(name);
    this.#log.info({}, name);
    try {
      return await work();
    } finally {
      this.#running.delete(name);
      this.#ms[name] = Math.round(performance.now() - beganMs);
    }
  }

  /** Logs how long the start took since the process began, and its steps. */
  finish(): void {
    this.#log.info({ ms: Math.round(performance.now()), steps_ms: this.#ms }, 'started');
  }
}

/** Waits for all, also when one fails: what the others acquired can then be released. @throws the first failure */
export async function allDone<T extends readonly Promise<unknown>[] | []>(works: T): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }> {
  for (const outcome of await Promise.allSettled<unknown>(works)) if (outcome.status === 'rejected') throw outcome.reason;
  return Promise.all(works);
}
