import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertPrompt } from '../../../../../tests/yardstick.ts';
import type { Browser, DevtoolsClient, ScreencastAttachment, ScreencastDemand, ScreencastFrame } from '../browser.ts';
import type { Page } from '../page/page.ts';
import { readJpeg, type JpegInfo } from '../../../testing/images.ts';
import { launch, onCommand, settings, type Launched } from '../../../testing/launch.ts';
import { call, until } from '../../../testing/on-page.ts';
import { openPages, type Pages } from '../../../testing/pages.ts';

const colour = (name: string): string => `<title>${name}</title><body style="margin:0;background:${name}">`;
const replies = {
  '/moving': `<title>moving</title><style>
    @keyframes there { to { transform: translateX(900px) } }
    div { width: 200px; height: 200px; background: green; animation: there 1s infinite alternate linear }</style><div></div>`,
  '/red': colour('red'),
  '/blue': colour('blue'),
  '/lime': colour('lime'),
  '/target': `<title>target</title><body style="margin:0;background:white"><div id=target
      style="position:fixed;left:70%;top:80%;width:20px;height:20px;background:red"></div>
    <script>hits = []; addEventListener('mousedown', (e) => hits.push(e.target.id))</script>`,
  '/steps': `<title>steps</title><body style="margin:0;background:white"><script>
    run = () => { let step = 0; const next = () => {
      step += 1; document.body.style.background = step < 40 ? 'rgb(255,255,' + step + ')' : 'blue';
      if (step < 40) setTimeout(next, 10); }; next(); };</script>`,
};

const demand = (wanted: Partial<ScreencastDemand> = {}): ScreencastDemand => ({
  maxWidth: 640,
  maxHeight: 480,
  quality: 60,
  framesPerSecond: 15,
  ...wanted,
});

let pages: Pages;
let launched: Launched;
let browser: Browser;
/** Decodes frames; no tab of the session. */
let eye: Launched;
let eyePage: Page;
let attachments: ScreencastAttachment[] = [];
/** What the worker sent to the browser since the test began. */
let sent: string[] = [];
let framesOnPipe = 0;

before(async () => {
  pages = await openPages(replies);
  [launched, eye] = await Promise.all([launch(), launch()]);
  browser = launched.browser;
  eyePage = eye.browser.page(eye.browser.activeTab().tabId);
  onCommand(launched.cdp, (method, message) => {
    // Those by which covered pages are drawn show nothing to anybody.
    if (!message.includes('"everyNthFrame"')) sent.push(method);
  });
  launched.cdp.on('data', (chunk: Buffer) => (framesOnPipe += chunk.includes('Page.screencastFrame') ? 1 : 0));
});
after(async () => {
  await Promise.all([launched.end(), eye.end()]);
  await pages.close();
});
beforeEach(() => {
  sent = [];
});
afterEach(async () => {
  for (const attachment of attachments) attachment.detach();
  attachments = [];
  // The browser draws for a moment longer, for whoever comes back.
  const last = (): string | undefined => sent.findLast((method) => /^Page\.(?:start|stop)Screencast$/.test(method));
  if (count('Page.startScreencast') > 0) await until(() => last() === 'Page.stopScreencast');
});

const active = (): string => browser.activeTab().tabId;
const go = (path: string, tabId = active()): Promise<unknown> =>
  browser.navigate(tabId, { url: pages.url + path, waitUntil: 'load', timeoutMs: 20_000 }, call());
const run = <T>(expression: string, tabId = active()): Promise<T> => browser.page(tabId).evaluate<T>(tabId, expression, call());
const count = (method: string): number => sent.filter((each) => each === method).length;

/** A client of a screencast, and the frames that it took. */
class TestClient {
  readonly frames: ScreencastFrame[] = [];
  ready = true;
  readonly #attachment: ScreencastAttachment;
  #demand: ScreencastDemand;

