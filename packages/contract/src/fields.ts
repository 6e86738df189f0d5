import { z } from 'zod';

/** What a check adds to a fault that zod has no code for: pydantic's word for it. */
export interface ValidationIssueParams {
  type: string;
  ctx?: Record<string, unknown>;
}

const faulty = (type: string, ctx: Record<string, unknown> = {}): { params: ValidationIssueParams } => ({ params: { type, ctx } });

const parses = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);

/** An address a browser may be sent to: http, https, or the empty page. */
export const BrowsableUrl = z
  .string()
  .max(8192)
  .refine((text) => parses(text) !== null, { error: 'Input should be a valid URL', abort: true, ...faulty('url_parsing') })
  .refine((text) => isBrowsable(text), {
    error: "URL scheme should be 'http' or 'https', or the address 'about:blank'",
    ...faulty('url_scheme', { expected_schemes: "'http', 'https' or 'about:blank'" }),
  })
  .meta({ format: 'uri', examples: ['https://example.com/'] });

/** An address of the web. */
export const WebUrl = z
  .string()
  .max(8192)
  .refine((text) => parses(text) !== null, { error: 'Input should be a valid URL', abort: true, ...faulty('url_parsing') })
  .refine((text) => /^https?:$/.test(parses(text)?.protocol ?? ''), {
    error: "URL scheme should be 'http' or 'https'",
    ...faulty('url_scheme', { expected_schemes: "'http' or 'https'" }),
  })
  .meta({ format: 'uri', examples: ['https://example.com/'] });

export function isBrowsable(text: string): boolean {
  const url = parses(text);
  if (!url) return false;
  return url.protocol === 'http:' || url.protocol === 'https:' || url.href === 'about:blank';
}

export const Timestamp = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC.', examples: ['2026-11-21T09:30:00.000Z'] });

export const Locale = z
  .string()
  .max(35)
  .refine(isLocale, { error: 'Input should be a BCP 47 language tag such as en-GB', ...faulty('locale') })
  .meta({ examples: ['en-GB'] });

function isLocale(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

export const Timezone = z
  .string()
  .max(64)
  .refine(isTimezone, { error: 'Input should be an IANA time zone such as Europe/Berlin', ...faulty('timezone') })
  .meta({ examples: ['Europe/Berlin'] });

function isTimezone(name: string): boolean {
  try {
    // An offset such as +01:00 is accepted by Intl but is no IANA name.
    return /^[A-Za-z]/.test(name) && Boolean(new Intl.DateTimeFormat('en', { timeZone: name }));
  } catch {
    return false;
  }
}

/** A whole number that travels as text in a query. */
export const queryInt = (least: number, most: number) =>
  z.preprocess((value) => (typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value), z.int().min(least).max(most));

export const queryBool = z.preprocess(
  (value) => (value === 'true' || value === '1' ? true : value === 'false' || value === '0' ? false : value),
  z.boolean(),
);

/** Pages of a long list: the bounds, and the opaque place where the next page starts. */
export const pageQuery = {
  limit: queryInt(1, 500).default(100).describe('Maximum number of items per page, 1 to 500. Default: 100.'),
  cursor: z.string().min(1).max(512).optional().describe('Value of `X-Next-Cursor` of the previous page. Default: the first page.'),
};

export const pageHeaders = {
  'X-Has-More': '`true` if another page follows, else `false`.',
  'X-Next-Cursor': 'Value to send as `cursor` for the next page. Absent on the last page.',
  Link: 'URL of the next page, with `rel="next"`. Absent on the last page.',
};

/** An id in a path. Its form is not checked: an id that cannot be is answered as an unknown one. */
export const PathId = z.string();

export const sessionParams = z.object({ session_id: PathId.describe('Id of the session.') });
