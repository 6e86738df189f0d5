import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { SnapshotRequest } from '../page.ts';
import { estimateTokens, hashOf, toLine } from './snapshot-text.ts';
import { shownPage } from '../../../../testing/shown-page.ts';
import * as trees from '@berth/page-scripts/read/accessibility.ts';
import * as cssPaths from '@berth/page-scripts/locate/css-paths.ts';
import * as names from '@berth/page-scripts/read/names.ts';
import * as natives from '@berth/page-scripts/locate/natives.ts';
import * as refs from '@berth/page-scripts/locate/refs.ts';
import { scriptsOf } from '@berth/page-scripts/page-scripts.ts';

const shown = shownPage();
const { call, run } = shown;
const show = (body: string): Promise<void> => shown.show(`<meta charset=utf-8><title>T</title>${body}`);
const take = (request: Partial<SnapshotRequest> = {}) =>
  shown.page.snapshot({ mode: 'interactive', boxes: false, urls: false, maxTokens: 4000, ...request }, call());
const withoutRefs = (text: string): string => text.replaceAll(/ \[ref=\w+\]/g, '');
const links = (count: number): string => Array.from({ length: count }, (_, at) => `<li><a href="/i/${at}">Item ${at}</a></li>`).join('');

it('a snapshot is cut to its tokens, says what is left, and goes on at its cursor until nothing is left', async () => {
  await show(`<main><ul>${links(120)}</ul></main>`);
  const names: string[] = [];
  let rounds = 0;
  let after: string | undefined;
  do {
    const { text, tokens, left, nodes } = await take({ maxTokens: 400, after });
    assert.ok(tokens <= 400, String(tokens));
    // What stands around the first line comes again, so that it can be read.
    assert.match(text, /^- main \[ref=\w+\]\n {2}- link "Item /);
    names.push(...nodes.filter(({ role }) => role === 'link').map(({ name }) => name));
    assert.equal(left?.nodes ?? 0, 120 - names.length);
    after = left?.after;
    rounds += 1;
  } while (after !== undefined);
  assert.deepEqual(
    names,
    Array.from({ length: 120 }, (_, at) => `Item ${at}`),
  );
  assert.ok(rounds > 2);
});

it('a cursor goes on behind the line that was last, although lines were added before it', async () => {
  await show(`<main><ul id=list>${links(60)}</ul></main>`);
  const first = await take({ maxTokens: 400 });
  const last = first.nodes.at(-1)?.name ?? '';
  await run(`list.insertAdjacentHTML('afterbegin', '<li><a href="/new">New</a></li><li><a href="/new2">Newer</a></li>')`);
  const next = await take({ maxTokens: 400, after: first.left?.after });
  assert.equal(next.nodes.find(({ role }) => role === 'link')?.name, `Item ${Number(last.slice(5)) + 1}`);
});

it('a snapshot since an earlier one has only what changed, in its place, and names what is gone', async () => {
  await show(
    '<main><h1>Basket</h1><button id=more>More</button><button id=less>Less</button><p><input aria-label=Code></p></main><footer><a href="/">Home</a></footer>',
  );
  const { id, nodes } = await take();
  const less = nodes.find(({ name }) => name === 'Less')?.ref ?? '';
  const same = await take({ since: id });
  assert.deepEqual([same.text, same.removed, same.warnings], ['', [], []]);
  await run(
    `less.remove(); document.querySelector('input').value = 'SAVE'; document.querySelector('p').insertAdjacentHTML('afterend', '<button>Pay</button>')`,
  );
  const changed = await take({ since: same.id });
  assert.deepEqual(withoutRefs(changed.text).split('\n'), ['- main', '  - textbox "Code": SAVE', '  - button "Pay"']);
  assert.deepEqual(changed.removed, [less]);
});

it('a snapshot since one that is unknown, or of another part, is whole and says so', async () => {
  await show('<button>One</button>');
  const { id } = await take();
  for (const request of [{ since: 's999999' }, { since: id, mode: 'full' as const }, { since: id, part: 'main' }]) {
    const { text, warnings, removed } = await take(request);
    assert.deepEqual([withoutRefs(text), warnings, removed], ['- button "One"', ['since_not_found'], null]);
  }
});

it('a search returns what matches with what is around it, also by the text of its row', async () => {
  const row = (name: string): string => `<tr><td>${name}</td><td><button>Delete</button></td></tr>`;
  await show(`<main><h1>Invoices</h1><table>${row('March')}${row('April')}${row('May')}</table><a href="/april-report">Report</a></main>`);
  const found = async (find: string): Promise<string[]> => withoutRefs((await take({ find })).text).split('\n');
  assert.deepEqual(await found('april'), ['- main', '  - button "Delete" [in="April"]']);
  assert.deepEqual(await found('/^link rep/i'), ['- main', '  - link "Report"']);
  assert.deepEqual(await found('nothing like it'), ['']);
  const { text } = await take();
  assert.match(withoutRefs(text), /button "Delete" \[in="March"\]\n.*button "Delete" \[in="April"\]/);
});

it('boxes are those of the main viewport, also in a frame of another site, and URLs come on request', async () => {
  shown.site.pages.set(
    '/in',
    '<style>body{margin:0}</style><button style="position:absolute;left:10px;top:20px;width:50px;height:30px">Pay</button>',
  );
  await show(
    `<style>body{margin:0}</style><a href="/x?y=1">Link</a><iframe src="${shown.site.otherUrl}/in" style="position:absolute;left:100px;top:200px;border:0"></iframe>`,
  );
  const { nodes, text } = await take({ boxes: true, urls: true });
  assert.deepEqual(nodes.find(({ name }) => name === 'Pay')?.box, { x: 110, y: 220, width: 50, height: 30 });
  assert.match(text, /button "Pay" \[ref=f\d+e1\] \[box=110,220,50,30\]/);
  assert.ok(text.includes(`[url="${shown.site.url}/x?y=1"]`), text);
  assert.ok(!(await take()).text.includes('url='));
});

it('lists say that they scroll, and long selections name the number of their options', async () => {
  const options = Array.from({ length: 200 }, (_, at) => `<option>Country ${at}</option>`).join('');
  await show(`<div id=box style="height:100px;overflow:auto"><ul>${links(50)}</ul></div><select aria-label=Country>${options}</select>`);
  const text = withoutRefs((await take()).text);
  assert.match(text, /^- generic \[scrollable=down\]/);
  assert.match(text, /- combobox "Country" \[options: "Country 0",.*"Country 11", \+188 more\]: Country 0$/);
  await run('box.scrollTop = 1e6');
  assert.match((await take()).text, /\[scrollable=up\]/);
});

it('a page of any depth and size is read in steps that are counted, and says that it was cut', async () => {
  await show('<div id=root></div>');
  await run(
    `let at = root; for (let i = 0; i < 2000; i += 1) at = at.appendChild(document.createElement('div')); at.innerHTML = '<button>Deep</button>'`,
  );
  assert.match((await take()).text, /button "Deep"/);
  await run(`document.body.innerHTML = '<button>x</button>'.repeat(30000)`);
  const { warnings, nodes, left } = await take({ maxTokens: 500 });
  assert.deepEqual(warnings, ['page_too_large']);
  assert.equal(nodes.length + (left?.nodes ?? 0), 25_000);
});

it('tokens are estimated in one pass, and no two lines of a page share a hash', () => {
  assert.equal(estimateTokens(''), 0);
  assert.ok(estimateTokens('- button "Add to basket" [ref=e12]') >= 10);
  assert.ok(estimateTokens('漢字漢字') >= 4);
  const hashes = new Set(Array.from({ length: 50_000 }, (_, at) => hashOf(`link "Item ${at}" [ref=e${at}]`)));
  assert.equal(hashes.size, 50_000);
});

it('a line quotes what could be read as something else', () => {
  const lineOf = (name: string, role = 'button'): string =>
    toLine({ depth: 0, role, name, ref: null, frameId: '', box: null }, { withPlace: false });
  assert.equal(lineOf('Say "yes" [ref=e1]'), 'button "Say \\"yes\\" [ref=e1]"');
  assert.equal(lineOf('Plain text, 5 €.', 'text'), 'text: Plain text, 5 €.');
  for (const text of ['a: b', '- item', '[ref=e1]', '"x"', '#', '`x`', '<page>'])
    assert.equal(lineOf(text, 'text'), `text: ${JSON.stringify(text)}`);
});

it('what leaves a page says each name and row once, in at most 120 characters a node, however many nodes there are', async () => {
  const { readTree } = scriptsOf(trees, names, refs, cssPaths, natives);
  const sizes: number[] = [];
  for (const count of [200, 800]) {
    const rows = Array.from({ length: count }, (_, at) => `<li><a href="/p">Product ${at}</a><button>Add to basket</button></li>`);
    await show(`<main><ul>${rows.join('')}</ul></main>`);
    const options = { mode: 'interactive', firstRef: 1, nodesMax: 25_000, charsMax: 1_500_000 };
    const { nodes } = await shown.page.call<{ nodes: unknown[] }>(shown.page.mainFrame(), readTree, [options, null], call());
    const text = JSON.stringify(nodes);
    assert.equal(nodes.length, 1 + 2 * count);
    // Its own, and as the row of the button beside it.
    assert.equal(text.match(/"Product 7"/g)?.length, 2, text.slice(0, 1000));
    sizes.push(text.length / nodes.length);
  }
  assert.ok(Math.max(...sizes) <= 120, sizes.join());
});
