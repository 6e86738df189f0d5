import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ComputerRequest, type ComputerResult } from '@berth/contract';
import type { Browser } from '../browser/browser.ts';
import { readPng } from '../../testing/images.ts';
import { launch, type Launched } from '../../testing/launch.ts';
import { call, until } from '../../testing/on-page.ts';
import { openPages, type Pages } from '../../testing/pages.ts';
import { useComputer } from './computer.ts';

/** Records what the page receives, in the order in which it comes. */
const record = `<script>
  seen = [];
  const names = (e) => (e.ctrlKey ? 'C' : '') + (e.shiftKey ? 'S' : '') + (e.altKey ? 'A' : '') + (e.metaKey ? 'M' : '');
  for (const kind of ['mousedown', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick'])
    addEventListener(kind, (e) => seen.push([kind, Math.round(e.clientX), Math.round(e.clientY), e.button, e.detail + names(e)].join(' ')));
  addEventListener('keydown', (e) => seen.push(['key', e.key, e.code, names(e)].join(' ').trim()));
</script>`;
const replies = {
  '/plain': `<body style="margin:0">${record}`,
  '/colours': `<body style="margin:0;background:white"><div style="position:absolute;left:640px;top:360px;width:640px;height:360px;background:rgb(255,0,0)"></div>
    ${record}<script>for (const kind of ['resize', 'scroll']) addEventListener(kind, () => seen.push(kind))</script>`,
  '/long': `<body style="margin:0"><div style="height:3000px;background:linear-gradient(white,white)"></div>${record}`,
  '/inner': `<body style="margin:0"><div id=box style="width:300px;height:200px;overflow:scroll"><div style="width:2000px;height:2000px"></div></div>`,
  '/field': `<textarea id=t autofocus style="position:absolute;left:0;top:0;width:400px;height:200px"></textarea>${record}`,
  '/slider': `<body style="margin:0"><div id=knob style="position:absolute;left:0;top:0;width:40px;height:40px;background:blue"></div><script>
    let from = null;
    moves = 0;
    knob.onmousedown = (e) => { from = e.clientX - knob.offsetLeft; };
    onmousemove = (e) => { if (from !== null) { moves += 1; knob.style.left = e.clientX - from + 'px'; } };
    onmouseup = () => { from = null; };
  </script>`,
  '/drop': `<body style="margin:0"><div id=a draggable=true style="position:absolute;left:0;top:0;width:50px;height:50px;background:red">a</div>
    <div id=b style="position:absolute;left:200px;top:0;width:100px;height:100px;background:blue"></div><script>
    seen = [];
    a.ondragstart = (e) => e.dataTransfer.setData('text/plain', 'carried');
    b.ondragover = (e) => e.preventDefault();
    b.ondrop = (e) => { e.preventDefault(); seen.push('drop ' + e.dataTransfer.getData('text/plain')); };
  </script>`,
  '/things': `<body style="margin:0"><style>body > * { position: absolute; left: 0; width: 200px; height: 40px }</style>
    <button style="top:0" onclick="answer = confirm('Delete it?')">confirm</button>
    <select style="top:50px" id=s><option>one<option>two<option>three</select>
    <input style="top:100px" type=date>
    <input style="top:150px" type=file>
    <a style="top:200px" href="/second">link</a>
    <a style="top:250px" href="/second" target=_blank>new tab</a>
    <button style="top:300px" onclick="setTimeout(() => location = '/slow', 0)">slow</button>
    <button style="top:350px" onclick="close()">close</button>
    <a style="top:400px" href="/file">file</a>`,
  '/opener': `<body style="margin:0;height:720px;background:rgb(0,0,255)" onclick="window.open('/closing')">`,
  '/closing': '<body style="margin:0;height:720px" onmousedown="window.close()">',
  '/second': '<title>second</title><body style="margin:0;background:rgb(0,0,255)">second',
  '/slow': '<title>slow</title><body style="margin:0;background:rgb(0,128,0)"><script src="/slow.js"></script>',
};

let pages: Pages;
let launched: Launched;
let browser: Browser;
before(async () => {
  pages = await openPages({
    ...replies,
    '/file': (_, response) => void response.writeHead(200, { 'content-disposition': 'attachment; filename="a.txt"' }).end('a'),
    '/slow.js': () => undefined,
  });
  launched = await launch();
  browser = launched.browser;
});
after(async () => {
  await launched.end();
  await pages.close();
});

