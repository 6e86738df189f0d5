/** Text and keys arrive in the element that they are meant for, or the step says that they did not. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stepPage } from '../../../testing/step-page.ts';

const page = stepPage();

async function inPage(html: string, ...steps: object[]) {
  const { results } = await page.inPage(html, steps, { stopOnError: false });
  return results;
}
const evaluate = (expression: string): object => ({ type: 'evaluate', expression });
const outcome = ({ status, error }: { status: string; error?: { code: string } | undefined }): string => error?.code ?? status;

describe('in frames of other sites, one in another, scaled,', () => {
  const scaled = 'transform:scale(.6);transform-origin:0 0;width:700px;height:500px;border:3px solid;padding:4px';
  const log = `<pre id=out></pre><script>onmessage = ({ data }) => { out.textContent += data + ' ' }</script>`;
  /** The main page, a frame of another site in it, and one of the first site in that. */
  const nested = (inner: string): string => {
    page.site.pages.set('/inner', `<script>log = (word) => top.postMessage(word, '*')</script><p style="height:700px"></p>${inner}`);
    page.site.pages.set(
      '/middle',
      `<input id=q onkeydown="top.postMessage('wrong', '*')"><p style="height:600px"></p><iframe id=deep style="${scaled}" src="${page.site.url}/inner"></iframe>`,
    );
    return `${log}<input id=q onkeydown="postMessage('wrong', '*')" autofocus><iframe id=b style="${scaled}" src="${page.site.otherUrl}/middle"></iframe>`;
  };
  const frame = ['#b', '#deep'];
  const acts: [string, string, object[], string][] = [
    [
      'each field receives its own text, in turn',
      `<input id=q oninput="log(value)">`,
      [
        { type: 'fill', selectors: ['#q'], value: 'main' },
        { type: 'fill', frame, selectors: ['#q'], value: 'äö' },
        { type: 'type', frame, selectors: ['#q'], text: 'bc' },
        { type: 'fill', frame: ['#b'], selectors: ['#q'], value: 'middle' },
        { type: 'type', frame, selectors: ['#q'], text: 'ü' },
      ],
      'äö äöb äöbc äöbcü',
    ],
    [
      'keys arrive',
      `<input id=q onkeydown="log(event.key)">`,
      [{ type: 'press', frame, selectors: ['#q'], keys: ['ArrowLeft', 'Shift+A'] }],
      'ArrowLeft Shift A',
    ],
    [
      'an editable element receives text',
      `<div id=q contenteditable oninput="log(textContent)">x</div>`,
      [{ type: 'fill', frame, selectors: ['#q'], value: 'new' }],
      'new',
    ],
    [
      'a checkbox, a list and a double click arrive',
      `<input type=checkbox id=q onchange="log(checked)"><select onchange="log(value)"><option>a<option>b</select><button ondblclick="log(2)">B</button>`,
      [
        { type: 'check', frame, selectors: ['#q'] },
        { type: 'select', frame, selectors: ['select'], label: 'b' },
        { type: 'click', frame, selectors: ['button'], count: 2 },
      ],
      'true b 2',
    ],
    [
      'what is dragged is dropped once, where it should be',
      `<style>div { width: 90px; height: 50px; margin: 9px; background: #ccc }</style><div id=q draggable=true ondragend="log('end')">from</div>
      <div ondragover="event.preventDefault()" ondrop="log('wrong')">no</div><div id=to ondragover="event.preventDefault()" ondrop="log('drop')">to</div>`,
      [{ type: 'drag', frame, selectors: ['#q'], to: ['#to'] }],
      'drop end',
    ],
  ];
  for (const [what, inner, steps, wanted] of acts)
    it(`in nested and scaled frames of other sites, ${what}`, async () => {
      const results = await inPage(
        nested(inner),
        ...steps,
        evaluate(`(await new Promise((done) => setTimeout(done, 300)), out.textContent.trim())`),
      );
      const output = results.pop();
      assert.deepEqual([results.map(outcome), output?.output], [steps.map(() => 'ok'), wanted]);
      assert.deepEqual(
        results.flatMap(({ warnings = [] }) => warnings),
        [],
      );
    });
});

