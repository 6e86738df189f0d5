/** Steps that use the mouse, the keyboard and files, in a real browser. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import type { StepRunOptions } from './steps.ts';
import { assertShort } from '../../../../tests/yardstick.ts';
import { assertAllOk, stepPage } from '../../testing/step-page.ts';
import { evaluate, summarize, type Reply } from '../../testing/steps.ts';

const page = stepPage({ reads: true });

const files = (): Record<string, string> => ({ file_1: join(page.launched.downloadsPath, '..', 'upload.txt') });
const runInPage = (html: Reply, steps: object[], options: Partial<StepRunOptions> = {}) =>
  page.inPage(html, steps, { context: page.context({ files: files() }), ...options });

it('a click may navigate, and the next step runs in the page after the navigation', async () => {
  page.site.pages.set(
    '/slow',
    (_, response) => void setTimeout(() => response.writeHead(200, { 'content-type': 'text/html' }).end('<title>slow</title>'), 300),
  );
  const { results, outputs } = await runInPage(
    '<a href="/slow">go</a><button id=b ondblclick="n=2" oncontextmenu="r=1" onclick="s=event.shiftKey">x</button>',
    [
      { type: 'click', selectors: ['#b'], count: 2, modifiers: ['Shift'] },
      { type: 'click', selectors: ['#b'], button: 'right' },
      evaluate('[n, r, s]'),
      { type: 'click', selectors: ['text/go'] },
      evaluate('document.title'),
    ],
  );
  assertAllOk(results);
  assert.deepEqual([outputs[2], outputs[4]], [[2, 1, true], 'slow']);
});

it('a click that leads to no new page does not wait for a navigation', async () => {
  page.site.pages.set('/none', (_, response) => void response.writeHead(204).end());
  const { results } = await runInPage('<a href="/none">go</a><a id=h href="#x">hash</a>', [
    { type: 'click', selectors: ['a'] },
    { type: 'click', selectors: ['#h'] },
  ]);
  assertAllOk(results);
  // With a page to come it would wait for ten seconds.
  assertShort(results[0]?.duration_ms ?? assert.fail(), 8000);
});

it('a hover step shows what the page shows on hover', async () => {
  const { outputs } = await runInPage('<style>p{display:none} div:hover p{display:block}</style><div>menu<p>item</p></div>', [
    { type: 'hover', selectors: ['text/menu'] },
    { type: 'assert', selectors: ['p'], visible: true },
    evaluate('1'),
  ]);
  assert.equal(outputs[2], 1);
});

it('a fill step fills fields of every kind and fires their events', async () => {
  const { results, outputs } = await runInPage(
    `<input id=t value=old><textarea id=a></textarea><div id=e contenteditable>old</div><input id=d type=date>` +
      `<input id=r type=range><input id=c type=color>
     <input id=n type=number value=5><label>Name<input id=l></label><select id=s><option>a<option value=b>Bee</select>` +
      `<script>seen=[];oninput=(e)=>seen.push(e.target.id)</script>`,
    [
      { type: 'fill', selectors: ['#t'], value: 'new' },
      { type: 'fill', selectors: ['#t'], value: '+', clear: false },
      { type: 'fill', selectors: ['#a'], value: 'two\nlines é 😀' },
      { type: 'fill', selectors: ['#e'], value: 'rich' },
      { type: 'fill', selectors: ['#d'], value: '2026-11-21' },
      { type: 'fill', selectors: ['#r'], value: '30' },
      { type: 'fill', selectors: ['#c'], value: '#FF0000' },
      { type: 'fill', selectors: ['#n'], value: '' },
      { type: 'fill', selectors: ['text/Name'], value: 'by label' },
      { type: 'fill', selectors: ['#s'], value: 'Bee' },
      evaluate('[t.value, a.value, e.innerText, d.value, r.value, c.value, n.value, l.value, s.value, [...new Set(seen)].join("")]'),
      { type: 'fill', selectors: ['#d'], value: 'tomorrow', on_error: 'continue' },
      { type: 'fill', selectors: ['#n'], value: 'x' },
    ],
  );
  assert.deepEqual(outputs[10], ['new+', 'two\nlines é 😀', 'rich', '2026-11-21', '30', '#ff0000', '', 'by label', 'b', 'taedrcnls']);
  assert.deepEqual(summarize(results.slice(11)), ['fill error not_actionable', 'fill error not_actionable']);
});

it('a fill step leaves a field as it was when it refuses a value, and says which values it takes', async () => {
  const fields: [type: string, value: string, refused: string, says: RegExp][] = [
    ['date', '2026-11-21', '21.11.2026', /takes a day as 2026-11-30, and its value is still "2026-11-21"/],
    ['time', '10:30', '10.30 Uhr', /takes a time as 18:45/],
    ['datetime-local', '2026-11-21T10:30', 'tomorrow', /takes a moment as/],
    ['month', '2026-11', 'November', /takes a month as/],
    ['week', '2026-W47', '47', /takes a week as/],
    ['color', '#102030', 'red', /takes a color as/],
    ['range', '30', '500', /takes a number within its limits/],
  ];
  const page = fields.map(([type, value]) => `<input type="${type}" value="${value}">`).join('');
  const { results, outputs } = await runInPage(`${page}<script>seen=[];oninput=(e)=>seen.push(e.target.type)</script>`, [
    ...fields.map(([type, , value]) => ({ type: 'fill', selectors: [`[type="${type}"]`], value, on_error: 'continue' })),
    evaluate('[[...document.querySelectorAll("input")].map((input) => input.value), seen]'),
    { type: 'fill', selectors: ['[type="datetime-local"]'], value: '2026-12-01 09:00:00' },
    { type: 'fill', selectors: ['[type="date"]'], value: '' },
    evaluate('[...document.querySelectorAll("[type=date], [type=datetime-local]")].map((input) => input.value)'),
  ]);
  for (const [index, [type, , , says]] of fields.entries()) {
    assert.equal(results[index]?.error?.code, 'not_actionable', type);
    assert.match(results[index]?.error?.message ?? '', says);
  }
  assert.deepEqual(outputs[fields.length], [fields.map(([, value]) => value), []]);
  assert.deepEqual(outputs.at(-1), ['', '2026-12-01T09:00']);
});

it('a type step types key by key, and a press step presses chords', async () => {
  const { results, outputs } = await runInPage(
    '<form action="/two"><input id=t name=q value=a><script>keys=[];onkeydown=(e)=>keys.push(e.key)</script></form>',
    [
      { type: 'type', selectors: ['#t'], text: 'bC', delay_ms: 5 },
      { type: 'type', text: 'd' },
      evaluate('[t.value, keys.includes("b"), keys.includes("d")]'),
      { type: 'press', keys: 'Control+A' },
      { type: 'press', selectors: ['#t'], keys: ['Backspace', 'x'] },
      evaluate('t.value'),
      { type: 'press', keys: 'Enter' },
      { type: 'assert', url: '/two?q=x' },
      { type: 'press', keys: 'NoSuchKey' },
    ],
  );
  assert.deepEqual([outputs[2], outputs[5]], [['abCd', true, true], 'x']);
  assert.deepEqual(summarize(results.slice(6)), ['press ok', 'assert ok', 'press error invalid_value']);
});

it('a select step selects options, several of them, and options added later', async () => {
  const { results, outputs } = await runInPage(
    '<select id=o><option value=1>One<option value=2 disabled>Two</select><select id=m multiple><option>a<option>b<option>c' +
      '</select><script>setTimeout(() => o.add(new Option("Late", "9")), 200)</script>',
    [
      { type: 'select', selectors: ['#o'], label: 'Late' },
      { type: 'select', selectors: ['#m'], value: ['a', 'c'] },
      { type: 'select', selectors: ['#m'], index: [1] },
      { type: 'select', selectors: ['#m'], value: [] },
      { type: 'select', selectors: ['#o'], value: '2', timeout_ms: 1000, on_error: 'continue' },
      { type: 'select', selectors: ['#o'], value: ['1', '9'] },
    ],
  );
  assert.deepEqual(outputs.slice(0, 4), [{ selected: ['9'] }, { selected: ['a', 'c'] }, { selected: ['b'] }, { selected: [] }]);
  assert.deepEqual(summarize(results.slice(4)), ['select error not_found', 'select error not_actionable']);
});

it('a check step checks boxes, also those drawn by their labels, and fails for one that does not change', async () => {
  const { results, outputs } = await runInPage(
    `<input type=checkbox id=a checked><input type=radio name=r id=b><style>#c{display:none}</style><input type=checkbox id=c>` +
      `<label for=c>drawn</label>
     <div role=switch aria-checked=false id=d onclick="ariaChecked='true'">s</div>` +
      `<input type=checkbox id=e onclick="return false"><p>no</p>`,
    [
      { type: 'check', selectors: ['#a'] },
      { type: 'check', selectors: ['#a'], state: false },
      { type: 'check', selectors: ['#b'] },
      { type: 'check', selectors: ['#c'] },
      { type: 'check', selectors: ['#d'] },
      evaluate('[a.checked, b.checked, c.checked, d.ariaChecked]'),
      { type: 'check', selectors: ['#e'], timeout_ms: 1500, on_error: 'continue' },
      { type: 'check', selectors: ['#b'], state: false, on_error: 'continue' },
      { type: 'check', selectors: ['p'] },
    ],
  );
  assert.deepEqual(outputs[5], [false, true, true, 'true']);
  assert.deepEqual(summarize(results.slice(6)), ['check error not_actionable', 'check error not_actionable', 'check error not_actionable']);
});

it('an upload step uploads files by their ids', async () => {
  await writeFile(files()['file_1'] ?? '', 'contents');
  const { results, outputs } = await runInPage('<label>File<input type=file hidden onchange="f=this.files[0]"></label><p>x</p>', [
    { type: 'upload', selectors: ['text/File'], file_ids: ['file_1'] },
    evaluate('f.text().then((text) => [f.name, text])'),
    { type: 'upload', selectors: ['input'], file_ids: ['file_2'], on_error: 'continue' },
    { type: 'upload', selectors: ['p'], file_ids: ['file_1'] },
  ]);
  assert.deepEqual(outputs.slice(0, 2), [{ files: 1 }, ['upload.txt', 'contents']]);
  assert.deepEqual(summarize(results.slice(2)), ['upload error file_not_found', 'upload error not_actionable']);
});

it('a drag step drags with the mouse and with HTML drag and drop', async () => {
  const { results, outputs } = await runInPage(
    `<style>div{width:90px;height:60px;margin:20px;background:#ccc}</style><div id=from draggable=true>from</div><div id=to>to` +
      `</div><input type=range id=r value=0 style="width:200px">
     <script>log=[];entered=0;to.ondragenter=()=>{entered+=1};from.ondragstart=(e)=>{entered=0;log.push('start');e.dataTransfer.setData('text/plain','x')};to.ondragover=(e)=>` +
      `e.preventDefault();to.ondrop=(e)=>{e.preventDefault();log.push('drop '+e.dataTransfer.getData('text/plain'))};` +
      `from.ondragend=()=>log.push('end')</script>`,
    [
      { type: 'drag', selectors: ['#from'], to: ['#to'] },
      { type: 'wait', function: 'log.includes("end")', timeout_ms: 20_000, optional: true },
      evaluate('log'),
      { type: 'drag', selectors: ['#r'], position: { x: 8, y: 8 }, by: { x: 150, y: 0 } },
      evaluate('Number(r.value) > 50'),
      evaluate('entered'),
    ],
  );
  assertAllOk(results);
  // A busy browser may lose a drag, which is then repeated.
  assert.deepEqual([(outputs[2] as string[]).slice(-3), outputs[4], outputs[5]], [['start', 'drop x', 'end'], true, 1]);
});

it('a drag step drags into and out of frames of other sites', async () => {
  const from = '<div id=from draggable=true style="width:90px;height:60px;background:#cc0">from</div>';
  const to = '<div id=to style="width:90px;height:60px;background:#ccc">to</div>';
  const script = `<script>for (const name of ['dragstart', 'dragover', 'drop', 'dragend']) addEventListener(name, (event) => {
    if (name === 'dragstart') event.dataTransfer.setData('text/plain', 'word');
    if (name === 'dragover') return event.preventDefault();
    top.postMessage(name + (name === 'drop' ? ' ' + event.dataTransfer.getData('text/plain') : ''), '*');
  })</script>`;
  const collect = '<script>log = []; onmessage = ({ data }) => log.push(data)</script>';
  const frame = `<iframe id=frame src="${page.site.otherUrl}/part" style="width:300px;height:120px;margin:30px"></iframe>`;
  for (const [main, part, source, target] of [
    [to, from, ['iframe', '#from'], ['#to']],
    [from, to, ['#from'], ['iframe', '#to']],
  ] as const) {
    page.site.pages.set('/part', script + part);
    const { results, outputs } = await runInPage(`${collect}${script}${main}<br>${frame}`, [
      { type: 'drag', selectors: [source], to: [target] },
      { type: 'wait', function: 'log.includes("dragend")', timeout_ms: 20_000, optional: true },
      evaluate('log.toSorted().join()'),
    ]);
    assertAllOk(results);
    assert.equal(outputs[2], 'dragend,dragstart,drop word');
  }
});

const growing = (itemsMax: number): string =>
  `<ul></ul><script>n=0;more=()=>{for(let i=0;i` +
  `<10&&n<${itemsMax};i++){const li=document.createElement('li');li.textContent=++n;li.style.height='200px';` +
  `document.querySelector('ul').append(li)}};more();
   onscroll=()=>{if(scrollY+innerHeight>document.documentElement.scrollHeight-50)setTimeout(more,60)}</script>`;

it('a scroll step scrolls to positions, in containers, and through pages that grow', async () => {
  const { results, outputs } = await runInPage(
    `<div id=box style="height:50px;overflow:auto"><p style="height:900px">x</p></div>${growing(35)}`,
    [
      { type: 'scroll', container: ['#box'], to: 'bottom' },
      evaluate('box.scrollTop'),
      { type: 'scroll', by: { x: 0, y: 300 } },
      evaluate('scrollY'),
      { type: 'scroll', to: { x: 0, y: 10 } },
      evaluate('scrollY'),
      { type: 'scroll', to: 'bottom', until: { selectors: ['li'], count: 20 } },
      { type: 'scroll', to: 'bottom', until: {}, idle_ms: 1500 },
      evaluate('n'),
    ],
  );
  assertAllOk(results);
  assert.deepEqual([(outputs[1] as number) > 500, outputs[3], outputs[5], outputs[8]], [true, 300, 10, 35]);
  assert.deepEqual(
    outputs.slice(6, 8).map((output) => (output as { stop_reason: string }).stop_reason),
    ['count', 'stable'],
  );
});

it('a scroll step stops on a page that grows without end', async () => {
  const { outputs } = await runInPage(growing(1e9), [
    { type: 'scroll', to: 'bottom', until: {}, max: 4 },
    { type: 'scroll', to: 'bottom', until: {}, max: 500, timeout_ms: 1000 },
  ]);
  assert.deepEqual(
    outputs.map((output) => (output as { stop_reason: string }).stop_reason),
    ['max', 'time'],
  );
});

it('a check step selects a radio button by its group: a legend, a name, a label or an ARIA group', async () => {
  const html = `<form><fieldset id=f><legend>Delivery</legend><label><input type=radio name=d value=std checked>Standard</label>
      <label><input type=radio name=d value=exp onchange="log('exp')">Express</label></fieldset></form>
    <form><input type=radio name=d value=exp id=other><style>.drawn input { display: none }</style>
      <fieldset class=drawn id=g><legend>Size</legend><input type=radio name=s id=s1 value=s><label for=s1>Small</label>
      <input type=radio name=s id=s2 value=l><label for=s2>Large</label></fieldset></form>
    <div role=radiogroup aria-label=Colour><span role=radio aria-checked=false tabindex=0 onclick="this.ariaChecked='true'" id=red>Red</span></div>
    <pre id=out></pre><script>log = (word) => { out.textContent += word + ' ' }</script>`;
  const group = (selector: string, choice: object) => ({ type: 'select', selectors: [selector], ...choice });
  const state = "[document.querySelector('#f :checked').value, other.checked, s1.checked, s2.checked, red.ariaChecked]";
  const { results, outputs } = await runInPage(html, [
    group('text/Delivery', { label: 'Express' }),
    group('aria/Size[role="group"]', { label: 'Large' }),
    group('aria/Colour[role="radiogroup"]', { label: 'Red' }),
    evaluate(state),
    group('[name=d]', { value: 'std' }),
    group('#g', { index: 0 }),
    evaluate(state),
  ]);
  assertAllOk(results);
  assert.deepEqual(
    [outputs[0], outputs[3], outputs[6]],
    [{ selected: ['Express'] }, ['exp', false, false, true, 'true'], ['std', false, true, false, 'true']],
  );
});

it('a check step checks boxes and radio buttons by the name of their group: a legend, a heading, a label or an ARIA group', async () => {
  const html = `<fieldset id=f><legend><b>Toppings</b></legend><label><input type=checkbox name=t value=ham id=ham>Ham</label>
      <label><input type=checkbox name=t value=egg id=egg checked>Egg</label><label><input type=checkbox name=t value=oil id=oil>Oil</label></fieldset>
    <fieldset><legend>Delivery</legend><label><input type=radio name=d id=std checked>Standard</label><label><input type=radio name=d id=exp>Express</label></fieldset>
    <h3 id=terms>Terms</h3><div role=group aria-labelledby=terms><style>#agree { display: none }</style>
      <input type=checkbox id=agree><label for=agree>I agree</label></div>
    <div role=group aria-label=Alerts><span role=switch aria-checked=false tabindex=0 id=mail onclick="this.ariaChecked = this.ariaChecked !== 'true'">Mail</span>
      <span role=switch aria-checked=false tabindex=0 id=post onclick="this.ariaChecked = this.ariaChecked !== 'true'">Post</span></div>`;
  const group = (selector: string, choice: object) => ({ type: 'check', selectors: [selector], ...choice });
  const { results, outputs } = await runInPage(html, [
    group('text/Toppings', { label: ['Ham', 'Oil'] }),
    group('#f', { value: 'egg', state: false }),
    group('aria/Delivery[role="group"]', { label: 'Express' }),
    group('text/Terms', {}),
    group('aria/Alerts[role="group"]', { index: 1 }),
    group('[name=t]', { label: 'Ham', state: false }),
    evaluate('[ham.checked, egg.checked, oil.checked, exp.checked, agree.checked, mail.ariaChecked, post.ariaChecked]'),
  ]);
  assertAllOk(results);
  assert.deepEqual(outputs[6], [false, false, true, true, true, 'false', 'true']);
  assert.deepEqual(outputs.slice(0, 2), [{ checked: true }, { checked: false }]);
});

it('a check step says which box a group does not have, and that one of several is to be named', async () => {
  const { results } = await runInPage(
    '<fieldset id=f><legend>Toppings</legend><label><input type=checkbox>Ham</label><label><input type=radio checked>Oil</label></fieldset><div id=d><input type=checkbox></div>',
    [
      { type: 'check', selectors: ['#f'], label: 'Salt', timeout_ms: 2500, on_error: 'continue' },
      { type: 'check', selectors: ['#f'], on_error: 'continue' },
      { type: 'check', selectors: ['#f'], label: 'Oil', state: false, on_error: 'continue' },
      { type: 'check', selectors: ['#d'], on_error: 'continue' },
    ],
  );
  const problems = results.map(({ error }) => `${error?.code} ${error?.message}`);
  for (const [index, expected] of [
    /^not_found .*"Salt"/,
    /^not_actionable .*`label`/,
    /^not_actionable .*cannot be unchecked/,
    /^not_actionable .*not a checkbox/,
  ].entries())
    assert.match(problems[index] ?? '', expected);
});

it('a check step says which radio button a group does not have', async () => {
  const { results } = await runInPage(
    '<fieldset id=f><legend>Delivery</legend><label><input type=radio name=d value=a>A</label><label><input type=radio name=d value=b disabled>B</label></fieldset>',
    [
      { type: 'select', selectors: ['#f'], label: 'C', timeout_ms: 2500, on_error: 'continue' },
      { type: 'select', selectors: ['#f'], label: ['A', 'B'], on_error: 'continue' },
      { type: 'select', selectors: ['#f'], label: 'B', timeout_ms: 2500, on_error: 'continue' },
    ],
  );
  assert.deepEqual(
    results.map(({ error }) => error?.code),
    ['not_found', 'not_actionable', 'not_actionable'],
    JSON.stringify(results),
  );
});
