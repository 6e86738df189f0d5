/** Cookies and local storage in Playwright's format. */
import { z } from 'zod';
import { boundedList, boundedString } from '../bounds.ts';
import { WebUrl } from '../fields.ts';

/** Maximum size of a storage state in a request, as JSON. */
export const storageStateBytesMax = 4 * 1024 * 1024;
const cookiesMax = 3000;
const originsMax = 200;
const itemsMax = 5000;
/** Maximum size of name and value together, in UTF-8, as in browsers (RFC 6265bis, section 5.7). */
const cookieBytesMax = 4096;
const cookiePathCharsMax = 1024;
/** Browsers limit the local storage of an origin to as many characters. */
const itemCharsMax = 5_242_880;

const CookieFields = z.strictObject({
  name: boundedString(0, cookieBytesMax).describe('Name of the cookie. Name and value together have 1 to 4096 bytes in UTF-8.'),
  value: boundedString(0, cookieBytesMax).describe('Value of the cookie.'),
  domain: boundedString(1, 256).describe('Domain of the cookie, 1 to 256 characters. A leading dot includes subdomains.'),
  path: boundedString(1, cookiePathCharsMax).describe('Path of the cookie, which begins with `/`, 1 to 1024 characters.'),
  expires: z.number().describe('Expiry time in Unix seconds; -1 for a session cookie.'),
  httpOnly: z.boolean().describe('Whether the cookie is hidden from JavaScript.'),
  secure: z.boolean().describe('Whether the cookie is sent over HTTPS only.'),
  sameSite: z.enum(['Strict', 'Lax', 'None']).optional().describe('SameSite attribute of the cookie. Default: the browser’s default.'),
  partitionKey: boundedString(0, 512)
    .optional()
    .describe('Partition key of a partitioned cookie (CHIPS): the top-level site, such as `https://example.com`, at most 512 characters.'),
  _crHasCrossSiteAncestor: z
    .boolean()
    .optional()
    .describe('Whether a partitioned cookie is of a frame with a cross-site ancestor, as Playwright names it. Default: false.'),
});

export const StoredCookie = CookieFields.check((context) => {
  for (const [field, message] of findCookieIssues(context.value))
    context.issues.push({
      code: 'custom',
      message,
      path: [field],
      input: context.value[field],
      params: { type: 'value_error' },
      continue: true,
    });
}).meta({ id: 'StoredCookie' });
export type StoredCookie = z.infer<typeof StoredCookie>;

/** A cookie as Playwright's `addCookies` takes it: with a `url`, or with a `domain`; what is left out has Playwright's default. */
const CookieRequest = CookieFields.extend({
  url: WebUrl.optional().describe(
    'URL that the cookie is for, instead of `domain` and `path`: its host, and its path up to the last slash.',
  ),
  domain: CookieFields.shape.domain.optional().describe('Domain of the cookie, 1 to 256 characters. Required without `url`.'),
  path: CookieFields.shape.path.optional().describe('Path of the cookie, which begins with `/`, 1 to 1024 characters. Default: `/`.'),
  expires: CookieFields.shape.expires.default(-1).describe('Expiry time in Unix seconds. Default: -1, a session cookie.'),
  httpOnly: CookieFields.shape.httpOnly.default(false).describe('Whether the cookie is hidden from JavaScript. Default: `false`.'),
  secure: CookieFields.shape.secure
    .optional()
    .describe('Whether the cookie is sent over HTTPS only. Default: whether `url` is an HTTPS one.'),
})
  .check(({ value, issues }) => {
    const { url, domain, path } = value;
    if (url === undefined && domain === undefined)
      issues.push({ code: 'custom', message: 'One of url, domain is required', input: value, params: { type: 'missing' } });
    for (const name of url === undefined ? [] : (['domain', 'path'] as const))
      if ((name === 'domain' ? domain : path) !== undefined)
        issues.push({
          code: 'custom',
          message: `Only one of url, ${name} may be given`,
          path: [name],
          input: value[name],
          params: { type: 'value_error' },
        });
  })
  .transform(({ url, ...cookie }) => ({ ...cookie, ...scopeOf(url, cookie) }))
  .pipe(StoredCookie)
  .meta({ id: 'CookieRequest' });

interface CookieScope {
  domain?: string | undefined;
  path?: string | undefined;
  secure?: boolean | undefined;
}

