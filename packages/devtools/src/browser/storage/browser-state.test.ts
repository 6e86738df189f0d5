/** What a profile keeps, from one real browser to another. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Browser, ReadBrowserState } from '../browser.ts';
import { launch, settings, type Launched } from '../../../testing/launch.ts';
import { call } from '../../../testing/on-page.ts';

/** A browser asks for no other icon, which it may do at any time. */
const pageHtml = '<link rel="icon" href="data:,"><p>Here.</p>';
const requests: string[] = [];
const server = createServer((request, response) => {
  requests.push(request.url ?? '');
  const type = request.url === '/worker.js' ? 'text/javascript' : 'text/html';
  const worker =
    "addEventListener('fetch', (event) => event.respondWith(new Response('<script>localStorage.clear()</script>', {headers: {'content-type': 'text/html'}})));";
  response.writeHead(200, { 'content-type': type, 'set-cookie': 'visited=yes' }).end(type === 'text/html' ? pageHtml : worker);
});
let url = '';
/** Another origin of the same server. */
let otherUrl = '';
let one: Launched;
let other: Launched;
before(async () => {
  [one, other] = await Promise.all([launch(), launch(), once(server.listen(0), 'listening')]);
  const { port } = server.address() as AddressInfo;
  [url, otherUrl] = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
});
after(async () => {
  await Promise.all([one.end(), other.end()]);
  server.closeAllConnections();
  server.close();
});

const open = (browser: Browser, address: string): Promise<unknown> =>
  browser.navigate(browser.activeTab().tabId, { url: address, waitUntil: 'load', timeoutMs: 20_000 }, { signal: call().signal });
const evaluate = <T>(browser: Browser, expression: string): Promise<T> => {
  const page = browser.page(browser.activeTab().tabId);
  return page.evaluate<T>(page.mainFrame(), expression, call());
};
const read = (browser: Browser, ...origins: string[]): Promise<ReadBrowserState> =>
  browser.readState({ origins, timeoutMs: 20_000, signal: call().signal });

const fill = `(async () => {
  localStorage.setItem('token', 'first \\ud800');
  const request = indexedDB.open('auth', 3);
  request.onupgradeneeded = () => {
    const users = request.result.createObjectStore('users', { keyPath: 'id', autoIncrement: true });
    users.createIndex('by mail', ['mail', 'at'], { unique: true });
    const shared = { deep: [1, undefined, -0, NaN, 2n ** 70n] };
    users.put({ id: 'a', mail: 'x@site.test', at: new Date(5), shared, again: shared, ['__proto__']: 'own' });
    const things = request.result.createObjectStore('things');
    things.put(new Uint16Array([1, 65535]), new Date(7));
    things.put(new Map([['k', new Set([/x/gi, null])]]), ['list', 1]);
    things.put(new Blob(['no']), 'blob');
    for (let n = 0; n < 450; n += 1) things.put(n, n);
  };
  await new Promise((resolve, reject) => { request.onsuccess = resolve; request.onerror = () => reject(request.error); });
  request.result.close();
})()`;

const contents = `(async () => {
  const open = indexedDB.open('auth');
  const done = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error); });
  const database = await done(open);
  const transaction = database.transaction(['users', 'things']);
  const users = transaction.objectStore('users');
  const user = await done(users.index('by mail').get(['x@site.test', new Date(5)]));
  const things = transaction.objectStore('things');
  const bytes = await done(things.get(new Date(7)));
  const map = await done(things.get(['list', 1]));
  return JSON.stringify({
    version: database.version, keyPath: users.keyPath, autoIncrement: users.autoIncrement, unique: users.index('by mail').unique,
    deep: user.shared.deep.map((item) => Object.is(item, -0) ? '-0' : String(item)), isSame: user.shared === user.again, own: Object.getOwnPropertyDescriptor(user, '__proto__').value,
    bytes: [bytes.constructor.name, ...bytes], pattern: [...map.get('k')].map(String), count: await done(things.count()),
    token: [localStorage.getItem('token') === 'first \\ud800', localStorage.length],
  });
})()`;

