import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { silentLog } from '@berth/lib/log.ts';
import type { Browser, ConsoleEntry } from '../browser.ts';
import { Connection } from '../cdp/connection.ts';
import { launch, onCommand, settings, type Launched } from '../../../testing/launch.ts';
import { call, until } from '../../../testing/on-page.ts';
import { openPages, type Pages } from '../../../testing/pages.ts';
import { TimeoutScale } from '../timeout-scale.ts';
import { Console } from './console.ts';
import { createTab } from './tab.ts';

const replies = {
  '/lines': `<title>lines</title><script>
    console.log('plain', 1, { a: 1 }, [2]);
    console.info('noted');
    console.warn('careful');
    console.error(new TypeError('bad'));
    console.debug('small');
    console.log('long' + 'x'.repeat(5000));
  </script><img src="/missing.png">`,
  '/errors': `<title>errors</title><script>
    addEventListener('error', (e) => { if (/prevented/.test(e.message)) e.preventDefault(); });
    setTimeout(() => { throw new RangeError('late'); }, 5);
    setTimeout(() => { throw new Error('prevented'); }, 5);
    try { throw new Error('caught'); } catch {}
    Promise.reject(new TypeError('refused'));
    Promise.reject('a word');
    dispatchEvent(new ErrorEvent('error', { message: 'made up' }));
  </script><script>
    throw new Error('early');</script><script>this is no script</script>
    <iframe srcdoc="<script>throw new Error('in a frame')</script>"></iframe>`,
  '/far': `<title>far</title><iframe src="{other}/inner"></iframe>`,
  '/inner': `<script>console.log('from another process'); throw new Error('in another process');</script>`,
  '/work': `<title>work</title><script>new Worker(URL.createObjectURL(new Blob([
    'console.log("from a worker"); throw new Error("in a worker")'])))</script>`,
  '/flood': `<title>flood</title><script>let line = 0;
    setInterval(() => { for (let i = 0; i < 500; i += 1) console.log('line', line += 1); }, 20)</script>`,
  '/throws': `<title>throws</title><script>setInterval(() => { throw new Error('again') }, 1)</script>`,
  // How pages detect that their objects are read. What the browser itself reads it always reads.
  '/trap': `<title>trap</title><script>
    hits = [];
    const trap = (name) => () => { hits.push(name); return ''; };
    const traps = ['ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor', 'has'];
    const every = new Proxy({}, Object.fromEntries(traps.map((name) => [name, () => {
      hits.push(name);
      return name === 'ownKeys' ? [] : name === 'has' ? false : null; }])));
    const looked = Object.defineProperty({}, 'id', { enumerable: true, get: trap('getter') });
    Error.prepareStackTrace = trap('prepared');
    const error = new Error('seen'), hidden = new Error(''), plain = new Error('plain');
    Object.defineProperty(error, 'stack', { get: trap('stack') });
    Object.defineProperty(hidden, 'message', { get: trap('message') });
    for (const each of [looked, error, every, plain]) { console.debug(each); console.log(each); }
    console.table([looked]); console.dir(looked); console.groupEnd(Object.create(every));
    for (const each of [error, plain, every, hidden, Object.assign(() => {}, { toString: trap('function') })]) Promise.reject(each);
    setTimeout(() => { throw error; }, 0);
    setTimeout(() => { document.title = 'sprung'; }, 300);
  </script>`,
  // Everything that our script could reach by the page's prototypes.
  '/poison': `<title>poison</title><script>
    hits = [];
    const trap = (name) => () => { hits.push(name); return ''; };
    const later = setTimeout;
    for (const [of, name] of [[EventTarget, 'dispatchEvent'], [EventTarget, 'addEventListener'], [String, 'slice'],
      [Array, 'map'], [Function, 'apply'], [Function, 'call']]) of.prototype[name] = trap(name);
    Object.prototype.toJSON = String.prototype.toJSON = trap('toJSON');
    for (const name of ['setTimeout', 'CustomEvent', 'String']) globalThis[name] = trap(name);
    Error.isError = trap('isError');
    Reflect.apply = trap('apply of Reflect');
    Object.defineProperty(Array.prototype, '0', { __proto__: null, configurable: true, set: trap('index') });
    for (const name of ['bubbles', 'composed', 'cancelable', 'detail', 'value', 'get'])
      Object.defineProperty(Object.prototype, name, { __proto__: null, configurable: true, get: trap('inherited ' + name) });
    Promise.reject(new Error('poisoned'));
    later(() => { throw new Error('poisoned'); }, 0);
    later(() => { document.title = 'sprung'; }, 300);
  </script>`,
};

