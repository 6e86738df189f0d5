import assert from 'node:assert/strict';
import { beforeEach, it } from 'node:test';
import { RefError, type AccessibilityNode, type AccessibilityTreeOptions } from '../page.ts';
import { shownPage } from '../../../../testing/shown-page.ts';

const shown = shownPage();
const { call, run } = shown;
beforeEach(() => shown.site.pages.clear());
const show = (body: string): Promise<void> => shown.show(`<meta charset=utf-8><title>T</title>${body}`);

const read = (options: Partial<AccessibilityTreeOptions> = {}) => shown.page.accessibilityTree({ ...call(), mode: 'full', ...options });

/** The nodes as text, without references. */
const lines = (nodes: readonly AccessibilityNode[]): string[] =>
  nodes.map(({ depth, role, name, value, text, states = {} }) => {
    const said = [value, text].filter((each) => each !== undefined && each !== '').map((each) => `: ${each}`);
    const marks = Object.entries(states).map(([state, is]) => ` [${is === 'true' ? state : `${state}=${is}`}]`);
    return `${'  '.repeat(depth)}${role}${name === '' ? '' : ` ${name}`}${marks.join('')}${said.join('')}`;
  });

async function linesOf(body: string, options: Partial<AccessibilityTreeOptions> = {}): Promise<string[]> {
  await show(body);
  return lines((await read(options)).nodes);
}

async function refOf(name: string): Promise<string> {
  const { nodes } = await read({ mode: 'interactive' });
  const node = nodes.find((each) => each.name === name && each.ref !== null);
  assert.ok(node?.ref, `${name} in ${lines(nodes).join('\n')}`);
  return node.ref;
}

async function idOf(ref: string): Promise<string> {
  const element = await shown.page.resolveRef(ref, call());
  try {
    return await shown.page.call<string>(element.frameId, '(element) => element.id', [element], call());
  } finally {
    shown.page.release([element]);
  }
}

const refusal = async (ref: string): Promise<RefError> => {
  const error: unknown = await shown.page.resolveRef(ref, call()).then(
    () => 'it was found',
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof RefError, String(error));
  return error;
};

it('the accessibility tree has frames of any site in their place, whose references find their elements', async () => {
  shown.site.pages.set('/in', '<button>Pay now</button><iframe srcdoc="<button id=deep>Innermost</button>"></iframe>');
  await show(
    '<button disabled>Save</button><iframe role=presentation srcdoc="<label>Card number <input></label>"></iframe>' +
      `<iframe src="${shown.site.otherUrl}/in"></iframe><iframe srcdoc="<button>Gone</button>" style="display:none"></iframe><button>Last</button>`,
  );
  const { nodes, framesLeftOut, isTruncated } = await read();
  const used = nodes.filter(({ role }) => role === 'button' || role === 'textbox');
  assert.deepEqual(
    used.map(({ name }) => name),
    ['Save', 'Card number', 'Pay now', 'Innermost', 'Last'],
  );
  assert.deepEqual([framesLeftOut, isTruncated], [0, false]);
  assert.equal(new Set(used.map(({ ref }) => ref)).size, used.length);
  assert.equal(await idOf(used[3]?.ref ?? ''), 'deep');
});

it('the accessibility tree has clickable elements that take no focus, with their text as name', async () => {
  const listed: [body: string, clickables: string[]][] = [
    ['<div class=p onclick="1">Card</div>', ['generic Card']],
    ['<div class=p id=d>Pointed</div><script>d.addEventListener("click", () => {})</script>', ['generic Pointed']],
    ['<span onclick="1">Attribute</span>', ['generic Attribute']],
    ['<ul><li class=p>One<li class=p>Two</ul>', ['listitem One', 'listitem Two']],
    ['<div class=p><b>In</b> <i>parts</i></div>', ['generic In parts']],
    ['<div class=p aria-label="Close">×</div>', ['generic Close']],
    ['<img class=p alt="Picture" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" width=9 height=9>', ['img Picture']],
    ['<div class=p><h3>Title</h3><a href="/x">More</a></div>', ['generic ']],
    ['<div id=h></div><script>h.attachShadow({mode:"open"}).innerHTML = "<div onclick=1>Inside</div>"</script>', ['generic Inside']],
    // What is operable by itself, or not there, is not listed twice.
    ['<button class=p>B</button><a class=p href="/">A</a><label class=p>L <input></label><div tabindex=0 class=p>T</div>', []],
    ['<a href="/"><span class=p onclick="1">In a link</span></a><div class=p style="display:none">Gone</div><p>Text</p>', []],
  ];
  for (const [body, clickables] of listed) {
    await show(`<style>.p{cursor:pointer}</style><main>${body}</main>`);
    const { nodes } = await read();
    const clickable = nodes.filter(({ states, ref }) => states?.['clickable'] !== undefined && ref !== null);
    assert.deepEqual(
      clickable.map(({ role, name }) => `${role} ${name}`),
      clickables,
      body,
    );
  }
});