const page = () => browser.page(browser.activeTab().tabId);
const go = (path: string): Promise<unknown> => page().navigate({ url: pages.url + path, waitUntil: 'load', timeoutMs: 20_000 }, call());
const read = <T>(expression: string): Promise<T> => page().evaluate<T>(page().mainFrame(), expression, call());
const use = (actions: unknown[], more: Record<string, unknown> = {}): Promise<ComputerResult> =>
  useComputer(browser, ComputerRequest.parse({ screenshot: false, actions, ...more }), call());
const done = async (actions: unknown[], more: Record<string, unknown> = {}): Promise<ComputerResult> => {
  const result = await use(actions, more);
  assert.deepEqual([result.status, result.results.find(({ error }) => error)?.error ?? null], ['ok', null]);
  return result;
};
const pixels = ({ screenshot }: ComputerResult) => readPng(Buffer.from(screenshot?.data_base64 ?? '', 'base64'));
const white = [255, 255, 255, 255];
const red = [255, 0, 0, 255];

describe('clicks by coordinates', () => {
  for (const [type, count, last] of [
    ['click', 1, 'click 30 40 0 1'],
    ['double_click', 2, 'dblclick 30 40 0 2'],
    ['triple_click', 3, 'click 30 40 0 3'],
  ] as const)
    it(`${type} presses the place ${count} times`, async () => {
      await go('/plain');
      await done([{ type, x: 30, y: 40 }]);
      const seen = await read<string[]>('seen');
      assert.equal(seen.filter((each) => each.startsWith('mousedown')).length, count);
      assert.equal(seen.at(-1), last);
    });

  for (const [button, number] of [
    ['middle', 1],
    ['right', 2],
    ['forward', 4],
  ] as const)
    it(`a click has the ${button} button`, async () => {
      await go('/plain');
      await done([{ type: 'click', x: 5, y: 6, button }]);
      assert.deepEqual((await read<string[]>('seen')).slice(0, 1), [`mousedown 5 6 ${number} 1`]);
    });

  it('a click with the back button goes back in the history, and is told of', async () => {
    await go('/second');
    await go('/plain');
    const { events } = await done([{ type: 'click', x: 5, y: 6, button: 'back' }], { screenshot: true });
    assert.deepEqual(
      events.map(({ type, url }) => [type, url]),
      [['navigation', `${pages.url}/second`]],
    );
  });

  it('a click holds modifiers by any of their names, and a click without a place is where the mouse is', async () => {
    await go('/plain');
    await done([
      { type: 'move', x: 11, y: 12 },
      { type: 'click', modifiers: ['ctrl', 'Shift_L'] },
    ]);
    assert.equal((await read<string[]>('seen')).at(-1), 'click 11 12 0 1CS');
  });

  it('mouse_down holds the button until mouse_up, also of a later call', async () => {
    await go('/plain');
    await done([{ type: 'mouse_down', x: 3, y: 4 }]);
    assert.deepEqual(await read('seen'), ['mousedown 3 4 0 1']);
    await done([{ type: 'move', x: 8, y: 9 }, { type: 'mouse_up' }]);
    assert.ok((await read<string[]>('seen')).includes('mouseup 8 9 0 1'));
  });

  it('the cursor is where the last action has left it', async () => {
    await go('/plain');
    const { results, cursor } = await done([{ type: 'move', x: 100, y: 50 }, { type: 'cursor' }], { max_width: 640 });
    assert.deepEqual(
      [results[1]?.cursor, cursor],
      [
        { x: 100, y: 50 },
        { x: 100, y: 50 },
      ],
    );
  });

  it('a place outside of the screenshot fails by name, and ends the list', async () => {
    await go('/plain');
    const result = await use([
      { type: 'move', x: 1, y: 1 },
      { type: 'click', x: 5000, y: 10 },
      { type: 'click', x: 10, y: 10 },
    ]);
    assert.deepEqual([result.status, result.failed_index, result.results.length], ['error', 1, 2]);
    assert.equal(result.results[1]?.error?.code, 'out_of_bounds');
    assert.match(result.results[1]?.error?.message ?? '', /1280 × 720/);
    assert.deepEqual(await read('seen'), []);
  });
});

