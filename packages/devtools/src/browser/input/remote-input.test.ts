import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TabNotFoundError, type Browser } from '../browser.ts';
import { PageError, type Page } from '../page/page.ts';
import { launch, type Launched } from '../../../testing/launch.ts';
import { call, fails, freshPage, until } from '../../../testing/on-page.ts';
import { neverReturns, openPages, type Pages } from '../../../testing/pages.ts';
import type { RemoteInput } from '../screencast/clients.ts';

const replies = {
  '/keys': `<title>keys</title><textarea id=t autofocus></textarea><script>
    seen = [];
    for (const kind of ['keydown', 'keyup', 'compositionstart', 'compositionupdate', 'compositionend'])
      addEventListener(kind, (e) => seen.push([kind, e.key ?? e.data, e.keyCode ?? '', e.repeat ? 'R' : ''].join(' ').trim()));
  </script>`,
  '/field': `<input id=t value="in a far field">`,
  '/frames': `<body style="margin:0"><iframe src="{other}/field" style="width:300px;height:200px;border:0"></iframe>`,
  '/near': `<body style="margin:0"><iframe src="/field" style="width:300px;height:200px;border:0"></iframe>`,
  '/texts': `<body style="margin:0;font:20px/30px monospace"><p id=p style="margin:0">The words of a page.</p>
    <input id=i value="of a field"><input id=secret type=password value="hidden words"><input
      id=mail type=email value="a@b.test"><textarea id=a>of an area</textarea>
    <div id=e contenteditable>to be edited</div><div id=host></div><form id=f><input name=activeElement></form>
    <script>host.attachShadow({ mode: 'open' }).innerHTML = '<input value="in a shadow">'</script>`,
  '/mouse': `<body style="margin:0"><script>
    seen = [];
    for (const kind of ['mousedown', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick'])
      addEventListener(kind, (e) => seen.push([e.type, e.clientX, e.clientY, e.button, e.buttons, e.detail,
        (e.ctrlKey ? 'C' : '') + (e.shiftKey ? 'S' : '')].join(' ').trim()));
    moves = []; addEventListener('mousemove', (e) => moves.push([e.clientX, e.buttons].join()));
    wheels = [0, 0]; addEventListener('wheel', (e) => { wheels = [wheels[0] + e.deltaX, wheels[1] + e.deltaY]; });
  </script>`,
  '/drop': `<body style="margin:0"><div id=a draggable=true
      style="position:absolute;left:0;top:0;width:50px;height:50px;background:red">a</div>
    <div id=b style="position:absolute;left:200px;top:0;width:100px;height:100px;background:blue"></div><script>
    seen = [];
    a.ondragstart = (e) => e.dataTransfer.setData('text/plain', 'carried');
    for (const kind of ['dragstart', 'dragend']) a.addEventListener(kind, () => seen.push(kind));
    b.ondragover = (e) => e.preventDefault();
    b.ondrop = (e) => { e.preventDefault(); seen.push('drop ' + e.dataTransfer.getData('text/plain')); };
  </script>`,
  '/hang-once': `<body style="margin:0"><script>
    seen = [];
    for (const kind of ['mousedown', 'mouseup', 'keydown', 'keyup']) addEventListener(kind, (e) => seen.push(e.type + ' ' + (e.key ?? e.button)));
    addEventListener('mousedown', () => { for (const until = Date.now() + 12000; Date.now() < until;); }, { once: true });
  </script>`,
  '/hang': `<title>hang</title><script>addEventListener('keydown', () => ${neverReturns})</script>`,
};
const [control, shift] = [2, 8];

let pages: Pages;
let launched: Launched;
let browser: Browser;
let page: Page;
let remoteInput: RemoteInput;

before(async () => {
  pages = await openPages(replies);
  launched = await launch();
  browser = launched.browser;
  page = browser.page(browser.activeTab().tabId);
  // A window that was there from the start has its address line in focus, which keeps the shortcuts of the clipboard.
  await browser.activateTab(page.tabId, call());
});
after(async () => {
  await launched.end();
  await pages.close();
});
beforeEach(() => {
  remoteInput = browser.remoteInput(page.tabId);
});

