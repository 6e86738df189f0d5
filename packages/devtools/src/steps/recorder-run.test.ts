/** Recordings run as in the Recorder, in a real browser. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { importRecorder } from './recorder.ts';
import { runSteps } from './steps.ts';
import { stepPage } from '../../testing/step-page.ts';
import { summarize } from '../../testing/steps.ts';

const page = stepPage();

const replay = (steps: object[]) =>
  runSteps(
    page.context(),
    {
      steps: importRecorder({ title: 'r', timeout: 5000, steps }).steps,
      stopOnError: false,
      timeoutMs: 60_000,
      allowEvaluate: true,
    },
    { signal: AbortSignal.timeout(90_000) },
  );

it('a replayed recording changes selects, editable elements, colors and numbers, and acts in frames and with modifiers', async () => {
  page.site.pages.set(
    '/',
    `<title>Form</title><select id=s><option value=a>A<option value=b>B</select><div id=note contenteditable aria-label=Note>old</div>
    <input id=n type=number><input id=c type=color><input id=d type=date><label>Agree <input id=agree type=checkbox></label>
    <button id=add ondblclick="log('double')" oncontextmenu="log('menu');return false">Add</button>
    <iframe srcdoc="<button onclick=&quot;parent.log('frame')&quot;>Inside</button>"></iframe><pre id=out></pre>
    <script>log = (word) => { out.textContent += word + ' ' }; onkeydown = ({ key, ctrlKey, shiftKey }) => log([ctrlKey, shiftKey, key].join())</script>`,
  );
  const key = (type: string, name: string) => ({ type, key: name, target: 'main' });
  const { results } = await replay([
    { type: 'navigate', url: `${page.site.url}/`, assertedEvents: [{ type: 'navigation', url: `${page.site.url}/`, title: 'Form' }] },
    { type: 'change', value: 'b', selectors: [['#s']], target: 'main' },
    { type: 'change', value: 'Line ä', selectors: [['aria/Note'], ['#note']], target: 'main' },
    { type: 'change', value: '42', selectors: [['#n']], target: 'main' },
    { type: 'change', value: '#00ff00', selectors: [['#c']], target: 'main' },
    { type: 'change', value: '2026-02-03', selectors: [['#d']], target: 'main' },
    { type: 'click', selectors: [['aria/Agree'], ['text/Agree']], offsetX: 3, offsetY: 4 },
    { type: 'doubleClick', selectors: [['#add']], offsetX: 5, offsetY: 5 },
    { type: 'click', button: 'secondary', selectors: [['#add']], offsetX: 5, offsetY: 5 },
    { type: 'click', frame: [0], selectors: [['text/Inside']], offsetX: 5, offsetY: 5 },
    { type: 'click', selectors: [['#add']], offsetX: 3, offsetY: 3 },
    ...[
      key('keyDown', 'Control'),
      key('keyDown', 'Shift'),
      key('keyDown', 'x'),
      key('keyUp', 'x'),
      key('keyUp', 'Shift'),
      key('keyUp', 'Control'),
    ],
  ]);
  assert.deepEqual(
    results.filter(({ status }) => status !== 'ok').map(({ index, error }) => [index, error]),
    [],
  );
  const read = await page.run([
    { type: 'evaluate', expression: '[s.value, note.innerText, n.value, c.value, d.value, agree.checked, out.textContent.trim()]' },
  ]);
  assert.deepEqual(read.results[0]?.output, [
    'b',
    'Line ä',
    '42',
    '#00ff00',
    '2026-02-03',
    true,
    'double menu frame true,false,Control true,true,Shift true,true,X',
  ]);
});

it('a replayed recording presses each recorded character once, in order', async () => {
  page.site.pages.set(
    '/keys',
    `<textarea id=t></textarea><script>seen = []; onkeydown = ({ key, ctrlKey, altKey, shiftKey }) => seen.push((ctrlKey ? 'C' : '') + (altKey ? 'A' : '') + (shiftKey ? 'S' : '') + key)</script>`,
  );
  const down = (...names: string[]) => names.map((key) => ({ type: 'keyDown', key }));
  const up = (...names: string[]) => names.map((key) => ({ type: 'keyUp', key }));
  const { results } = await replay([
    { type: 'navigate', url: `${page.site.url}/keys` },
    { type: 'click', selectors: [['#t']], offsetX: 5, offsetY: 5 },
    ...[...down('+'), ...up('+')],
    // Shift comes up before the character's key, which is another one then.
    ...[...down('Shift', '+'), ...up('Shift', '='), ...down('Shift', '?', ':'), ...up('?', ':'), ...down('A'), ...up('A', 'Shift')],
    ...[...down('Control', 'AltGraph', '@'), ...up('@', 'AltGraph', 'Control'), ...down('Shift', 'Ä'), ...up('Ä', 'Shift')],
    // German, French, Spanish and Danish keyboards.
    ...['/', '7', ';', "'", '=', '¿'].flatMap((character) => [...down('Shift', character), ...up(character, 'Shift')]),
    ...[...down('Control', 'Shift', '/'), ...up('/', 'Shift', 'Control'), ...down('Alt', '|'), ...up('|', 'Alt')],
  ]);
  assert.deepEqual(
    results.filter(({ status }) => status !== 'ok').map(({ index, error }) => [index, error]),
    [],
  );
  const read = await page.run([{ type: 'evaluate', expression: '[t.value, seen]' }]);
  assert.deepEqual(read.results[0]?.output, [
    "++?:A@Ä/7;'=¿|",
    [
      ...['+', 'SShift', 'S+', 'SShift', 'S?', 'SShift', 'S:', 'SShift', 'SA', '@', 'SShift', 'SÄ'],
      ...['/', '7', ';', "'", '=', '¿'].flatMap((character) => ['SShift', `S${character}`]),
      ...['CControl', 'CSShift', 'CS/', '|'],
    ],
  ]);
});

it('a replayed recording waits for counts, attributes and properties that come later', async () => {
  page.site.pages.set(
    '/later',
    `<ul id=list></ul><input id=count value=0 data-state=off><form id=form><input name=id><input name=className></form>
    <script>setInterval(() => { if (list.children.length < 3) list.innerHTML += '<li class=x>x</li>'; count.value = list.children.length; count.dataset.state = 'on' }, 200)</script>`,
  );
  const wait = (selector: string, more: object) => ({ type: 'waitForElement', selectors: [[selector]], timeout: 4000, ...more });
  const { results } = await replay([
    { type: 'navigate', url: `${page.site.url}/later` },
    wait('#list li', { count: 3, operator: '>=' }),
    wait('#list li', { count: 3, operator: '==', attributes: { class: 'x' }, visible: true }),
    wait('#list li', { count: 4, operator: '>=', visible: false }),
    wait('#count', { properties: { value: '3', dataset: { state: 'on' }, disabled: false } }),
    wait('#count', { attributes: { 'data-state': 'on' } }),
    // Named as its own fields.
    wait('#form', { properties: { id: 'form', className: '' } }),
    wait('.none', { count: 0, operator: '==', attributes: { class: 'y' } }),
  ]);
  assert.deepEqual(summarize(results), ['navigate ok', ...Array<string>(7).fill('assert ok')]);
});

it('a replayed wait that fails says which match differs from what it expects', async () => {
  page.site.pages.set('/other', '<p class=a>1</p><p class=b>2</p><input value=1>');
  const wait = (selector: string, more: object) => ({ type: 'waitForElement', selectors: [[selector]], timeout: 300, ...more });
  const { results } = await replay([
    { type: 'navigate', url: `${page.site.url}/other` },
    wait('p', { attributes: { class: 'a' } }),
    wait('input', { properties: { value: '2' } }),
    wait('input', { properties: { madeUp: true } }),
    wait('i', { attributes: { class: 'a' } }),
  ]);
  assert.deepEqual(
    results.slice(1).map(({ error }) => error?.message),
    [
      'Assertion failed: its attribute class should be "a" and is "b".',
      'Assertion failed: its property value should be "2" and is "1".',
      'Assertion failed: its property madeUp should be true and is undefined.',
      'Assertion failed: there should be 1 to Infinity elements and there are 0.',
    ],
  );
});