describe('drags, wheel and keyboard', () => {
  it('a drag moves what follows the mouse, in several moves', async () => {
    await go('/slider');
    await done([
      {
        type: 'drag',
        path: [
          { x: 10, y: 10 },
          { x: 210, y: 10 },
        ],
      },
    ]);
    assert.equal(await read('knob.offsetLeft'), 200);
    assert.ok((await read<number>('moves')) > 2);
  });

  it('a drag carries data from one element to another', async () => {
    await go('/drop');
    await done([
      {
        type: 'drag',
        path: [
          { x: 20, y: 20 },
          { x: 100, y: 30 },
          { x: 240, y: 40 },
        ],
      },
    ]);
    await until(async () => (await read<string[]>('seen')).length > 0);
    assert.deepEqual(await read('seen'), ['drop carried']);
  });

  it('the wheel scrolls the page by the distance', async () => {
    await go('/long');
    await done([{ type: 'scroll', x: 100, y: 100, dy: 500 }]);
    await until(async () => (await read('scrollY')) === 500);
  });

  it('the wheel scrolls by pixels of the scaled screenshot', async () => {
    await go('/long');
    await done([{ type: 'scroll', x: 100, y: 100, dy: 100 }], { max_width: 640 });
    await until(async () => (await read('scrollY')) === 200);
  });

  it('the wheel scrolls what is under the mouse, in both directions', async () => {
    await go('/inner');
    await done([{ type: 'scroll', x: 100, y: 100, dx: 70, dy: 90 }]);
    await until(async () => String(await read('[box.scrollLeft, box.scrollTop]')) === '70,90');
  });

  it('text is typed key by key into what has the focus', async () => {
    await go('/field');
    await done([
      { type: 'click', x: 50, y: 50 },
      { type: 'type', text: 'Aß\nz' },
    ]);
    assert.equal(await read('t.value'), 'Aß\nz');
  });

  for (const [keys, seen] of [
    ['Return', ['key Enter Enter']],
    ['Page_Down', ['key PageDown PageDown']],
    ['ctrl+a', ['key Control ControlLeft C', 'key a KeyA C']],
    ['CTRL+SHIFT+T', ['key Control ControlLeft C', 'key Shift ShiftLeft CS', 'key T KeyT CS']],
    ['Control_L+KP_Enter', ['key Control ControlLeft C', 'key Enter NumpadEnter C']],
    ['super+Left', ['key Meta MetaLeft M', 'key ArrowLeft ArrowLeft M']],
    ['alt+minus', ['key Alt AltLeft A', 'key - Minus A']],
    ['ARROWDOWN', ['key ArrowDown ArrowDown']],
    ['Tab BackSpace space', ['key Tab Tab', 'key Backspace Backspace', 'key   Space']],
  ] as const)
    it(`the keys ${keys} reach the page`, async () => {
      await go('/plain');
      await done([{ type: 'key', keys }]);
      assert.deepEqual(await read('seen'), seen);
    });

  for (const keys of ['ctrl+w', 'ctrl+t', 'alt+F4', 'F5', 'alt+Left'])
    it(`the keys ${keys} reach the page and never the browser`, async () => {
      await go('/plain');
      const { events } = await done([{ type: 'key', keys }]);
      assert.deepEqual([events, browser.tabs().length, page().url()], [[], 1, `${pages.url}/plain`]);
    });

  it('of keys with an unknown one, none is pressed', async () => {
    await go('/plain');
    const { results } = await use([{ type: 'key', keys: 'Tab Bogus' }]);
    assert.equal(results[0]?.error?.code, 'unknown_key');
    assert.deepEqual(await read('seen'), []);
  });

  it('the time for all actions ends the one that waits', async () => {
    await go('/plain');
    const { results } = await use(
      [
        { type: 'wait', ms: 60_000 },
        { type: 'click', x: 1, y: 1 },
      ],
      { timeout_ms: 1000 },
    );
    assert.deepEqual([results.length, results[0]?.error?.code], [1, 'timeout']);
  });
});

