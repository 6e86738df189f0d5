import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { Browser, ConsoleEntry } from '../browser.ts';
import { launch, settings, type Launched } from '../testing/launch.ts';
import { call } from '../testing/on-page.ts';
import { openPages, type Pages } from '../testing/pages.ts';
import { until } from '../testing/until.ts';

const replies = {
  '/lines': `<title>lines</title><script>
    console.log('plain', 1, { a: 1 }, [2]);
    console.info('told');
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
  '/work': `<title>work</title><script>new Worker(URL.createObjectURL(new Blob(['console.log("from a worker"); throw new Error("in a worker")'])))</script>`,
  '/flood': `<title>flood</title><script>let line = 0; setInterval(() => { for (let i = 0; i < 500; i += 1) console.log('line', line += 1); }, 20)</script>`,
  '/throws': `<title>throws</title><script>setInterval(() => { throw new Error('again') }, 1)</script>`,
  // What pages do to learn that somebody looks at their objects. What the browser itself does with them it does always.
  '/trap': `<title>trap</title><script>
    hits = [];
    const trap = (name) => () => { hits.push(name); return ''; };
    const every = new Proxy({}, Object.fromEntries(['ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor', 'has'].map((name) => [name, () => { hits.push(name); return name === 'ownKeys' ? [] : name === 'has' ? false : null; }])));
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
  // Whatever a script of ours could use by way of the page's own prototypes.
  '/poison': `<title>poison</title><script>
    hits = [];
    const trap = (name) => () => { hits.push(name); return ''; };
    const later = setTimeout;
    for (const [of, name] of [[EventTarget, 'dispatchEvent'], [EventTarget, 'addEventListener'], [String, 'slice'], [Array, 'map'], [Function, 'apply'], [Function, 'call']]) of.prototype[name] = trap(name);
    Object.prototype.toJSON = String.prototype.toJSON = trap('toJSON');
    for (const name of ['setTimeout', 'CustomEvent', 'String']) globalThis[name] = trap(name);
    Error.isError = trap('isError');
    Reflect.apply = trap('apply of Reflect');
    Object.defineProperty(Array.prototype, '0', { __proto__: null, configurable: true, set: trap('index') });
    for (const name of ['bubbles', 'composed', 'cancelable', 'detail', 'value', 'get']) Object.defineProperty(Object.prototype, name, { __proto__: null, configurable: true, get: trap('inherited ' + name) });
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
  const write = launched.cdp.write.bind(launched.cdp);
  launched.cdp.write = ((message: string) => {
    sent.push(/"method":"([^"]+)"/.exec(message)?.[1] ?? '');
    return write(message);
  }) as typeof launched.cdp.write;
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
  browser.navigate(tabId, { url: site + path, waitUntil: 'load', timeoutMs: 8000 }, call());
let undo = (): void => {};
const listen = (): void => {
  undo = browser.onConsole((entry) => void entries.push(entry));
};
const told = (): string[] => entries.map(({ level, text }) => `${level} ${text}`);
const tell = (line: string): Promise<void> => until(() => told().includes(line));

describe('the console', { timeout: 60_000 }, () => {
  it('tells what pages write, with its level and place, across sites and tabs', async () => {
    listen();
    for (const site of [pages.url, pages.otherSite]) {
      entries.length = 0;
      await go('/lines', active(), site);
      await until(() => entries.length >= 7);
      assert.deepEqual(
        told().filter((line) => !/404|long/.test(line)),
        ['log plain 1 [object Object] 2', 'info told', 'warning careful', 'error TypeError: bad', 'debug small'],
      );
      assert.deepEqual(
        entries.find(({ level }) => level === 'log'),
        { tabId: active(), level: 'log', text: 'plain 1 [object Object] 2', url: `${site}/lines`, line: 2 },
      );
      assert.equal(entries.find(({ text }) => text.startsWith('long'))?.text.length, 2000);
      assert.ok(told().some((line) => line.startsWith('error Failed to load resource')));
    }
    entries.length = 0;
    const { tabId } = await browser.openTab({ active: false, ...call() });
    await go('/lines', tabId);
    await tell('info told');
    assert.equal(entries.find(({ text }) => text === 'told')?.tabId, tabId);
    await browser.closeTab(tabId, call());
    assert.equal(sent.includes('Runtime.enable'), false);
  });

  it('tells what pages do not catch, from the first script on', async () => {
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
    await until(() => wanted.every((line) => told().includes(line)));
    assert.deepEqual(
      told()
        .filter((line) => !line.includes('404'))
        .toSorted(),
      wanted.toSorted(),
    );
    const early = entries.find(({ text }) => text.endsWith('early'));
    assert.deepEqual([early?.url, early?.line], [`${pages.url}/errors`, 10]);
  });

  it('tells those of frames in other processes, and of workers, where these are attached to', async () => {
    listen();
    await go('/far');
    await tell('log from another process');
    await tell('error Uncaught Error: in another process');
    await go('/work');
    await tell('log from a worker');
    await tell('error Uncaught Error: in a worker');
    assert.equal(told().filter((line) => line.includes('worker')).length, 2);
  });

  it('begins with the page that is there, and ends when nobody listens', async () => {
    await go('/throws');
    listen();
    const other = browser.onConsole(() => {});
    await tell('error Uncaught Error: again');
    undo();
    undo();
    const heard = entries.length;
    await go('/lines');
    other();
    assert.equal(entries.length, heard);
    await until(() => sent.includes('Page.removeScriptToEvaluateOnNewDocument'));
    sent = [];
    await go('/errors');
    assert.equal(
      sent.some((method) => /^(Console|Log)\.|addScript|createIsolatedWorld/.test(method)),
      false,
    );
  });

  it('hears a page that floods it no more, until that moves on', async () => {
    listen();
    await go('/flood');
    await tell('warning The page writes too much: what it writes from here on is left out.');
    const heard = entries.length;
    assert.ok(heard < 3000, `${heard} lines`);
    await go('/lines');
    await tell('info told');
    assert.equal(told().filter((line) => line === 'info told').length, 1);
  });

  it('cannot be noticed by a page', async () => {
    const hits = async (path: string): Promise<string> => {
      await go(path);
      await until(() => browser.page(active()).call<boolean>(active(), `() => document.title === 'sprung'`, [], call()));
      return browser.page(active()).evaluate<string>(active(), 'hits.join()', call());
    };
    const unheard = await hits('/trap');
    listen();
    assert.equal(await hits('/trap'), unheard);
    await tell('error Uncaught (in promise) Error: plain');
    await tell('error Uncaught (in promise) an object');
    assert.equal(await hits('/poison'), '');
    await tell('error Uncaught (in promise) Error: poisoned');
    await tell('error Uncaught Error: poisoned');
  });

  it('says nothing of private pages', async () => {
    listen();
    const privatePage = await browser.openPrivate(call());
    await privatePage.page.navigate({ url: `${pages.url}/errors`, waitUntil: 'load', timeoutMs: 8000 }, call());
    await privatePage.close();
    await go('/lines');
    await tell('info told');
    assert.equal(
      told().some((line) => line.includes('early')),
      false,
    );
  });
});
