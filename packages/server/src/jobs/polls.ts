/** Each poll holds a connection, and polls of another worker's job query the store twice a second. */
const pollsMax = 500;
/** Leaves room for other owners. */
const ownerPollsMax = 200;

/** Limits concurrent long polls. A poll beyond the limit is answered at once, as without a wait. */
export class Polls {
  readonly #open = new Map<string, number>();
  #total = 0;

  /** null at the limit. */
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