describe('the state of a browser', () => {
  it('the browser state goes into another browser with cookies, local storage and databases of sites that no tab shows any more', async () => {
    await one.browser.prepare(settings({ keepNetworkLog: true }));
    await open(one.browser, url);
    await evaluate(one.browser, fill);
    await open(one.browser, otherUrl);
    await evaluate(one.browser, "localStorage.setItem('theme', 'dark')");
    await evaluate(one.browser, "addEventListener('beforeunload', (event) => event.preventDefault())");
    const [before, entries, events] = [requests.length, one.browser.networkLog().entries.length, [] as string[]];
    one.browser.onEvent(({ type }) => events.push(type));

    const state = await read(one.browser, otherUrl, url);
    assert.deepEqual(
      state.origins.map(({ origin, localStorage }) => [origin, localStorage.length]),
      [
        [otherUrl, 1],
        [url, 1],
      ],
    );
    assert.deepEqual([state.unread, state.omitted], [[], { databases: 0, records: 1 }]);
    assert.equal(state.cookies.length, 2);

    assert.deepEqual(await other.browser.writeState(JSON.parse(JSON.stringify(state)) as ReadBrowserState, { signal: call().signal }), []);
    assert.equal(requests.length, before, 'nothing is requested from the sites');
    assert.deepEqual(events, [], 'nobody sees the pages');
    assert.equal(one.browser.networkLog().entries.length, entries);
    assert.deepEqual(await one.browser.historyOf(one.browser.activeTab().tabId), { back: false, forward: false });

    await open(other.browser, url);
    assert.deepEqual(JSON.parse(await evaluate<string>(other.browser, contents)), {
      version: 3,
      keyPath: 'id',
      autoIncrement: true,
      unique: true,
      deep: ['1', 'undefined', '-0', 'NaN', String(2n ** 70n)],
      isSame: true,
      own: 'own',
      bytes: ['Uint16Array', 1, 65535],
      pattern: ['/x/gi', 'null'],
      count: 452,
      token: [true, 1],
    });
    assert.equal(await evaluate(other.browser, 'document.cookie'), 'visited=yes');
  });

  it('the browser state is read without the service worker of a site', async () => {
    await open(one.browser, otherUrl);
    await evaluate(one.browser, "navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => 1)");
    await evaluate(one.browser, "localStorage.setItem('theme', 'light')");
    const { origins } = await read(one.browser, otherUrl);
    assert.deepEqual(origins[0]?.localStorage, [{ name: 'theme', value: 'light' }]);
  });

  it('the browser state leaves out databases that are too large, and origins that there was no time for', async () => {
    await open(one.browser, url);
    const large = `new Promise((resolve) => {
      const request = indexedDB.open('large');
      request.onupgradeneeded = () => request.result.createObjectStore('s').put('x'.repeat(3_000_000), 1);
      request.onsuccess = () => { request.result.close(); resolve(1); };
    })`;
    await evaluate(one.browser, large);
    const state = await read(one.browser, url);
    assert.deepEqual([state.origins[0]?.databases, state.origins[0]?.localStorage.length], [[], 1]);
    assert.deepEqual(state.omitted, { databases: 1, records: 0 });
    const late = await one.browser.readState({ origins: [url], timeoutMs: 0, signal: call().signal });
    assert.deepEqual([late.unread, late.cookies.length], [[url], 2]);
  });

  it('restoring a browser state leaves out a cookie that the browser refuses', async () => {
    const cookie = { value: 'v', domain: 'site.test', path: '/', expires: -1, httpOnly: false, secure: false };
    const cookies = ['a', 'b\0', 'c', 'd\0', 'e'].map((name) => ({ ...cookie, name }));
    await other.browser.writeState({ cookies, origins: [] }, { signal: call().signal });
    const names = (await read(other.browser)).cookies.filter(({ domain }) => domain === 'site.test').map(({ name }) => name);
    assert.deepEqual(names.toSorted(), ['a', 'c', 'e']);
  });
});
