import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connectSession, createSession, endSession, fetchPage, getSession, listDownloads, navigate, rotateIp } from '@berth/contract';
import type { Page } from 'playwright-core';
import { Server as Proxy } from 'proxy-chain';
import type { Client } from '../../harness.ts';
import { connectPlaywright } from '../playwright.ts';
import { Service } from '../service.ts';
import { startSite, type Site } from '../site.ts';

/** A real proxy that requires credentials and counts its traffic. */
class CountedProxy {
  readonly seen: string[] = [];
  readonly #server: Proxy;

  constructor() {
    this.#server = new Proxy({
      port: 0,
      host: '127.0.0.1',
      prepareRequestFunction: ({ username, password, hostname, port }) => {
        const allowed = username === 'user' && password === 'secret';
        if (allowed) this.seen.push(`${hostname}:${port}`);
        return { requestAuthentication: !allowed };
      },
    });
  }

  async start(): Promise<void> {
    await this.#server.listen();
  }

  get host(): string {
    return `127.0.0.1:${this.#server.port}`;
  }

  get address(): string {
    return `http://user:secret@${this.host}`;
  }

  close(): Promise<void> {
    return this.#server.close(true);
  }
}

describe('the egress of a session', () => {
  let site: Site;
  let canary: Site;
  let service: Service;
  let client: Client;
  const proxies = [new CountedProxy(), new CountedProxy()] as const;
  const folder = mkdtempSync(join(tmpdir(), 'berth-egress-'));
  before(async () => {
    [site, canary] = await Promise.all([startSite(), startSite()]);
    await Promise.all(proxies.map((proxy) => proxy.start()));
    const managed = [{ server: proxies[0].address, ip: '198.51.100.7', country: 'NO' }];
    const regions = [
      { code: 'home', name: 'Home' },
      { code: 'far', name: 'Far', country: 'SE', proxies: { managed } },
    ];
    writeFileSync(join(folder, 'regions.json'), JSON.stringify({ regions }));
    service = await Service.start({
      environment: {
        // The canary is a local service that is not allowed.
        BERTH_EGRESS_ALLOW: [site.host, ...proxies.map((proxy) => proxy.host)].join(','),
        BERTH_REGION: 'home',
        BERTH_REGIONS_FILE: join(folder, 'regions.json'),
      },
    });
    client = service.client;
  });
  after(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
    await Promise.all([site.close(), canary.close(), ...proxies.map((proxy) => proxy.close())]);
  });

  const create = async (body: object) => (await client.call(createSession, { body })).body.session_id;
  const go = (session_id: string, url: string) => client.call(navigate, { params: { session_id }, body: { url } });
  const end = (session_id: string) => client.call(endSession, { params: { session_id } });

  it('the egress of a session or a fetch is that of its region', async () => {
    const session_id = await create({ region: 'far' });
    const before = proxies[0].seen.length;
    assert.equal((await go(session_id, `${site.url}/second`)).body.status_code, 200);
    const through = proxies[0].seen.length;
    assert.ok(through > before);
    const { egress } = (await client.call(getSession, { params: { session_id } })).body;
    assert.deepEqual([egress.type, egress.ip, egress.country], ['managed', '198.51.100.7', 'NO']);
    await end(session_id);
    const { body } = await client.call(fetchPage, { body: { url: `${site.url}/second`, region: 'far' } });
    assert.deepEqual([body.status, body.attempts[0]?.egress], ['ok', { type: 'managed', country: 'NO' }]);
    assert.ok(proxies[0].seen.length > through);
  });

  it('the egress of a session says which rule refuses an address, what cannot be resolved, and which download a page became', async () => {
    const session_id = await create({});
    const refused = (url: string) => client.refuse(navigate, 'navigation_failed', { params: { session_id }, body: { url } });
    const message = `The page could not be loaded: ${canary.host} is not a public address; allow it with BERTH_EGRESS_ALLOW.`;
    for (const url of [canary.url, canary.url.replace('http', 'https'), `${site.url}/to?url=${encodeURIComponent(canary.url)}`]) {
      const reply = await refused(url);
      assert.equal(reply.message, message, url);
      assert.deepEqual([reply.details['reason'], reply.details['rule']], ['blocked_by_policy', 'not_public'], url);
    }
    assert.equal((await refused('https://nowhere.invalid/a')).message, 'The page could not be loaded: nowhere.invalid cannot be resolved.');
    const { details } = await refused(`${site.url}/file`);
    const [download] = (await client.call(listDownloads, { params: { session_id } })).body;
    assert.deepEqual(details, { reason: 'download', net_error: 'net::ERR_ABORTED', download_id: download?.download_id });
    await end(session_id);
  });

  it('the egress of a session switches between two real proxies by rotate-ip', async () => {
    const session_id = await create({ proxy: { type: 'rotating', servers: proxies.map((proxy) => proxy.address) } });
    await go(session_id, `${site.url}/second`);
    const first = proxies.find((proxy) => proxy.seen.length > 0);
    const second = proxies.find((proxy) => proxy !== first);
    assert.ok(first && second);
    assert.equal(second.seen.length, 0);
    const { body } = await client.call(rotateIp, { params: { session_id } });
    assert.equal(body.rotated, true, body.note);
    const before = first.seen.length;
    await go(session_id, `${site.url}/second?again`);
    assert.ok(second.seen.length > 0);
    assert.equal(first.seen.length, before);
    const seen = (await client.call(getSession, { params: { session_id } })).body;
    assert.equal(seen.egress.rotations, 1);
    assert.ok(seen.egress.rotated_at);
    assert.ok(!JSON.stringify(seen).includes('secret'));
    await end(session_id);
  });

  it('the egress of a session stays the same without another proxy and reports it', async () => {
    const session_id = await create({});
    const { body } = await client.call(rotateIp, { params: { session_id } });
    assert.equal(body.rotated, false);
    assert.ok(body.note.length > 0);
    await end(session_id);
  });

  it('the egress of a session uses the requested proxy with its credentials, and fails closed when it is down', async () => {
    const external = (server: string, password: string) => ({ proxy: { type: 'external', server, username: 'user', password } });
    const good = await create(external(`http://${proxies[0].host}`, 'secret'));
    const before = proxies[0].seen.length;
    assert.equal((await go(good, `${site.url}/second`)).body.status_code, 200);
    assert.ok(proxies[0].seen.length > before);
    await end(good);

    const hits = site.hits.length;
    for (const body of [external(`http://${proxies[0].host}`, 'wrong'), external('http://127.0.0.1:9', 'secret')]) {
      const session_id = await create(body);
      const { details } = await client.refuse(navigate, 'navigation_failed', {
        params: { session_id },
        body: { url: `${site.url}/direct` },
      });
      assert.ok(['proxy_error', 'blocked_by_policy'].includes(String(details['reason'])), JSON.stringify(details));
      await end(session_id);
    }
    assert.equal(site.hits.length, hits, 'a request went around the proxy');
  });

  it('the egress of a session reaches only the allowed domains, also for sub-resources', async () => {
    const session_id = await create({ allowed_domains: ['example.com'] });
    const { details, message } = await client.refuse(navigate, 'navigation_failed', { params: { session_id }, body: { url: site.url } });
    assert.deepEqual([details['reason'], details['rule']], ['blocked_by_policy', 'allowed_domains']);
    assert.match(message, /is not among the `allowed_domains`/);
    await end(session_id);
  });

  it('the egress of a session blocks other services of the host for fetch, image, frame, beacon, worker, event stream and socket', async () => {
    const session_id = await create({});
    const { body: info } = await client.call(connectSession, { params: { session_id } });
    const browser = await connectPlaywright(info.cdp_url);
    const page = browser.contexts()[0]?.pages()[0];
    assert.ok(page);
    await page.goto(`${site.url}/second`);
    const targets = [
      canary.url,
      canary.url.replace('127.0.0.1', 'localhost'),
      canary.url.replace('127.0.0.1', '2130706433'),
      canary.url.replace('127.0.0.1', '0'),
      canary.url.replace('127.0.0.1', '[::ffff:7f00:1]'),
    ];
    for (const target of targets) await tryEverything(page, target);
    assert.deepEqual(canary.hits, []);
    await assert.rejects(page.goto(`${site.url}/to?url=${encodeURIComponent(canary.url)}`), /ERR_BLOCKED_BY_CLIENT/);
    assert.deepEqual(canary.hits, []);
    await browser.close();
    await end(session_id);
  });

  it('the egress of a session reveals no host address by WebRTC', async () => {
    const session_id = await create({});
    const { body: info } = await client.call(connectSession, { params: { session_id } });
    const browser = await connectPlaywright(info.cdp_url);
    const page = browser.contexts()[0]?.pages()[0];
    assert.ok(page);
    await page.goto(`${site.url}/second`);
    const candidates = await page.evaluate<string[]>(gatherCandidates);
    for (const candidate of candidates) assert.doesNotMatch(candidate, /(^| )(127\.|10\.|192\.168\.|172\.)/);
    await browser.close();
    await end(session_id);
  });

  it('the egress of a session reports the browser as online, and isolates sessions', async () => {
    const first = await create({});
    await go(first, `${site.url}/cookie`);
    const again = await go(first, `${site.url}/cookie`);
    assert.equal(again.body.status_code, 200);
    const second = await create({});
    const { body: info } = await client.call(connectSession, { params: { session_id: second } });
    const browser = await connectPlaywright(info.cdp_url);
    const page = browser.contexts()[0]?.pages()[0];
    assert.ok(page);
    await page.goto(`${site.url}/cookie`);
    assert.equal(await page.evaluate('document.body.textContent'), 'none');
    assert.equal(await page.evaluate('navigator.onLine'), true);
    await browser.close();
    await Promise.all([end(first), end(second)]);
  });
});

