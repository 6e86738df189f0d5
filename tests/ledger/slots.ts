/** Values that one client produces and others await. */
export class Slots<T> {
  readonly #slots = new Map<number, PromiseWithResolvers<T>>();
  readonly #broken: Promise<never>;

  /** `broken` rejects when a producer may have failed. */
  constructor(broken: Promise<never>) {
    this.#broken = broken;
  }

  fill(slot: number, value: T): void {
    this.#slotAt(slot).resolve(value);
  }

  wait(slot: number): Promise<T> {
    return Promise.race([this.#slotAt(slot).promise, this.#broken]);
  }

  #slotAt(slot: number): PromiseWithResolvers<T> {
    const slotPromise = this.#slots.get(slot) ?? Promise.withResolvers<T>();
    this.#slots.set(slot, slotPromise);
    return slotPromise;
  }
}
