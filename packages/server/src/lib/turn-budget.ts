/** Bounds what one source of work takes of a turn of the event loop, so that a flood of one waits for the next turn and not everybody for the flood. */

/** Some hundred small messages. */
const turnMsMax = 1;

export class TurnBudget {
  #startedMs: number | null = null;
  readonly #end = (): void => void (this.#startedMs = null);

  /** Whether the source has had its share of this turn. The first call of a turn starts the share. */
  isSpent(): boolean {
    const nowMs = performance.now();
    if (this.#startedMs !== null) return nowMs - this.#startedMs >= turnMsMax;
    this.#startedMs = nowMs;
    setImmediate(this.#end);
    return false;
  }
}

/** Resolves in the next turn, after all sources have had theirs. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
