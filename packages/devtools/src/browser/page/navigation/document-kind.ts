/** How the browser handles a main response, from its head and first bytes. */
import type { Protocol } from 'devtools-protocol';

export const hasBody = (status: number): boolean => status !== 204 && status !== 205 && status !== 304;

type Headers = readonly Protocol.Fetch.HeaderEntry[];
const valueOf = (headers: Headers, wanted: string): string | undefined => headers.find(({ name }) => name.toLowerCase() === wanted)?.value;

/** Whether the browser would render it as an HTML document. */
export function documentKind(headers: Headers): 'page' | 'other' | 'unknown' {
  const type = mediaType(headers);
  if (isAttachment(headers)) return 'other';
  if (!type || !type.includes('/') || sniffedTypes.has(type)) return 'unknown';
  return type === 'text/html' || type === 'application/xhtml+xml' ? 'page' : 'other';
}

/** Types that say nothing. */
const sniffedTypes: ReadonlySet<string> = new Set(['*/*', 'unknown/unknown', 'application/unknown']);

export const isAttachment = (headers: Headers): boolean => /^\s*attachment\b/i.test(valueOf(headers, 'content-disposition') ?? '');

/** Whether the browser would save it to a file and keep the page that it shows. */
export function isSaved(headers: Headers): boolean {
  const [type = '', subtype = ''] = mediaType(headers)?.split('/') ?? [];
  return isAttachment(headers) || (type === 'application' && !shownSubtypes.has(subtype.split('+').at(-1) ?? ''));
}

/** The few subtypes of `application` that browsers show. */
const shownSubtypes: ReadonlySet<string> = new Set(['json', 'xml', 'pdf', 'javascript', 'x-javascript', 'ecmascript']);

/** The media type. The last header counts. */
const mediaType = (headers: Headers): string | undefined =>
  headers
    .findLast(({ name }) => name.toLowerCase() === 'content-type')
    ?.value.split(';')[0]
    ?.trim()
    .toLowerCase();

/** The browser would not show the body of failed authentication, and its own error page for an error without a body. */
export const isWithheld = (status: number, headers: Headers): boolean =>
  (status === 401 && valueOf(headers, 'www-authenticate') !== undefined) || (status >= 400 && valueOf(headers, 'content-length') === '0');

/** Content sniffing for responses without a type. */
export const isLikelyHtml = (data: Buffer): boolean =>
  /^[\s\ufeff]*<(!doctype html|html|head|body|script|title|div|p|h1|a|table|br|!--|\?xml)/i.test(data.subarray(0, 1024).toString('utf8'));
