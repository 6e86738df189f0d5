/**
 * Scripts of Playwright and Puppeteer that run against a plain Chromium and
 * against a session, and have the same result.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { connectSession, createSession, endSession } from '@berth/contract';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import puppeteer, { type Browser as Puppet, type Page as PuppetPage } from 'puppeteer-core';
import { pdf } from '../../shop/pages/files.ts';
import { nightly } from '../../nightly.ts';
import { Service } from '../service.ts';

/** Addresses of the sites of a script. */
interface Sites {
  url: string;
  /** Nothing listens there. */
  closed: string;
  /** Resets each connection at its first bytes. */
  resets: string;
  /** Ends each connection at its first bytes. */
  empty: string;
}

type PlaywrightScript = (browser: { page: Page; context: BrowserContext }, sites: Sites) => Promise<unknown>;
type PuppeteerScript = (browser: { page: PuppetPage; browser: Puppet }, sites: Sites) => Promise<unknown>;

/** The message without the library's call log. */
const failureOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'resolved',
    (error: unknown) => String(error).split('\n')[0] ?? '',
  );

const playwrightScripts: Record<string, PlaywrightScript> = {
  'a site that cannot be reached fails, over http and https': async ({ page }, { closed, resets, empty }) => {
    const failed: string[] = [];
    page.on('requestfailed', (request) => failed.push(`${request.url()} ${request.failure()?.errorText}`));
    const results: string[] = [];
    for (const host of [closed, resets, empty, 'nosuch.example'])
      for (const scheme of ['http', 'https']) results.push(await failureOf(page.goto(`${scheme}://${host}/`)));
    return [results, failed];
  },
  'a resource that cannot be reached fails for the page': async ({ page }, { url, closed }) => {
    await page.goto(url);
    const failing = page.waitForEvent('requestfailed');
    const result = await page.evaluate((to) => fetch(to, { mode: 'no-cors' }).then(String, String), `http://${closed}/x`);
    return [result, (await failing).failure()];
  },
  'a text that is no address is refused': ({ page }) => failureOf(page.goto('example.com')),
  'popups have scripts, functions, headers and routes from the start': async ({ page, context }, { url }) => {
    await context.addInitScript('globalThis.injected = 42');
    await context.exposeFunction('mine', () => 7);
    await context.setExtraHTTPHeaders({ 'x-mine': 'yes' });
    await context.route('**/routed', (route) => route.fulfill({ body: 'routed' }));
    await page.goto(url);
    const seen: unknown[] = [];
    for (const path of ['', '/headers', '/routed']) {
      const [popup] = await Promise.all([
        page.waitForEvent('popup'),
        page.evaluate((to) => void Object.assign(globalThis, { opened: window.open(to) }), path),
      ]);
      await popup.waitForLoadState();
      seen.push(await page.evaluate('[opened.injected, typeof opened.mine]'), await popup.evaluate('document.body.innerText'));
      await popup.close();
    }
    return seen;
  },
  'a response has the address of its site, and its request the headers that the site got': async ({ page }, { url }) => {
    const redirected = page.waitForResponse((response) => response.url().endsWith('/moved'));
    const response = await page.goto(`${url}/moved`);
    const headers = (await response?.request().headersArray())?.map(({ name, value }) => `${name.toLowerCase()}: ${value}`);
    return [await response?.serverAddr(), await (await redirected).serverAddr(), headers?.filter((each) => each.includes('connection'))];
  },
  'large texts arrive as they are': async ({ page }, { url }) => {
    // Scripts can hash on pages of loopback, and not on an empty one.
    await page.goto(url);
    const text = 'a "quoted" \\ line\n é😀 \u0001 '.repeat(20_000);
    await page.setContent(`<input type=file multiple><p>${'words '.repeat(60_000)}</p>`);
    const files = ['a', 'b'].map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) }));
    await page.setInputFiles('input', files);
    const digest = await page.evaluate(
      async ([whole, ...parts]) => {
        const inputs = [...(document.querySelector('input')?.files ?? [])];
        const texts = [whole ?? '', parts.join(''), ...(await Promise.all(inputs.map((file) => file.text())))];
        const hashes = texts.map((each) => crypto.subtle?.digest('SHA-1', new TextEncoder().encode(each)) ?? each.length);
        return [
          (await Promise.all(hashes)).map((each) => (typeof each === 'number' ? each : [...new Uint8Array(each)])),
          document.body.innerText.length,
        ];
      },
      [text, ...Array.from({ length: 200 }, (_, n) => `${n} ${text.slice(0, 5000)}`)],
    );
    await page.goto(`data:text/html,${encodeURIComponent(text.slice(0, 200_000))}`);
    return [digest, await page.evaluate('location.href.length')];
  },
  'a page without scroll bars, on request, is as wide as its viewport': async ({ page, context }, { url }) => {
    const devtools = await context.newCDPSession(page);
    await devtools.send('Emulation.setScrollbarsHidden', { hidden: true });
    const widths: unknown[] = [];
    for (const path of ['/', '/frame']) {
      await page.goto(url + path);
      await page.evaluate(() => (document.body.style.height = '3000px'));
      widths.push(await page.evaluate(() => innerWidth - document.documentElement.clientWidth));
    }
    await devtools.send('Emulation.setScrollbarsHidden', { hidden: false });
    await devtools.detach();
    return widths;
  },
  'a page crashes on request': async ({ context }, { url }) => {
    const page = await context.newPage();
    await page.goto(url);
    const waiting = failureOf(page.waitForEvent('response'));
    const crashed = page.waitForEvent('crash');
    const going = failureOf(page.goto('chrome://crash'));
    await crashed;
    const results = [await going, await waiting, await failureOf(page.evaluate('1'))];
    await page.close();
    return results;
  },
  'responses have the headers of the site': async ({ page }, { url }) => {
    const response = await page.goto(`${url}/keeps`);
    return (await response?.headersArray())?.map(({ name, value }) => `${name.toLowerCase()}: ${value}`).toSorted();
  },
};

