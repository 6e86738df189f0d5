import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { getSession, navigate } from '@berth/contract';
import type { BrowserContext, Page } from 'playwright-core';
import type { Client } from '../../harness.ts';
import { nightly } from '../../nightly.ts';
import { Service, eventually } from '../service.ts';
import { page as html, startSite, type Site } from '../site.ts';
import { connectToSession, type ConnectedSession } from './connected-session.ts';

const userAgent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 Berth-Test/1.0';
const dress = {
  viewport: { width: 811, height: 607, device_scale_factor: 2 },
  user_agent: userAgent,
  locale: 'de-DE',
  timezone: 'Asia/Tokyo',
  extra_headers: { 'X-Berth': 'yes' },
};

/** The browser properties that a page's first script can read. */
interface BrowserTraits {
  inner: number[];
  outer: number[];
  screen: number[];
  scale: number;
  agent: string;
  brands: string[];
  language: string;
  languages: string[];
  format: string;
  zone: string;
}

const traitsScript = `<script>window.traits = {
  inner: [innerWidth, innerHeight], screen: [screen.width, screen.height], scale: devicePixelRatio,
  agent: navigator.userAgent, brands: (navigator.userAgentData?.brands ?? []).map(({ version }) => version),
  language: navigator.language, languages: [...navigator.languages],
  format: new Intl.DateTimeFormat().resolvedOptions().locale, zone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
}</script>`;

const pages = {
  '/traits': html(
    'Facts',
    `${traitsScript}<img src="/pixel.png"><iframe src="/second"></iframe><a id="open" href="/traits" target="_blank" rel="opener">open</a>`,
  ),
  '/rich': html(
    'Rich',
    `<link rel="stylesheet" href="/style.css"><img src="/pixel.png"><video src="/clip.mp4" preload="auto"></video>
     <style>@font-face { font-family: own; src: url(/face.woff2) } p { font-family: own }</style><p>text</p><script src="/script.js"></script>
     <script>new WebSocket('ws://' + location.host + '/socket')</script>`,
  ),
};

/** The resource of the page that each kind of block_resources blocks. */
const kinds = { image: '/pixel.png', media: '/clip.mp4', font: '/face.woff2', stylesheet: '/style.css', websocket: '/socket' } as const;