let pages: Pages;
let launched: Launched;
let browser: Browser;
let sent: string[] = [];
const entries: ConsoleEntry[] = [];

before(async () => {
  pages = await openPages(replies);
  launched = await launch();
  browser = launched.browser;
  await browser.prepare(settings({ keepNetworkLog: true }));
  onCommand(launched.cdp, (method) => void sent.push(method));
});
after(async () => {
  await launched.end();
  await pages.close();
});
beforeEach(() => {
  sent = [];
  entries.length = 0;
});
afterEach(() => undo());

const active = (): string => browser.activeTab().tabId;
const go = (path: string, tabId = active(), site = pages.url): Promise<unknown> =>
  browser.navigate(tabId, { url: site + path, waitUntil: 'load', timeoutMs: 20_000 }, call());
let undo = (): void => {};
const listen = (): void => {
  undo = browser.onConsole((entry) => void entries.push(entry));
};
const lines = (): string[] => entries.map(({ level, text }) => `${level} ${text}`);
const waitForLine = (line: string): Promise<void> => until(() => lines().includes(line));

describe('the console', () => {
  it('the console reports what pages write, with level and position, across sites and tabs', async () => {
    listen();
    for (const site of [pages.url, pages.otherSite]) {
      entries.length = 0;
      await go('/lines', active(), site);
      await until(() => entries.length >= 7);
      assert.deepEqual(
        lines().filter((line) => !/404|long/.test(line)),
        ['log plain 1 [object Object] 2', 'info noted', 'warning careful', 'error TypeError: bad', 'debug small'],
      );
      assert.deepEqual(
        entries.find(({ level }) => level === 'log'),
        { tabId: active(), level: 'log', text: 'plain 1 [object Object] 2', url: `${site}/lines`, line: 2 },
      );
      assert.equal(entries.find(({ text }) => text.startsWith('long'))?.text.length, 2000);
      assert.ok(lines().some((line) => line.startsWith('error Failed to load resource')));
    }
    entries.length = 0;
    const { tabId } = await browser.openTab({ active: false, ...call() });
    await go('/lines', tabId);
    await waitForLine('info noted');
    assert.equal(entries.find(({ text }) => text === 'noted')?.tabId, tabId);
    await browser.closeTab(tabId, call());
    assert.equal(sent.includes('Runtime.enable'), false);
  });

  it('the console reports uncaught errors, from the first script on', async () => {
    listen();
    await go('/errors');
    const wanted = [
      'error Uncaught (in promise) TypeError: refused',
      'error Uncaught (in promise) a word',
      'error Uncaught Error: early',
      "error Uncaught SyntaxError: Unexpected identifier 'is'",
      'error Uncaught RangeError: late',
      'error Uncaught Error: in a frame',
    ];
    await until(() => wanted.every((line) => lines().includes(line)));
    assert.deepEqual(
      lines()
        .filter((line) => !line.includes('404'))
        .toSorted(),
      wanted.toSorted(),
    );
    const early = entries.find(({ text }) => text.endsWith('early'));
    assert.deepEqual([early?.url, early?.line], [`${pages.url}/errors`, 10]);
  });

  it('the console reports errors of out-of-process frames and of attached workers', async () => {
    listen();
    await go('/far');
    await waitForLine('log from another process');
    await waitForLine('error Uncaught Error: in another process');
    await go('/work');
    await waitForLine('log from a worker');
    await waitForLine('error Uncaught Error: in a worker');
    assert.equal(lines().filter((line) => line.includes('worker')).length, 2);
  });

  it('the console begins with the page that is there, and ends when nobody listens', async () => {
    await go('/throws');
    listen();
    const other = browser.onConsole(() => {});
    await waitForLine('error Uncaught Error: again');
    undo();
    undo();
    const count = entries.length;
    await go('/lines');
    other();
    assert.equal(entries.length, count);
    await until(() => sent.includes('Page.removeScriptToEvaluateOnNewDocument'));
    sent = [];
    await go('/errors');
    assert.equal(
      sent.some((method) => /^(Console|Log)\.|addScript|createIsolatedWorld/.test(method)),
      false,
    );
  });

  it('the console mutes a page that floods it, until it navigates', async () => {
    listen();
    await go('/flood');
    await waitForLine('warning The page writes too much to its console. Further lines are omitted until it navigates.');
    const count = entries.length;
    await browser.page(active()).evaluate(active(), 'new Promise((resolve) => setTimeout(resolve, 200))', call());
    assert.equal(entries.length, count);
    await go('/lines');
    await waitForLine('info noted');
    assert.equal(lines().filter((line) => line === 'info noted').length, 1);
  });

  it('a page cannot notice that its console is read', async () => {
    const hits = async (path: string): Promise<string> => {
      await go(path);
      await until(() => browser.page(active()).call<boolean>(active(), `() => document.title === 'sprung'`, [], call()));
      return browser.page(active()).evaluate<string>(active(), 'hits.join()', call());
    };
    const unheard = await hits('/trap');
    listen();
    assert.equal(await hits('/trap'), unheard);
    await waitForLine('error Uncaught (in promise) Error: plain');
    await waitForLine('error Uncaught (in promise) an object');
    assert.equal(await hits('/poison'), '');
    await waitForLine('error Uncaught (in promise) Error: poisoned');
    await waitForLine('error Uncaught Error: poisoned');
  });

  it('the console says nothing of private pages', async () => {
    listen();
    const privatePage = await browser.openPrivate(call());
    await privatePage.page.navigate({ url: `${pages.url}/errors`, waitUntil: 'load', timeoutMs: 20_000 }, call());
    await privatePage.close();
    await go('/lines');
    await waitForLine('info noted');
    assert.equal(
      lines().some((line) => line.includes('early')),
      false,
    );
  });
});