const puppeteerScripts: Record<string, PuppeteerScript> = {
  'a site that cannot be reached fails, over http and https': async ({ page }, { closed, resets, empty }) => {
    const failed: string[] = [];
    page.on('requestfailed', (request) => failed.push(`${request.url()} ${request.failure()?.errorText}`));
    const results: string[] = [];
    for (const host of [closed, resets, empty, 'nosuch.example'])
      for (const scheme of ['http', 'https']) results.push(await failureOf(page.goto(`${scheme}://${host}/`)));
    return [results, failed];
  },
  'a response has the address of its site': async ({ page }, { url }) => {
    const response = await page.goto(`${url}/moved`);
    return [response, ...(response?.request().redirectChain() ?? []).map((each) => each.response())].map((each) => each?.remoteAddress());
  },
  'a text that is no address is refused': ({ page }) => failureOf(page.goto('example.com')),
  'a page that is a PDF, or shows one, loads and takes functions': async ({ page }, { url }) => {
    const results: unknown[] = [];
    for (const path of ['/pdf', '/shows-pdf']) {
      const response = await page.goto(url + path, { waitUntil: 'networkidle2', timeout: 20_000 });
      await page.exposeFunction(`seven${path.length}`, () => 7);
      await page.evaluateOnNewDocument('globalThis.injected = 1');
      results.push([response?.status(), await page.evaluate(`seven${path.length}()`), page.mainFrame().url() === url + path]);
    }
    return results;
  },
  'a tab in the background is hidden': async ({ page, browser }, { url }) => {
    await page.goto(url);
    const other = await browser.newPage();
    const states = async (front: PuppetPage): Promise<string[]> => {
      // Pages hear of it a moment later, each in a process of its own. One in the background draws no frames to look at.
      const hasState = (each: PuppetPage): Promise<unknown> =>
        each.waitForFunction(
          (state) => document.visibilityState === state,
          { polling: 50, timeout: 5000 },
          each === front ? 'visible' : 'hidden',
        );
      await Promise.allSettled([page, other].map(hasState));
      return Promise.all([page, other].map((each) => each.evaluate(() => document.visibilityState)));
    };
    await other.bringToFront();
    const seen = [await states(other)];
    await page.bringToFront();
    seen.push(await states(page));
    await other.close();
    return seen;
  },
  'a page crashes on request': async ({ browser }, { url }) => {
    const page = await browser.newPage();
    await page.goto(url);
    const crashed = once(page as never, 'error');
    const going = failureOf(page.goto('chrome://crash'));
    const [error] = (await crashed) as [unknown];
    const results = [String(error), await going];
    await page.close();
    return results;
  },
  'a link to a prerendered page navigates': async ({ page }, { url }) => {
    await page.goto(`${url}/prerender`);
    const link = await page.waitForSelector('a');
    await Promise.all([page.waitForNavigation({ timeout: 60_000 }), link?.click()]);
    return page.evaluate(() => [location.pathname, document.title]);
  },
  'the viewport is the window without one': async ({ page }, { url }) => {
    await page.goto(url);
    await page.setViewport({ width: 500, height: 400 });
    const set = await page.evaluate(() => [innerWidth, innerHeight]);
    await page.setViewport(null);
    // The page is resized a moment later, in a plain browser too.
    const follows = page.waitForFunction(() => innerWidth > 500 && outerWidth === innerWidth, { timeout: 60_000 });
    return [
      set,
      await follows.then(
        () => true,
        () => false,
      ),
    ];
  },
  'a screenshot of the whole page leaves its size': async ({ page }, { url }) => {
    await page.goto(url);
    const measure = (): Promise<number[]> => page.evaluate(() => [innerWidth, innerHeight]);
    const before = await measure();
    const isSame: boolean[] = [];
    for (const _ of [1, 2]) {
      await page.screenshot({ fullPage: true });
      const same = page.waitForFunction(([width, height]) => innerWidth === width && innerHeight === height, { timeout: 15_000 }, before);
      isSame.push(await same.then(Boolean, () => false));
    }
    return isSame;
  },
  'the bounds of the window are those of the page': async ({ page, browser }, { url }) => {
    await page.goto(url);
    const windowId = await page.windowId();
    await browser.setWindowBounds(windowId, { width: 900, height: 600 });
    const { width, height } = await browser.getWindowBounds(windowId);
    // The page hears of its window and of its own size one after the other.
    await page.waitForFunction(() => outerWidth === 900 && innerWidth === 900, { timeout: 15_000 }).catch(() => {});
    return [width, height, await page.evaluate(() => [outerWidth, outerHeight, innerWidth])];
  },
  'targets are those of the session': async ({ browser, page }, { url }) => {
    await page.goto(`${url}/frame`);
    const other = await browser.newPage();
    // A browser with windows has pages of its own beside them, which are hidden from clients.
    const own = browser.targets().filter((target) => !target.url().startsWith('chrome:'));
    const seen = own.map((target) => `${target.type()} ${target.url().replace(url, '')}`);
    await other.close();
    return seen.toSorted();
  },
};

