import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import { assertPrompt } from '../../../../../tests/yardstick.ts';
import { TabNotFoundError, type Browser } from '../browser.ts';
import type { CallOptions, ElementRef, Page } from './page.ts';
import { launch, settings, type Launched } from '../../../testing/launch.ts';
import { call, elementIn, fails, frameNamed, freshPage, until } from '../../../testing/on-page.ts';
import { neverReturns, openPages, type Pages } from '../../../testing/pages.ts';

const replies = {
  '/': '<title>home</title><p id=p>text</p><script>var mine = 7; JSON.stringify = () => "stolen"</script>',
  '/beside': '<iframe name=near src="/inner"></iframe><iframe src="{other}/hang"></iframe>',
  '/frames': `<body style="margin:0"><div style="height:100px"></div>
    <iframe name=near src="/inner" style="width:300px;height:150px;border:5px solid;display:block"></iframe>
    <iframe name=far src="{other}/outer"
        style="width:400px;height:300px;border:0;display:block;transform:scale(.5);transform-origin:0 0"></iframe>`,
  '/outer': `<body style="margin:0"><p style="margin:0;height:40px">outer</p><iframe name=deep src="/inner"
        style="width:200px;height:150px;border:0"></iframe>`,
  '/inner': `<body style="margin:0"><button
      style="position:absolute;left:20px;top:10px;width:100px;height:40px;border:0" onclick="this.textContent='hit'">inner</button>
    <input style="position:absolute;left:20px;top:60px">`,
  '/cover': `<body style="margin:0"><button id=b style="width:100px;height:40px">b</button><div class="overlay"
      style="position:absolute;left:0;top:0;width:50px;height:40px"></div>
    <label style="display:block">text <input id=i type=checkbox></label><p id=hidden style="display:none">h</p>`,
  '/hang': `<title>hang</title><script>setTimeout(() => ${neverReturns}, 50)</script>`,
  '/next': '<title>next</title>',
  '/unkept': (_: unknown, response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'no-store' }).end('<title>unkept</title>'),
};

let pages: Pages;
let launched: Launched;
let browser: Browser;
let page: Page;

before(async () => {
  pages = await openPages(replies);
  launched = await launch();
  browser = launched.browser;
});
after(async () => {
  await launched.end();
  await pages.close();
});
beforeEach(async () => {
  page = await freshPage(browser);
});

const go = (path: string): Promise<unknown> => page.navigate({ url: pages.url + path, waitUntil: 'load', timeoutMs: 20_000 }, call());
const one = (selector: string, frameId: string = page.mainFrame()): Promise<ElementRef> => elementIn(page, frameId, selector);