describe('session settings', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-settings-'));
  let site: Site;
  let secure: Site;
  let service: Service;
  let client: Client;
  /** Has no settings. */
  let plain: ConnectedSession;
  before(async () => {
    [site, secure] = await Promise.all([startSite({ pages }), startSite({ tls: selfSigned(folder) })]);
    writeFileSync(join(folder, 'ads'), '0.0.0.0 ads.localhost\n');
    service = await Service.start({
      environment: { BERTH_EGRESS_ALLOW: `${site.host},${secure.host}`, BERTH_AD_HOSTS_FILE: join(folder, 'ads') },
    });
    client = service.client;
    plain = await connectToSession(client);
  });
  after(async () => {
    await plain?.end();
    await service?.close();
    await Promise.all([site.close(), secure.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  const within = async (body: object, work: (connected: ConnectedSession) => Promise<void>): Promise<void> => {
    const visited = await connectToSession(client, body);
    try {
      await work(visited);
    } finally {
      await visited.end();
    }
  };
  const readTraits = async (page: Page, path = '/traits'): Promise<BrowserTraits> => {
    if (!page.url().endsWith(path)) await page.goto(site.url + path);
    // Chromium reports the window size to a document only after its first script, so it is read at the end.
    // A window behind another paints no frames, so it is asked at intervals.
    await page.waitForFunction('outerWidth > 0', undefined, { polling: 50 });
    return page.evaluate<BrowserTraits>('({ ...traits, outer: [outerWidth, outerHeight] })');
  };
  const named = (name: string): string => site.url.replace('127.0.0.1', name);

  describe('are visible to the first script of every page', () => {
    let visited: ConnectedSession;
    let seen: Record<string, BrowserTraits>;
    before(async () => {
      visited = await connectToSession(client, { ...dress, start_url: `${site.url}/traits` });
      const { context, page, browser } = visited;
      const own = await browser.newContext({ viewport: null });
      seen = {
        'the start page': await readTraits(page),
        'the next page of its tab': await readTraits(page, '/traits?next'),
        'a later tab': await readTraits(await context.newPage()),
        'a window that a page opened': await readTraits(await popupOf(context, page)),
        "a page in a client's new context": await readTraits(await own.newPage()),
      };
      const opener = own.pages()[0];
      if (opener) seen["a window that a page in a client's context opened"] = await readTraits(await popupOf(own, opener));
    });
    after(() => visited.end());

    for (const where of [
      'the start page',
      'the next page of its tab',
      'a later tab',
      'a window that a page opened',
      "a page in a client's new context",
      "a window that a page in a client's context opened",
    ])
      it(`session settings are visible to the first script in ${where}: viewport, window, screen, scale, user agent, language and time zone`, () => {
        const { inner, outer, screen, scale, agent, brands, language, languages, format, zone } =
          seen[where] ?? assert.fail('no such page');
        assert.deepEqual({ inner, outer, screen, scale }, { inner: [811, 607], outer: [811, 694], screen: [811, 694], scale: 2 });
        assert.equal(agent, userAgent);
        // Client hints exist only in secure contexts, which include loopback.
        assert.ok(brands.includes('130'), `brands of ${brands.join()}`);
        assert.deepEqual(
          { language, languages, format, zone },
          { language: 'de-DE', languages: ['de-DE'], format: 'de-DE', zone: 'Asia/Tokyo' },
        );
      });

    it('session settings are those of the session whose start page was opened', () => {
      const { current_url, start_navigation } = visited.session;
      assert.deepEqual([current_url, start_navigation?.status, start_navigation?.status_code], [`${site.url}/traits`, 'ok', 200]);
    });

    it('session settings apply to requests for documents, frames, images, worker scripts and fetches', async () => {
      await visited.page.goto(`${site.url}/traits`);
      await visited.page.evaluate(`Promise.all([fetch('/headers'), new Promise((resolve) => {
        const worker = new Worker(URL.createObjectURL(new Blob(["fetch('" + location.origin + "/from-worker').then(() => postMessage(1))"])));
        worker.onmessage = resolve;
      })])`);
      for (const path of ['/traits', '/pixel.png', '/second', '/headers', '/from-worker']) {
        const { 'x-berth': own, 'user-agent': agent, 'accept-language': language } = site.headersOf(path);
        assert.deepEqual(
          { path, own, agent, language: language?.split(/[,;]/)[0] },
          { path, own: 'yes', agent: userAgent, language: 'de-DE' },
        );
      }
    });

    it('session settings apply in workers', async () => {
      const inWorker = await visited.page.evaluate(`new Promise((resolve) => {
        const source = "const { locale, timeZone } = new Intl.DateTimeFormat().resolvedOptions(); postMessage([navigator.userAgent, navigator.language, locale, timeZone])";
        new Worker(URL.createObjectURL(new Blob([source]))).onmessage = ({ data }) => resolve(data);
      })`);
      assert.deepEqual(inWorker, [userAgent, 'de-DE', 'de-DE', 'Asia/Tokyo']);
    });
  });

  it('session settings default to an ordinary browser', async () => {
    const { page, session } = plain;
    assert.deepEqual(
      [session.viewport, session.user_agent, session.locale],
      [{ width: 1280, height: 720, device_scale_factor: 1 }, await page.evaluate(() => navigator.userAgent), null],
    );
    const { inner, outer, screen, scale } = await readTraits(page);
    assert.deepEqual({ inner, outer, screen, scale }, { inner: [1280, 720], outer: [1280, 807], screen: [1280, 807], scale: 1 });
    assert.equal(site.headersOf('/traits')['x-berth'], undefined);
  });

  // Each kind is blocked in other sessions than any other kind, so none blocks the resources of another.
  for (const [index, blocked] of (
    [
      ['media', 'stylesheet', 'websocket'],
      ['image', 'stylesheet'],
      ['font', 'websocket'],
    ] as (keyof typeof kinds)[][]
  ).entries())
    it(`session settings block only ${blocked.join(', ')} resources with block_resources`, index === 0 ? {} : nightly, () =>
      within({ block_resources: blocked }, async ({ page, context, browser }) => {
        const foreign = await browser.newContext();
        const unwanted = blocked.map((kind) => kinds[kind] as string);
        for (const each of [page, await context.newPage(), await foreign.newPage()]) {
          const before = site.hits.length;
          await each.goto(`${site.url}/rich`);
          // All files that are not blocked or lazy have been requested when the page has loaded.
          const remaining = Object.values(kinds).filter((path) => !unwanted.includes(path));
          const fresh = (): string[] => site.hits.slice(before);
          const wanted = each === page ? [...remaining, '/script.js'] : ['/rich'];
          await eventually(`${wanted.join()} were asked for, not only ${fresh().join()}`, () =>
            wanted.every((path) => fresh().includes(path)),
          );
          const asked = fresh().filter((path) => unwanted.includes(path));
          assert.deepEqual(asked, []);
        }
      }),
    );

  it('session settings block the hosts of the built-in and the operator’s list only with block_ads', async () => {
    const addresses = ['https://doubleclick.net/', 'http://stats.g.doubleclick.net/'];
    await within({ block_ads: true }, async ({ context, params }) => {
      for (const url of addresses) {
        const { details } = await client.refuse(navigate, 'navigation_failed', { params, body: { url, timeout_ms: 15_000 } });
        assert.equal(details['reason'], 'blocked_by_policy', url);
      }
      // A separate tab: the client may see the error page after the response.
      const page = await context.newPage();
      await page.goto(`${site.url}/second`);
      const urls = [named('ads.localhost'), named('sub.ads.localhost'), site.url].map((origin, index) => `${origin}/ad-blocked?${index}`);
      await page.evaluate(loadImages(urls));
    });
    assert.deepEqual(
      site.hits.filter((path) => path.startsWith('/ad-blocked')),
      ['/ad-blocked?2'],
    );
    await plain.page.goto(`${site.url}/second`);
    await plain.page.evaluate(loadImages([`${named('ads.localhost')}/ad-allowed`]));
    assert.ok(site.hits.includes('/ad-allowed'));
  });

  it('session settings limit documents, images and frames to the allowed domains', () =>
    within({ allowed_domains: ['main.localhost', '*.wide.localhost'] }, async ({ page, params }) => {
      await page.goto(`${named('main.localhost')}/second`);
      const names = [
        'main.localhost',
        'a.wide.localhost',
        'b.a.wide.localhost',
        'wide.localhost',
        'other.localhost',
        'sub.main.localhost',
        '127.0.0.1',
      ];
      await page.evaluate(loadImages(names.map((name) => `${named(name)}/domain?${name}`)));
      await page.evaluate(loadFrames(names.map((name) => `${named(name)}/domain-frame?${name}`)));
      for (const path of ['/domain', '/domain-frame']) {
        const reached = site.hits.filter((hit) => hit.startsWith(`${path}?`)).map((hit) => hit.slice(path.length + 1));
        assert.deepEqual(reached.toSorted(), ['a.wide.localhost', 'b.a.wide.localhost', 'main.localhost']);
      }
      const { details } = await client.refuse(navigate, 'navigation_failed', { params, body: { url: `${site.url}/second` } });
      assert.equal(details['reason'], 'blocked_by_policy');
    }));

  it('session settings refuse downloads when accept_downloads is false, also for clients', () =>
    within({ accept_downloads: false }, async ({ page, browser, session }) => {
      const foreign = await browser.newContext({ acceptDownloads: true });
      for (const each of [page, await foreign.newPage()]) {
        await each.goto(`${site.url}/form`);
        const [download] = await Promise.all([each.waitForEvent('download'), each.locator('#file').click()]);
        assert.equal(await download.failure(), 'canceled');
      }
      assert.equal(session.status, 'ready');
      assert.deepEqual(downloadsOf(service.dataDir), []);
    }));

  it('session settings accept a self-signed certificate only with ignore_https_errors', async () => {
    const { params: refused, context: wary } = plain;
    const { details } = await client.refuse(navigate, 'navigation_failed', { params: refused, body: { url: `${secure.url}/second` } });
    assert.equal(details['reason'], 'tls_error');
    // A separate tab: the client may see the error page after the response.
    const careful = await wary.newPage();
    await careful.goto(`${site.url}/second`);
    await careful.evaluate(loadImages([`${secure.url}/pixel.png?no`]));
    assert.deepEqual(secure.hits, []);
    await within({ ignore_https_errors: true }, async ({ params, page, context, browser }) => {
      const { body } = await client.call(navigate, { params, body: { url: `${secure.url}/second` } });
      assert.deepEqual([body.title, body.status_code], ['Second', 200]);
      for (const each of [page, await context.newPage(), await (await browser.newContext()).newPage()]) {
        const before = secure.hits.length;
        await each.goto(`${site.url}/second`);
        await each.evaluate(loadImages([`${secure.url}/pixel.png?yes`]));
        // A cross-site frame and its images are in another process.
        await each.evaluate(loadFrames([`${secure.url}/image`]));
        await eventually('the image of the frame is requested', () => secure.hits.slice(before).includes('/pixel.png'));
        assert.ok(secure.hits.slice(before).includes('/pixel.png?yes'));
      }
    });
  });

  it('session settings keep the session without clients only with keep_alive', async () => {
    const [lasting, brief] = await Promise.all([
      connectToSession(client, { keep_alive: true }),
      connectToSession(client, { keep_alive: false }),
    ]);
    await Promise.all([lasting.browser.close(), brief.browser.close()]);
    await eventually(
      'the brief one is over',
      async () => (await client.call(getSession, { params: brief.params })).body.ended_reason === 'cdp_closed',
    );
    const body = await eventually('the other client has disconnected', async () => {
      const { body: seen } = await client.call(getSession, { params: lasting.params });
      return seen.connections.cdp === 0 && seen;
    });
    assert.equal(body.status, 'ready');
    await lasting.end();
  });
});

/** A key with a self-signed certificate. */
function selfSigned(folder: string): { key: string; cert: string } {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const algorithm = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', '-days', '2', ...algorithm, ...subject, '-keyout', key, '-out', cert], { stdio: 'pipe' });
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
}

async function popupOf(context: BrowserContext, page: Page): Promise<Page> {
  const [popup] = await Promise.all([context.waitForEvent('page'), page.locator('#open').click()]);
  await popup.waitForLoadState();
  return popup;
}

/** A folder may go while it is read. */
const downloadsOf = (dataDir: string): string[] =>
  globSync('**/downloads/**', { cwd: join(dataDir, 'machines'), withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);

// Page scripts are text, because pages have other globals than this file.
const load = (element: string) => (addresses: string[]) =>
  `Promise.all(${JSON.stringify(addresses)}.map((src) => new Promise((resolve) => {
  const element = document.createElement('${element}');
  document.body.append(Object.assign(element, { src, onload: resolve, onerror: resolve }));
})))`;
const loadImages = load('img');
const loadFrames = load('iframe');