const go = (path: string): Promise<unknown> => page.navigate({ url: pages.url + path, waitUntil: 'load', timeoutMs: 20_000 }, call());
const run = <T = unknown>(expression: string): Promise<T> => page.evaluate<T>(page.mainFrame(), expression, call());
const key = (action: 'down' | 'up', name: string, code: string, modifiers = 0): Promise<void> =>
  remoteInput.key({ action, key: name, code, modifiers, repeat: false, location: 0 });
/** Sends all at once, like fast input. */
const strike = (name: string, code: string, modifiers = 0): Promise<unknown> =>
  Promise.all([key('down', name, code, modifiers), key('up', name, code, modifiers)]);
const mouse = (
  action: 'move' | 'down' | 'up',
  x: number,
  y: number,
  more: Partial<Parameters<RemoteInput['mouse']>[0]> = {},
): Promise<void> =>
  remoteInput.mouse({
    action,
    x,
    y,
    button: action === 'move' ? 'none' : 'left',
    buttons: action === 'down' ? 1 : 0,
    clicks: 1,
    modifiers: 0,
    ...more,
  });
const click = (x: number, y: number): Promise<unknown> => Promise.all([mouse('move', x, y), mouse('down', x, y), mouse('up', x, y)]);

/** A click reaches a frame of another process once that has been drawn. */
const focusFrame = (): Promise<void> =>
  until(async () => {
    await click(100, 17);
    const frameId = (await page.frames(call())).at(-1)?.id ?? '';
    return page.call(frameId, `() => document.activeElement.id === 't'`, [], call());
  });