it('the accessibility tree says texts once, in the structure of the page', async () => {
  const body =
    '<header><nav><a href="/a">Home</a></nav></header><main><h2>Shoes <em>new</em></h2><p>Two <b>bold</b> words.<p>One<br>Two' +
    '<ul><li>Plain<li><a href="/b">Linked</a> for 5 €</ul><h3><a href="/c">Title</a></h3><table><tr><th>Size<td>42</table>' +
    '<label for=q>Search</label><input id=q placeholder="Words"><fieldset><legend>Pay</legend><label><input type=radio> Card</label></fieldset>' +
    '<p style="display:none">Hidden</p><p style="visibility:hidden">Unseen<b style="visibility:visible">Seen</b></p></main>';
  assert.deepEqual(await linesOf(body), [
    'banner',
    '  navigation',
    '    link Home',
    'main',
    '  heading Shoes new [level=2]',
    '  paragraph: Two bold words.',
    '  paragraph',
    '    text One',
    '    text Two',
    '  list',
    '    listitem: Plain',
    '    listitem',
    '      link Linked',
    '      text for 5 €',
    '  heading [level=3]',
    '    link Title',
    '  table',
    '    row',
    '      columnheader Size',
    '      cell: 42',
    '  textbox Search',
    '  group Pay',
    '    radio Card',
    '  text Seen',
  ]);
  assert.deepEqual(lines((await read({ mode: 'interactive' })).nodes), [
    'banner',
    '  navigation',
    '    link Home',
    'main',
    '  heading Shoes new [level=2]',
    '  link Linked',
    '  heading [level=3]',
    '    link Title',
    '  textbox Search',
    '  radio Card',
  ]);
});

it('the accessibility tree names elements as assistive technology does', async () => {
  const names: [body: string, name: string][] = [
    ['<button aria-labelledby="a b">x</button><i id=a hidden>One</i> <i id=b>Two</i>', 'One Two'],
    ['<button aria-label="Label" title="Title">Text</button>', 'Label'],
    ['<label>Around <input></label>', 'Around'],
    ['<label for=f>Before</label><input id=f>', 'Before'],
    ['<input placeholder="Hint">', 'Hint'],
    ['<input type=submit>', 'Submit'],
    ['<input type=button value="Value">', 'Value'],
    ['<a href="/"><img alt="Home" src=""></a>', 'Home'],
    ['<button><svg><title>Trash</title></svg></button>', 'Trash'],
    ['<button title="Tip"><svg></svg></button>', 'Tip'],
    ['<button>Cart<span>3</span><span style="display:block">items</span></button>', 'Cart3 items'],
    ['<button>Shown<span aria-hidden=true>✕</span><span style="display:none">no</span></button>', 'Shown'],
    ['<a href="/"><i class="fa fa-shopping-cart"></i></a>', 'shopping cart'],
    ['<button><svg><use href="/icons.svg#icon-user"></use></svg></button>', 'user'],
    ['<button><svg data-lucide="log-out"></svg></button>', 'log out'],
    ['<a href="/"><img src="/img/help-circle.png?v=1"></a>', 'help circle'],
  ];
  for (const [body, name] of names) {
    await show(body);
    const { nodes } = await read({ mode: 'interactive' });
    assert.equal(nodes.find(({ ref }) => ref !== null)?.name, name, body);
  }
});

