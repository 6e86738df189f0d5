/** Cookies and storage in the form that Playwright saves and loads. */
import { z } from 'zod';

const cookiesMax = 3000;
const originsMax = 200;
const itemsMax = 5000;

export const StoredCookie = z
  .strictObject({
    name: z.string().max(4096),
    value: z.string().max(8192),
    domain: z.string().min(1).max(256),
    path: z.string().min(1).max(4096),
    expires: z.number().meta({ description: 'Epoch seconds; -1 for a cookie that ends with the session.' }),
    httpOnly: z.boolean(),
    secure: z.boolean(),
    sameSite: z.enum(['Strict', 'Lax', 'None']).optional(),
    partitionKey: z.string().max(512).optional(),
  })
  .meta({ id: 'StoredCookie' });
export type StoredCookie = z.infer<typeof StoredCookie>;

const StoredItem = z.strictObject({ name: z.string().max(65_536), value: z.string().max(5_242_880) });

export const StorageState = z
  .strictObject({
    cookies: z.array(StoredCookie).max(cookiesMax).default([]),
    origins: z
      .array(
        z.strictObject({
          origin: z
            .string()
            .max(2048)
            .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text, {
              error: 'Input should be an origin such as https://example.com',
              params: { type: 'url_parsing' },
            }),
          localStorage: z.array(StoredItem).max(itemsMax).default([]),
        }),
      )
      .max(originsMax)
      .default([]),
  })
  .meta({ id: 'StorageState' });
export type StorageState = z.infer<typeof StorageState>;
