/** Secrets among the inputs of a run: kept apart from them, and removed from everything that is returned. */
import type { z } from 'zod';
import { formsOf } from '@berth/lib/secrets/secret-forms.ts';
import { TextFinder } from '@berth/lib/text/text-finder.ts';
import { inTurns } from '@berth/lib/turns/turn-budget.ts';

export type Secrets = Readonly<Record<string, string>>;

/** Minimum length of a secret: shorter ones would be replaced within ordinary words. */
const secretCharsMin = 3;
/** Minimum length of a secret's word: shorter ones are parts of many words. */
const wordCharsMin = 4;
/** Bytes in base64 may contain any short text by chance. */
const bytesFields = new Set(['data_base64']);

/** Separates the inputs that the schema marks `writeOnly`: `{{secret.name}}` in steps. A record of secrets counts as its entries. */
export function collectSecrets(schema: z.ZodType, inputs: Readonly<Record<string, unknown>>): Secrets {
  const secrets: Record<string, string> = {};
  for (const [name, value] of Object.entries(inputs)) {
    if (!isSecret(schema, name)) continue;
    if (typeof value === 'string') secrets[name] = value;
    else for (const [inner, text] of Object.entries(value ?? {})) if (typeof text === 'string') secrets[inner] = text;
  }
  return secrets;
}

function isSecret(schema: z.ZodType, name: string): boolean {
  const { def } = schema._zod as unknown as { def: { shape?: Record<string, z.ZodType> } };
  return def.shape !== undefined && Object.hasOwn(def.shape, name) && def.shape[name]?.meta()?.['writeOnly'] === true;
}

/** A result is more than a caller could read; with names in place of short secrets it may be many times what the page had. */
export class ResultTooLargeError extends Error {}

/** Maximum characters of a result in memory: twice what a run may collect. Of it a job keeps at most 32 MiB, and ends with `result_too_large` otherwise. */
export const resultCharsMax = 48_000_000;
/** Maximum nesting, far below the stack limit of what writes the result as JSON. */
const depthMax = 500;
/** A number, or the frame of a list or an object, in characters. */
const valueChars = 8;

/** A text to replace, and what replaces it. */
type Replacement = readonly [form: string, name: string];

/**
 * The value with `{{secret.name}}` in place of each secret, also where it is escaped for a URL. Secrets that overlap are
 * replaced as one.
 * @throws ResultTooLargeError
 */
export const redactSecrets = <T>(value: T, secrets: Secrets): Promise<T> => redact(value, namesOf(secrets));

/** Redacts secrets as `redactSecrets` does, and each word of them: texts of pages may show a part of one. */
export function redactSecretWords<T>(value: T, secrets: Secrets): Promise<T> {
  const words = Object.values(secrets)
    .flatMap((text) => text.split(/\s+/))
    .filter((word) => word.length >= wordCharsMin);
  return redact(value, [...namesOf(secrets), ...words.map((word) => [word, '•'] as const)]);
}

const namesOf = (secrets: Secrets): Replacement[] =>
  Object.entries(secrets)
    .filter(([, text]) => text.length >= secretCharsMin)
    .flatMap(([name, text]) => formsOf(text).map((form) => [form, `{{secret.${name}}}`] as const));

async function redact<T>(value: T, replacements: readonly Replacement[]): Promise<T> {
  const finder = await inTurns(TextFinder.create(replacements.map(([form]) => form)));
  const redaction = new Redaction(
    finder,
    replacements.map(([, name]) => name),
  );
  return (await inTurns(redaction.walk(value, depthMax))) as T;
}

class Redaction {
  readonly #finder: TextFinder;
  readonly #names: readonly string[];
  #chars = 0;

  constructor(finder: TextFinder, names: readonly string[]) {
    this.#finder = finder;
    this.#names = names;
  }

  *walk(value: unknown, depth: number): Generator<void, unknown> {
    if (typeof value === 'string') return yield* this.#text(value);
    this.#count(valueChars);
    if (typeof value !== 'object' || value === null || value instanceof Date) return value;
    if (depth === 0) throw new ResultTooLargeError();
    if (Array.isArray(value)) {
      const list: unknown[] = [];
      for (const inner of value) list.push(yield* this.walk(inner, depth - 1));
      return list;
    }
    const entries: [string, unknown][] = [];
    for (const [name, inner] of Object.entries(value)) entries.push([yield* this.#text(name), yield* this.#field(name, inner, depth - 1)]);
    return Object.fromEntries(entries);
  }

  *#field(name: string, value: unknown, depth: number): Generator<void, unknown> {
    if (!bytesFields.has(name) || typeof value !== 'string') return yield* this.walk(value, depth);
    this.#count(value.length);
    return value;
  }

  *#text(text: string): Generator<void, string> {
    yield;
    return yield* this.#finder.replace(
      text,
      (pattern) => this.#names[pattern] ?? '',
      (chars) => this.#count(chars),
    );
  }

  #count(chars: number): void {
    this.#chars += chars;
    if (this.#chars > resultCharsMax) throw new ResultTooLargeError();
  }
}
