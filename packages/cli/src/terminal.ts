/** What is safe to print: text of pages and of the service never becomes an instruction to the terminal. */

/** Controls except tab and newline: escapes begin with one. Marks that turn the direction of text hide what stands there. */
const unsafe = /(?![\t\n])[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** The text without anything that a terminal obeys. */
export const printable = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(unsafe, '');

/** A copy of a value in which all texts are printable, names of fields too. */
export function printableCopy<T>(value: T): T {
  if (typeof value === 'string') return printable(value) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => printableCopy(item)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [printable(name), printableCopy(item as unknown)])) as T;
}

/** JSON whose texts a terminal shows as they are written: what it would obey is escaped, and the value stays the same. */
export function toSafeJson(value: unknown, indent?: number): string {
  const json = JSON.stringify(value ?? null, null, indent);
  return json.replaceAll(
    /[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** How much of a secret is shown, to tell it from others. */
const shownLength = 4;

/** A secret that can be recognized, and not be used. */
export function redact(secret: string): string {
  const prefix = /^(?:[a-z]+_)+/.exec(secret)?.[0] ?? '';
  return secret.length < prefix.length + 4 * shownLength ? '…' : `${prefix}…${secret.slice(-shownLength)}`;
}
