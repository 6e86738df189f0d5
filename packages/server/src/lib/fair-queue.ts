/**
 * Work that waits for a place: first come, first served within an owner, and
 * the next place to the owner who holds the fewest. Owners who hold equally
 * many take turns, so nobody waits behind all that somebody else has queued.
 */
export class FairQueue<T> {
  /** An owner is here only while something of theirs waits; the one who was served last is last. */
  readonly #waiting = new Map<string, T[]>();

  push(owner: string, item: T): void {
    const items = this.#waiting.get(owner);
    if (items) items.push(item);
    else this.#waiting.set(owner, [item]);
  }

  /** Nothing happens where the item does not wait. */
  remove(owner: string, item: T): void {
    const left = this.#waiting.get(owner)?.filter((other) => other !== item) ?? [];
    if (left.length > 0) this.#waiting.set(owner, left);
    else this.#waiting.delete(owner);
  }

  /** The item whose turn it is, given how many places an owner holds. */
  take(held: (owner: string) => number): T | undefined {
    const owners = [...this.#waiting.keys()].map((owner) => ({ owner, places: held(owner) }));
    // A stable sort: among equals the order of their turns stands.
    const [next] = owners.sort((a, b) => a.places - b.places);
    if (!next) return undefined;
    const [item, ...left] = this.#waiting.get(next.owner) ?? [];
    this.#waiting.delete(next.owner);
    if (left.length > 0) this.#waiting.set(next.owner, left);
    return item;
  }
}
