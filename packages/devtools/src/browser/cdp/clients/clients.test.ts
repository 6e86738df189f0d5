import assert from 'node:assert/strict';
import { copyFile, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { chromium, type Browser as PlaywrightBrowser } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { openBridge, type Bridge } from '../../../../testing/bridge.ts';
import { launch, settings, type Launched } from '../../../../testing/launch.ts';
import { freshPage, until } from '../../../../testing/on-page.ts';
import { openSite, type Site } from '../../../../testing/site.ts';
import { nightly } from '../../../../../../tests/nightly.ts';
import { assertPrompt } from '../../../../../../tests/yardstick.ts';

let site: Site;
let shared: Launched;
let launched: Launched;
let bridge: Bridge;

// Launches a browser that, as in a machine, lets a page open several popups at once.
const launchBrowser = (): Promise<Launched> => launch({ flags: ['--disable-popup-blocking'] });

/** Prepares one fresh tab, without clients. */
async function use(chosen: Launched): Promise<void> {
  launched = chosen;
  await until(() => launched.browser.clientCount() === 0);
  const viewport = { width: 1000, height: 700, device_scale_factor: 1 };
  // The test before may have reached the limit.
  await launched.browser.prepare(settings({ viewport, tabLimit: 30 }));
  await freshPage(launched.browser);
  await launched.browser.prepare(settings({ viewport, tabLimit: 6 }));
  bridge = await openBridge(launched.browser);
}

/** Gives a browser of its own to a test that ends it, or leaves contexts in it. */
async function useOwnBrowser(t: TestContext): Promise<void> {
  await bridge.close();
  const own = await launchBrowser();
  t.after(() => own.end());
  await use(own);
}

before(async () => {
  site = await openSite();
  shared = await launchBrowser();
});
after(async () => {
  await shared.end();
  await site.close();
});
beforeEach(() => use(shared));
afterEach(() => bridge.close());

const connect = (): Promise<PlaywrightBrowser> => chromium.connectOverCDP(bridge.url, { timeout: 30_000 });

describe('Playwright over connectOverCDP', () => {
  it('Playwright drives the page that is already open', async () => {
    const browser = await connect();
    const page = browser.contexts()[0]?.pages()[0];
    assert.ok(page);
    await page.goto(site.url);
    await page.fill('#q', 'typed');
    await page.click('#b');
    assert.equal(await page.title(), 'typed');
    assert.ok((await page.screenshot()).length > 1000);
    await browser.close();
    await until(() => launched.browser.clientCount() === 0);
    assert.equal(launched.browser.tabs()[0]?.url, `${site.url}/`);
  });

  it('Playwright gets an error for a screenshot that is too large, and goes on', async () => {
    const browser = await connect();
    const page = browser.contexts()[0]!.pages()[0]!;
    await page.goto(site.url);
    const client = await page.context().newCDPSession(page);
    // Rows that repeat after 64 are as incompressible as rows that never repeat.
    await page.evaluate(`(() => {
      const create = (width, height) => Object.assign(document.createElement('canvas'), { width, height });
      const [tile, canvas] = [create(4096, 64), document.body.appendChild(create(4096, 4800))];
      const noise = new ImageData(4096, 64);
      for (let i = 0; i < noise.data.length; i += 65536) crypto.getRandomValues(noise.data.subarray(i, i + 65536));
      for (let i = 3; i < noise.data.length; i += 4) noise.data[i] = 255;
      tile.getContext('2d').putImageData(noise, 0, 0);
      const context = canvas.getContext('2d');
      context.fillStyle = context.createPattern(tile, 'repeat');
      context.fillRect(0, 0, 4096, 4800);
    })()`);
    const options = { captureBeyondViewport: true, clip: { x: 0, y: 0, width: 4096, height: 4800, scale: 1 } };
    await assert.rejects(client.send('Page.captureScreenshot', options), /larger than 67108864 bytes.*lower scale.*JPEG/);
    assert.ok((await client.send('Page.captureScreenshot', { ...options, format: 'jpeg', quality: 20 })).data.length > 100_000);
    assert.equal(await page.evaluate('1 + 1'), 2);
    await browser.close();
  });

  it("Playwright sees popups and new contexts, and leaves the session's settings on them", async () => {
    const browser = await connect();
    const page = browser.contexts()[0]!.pages()[0]!;
    await page.goto(`${site.url}/popup`);
    const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#b')]);
    await popup.waitForLoadState();
    assert.equal(await popup.evaluate('first.inner'), 1000);
    assert.equal(launched.browser.tabs()[1]?.openerTabId, launched.browser.tabs()[0]?.tabId);
    const context = await browser.newContext({ viewport: null });
    const other = await context.newPage();
    await other.goto(`${site.url}/child`);
    assert.equal(await other.evaluate('first.screen'), 1000);
    assert.equal(launched.browser.tabs().length, 3);
    await context.close();
    await popup.close();
    await until(() => launched.browser.tabs().length === 1);
    await browser.close();
  });

  it("popups have Playwright's scripts before their first own, beside a Puppeteer client that resumes them at once", async () => {
    await launched.browser.prepare(settings({ tabLimit: 20 }));
    const browser = await connect();
    const other = await puppeteer.connect({ browserWSEndpoint: bridge.url, defaultViewport: null });
    const [context] = browser.contexts();
    const page = context!.pages()[0]!;
    await context!.addInitScript('globalThis.injected = 42');
    await context!.exposeFunction('mine', () => 7);
    await page.goto(site.url);
    const open = (url: string): Promise<unknown> =>
      page.evaluate(`(() => { const opened = window.open(${JSON.stringify(url)}); return [opened.injected, typeof opened.mine]; })()`);
    for (const url of ['', 'about:blank', '/child', '/child', '/child']) assert.deepEqual(await open(url), [42, 'function'], url);
    await until(() => launched.browser.tabs().length === 6);
    await until(async () => (await other.pages()).length === 6);
    await other.disconnect();
    await browser.close();
  });

  it('Playwright sets up each of the popups that a page opens at once', async () => {
    await launched.browser.prepare(settings({ tabLimit: 20 }));
    const browser = await connect();
    const [context] = browser.contexts();
    const page = context!.pages()[0]!;
    await context!.addInitScript('globalThis.injected = 42');
    await page.goto(site.url);
    const open = (): Promise<unknown> => page.evaluate(`[1, 2, 3].map(() => open('/child')).map(({ injected }) => injected)`);
    assert.deepEqual(await open(), [42, 42, 42]);
    const other = await puppeteer.connect({ browserWSEndpoint: bridge.url, defaultViewport: null });
    assert.deepEqual(await open(), [42, 42, 42]);
    await until(() => launched.browser.tabs().filter(({ url }) => url.endsWith('/child')).length === 6);
    await other.disconnect();
    await browser.close();
  });

  it('Playwright and the session set up frames of other sites before their first script without delay', async () => {
    await launched.browser.prepare(settings({ userAgent: 'Mozilla/5.0 Framed' }));
    const browser = await connect();
    const [context] = browser.contexts();
    const page = context!.pages()[0]!;
    await context!.addInitScript('globalThis.injected = 42');
    await page.goto(site.url);
    const since = performance.now();
    await page.evaluate(`new Promise((onload) => document.body.append(Object.assign(document.createElement('iframe'), {
      src: ${JSON.stringify(site.url.replace('127.0.0.1', 'localhost'))} + '/child', onload })))`);
    // A resume that waits for the other one comes after ten seconds.
    assertPrompt(since, 9500);
    const [, frame] = page.frames();
    assert.deepEqual(await frame?.evaluate('[first.injected, first.agent]'), [42, 'Mozilla/5.0 Framed']);
    await browser.close();
  });

  it('Playwright fails at once for the tabs over the limit that it opens at the same time', async () => {
    const browser = await connect();
    const context = browser.contexts()[0]!;
    const opened = await Promise.allSettled(Array.from({ length: 9 }, () => context.newPage()));
    const failures = opened.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []));
    assert.equal(failures.length, 4);
    for (const failure of failures) assert.match(failure, /tab limit of this session is reached/);
    assert.equal(context.pages().length, 6);
    await browser.close();
  });

  it("the PDF viewer's extension is hidden from Playwright", async () => {
    const browser = await connect();
    const page = browser.contexts()[0]!.pages()[0]!;
    let wire = '';
    launched.cdp.on('data', (chunk: Buffer) => (wire += chunk.toString()));
    await page.goto(`${site.url}/pdf`);
    const viewer = /"targetId":"([0-9A-F]{32})","type":"iframe"[^{}]*"url":"chrome-extension:/;
    await until(() => viewer.test(wire));
    const targetId = viewer.exec(wire)?.[1] ?? '';
    const cdp = await browser.newBrowserCDPSession();
    const { targetInfos } = await cdp.send('Target.getTargets', { filter: [{}] });
    assert.deepEqual(
      targetInfos.filter(({ url }) => url.startsWith('chrome-extension:')),
      [],
    );
    await assert.rejects(cdp.send('Target.attachToTarget', { targetId, flatten: true }), /No target with given id found/);
    await assert.rejects(cdp.send('Target.getTargetInfo', { targetId }), /No target with given id found/);
    assert.deepEqual(page.context().pages().length, 1);
    await page.goto(site.url);
    assert.equal(await page.title(), 'home');
    await browser.close();
  });

  it("downloads go into the machine's folder, whatever path Playwright names", async () => {
    const browser = await connect();
    const page = browser.contexts()[0]!.pages()[0]!;
    await page.goto(site.url);
    const earlier = await readdir(launched.downloadsPath).catch((): string[] => []);
    const [download] = await Promise.all([page.waitForEvent('download'), page.evaluate('location.href = "/download"')]);
    assert.equal(download.suggestedFilename(), 'a.bin');
    await download.failure();
    const [name] = (await readdir(launched.downloadsPath)).filter((each) => !earlier.includes(each));
    assert.equal(await readFile(join(launched.downloadsPath, name!), 'utf8'), 'contents');
    await browser.close();
  });

  it('Playwright hears of a completed download once the file is where it looks for it', async () => {
    let copies = 0;
    bridge.copyDownload = async (id, folder) => {
      await copyFile(join(launched.downloadsPath, id), join(folder, id));
      copies += 1;
    };
    const browser = await connect();
    const page = browser.contexts()[0]!.pages()[0]!;
    await page.goto(site.url);
    const [download] = await Promise.all([page.waitForEvent('download'), page.evaluate('location.href = "/download"')]);
    const saved = join(launched.downloadsPath, '..', 'saved');
    await download.saveAs(saved);
    assert.equal(await readFile(saved, 'utf8'), 'contents');
    assert.equal(copies, 1);
    await browser.close();
  });

  it("two Playwright clients do not see each other's contexts and bindings", async () => {
    const [one, two] = await Promise.all([connect(), connect()]);
    assert.equal(launched.browser.clientCount(), 2);
    const first = one.contexts()[0]!.pages()[0]!;
    const second = two.contexts()[0]!.pages()[0]!;
    await first.exposeFunction('mine', () => 1);
    await Promise.all([first.goto(`${site.url}/`), second.waitForURL(`${site.url}/`)]);
    assert.deepEqual(await Promise.all([first.evaluate('1 + 1'), second.evaluate('2 + 2')]), [2, 4]);
    const context = await one.newContext();
    await context.newPage();
    assert.equal(two.contexts().length, 1);
    await one.close();
    assert.equal(await second.evaluate('document.title'), 'home');
    await two.close();
    assert.deepEqual(bridge.closed, []);
  });

  it('Playwright finds a new tab after it has closed the last', async () => {
    const browser = await connect();
    const page = browser.contexts()[0]!.pages()[0]!;
    await page.close();
    await until(() => launched.browser.tabs().length === 1);
    await until(() => browser.contexts()[0]!.pages().length === 1);
    await browser.contexts()[0]!.pages()[0]!.goto(site.url);
    await browser.close();
  });

  it('Playwright answers its own dialogs', async () => {
    const browser = await connect();
    const page = browser.contexts()[0]!.pages()[0]!;
    await page.goto(site.url);
    page.on('dialog', (dialog) => void dialog.accept('said'));
    assert.equal(await page.evaluate('prompt("?")'), 'said');
    await browser.close();
  });

  it('Playwright is refused pages of the browser and files of the machine', async () => {
    const browser = await connect();
    const page = browser.contexts()[0]!.pages()[0]!;
    for (const url of ['file:///etc/passwd', 'chrome://version', 'view-source:http://x/', 'about:version'])
      await assert.rejects(page.goto(url), /Cannot navigate/);
    await page.evaluate('location.href = "file:///etc/passwd"').catch(() => {});
    assert.equal(await page.evaluate('document.body.innerText'), '');
    await browser.close();
  });
});