describe('the screenshot', () => {
  it('has one pixel for each CSS pixel', async () => {
    await go('/colours');
    const result = await done([], { screenshot: true });
    const image = pixels(result);
    assert.deepEqual([image.width, image.height, result.scale, result.screen], [1280, 720, 1, { width: 1280, height: 720 }]);
    assert.deepEqual([image.at(636, 356), image.at(644, 364)], [white, red]);
  });

  it('is scaled to the maximum width, and clicks are in its pixels', async () => {
    await go('/colours');
    const result = await done([{ type: 'click', x: 400, y: 300 }], { screenshot: true, max_width: 800 });
    const image = pixels(result);
    assert.deepEqual(
      [image.width, image.height, result.screenshot?.width, result.screenshot?.height, result.scale],
      [800, 450, 800, 450, 0.625],
    );
    assert.deepEqual([image.at(396, 221), image.at(404, 229)], [white, red]);
    assert.equal((await read<string[]>('seen')).at(-1), 'click 640 480 0 1');
  });

  it('is not enlarged', async () => {
    await go('/colours');
    assert.equal((await done([], { screenshot: true, max_width: 4000 })).screenshot?.width, 1280);
  });

  it('is not noticed by the page when it is scaled', async () => {
    await go('/colours');
    await done([], { screenshot: true, max_width: 300 });
    assert.deepEqual(await read('seen'), []);
  });

  it('shows a scrolled page, scaled or not', async () => {
    await go('/long');
    await read(
      `document.body.insertAdjacentHTML('beforeend', '<div style="position:absolute;left:0;top:1000px;width:1280px;height:100px;background:red">')`,
    );
    for (const max_width of [1280, 640]) {
      await read('scrollTo(0, 950)');
      const image = pixels(await done([], { screenshot: true, max_width }));
      const scale = max_width / 1280;
      assert.deepEqual([image.at(10, 40 * scale), image.at(10, 60 * scale), image.at(10, 160 * scale)], [white, red, white]);
    }
  });

  it('is of CSS pixels on a screen with more', async () => {
    await page().setViewport({ width: 800, height: 600, device_scale_factor: 2 }, call());
    try {
      await go('/plain');
      for (const [max_width, width] of [
        [undefined, 800],
        [400, 400],
      ]) {
        const result = await done([{ type: 'click', x: 100, y: 50 }], { screenshot: true, max_width });
        assert.equal(pixels(result).width, width);
        assert.equal((await read<string[]>('seen')).at(-1), `click ${80_000 / (width ?? 1)} ${40_000 / (width ?? 1)} 0 1`);
      }
    } finally {
      await page().setViewport({ width: 1280, height: 720, device_scale_factor: 1 }, call());
    }
  });

  it('between the actions shows the page as it is then', async () => {
    await go('/plain');
    await read(`onmousedown = () => { document.body.style.background = 'rgb(255,0,0)'; document.body.style.height = '720px' }`);
    const result = await done([{ type: 'screenshot' }, { type: 'click', x: 1, y: 1 }, { type: 'screenshot' }], { screenshot: true });
    const at = (data: string | undefined) => readPng(Buffer.from(data ?? '', 'base64')).at(9, 9);
    assert.deepEqual(
      result.results.map(({ screenshot }) => screenshot !== null),
      [true, false, false],
    );
    assert.deepEqual([at(result.results[0]?.screenshot?.data_base64), at(result.screenshot?.data_base64)], [white, red]);
  });

  it('is taken after an action that failed', async () => {
    await go('/colours');
    assert.equal((await use([{ type: 'click', x: 9999, y: 9 }], { screenshot: true })).screenshot?.width, 1280);
  });
});