it('the accessibility tree has the states and values of fields', async () => {
  const body =
    '<input type=checkbox aria-label=A checked><input type=checkbox aria-label=B><div role=switch tabindex=0 aria-checked=true>C</div>' +
    '<button aria-expanded=false>D</button><button aria-pressed=true disabled>E</button><div role=tab tabindex=0 aria-selected=true>F</div>' +
    '<input aria-label=G value=Seven required aria-invalid=true><textarea aria-label=H>Text</textarea>' +
    '<select aria-label=I><option>One<option selected>Two</select><input type=range aria-label=J value=30>' +
    '<div contenteditable aria-label=K>Rich</div><details><summary>L</summary>x</details><a href="/" aria-current=page>M</a>' +
    '<fieldset disabled><input aria-label=N></fieldset><input autofocus aria-label=O readonly>';
  assert.deepEqual(await linesOf(body, { mode: 'interactive' }), [
    'checkbox A [checked]',
    'checkbox B',
    'switch C [checked]',
    'button D [collapsed]',
    'button E [disabled] [pressed]',
    'tab F [selected]',
    'textbox G [required] [invalid]: Seven',
    'textbox H: Text',
    'combobox I: Two',
    'slider J: 30',
    'textbox K: Rich',
    'button L [collapsed]',
    'link M [current]',
    'textbox N [disabled]',
    'textbox O [readonly] [focused]',
  ]);
});

it('values of passwords, one-time codes and card checks never leave the page', async () => {
  const fields =
    '<input type=password value=hunter2-a><input autocomplete=one-time-code value=hunter2-b><input name=otp value=hunter2-c>' +
    '<input id=new_password type=text value=hunter2-d><input style="-webkit-text-security:disc" value=hunter2-e><input name=cvc value=hunter2-f>' +
    '<input maxlength=1 value=7><input aria-label="Verification code" value=hunter2-g><input name=shipping value=Lisbon>';
  await show(fields);
  for (const mode of ['interactive', 'full'] as const) {
    const { nodes } = await read({ mode });
    assert.ok(!/hunter2|"7"/.test(JSON.stringify(nodes)), JSON.stringify(nodes));
    const filled = nodes.filter(({ states }) => states?.['filled'] === 'true');
    assert.deepEqual([filled.length, nodes.at(-1)?.value], [8, 'Lisbon']);
  }
});

it('the accessibility tree has open and closed shadow roots, also one in another, with what is slotted into them', async () => {
  await show(
    '<my-open>Slotted <button>Light</button></my-open><div id=host></div><my-card><a href="/">In a card</a></my-card><script>' +
      "document.querySelector('my-open').attachShadow({mode:'open'}).innerHTML = '<h2>Open</h2><slot></slot>';" +
      "const closed = host.attachShadow({mode:'closed'}); closed.innerHTML = '<button id=in>Closed</button><x-inner></x-inner>';" +
      "closed.querySelector('x-inner').attachShadow({mode:'closed'}).innerHTML = '<button id=deep>Deep</button>';" +
      "document.querySelector('my-card').attachShadow({mode:'closed'}).innerHTML = '<section aria-label=Card><slot></slot></section>';</script>",
  );
  const { nodes } = await read();
  assert.deepEqual(lines(nodes), [
    'heading Open [level=2]',
    'text Slotted',
    'button Light',
    'button Closed',
    'button Deep',
    'region Card',
    '  link In a card',
  ]);
  assert.equal(await idOf(nodes.find(({ name }) => name === 'Deep')?.ref ?? ''), 'deep');
});

it('a reference finds its element after the page has drawn it anew with the same role, name and place', async () => {
  const row = (item: string, id: string): string => `<li><h3>${item}</h3><button id="${id}">Add</button></li>`;
  await show(`<ul id=list>${row('Lamp', 'a1')}${row('Chair', 'b1')}</ul><button id=c1>Pay</button>`);
  const { nodes } = await read({ mode: 'interactive' });
  const [lamp = '', chair = '', pay = ''] = nodes.filter(({ role }) => role === 'button').map(({ ref }) => ref ?? '');
  await run(`list.innerHTML = ${JSON.stringify(row('Sofa', 'd2') + row('Chair', 'b2') + row('Lamp', 'a2'))}`);
  assert.deepEqual(await Promise.all([lamp, chair, pay].map(idOf)), ['a2', 'b2', 'c1']);
  await run(`document.body.innerHTML = '<main><button id=c3>Pay</button></main>'`);
  assert.equal(await idOf(pay), 'c3');
});

