/** Clicks arrive in pages that move their elements, in a real browser. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PageError } from '../../browser/browser.ts';
import { systemClock } from '@berth/lib/clock.ts';
import { StepError } from '../context.ts';
import { StepAttempt } from '../run/attempt.ts';
import { stepPage } from '../../../testing/step-page.ts';
import { nightly } from '../../../../../tests/nightly.ts';
import { untilReceived } from './press.ts';

const page = stepPage();

async function inPage(html: string, ...steps: object[]) {
  const { results } = await page.inPage(html, steps, { stopOnError: false });
  return results;
}

const tall = '<div style="height:2000px"></div>';
/** Grows what is above the element when it comes into view. */
const shift = (px: number): string =>
  `<script>new IntersectionObserver(([{ isIntersecting }]) => { if (isIntersecting) ad.style.height = '${px}px' }).observe(b)</script>`;
const seen = '<pre id=out style="position:fixed;right:0;top:0;pointer-events:none"></pre>';
const log = `<script>log = (word) => { out.textContent += word + ' ' }</script>`;
const below = (target: string): string => `${seen}${log}${tall}<div id=ad></div>${target}${tall}${shift(60)}`;
const read = { type: 'evaluate', expression: `(await new Promise((done) => setTimeout(done, 300)), out.textContent.trim())` };
const inFrame = { frame: ['iframe'] };

/** Since what moves is a matter of chance, the night and who runs the file by hand try it three times over; every run has many pages. */
const turns = nightly.skip === undefined ? 3 : 1;

/** Does the step in the page. */
async function assertArrives(html: string, step: object, wanted: string): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    const [result, output] = await inPage(html, step, read);
    assert.deepEqual([result?.status, result?.error, output?.output], ['ok', undefined, wanted]);
  }
}

describe('an element that the page moves when it comes into view', () => {
  const acts: [string, string, object, string][] = [
    ['is clicked', '<button id=b onclick="log(1)">B</button>', { type: 'click' }, '1'],
    ['is clicked twice', '<button id=b onclick="log(1)" ondblclick="log(2)">B</button>', { type: 'click', count: 2 }, '1 1 2'],
    ['is clicked with the right button', '<button id=b oncontextmenu="log(1)">B</button>', { type: 'click', button: 'right' }, '1'],
    ['is hovered', '<button id=b onmouseenter="log(1)">B</button>', { type: 'hover' }, '1'],
    ['is checked', '<input type=checkbox id=b onchange="log(checked)">', { type: 'check' }, 'true'],
    ['is filled', '<input id=b oninput="log(value)">', { type: 'fill', value: 'x' }, 'x'],
    ['is typed into', '<input id=b oninput="log(value)">', { type: 'type', text: 'xy' }, 'x xy'],
    [
      'is dragged',
      `<div id=b style="width:40px;height:40px;touch-action:none" onpointerdown="log('down');setPointerCapture(event.pointerId)"
        onpointermove="if (event.buttons) this.dx = event.clientX" onpointerup="log(this.dx > 60 ? 'far' : 'near')">B</div>`,
      { type: 'drag', by: { x: 100, y: 0 } },
      'down far',
    ],
  ];
  for (const [what, target, step, wanted] of acts)
    it(`an element that the page moves when it comes into view ${what}`, () =>
      assertArrives(below(target), { selectors: ['#b'], ...step }, wanted));
});

describe('a click arrives', () => {
  const button = '<button id=b onclick="log(1)">B</button>';
  const click = { type: 'click', selectors: ['#b'] };
  it('a click arrives at a button below pictures that load when they come into view', async () => {
    page.site.pages.set('/picture', (_, response) => {
      const picture = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="100"/>';
      setTimeout(() => response.writeHead(200, { 'content-type': 'image/svg+xml', 'cache-control': 'no-store' }).end(picture), 60);
    });
    await assertArrives(`${seen}${log}${tall}<img loading=lazy src="/picture"><br>${button}${tall}`, click, '1');
  });
  it('a click arrives at a button below a header that appears on scroll', () =>
    assertArrives(
      `${seen}${log}<div id=h style="position:sticky;top:0;height:0;background:red"></div>${tall}${button}${tall}
        <script>onscroll = () => { h.style.height = '120px' }</script>`,
      click,
      '1',
    ));
  it('a click arrives in a page that scrolls smoothly', () =>
    assertArrives(`<style>html { scroll-behavior: smooth }</style>${below(button)}`, click, '1'));
  it('a click arrives at a button that a transition moves', () =>
    assertArrives(
      `<style>#b { position: relative; left: 0; transition: left .3s } #b.far { left: 200px }</style>${below(button)}
      <script>new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && b.classList.add('far')).observe(b)</script>`,
      click,
      '1',
    ));
  it('a click arrives at a button that moves away from the mouse once', () =>
    assertArrives(
      `${seen}${log}<button id=b style="position:relative" onclick="log(1)">B</button><button onclick="log('wrong')">C</button>
        <script>b.onmouseenter = () => { b.style.top = '80px' }</script>`,
      click,
      '1',
    ));
  it('a click arrives although the page stops all events of the mouse at its window', () =>
    assertArrives(
      `${seen}${log}${button}<script>for (const type of ['pointerdown', 'mousedown'])
        addEventListener(type, (event) => { log(type); event.stopImmediatePropagation() }, true)</script>`,
      click,
      'pointerdown mousedown 1',
    ));
  it('a click arrives although the element leaves the page on the press', () =>
    assertArrives(`${seen}${log}<button id=b onpointerdown="log('down');this.remove()">B</button>`, click, 'down'));
  it('a click arrives in a page that it makes navigate', async () => {
    page.site.pages.set('/next', `${seen}<script>out.textContent = location.hash</script>`);
    for (const event of ['onpointerdown', 'onmousedown', 'onclick'])
      await assertArrives(`<button id=b ${event}="location.href = '/next#${event}'">B</button>`, click, `#${event}`);
  });
});