describe('calls', () => {
  it('calls run in an isolated context', async () => {
    await go('/');
    assert.equal(await page.call(page.mainFrame(), '() => typeof mine', [], call()), 'undefined');
    assert.deepEqual(await page.call(page.mainFrame(), 'async (a, b) => ({ a, b })', [1, { c: [null, 'ü'] }], call()), {
      a: 1,
      b: { c: [null, 'ü'] },
    });
    assert.equal(await page.call(page.mainFrame(), '() => undefined', [], call()), null);
    await assert.rejects(page.call(page.mainFrame(), '() => { throw new RangeError("no") }', [], call()), {
      reason: 'script_failed',
      message: 'RangeError: no',
    });
    await assert.rejects(page.call(page.mainFrame(), 'not a function', [], call()), fails('script_failed'));
  });

  it("calls run in the page's main context on request", async () => {
    await go('/next');
    const run = (expression: string): Promise<unknown> => page.evaluate(page.mainFrame(), expression, call());
    assert.equal(await run('globalThis.mine = 7'), 7);
    assert.equal(await run('mine'), 7);
    assert.equal(await run('const a = 1; const b = 2; a + b;'), 3);
    assert.deepEqual(await run('{ a: await Promise.resolve(1) } // so'), { a: 1 });
    await assert.rejects(run('nothing.here'), { reason: 'script_failed', message: 'ReferenceError: nothing is not defined' });
    await assert.rejects(run('const const'), fails('script_failed'));
  });

  it('calls reach frames of this and of other processes, and the elements in those', async () => {
    await go('/frames');
    const frames = await page.frames(call());
    assert.deepEqual(
      frames.map(({ name }) => name),
      ['', 'near', 'far', 'deep'],
    );
    assert.deepEqual(
      frames.map(({ parentId }) => parentId),
      [null, frames[0]?.id, frames[0]?.id, frames[2]?.id],
    );
    for (const { id, name, url } of frames.slice(1)) {
      assert.deepEqual(await page.call(id, '() => location.href', [], call()), url);
      assert.equal(await page.evaluate(id, `globalThis.known = '${name}'`, call()), name);
      assert.equal(await page.evaluate(id, 'known', call()), name);
      assert.equal(await page.call(id, '() => typeof known', [], call()), 'undefined');
    }
    const again = browser.page(page.tabId);
    assert.equal(await again.call(frames[3]?.id ?? '', '() => document.body.firstElementChild.localName', [], call()), 'button');
    await assert.rejects(page.call('0123', '() => 1', [], call()), fails('frame_detached'));
  });

  it('calls reach the other frames while one hangs', async () => {
    await go('/beside');
    const ids = (await page.frames(call())).map(({ id }) => id);
    const hangs = (timeoutMs: number): Promise<boolean> =>
      page.call(ids[2] ?? '', '() => 1', [], { ...call(), timeoutMs }).then(() => false, fails('timeout'));
    await until(() => hangs(300));
    const [, near, hung] = await page.frames(call());
    assert.deepEqual([near?.name, hung?.url, hung?.parentId], ['near', `${pages.otherSite}/hang`, ids[0]]);
    const button = await one('button', near?.id);
    const box = await page.box(button, call());
    assert.ok(box);
    assert.equal((await page.receives(button, { x: box.x + 5, y: box.y + 5 }, call())).receives, true);
    assert.equal(await hangs(100), true);
  });

  it('calls reach frames that the settings of the session were already sent to', async () => {
    const other = await launch();
    try {
      await other.browser.prepare(settings({ locale: 'de-DE' }));
      const { tabId } = other.browser.activeTab();
      await other.browser.navigate(tabId, { url: `${pages.url}/frames`, waitUntil: 'load', timeoutMs: 20_000 }, call());
      const its = other.browser.page(tabId);
      const frames = await its.frames(call());
      assert.deepEqual(
        frames.map(({ name }) => name),
        ['', 'near', 'far', 'deep'],
      );
      for (const { id } of frames)
        assert.equal(await its.evaluate(id, 'new Intl.NumberFormat().resolvedOptions().locale', call()), 'de-DE');
    } finally {
      await other.end();
    }
  });

  it('calls find frames that come later and change their process', async () => {
    await go('/next');
    await page.frames(call());
    await page.evaluate(
      page.mainFrame(),
      `(async () => {
        const f = document.createElement('iframe');
        f.name = 'new'; f.src = '/inner'; document.body.append(f);
        await new Promise((r) => f.onload = r);
      })()`,
      call(),
    );
    const id = await frameNamed(page, 'new');
    assert.equal(await page.call(id, '() => location.hostname', [], call()), '127.0.0.1');
    await page.evaluate(
      page.mainFrame(),
      `(async () => {
        const f = document.querySelector('iframe'); f.src = '${pages.otherSite}/inner';
        await new Promise((r) => f.onload = r);
      })()`,
      call(),
    );
    assert.equal(await page.call(id, '() => location.hostname', [], call()), 'localhost');
    await page.evaluate(
      page.mainFrame(),
      `(async () => {
        const f = document.querySelector('iframe'); f.src = '${pages.url}/inner';
        await new Promise((r) => f.onload = r);
      })()`,
      call(),
    );
    assert.equal(await page.call(id, '() => location.hostname', [], call()), '127.0.0.1');
    await page.evaluate(page.mainFrame(), `document.querySelector('iframe').remove()`, call());
    await assert.rejects(page.call(id, '() => 1', [], call()), fails('frame_detached'));
  });

  it('calls outlive the document that they were first made in', async () => {
    await go('/');
    const element = await one('#p');
    for (const path of ['/next', '/']) {
      await go(path);
      assert.equal(await page.call(page.mainFrame(), '() => location.pathname', [], call()), path);
    }
    await page.navigate({ url: `${pages.otherSite}/next`, waitUntil: 'load', timeoutMs: 20_000 }, call());
    assert.equal(await page.call(page.mainFrame(), '() => location.hostname', [], call()), 'localhost');
    await assert.rejects(page.call(page.mainFrame(), '(e) => e.textContent', [element], call()), fails('element_detached'));
    await assert.rejects(page.box(element, call()), fails('element_detached'));
  });

  it('calls report that the page navigated, and run only once', async () => {
    for (const [path, next] of [
      ['/', `${pages.url}/next`],
      ['/', `${pages.otherSite}/next`],
      ['/unkept', `${pages.url}/next`],
      ['/unkept', `${pages.otherSite}/next`],
    ] as const) {
      await go(path);
      const before = pages.requests.length;
      const waiting = page.call(page.mainFrame(), '() => { fetch("/began"); return new Promise(() => {}); }', [], call());
      const left = assert.rejects(waiting, fails('context_lost'), path + next);
      await until(async () => pages.requests.slice(before).some((each) => each.path === '/began'));
      await page.navigate({ url: next, waitUntil: 'load', timeoutMs: 20_000 }, call());
      await left;
      assert.equal(pages.requests.slice(before).filter((each) => each.path === '/began').length, 1);
      assert.equal(await page.call(page.mainFrame(), '() => document.title', [], call()), 'next');
    }
  });

  it('calls that a replaced document misses run in the next', async () => {
    await go('/next');
    for (let turn = 0; turn < 10; turn += 1) {
      const [, path] = await Promise.all([go('/next'), page.find(page.mainFrame(), '() => document.documentElement', [], call())]);
      assert.equal(path.length, 1);
    }
  });

  it('calls in a page that hangs end at their timeout', async () => {
    await go('/hang');
    await until(() =>
      page.call(page.mainFrame(), '() => 1', [], { ...call(), timeoutMs: 100 }).then(
        () => false,
        () => true,
      ),
    );
    const begin = performance.now();
    await assert.rejects(page.call(page.mainFrame(), '() => 1', [], { ...call(), timeoutMs: 200 }), fails('timeout'));
    await assert.rejects(page.find(page.mainFrame(), '() => document.body', [], { ...call(), timeoutMs: 200 }), fails('timeout'));
    await assert.rejects(
      page.screenshot({ format: 'png', fullPage: true, scrollFirst: true }, { ...call(), timeoutMs: 200, maxBytes: 1e6 }),
      fails('timeout'),
    );
    // Without their time, each would take the half minute of its signal.
    assertPrompt(begin, 15_000);
  });

  it('a call ends a script of the caller that hangs', async () => {
    await go('/next');
    await assert.rejects(page.evaluate(page.mainFrame(), 'while (true);', { ...call(), timeoutMs: 300 }), fails('timeout'));
    await assert.rejects(page.evaluate(page.mainFrame(), 'new Promise(() => {})', { ...call(), timeoutMs: 300 }), fails('timeout'));
    assert.equal(await page.evaluate(page.mainFrame(), '1 + 1', call()), 2);
  });

  it('calls never return more than their limit', async () => {
    await go('/next');
    const small = { ...call(), maxBytes: 1000 };
    for (const source of ['() => "x".repeat(3e7)', '() => Array(1e5).fill(0)', '() => "ü".repeat(900)'])
      await assert.rejects(page.call(page.mainFrame(), source, [], small), fails('too_large'));
    await page.evaluate(page.mainFrame(), 'void (JSON.stringify = () => "y".repeat(3e7))', call());
    for (const source of ['"x".repeat(3e7)', '1']) await assert.rejects(page.evaluate(page.mainFrame(), source, small), fails('too_large'));
    await assert.rejects(page.evaluate(page.mainFrame(), 'throw new Error("x".repeat(3e7))', small), fails('script_failed'));
    await assert.rejects(
      page.find(page.mainFrame(), '() => { document.body.id = "x".repeat(1e7); return document.body; }', [], call()),
      fails('too_large'),
    );
    assert.equal(await page.call(page.mainFrame(), '() => 1', [], small), 1);
  });

  it('calls end with the tab, the crash and the signal', async () => {
    await go('/next');
    const forever = (options: CallOptions): Promise<unknown> => page.call(page.mainFrame(), '() => new Promise(() => {})', [], options);
    await assert.rejects(forever({ ...call(), signal: AbortSignal.abort(new RangeError('mine')) }), RangeError);
    const { tabId } = await browser.openTab({ active: true, ...call() });
    const other = browser.page(tabId);
    const waiting = [
      assert.rejects(other.call(tabId, '() => new Promise(() => {})', [], call()), TabNotFoundError),
      assert.rejects(other.keyboard.type('ab', { ...call(), delayMs: 5000 }), TabNotFoundError),
    ];
    await other.call(tabId, '() => 1', [], call());
    await browser.closeTab(tabId, call());
    await Promise.all(waiting);
    const crashing = assert.rejects(forever(call()), fails('page_crashed'));
    await page.navigate({ url: 'chrome://crash', waitUntil: 'load', timeoutMs: 20_000 }, call()).catch(() => {});
    await crashing;
    await go('/');
    assert.equal(await page.call(page.mainFrame(), '() => 1', [], call()), 1);
  });

  it('calls find elements, and pass them to other calls', async () => {
    await go('/cover');
    assert.deepEqual(await page.find(page.mainFrame(), '() => null', [], call()), []);
    const all = await page.find(page.mainFrame(), '() => document.body.querySelectorAll("*")', [], call());
    assert.equal(all.length, 5);
    assert.deepEqual(await page.call(page.mainFrame(), '(...all) => all.map((each) => each.localName)', all, call()), [
      'button',
      'div',
      'label',
      'input',
      'p',
    ]);
    await assert.rejects(page.find(page.mainFrame(), '() => 5', [], call()), fails('script_failed'));
    page.release(all);
    await assert.rejects(page.call(page.mainFrame(), '(e) => e.id', [all[0] as ElementRef], call()), fails('element_detached'));
  });
});
