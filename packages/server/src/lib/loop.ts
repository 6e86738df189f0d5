export interface LoopStatus {
  turns: number;
  lastStartedAt: Date | null;
  /** Of the last turn; null where it went well. */
  lastError: string | null;
  /** Turns in a row that failed. */
  failures: number;
}

/** Fewer failures in a row than this are a blip, such as one lost database connection. */
const failuresBeforeFailing = 3;

/**
 * Work that happens again and again: refill the pool, reap orphans, expire tokens.
 *
 * A loop takes no input. It looks at what is, compares it with what should be,
 * and closes the gap, so a missed nudge, a crash or a second worker changes
 * only when it happens, never what happens. It never retries: the next turn does.
 */
export class Loop {
  readonly name: string;
  readonly everyMs: number;
  readonly #turn: (signal: AbortSignal) => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = new AbortController();
  #errorListener: (error: unknown) => void = () => undefined;
  status: LoopStatus = { turns: 0, lastStartedAt: null, lastError: null, failures: 0 };

  constructor(name: string, everyMs: number, turn: (signal: AbortSignal) => Promise<void>) {
    this.name = name;
    this.everyMs = everyMs;
    this.#turn = turn;
  }

  get failing(): boolean {
    return this.status.failures >= failuresBeforeFailing;
  }

  onError(listener: (error: unknown) => void): void {
    this.#errorListener = listener;
  }

  start(): void {
    this.#timer = setInterval(() => this.nudge(), this.everyMs).unref();
    this.nudge();
  }

  /** Takes a turn soon. Nudges during a turn collapse into one more turn. */
  nudge(): void {
    if (this.#stopped.signal.aborted) return;
    if (this.#running) this.#again = true;
    else this.#running = this.#takeTurns();
  }

  /** Resolves when no turn is under way and none is to come: for tests, which take turns by hand. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopped.abort();
    await this.#running;
  }

  async #takeTurns(): Promise<void> {
    do {
      this.#again = false;
      this.status = { ...this.status, turns: this.status.turns + 1, lastStartedAt: new Date() };
      try {
        await this.#turn(this.#stopped.signal);
        this.status = { ...this.status, lastError: null, failures: 0 };
      } catch (error) {
        this.status = { ...this.status, lastError: String(error), failures: this.status.failures + 1 };
        if (!this.#stopped.signal.aborted) this.#errorListener(error);
      }
    } while (this.#again && !this.#stopped.signal.aborted);
    this.#running = undefined;
  }
}
