/** `berth forward` as a process: a port of one's own for clients that can send no key. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { discoverVersion, endSession, getSession, listSessions } from '@berth/contract';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { endForwards, environmentIn, Forward, program } from './forward.ts';
import { eventually, Service, stopAll } from '../service.ts';
import { startSite, type Site } from '../site.ts';

let site: Site;
let service: Service;
let home: string;
before(async () => {
  home = mkdtempSync(join(tmpdir(), 'berth-forward-'));
  site = await startSite();
  service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_POOL_TARGET: '2' } });
  // Of a worker whose first browser has not started nothing is known.
  await eventually('a browser is known', async () => (await service.client.call(discoverVersion)).body['User-Agent'] !== '');
});
after(async () => {
  await stopAll();
  await site.close();
  rmSync(home, { recursive: true, force: true });
});

const environmentOf = (): Record<string, string> => ({ BERTH_URL: service.url, BERTH_API_KEY: service.key });

/** The JSON of another command of the same folder. */
async function berth<T>(...words: string[]): Promise<T> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...words], {
    cwd: home,
    env: environmentIn(home, environmentOf()),
  });
  return JSON.parse(stdout) as T;
}

afterEach(endForwards);

const startForward = (...words: string[]): Promise<Forward> => Forward.start(words, { home, env: environmentOf() });

const liveSessions = async (): Promise<string[]> => {
  const { body } = await service.client.call(listSessions, { query: { status: 'starting,ready' } });
  return body.map(({ session_id }) => session_id);
};

const statusOf = async (id: string): Promise<string> => (await service.client.call(getSession, { params: { session_id: id } })).body.status;

/** A request as a page, a proxy or a wrong name would send it. */
function ask(address: string, path: string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  return new Promise((done, fail) => {
    const asked = request(new URL(path, address), { headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.once('end', () => done({ status: response.statusCode ?? 0, text }));
    });
    asked.once('upgrade', (_response, socket) => {
      socket.destroy();
      done({ status: 101, text: '' });
    });
    asked.once('error', fail).end();
  });
}

const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'MDEyMzQ1Njc4OWFiY2RlZg==',
};

describe('berth forward', () => {
  it('is a browser for Playwright, Puppeteer and the commands of its folder, which all find the same session', async () => {
    const forward = await startForward();
    const first = await chromium.connectOverCDP(forward.address);
    const page = first.contexts()[0]?.pages()[0] ?? assert.fail('no page');
    await page.goto(`${site.url}/form`);
    await page.getByLabel('Name').fill('Ada');
    await page.locator('#greet').click();

    const second = await puppeteer.connect({ browserURL: forward.address, defaultViewport: null });
    const [seen] = await second.pages();
    assert.equal(await seen?.title(), 'Hello Ada');
    await second.disconnect();
    await first.close();

    assert.deepEqual(await berth('get', 'title'), { title: 'Hello Ada' });
    const again = await chromium.connectOverCDP(forward.cdpUrl);
    assert.equal(await again.contexts()[0]?.pages()[0]?.title(), 'Hello Ada');
    await again.close();
    assert.equal((await liveSessions()).length, 1);
  });

  it('starts no browser before a client connects, and ends it with the command', async () => {
    const forward = await startForward();
    const version = JSON.parse((await ask(forward.address, '/json/version')).text) as Record<string, string>;
    assert.equal(version['webSocketDebuggerUrl'], forward.cdpUrl);
    const before = await liveSessions();
    const browser = await chromium.connectOverCDP(forward.address);
    await forward.until('session_started');
    const [session = assert.fail('no session')] = (await liveSessions()).filter((id) => !before.includes(id));
    await browser.close();
    assert.equal(await forward.interrupt(), 0);
    assert.match(await statusOf(session), /^end/);
  });

  it('lists the pages with addresses on its own port', async () => {
    const forward = await startForward();
    for (const path of ['/json/list', '/json', '/json/']) {
      const pages = JSON.parse((await ask(forward.address, path)).text) as { type: string; webSocketDebuggerUrl: string }[];
      assert.deepEqual(
        pages.map((each) => [each.type, each.webSocketDebuggerUrl]),
        [['page', forward.cdpUrl]],
      );
    }
    const unknown = await ask(forward.address, '/v1/sessions');
    assert.equal(unknown.status, 404);
  });

  it('finds a session by name, keeps it with --keep, and starts another one when it has ended by itself', async () => {
    const kept = await startForward('-s', 'desk', '--keep', '--viewport', '900x700');
    const browser = await chromium.connectOverCDP(kept.address);
    const page = browser.contexts()[0]?.pages()[0];
    assert.equal(await page?.evaluate('innerWidth'), 900);
    await browser.close();
    const id = kept.told.find(({ event }) => event === 'session_started')?.session_id ?? assert.fail(kept.output);
    await kept.interrupt();
    assert.ok((await liveSessions()).includes(id));

    const found = await startForward('-s', 'desk');
    await (await chromium.connectOverCDP(found.address)).close();
    assert.ok(!found.told.some(({ event }) => event === 'session_started'), found.output);
    await service.client.call(endSession, { params: { session_id: id } });
    const other = await chromium.connectOverCDP(found.address);
    await other.contexts()[0]?.pages()[0]?.goto(`${site.url}/second`);
    await other.close();
    const replaced = found.told.find(({ event }) => event === 'session_started')?.session_id;
    assert.notEqual(replaced ?? id, id);
  });

  it('leaves a session alone that it did not start', async () => {
    const { session_id } = await berth<{ session_id: string }>('open', '-s', 'mine');
    const forward = await startForward('-s', 'mine');
    await (await chromium.connectOverCDP(forward.address)).close();
    await forward.interrupt();
    assert.ok((await liveSessions()).includes(session_id));
    await service.client.call(endSession, { params: { session_id } });
  });

  it('starts one session for clients that come at the same time', async () => {
    const before = await liveSessions();
    const forward = await startForward();
    const browsers = await Promise.all([1, 2, 3].map(() => chromium.connectOverCDP(forward.address)));
    assert.equal((await liveSessions()).filter((id) => !before.includes(id)).length, 1);
    await Promise.all(browsers.map((browser) => browser.close()));
  });

  it('starts with --each a session for each connection, which ends with it', async () => {
    const forward = await startForward('--each');
    const browsers = [await chromium.connectOverCDP(forward.address), await chromium.connectOverCDP(forward.address)];
    const ids = forward.told.filter(({ event }) => event === 'session_started').map(({ session_id }) => session_id ?? '');
    assert.equal(new Set(ids).size, 2);
    await browsers[0]?.close();
    await forward.until('disconnected');
    const [first = '', second = ''] = ids;
    await eventually('the session has ended', async () => (await statusOf(first)) === 'ended');
    assert.ok((await liveSessions()).includes(second));
    await browsers[1]?.close();
  });
});

