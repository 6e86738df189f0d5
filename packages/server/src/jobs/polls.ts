/** Each open poll holds a connection, and one of another worker's job asks the store twice a second. */
const pollsMax = 500;
/** So that one owner's polls leave room for everybody's. */
const ownerPollsMax = 200;

/** Long polls under way. One too many is not refused: it is answered at once, as if it had asked for no wait. */
export class Polls {
  readonly #open = new Map<string, number>();
  #total = 0;

  /** null where there are enough. */
  enter(owner: string): { leave: () => void } | null {
    const own = this.#open.get(owner) ?? 0;
    if (this.#total >= pollsMax || own >= ownerPollsMax) return null;
    this.#total += 1;
    this.#open.set(owner, own + 1);
    return { leave: () => this.#leave(owner) };
  }

  #leave(owner: string): void {
    const left = (this.#open.get(owner) ?? 1) - 1;
    this.#total -= 1;
    if (left > 0) this.#open.set(owner, left);
    else this.#open.delete(owner);
  }
}
