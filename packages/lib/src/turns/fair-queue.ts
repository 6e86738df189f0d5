/** Share of a queue reserved for owners that have nothing in it. */
const reservedShare = 1 / 8;

/** How long a queue of at most `max` may get for an owner. */
export const queueLimit = (max: number, isQueued: boolean): number => (isQueued ? max - Math.floor(max * reservedShare) : max);

interface Entry<T> {
  item: T;
  isFirst: boolean;
}

/**
 * A queue that is fair between owners: FIFO within an owner, and the next slot
 * goes to the owner who holds the fewest. Owners with equally many take turns,
 * so no owner waits behind the whole queue of another.
 */
export class FairQueue<T> {
  /** Only owners with waiting items; the owner served last is last. */
  readonly #waiting = new Map<string, Entry<T>[]>();

  /** `isFirst`: before the owner's other items, behind those that were to be first as well. */
  push(owner: string, item: T, { isFirst = false } = {}): void {
    const entries = this.#waiting.get(owner) ?? [];
    const place = isFirst ? entries.findIndex((entry) => !entry.isFirst) : -1;
    entries.splice(place < 0 ? entries.length : place, 0, { item, isFirst });
    this.#waiting.set(owner, entries);
  }

  /** Has no effect where the item is not queued. */
  remove(owner: string, item: T): void {
    const left = this.#waiting.get(owner)?.filter((entry) => entry.item !== item) ?? [];
    if (left.length > 0) this.#waiting.set(owner, left);
    else this.#waiting.delete(owner);
  }

  /** The next item. `held` returns how many slots an owner holds; owners with `ownerMax` get no more. */
  take(held: (owner: string) => number, ownerMax = Infinity): T | undefined {
    const owners = [...this.#waiting.keys()].map((owner) => ({ owner, slots: held(owner) }));
    // The sort is stable, so owners with equally many keep their order.
    const [next] = owners.sort((a, b) => a.slots - b.slots);
    if (!next || next.slots >= ownerMax) return undefined;
    const [entry, ...left] = this.#waiting.get(next.owner) ?? [];
    this.#waiting.delete(next.owner);
    if (left.length > 0) this.#waiting.set(next.owner, left);
    return entry?.item;
  }
}