  constructor(wanted: Partial<ScreencastDemand> = {}, of = browser) {
    this.#demand = demand(wanted);
    this.#attachment = of.attachScreencast(this);
    attachments.push(this.#attachment);
  }

  demand = (): ScreencastDemand => this.#demand;
  isReady = (): boolean => this.ready;
  onFrame = (frame: ScreencastFrame): void => void this.frames.push(frame);
  detach = (): void => this.#attachment.detach();
  update = (): void => this.#attachment.update();

  change(wanted: Partial<ScreencastDemand>): void {
    this.#demand = demand(wanted);
    this.update();
  }
}

const watch = (wanted: Partial<ScreencastDemand> = {}): TestClient => new TestClient(wanted);

async function newest(frames: ScreencastFrame[]): Promise<JpegInfo> {
  await until(() => frames.length > 0);
  return readJpeg(eyePage, frames.at(-1)?.data ?? Buffer.alloc(0));
}

/** Waits until a value has stayed the same for `forMs`. */
async function rests(read: () => unknown, forMs = 800): Promise<void> {
  let [value, sinceMs] = [read(), performance.now()];
  await until(() => {
    if (read() !== value) [value, sinceMs] = [read(), performance.now()];
    return performance.now() - sinceMs >= forMs;
  });
}

const isColour = (wanted: 'red' | 'lime' | 'blue', { middle }: JpegInfo): boolean => {
  const index = ['red', 'lime', 'blue'].indexOf(wanted);
  return middle.every((part, at) => (at === index ? part > 200 : part < 60));
};
const shows = (frames: ScreencastFrame[], wanted: 'red' | 'lime' | 'blue'): Promise<void> =>
  until(async () => frames.length > 0 && isColour(wanted, await newest(frames)));

/** A customer's client with a screencast of its own. */
async function customer(
  tabId: string,
): Promise<{ frames: () => number; ask(method: string, params: object): void; client: DevtoolsClient }> {
  let frames = 0;
  let sessionId = '';
  let lastId = 0;
  const client = await browser.connectClient({
    send: (message) => {
      const { method, params } = JSON.parse(message.toString()) as { method?: string; params?: { sessionId: string | number } };
      if (method === 'Target.attachedToTarget') sessionId = String(params?.sessionId);
      if (method !== 'Page.screencastFrame') return;
      frames += 1;
      ask('Page.screencastFrameAck', { sessionId: params?.sessionId });
    },
    onClose: () => {},
  });
  const ask = (method: string, params: object): void =>
    void client.receive(JSON.stringify({ id: ++lastId, method, params, ...(sessionId ? { sessionId } : {}) }));
  ask('Target.attachToTarget', { targetId: tabId, flatten: true });
  await until(() => sessionId !== '');
  return { frames: () => frames, ask, client };
}

describe('watching', () => {
  it('a screencast sends frames at the requested rate', async () => {
    await go('/moving');
    const { frames } = watch({ framesPerSecond: 12 });
    await until(() => frames.length > 3);
    // A machine that is busy with something else draws fewer for a while, never more.
    await until(async () => {
      const first = frames.length;
      await until(() => frames.length > first + 30, 60_000);
      // Measured by when they were drawn: they may come late, and then several at once.
      const rateOf = (from: number, to: number): number =>
        ((to - from) * 1000) / ((frames[to]?.drawnAtMs ?? 0) - (frames[from]?.drawnAtMs ?? 0));
      const perSecond = rateOf(first, first + 30);
      assert.ok(perSecond <= 13, `${perSecond} a second`);
      // Twelve in a row are enough to see that the pace is the requested one, and no lower.
      return Array.from({ length: 19 }, (_, at) => rateOf(first + at, first + at + 12)).some((rate) => rate >= 10);
    }, 60_000);
    assert.notDeepEqual(frames.at(-1)?.data, frames.at(-3)?.data);
    const last = frames.at(-1);
    assert.ok(last && Math.abs(Date.now() - last.drawnAtMs) < 20_000, 'drawn now');
    assert.deepEqual([last.tabId, last.width, last.height], [active(), 1280, 720]);
    const { width, height } = await newest(frames);
    assert.deepEqual([width, height], [640, 360]);
  });

  it('a screencast of a still page sends a frame at once, to the first and to later clients', async () => {
    await go('/red');
    const first = watch();
    await until(() => first.frames.length > 0);
    await shows(first.frames, 'red');
    const second = watch();
    assert.equal(second.frames.length, 0, 'not before it holds its watch');
    await Promise.resolve();
    assert.equal(second.frames[0], first.frames.at(-1));
    await rests(() => `${count('Page.startScreencast')} starts, ${first.frames.length} frames`);
    // One for each client, and those for frames that may have been missed, which have come to an end.
    assert.ok(count('Page.startScreencast') <= 5, `${count('Page.startScreencast')} starts`);
  });

  it('a screencast sends no frame of another size than the page has', async () => {
    await go('/red');
    const { frames } = watch();
    await shows(frames, 'red');
    await browser.page(active()).setViewport({ width: 333, height: 777, device_scale_factor: 1 }, call());
    const second = watch();
    await until(() => second.frames.length > 0);
    assert.deepEqual([second.frames[0]?.width, second.frames[0]?.height], [333, 777]);
    await browser.page(active()).setViewport({ width: 1280, height: 720, device_scale_factor: 1 }, call());
    await until(() => frames.at(-1)?.width === 1280);
  });

  it('a screencast ends with what was drawn last, also of what changed faster than the frame rate', async () => {
    await go('/steps');
    const { frames } = watch({ framesPerSecond: 4 });
    await until(() => frames.length > 0);
    await run('run()');
    await shows(frames, 'blue');
    // Four a second, however long the page needed for its forty steps, and a few of starts.
    const seconds = ((frames.at(-1)?.drawnAtMs ?? 0) - (frames[0]?.drawnAtMs ?? 0)) / 1000;
    assert.ok(frames.length < 12 + 4 * seconds, `${frames.length} frames in ${seconds} s`);
  });

  it('clients share one screencast, as large as the largest of them needs it', async () => {
    await go('/target');
    const small = watch({ maxWidth: 320, maxHeight: 320 });
    const large = watch({ maxWidth: 960, maxHeight: 960 });
    await until(async () => large.frames.length > 0 && (await newest(large.frames)).width === 960);
    assert.equal(small.frames.at(-1), large.frames.at(-1));
    large.detach();
    await until(async () => (await newest(small.frames)).width === 320);
    assert.equal(count('Page.startScreencast') - count('Page.stopScreencast'), 1);
  });

  it('a screencast client that was not ready gets the newest frame when it is again, and the others every frame', async () => {
    await go('/moving');
    const [slow, quick] = [watch(), watch()];
    slow.ready = false;
    await until(() => quick.frames.length >= 10);
    assert.equal(slow.frames.length, 0);
    slow.ready = true;
    slow.update();
    assert.deepEqual(slow.frames, [quick.frames.at(-1)]);
    slow.update();
    assert.equal(slow.frames.length, 1, 'no frame comes twice');
    const seqs = quick.frames.map(({ seq }) => seq);
    assert.deepEqual(
      seqs,
      seqs.map((_, at) => (seqs[0] ?? 0) + at),
      'it missed none',
    );
  });

  it('a screencast limits its restarts when the demand changes all the time', async () => {
    await go('/moving');
    const client = watch();
    const startedAt = performance.now();
    for (let turn = 0; turn < 30; turn += 1) {
      client.change({ maxWidth: 300 + turn, framesPerSecond: 5 + turn });
      await sleep(50);
    }
    // One a second, and the first: on a busy machine the changes take longer than their pauses.
    const seconds = (performance.now() - startedAt) / 1000;
    assert.ok(count('Page.startScreencast') <= 2 + seconds, `${count('Page.startScreencast')} starts in ${seconds} s`);
    await until(async () => (await newest(client.frames)).width === 329);
  });

  it('a screencast is no activity, and asks nothing that a page could notice', async () => {
    await go('/moving');
    const before = browser.lastActivityMs;
    const { frames } = watch();
    await until(() => frames.length > 5);
    assert.equal(browser.lastActivityMs, before);
    // A busy browser may miss frames, for which the screencast is started again.
    const ofScreencast = /^Page\.(?:startScreencast|stopScreencast|screencastFrameAck)$/;
    assert.ok(count('Page.startScreencast') > 0);
    assert.deepEqual(
      sent.slice(sent.indexOf('Page.startScreencast')).filter((method) => !ofScreencast.test(method)),
      [],
    );
    assert.equal(count('Runtime.enable'), 0);
  });

  it('a screencast ends within a second of its last client, and 200 who come and go leave nothing', async () => {
    await go('/moving');
    const timers = (): number => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
    const before = timers();
    let frameCount = 0;
    const begunAt = performance.now();
    for (let cycle = 0; cycle < 200; cycle += 1) {
      const each = watch({ quality: 30 + (cycle % 50) });
      each.onFrame = () => void (frameCount += 1);
      if (cycle % 10 === 0) await sleep(20);
      each.detach();
      each.detach();
    }
    const last = watch();
    const { frames } = last;
    await until(() => frames.length > 3);
    last.detach();
    const [endedAt, framesThen, countAtEnd] = [performance.now(), frames.length, frameCount];
    await until(() => sent.at(-1) === 'Page.stopScreencast');
    assertPrompt(endedAt, 8000, 'it took more than a second, and more than a busy machine explains');
    await rests(() => framesOnPipe, 500);
    assert.deepEqual([frames.length, frameCount], [framesThen, countAtEnd], 'nobody hears who has ended');
    // One a second of the cycles, and as many again of frames that were missed.
    const seconds = (performance.now() - begunAt) / 1000;
    assert.ok(count('Page.startScreencast') < 20 + 2 * seconds, `${count('Page.startScreencast')} starts in ${seconds} s`);
    await until(() => timers() <= before);
  });

  it("a screencast runs beside a customer's own one", async () => {
    await go('/moving');
    const other = await customer(active());
    other.ask('Page.startScreencast', { format: 'jpeg', quality: 20, maxWidth: 100, maxHeight: 100 });
    const own = watch({ framesPerSecond: 5 });
    await until(() => own.frames.length > 5 && other.frames() > 5);
    own.detach();
    await until(() => sent.includes('Page.stopScreencast'));
    const before = other.frames();
    await until(() => other.frames() > before + 5);
    const again = watch();
    other.ask('Page.stopScreencast', {});
    await until(() => again.frames.length > 5);
    other.client.close();
  });
});

describe('the picture', () => {
  const strikes = async (frames: ScreencastFrame[]): Promise<void> => {
    const input = browser.remoteInput(active());
    // A page that was just sized may be drawn once more.
    await until(async () => {
      await until(async () => (await newest(frames)).red !== null);
      const { width = 0, height = 0 } = frames.at(-1) ?? {};
      const { red } = await newest(frames);
      const at = { x: (red?.x ?? 0) * width, y: (red?.y ?? 0) * height, clicks: 1, modifiers: 0 };
      await run('hits.length = 0');
      await input.mouse({ ...at, action: 'down', button: 'left', buttons: 1 });
      await input.mouse({ ...at, action: 'up', button: 'left', buttons: 0 });
      return (await run<string[]>('hits')).join() === 'target';
    });
  };

  it('a screencast frame shows what a click at its place strikes, whatever the size and scale', async () => {
    await go('/target');
    const { frames } = watch({ maxWidth: 500, maxHeight: 400 });
    await strikes(frames);
    for (const [width, height, factor] of [
      [801, 601, 2],
      [333, 777, 1.5],
      [1599, 400, 1],
    ] as const) {
      await browser.page(active()).setViewport({ width, height, device_scale_factor: factor }, call());
      await until(() => frames.at(-1)?.width === width && frames.at(-1)?.height === height);
      await strikes(frames);
    }
    await browser.page(active()).setViewport({ width: 1280, height: 720, device_scale_factor: 1 }, call());
    await run(`document.body.style.height = '5000px'; scrollTo(0, 1000)`);
    await strikes(frames);
  });

  it('a screencast frame is right where a client makes the browser a telephone', async () => {
    await go('/target');
    const { ask, client } = await customer(active());
    ask('Emulation.setDeviceMetricsOverride', { width: 400, height: 800, deviceScaleFactor: 2, mobile: true });
    const { frames } = watch({ maxWidth: 500, maxHeight: 800 });
    await until(() => frames.at(-1)?.width === 980);
    await strikes(frames);
    client.close();
    await browser.page(active()).setViewport({ width: 1280, height: 720, device_scale_factor: 1 }, call());
  });

  it('a screencast frame is whole in a session that was prepared for another size', async () => {
    const other = await launch();
    try {
      await other.browser.prepare(settings({ viewport: { width: 900, height: 1100, device_scale_factor: 1 } }));
      const { tabId } = other.browser.activeTab();
      await other.browser.navigate(tabId, { url: `${pages.url}/target`, waitUntil: 'load', timeoutMs: 20_000 }, call());
      const each = new TestClient({}, other.browser);
      const { frames } = each;
      await until(() => frames.at(-1)?.height === 1100);
      assert.equal(frames.at(-1)?.width, 900);
      assert.ok((await newest(frames)).red);
      const input = other.browser.remoteInput(tabId);
      // A window of its own, and of its own size.
      await other.browser
        .page(tabId)
        .evaluate(tabId, `addEventListener('mousedown', () => open('/red', '', 'width=300,height=300'))`, call());
      await input.mouse({ action: 'down', x: 1, y: 1, button: 'left', buttons: 1, clicks: 1, modifiers: 0 });
      await until(() => other.browser.tabs().some(({ openerTabId, status }) => openerTabId === tabId && status === 'complete'));
      await other.browser.activateTab(other.browser.tabs().at(-1)?.tabId ?? '', call());
      await until(() => frames.at(-1)?.tabId !== tabId && frames.at(-1)?.height === 300);
      assert.equal(frames.at(-1)?.width, 300);
      await shows(frames, 'red');
      each.detach();
    } finally {
      await other.end();
    }
  });
});

describe('the active tab', () => {
  const open = async (path: string, isActive: boolean): Promise<string> => {
    const { tabId } = await browser.openTab({ active: isActive, ...call() });
    await go(path, tabId);
    return tabId;
  };

  beforeEach(async () => {
    const front = active();
    for (const { tabId } of browser.tabs()) if (tabId !== front) await browser.closeTab(tabId, call());
  });

  it('the active tab is followed when tabs are opened, activated by the service or a client, and closed', async () => {
    await go('/red');
    const first = active();
    const { frames } = watch();
    await shows(frames, 'red');
    const second = await open('/blue', true);
    await shows(frames, 'blue');
    assert.equal(frames.at(-1)?.tabId, second);
    const third = await open('/lime', false);
    await browser.activateTab(first, call());
    await shows(frames, 'red');
    const { ask, client } = await customer(third);
    ask('Page.bringToFront', {});
    await shows(frames, 'lime');
    client.close();
    await browser.closeTab(third, call());
    await until(() => frames.at(-1)?.tabId === active());
    await browser.closeTab(active() === first ? second : first, call());
    const colours = { [first]: 'red', [second]: 'blue' } as const;
    await shows(frames, colours[active()] ?? 'lime');
  });

  it('changes of the active tab are reported to listeners, with changes of the other tabs', async () => {
    const snapshots: string[] = [];
    const undo = browser.onTabsChanged(() =>
      snapshots.push(
        browser
          .tabs()
          .map(({ title, active: isActive, status }) => `${title}:${isActive}:${status}`)
          .join(),
      ),
    );
    await go('/red');
    await until(() => snapshots.at(-1) === 'red:true:complete');
    const first = active();
    const second = await open('/blue', false);
    await until(() => snapshots.at(-1) === 'red:true:complete,blue:false:complete');
    await run(`document.title = 'navy'`, second);
    await until(() => snapshots.at(-1) === 'red:true:complete,navy:false:complete');
    await browser.activateTab(second, call());
    assert.equal(snapshots.at(-1), 'red:false:complete,navy:true:complete');
    await browser.closeTab(second, call());
    assert.equal(snapshots.at(-1), 'red:true:complete');
    undo();
    const count = snapshots.length;
    await go('/blue', first);
    assert.equal(snapshots.length, count);
    await assert.rejects(browser.activateTab(second, call()), { name: 'Error', message: /^no tab/ });
  });

  it('the active tab keeps its last frame when it crashes, and continues after a navigation', async () => {
    await go('/red');
    const { frames } = watch();
    await shows(frames, 'red');
    const { ask, client } = await customer(active());
    ask('Page.crash', {});
    await until(() => browser.activeTab().status === 'crashed');
    const second = watch();
    await Promise.resolve();
    assert.equal(second.frames[0], frames.at(-1));
    await go('/blue');
    await shows(second.frames, 'blue');
    client.close();
  });

  it('the active tab is the new one when the last is closed', async () => {
    await go('/red');
    const { frames } = watch();
    await shows(frames, 'red');
    const { ask, client } = await customer(active());
    const before = active();
    ask('Page.close', {});
    await until(() => browser.tabs().length === 1 && browser.tabs()[0]?.tabId !== before);
    await browser.tabReady();
    await until(() => frames.at(-1)?.tabId === active());
    await go('/lime');
    await shows(frames, 'lime');
    client.close();
  });
});
