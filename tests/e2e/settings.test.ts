import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSession, endSession, getSession, listSessions, navigate, updateSession, type SessionResponse } from '@berth/contract';
import type { BrowserContext, Page } from 'playwright-core';
import type { Client } from '../harness.ts';
import { Service, eventually } from './service.ts';
import { page as html, startSite, type Site } from './site.ts';
import { visit, type Visit } from './visit.ts';

const userAgent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 Berth-Test/1.0';
const dress = {
  viewport: { width: 811, height: 607, device_scale_factor: 2 },
  user_agent: userAgent,
  locale: 'de-DE',
  timezone: 'Asia/Tokyo',
  extra_headers: { 'X-Berth': 'yes' },
};

/** What a page can tell of the browser that it is in, read by its first script. */
interface Facts {
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

const factsScript = `<script>window.facts = {
  inner: [innerWidth, innerHeight], screen: [screen.width, screen.height], scale: devicePixelRatio,
  agent: navigator.userAgent, brands: (navigator.userAgentData?.brands ?? []).map(({ version }) => version),
  language: navigator.language, languages: [...navigator.languages],
  format: new Intl.DateTimeFormat().resolvedOptions().locale, zone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
}</script>`;

const pages = {
  '/facts': html(
    'Facts',
    `${factsScript}<img src="/pixel.png"><iframe src="/second"></iframe><a id="open" href="/facts" target="_blank" rel="opener">open</a>`,
  ),
  '/rich': html(
    'Rich',
    `<link rel="stylesheet" href="/style.css"><img src="/pixel.png"><video src="/clip.mp4" preload="auto"></video>
     <style>@font-face { font-family: own; src: url(/face.woff2) } p { font-family: own }</style><p>text</p><script src="/script.js"></script>
     <script>new WebSocket('ws://' + location.host + '/socket')</script>`,
  ),
};

/** Everything of a rich page that can be left out, by the kind that leaves it out. */
const kinds = { image: '/pixel.png', media: '/clip.mp4', font: '/face.woff2', stylesheet: '/style.css', websocket: '/socket' } as const;

describe('what a session is created with', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-settings-'));
  let site: Site;
  let secure: Site;
  let service: Service;
  let client: Client;
  let idle: SessionResponse[];
  before(async () => {
    [site, secure] = await Promise.all([startSite({ pages }), startSite({ tls: selfSigned(folder) })]);
    writeFileSync(join(folder, 'ads'), '0.0.0.0 ads.localhost\n');
    service = await Service.start({
      environment: { BERTH_EGRESS_ALLOW: `${site.host},${secure.host}`, BERTH_AD_HOSTS_FILE: join(folder, 'ads') },
    });
    client = service.client;
    // These are left alone while the other tests run; the last test looks what has become of them.
    idle = await Promise.all(
      [1, 2].map(async () => (await client.call(createSession, { body: { idle_timeout_seconds: 10, timeout_seconds: 60 } })).body),
    );
    const params = { session_id: idle[1]?.session_id ?? '' };
    await client.call(updateSession, { params, body: { idle_timeout_seconds: 120, timeout_seconds: 600 } });
  });
  after(async () => {
    await service.close();
    await Promise.all([site.close(), secure.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  const within = async (body: object, work: (visit: Visit) => Promise<void>): Promise<void> => {
    const visited = await visit(client, body);
    try {
      await work(visited);
    } finally {
      await visited.end();
    }
  };
  const facts = async (page: Page): Promise<Facts> => {
    if (!page.url().endsWith('/facts')) await page.goto(`${site.url}/facts`);
    // Chromium tells a document its window a moment after the first script has run: that much is read at the end.
    return page.evaluate<Facts>('({ ...facts, outer: [outerWidth, outerHeight] })');
  };
  const named = (name: string): string => site.url.replace('127.0.0.1', name);

  describe('is what the first script of every page sees', () => {
    let visited: Visit;
    let seen: Record<string, Facts>;
    before(async () => {
      visited = await visit(client, dress);
      const { context, page, browser } = visited;
      const own = await browser.newContext({ viewport: null });
      seen = {
        'the first tab': await facts(page),
        'a later tab': await facts(await context.newPage()),
        'a window that a page opened': await facts(await popupOf(context, page)),
        "a page in a client's new context": await facts(await own.newPage()),
      };
      const opener = own.pages()[0];
      if (opener) seen["a window that a page in a client's context opened"] = await facts(await popupOf(own, opener));
    });
    after(() => visited.end());

    for (const where of [
      'the first tab',
      'a later tab',
      'a window that a page opened',
      "a page in a client's new context",
      "a window that a page in a client's context opened",
    ])
      it(`in ${where}: viewport, window, screen, scale, user agent, language and time zone`, () => {
        const { inner, outer, screen, scale, agent, brands, language, languages, format, zone } =
          seen[where] ?? assert.fail('no such page');
        assert.deepEqual({ inner, outer, screen, scale }, { inner: [811, 607], outer: [811, 607], screen: [811, 607], scale: 2 });
        assert.equal(agent, userAgent);
        // Client hints exist in secure contexts alone, which loopback is.
        assert.ok(brands.includes('130'), `brands of ${brands.join()}`);
        assert.deepEqual(
          { language, languages, format, zone },
          { language: 'de-DE', languages: ['de-DE'], format: 'de-DE', zone: 'Asia/Tokyo' },
        );
      });

    it('goes with requests for documents, frames, images, scripts of workers and fetches', async () => {
      await visited.page.goto(`${site.url}/facts`);
      await visited.page.evaluate(`Promise.all([fetch('/headers'), new Promise((resolve) => {
        const worker = new Worker(URL.createObjectURL(new Blob(["fetch('" + location.origin + "/from-worker').then(() => postMessage(1))"])));
        worker.onmessage = resolve;
      })])`);
      for (const path of ['/facts', '/pixel.png', '/second', '/headers', '/from-worker']) {
        const { 'x-berth': own, 'user-agent': agent, 'accept-language': language } = site.headersOf(path);
        assert.deepEqual(
          { path, own, agent, language: language?.split(/[,;]/)[0] },
          { path, own: 'yes', agent: userAgent, language: 'de-DE' },
        );
      }
    });

    it('holds in a worker of a page', async () => {
      const inWorker = await visited.page.evaluate(`new Promise((resolve) => {
        const source = "const { locale, timeZone } = new Intl.DateTimeFormat().resolvedOptions(); postMessage([navigator.userAgent, navigator.language, locale, timeZone])";
        new Worker(URL.createObjectURL(new Blob([source]))).onmessage = ({ data }) => resolve(data);
      })`);
      assert.deepEqual(inWorker, [userAgent, 'de-DE', 'de-DE', 'Asia/Tokyo']);
    });
  });

  it('is the usual browser where nothing was asked for', () =>
    within({}, async ({ page, session }) => {
      assert.deepEqual(
        [session.viewport, session.user_agent, session.locale],
        [{ width: 1280, height: 720, device_scale_factor: 1 }, null, null],
      );
      const { inner, outer, screen, scale } = await facts(page);
      assert.deepEqual({ inner, outer, screen, scale }, { inner: [1280, 720], outer: [1280, 720], screen: [1280, 720], scale: 1 });
      assert.equal(site.headersOf('/facts')['x-berth'], undefined);
    }));

  for (const kind of Object.keys(kinds) as (keyof typeof kinds)[])
    it(`leaves out every ${kind} with block_resources, and nothing else`, () =>
      within({ block_resources: [kind] }, async ({ page, context, browser }) => {
        const foreign = await browser.newContext();
        for (const each of [page, await context.newPage(), await foreign.newPage()]) {
          const before = site.hits.length;
          await each.goto(`${site.url}/rich`);
          // A file of every kind that is not blocked has been asked for when the page is done, but for what loads lazily.
          const others = Object.values(kinds).filter((path) => path !== kinds[kind]);
          const fresh = (): string[] => site.hits.slice(before);
          const wanted = each === page ? [...others, '/script.js'] : ['/rich'];
          await eventually(
            `${wanted.join()} were asked for, not only ${fresh().join()}`,
            () => wanted.every((path) => fresh().includes(path)),
            5000,
          );
          assert.ok(!fresh().includes(kinds[kind]), `${kinds[kind]} was asked for`);
        }
      }));

  it('refuses the hosts of the built-in list and of the operator’s list with block_ads, and only then', async () => {
    const addresses = ['https://doubleclick.net/', 'http://stats.g.doubleclick.net/'];
    await within({ block_ads: true }, async ({ context, params }) => {
      for (const url of addresses) {
        const { details } = await client.refuse(navigate, 'navigation_failed', { params, body: { url, timeout_ms: 5000 } });
        assert.equal(details['reason'], 'blocked_by_policy', url);
      }
      // A tab of its own: the client may hear of the error page after the caller has had the answer.
      const page = await context.newPage();
      await page.goto(`${site.url}/second`);
      const asked = [named('ads.localhost'), named('sub.ads.localhost'), site.url].map((origin, index) => `${origin}/ad-blocked?${index}`);
      await page.evaluate(loadImages(asked));
    });
    assert.deepEqual(
      site.hits.filter((path) => path.startsWith('/ad-blocked')),
      ['/ad-blocked?2'],
    );
    await within({}, async ({ page }) => {
      await page.goto(`${site.url}/second`);
      await page.evaluate(loadImages([`${named('ads.localhost')}/ad-allowed`]));
    });
    assert.ok(site.hits.includes('/ad-allowed'));
  });

  it('reaches the allowed domains and no others, with documents, images and frames', () =>
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

  it('takes no download where accept_downloads is false, also when a client asks for it', () =>
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

  it('shows a site with a certificate of its own only where ignore_https_errors is true', async () => {
    await within({}, async ({ params, context }) => {
      const { details } = await client.refuse(navigate, 'navigation_failed', { params, body: { url: `${secure.url}/second` } });
      assert.equal(details['reason'], 'tls_error');
      // A tab of its own: the client may hear of the error page after the caller has had the answer.
      const page = await context.newPage();
      await page.goto(`${site.url}/second`);
      await page.evaluate(loadImages([`${secure.url}/pixel.png?no`]));
    });
    assert.deepEqual(secure.hits, []);
    await within({ ignore_https_errors: true }, async ({ params, page, context, browser }) => {
      const { body } = await client.call(navigate, { params, body: { url: `${secure.url}/second` } });
      assert.deepEqual([body.title, body.status_code], ['Second', 200]);
      for (const each of [page, await context.newPage(), await (await browser.newContext()).newPage()]) {
        const before = secure.hits.length;
        await each.goto(`${site.url}/second`);
        await each.evaluate(loadImages([`${secure.url}/pixel.png?yes`]));
        // A frame of another site is in a process of its own, and so are its images.
        await each.evaluate(loadFrames([`${secure.url}/image`]));
        await eventually('the image of the frame is asked for', () => secure.hits.slice(before).includes('/pixel.png'));
        assert.ok(secure.hits.slice(before).includes('/pixel.png?yes'));
      }
    });
  });

  it('opens at its start page, dressed as was asked for', () =>
    within({ ...dress, start_url: `${site.url}/facts` }, async ({ session, page }) => {
      assert.equal(session.current_url, `${site.url}/facts`);
      assert.deepEqual([session.start_navigation?.status, session.start_navigation?.status_code], ['ok', 200]);
      const { inner, agent, zone } = await facts(page);
      assert.deepEqual({ inner, agent, zone }, { inner: [811, 607], agent: userAgent, zone: 'Asia/Tokyo' });
    }));

  it('has a name that no other live session of its owner has, and that is free as soon as it is ended', async () => {
    const body = { name: 'the only one' };
    const [first, second] = await Promise.all([client.send(createSession, { body }), client.send(createSession, { body })]);
    assert.deepEqual(
      [first.status, second.status].toSorted((a, b) => a - b),
      [201, 409],
    );
    const { session_id } = (first.status === 201 ? first.body : second.body) as SessionResponse;
    await client.refuse(createSession, 'name_taken', { body });
    assert.deepEqual(
      (await client.call(listSessions, { query: body })).body.map((each) => each.session_id),
      [session_id],
    );
    await client.call(endSession, { params: { session_id } });
    const again = await client.call(createSession, { body });
    assert.equal(again.status, 201, again.text);
    await client.call(endSession, { params: { session_id: again.body.session_id } });
  });

  it('is found by its metadata, and by all of it that is asked for', () =>
    within({ metadata: { job: 'prices', shard: '7' } }, async ({ session, params }) => {
      const found = async (query: Record<string, string>) =>
        (await client.call(listSessions, { query })).body.map((each) => each.session_id);
      assert.deepEqual(await found({ 'metadata.job': 'prices' }), [session.session_id]);
      assert.deepEqual(await found({ 'metadata.job': 'prices', 'metadata.shard': '7' }), [session.session_id]);
      assert.deepEqual(await found({ 'metadata.job': 'prices', 'metadata.shard': '8' }), []);
      await client.call(updateSession, { params, body: { metadata: { job: 'news' } } });
      assert.deepEqual(await found({ 'metadata.job': 'prices' }), []);
      assert.deepEqual(await found({ 'metadata.job': 'news' }), [session.session_id]);
    }));

  it('lives on without its clients where it is kept alive, and ends with the last of them where it is not', async () => {
    const [kept, brief] = await Promise.all([visit(client, { keep_alive: true }), visit(client, { keep_alive: false })]);
    await Promise.all([kept.browser.close(), brief.browser.close()]);
    await eventually(
      'the brief one is over',
      async () => (await client.call(getSession, { params: brief.params })).body.ended_reason === 'cdp_closed',
    );
    const { body } = await client.call(getSession, { params: kept.params });
    assert.deepEqual([body.status, body.connections.cdp], ['ready', 0]);
    await kept.end();
  });

  it('is given more time by PATCH, and ends when nobody has used it for the idle time', async () => {
    const [left, patched] = idle;
    assert.ok(left && patched);
    const read = async ({ session_id }: SessionResponse) => (await client.call(getSession, { params: { session_id } })).body;
    await eventually('the idle session is over', async () => (await read(left)).status === 'ended', 15_000);
    const ended = await read(left);
    assert.equal(ended.ended_reason, 'idle_timeout');
    assert.ok(Date.parse(ended.ended_at ?? '') - Date.parse(ended.last_activity_at) >= 10_000);

    const longer = await read(patched);
    assert.deepEqual([longer.status, longer.idle_timeout_seconds, longer.timeout_seconds], ['ready', 120, 600]);
    assert.equal(Date.parse(longer.expires_at) - Date.parse(longer.created_at), 600_000);
  });
});

/** A key and its certificate that nobody else has signed. */
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

const downloadsOf = (dataDir: string): string[] =>
  readdirSync(join(dataDir, 'machines'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath.includes('downloads'))
    .map((entry) => entry.name);

// Scripts for pages are text: what runs in a page has other globals than what runs here.
const load = (element: string) => (addresses: string[]) =>
  `Promise.all(${JSON.stringify(addresses)}.map((src) => new Promise((resolve) => {
  const element = document.createElement('${element}');
  document.body.append(Object.assign(element, { src, onload: resolve, onerror: resolve }));
})))`;
const loadImages = load('img');
const loadFrames = load('iframe');
