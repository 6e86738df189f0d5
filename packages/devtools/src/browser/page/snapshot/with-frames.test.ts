import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { snapshotScript, type Snapshot } from '@berth/reading';
import { launch, type Launched } from '../../../../testing/launch.ts';
import { call } from '../../../../testing/on-page.ts';
import { openPages, type Pages } from '../../../../testing/pages.ts';
import type { Page } from '../page.ts';
import { bothWithFrames, withFrames } from './with-frames.ts';

let pages: Pages;
let launched: Launched;
let page: Page;
before(async () => {
  pages = await openPages({
    '/': '<p>page</p><iframe src="{other}/seen"></iframe>',
    '/seen': (_, response, { url }) =>
      void response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(`<!doctype html><p>seen</p><p hidden>hidden</p><iframe src="${url}/inner"></iframe>`),
    '/inner': '<p>inner</p>',
  });
  launched = await launch();
  page = launched.browser.page(launched.browser.activeTab().tabId);
  await page.navigate({ url: `${pages.url}/`, waitUntil: 'load', timeoutMs: 60_000 }, call());
});
after(async () => {
  await launched.end();
  await pages.close();
});

const maxBytes = 1_000_000;
const take = (visibleOnly: boolean): Promise<Snapshot> =>
  page.call<Snapshot>(page.mainFrame(), snapshotScript, [{ visibleOnly, withFrames: true, maxBytes }], call());

/** The page, and how often each of its frames was asked. */
function counted(): { page: Page; calls: Map<string, number> } {
  const calls = new Map<string, number>();
  const counting: Page = Object.create(page, {
    call: {
      value: (frameId: string, ...rest: unknown[]) => {
        calls.set(frameId, (calls.get(frameId) ?? 0) + 1);
        return Reflect.apply(page.call.bind(page), page, [frameId, ...rest]);
      },
    },
  }) as Page;
  return { page: counting, calls };
}

it('a reading of frames asks each frame once for its visible part and for all of it', async () => {
  const { page: counting, calls } = counted();
  const reading = { maxBytes, frameId: page.mainFrame(), leftMs: 60_000, ...call() };
  const parts = await bothWithFrames(counting, { visible: await take(true), whole: await take(false) }, reading);
  const { visible, whole } = parts;
  for (const word of ['page', 'seen', 'inner']) assert.match(`${visible?.html}`, new RegExp(`${word}</p>`));
  assert.doesNotMatch(`${visible?.html}`, /hidden</);
  for (const word of ['page', 'seen', 'inner', 'hidden']) assert.match(`${whole?.html}`, new RegExp(`${word}</p>`));
  assert.deepEqual([visible?.framesLeftOut, whole?.framesLeftOut], [0, 0]);
  assert.ok(calls.size >= 2, 'frames were asked');
  assert.deepEqual(new Set(calls.values()), new Set([1]));
});

it('a reading of frames has the same in each part as when that part is read alone', async () => {
  const reading = { maxBytes, frameId: page.mainFrame(), leftMs: 60_000, ...call() };
  const { visible, whole } = await bothWithFrames(page, { visible: await take(true), whole: await take(false) }, reading);
  for (const [part, visibleOnly] of [
    [visible, true],
    [whole, false],
  ] as const)
    assert.equal(part?.html, (await withFrames(page, await take(visibleOnly), { ...reading, visibleOnly })).html);
});