/** Tested with messages alone: a browser takes at most a millisecond for its reply, unless its machine is busy. */
describe('a page that navigates before it has replied that it reports its lines', () => {
  it('a page that navigates before its console is enabled has the lines of its new document reported, and not those of the one before', async () => {
    const [near, far] = duplexPair();
    const connection = new Connection(near, { log: silentLog, timeoutScale: new TimeoutScale(undefined) });
    const session = 'A'.repeat(32);
    connection.adopt(session);
    const info = { targetId: 'tab', type: 'page', title: '', url: 'about:blank', attached: true, canAccessOpener: false };
    const tab = createTab(session, info, { isPrivate: false, createdAt: new Date() });
    const sentIds: number[] = [];
    far.on('data', (chunk: Buffer) => {
      for (const text of chunk.toString().split('\0').filter(Boolean)) sentIds.push((JSON.parse(text) as { id: number }).id);
    });
    const say = (message: object): void => void far.write(`${JSON.stringify({ ...message, sessionId: session })}\0`);
    const log = (text: string): void =>
      say({ method: 'Console.messageAdded', params: { message: { source: 'console-api', level: 'log', text } } });
    const shown = new Console({ connection, tabOf: () => tab, sessions: () => [[session, tab]] });
    const texts: string[] = [];
    shown.subscribe(({ text }) => void texts.push(text));
    const state = { isListening: false };
    void shown.listening().then(() => (state.isListening = true));
    log('of the document before');
    say({ method: 'Page.frameNavigated', params: { frame: { id: 'tab', loaderId: 'L', url: 'http://site.test/' } } });
    log('of the new one');
    await until(() => texts.length > 0 && sentIds.length >= 2);
    assert.deepEqual([texts, state.isListening], [['of the new one'], false]);
    for (const id of sentIds) say({ id, result: {} });
    await until(() => state.isListening);
    connection.end('closed');
  });
});