describe('the end of a browser', () => {
  it("a browser that ends detaches its targets before it closes the client's socket", async (t) => {
    await useOwnBrowser(t);
    const puppet = await puppeteer.connect({ browserWSEndpoint: bridge.url, defaultViewport: null });
    const [page] = await puppet.pages();
    const seen: string[] = [];
    page?.once('close', () => seen.push('page'));
    puppet.once('disconnected', () => seen.push('browser'));
    launched.browser.detach();
    await until(() => seen.length === 2);
    assert.deepEqual(seen, ['page', 'browser']);
  });
});

/** Run in a page. Outside of an emulation they are those of the window and of the machine's screen. */
const sizes = '({ inner: [innerWidth, innerHeight], outer: [outerWidth, outerHeight], screen: [screen.width, screen.height] })';

/** Chromium reports a window's size to its page a moment after the page's own. */
async function measure(page: { evaluate(expression: string): Promise<unknown> }, inner: number[]): Promise<void> {
  type Sizes = Record<'inner' | 'outer' | 'screen', [number, number]>;
  const read = async (): Promise<Sizes> => (await page.evaluate(sizes)) as Sizes;
  const fits = ({ outer, screen }: Sizes): boolean => [0, 1].every((n) => inner[n]! <= outer[n]! && outer[n]! <= screen[n]!);
  await until(async () => fits(await read()), 5000).catch(() => {});
  const seen = await read();
  assert.deepEqual(seen.inner, inner);
  assert.ok(fits(seen), JSON.stringify(seen));
}

