/** Warning codes of a conversion, without duplicates and limited in number. */
export class Warnings {
  readonly #codes = new Set<string>();

  add(code: string): void {
    if (this.#codes.size < warningsMax) this.#codes.add(code);
  }

  toArray(): string[] {
    return [...this.#codes];
  }
}

const warningsMax = 100;
