import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from '../browser.ts';
import { PageError, type Dialog, type Page } from '../page/page.ts';
import { launch, type Launched } from '../../../testing/launch.ts';
import { call } from '../../../testing/on-page.ts';
import { openPages, type Pages } from '../../../testing/pages.ts';

const replies = {
  '/keys': `<textarea id=t autofocus></textarea><script>
    seen = [];
    for (const kind of ['keydown', 'keyup', 'compositionend'])
      addEventListener(kind, (e) => seen.push([kind, e.key, e.code, e.keyCode, e.location,
        (e.ctrlKey ? 'C' : '') + (e.shiftKey ? 'S' : '') + (e.altKey ? 'A' : '') + (e.metaKey ? 'M' : '')].join(' ')));
    trusted = true;
    addEventListener('keydown', (e) => trusted &&= e.isTrusted);
  </script>`,
  '/mouse': `<body style="margin:0"><div id=box
      style="position:absolute;left:10px;top:10px;width:40px;height:40px;background:red"></div><script>
    seen = [];
    const record = (e) => seen.push([e.type, e.clientX, e.clientY, e.button, e.buttons, e.detail].join(' '));
    for (const kind of ['mousedown', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick']) addEventListener(kind, record);
    addEventListener('wheel', (e) => seen.push('wheel ' + e.deltaX + ' ' + e.deltaY));
    let from = null;
    box.onpointerdown = (e) => { from = [e.clientX - box.offsetLeft, e.clientY - box.offsetTop]; box.setPointerCapture(e.pointerId); };
    box.onpointermove = (e) => { if (from)
      Object.assign(box.style, { left: e.clientX - from[0] + 'px', top: e.clientY - from[1] + 'px' }); };
    box.onpointerup = () => { from = null; };
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
  '/dialogs': `<button id=b
      style="position:absolute;left:0;top:0;width:100px;height:50px"
      onclick="said = [alert('a'), confirm('c'), prompt('p', 'd')]">b</button>`,
  '/dialogframe': '<body style="margin:0"><iframe src="{other}/dialogs" style="width:300px;height:200px;border:0"></iframe>',
  '/frames': `<body style="margin:0"><iframe src="{other}/keys" style="width:300px;height:200px;border:0"></iframe>`,
};

const browserShortcuts = [
  ...['W', 'T', 'N', 'R', 'L', 'P', 'S', 'D', 'J', 'U', 'F', 'H', 'O', 'G', 'F4', 'F5', 'Tab', 'PageDown', '1'].map(
    (key) => `Control+${key}`,
  ),
  ...['W', 'T', 'N', 'R', 'I', 'J', 'C', 'Delete', 'Tab'].map((key) => `Control+Shift+${key}`),
  ...['ArrowLeft', 'ArrowRight', 'Home', 'F4', 'D', 'F', 'E'].map((key) => `Alt+${key}`),
  ...['F1', 'F3', 'F5', 'F6', 'F7', 'F10', 'F11', 'F12', 'Shift+F5', 'Shift+Escape', 'Meta+W', 'Meta+T', 'Meta+Q'],
];

let pages: Pages;
let launched: Launched;
let browser: Browser;
let page: Page;

before(async () => {
  pages = await openPages(replies);
  launched = await launch();
  browser = launched.browser;
  page = browser.page(browser.activeTab().tabId);
});
after(async () => {
  await launched.end();
  await pages.close();
});

const go = (path: string): Promise<unknown> => page.navigate({ url: pages.url + path, waitUntil: 'load', timeoutMs: 20_000 }, call());
const run = (expression: string): Promise<unknown> => page.evaluate(page.mainFrame(), expression, call());
const click = async (x: number, y: number, button: 'left' | 'right' | 'middle' = 'left', count = 1): Promise<void> => {
  await page.mouse.move({ x, y }, call());
  for (let clickCount = 1; clickCount <= count; clickCount += 1) {
    await page.mouse.down({ ...call(), button, clickCount });
    await page.mouse.up({ ...call(), button, clickCount });
  }
};

async function until(expression: string): Promise<void> {
  const end = performance.now() + 20_000;
  while (!(await run(expression))) assert.ok(performance.now() < end, `never: ${expression}`);
}

describe('the keyboard', () => {
  beforeEach(async () => {
    await go('/keys');
    await run('t.focus()');
  });

  it('the keyboard types every sign of the layout, and characters that no key has', async () => {
    const ascii = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join('');
    const text = `${ascii}\nzwölf 🦊 日本`;
    await page.keyboard.type(text, call());
    assert.equal(await run('t.value'), text);
    assert.equal(await run('trusted'), true);
  });

  it('the keyboard sends the events of a real keyboard', async () => {
    await page.keyboard.type('aB', call());
    assert.deepEqual(await run('seen'), [
      'keydown a KeyA 65 0 ',
      'keyup a KeyA 65 0 ',
      'keydown Shift ShiftLeft 16 1 S',
      'keydown B KeyB 66 0 S',
      'keyup B KeyB 66 0 S',
      'keyup Shift ShiftLeft 16 1 ',
    ]);
    await run('seen.length = 0');
    for (const keys of ['Numpad7', 'Shift+Tab', 'Control+Shift+A', 'ArrowDown', 'Alt++']) await page.keyboard.press(keys, call());
    assert.deepEqual(
      ((await run('seen')) as string[]).filter((each) => each.startsWith('keydown')),
      [
        'keydown 7 Numpad7 103 3 ',
        'keydown Shift ShiftLeft 16 1 S',
        'keydown Tab Tab 9 0 S',
        'keydown Control ControlLeft 17 1 C',
        'keydown Shift ShiftLeft 16 1 CS',
        'keydown A KeyA 65 0 CS',
        'keydown ArrowDown ArrowDown 40 0 ',
        'keydown Alt AltLeft 18 1 A',
        'keydown + Equal 187 0 A',
      ],
    );
  });

  it('a press has the modifiers that it names, and a character that no key has is pressed as on a keyboard that has it', async () => {
    const characters = ['+', '?', 'A', 'ä', '@', '€'];
    for (const keys of [...characters, 'Shift++', 'Shift+/']) await page.keyboard.press(keys, call());
    assert.equal(await run('t.value'), `${characters.join('')}+?`);
    assert.deepEqual(
      ((await run('seen')) as string[]).filter((each) => each.startsWith('keydown')).map((each) => each.replace(/^keydown /, '')),
      [
        ...['+ Equal 187 0 ', '? Slash 191 0 ', 'A KeyA 65 0 ', 'ä  0 0 ', '@ Digit2 50 0 ', '€  0 0 '],
        ...['Shift ShiftLeft 16 1 S', '+ Equal 187 0 S', 'Shift ShiftLeft 16 1 S', '? Slash 191 0 S'],
      ],
    );
  });

  it('a character in quotes is typed as it is, with Shift held and beside other modifiers', async () => {
    const chords = ["Shift+'/'", "Shift+'7'", "Shift+'''", "Shift+'+'", "Shift+'a'", "'?'", "'''", "Shift+'ß'", "Control+Shift+'A'"];
    for (const keys of [...chords, "Shift+'", "'"]) await page.keyboard.press(keys, call());
    assert.equal(await run('t.value'), `/7'+a?'ß"'`);
    assert.deepEqual(
      ((await run('seen')) as string[])
        .filter((each) => /^keydown (?!Shift|Control)/.test(each))
        .map((each) => each.replace(/^keydown /, '')),
      [
        ...[
          '/ Slash 191 0 S',
          '7 Digit7 55 0 S',
          "' Quote 222 0 S",
          '+ Equal 187 0 S',
          'a KeyA 65 0 S',
          '? Slash 191 0 ',
          "' Quote 222 0 ",
        ],
        ...['ß  0 0 S', 'A KeyA 65 0 CS', '" Quote 222 0 S', "' Quote 222 0 "],
      ],
    );
    for (const keys of ["Shift+''", "'Enter'", "x'/'", "'/'+A", "Shift+'ab'"])
      await assert.rejects(page.keyboard.press(keys, call()), { reason: 'unknown_key' }, keys);
  });

  it('a character that no key has is pressed with modifiers, as on a keyboard that has it', async () => {
    for (const keys of ['Control+ä', 'Alt+ö', 'Meta+ñ', 'Control+Ж', 'Control+Shift+é', 'Control+👍', 'Shift+ü', 'Shift+ß'])
      await page.keyboard.press(keys, call());
    assert.deepEqual(
      ((await run('seen')) as string[]).filter((each) => /^keydown .* 0 0 /.test(each)),
      ['ä  0 0 C', 'ö  0 0 A', 'ñ  0 0 M', 'ж  0 0 C', 'É  0 0 CS', '👍  0 0 C', 'Ü  0 0 S', 'ß  0 0 S'].map((event) => `keydown ${event}`),
    );
    assert.equal(await run('t.value'), 'Üß');
    assert.equal(((await run('seen')) as string[]).at(-1), 'keyup Shift ShiftLeft 16 1 ');
  });

  it('the keyboard edits with chords', async () => {
    await page.keyboard.insertText('one two', call());
    await page.keyboard.press('Control+A', call());
    assert.equal(await run('t.selectionEnd - t.selectionStart'), 7);
    await page.keyboard.press('Control+C', call());
    await page.keyboard.press('End', call());
    await page.keyboard.press('Enter', call());
    await page.keyboard.press('ctrl+v', call());
    assert.equal(await run('t.value'), 'one two\none two');
    await page.keyboard.press('Control+Backspace', call());
    await page.keyboard.press('Shift+x', call());
    await page.keyboard.press('é', call());
    assert.equal(await run('t.value'), 'one two\none Xé');
    await page.keyboard.down('Shift', call());
    for (let i = 0; i < 2; i += 1) await page.keyboard.press('ArrowLeft', call());
    await page.keyboard.up('Shift', call());
    await page.keyboard.press('Delete', call());
    assert.equal(await run('t.value'), 'one two\none ');
  });

  it('the shortcuts of a browser go to the page, and not to the browser', async () => {
    const address = page.url();
    for (const keys of browserShortcuts) {
      await run('seen.length = 0');
      await page.keyboard.press(keys, call());
      const down = ((await run('seen')) as string[]).filter((each) => each.startsWith('keydown')).at(-1);
      const [, name] = down?.split(' ') ?? [];
      assert.equal(name?.toLowerCase(), keys.split('+').at(-1)?.toLowerCase(), keys);
    }
    // A tab that closes or opens does so within this time.
    await sleep(300);
    assert.deepEqual(
      browser.tabs().map(({ url }) => url),
      [address],
    );
    // Nothing was reloaded either: the page still has what it has seen.
    assert.equal(await run('seen.length > 0'), true);
  });

  it('the keyboard refuses unknown keys, and leaves none down', async () => {
    for (const keys of ['Nothing', 'Control+', 'Control+Nothing', '', 'ab', 'Control+éa', 'Control+👍🏽', 'é+a', 'Nothing+a'])
      await assert.rejects(page.keyboard.press(keys, call()), { reason: 'unknown_key' });
    await page.keyboard.type('a', call());
    assert.equal(await run('t.value'), 'a');
  });

  it('the keyboard types at a pace, until the signal ends it', async () => {
    const begin = performance.now();
    await page.keyboard.type('abcd', { ...call(), delayMs: 40 });
    assert.ok(performance.now() - begin >= 115);
    const ending = new AbortController();
    const typing = assert.rejects(page.keyboard.type('efgh', { signal: ending.signal, delayMs: 60_000 }), RangeError);
    await until('t.value.endsWith("e")');
    ending.abort(new RangeError('enough'));
    await typing;
    const holding = new AbortController();
    const held = assert.rejects(page.keyboard.press('Control+x', { signal: holding.signal, delayMs: 60_000 }), RangeError);
    await until('seen.at(-1).startsWith("keydown x")');
    holding.abort(new RangeError('enough'));
    await held;
    await until('seen.at(-1).startsWith("keyup Control")');
  });

  it('the keyboard writes into the frame with the focus', async () => {
    await go('/frames');
    const far = (await page.frames(call())).at(-1)?.id ?? '';
    // A frame of another process is under the pointer once the browser has drawn it.
    const isFocused = '() => document.activeElement.tagName === "TEXTAREA"';
    do await click(20, 20);
    while (!(await page.call(far, isFocused, [], call())));
    await page.keyboard.type('Far ö', call());
    assert.equal(await page.call(far, '() => document.querySelector("textarea").value', [], call()), 'Far ö');
  });
});