describe('Puppeteer over connect', () => {
  for (const viewport of [
    { width: 1000, height: 700 },
    { width: 1920, height: 1080 },
  ])
    it(
      `pages stay at ${viewport.width} × ${viewport.height} after a full-page screenshot of Puppeteer`,
      viewport.width === 1000 ? {} : nightly,
      async () => {
        await launched.browser.prepare(settings({ viewport: { ...viewport, device_scale_factor: 1 }, tabLimit: 6 }));
        const browser = await puppeteer.connect({ browserWSEndpoint: bridge.url, defaultViewport: null });
        const context = await browser.createBrowserContext();
        for (const page of [(await browser.pages())[0]!, await browser.newPage(), await context.newPage()]) {
          await page.goto(`${site.url}/long`);
          const size = [viewport.width, viewport.height];
          await measure(page, size);
          for (const _ of [1, 2]) {
            await page.screenshot({ fullPage: true });
            await measure(page, size);
          }
        }
        await context.close();
        await browser.disconnect();
      },
    );

  it('Puppeteer drives pages, popups and contexts', async () => {
    const browser = await puppeteer.connect({ browserWSEndpoint: bridge.url, defaultViewport: null });
    const page = (await browser.pages())[0];
    assert.ok(page);
    await page.goto(`${site.url}/popup`);
    const popup = new Promise<string>((resolve) => page.once('popup', (opened) => resolve(opened?.url() ?? '')));
    await page.click('#b');
    await popup;
    await page.goto(site.url);
    await page.type('#q', 'typed');
    await page.click('#b');
    assert.equal(await page.title(), 'typed');
    const context = await browser.createBrowserContext();
    const other = await context.newPage();
    await other.goto(`${site.url}/child`);
    assert.equal(await other.evaluate('first.inner'), 1000);
    assert.ok((await page.screenshot()).length > 1000);
    await context.close();
    await browser.disconnect();
    await until(() => launched.browser.clientCount() === 0);
  });

  it('Puppeteer creates a limited number of contexts, and new ones in place of those that it disposes of', async (t) => {
    await useOwnBrowser(t);
    const browser = await puppeteer.connect({ browserWSEndpoint: bridge.url, defaultViewport: null });
    const create = () => browser.createBrowserContext();
    const contexts = await Promise.all(Array.from({ length: 32 }, create));
    await assert.rejects(create(), /limit of browser contexts/);
    await contexts[0]?.close();
    await create();
    await assert.rejects(create(), /limit of browser contexts/);
    await browser.disconnect();
    const next = await puppeteer.connect({ browserWSEndpoint: bridge.url, defaultViewport: null });
    await assert.rejects(next.createBrowserContext(), /limit of browser contexts/, 'contexts of a client that left stay');
    await next.browserContexts().at(-1)?.close();
    await next.createBrowserContext();
    await next.disconnect();
  });

  it("downloads in Puppeteer's own contexts are counted, whatever it says about their events", async () => {
    const browser = await puppeteer.connect({ browserWSEndpoint: bridge.url, defaultViewport: null });
    for (const eventsEnabled of [undefined, false]) {
      const context = await browser.createBrowserContext();
      const page = await context.newPage();
      const session = await browser.target().createCDPSession();
      if (eventsEnabled === false)
        await session.send('Browser.setDownloadBehavior', {
          behavior: 'allow',
          downloadPath: '/',
          browserContextId: context.id ?? '',
          eventsEnabled,
        });
      const before = launched.browser.downloads().length;
      await page.goto(`${site.url}/download`).catch(() => undefined);
      await until(() => launched.browser.downloads().length > before);
      await until(() => launched.browser.downloads()[0]?.status === 'completed');
      await context.close();
    }
    await browser.disconnect();
  });

  it("Puppeteer's disconnect closes the client and not the browser", async () => {
    const browser = await puppeteer.connect({ browserWSEndpoint: bridge.url });
    await browser.close();
    await until(() => bridge.closed.length === 1);
    assert.deepEqual(bridge.closed, ['browser_close']);
    await launched.browser.ping({ signal: AbortSignal.timeout(20_000) });
  });

  it('Puppeteer leaves no contexts and tabs of its own when it closes its browser', async () => {
    const browser = await puppeteer.connect({ browserWSEndpoint: bridge.url, defaultViewport: null });
    for (const context of [await browser.createBrowserContext(), await browser.createBrowserContext()])
      await (await context.newPage()).goto(`${site.url}/child`);
    assert.equal(launched.browser.tabs().length, 3);
    await browser.close();
    await until(() => launched.browser.tabs().length === 1);
    assert.equal(launched.browser.tabs()[0]?.url, 'about:blank');
    const next = await puppeteer.connect({ browserWSEndpoint: bridge.url, defaultViewport: null });
    assert.equal(next.browserContexts().length, 1);
    await next.disconnect();
  });

  it('Puppeteer gives pages uploaded files by their names', async () => {
    const path = join(launched.downloadsPath, '..', 'uploaded.csv');
    await writeFile(path, 'a,b');
    await launched.browser.prepare(settings({ uploadPath: (name) => (name === 'report.csv' ? path : null) }));
    const browser = await puppeteer.connect({ browserWSEndpoint: bridge.url, defaultViewport: null });
    const [page] = await browser.pages();
    await page!.setContent('<input type="file">');
    const input = (await page!.$('input[type="file"]'))!;
    await input.uploadFile('report.csv');
    assert.equal(await input.evaluate((field) => field.files?.[0]?.text()), 'a,b');
    await assert.rejects(input.uploadFile('/home/ada/other.csv'), /cannot read "other\.csv" from your computer.*uploads/);
    await browser.disconnect();
  });
});
