import { z } from 'zod';
import { boundedString } from './bounds.ts';

/** Type and context that a custom check gives its issue, in pydantic's terms. */
export interface ValidationIssueParams {
  type: string;
  ctx?: Record<string, unknown>;
  hint?: string | undefined;
}

const issueParams = (type: string, ctx: Record<string, unknown> = {}): { params: ValidationIssueParams } => ({ params: { type, ctx } });

const parseUrl = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);

/** A URL that a browser may open: http, https, or about:blank. */
export const BrowsableUrl = boundedString(0, 8192)
  .refine((text) => parseUrl(text) !== null, { error: 'Input should be a valid URL', abort: true, ...issueParams('url_parsing') })
  .refine((text) => isBrowsable(text), {
    error: "URL scheme should be 'http' or 'https', or 'about:blank'",
    ...issueParams('url_scheme', { expected_schemes: "'http', 'https' or 'about:blank'" }),
  })
  .meta({ format: 'uri', examples: ['https://example.com/'] });

/** An http or https URL. */
export const WebUrl = boundedString(0, 8192)
  .refine((text) => parseUrl(text) !== null, { error: 'Input should be a valid URL', abort: true, ...issueParams('url_parsing') })
  .refine((text) => /^https?:$/.test(parseUrl(text)?.protocol ?? ''), {
    error: "URL scheme should be 'http' or 'https'",
    ...issueParams('url_scheme', { expected_schemes: "'http' or 'https'" }),
  })
  .meta({ format: 'uri', examples: ['https://example.com/'] });

export function isBrowsable(text: string): boolean {
  const url = parseUrl(text);
  if (!url) return false;
  return url.protocol === 'http:' || url.protocol === 'https:' || url.href === 'about:blank';
}

export const Timestamp = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC.', examples: ['2026-11-21T09:30:00.000Z'] });

/** The name that a caller gives an API key or a token, and its lifetime. */
export const credentialName = (what: 'key' | 'token') =>
  boundedString(1, 64).nullable().default(null).describe(`Name of the ${what}, 1 to 64 characters. Default: null, none.`);
export const expiresInDays = (what: 'key' | 'token') =>
  z.int().min(1).max(3650).nullable().default(null).describe(`Days until the ${what} expires, 1 to 3650. Default: null, never.`);

export const Locale = boundedString(0, 35)
  .refine(isLocale, { error: 'Input should be a BCP 47 language tag such as en-GB', ...issueParams('locale') })
  .meta({ examples: ['en-GB'] });

function isLocale(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

export const Timezone = boundedString(0, 64)
  .refine(isTimezone, { error: 'Input should be an IANA time zone such as Europe/Berlin', ...issueParams('timezone') })
  .meta({ examples: ['Europe/Berlin'] });

function isTimezone(name: string): boolean {
  try {
    // Intl also accepts offsets such as +01:00, which are not IANA names.
    return /^[A-Za-z]/.test(name) && Boolean(new Intl.DateTimeFormat('en', { timeZone: name }));
  } catch {
    return false;
  }
}

/** An integer in a query string. */
export const queryInt = (min: number, max: number) =>
  z.preprocess((value) => (typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value), z.int().min(min).max(max));

export const queryBool = z.preprocess(
  (value) => (value === 'true' || value === '1' ? true : value === 'false' || value === '0' ? false : value),
  z.boolean(),
);

/** Query parameters of paginated lists. The cursor is opaque. */
export const pageQuery = {
  limit: queryInt(1, 500).default(100).describe('Maximum number of items per page, 1 to 500. Default: 100.'),
  cursor: boundedString(1, 512).optional().describe('Value of `X-Next-Cursor` of the previous page. Default: the first page.'),
};

export const pageHeaders = {
  'X-Has-More': '`true` if another page follows, else `false`.',
  'X-Next-Cursor': 'Value to send as `cursor` for the next page. Absent on the last page.',
  Link: 'URL of the next page, with `rel="next"`. Absent on the last page.',
};

/** An id in a path. Its form is not checked: a malformed id gets the same response as an unknown one. */
export const PathId = boundedString(0, 8192);

export const sessionParams = z.object({ session_id: PathId.describe('Id of the session. With an API key, its name works as well.') });

/** Headers that the connection sets. Requests cannot override them. */
export const connectionHeaders: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
  'expect',
]);

export const ReconnectSeconds = z.int().min(0).max(3600);
