/** Cookies and local storage in Playwright's format. */
import { z } from 'zod';
import { boundedList, boundedString } from './bounds.ts';

const cookiesMax = 3000;
const originsMax = 200;
const itemsMax = 5000;

export const StoredCookie = z
  .strictObject({
    name: boundedString(0, 4096).describe('Name of the cookie, at most 4096 characters.'),
    value: boundedString(0, 8192).describe('Value of the cookie, at most 8192 characters.'),
    domain: boundedString(1, 256).describe('Domain of the cookie, 1 to 256 characters. A leading dot includes subdomains.'),
    path: boundedString(1, 4096).describe('Path of the cookie, 1 to 4096 characters.'),
    expires: z.number().describe('Expiry time in Unix seconds; -1 for a session cookie.'),
    httpOnly: z.boolean().describe('Whether the cookie is hidden from JavaScript.'),
    secure: z.boolean().describe('Whether the cookie is sent over HTTPS only.'),
    sameSite: z.enum(['Strict', 'Lax', 'None']).optional().describe('SameSite attribute of the cookie. Default: the browser’s default.'),
    partitionKey: boundedString(0, 512).optional().describe('Partition key of a partitioned cookie (CHIPS), at most 512 characters.'),
  })
  .meta({ id: 'StoredCookie' });
export type StoredCookie = z.infer<typeof StoredCookie>;

const StoredItem = z.strictObject({
  name: boundedString(0, 65_536).describe('Key of the item, at most 65536 characters.'),
  value: boundedString(0, 5_242_880).describe('Value of the item, at most 5242880 characters.'),
});

export const StorageState = z
  .strictObject({
    cookies: boundedList(StoredCookie, cookiesMax).default([]).describe('Cookies, at most 3000. Default: none.'),
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
  })
  .meta({ id: 'StorageState' });
export type StorageState = z.infer<typeof StorageState>;
