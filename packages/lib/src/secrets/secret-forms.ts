/** The forms in which a known secret is written where it is shown again. */

/** Minimum length of a form: shorter ones are parts of ordinary words. */
const formCharsMin = 3;
/** Bytes of which base64 shows something that nothing else contains by chance. */
const base64CharsMin = 12;

/**
 * The forms of all secrets in the order in which they are searched for while there is room: each kind of forms of every
 * secret before the next kind. The first kind is the value as it is.
 */
export function* inSearchOrder<S, F>(secrets: Iterable<S>, ...kinds: ((secret: S) => Iterable<F>)[]): Generator<F, void> {
  for (const formsFor of kinds) for (const secret of secrets) yield* formsFor(secret);
}

/** The text itself, and as URLs, HTML and JSON write it. Each has at least `formCharsMin` characters. */
export function formsOf(text: string): string[] {
  const whole = encodeURIComponent(text.toWellFormed());
  // A browser writes the text so in the query and in the path.
  const url = URL.parse(`http://x.test/${text}?${text}`);
  const inUrl = url ? [url.search.slice(1), url.pathname.slice(1)] : [];
  const json = JSON.stringify(text).slice(1, -1);
  const base64 = text.length >= base64CharsMin ? base64Of(text) : [];
  const forms = new Set([text, whole, whole.replaceAll('%20', '+'), ...inUrl, escapeHtml(text), json, ...base64]);
  return [...forms].filter((form) => form.length >= formCharsMin);
}

/** The text as a whole in base64, as a client of basic authentication sends it, and as URLs have it. */
function base64Of(text: string): string[] {
  const plain = Buffer.from(text).toString('base64').replaceAll('=', '');
  return [plain, plain.replaceAll('+', '-').replaceAll('/', '_')];
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
