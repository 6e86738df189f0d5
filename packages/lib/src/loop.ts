import { runFor } from './turns/sections.ts';
import { detached } from './tracing.ts';

interface LoopStatus {
  turns: number;
  lastStartedAt: Date | null;
  /** End of the last iteration that succeeded. */
  lastSuccessAt: Date | null;
  /** Error of the last iteration; null where it succeeded. */
  lastError: string | null;
  /** Consecutive failed iterations. */
  failures: number;
}

/** Consecutive failures that count. Fewer are transient, such as a lost database connection. */
const failuresBeforeFailing = 3;

/**
 * Periodic work: refill the pool, reap orphans, expire tokens.
 *
 * A loop takes no input. It reconciles the actual state with the desired one, so
 * a missed nudge, a crash or a second worker changes only when something
 * happens, never what happens. There are no retries but the next iteration.
 */
export class Loop {
  readonly name: string;
  readonly intervalMs: number;
  /** Whether a worker on which it fails should get no new work. Where others fail, the worker serves, and something of it is late. */
  readonly isEssential: boolean;
  readonly #iterate: (signal: AbortSignal) => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  /** Time when the next iteration should begin, by `performance.now()`; null while the loop is stopped. */
  #dueMs: number | null = null;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = new AbortController();
  #errorListener: (error: unknown) => void = () => undefined;
  status: LoopStatus = { turns: 0, lastStartedAt: null, lastSuccessAt: null, lastError: null, failures: 0 };

  constructor(name: string, intervalMs: number, turn: (signal: AbortSignal) => Promise<void>, { isEssential = false } = {}) {
    this.name = name;
    this.intervalMs = intervalMs;
    this.isEssential = isEssential;
    this.#iterate = turn;
  }

  get isFailing(): boolean {
    return this.status.failures >= failuresBeforeFailing;
  }

  /** Time since the next iteration was due: it grows while one takes longer than the interval, or hangs. */
  get lagMs(): number {
    return this.#dueMs === null ? 0 : Math.max(0, performance.now() - this.#dueMs);
  }

  onError(listener: (error: unknown) => void): void {
    this.#errorListener = listener;
  }

  start(): void {
    this.#dueMs = performance.now() + this.intervalMs;
    this.#timer = setInterval(() => this.nudge(), this.intervalMs).unref();
    this.nudge();
  }

  /** Starts an iteration now. Nudges during an iteration cause one more. */
  nudge(): void {
    if (this.#stopped.signal.aborted) return;
    if (this.#running) this.#again = true;
    else this.#running = this.#runIterations();
  }

  /** Resolves when no iteration is running or pending. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#dueMs = null;
    this.#stopped.abort();
    await this.#running;
  }

  async #runIterations(): Promise<void> {
    do {
      this.#again = false;
      if (this.#dueMs !== null) this.#dueMs = performance.now() + this.intervalMs;
      this.status = { ...this.status, turns: this.status.turns + 1, lastStartedAt: new Date() };
      try {
        // A nudge comes from a request, of which this is no part.
        await detached(() => runFor({ name: this.name }, () => this.#iterate(this.#stopped.signal)));
        this.status = { ...this.status, lastSuccessAt: new Date(), lastError: null, failures: 0 };
      } catch (error) {
        this.status = { ...this.status, lastError: String(error), failures: this.status.failures + 1 };
        if (!this.#stopped.signal.aborted) this.#errorListener(error);
      }
    } while (this.#again && !this.#stopped.signal.aborted);
    this.#running = undefined;
  }
}
