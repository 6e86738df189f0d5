/** Secrets among the inputs of a run: kept apart from them, and removed from everything that is returned. */
import type { z } from 'zod';

export type Secrets = Readonly<Record<string, string>>;

/** Shorter ones would be replaced within ordinary words. */
const secretCharsMin = 3;
/** Shorter ones are parts of many words. */
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

/** The value with `{{secret.name}}` in place of each secret, also where it is escaped for a URL. */
export function redactSecrets<T>(value: T, secrets: Secrets): T {
  const replacements = Object.entries(secrets)
    .filter(([, text]) => text.length >= secretCharsMin)
    .flatMap(([name, text]) => formsOf(text).map((form) => [form, `{{secret.${name}}}`] as const))
    // A secret may contain another one.
    .toSorted(([one], [other]) => other.length - one.length);
  if (replacements.length === 0) return value;
  const redactText = (text: string): string =>
    replacements.reduce((inner, [form, name]) => (inner.includes(form) ? inner.replaceAll(form, () => name) : inner), text);
  return walk(value, redactText) as T;
}

/** The same, and with each word of a secret replaced: for texts of pages, which may show a part of it. */
export function redactSecretWords<T>(value: T, secrets: Secrets): T {
  const words = Object.values(secrets)
    .flatMap((text) => text.split(/\s+/))
    .filter((word) => word.length >= wordCharsMin);
  const redactText = (text: string): string => words.reduce((inner, word) => inner.replaceAll(word, '•'), text);
  return walk(redactSecrets(value, secrets), redactText) as T;
}

function formsOf(text: string): string[] {
  const whole = encodeURIComponent(text.toWellFormed());
  // As a browser writes it in the query and in the path.
  const url = URL.parse(`http://x.test/${text}?${text}`);
  const inUrl = url ? [url.search.slice(1), url.pathname.slice(1)] : [];
  return [...new Set([text, whole, whole.replaceAll('%20', '+'), ...inUrl, escapeHtml(text)])].filter(
    (form) => form.length >= secretCharsMin,
  );
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

function walk(value: unknown, redactText: (text: string) => string): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map((inner) => walk(inner, redactText));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [redactText(name), bytesFields.has(name) ? inner : walk(inner, redactText)]),
  );
}