describe('remote keyboard', () => {
  beforeEach(async () => {
    await go('/keys');
    await run('t.focus()');
  });

  it('remote keyboard input types in all languages', async () => {
    const strokes = [
      ...[...'Ab1'].map((sign) => strike(sign, `Key${sign.toUpperCase()}`, /[A-Z]/.test(sign) ? shift : 0)),
      ...[
        strike('ß', 'Minus'),
        strike('é', 'Digit2'),
        strike('@', 'KeyQ', control | 1),
        strike('你', ''),
        strike('🦊', ''),
        strike('ф', 'KeyA'),
      ],
      ...[
        strike('Dead', 'Equal'),
        strike('Enter', 'Enter'),
        strike(' ', 'Space'),
        strike('7', 'Numpad7'),
        strike('x', 'KeyX'),
        strike('Backspace', 'Backspace'),
      ],
    ];
    await Promise.all(strokes);
    assert.equal(await run('t.value'), 'Ab1ßé@你🦊ф\n 7');
    const events = await run<string[]>('seen');
    assert.deepEqual(
      [events[0], events[1], events.filter((each) => each.startsWith('keydown é'))],
      ['keydown A 65', 'keyup A 65', ['keydown é 50']],
    );
  });

  it('remote keyboard input edits with shortcuts', async () => {
    await remoteInput.insertText('one two');
    const chord = (letter: string, modifiers = control): Promise<unknown> => strike(letter, `Key${letter.toUpperCase()}`, modifiers);
    await chord('a');
    await chord('c');
    await strike('End', 'End');
    await chord('v');
    assert.equal(await run('t.value'), 'one twoone two');
    await chord('a');
    await chord('x');
    assert.equal(await run('t.value'), '');
    await chord('z');
    assert.equal(await run('t.value'), 'one twoone two');
    await strike('ArrowLeft', 'ArrowLeft');
    await strike('ArrowRight', 'ArrowRight', control | shift);
    assert.equal(await remoteInput.selection(), 'one');
  });

  it('remote shortcuts of a browser go to the page, and not to the browser', async () => {
    const [ctrl, alt] = [control, 1];
    const strokes: [string, string, number][] = [
      ...[...'wtnrlpsdju'].map((letter): [string, string, number] => [letter, `Key${letter.toUpperCase()}`, ctrl]),
      ...['W', 'N', 'T'].map((letter): [string, string, number] => [letter, `Key${letter}`, ctrl | shift]),
      ...['F5', 'F11', 'F12', 'F1'].map((name): [string, string, number] => [name, name, 0]),
      ...[['F4', 'F4', alt] as const, ['ArrowLeft', 'ArrowLeft', alt] as const, ['Tab', 'Tab', ctrl] as const].map(
        ([name, code, modifiers]): [string, string, number] => [name, code, modifiers],
      ),
    ];
    for (const stroke of strokes) await strike(...stroke);
    // A tab that closes or opens does so within this time.
    await sleep(300);
    assert.deepEqual(
      browser.tabs().map(({ url }) => url),
      [`${pages.url}/keys`],
    );
    const downs = (await run<string[]>('seen')).filter((each) => each.startsWith('keydown'));
    assert.deepEqual(
      downs.map((each) => each.split(' ')[1]),
      strokes.map(([name]) => name),
    );
  });

  it('remote keyboard input shows a composition, commits it, and cancels it', async () => {
    await remoteInput.compose('n', 1, 1);
    await remoteInput.compose('に', 1, 1);
    assert.equal(await run('t.value'), 'に');
    await remoteInput.insertText('日本');
    assert.equal(await run('t.value'), '日本');
    await remoteInput.compose('x', 99, -1);
    await remoteInput.compose('', 0, 0);
    assert.equal(await run('t.value'), '日本');
    const composed = (await run<string[]>('seen')).filter((each) => each.startsWith('composition'));
    const expected = ['compositionstart', 'compositionupdate n', 'compositionupdate に', 'compositionupdate 日本'];
    assert.deepEqual(composed.slice(0, 4), expected);
    assert.deepEqual([composed[4], composed.at(-1)], ['compositionend 日本', 'compositionend']);
  });

  it('remote keyboard input goes into the frame of another process that a click gave the focus', async () => {
    await go('/frames');
    const far = (await page.frames(call())).at(-1)?.id ?? '';
    await focusFrame();
    await Promise.all([click(100, 17), strike('End', 'End'), strike('!', 'Digit1', shift), remoteInput.insertText('ü')]);
    await remoteInput.compose('漢', 1, 1);
    await remoteInput.insertText('漢字');
    assert.equal(await page.call(far, '() => document.querySelector("input").value', [], call()), 'in a far field!ü漢字');
  });

  it('a release of the remote keyboard leaves no key down', async () => {
    for (const [name, code] of [
      ['Shift', 'ShiftLeft'],
      ['Control', 'ControlLeft'],
      ['a', 'KeyA'],
    ] as const)
      await key('down', name, code, control | shift);
    await key('up', 'Control', 'ControlLeft', shift);
    await run('seen.length = 0');
    await remoteInput.release();
    assert.deepEqual(await run('seen'), ['keyup a 65', 'keyup Shift 16']);
    await run('seen.length = 0');
    await remoteInput.release();
    assert.deepEqual(await run('seen'), []);
  });

  it('keys pressed with the Meta key of a Mac are released', async () => {
    await key('down', 'Meta', 'MetaLeft', 4);
    await key('down', 'k', 'KeyK', 4);
    await key('up', 'Meta', 'MetaLeft');
    assert.deepEqual((await run<string[]>('seen')).toSorted(), ['keydown Meta 91', 'keydown k 75', 'keyup Meta 91', 'keyup k 75']);
    assert.equal(await run('t.value'), '');
  });
});

