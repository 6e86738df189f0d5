import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Browser } from '../browser.ts';
import type { ElementRef, Page } from './page.ts';
import { launch, type Launched } from '../../../testing/launch.ts';
import { call, elementIn, fails, frameNamed, freshPage } from '../../../testing/on-page.ts';
import { openPages, type Pages } from '../../../testing/pages.ts';

const widget = `<script>
  for (const mode of ['open', 'closed']) {
    const root = document.querySelector('#' + mode).attachShadow({ mode });
    root.innerHTML = '<style>button { width: 80px; height: 30px }</style><button>' + mode + ' one</button><slot></slot>';
    window[mode + 'Button'] = root.querySelector('button');
  }
</script>`;

const replies = {
  '/frames': `<body style="margin:0"><div style="height:100px"></div>
    <iframe name=near src="/inner" style="width:300px;height:150px;border:5px solid;display:block"></iframe>
    <iframe name=far src="{other}/outer"
        style="width:400px;height:300px;border:0;display:block;transform:scale(.5);transform-origin:0 0"></iframe>`,
  '/outer': `<body style="margin:0"><p style="margin:0;height:40px">outer</p><iframe name=deep src="/inner"
        style="width:200px;height:150px;border:0"></iframe>`,
  '/inner': `<body style="margin:0"><button
      style="position:absolute;left:20px;top:10px;width:100px;height:40px;border:0" onclick="this.textContent='hit'">inner</button>
    <input style="position:absolute;left:20px;top:60px">`,
  '/shadow': `<div id=open><b>slotted</b></div><div id=closed></div>${widget}`,
  '/cover': `<body style="margin:0"><button id=b style="width:100px;height:40px">b</button><div class="overlay"
      style="position:absolute;left:0;top:0;width:50px;height:40px"></div>
    <label style="display:block">text <input id=i type=checkbox></label><p id=hidden style="display:none">h</p>`,
  '/roles': `<button>Save</button><a href="#">Save all</a><button>Do not  save</button><button
      aria-label="Close">x</button><button hidden>Save never</button>
    <img alt="A cat"><h2>Save</h2><div id=d><button>Save</button></div>`,
  '/upload': '<input type=file id=one><input type=file id=many multiple><input id=text>',
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

describe('elements', () => {
  it('elements are located by role and name', async () => {
    await go('/roles');
    const texts = async (by: Parameters<Page['findByRole']>[1]): Promise<unknown> =>
      page.call(
        page.mainFrame(),
        '(...all) => all.map((each) => each.textContent || each.alt)',
        await page.findByRole(page.mainFrame(), by, call()),
        call(),
      );
    assert.deepEqual(await texts({ role: 'button', name: 'save' }), ['Save', 'Do not  save', 'Save']);
    assert.deepEqual(await texts({ role: 'button', name: 'Do not save', exact: true }), ['Do not  save']);
    assert.deepEqual(await texts({ name: 'Save', exact: true }), ['Save', 'Save', 'Save']);
    assert.deepEqual(await texts({ role: 'button', name: 'Close' }), ['x']);
    assert.deepEqual(await texts({ role: 'img' }), ['A cat']);
    assert.deepEqual(await texts({ role: 'button', root: await one('#d') }), ['Save']);
    assert.deepEqual(await texts({ role: 'dialog' }), []);
  });

  it('elements are located by role in open and closed shadow roots and in other processes', async () => {
    await go('/shadow');
    const matches = await page.findByRole(page.mainFrame(), { role: 'button', name: 'one' }, call());
    assert.deepEqual(await page.call(page.mainFrame(), '(...all) => all.map((each) => each.textContent)', matches, call()), [
      'open one',
      'closed one',
    ]);
    await go('/frames');
    assert.equal((await page.findByRole(await frameNamed(page, 'deep'), { role: 'button', name: 'inner' }, call())).length, 1);
  });

  it("elements have their position in the page's viewport, in every frame", async () => {
    await go('/frames');
    const box = async (name: string): Promise<unknown> => page.box(await one('button', await frameNamed(page, name)), call());
    assert.deepEqual(await box('near'), { x: 25, y: 115, width: 100, height: 40 });
    assert.deepEqual(await box('far').catch((error: unknown) => (error as Error).message), 'button');
    assert.deepEqual(await box('deep'), { x: 10, y: 285, width: 50, height: 20 });
    await go('/cover');
    assert.equal(await page.box(await one('#hidden'), call()), null);
    await assert.rejects(page.scrollIntoView(await one('#hidden'), call()), fails('not_possible'));
  });

  it('elements are clicked where they stand, in every process', async () => {
    await go('/frames');
    for (const name of ['near', 'deep']) {
      const frameId = await frameNamed(page, name);
      const button = await one('button', frameId);
      const box = await page.box(button, call());
      assert.ok(box);
      const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
      assert.deepEqual(await page.receives(button, at, call()), { receives: true, instead: '' });
      await page.mouse.move(at, call());
      await page.mouse.down({ ...call(), button: 'left', clickCount: 1 });
      await page.mouse.up({ ...call(), button: 'left', clickCount: 1 });
      assert.equal(await page.call(frameId, '() => document.querySelector("button").textContent', [], call()), 'hit');
    }
  });

  it('covered elements report what covers them', async () => {
    await go('/cover');
    const button = await one('#b');
    assert.deepEqual(await page.receives(button, { x: 10, y: 10 }, call()), { receives: false, instead: '<div class="overlay">' });
    assert.equal((await page.receives(button, { x: 80, y: 10 }, call())).receives, true);
    assert.equal((await page.receives(button, { x: -5, y: 10 }, call())).receives, false);
    assert.equal((await page.receives(await one('#i'), { x: 10, y: 50 }, call())).receives, true);
    await go('/frames');
    await page.evaluate(
      page.mainFrame(),
      `document.body.insertAdjacentHTML('beforeend', '<p id=veil style="position:fixed;inset:0;margin:0">v</p>')`,
      call(),
    );
    const far = await one('button', await frameNamed(page, 'deep'));
    assert.deepEqual(await page.receives(far, { x: 30, y: 290 }, call()), { receives: false, instead: '<p id="veil">' });
  });

  it('elements receive clicks in open and closed shadow roots', async () => {
    await go('/shadow');
    for (const button of await page.findByRole(page.mainFrame(), { role: 'button' }, call())) {
      const box = await page.box(button, call());
      assert.deepEqual(await page.receives(button, { x: (box?.x ?? 0) + 5, y: (box?.y ?? 0) + 5 }, call()), {
        receives: true,
        instead: '',
      });
    }
    const host = await one('#open');
    const slotted = await page.box(await one('b'), call());
    assert.equal((await page.receives(host, { x: (slotted?.x ?? 0) + 5, y: (slotted?.y ?? 0) + 5 }, call())).receives, true);
  });

  it('frame elements lead to the documents in them', async () => {
    await go('/frames');
    const far = await page.contentFrame(await one('iframe[name=far]'), call());
    assert.equal(far?.url, `${pages.otherSite}/outer`);
    const deep = await page.contentFrame(await one('iframe', far.id), call());
    assert.equal(deep?.name, 'deep');
    assert.equal(await page.contentFrame(await one('div'), call()), null);
    await assert.rejects(page.call(page.mainFrame(), '(e) => e', [await one('button', deep.id)], call()), fails('not_possible'));
  });

  it('elements take the focus and files', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'berth-files-'));
    const paths = [join(folder, 'a.txt'), join(folder, 'b.txt')];
    for (const path of paths) await writeFile(path, 'abc');
    await go('/upload');
    await page.setFiles(await one('#many'), paths, call());
    assert.deepEqual(await page.evaluate(page.mainFrame(), '[...many.files].map((f) => f.name + f.size)', call()), ['a.txt3', 'b.txt3']);
    await assert.rejects(page.setFiles(await one('#one'), paths, call()), fails('not_possible'));
    await assert.rejects(page.setFiles(await one('#text'), paths, call()), fails('not_possible'));
    await page.focus(await one('#text'), call());
    assert.equal(await page.evaluate(page.mainFrame(), 'document.activeElement.id', call()), 'text');
    await assert.rejects(page.focus(await one('head'), call()), fails('not_possible'));
    await go('/frames');
    const deep = await frameNamed(page, 'deep');
    await page.focus(await one('input', deep), call());
    await page.keyboard.type('Hi', call());
    assert.equal(await page.call(deep, '() => document.querySelector("input").value', [], call()), 'Hi');
    await rm(folder, { recursive: true });
  });
});
