/** What a caller is told beside the result: each thing once, and no more of them than anybody reads. */
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
