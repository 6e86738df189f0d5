/** What a person presses and types in the live view arrives, in order, also in frames of other sites and on a busy machine. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { after, before, it } from 'node:test';
import { createSession, createViewToken, runActions, type SessionResponse } from '@berth/contract';
import { sampleOf } from '../../nightly.ts';
import { Service, eventually } from '../service.ts';
import { startSite, page as htmlPage, type Site } from '../site.ts';
import { ViewerBrowser, type Viewer } from './viewing.ts';

const turns = sampleOf(Array.from({ length: 12 }), 3).length;
/** Processes that compute all the time, one for each processor. */
const busyLoops = 2;

const style = `<style>body { margin: 0 } button, input { position: absolute; left: 20px; width: 200px; height: 60px; font: 20px monospace }
  button { top: 20px } input { top: 120px } iframe { position: absolute; left: 600px; top: 0; width: 500px; height: 400px; border: 0 }
  pre { position: absolute; top: 420px; width: 1200px; white-space: normal }</style>`;
const fields = `${style}<button>Press</button><input aria-label="Text"><script>
  for (const type of ['mousedown', 'mouseup', 'click'])
    document.querySelector('button').addEventListener(type, () => top.postMessage(where + type, '*'));
  document.querySelector('input').addEventListener('input', ({ data }) => top.postMessage(where + data, '*'));
</script>`;
const inner = htmlPage('Inner', `<script>where = 'frame-'</script>${fields}`);
const outer = htmlPage(
  'Outer',
  `<script>where = 'main-'; seen = []; onmessage = ({ data }) => { seen.push(data); document.querySelector('pre').textContent = seen.join(' ') }</script>
  ${fields}<iframe></iframe><pre></pre><script>document.querySelector('iframe').src = location.origin.replace('127.0.0.1', 'localhost') + '/inner'</script>`,
);

let site: Site;
let service: Service;
let viewers: ViewerBrowser;
let session: SessionResponse;
let viewer: Viewer;
const loops: ChildProcess[] = [];

before(async () => {
  site = await startSite({ pages: { '/outer': outer, '/inner': inner } });
  const allowed = `${site.host},${site.host.replace('127.0.0.1', 'localhost')}`;
  [service, viewers] = await Promise.all([Service.start({ environment: { BERTH_EGRESS_ALLOW: allowed } }), ViewerBrowser.launch()]);
  session = (await service.client.call(createSession, { body: { start_url: `${site.url}/outer` } })).body;
  const params = { session_id: session.session_id };
  const { url } = (await service.client.call(createViewToken, { params, body: { scope: 'control' } })).body;
  viewer = await viewers.newViewer({ origin: service.url });
  await viewer.open(url ?? '');
  await viewer.page.locator('canvas:visible').waitFor();
  for (let loop = 0; loop < busyLoops; loop += 1) loops.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
});
after(async () => {
  for (const loop of loops) loop.kill('SIGKILL');
  await viewers?.close();
  await service?.close();
  await site?.close();
});

/** What the page has received so far. */
const seen = async (): Promise<string[]> => {
  const params = { session_id: session.session_id };
  const actions = [{ type: 'extract', selectors: ['pre'], save_as: 'seen' }];
  const { status, body, text } = await service.client.call(runActions, { params, body: { actions } });
  assert.equal(status, 200, text);
  const { seen: words } = (body as { vars: { seen?: string } }).vars;
  assert.equal(typeof words, 'string', text);
  return words?.split(' ').filter((each) => each !== '') ?? [];
};

it('each press and key of a live view arrives once, in its frame and in order, beside two busy loops', async () => {
  const { page } = viewer;
  const box = (await page.locator('canvas').boundingBox()) ?? assert.fail('no picture');
  const click = (x: number, y: number) => page.mouse.click(box.x + (x * box.width) / 1280, box.y + (y * box.height) / 720);
  // A person sees the frame before pressing in it.
  await eventually('the frame is drawn and takes a press', async () => {
    await click(700, 50);
    return (await seen()).includes('frame-click');
  });
  // Of these presses, all that is sent arrives before what is sent after them.
  await click(100, 50);
  let before = 0;
  await eventually('nothing of it is on its way any more', async () => {
    const now = await seen();
    const isSame = now.length === before && now.includes('main-click') && now.length % 3 === 0;
    before = now.length;
    return isSame;
  });
  const wanted: string[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const [left, where] = turn % 2 === 0 ? [0, 'main-'] : [600, 'frame-'];
    await click(left + 100, 50);
    await click(left + 100, 150);
    await page.keyboard.type('ab');
    wanted.push(...['mousedown', 'mouseup', 'click', 'a', 'b'].map((each) => where + each));
    // A person sees what became of it. What waits for longer than ten seconds is reported and not sent.
    await eventually('the keys have arrived', async () => (await seen()).length >= before + wanted.length);
  }
  const events = (await seen()).slice(before);
  // Events of one frame are in order; those of two processes reach the page as each gets to it.
  for (const where of ['main-', 'frame-'])
    assert.deepEqual(
      events.filter((each) => each.startsWith(where)),
      wanted.filter((each) => each.startsWith(where)),
    );
  assert.equal(events.length, wanted.length);
});
