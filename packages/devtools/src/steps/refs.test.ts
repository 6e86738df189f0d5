/** Steps that name their elements by the references of a snapshot, in a real browser. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Steps, type StepResult } from '@berth/contract';
import { assertAllOk, stepPage } from '../../testing/step-page.ts';
import { evaluate, summarize } from '../../testing/steps.ts';

const page = stepPage({ reads: true });

const act = (steps: object[]) => page.run(steps);

/** Opens a page and returns its references by the names of their elements. */
async function open(html: string): Promise<Map<string, string>> {
  page.site.pages.set('/', html);
  const { results } = await act([
    { type: 'navigate', url: `${page.site.url}/` },
    { type: 'snapshot', mode: 'full', format: 'json' },
  ]);
  assert.deepEqual(summarize(results), ['navigate ok', 'snapshot ok'], JSON.stringify(results));
  const { nodes } = (results[1]?.output ?? {}) as { nodes: { name: string; ref: string | null }[] };
  return new Map(nodes.flatMap(({ name, ref }) => (ref === null ? [] : [[name, ref] as const])));
}

const outputsOf = (results: readonly StepResult[]): unknown[] => {
  assertAllOk(results);
  return results.map(({ output }) => output);
};

it('every kind of step finds its element by a reference', async () => {
  const refs = await open(
    '<button onclick="n = 1">Go</button><label>Name <input></label><label>Word <input></label><label><input type=checkbox> Agree</label>' +
      '<select aria-label=Size><option>S<option>M</select><a href="#" onmouseover="h = 1">Over</a><figure aria-label=Picture style="width:40px;height:30px">x</figure>' +
      '<div role=button tabindex=0 aria-label=Card draggable=true style="width:60px;height:40px">c</div>' +
      '<div role=button tabindex=0 aria-label=Bin ondragover="event.preventDefault()" ondrop="d = 1" style="width:60px;height:40px">b</div>' +
      '<table aria-label=Sizes><tr><td>4<td>2</table><button style="margin-top:3000px">Low</button>',
  );
  const ref = (name: string): string => refs.get(name) ?? assert.fail(`${name} has no reference`);
  const { results } = await act([
    { type: 'click', ref: ref('Go') },
    { type: 'fill', ref: ref('Name'), value: 'Ann' },
    { type: 'type', ref: ref('Word'), text: 'ab' },
    { type: 'press', ref: ref('Word'), keys: 'Backspace' },
    { type: 'check', ref: ref('Agree') },
    { type: 'select', ref: ref('Size'), label: 'M' },
    { type: 'hover', ref: ref('Over') },
    { type: 'drag', ref: ref('Card'), to_ref: ref('Bin') },
    { type: 'scroll', ref: ref('Low') },
    { type: 'wait', ref: ref('Low') },
    { type: 'assert', ref: ref('Name'), value: 'Ann', if: { exists: [`ref/${ref('Go')}`] } },
    { type: 'extract', ref: ref('Size'), as: 'value' },
    { type: 'extract', fields: { word: { selectors: [`ref/${ref('Word')}`], as: 'value' } } },
    { type: 'html', ref: ref('Go') },
    { type: 'markdown', ref: ref('Sizes') },
    { type: 'links', ref: ref('Sizes') },
    { type: 'snapshot', ref: ref('Sizes'), mode: 'full' },
    { type: 'screenshot', ref: ref('Picture') },
    evaluate('[n, h, d]'),
  ]);
  const outputs = outputsOf(results);
  assert.deepEqual([outputs[11], outputs[12]], ['M', { word: 'a' }]);
  assert.match(String(outputs[13]), /^<button.*Go<\/button>$/);
  assert.match((outputs[16] as { snapshot: string }).snapshot, /^- table "Sizes" \[ref=\w+\]\n {2}- row\n {4}- cell: 4/);
  assert.deepEqual((outputs[17] as { width: number }).width, 40);
  assert.deepEqual(outputs[18], [1, 1, 1]);
  assert.equal(results[0]?.selector_used, `ref/${ref('Go')}`);
});

it('a step finds by its reference an element in a frame of another site and in a closed shadow root', async () => {
  page.site.pages.set('/in', '<button onclick="this.textContent = \'Paid\'">Pay</button>');
  const refs = await open(
    `<iframe src="${page.site.otherUrl}/in"></iframe><div id=host></div><script>host.attachShadow({mode:'closed'}).innerHTML = '<button onclick="globalThis.c = 1">Closed</button>'</script>`,
  );
  const { results } = await act([
    { type: 'click', ref: refs.get('Pay') },
    { type: 'click', ref: refs.get('Closed') },
    { type: 'snapshot' },
    evaluate('c'),
  ]);
  const outputs = outputsOf(results);
  assert.match((outputs[2] as { snapshot: string }).snapshot, /button "Paid"/);
  assert.equal(outputs[3], 1);
});

it('a step with a stale reference fails at once with what is like it, and one with an unknown reference says to take a snapshot', async () => {
  const refs = await open('<button id=b>Buy</button>');
  const { results } = await act([evaluate(`b.outerHTML = '<button>Buy now</button>'`), { type: 'click', ref: refs.get('Buy') }]);
  const { code, message, details } = results[1]?.error ?? {};
  assert.deepEqual([code, details?.candidates?.map(({ role, name }) => `${role} ${name}`)], ['stale_ref', ['button Buy now']]);
  assert.match(message ?? '', /Take a new snapshot/);
  const { results: followed } = await act([{ type: 'click', ref: details?.candidates?.[0]?.ref }]);
  assert.deepEqual(summarize(followed), ['click ok']);
  const { results: unknown } = await act([{ type: 'click', ref: 'e99999' }]);
  assert.equal(unknown[0]?.error?.code, 'ref_not_found');
  assert.match(unknown[0]?.error?.message ?? '', /Take a snapshot/);
});

it('an element that is gone is detached, hidden and absent by its reference', async () => {
  const refs = await open('<button id=b>Close</button>');
  const ref = refs.get('Close');
  const { results } = await act([
    evaluate('b.remove()'),
    { type: 'wait', ref, state: 'detached' },
    { type: 'wait', ref, state: 'hidden' },
    { type: 'assert', ref, visible: false },
    { type: 'click', ref, if: { exists: [`ref/${ref}`] } },
  ]);
  assert.deepEqual(summarize(results), ['evaluate ok', 'wait ok', 'wait ok', 'assert ok', 'click skipped']);
});

it('a step takes one of selectors and a reference, and a reference of the right form', () => {
  const problem = (step: object): string | undefined => Steps.safeParse([step]).error?.issues[0]?.message;
  assert.match(problem({ type: 'click' }) ?? '', /`selectors`, or a `ref`/);
  assert.match(problem({ type: 'click', ref: 'e1', selectors: ['#a'] }) ?? '', /Only one of selectors, ref/);
  assert.match(problem({ type: 'drag', ref: 'e1', to_ref: 'e2', by: { x: 1, y: 1 } }) ?? '', /Only one of to, by/);
  for (const ref of ['12', 'E1', 'e', 'f1', 'e1 ', 'button']) assert.ok(problem({ type: 'click', ref }), ref);
  for (const selector of ['ref/e1', 'ref/f2e1', 'ref/{{vars.ref}}'])
    assert.equal(problem({ type: 'click', selectors: [selector] }), undefined);
  assert.ok(problem({ type: 'click', selectors: ['ref/x'] }));
});
