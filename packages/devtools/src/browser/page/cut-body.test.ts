/** Documents whose bodies end before their end: Chromium reports no load for them. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { NavigationError } from '../interface.ts';
import { launch, type Launched } from '../../../testing/launch.ts';
import { call } from '../../../testing/on-page.ts';
import { openPages, type Pages } from '../../../testing/pages.ts';
import type { Page } from './page.ts';

/** Sends the head and this part of a body, and breaks the connection when both have left. */
const cut =
  (headers: Record<string, string>, part: string) =>
  (_: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/html', ...headers });
    response.write(part, () => response.destroy());
    response.flushHeaders();
  };
const long = { 'content-length': '5000' };
const chunked = { 'transfer-encoding': 'chunked' };
const begun = '<title>half</title><p>half of it';

let pages: Pages;
let launched: Launched;
let page: Page;
before(async () => {
  pages = await openPages({
    '/length': cut(long, begun),
    '/chunks': cut(chunked, begun),
    '/nothing': cut(long, ''),
    '/packed': (_: IncomingMessage, response: ServerResponse) =>
      void response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }).end(begun),
    '/leads': `<title>leads</title><script>location.replace('/length')</script>`,
    '/plain': '<title>plain</title>',
  });
  launched = await launch();
  page = launched.browser.page(launched.browser.activeTab().tabId);
});
after(async () => {
  await launched.end();
  await pages.close();
});

/** No test waits for it. */
const timeoutMs = 3_600_000;
const open = async (path: string, waitUntil: 'load' | 'domcontentloaded' | 'networkidle' = 'load') =>
  page.navigate({ url: pages.url + path, waitUntil, timeoutMs }, call());

describe('a document whose body is cut', () => {
  for (const waitUntil of ['load', 'domcontentloaded', 'networkidle'] as const)
    it(`a document whose body is cut is loaded when no more of it comes, until ${waitUntil}`, async () => {
      for (const [path, bodyError] of [
        ['/length', 'net::ERR_CONTENT_LENGTH_MISMATCH'],
        ['/chunks', 'net::ERR_INCOMPLETE_CHUNKED_ENCODING'],
      ] as const) {
        const result = await open(path, waitUntil);
        assert.deepEqual([result.title, result.statusCode, result.bodyError], ['half', 200, bodyError], path);
      }
    });

  it('a document whose body is cut is loaded by a reload and by going back', async () => {
    await open('/length');
    const expected = ['half', 'net::ERR_CONTENT_LENGTH_MISMATCH'];
    const again = await page.reload({ waitUntil: 'load', timeoutMs }, call());
    assert.deepEqual([again.title, again.bodyError], expected);
    await open('/plain');
    const back = await page.history(-1, { waitUntil: 'load', timeoutMs }, call());
    assert.deepEqual([back?.title, back?.bodyError], expected);
  });

  it('a document whose body is cut is loaded where another one led to it', async () => {
    const { title, bodyError } = await open('/leads');
    assert.deepEqual([title, bodyError], ['half', 'net::ERR_CONTENT_LENGTH_MISMATCH']);
  });

  it('a document whose body is cut is an error where nothing of it came, or nothing can be decoded', async () => {
    for (const [path, netError] of [
      ['/nothing', 'net::ERR_CONTENT_LENGTH_MISMATCH'],
      ['/packed', 'net::ERR_CONTENT_DECODING_FAILED'],
    ] as const)
      await assert.rejects(open(path), (error) => error instanceof NavigationError && error.netError === netError, path);
  });

  it('a complete document is not reported as cut', async () => {
    assert.equal((await open('/plain')).bodyError, null);
  });
});