function scopeOf(url: string | undefined, { domain = '', path = '/', secure }: CookieScope) {
  const address = url === undefined ? null : URL.parse(url);
  if (!address) return { domain, path, secure: secure ?? false };
  const { hostname, pathname, protocol } = address;
  return { domain: hostname, path: pathname.slice(0, pathname.lastIndexOf('/') + 1), secure: secure ?? protocol === 'https:' };
}

type CookieIssue = [field: keyof z.infer<typeof CookieFields>, message: string];

/** What browsers refuse of a cookie (RFC 6265bis, section 5.7). */
function findCookieIssues(cookie: z.infer<typeof CookieFields>): CookieIssue[] {
  const { name, value, path, partitionKey } = cookie;
  const issues: CookieIssue[] = [];
  for (const field of ['name', 'value', 'domain', 'path', 'partitionKey'] as const)
    if (!isCookieText(cookie[field] ?? ''))
      issues.push([field, 'Input should have no control characters, semicolons, unpaired surrogates or spaces at its ends']);
  if (name.includes('=')) issues.push(['name', 'Input should have no equals sign']);
  if (name === '' && value === '') issues.push(['value', 'Name and value should not both be empty']);
  // A server would take what is before the sign for the name.
  if (name === '' && (value.includes('=') || /^__(host|secure|http)-/i.test(value)))
    issues.push(['value', 'Input should have no equals sign and no name prefix where the name is empty']);
  if (new TextEncoder().encode(name + value).length > cookieBytesMax)
    issues.push(['value', `Name and value together should have at most ${cookieBytesMax} bytes in UTF-8`]);
  if (!path.startsWith('/')) issues.push(['path', 'Input should begin with a slash']);
  if (partitionKey !== undefined && !URL.canParse(partitionKey))
    issues.push(['partitionKey', 'Input should be a site such as https://example.com']);
  return [...issues, ...findPrefixIssues(cookie)];
}

/** Finds what contradicts the prefix of a cookie's name, which promises how the cookie was set. */
function findPrefixIssues({ name, domain, path, secure, httpOnly, partitionKey }: z.infer<typeof CookieFields>): CookieIssue[] {
  const issues: CookieIssue[] = [];
  const prefix = /^__(host-http|http|host|secure)-/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const shown = `__${prefix.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())}-`;
  if (prefix !== '' && !secure) issues.push(['secure', `Input should be true for a cookie with the prefix ${shown}`]);
  if (prefix.endsWith('http') && !httpOnly) issues.push(['httpOnly', `Input should be true for a cookie with the prefix ${shown}`]);
  if (prefix.startsWith('host') && path !== '/') issues.push(['path', `Input should be / for a cookie with the prefix ${shown}`]);
  if (prefix.startsWith('host') && domain.startsWith('.'))
    issues.push(['domain', `Input should have no leading dot for a cookie with the prefix ${shown}`]);
  if (partitionKey !== undefined && !secure) issues.push(['secure', 'Input should be true for a partitioned cookie']);
  return issues;
}

// oxlint-disable-next-line no-control-regex -- Browsers refuse them.
const isCookieText = (text: string): boolean => text.isWellFormed() && !/[\x00-\x1f\x7f;]|^ | $/.test(text);

const StoredItem = z.strictObject({
  name: boundedString(0, itemCharsMax).describe('Key of the item, at most 5242880 characters, any of UTF-16.'),
  value: boundedString(0, itemCharsMax).describe('Value of the item, at most 5242880 characters, any of UTF-16.'),
});

const originFields = {
  origins: boundedList(
    z.strictObject({
      origin: boundedString(0, 2048)
        .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text, {
          error: 'Input should be an origin such as https://example.com',
          params: { type: 'url_parsing' },
        })
        .describe('Origin of the storage, such as `https://example.com`.'),
      localStorage: boundedList(StoredItem, itemsMax).default([]).describe('Items in local storage, at most 5000. Default: none.'),
    }),
    originsMax,
  )
    .default([])
    .describe('Local storage by origin, at most 200 origins. Default: none.'),
};

export const StorageState = z
  .strictObject({
    cookies: boundedList(StoredCookie, cookiesMax).default([]).describe('Cookies, at most 3000. Default: none.'),
    ...originFields,
  })
  .meta({ id: 'StorageState' });
export type StorageState = z.infer<typeof StorageState>;

export const StorageStateRequest = z
  .strictObject({
    cookies: boundedList(CookieRequest, cookiesMax).default([]).describe('Cookies, at most 3000. Default: none.'),
    ...originFields,
  })
  .meta({ id: 'StorageStateRequest' });