describe('remote mouse', () => {
  it('the remote mouse clicks with each button, once and twice, with modifiers', async () => {
    await go('/mouse');
    await click(100, 90);
    await Promise.all([mouse('down', 100, 90, { clicks: 2 }), mouse('up', 100, 90, { clicks: 2 })]);
    await Promise.all([
      mouse('down', 7, 8, { button: 'right', buttons: 2, modifiers: control }),
      mouse('up', 7, 8, { button: 'right', modifiers: control }),
    ]);
    await Promise.all([mouse('down', 9, 8, { button: 'middle', buttons: 4 }), mouse('up', 9, 8, { button: 'middle' })]);
    assert.deepEqual(await run('seen'), [
      'mousedown 100 90 0 1 1',
      'mouseup 100 90 0 0 1',
      'click 100 90 0 0 1',
      'mousedown 100 90 0 1 2',
      'mouseup 100 90 0 0 2',
      'click 100 90 0 0 2',
      'dblclick 100 90 0 0 2',
      'mousedown 7 8 2 2 1 C',
      'contextmenu 7 8 2 2 0 C',
      'mouseup 7 8 2 0 1 C',
      'auxclick 7 8 2 0 1 C',
      'mousedown 9 8 1 4 1',
      'mouseup 9 8 1 0 1',
      'auxclick 9 8 1 0 1',
    ]);
    await assert.rejects(mouse('move', NaN, 1), fails('not_possible'));
    await assert.rejects(mouse('down', 1, 1, { button: 'none' }), fails('not_possible'));
  });

  it('the remote mouse moves straight to the newest position, and loses no turn of the wheel', async () => {
    await go('/mouse');
    await Promise.all(Array.from({ length: 500 }, (_, index) => mouse('move', index, 50)));
    const moves = await run<string[]>('moves');
    assert.equal(moves.at(-1), '499,0');
    assert.ok(moves.length < 20, `${moves.length} moves`);
    await Promise.all(Array.from({ length: 100 }, () => remoteInput.wheel({ x: 50, y: 50, dx: 1, dy: 12, modifiers: 0 })));
    await until(async () => (await run<number[]>('wheels')).join() === '100,1200');
  });

  it('the remote mouse selects by dragging, and returns the selection', async () => {
    await go('/texts');
    const [left, right] = await run<[number, number]>(
      `(() => {
        const r = new Range(); r.setStart(p.firstChild, 4); r.setEnd(p.firstChild, 9);
        const b = r.getBoundingClientRect(); return [b.left, b.right];
      })()`,
    );
    await Promise.all([
      mouse('move', left + 1, 15),
      mouse('down', left + 1, 15),
      mouse('move', left + 20, 15, { buttons: 1 }),
      mouse('move', right - 1, 15, { buttons: 1 }),
      mouse('up', right - 1, 15),
    ]);
    assert.equal(await remoteInput.selection(), 'words');
  });

  it('the remote mouse drags and drops HTML drags, and drops nothing on release', async () => {
    await go('/drop');
    await Promise.all([
      ...[mouse('move', 20, 20), mouse('down', 20, 20), mouse('move', 100, 25, { buttons: 1 }), mouse('move', 240, 50, { buttons: 1 })],
      ...[mouse('move', 250, 50, { buttons: 1 }), mouse('up', 250, 50)],
    ]);
    await until(() => run('seen.includes("dragend")'));
    assert.deepEqual(await run('seen'), ['dragstart', 'drop carried', 'dragend']);
    await run('seen.length = 0');
    await Promise.all([
      mouse('move', 20, 20),
      mouse('down', 20, 20),
      mouse('move', 100, 25, { buttons: 1 }),
      mouse('move', 250, 50, { buttons: 1 }),
    ]);
    await until(() => run('seen.includes("dragstart")'));
    await remoteInput.release();
    await until(() => run('seen.includes("dragend")'));
    assert.deepEqual(await run('seen'), ['dragstart', 'dragend']);
    await go('/mouse');
    await click(33, 44);
    assert.equal(await run('seen.at(-1)'), 'click 33 44 0 0 1');
  });

  it('a release of the remote mouse leaves no button down', async () => {
    await go('/mouse');
    await mouse('down', 5, 6);
    await mouse('move', 15, 6, { buttons: 1 });
    await remoteInput.release();
    assert.deepEqual(await run('seen'), ['mousedown 5 6 0 1 1', 'mouseup 15 6 0 0 1', 'click 15 6 0 0 1']);
  });
});

