import { AssetError, readRest } from './asset.ts';
import { NdjsonReader } from './ndjson.ts';

/** A file of JSON lines that may still be written: each look reads what has come since the last. */
export class GrowingLines<T> {
  readonly #name: string;
  readonly #reader = new NdjsonReader<T>();

  constructor(name: string) {
    this.#name = name;
  }

  /** Empty also while there is no such file yet. Throws AssetError. */
  async more(): Promise<T[]> {
    try {
      return this.#reader.push(await readRest(this.#name, this.#reader.bytes));
    } catch (error) {
      if (error instanceof AssetError && error.fault === 'missing') return [];
      throw error;
    }
  }
}
