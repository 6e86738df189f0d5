/** Limits of downloads, in a real browser. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import type { DownloadInfo, DownloadLimit } from '../browser.ts';
import { launch, settings, type Launched } from '../../../testing/launch.ts';

const megabyte = 1024 ** 2;
const bytesMax = 4 * megabyte;

let launched: Launched;
let site: Server;
let origin = '';
const sizes: number[] = [];
let hasRoom = true;
const downloadLimit: DownloadLimit = {
  bytesMax,
  resize: (bytes) => {
    sizes.push(bytes);
    return hasRoom;
  },
};

before(async () => {
  launched = await launch();
  await launched.browser.prepare(settings({ downloadLimit }));
  site = createServer((request, response) => {
    const { searchParams, pathname } = new URL(request.url ?? '/', 'http://site.test');
    const bytes = Number(searchParams.get('bytes'));
    const isAnnounced = pathname === '/announced';
    response.writeHead(200, { 'content-type': 'application/x-test', ...(isAnnounced ? { 'content-length': bytes } : {}) });
    // Most of the announced bytes never come.
    if (isAnnounced && bytes > bytesMax) return void response.write('x');
    const send = (left: number): void => {
      if (response.destroyed) return;
      if (left <= 0) response.end();
      // Sent slowly enough to be cancelled in time, which depends on the browser's progress reports and not on its speed.
      else response.write(Buffer.alloc(Math.min(left, 65_536)), () => setTimeout(send, 1, left - 65_536));
    };
    send(bytes);
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
});
after(async () => {
  await launched.end();
  site.closeAllConnections();
  site.close();
});

async function download(path: string): Promise<DownloadInfo> {
  const { browser } = launched;
  const finished = Promise.withResolvers<DownloadInfo>();
  const undo = browser.onEvent((event) => event.type === 'download.finished' && finished.resolve(event.download));
  const { tabId } = browser.activeTab();
  const signal = AbortSignal.timeout(20_000);
  await browser.navigate(tabId, { url: `${origin}${path}`, waitUntil: 'load', timeoutMs: 20_000 }, { signal }).catch(() => undefined);
  try {
    return await finished.promise;
  } finally {
    undo();
  }
}
/** The bytes left in the folder, once the browser has deleted what was cancelled. */
async function storedBytes(expected: number): Promise<number> {
  const sizeOf = (name: string): number => statSync(join(launched.downloadsPath, name), { throwIfNoEntry: false })?.size ?? 0;
  const sum = (): number => readdirSync(launched.downloadsPath).reduce((all, name) => all + sizeOf(name), 0);
  const deadline = performance.now() + 20_000;
  while (sum() !== expected && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10));
  return sum();
}

it('a download within the limit is stored', async () => {
  const { status, receivedBytes } = await download(`/announced?bytes=${megabyte}`);
  assert.deepEqual([status, receivedBytes], ['completed', megabyte]);
  assert.equal(sizes.at(-1), megabyte);
});

it('a download that announces more than is left is cancelled before it arrives', async () => {
  const { status, receivedBytes } = await download(`/announced?bytes=${bytesMax}`);
  assert.equal(status, 'too_large');
  assert.ok(receivedBytes < megabyte, String(receivedBytes));
});

it('a download that does not say its size is cancelled while it grows, and leaves nothing', async () => {
  const { status, receivedBytes } = await download(`/endless?bytes=${200 * megabyte}`);
  assert.equal(status, 'too_large');
  assert.ok(receivedBytes < 150 * megabyte, String(receivedBytes));
  assert.equal(await storedBytes(megabyte), megabyte);
  assert.equal(sizes.at(-1), megabyte, 'what was cancelled counts no more');
});

it('a download for which the disk has no room is cancelled', async () => {
  hasRoom = false;
  assert.equal((await download(`/endless?bytes=${megabyte}`)).status, 'too_large');
});