describe('what is selected', () => {
  const select = async (id: string): Promise<string> => {
    await run(`(${id}.focus(), ${id}.select())`);
    return remoteInput.selection();
  };

  it('the selection is that of the page, of fields and of editable elements, and never a password', async () => {
    await go('/texts');
    assert.equal(await remoteInput.selection(), '');
    await run('getSelection().selectAllChildren(p)');
    assert.equal(await remoteInput.selection(), 'The words of a page.');
    assert.equal(await select('i'), 'of a field');
    await run('i.setSelectionRange(3, 4)');
    assert.equal(await remoteInput.selection(), 'a');
    assert.equal(await select('a'), 'of an area');
    assert.equal(await select('mail'), 'a@b.test');
    assert.equal(await select('secret'), '');
    assert.equal(await select('host.shadowRoot.firstChild'), 'in a shadow');
    await run('(e.focus(), getSelection().selectAllChildren(e))');
    assert.equal(await remoteInput.selection(), 'to be edited');
  });

  it('the selection is read from the frame with the focus, whatever its process', async () => {
    for (const path of ['/near', '/frames']) {
      await go(path);
      await focusFrame();
      await strike('a', 'KeyA', control);
      assert.equal(await remoteInput.selection(), 'in a far field', path);
    }
  });

  it('the selection is at most a mebibyte', async () => {
    await go('/texts');
    await run(`a.value = '語'.repeat(500_000)`);
    const text = await select('a');
    assert.equal(text, '語'.repeat(Math.floor((1024 * 1024) / 3)));
  });
});

describe('remote input of a tab', () => {
  it('remote input counts as activity, and ends with its tab', async () => {
    await go('/mouse');
    const before = browser.lastActivityMs;
    await mouse('move', 1, 1);
    assert.ok(browser.lastActivityMs > before);
    const { tabId } = page;
    page = await freshPage(browser);
    await assert.rejects(mouse('move', 1, 1), TabNotFoundError);
    await remoteInput.release();
    assert.throws(() => browser.remoteInput(tabId), TabNotFoundError);
  });

  it('remote input releases what it has pressed in a page that hangs longer than input waits', async () => {
    await go('/hang-once');
    const sent = [
      mouse('down', 5, 5),
      key('down', 'Shift', 'ShiftLeft', shift),
      // More than is queued.
      ...Array.from({ length: 300 }, () => key('down', 'a', 'KeyA', shift)),
      mouse('down', 5, 5, { button: 'right', buttons: 3 }),
      mouse('up', 5, 5),
      key('up', 'Shift', 'ShiftLeft'),
      mouse('up', 5, 5, { button: 'right' }),
    ];
    const results = await Promise.allSettled(sent);
    assert.equal(results.at(-4)?.status, 'rejected', 'the right button found no place in the queue');
    await until(async () => (await run<string[]>('seen')).includes('keyup Shift'));
    const seen = await run<string[]>('seen');
    assert.deepEqual([seen[0], ...seen.slice(-2)], ['mousedown 0', 'mouseup 0', 'keyup Shift']);
    await run('seen.length = 0');
    await remoteInput.release();
    assert.deepEqual(
      (await run<string[]>('seen')).filter((each) => each.startsWith('mouse') || each.includes('Shift')),
      [],
      'nothing is held any more',
    );
  });

  it('remote input to a page that hangs times out, and does not pile up', async () => {
    await go('/hang');
    const began = performance.now();
    const moves = Array.from({ length: 300 }, (_, index) => mouse('move', index, 1).then(() => null, String));
    const strokes = Array.from({ length: 400 }, () =>
      key('down', 'a', 'KeyA').then(
        () => null,
        (error: unknown) => (error instanceof PageError ? error.reason : String(error)),
      ),
    );
    await strokes[0];
    const firstMs = performance.now() - began;
    const results = await Promise.all(strokes);
    await Promise.all(moves);
    const allMs = performance.now() - began;
    assert.ok(firstMs > 9000, `the first was given up after ${firstMs} ms`);
    assert.ok(allMs < 2 * firstMs, `all were given up after ${allMs} ms, the first after ${firstMs} ms`);
    assert.deepEqual([results[0], results.at(-1)], ['timeout', 'not_possible']);
    assert.equal(
      results.filter((reason) => reason === 'timeout').length + results.filter((reason) => reason === 'not_possible').length,
      400,
    );
    assert.ok(results.filter((reason) => reason === 'not_possible').length >= 140);
  });
});
