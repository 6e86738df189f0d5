/** Bounds what one source of work takes of a turn of the event loop, so that a flood of one waits for the next turn and not everybody for the flood. */

/** Some dozens of small messages: long beside what a turn itself costs, short beside what a caller notices. */
const turnMsMax = 0.25;

let turn = 0;
let isEndScheduled = false;

/** Of all budgets together, because each immediate costs a poll of the system. */
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
  #turn = -1;
  #startedMs = 0;

  /** Whether the source has had its share of this turn. The first call of a turn starts the share. */
  isSpent(): boolean {
    const now = currentTurn();
    const nowMs = performance.now();
    if (this.#turn === now) return nowMs - this.#startedMs >= turnMsMax;
    this.#turn = now;
    this.#startedMs = nowMs;
    return false;
  }
}

/** Resolves in the next turn, after all sources have had theirs. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