interface Plain {
  endpoint: string;
  end(): Promise<void>;
}

/** A browser that the libraries connect to as they connect to a session. */
async function startPlain(): Promise<Plain> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-plain-'));
  const args = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--window-size=1280,720', '--remote-debugging-port=0'];
  // An error page that loads itself again, a second later, would be one more request that failed.
  args.push('--disable-auto-reload');
  const child: ChildProcess = spawn('/usr/bin/chromium', [...args, `--user-data-dir=${folder}`, 'about:blank'], {
    env: { ...process.env, HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let endpoint = '';
  for await (const line of createInterface({ input: child.stderr! })) {
    endpoint = /ws:\/\/\S+/.exec(line)?.[0] ?? '';
    if (endpoint) break;
  }
  child.stderr?.resume();
  const end = async (): Promise<void> => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  };
  return { endpoint, end };
}

async function startSites(): Promise<Sites & { end(): void }> {
  const pages: Record<string, string> = {
    '/': '<title>home</title><body>home</body>',
    '/frame': '<title>frame</title><iframe src="/"></iframe>',
    '/target': '<title>target</title>',
    '/shows-pdf': '<title>shows</title><iframe src=/pdf width=400 height=400></iframe>',
    '/prerender': `<title>link</title><script type=speculationrules>{"prerender":[{"source":"list","urls":["/target"]}]}</script><a href=/target>go</a>`,
  };
  const server: Server = createServer((request, response) => {
    if (request.url === '/headers')
      return void response.writeHead(200, { 'content-type': 'text/html' }).end(String(request.headers['x-mine']));
    if (request.url === '/pdf') return void response.writeHead(200, { 'content-type': 'application/pdf' }).end(pdf(['A page']));
    if (request.url === '/moved') return void response.writeHead(302, { location: '/' }).end();
    if (request.url === '/keeps')
      return void response.writeHead(200, { 'x-site': 'yes', 'content-type': 'text/html', date: 'now' }).end('x');
    const page = pages[request.url ?? ''];
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html' }).end(page);
  });
  const resetting = createTcpServer((socket) => socket.on('error', () => {}).once('data', () => socket.resetAndDestroy()));
  const ending = createTcpServer((socket) => socket.on('error', () => {}).once('data', () => socket.end()));
  const closed = createTcpServer();
  const ports: number[] = [];
  for (const each of [server, resetting, ending, closed]) {
    each.listen(0, '127.0.0.1');
    await once(each, 'listening');
    ports.push((each.address() as AddressInfo).port);
  }
  closed.close();
  const end = (): void => {
    server.close();
    server.closeAllConnections();
    resetting.close();
    ending.close();
  };
  const [url, resets, empty, nobody] = ports.map((port) => `127.0.0.1:${port}`);
  return { url: `http://${url}`, resets: resets ?? '', empty: empty ?? '', closed: nobody ?? '', end };
}

/** They take longest, and are no likelier to change than the others. */
const rare = [
  'a resource that cannot be reached fails for the page',
  'large texts arrive as they are',
  'a page without scroll bars, on request, is as wide as its viewport',
  'a page that is a PDF, or shows one, loads and takes functions',
  'a tab in the background is hidden',
  'a link to a prerendered page navigates',
  'a screenshot of the whole page leaves its size',
];

describe('clients see a session as a plain browser', () => {
  let sites: Awaited<ReturnType<typeof startSites>>;
  let plain: Plain;
  let service: Service;
  /** Address of the session that all scripts which run twice share, as they share the plain browser. */
  let endpoint = '';
  before(async () => {
    sites = await startSites();
    plain = await startPlain();
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: '127.0.0.0/8', BERTH_POOL_TARGET: '1' } });
    const { body: session } = await service.client.call(createSession, { body: {} });
    endpoint = (await service.client.call(connectSession, { params: { session_id: session.session_id } })).body.cdp_url;
  });
  after(async () => {
    await service.close();
    await plain.end();
    sites.end();
  });

  const withSession = async <T>(work: (endpoint: string) => Promise<T>): Promise<T> => {
    const { body: session } = await service.client.call(createSession, { body: {} });
    const params = { session_id: session.session_id };
    try {
      return await work((await service.client.call(connectSession, { params })).body.cdp_url);
    } finally {
      await service.client.call(endSession, { params });
    }
  };

  const playwright = async (endpoint: string, script: PlaywrightScript): Promise<unknown> => {
    const browser = await chromium.connectOverCDP(endpoint);
    const context = browser.contexts()[0]!;
    const page = context.pages()[0] ?? (await context.newPage());
    try {
      return await script({ page, context }, sites);
    } finally {
      await context.unrouteAll();
      await browser.close();
    }
  };

  const puppet = async (endpoint: string, script: PuppeteerScript): Promise<unknown> => {
    const browser = await puppeteer.connect({ browserWSEndpoint: endpoint, defaultViewport: null });
    const page = (await browser.pages())[0] ?? (await browser.newPage());
    try {
      return await script({ page, browser }, sites);
    } finally {
      await browser.disconnect();
    }
  };

  it('a DevTools client sees targets detach before the socket closes when the session ends', async () => {
    const seen: string[] = [];
    const disconnected = Promise.withResolvers<void>();
    await withSession(async (endpoint) => {
      const browser = await puppeteer.connect({ browserWSEndpoint: endpoint, defaultViewport: null });
      (await browser.pages())[0]?.once('close', () => seen.push('page'));
      browser.once('disconnected', () => {
        seen.push('browser');
        disconnected.resolve();
      });
    });
    await disconnected.promise;
    assert.deepEqual(seen, ['page', 'browser']);
  });

  it('a DevTools client sees an address that policy refuses as ERR_BLOCKED_BY_CLIENT', async () => {
    const script: PlaywrightScript = ({ page }) =>
      Promise.all([failureOf(page.goto('http://169.254.169.254/')), page.waitForEvent('requestfailed')]).then(([failure]) => failure);
    assert.match(String(await playwright(endpoint, script)), /net::ERR_BLOCKED_BY_CLIENT/);
  });

  it('a DevTools client shows sites the mouse of a desktop, which a browser without windows does not have', async () => {
    const queries = ['(hover: hover)', '(pointer: fine)', '(any-hover: hover)', '(any-pointer: fine)'];
    const script: PlaywrightScript = ({ page }) => page.evaluate((all) => all.map((query) => matchMedia(query).matches), queries);
    assert.deepEqual(await playwright(endpoint, script), [true, true, true, true]);
  });

  it('a DevTools client sends the largest file that Playwright lets through', nightly, async () => {
    const bytes = 50 * 1024 * 1024 - 1;
    const script: PlaywrightScript = async ({ page }) => {
      await page.setContent('<input type=file>');
      const buffer = Buffer.alloc(bytes, 'file');
      await page.setInputFiles('input', { name: 'large.bin', mimeType: 'application/octet-stream', buffer }, { timeout: 0 });
      return page.evaluate(() => document.querySelector('input')?.files?.[0]?.size);
    };
    assert.equal(await playwright(endpoint, script), bytes);
  });

  for (const [name, script] of Object.entries(playwrightScripts))
    it(`Playwright sees a session as a plain browser: ${name}`, rare.includes(name) ? nightly : {}, async () => {
      const direct = await playwright(plain.endpoint, script);
      assert.deepEqual(await playwright(endpoint, script), direct);
    });

  for (const [name, script] of Object.entries(puppeteerScripts))
    // What both clients prove is proven with Playwright in every run.
    it(
      `Puppeteer sees a session as a plain browser: ${name}`,
      rare.includes(name) || name in playwrightScripts ? nightly : {},
      async () => {
        const direct = await puppet(plain.endpoint, script);
        assert.deepEqual(await puppet(endpoint, script), direct);
      },
    );
});
