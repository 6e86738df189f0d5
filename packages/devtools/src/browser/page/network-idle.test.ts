/** When the network counts as idle, although something stays open by design. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import type { Page } from './page.ts';
import { launch, type Launched } from '../../../testing/launch.ts';
import { call } from '../../../testing/on-page.ts';
import { openPages, type Pages } from '../../../testing/pages.ts';

const begin = (type: string, part: string) => (_: unknown, response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': type }).write(part);
const scripted = (script: string): string => `<title>open</title><p>content</p><script>${script}</script>`;
const kinds: Record<string, string> = {
  'an event stream': 'new EventSource("/stream")',
  'an event stream that is fetched': 'fetch("/stream")',
  'a stream of JSON lines': 'fetch("/lines")',
  'a long poll': 'fetch("/never")',
  'a long poll by XMLHttpRequest': 'const x = new XMLHttpRequest(); x.open("GET", "/never"); x.send()',
  'a beacon': 'navigator.sendBeacon("/never", "x")',
  'a media file that never ends': 'document.body.append(Object.assign(document.createElement("video"), { src: "/film", preload: "auto" }))',
};

let pages: Pages;
let launched: Launched;
let page: Page;
before(async () => {
  pages = await openPages({
    '/stream': begin('text/event-stream', 'data: 1\n\n'),
    '/lines': begin('application/x-ndjson', '{}\n'),
    '/film': begin('video/mp4', 'x'),
    '/never': () => {},
    '/late': (_: unknown, response: ServerResponse) => void setTimeout(() => response.end('late'), 1500),
    '/shows-late': scripted('fetch("/late").then((reply) => reply.text()).then((text) => { document.title = text })'),
    '/plain': '<title>plain</title>',
    ...Object.fromEntries(Object.values(kinds).map((script, index) => [`/open/${index}`, scripted(script)])),
  });
  launched = await launch();
  page = launched.browser.page(launched.browser.activeTab().tabId);
});
after(async () => {
  await launched.end();
  await pages.close();
});

const options = { waitUntil: 'networkidle', timeoutMs: 60_000 } as const;

describe('network idle', () => {
  for (const [index, kind] of Object.keys(kinds).entries())
    it(`network idle is not held up by ${kind}, when navigating, waiting or going back`, async () => {
      assert.equal((await page.navigate({ url: `${pages.url}/open/${index}`, ...options }, call())).title, 'open');
      await page.networkIdle({ ...call(), timeoutMs: 60_000 });
      await page.navigate({ url: `${pages.url}/plain`, ...options }, call());
      assert.equal((await page.history(-1, options, call()))?.title, 'open');
    });

  it('network idle is not held up by streams that scripts fetch', async () => {
    const signal = AbortSignal.timeout(120_000);
    const own = await launched.browser.openPrivate({ signal });
    try {
      await own.prepare({ blockResources: [], extraHeaders: {}, cookies: [], wholeNetwork: false }, { signal });
      for (const index of [1, 2]) {
        const load = {
          waitUntil: 'load',
          timeoutMs: 60_000,
          showAnything: false,
          keepBody: false,
          readsPage: false,
          bodyBytesMax: 1000,
        } as const;
        await own.load({ url: `${pages.url}/open/${index}`, ...load }, { signal });
        assert.equal(await own.waitForScriptRequests(3_600_000), true, Object.keys(kinds)[index]);
      }
    } finally {
      await own.close();
    }
  });

  it('network idle waits for a response that is to end', async () => {
    assert.equal((await page.navigate({ url: `${pages.url}/shows-late`, ...options }, call())).title, 'late');
  });
});