describe('the second press of a double click', () => {
  const double = { type: 'click', selectors: ['#b'], count: 2 };
  /** A button that counts its presses and double clicks, in a page that records every press elsewhere. */
  const counted = (onFirst: string): string => `${seen}${log}<div id=ad></div>
    <button id=b style="position:relative" onmousedown="log('b' + event.detail)" ondblclick="log('double')">B</button>
    <p style="height:400px;margin:0" id=below>Below</p><script>
    addEventListener('mousedown', ({ target }) => target !== b && log('wrong'));
    b.addEventListener('click', () => { ${onFirst} }, { once: true })</script>`;
  const moves: [string, string][] = [
    ['by what the first has opened above it', "ad.style.height = '90px'"],
    ['by a transform', "b.style.transform = 'translate(300px, 40px)'"],
    ['a moment later', "Promise.resolve().then(() => { b.style.top = '150px' })"],
    [
      'under something that opens and goes',
      "below.style.cssText = 'position:fixed;inset:0;height:auto'; setTimeout(() => below.remove(), 400)",
    ],
  ];
  for (const [how, onFirst] of moves)
    it(`the second press of a double click follows an element that is moved ${how}`, () =>
      assertArrives(counted(onFirst), double, 'b1 b2 double'));
  const assertRefused = async (html: string, output: string, message: RegExp): Promise<void> => {
    const [result, logged] = await inPage(html, { ...double, timeout_ms: 5000 }, read);
    assert.deepEqual([result?.status, result?.error?.code, logged?.output], ['error', 'click_not_received', output]);
    assert.match(result?.error?.message ?? '', message);
  };
  it('the second press of a double click is refused where the first has covered the element, and what covers it is not pressed', () =>
    assertRefused(
      counted("below.style.cssText = 'position:fixed;inset:0;height:auto'"),
      'b1',
      /received 1 of 2 presses: .*<p id="below">/,
    ));
  it('the second press of a double click is refused where the element has left with the first, and what is in its place is not pressed', () =>
    assertRefused(
      counted("const next = b.cloneNode(true); next.onmousedown = () => log('next'); b.replaceWith(next)"),
      'b1',
      /received 1 of 2 presses, and then left the page/,
    ));
  it('each press of a triple click is counted', () =>
    assertArrives(counted("ad.style.height = '90px'"), { ...double, count: 3 }, 'b1 b2 double b3'));
  it('the second press of a double click comes as late as the step asks', () =>
    assertArrives(counted("ad.style.height = '90px'"), { ...double, delay_ms: 50 }, 'b1 b2 double'));
  it('a double click is received in a page that stops all events of the mouse at its window', () =>
    assertArrives(
      `${seen}${log}<script>for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup'])
        addEventListener(type, (event) => { log(type); event.stopImmediatePropagation() }, true)</script><button id=b ondblclick="log(2)">B</button>`,
      double,
      'pointerdown mousedown pointerup mouseup pointerdown mousedown pointerup mouseup 2',
    ));
  it('a double click whose first press navigates fails, and the next page does not get the second press', async () => {
    page.site.pages.set('/next', `${seen}<body onmousedown="out.textContent = 'wrong'">`);
    const [result, output] = await inPage(`<button id=b onclick="location.href = '/next'">B</button>`, { ...double, delay_ms: 400 }, read);
    assert.deepEqual([result?.status, result?.error?.code, output?.output], ['error', 'click_not_received', '']);
    assert.match(result?.error?.message ?? '', /replaced/);
  });
});