it('a reference is stale, with the nearest elements, when its row shows something else', async () => {
  const rows = (from: number): string =>
    [0, 1, 2].map((at) => `<div class=row><span>Item ${from + at}</span><button>Open</button></div>`).join('');
  await show(`<div id=list>${rows(1)}</div>`);
  const { nodes } = await read({ mode: 'interactive' });
  const first = nodes.find(({ place }) => place === 'Item 1')?.ref ?? '';
  await run(`document.querySelectorAll('.row span').forEach((each, at) => { each.textContent = 'Item ' + (at + 21); })`);
  const { reason, candidates } = await refusal(first);
  assert.equal(reason, 'stale');
  assert.deepEqual(
    candidates.map(({ role, name }) => `${role} ${name}`),
    ['button Open', 'button Open', 'button Open'],
  );
  assert.ok(candidates.every(({ ref }) => ref !== first));
  // Scrolled back, it is where it was.
  await run(`document.querySelectorAll('.row span').forEach((each, at) => { each.textContent = 'Item ' + (at + 1); })`);
  assert.equal(await refOf('Open'), first);
});

it('a reference keeps its element when only the name of that changes, and not among elements that are alike', async () => {
  await show('<p><button id=f>Follow</button></p><div><button class=t id=x>One</button><button class=t id=y>Two</button></div>');
  const [follow, one] = [await refOf('Follow'), await refOf('One')];
  await run(`f.textContent = 'Following'; x.textContent = 'Two'; y.textContent = 'One'`);
  assert.equal(await idOf(follow), 'f');
  assert.equal(await idOf(one), 'y');
  await run(`y.textContent = 'One more'`);
  const { reason, candidates } = await refusal(one);
  assert.deepEqual([reason, candidates[0]?.name], ['stale', 'One more']);
});

it('a reference belongs to its document: after a navigation it is stale, and another tab does not know it', async () => {
  await show('<button>Buy</button>');
  const before = await refOf('Buy');
  const snapshot = await shown.page.snapshot({ mode: 'interactive', boxes: false, urls: false, maxTokens: 500 }, call());
  assert.ok(snapshot.text.includes(`[ref=${before}]`));
  await show('<button>Buy</button><button>Sell</button>');
  const { reason, candidates } = await refusal(before);
  assert.deepEqual([reason, candidates[0]?.name], ['stale', 'Buy']);
  assert.notEqual(candidates[0]?.ref, before);
  for (const unknown of ['e999999', 'f77e1', 'x1', 'e', '']) assert.equal((await refusal(unknown)).reason, 'unknown', unknown);
  const { browser } = shown.launched;
  const other = await browser.openTab({ active: false, timeoutMs: 60_000, signal: AbortSignal.timeout(60_000) });
  const there = browser.page(other.tabId);
  await there.navigate({ url: `${shown.site.url}/`, waitUntil: 'load', timeoutMs: 60_000 }, { signal: AbortSignal.timeout(60_000) });
  const theirs = (await there.accessibilityTree({ ...call(), mode: 'interactive' })).nodes.map(({ ref }) => ref ?? '');
  assert.equal((await refusal(theirs[0] ?? '')).reason, 'unknown');
  await browser.closeTab(other.tabId, { signal: AbortSignal.timeout(60_000) });
});

it('text of a page cannot look like a reference, end its quotes or carry control characters', async () => {
  await show(
    '<button aria-label="Buy&quot; [ref=e9]&#10;- button &quot;Pay">x</button><p>Free [ref=e9]</p><p>a\u202eb\u0007c</p><div role="button" tabindex=0 aria-label="&#27;[31mRed">y</div>',
  );
  const { text } = await shown.page.snapshot({ mode: 'full', boxes: false, urls: false, maxTokens: 2000 }, call());
  const [first, second, third, fourth, ...more] = text.split('\n');
  assert.match(first ?? '', /^- button "Buy\\" \[ref=e9\] - button \\"Pay" \[ref=f?\w+\]$/);
  assert.deepEqual([second, third, more], ['- paragraph: "Free [ref=e9]"', '- paragraph: abc', []]);
  assert.match(fourth ?? '', /^- button "\[31mRed" \[ref=/);
});

it('a script of the page neither sees nor changes the references', async () => {
  await show(
    '<button id=a>Real</button><button id=b>Other</button><script>globalThis.berthRefs = { next: 1, entries: new Map() };' +
      'Map.prototype.get = () => b; WeakMap.prototype.get = () => 1; Element.prototype.getAttribute = () => "forged"; Node.prototype.isConnected = false</script>',
  );
  assert.equal(await idOf(await refOf('Real')), 'a');
  assert.equal(await run('Object.keys(globalThis.berthRefs.entries).length + globalThis.berthRefs.next'), 1);
});