describe('what berth forward refuses', () => {
  it('pages of any site, other names of the loopback address, and requests across sites', async () => {
    const forward = await startForward();
    const { host, port } = new URL(forward.address);
    const path = new URL(forward.cdpUrl).pathname;
    const before = await liveSessions();
    const refused: [string, Record<string, string>][] = [
      ['a page of another site', { origin: 'https://evil.example' }],
      ['a page of another port', { origin: 'http://127.0.0.1:3000' }],
      ['a page without an origin', { origin: 'null' }],
      ['a name that was bound to loopback', { host: `evil.example:${port}` }],
      ['a name that begins like one', { host: `localhost.evil.example:${port}` }],
      ['an image on a page', { 'sec-fetch-site': 'cross-site' }],
      ['a page of the same site', { 'sec-fetch-site': 'same-site' }],
    ];
    for (const [what, headers] of refused) {
      for (const discovered of ['/json/version', '/json/list']) {
        const reply = await ask(forward.address, discovered, headers);
        assert.equal(reply.status, 403, `${what}: ${discovered}`);
        assert.doesNotMatch(reply.text, /webSocketDebuggerUrl/);
      }
      assert.equal((await ask(forward.address, path, { ...upgrade, ...headers })).status, 403, what);
    }
    assert.deepEqual(await liveSessions(), before);
    for (const headers of [{}, { host: `localhost:${port}` }, { origin: `http://${host}` }])
      assert.equal((await ask(forward.address, '/json/version', headers)).status, 200, JSON.stringify(headers));
    assert.equal((await ask(forward.address, path, { ...upgrade, origin: `http://${host}` })).status, 101);
    assert.equal((await ask(forward.address, '/devtools/browser/guessed', upgrade)).status, 404);
  });

  it('a client is told why the service refuses it, and the key is in no line that is printed', async () => {
    const forward = await startForward('--viewport', '1x1');
    await assert.rejects(chromium.connectOverCDP(forward.address), /422/);
    await forward.until('failed');
    assert.match(forward.told.find(({ event }) => event === 'failed')?.message ?? '', /viewport/);
    assert.doesNotMatch(forward.output, new RegExp(service.key));
  });

  it('a port that is taken, or is none, before anything is started', async () => {
    const forward = await startForward();
    const { port } = new URL(forward.address);
    for (const [word, code, exitCode] of [
      [port, 'port_taken', 1],
      ['99999', 'usage', 2],
      ['here', 'usage', 2],
    ] as const) {
      const ran = await berth('forward', word).catch((failed: { stderr: string; code: number }) => failed);
      const { stderr, code: ended } = ran as { stderr: string; code: number };
      const { error } = JSON.parse(stderr) as { error: { code: string } };
      assert.deepEqual([error.code, ended], [code, exitCode]);
    }
  });
});