describe('a page that moves the focus', () => {
  const fields = (script: string): string => {
    page.site.pages.set('/inner', '<input id=in autofocus>');
    return `<input id=a><input id=c><iframe srcdoc="<input id=in>"></iframe><script>const frame = document.querySelector('iframe'); ${script}</script>`;
  };
  const values = evaluate('[a.value, c.value, frame.contentDocument.querySelector("#in").value]');
  const fill = { type: 'fill', selectors: ['#a'], value: 'text', timeout_ms: 8000 };
  const type = { type: 'type', selectors: ['#a'], text: 'text', timeout_ms: 8000 };
  const intoFrame = "frame.contentDocument.querySelector('#in').focus()";

  it('a field whose focus the page moves once is filled at the second try', async () => {
    const [filled, read] = await inPage(fields('a.addEventListener("focus", () => c.focus(), { once: true })'), fill, values);
    assert.deepEqual([filled && outcome(filled), read?.output], ['ok', ['text', '', '']]);
  });
  it('a field whose focus the page moves each time is not filled, and the error names what has the focus', async () => {
    const [filled] = await inPage(fields('a.onfocus = () => c.focus()'), fill);
    assert.equal(filled?.error?.code, 'not_actionable');
    assert.match(filled.error.message, /did not reach the field: the page moved the focus to <input id="c">/);
  });
  it('a field whose focus the page moves to a frame each time is neither filled nor typed into', async () => {
    const [filled, typed] = await inPage(fields(`a.onfocus = () => ${intoFrame}`), fill, type);
    assert.deepEqual(
      [filled, typed].map((each) => each && outcome(each)),
      ['not_actionable', 'not_actionable'],
    );
    assert.match(typed?.error?.message ?? '', /received no key: the page moved the focus to/);
  });
  it('text typed into a field whose focus the page moves to another field goes there, with a warning', async () => {
    const [typed, read] = await inPage(fields('a.onfocus = () => c.focus()'), type, values);
    assert.deepEqual([typed && outcome(typed), read?.output], ['ok', ['', 'text', '']]);
    assert.match(typed?.warnings?.join() ?? '', /moved the focus to <input id="c">, which received the text/);
  });
  it('a type step fails when the page moves the focus to a frame after two keys, and the error counts them', async () => {
    const [typed] = await inPage(fields(`a.oninput = () => { if (a.value.length === 2) ${intoFrame} }`), type);
    assert.equal(typed?.error?.code, 'not_actionable');
    assert.match(typed.error.message, /received 2 of 4 keys: the page moved the focus to/);
  });
  it('a code with a field for each digit is typed without a warning', async () => {
    const [typed, read] = await inPage(fields('a.oninput = () => c.focus()'), { ...type, text: '12' }, values);
    assert.deepEqual([typed && outcome(typed), read?.output, typed?.warnings], ['ok', ['1', '2', ''], undefined]);
  });
});

describe('text and keys are received', () => {
  it('text and keys are received in a page that stops all their events at its window', async () => {
    const html = `<input id=a value=old><script>for (const type of ['keydown', 'keypress', 'keyup', 'beforeinput', 'input'])
      addEventListener(type, (event) => event.stopImmediatePropagation(), true)</script>`;
    const steps = [
      { type: 'fill', selectors: ['#a'], value: 'new' },
      { type: 'fill', selectors: ['#a'], value: 'new' },
      { type: 'type', selectors: ['#a'], text: 'äb' },
      { type: 'press', selectors: ['#a'], keys: 'é' },
    ];
    const results = await inPage(html, ...steps, evaluate('a.value'));
    assert.deepEqual(results.map(outcome), ['ok', 'ok', 'ok', 'ok', 'ok']);
    assert.equal(results.at(-1)?.output, 'newäbé');
  });
  it('text and keys are received in closed shadow roots, and an empty field is emptied again', async () => {
    const html = `<div id=host></div><script>const root = host.attachShadow({ mode: 'closed' }); root.innerHTML = '<input id=a>'; inner = root.querySelector('#a')</script>`;
    const steps = [
      { type: 'fill', selectors: [['#host', '#a']], value: '' },
      { type: 'type', selectors: [['#host', '#a']], text: 'x' },
      { type: 'fill', selectors: [['#host', '#a']], value: 'yz' },
    ];
    const results = await inPage(html, ...steps, evaluate('inner.value'));
    assert.deepEqual([results.map(outcome), results.at(-1)?.output], [['ok', 'ok', 'ok', 'ok'], 'yz']);
    assert.deepEqual(
      results.flatMap(({ warnings = [] }) => warnings),
      [],
    );
  });
  it('text and keys are received in a page that is left with the last key, or with the first', async () => {
    page.site.pages.set('/next', '<title>Next</title>');
    for (const event of ['oninput', 'onchange']) {
      const html = `<input id=a ${event}="location.href = '/next'">`;
      const [typed, read] = await inPage(
        html,
        { type: 'type', selectors: ['#a'], text: event === 'oninput' ? 'x' : 'xyz\n' },
        evaluate('document.title'),
      );
      assert.deepEqual([typed && outcome(typed), read?.output], ['ok', 'Next'], event);
    }
  });
});

it('what is dragged from one frame to another of the same site is dropped there once', async () => {
  const style = '<style>div { width: 90px; height: 50px; margin: 9px; background: #ccc }</style>';
  const says = (word: string): string => `top.postMessage('${word}', '*')`;
  const source = `${style}<div id=q draggable=true ondragstart="event.dataTransfer.setData('text/plain', 'x')" ondragend="${says('end')}">from</div>`;
  const target = `${style}<div id=to ondragover="event.preventDefault()" ondrop="event.preventDefault(); ${says('drop')}">to</div>`;
  page.site.pages.set('/source', source);
  page.site.pages.set('/target', target);
  const log = `<pre id=out></pre><script>onmessage = ({ data }) => { out.textContent += data + ' ' }</script>`;
  const scaled = 'transform:scale(.7);transform-origin:0 0';
  for (const style of ['', scaled]) {
    const [dragged, out] = await inPage(
      `${log}<iframe id=a style="${style}" src="${page.site.url}/source"></iframe><iframe id=b style="${style}" src="${page.site.url}/target"></iframe>`,
      { type: 'drag', selectors: [['#a', '#q']], to: [['#b', '#to']] },
      evaluate('new Promise((done) => setTimeout(() => done(out.textContent.trim()), 300))'),
    );
    const received = String(out?.output).split(' ').toSorted().join(' ');
    assert.deepEqual([dragged && outcome(dragged), received, dragged?.warnings], ['ok', 'drop end', undefined], style);
  }
});
