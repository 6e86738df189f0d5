import { AssetError, readAppended } from './asset.ts';
import { NdjsonReader } from './ndjson.ts';

/** Reads an NDJSON file that may still grow. Each read returns the new lines. */
export class GrowingLines<T> {
  readonly #name: string;
  readonly #reader = new NdjsonReader<T>();

  constructor(name: string) {
    this.#name = name;
  }

  /** Returns the new lines; none while the file does not exist. @throws AssetError */
  async readNew(): Promise<T[]> {
    try {
      return this.#reader.push(await readAppended(this.#name, this.#reader.bytes));
    } catch (error) {
      if (error instanceof AssetError && error.reason === 'missing') return [];
      throw error;
    }
  }
}