/** Requests an address by every mechanism of a page and waits until each has finished or failed. */
async function tryEverything(page: Page, target: string): Promise<void> {
  await page.evaluate(`(${pageRequests})(${JSON.stringify(target)})`);
}

// Page scripts are text, because pages have other globals than this file.
const pageRequests = `async (address) => {
  const settled = (source, events) => new Promise((resolve) => events.forEach((event) => source.addEventListener(event, resolve)));
  const added = (name) => {
    const element = Object.assign(document.createElement(name), { src: address });
    document.body.append(element);
    return settled(element, ['load', 'error']);
  };
  const socket = new WebSocket(address.replace('http', 'ws'));
  const events = new EventSource(address);
  const source = "fetch(" + JSON.stringify(address) + ", { mode: 'no-cors' }).then(() => postMessage(1), () => postMessage(0))";
  const worker = new Worker(URL.createObjectURL(new Blob([source])));
  navigator.sendBeacon(address + '/beacon');
  await Promise.all([
    fetch(address, { mode: 'no-cors' }).catch(() => undefined),
    added('img'),
    added('iframe'),
    added('script'),
    settled(socket, ['error', 'open', 'close']),
    settled(events, ['error', 'open']),
    settled(worker, ['message']),
  ]);
  events.close();
  worker.terminate();
}`;

const gatherCandidates = `(async () => {
  const connection = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:3478' }] });
  const found = [];
  connection.addEventListener('icecandidate', (event) => event.candidate && found.push(event.candidate.candidate));
  connection.createDataChannel('probe');
  await connection.setLocalDescription(await connection.createOffer());
  await new Promise((resolve) => {
    connection.addEventListener('icegatheringstatechange', () => connection.iceGatheringState === 'complete' && resolve());
    setTimeout(resolve, 1500);
  });
  connection.close();
  return found;
})()`;