describe('in a frame of another site, scaled and below the fold,', () => {
  const framed = (inner: string): string => {
    page.site.pages.set('/inner', `<script>log = (word) => parent.postMessage(word, '*')</script><div style="height:900px"></div>${inner}`);
    return `${seen}${log}<script>onmessage = ({ data }) => log(data)</script>${tall}<div id=ad></div>
      <div style="transform:scale(.5);transform-origin:0 0;width:600px;height:400px;margin-left:40px">
      <iframe id=b src="${page.site.otherUrl}/inner" style="width:100%;height:100%;border:7px solid blue;padding:5px"></iframe></div>${tall}${shift(60)}`;
  };
  const acts: [string, string, object, string][] = [
    ['a click arrives', `<button onclick="log(1)">Press</button><button onclick="log('wrong')">Other</button>`, { type: 'click' }, '1'],
    [
      'a click arrives at its position',
      `<button style="width:200px" onclick="log(event.offsetX > 150)">B</button>`,
      { type: 'click', position: { x: 180, y: 8 } },
      'true',
    ],
    ['a double click arrives', '<button ondblclick="log(2)">B</button>', { type: 'click', count: 2 }, '2'],
    ['a hover arrives', '<button onmouseenter="log(1)">B</button>', { type: 'hover' }, '1'],
    ['a check arrives', '<input type=checkbox onchange="log(checked)">', { type: 'check' }, 'true'],
    ['typing arrives', '<input oninput="log(value)">', { type: 'type', text: 'äö' }, 'ä äö'],
    ['a fill arrives', '<input oninput="log(value)">', { type: 'fill', value: 'äö' }, 'äö'],
    [
      'a drag arrives',
      `<input type=range min=0 max=100 value=0 style="width:300px" onchange="log(value > 20)">`,
      { type: 'drag', position: { x: 8, y: 8 }, by: { x: 80, y: 0 } },
      'true',
    ],
  ];
  // All of these find the place by the same way, and hover, check and fill nothing else; the acts themselves are proven above.
  const rare = ['a hover arrives', 'a check arrives', 'a fill arrives', 'a double click arrives'];
  for (const [what, inner, step, wanted] of acts)
    it(`in a scaled frame of another site below the fold, ${what}`, rare.includes(what) ? nightly : {}, () =>
      assertArrives(framed(inner), { selectors: ['button, input'], ...inFrame, ...step }, wanted),
    );
});

describe('a click that cannot arrive', () => {
  it('a click that cannot arrive is reported, and nothing else is clicked', async () => {
    const html = `${seen}${log}<body onpointerdown="log('wrong')" onclick="log('wrong')" style="height:800px">
      <button id=b style="position:absolute;top:50px" onclick="log(1)">B</button>
      <script>onmousemove = () => { b.style.top = b.style.top === '50px' ? '300px' : '50px' }</script>`;
    const [result, output] = await inPage(html, { type: 'click', selectors: ['#b'], timeout_ms: 4000 }, read);
    assert.deepEqual([result?.status, result?.error?.code, output?.output], ['error', 'click_not_received', '']);
    assert.match(result?.error?.message ?? '', /^The element <button id="b"> did not receive the mouse: it moved, and <(body|html)/);
  });
});

describe('a round that the time ends before the element is looked for', () => {
  const refusalAfter = async (timeMs: number, second: StepError | null): Promise<string> => {
    const page = { closed: new AbortController().signal, call: () => Promise.resolve('<b>'), release: () => {} };
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => nowMs };
    const attempt = new StepAttempt({ context: { clock } as never, page: page as never, signal: page.closed, timeoutMs: 60_000 });
    const act = async (round: number) => {
      if (round === 0 && second) return { element: { frameId: 'f' } as never, reason: 'it moved' };
      nowMs = timeMs;
      throw second ?? new PageError('timeout', 'The page did not answer.');
    };
    const failed: unknown = await untilReceived(attempt, act).catch((error: unknown) => error);
    attempt.end();
    return failed instanceof StepError ? failed.code : String(failed);
  };
  it('an attempt that times out before the element is looked for keeps the refusal of the round before', async () => {
    for (const code of ['not_found', 'not_actionable'] as const)
      assert.equal(await refusalAfter(60_000, new StepError(code, 'Nothing was found.')), 'click_not_received');
  });
  it('an attempt that times out in its first round fails with timeout', async () =>
    assert.equal(await refusalAfter(60_000, null), 'timeout'));
  it('an attempt that finds no element in time, or fails for another reason, keeps that error', async () => {
    assert.equal(await refusalAfter(100, new StepError('not_found', 'Nothing was found.')), 'not_found');
    assert.equal(await refusalAfter(60_000, new StepError('tab_not_found', 'The tab is gone.')), 'tab_not_found');
  });
});