describe('the mouse', () => {
  it('the mouse clicks with each button, once and twice', async () => {
    await go('/mouse');
    await click(100, 90, 'left', 2);
    await click(101, 90, 'right');
    await click(102, 90, 'middle');
    assert.deepEqual(await run('seen'), [
      'mousedown 100 90 0 1 1',
      'mouseup 100 90 0 0 1',
      'click 100 90 0 0 1',
      'mousedown 100 90 0 1 2',
      'mouseup 100 90 0 0 2',
      'click 100 90 0 0 2',
      'dblclick 100 90 0 0 2',
      'mousedown 101 90 2 2 1',
      'contextmenu 101 90 2 2 0',
      'mouseup 101 90 2 0 1',
      'auxclick 101 90 2 0 1',
      'mousedown 102 90 1 4 1',
      'mouseup 102 90 1 0 1',
      'auxclick 102 90 1 0 1',
    ]);
    await page.mouse.wheel({ x: 0, y: 120 }, call());
    await until('seen.at(-1) === "wheel 0 120"');
  });

  it('the mouse drags what follows it', async () => {
    await go('/mouse');
    await page.mouse.move({ x: 20, y: 20 }, call());
    await page.mouse.down({ ...call(), button: 'left', clickCount: 1 });
    await page.mouse.move({ x: 220, y: 120 }, { ...call(), steps: 5 });
    await page.mouse.up({ ...call(), button: 'left', clickCount: 1 });
    assert.deepEqual(await run('[box.offsetLeft, box.offsetTop]'), [210, 110]);
  });

  it('the mouse drags and drops HTML drags', async () => {
    await go('/drop');
    await page.mouse.move({ x: 20, y: 20 }, call());
    await page.mouse.down({ ...call(), button: 'left', clickCount: 1 });
    await page.mouse.move({ x: 250, y: 50 }, { ...call(), steps: 4 });
    await page.mouse.up({ ...call(), button: 'left', clickCount: 1 });
    await until('seen.includes("dragend")');
    assert.deepEqual(await run('seen'), ['dragstart', 'drop carried', 'dragend']);
    await click(280, 80);
  });

  it('clicks open dialogs that are answered, and are dismissed when nobody answers', async () => {
    await go('/dialogs');
    const received: Dialog[] = [];
    const undo = page.onDialog((dialog) => {
      received.push(dialog);
      return { accept: true, text: dialog.type === 'prompt' ? 'mine' : undefined };
    });
    await click(10, 10);
    assert.deepEqual(await run('said'), [null, true, 'mine']);
    assert.deepEqual(received, [
      { type: 'alert', message: 'a', defaultValue: '' },
      { type: 'confirm', message: 'c', defaultValue: '' },
      { type: 'prompt', message: 'p', defaultValue: 'd' },
    ]);
    await go('/dialogframe');
    const far = (await page.frames(call())).at(-1)?.id ?? '';
    received.length = 0;
    // A click reaches a frame of another process once that has been drawn.
    for (let tries = 0; tries < 50 && !(await page.evaluate(far, `typeof said !== 'undefined'`, call())); tries += 1) await click(10, 10);
    assert.deepEqual(await page.evaluate(far, 'said', call()), [null, true, 'mine']);
    assert.equal(received.length, 3);
    undo();
    await go('/dialogs');
    await click(10, 10);
    assert.deepEqual(await run('said'), [null, false, null]);
    await assert.rejects(page.mouse.move({ x: NaN, y: 0 }, call()), PageError);
  });
});
