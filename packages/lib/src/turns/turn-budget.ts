/** Bounds what one source of work takes of a turn of the event loop, so that a flood of one waits for the next turn and not everybody for the flood. */

/** Time for some dozens of small messages: long beside what a turn itself costs, short beside what a caller notices. */
const turnMsDefault = 0.25;

/** What one work in turns takes of each: all of it together is a few of them. */
const workMs = 1;

let turn = 0;
let isEndScheduled = false;

/** Number of the current turn. All budgets share it, because each immediate costs a poll of the system. */
function currentTurn(): number {
  if (!isEndScheduled) {
    isEndScheduled = true;
    setImmediate(() => {
      isEndScheduled = false;
      turn += 1;
    });
  }
  return turn;
}

export class TurnBudget {
  readonly #ms: number;
  #turn = -1;
  #startedMs = 0;
  #spentMs = 0;

  constructor(ms = turnMsDefault) {
    this.#ms = ms;
  }

  /** Whether the source has had its share of this turn. The first call of a turn starts the share. */
  isSpent(): boolean {
    const now = currentTurn();
    const nowMs = performance.now();
    if (this.#turn === now) return nowMs - this.#startedMs >= this.#ms;
    this.#turn = now;
    this.#startedMs = nowMs;
    return false;
  }

  /** Begins a part of a work that comes in parts, between which other sources have theirs. Excludes `isSpent`. */
  begin(): void {
    const now = currentTurn();
    if (this.#turn !== now) this.#spentMs = 0;
    this.#turn = now;
    this.#startedMs = performance.now();
  }

  /** The part ends. Returns whether the source has had its share of this turn. */
  end(): boolean {
    this.#spentMs += performance.now() - this.#startedMs;
    return this.#spentMs >= this.#ms;
  }
}

/**
 * How much of a work is done at once. It follows from how long the last part took: a slow processor, or a busy one, does less at
 * a time, so that the turns of others do not become longer.
 */
export class SliceSize {
  readonly #bounds: { min: number; max: number };
  readonly #ms: number;
  #size: number;

  /** `first`: what takes so many milliseconds on a usual processor. */
  constructor({ first, min = Math.ceil(first / 64), max = 4 * first }: { first: number; min?: number; max?: number }, ms = workMs) {
    this.#bounds = { min, max };
    this.#ms = ms;
    this.#size = first;
  }

  /** Does a part of the present size. */
  next<T>(work: (size: number) => T): T {
    const startedMs = performance.now();
    const result = work(this.#size);
    // The next part is at most twice as large: this one may have been an easy one.
    const factor = Math.min(2, this.#ms / Math.max(performance.now() - startedMs, this.#ms / 2));
    this.#size = Math.round(Math.min(this.#bounds.max, Math.max(this.#bounds.min, this.#size * factor)));
    return result;
  }
}

/** Resolves in the next turn, after all sources have had theirs. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Runs work that may pause at each `yield`, over as many turns as it takes. */
export async function inTurns<T>(work: Generator<void, T>): Promise<T> {
  const budget = new TurnBudget(workMs);
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (budget.isSpent()) await nextTurn();
  }
}

/** Runs work to its end without its pauses: in a thread of its own, where nobody else waits. */
export function atOnce<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
