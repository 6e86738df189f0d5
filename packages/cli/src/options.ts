/** Options of a command as they were given, read by name and kind. */
import { usageError } from './failures.ts';

export class Options {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  /** The text of an option; undefined where it was not given. */
  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === 'string' ? value : undefined;
  }

  number(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    return toNumber(text, `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
  }

  list(name: string): readonly string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? (value as string[]) : [];
  }
}

export function toNumber(text: string, what: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw usageError(`${what} needs a number, not ${JSON.stringify(text)}.`);
  return number;
}

export function toPort(word: string, example: string): number {
  const port = /^\d{1,5}$/.test(word) ? Number(word) : Number.NaN;
  if (port <= 65_535) return port;
  throw usageError(`A port is a number up to 65535, not ${JSON.stringify(word)}.`, example);
}

/** The value of `NAME=VALUE` pairs. */
export function toPairs(texts: readonly string[], what: string): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=');
      if (at < 1) throw usageError(`${what} is given as NAME=VALUE, not ${JSON.stringify(text)}.`);
      return [text.slice(0, at), text.slice(at + 1)] as const;
    }),
  );
}
