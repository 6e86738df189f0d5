/** Things that one client makes and others wait for. */
export class Slots<T> {
  readonly #slots = new Map<number, PromiseWithResolvers<T>>();
  readonly #broken: Promise<never>;

  /** `broken` rejects when whoever makes them may have failed. */
  constructor(broken: Promise<never>) {
    this.#broken = broken;
  }

  fill(slot: number, value: T): void {
    this.#at(slot).resolve(value);
  }

  wait(slot: number): Promise<T> {
    return Promise.race([this.#at(slot).promise, this.#broken]);
  }

  #at(slot: number): PromiseWithResolvers<T> {
    const known = this.#slots.get(slot) ?? Promise.withResolvers<T>();
    this.#slots.set(slot, known);
    return known;
  }
}