describe('what happens meanwhile', () => {
  const at = (y: number) => ({ type: 'click', x: 10, y });

  it('a dialog is told with its text, and dismissed', async () => {
    await go('/things');
    const { events } = await done([at(10)]);
    assert.deepEqual(
      events.map(({ type, index, message, dialog }) => ({ type, index, message, dialog })),
      [{ type: 'dialog', index: 0, message: 'Delete it?', dialog: { type: 'confirm', answer: 'dismissed' } }],
    );
    assert.equal(await read('answer'), false);
  });

  it('a dialog is accepted where the caller says so', async () => {
    await go('/things');
    const { events } = await done([at(10)], { dialogs: 'accept' });
    assert.equal(events[0]?.dialog?.answer, 'accepted');
    assert.equal(await read('answer'), true);
  });

  it('a dialog that waits for a person ends the list, and a later call answers it', async () => {
    await go('/things');
    const leave = browser.attend({ isPresent: () => true });
    try {
      const result = await use([at(10), at(60)], { screenshot: true });
      assert.deepEqual([result.failed_index, result.results[1]?.error?.code, result.screenshot], [1, 'dialog_open', null]);
      assert.deepEqual([result.events[0]?.dialog?.answer, result.warnings], ['open', ['screenshot_failed:dialog_open']]);
      await done([], { dialogs: 'accept', screenshot: true });
      await until(async () => (await read('answer')) === true);
    } finally {
      leave();
    }
  });

  it('a list that a click opens is told with its options, and keys choose from it', async () => {
    await go('/things');
    const { events } = await done([at(60), { type: 'key', keys: 'Down Down Return' }]);
    assert.deepEqual(
      events.map(({ type, index, options }) => [type, index, options]),
      [['list', 0, ['one', 'two', 'three']]],
    );
    assert.equal(await read('s.value'), 'three');
  });

  it('a picker that a click opens is told with its type', async () => {
    await go('/things');
    const { events } = await done([{ type: 'click', x: 190, y: 120 }]);
    assert.deepEqual(
      events.map(({ type, message }) => [type, message]),
      [['picker', 'date']],
    );
  });

  it('a file chooser is told, and opens nowhere', async () => {
    await go('/things');
    const { events } = await done([at(170), { type: 'wait', ms: 1000 }]);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['file_chooser'],
    );
  });

  it('a navigation is waited for, and the screenshot shows where it leads', async () => {
    await go('/things');
    const result = await done([at(210)], { screenshot: true });
    assert.deepEqual(
      [result.events.map(({ type, url }) => [type, url]), result.title],
      [[['navigation', `${pages.url}/second`]], 'second'],
    );
    assert.deepEqual(pixels(result).at(600, 600), [0, 0, 255, 255]);
  });

  it('a page that goes on loading is captured after the time given, and is told of', async () => {
    await go('/things');
    const result = await done([at(310)], { screenshot: true, settle_ms: 1500 });
    assert.deepEqual(result.warnings, ['still_loading']);
    assert.ok(result.screenshot);
    await go('/plain');
  });

  it('a tab that opens becomes the active one, and is in the screenshot', async () => {
    await go('/things');
    const before = browser.activeTab().tabId;
    const result = await done([at(260)], { screenshot: true });
    const opened = result.events.find(({ type }) => type === 'tab_opened')?.tab_id;
    assert.deepEqual([result.tab_id, browser.activeTab().tabId, result.title], [opened, opened, 'second']);
    assert.deepEqual(pixels(result).at(600, 600), [0, 0, 255, 255]);
    await browser.closeTab(opened ?? '', call());
    assert.equal(browser.activeTab().tabId, before);
  });

  it('a tab that opens stays behind where the caller says so', async () => {
    await go('/things');
    const before = browser.activeTab().tabId;
    const result = await done([at(260)], { follow_tabs: false });
    assert.deepEqual([result.tab_id, browser.activeTab().tabId], [before, before]);
    await browser.closeTab(result.events.find(({ type }) => type === 'tab_opened')?.tab_id ?? '', call());
  });

  it('a download is told with its name', async () => {
    await go('/things');
    const { events } = await done([at(410), { type: 'wait', ms: 500 }]);
    assert.deepEqual(
      events.filter(({ type }) => type === 'download_started').map(({ message }) => message),
      ['a.txt'],
    );
  });

  it('a tab that closes itself fails the next action, and the screenshot is of the active tab', async () => {
    await go('/opener');
    const { tab_id: closing } = await done([{ type: 'click', x: 9, y: 9 }]);
    const result = await use(
      [
        { type: 'click', x: 1, y: 1 },
        { type: 'wait', ms: 30_000 },
        { type: 'click', x: 2, y: 2 },
      ],
      { screenshot: true },
    );
    assert.deepEqual([result.status, result.results.at(-1)?.error?.code], ['error', 'tab_closed']);
    assert.notEqual(result.tab_id, closing);
    assert.deepEqual(pixels(result).at(600, 600), [0, 0, 255, 255]);
  });
});
