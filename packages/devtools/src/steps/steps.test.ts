/** Steps that read, capture and set, in a real browser. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { it } from 'node:test';
import { assertAllOk, stepPage } from '../../testing/step-page.ts';
import { evaluate, summarize } from '../../testing/steps.ts';

const page = stepPage({ reads: true });

it('a navigate step to a file of any kind says that it is no page, and a download step downloads it', async () => {
  const files: [type: string, disposition: string | null][] = [
    ['application/octet-stream', null],
    ['application/zip', null],
    ['text/html', 'attachment; filename="page.html"'],
  ];
  for (const [index, [type, disposition]] of files.entries()) {
    page.site.pages.set(`/file/${index}`, (_, response) => {
      if (disposition !== null) response.setHeader('content-disposition', disposition);
      response.setHeader('content-type', type).end('%PDF-1.4');
    });
    const url = `${page.site.url}/file/${index}`;
    const { results } = await page.inPage('<title>one</title>', [
      { type: 'navigate', url, retries: 2, on_error: 'continue' },
      { type: 'download', url },
    ]);
    assert.deepEqual(summarize(results), ['navigate error not_a_page', 'download ok'], type);
    assert.match(results[0]?.error?.message ?? '', /`download` step/);
  }
});

it('steps navigate, go back and forward, and reload', async () => {
  page.site.pages.set('/two', '<title>two</title>');
  const { results, outputs } = await page.inPage(
    '<title>one</title>',
    [
      { type: 'navigate', url: `${page.site.url}/two` },
      { type: 'back' },
      { type: 'forward' },
      { type: 'reload' },
      { type: 'forward' },
      { type: 'navigate', url: `${page.site.url}/nothing` },
      { type: 'navigate', url: 'http://127.0.0.1:1/', on_error: 'continue' },
      { type: 'navigate', url: '{{inputs.url}}' },
    ],
    { inputs: { url: 'file:///etc/passwd' } },
  );
  assert.deepEqual(
    outputs.slice(0, 4).map((output) => (output as { title: string }).title),
    ['two', 'one', 'two', 'two'],
  );
  assert.deepEqual([outputs[4], results[4]?.warnings], [null, ['There is no further history entry.']]);
  assert.equal((outputs[5] as { status_code: number }).status_code, 404);
  assert.deepEqual(summarize(results.slice(6)), ['navigate error navigation_failed', 'navigate error not_allowed']);
});

it('wait steps wait for elements, texts, addresses, the network, and functions', async () => {
  const { results } = await page.inPage(
    '<p id=a>a</p><script>a.onclick=()=>setTimeout(()=>{a.hidden=true;b=1;document.body.append("ready  now");' +
      'history.pushState(0,"","/done")},200)</script>',
    [
      { type: 'wait', selectors: ['#a'] },
      { type: 'click', selectors: ['#a'] },
      { type: 'wait', selectors: ['#a'], state: 'hidden' },
      { type: 'wait', text: 'ready now' },
      { type: 'wait', text: '/READY\\s+now/i' },
      { type: 'wait', url: '*/done' },
      { type: 'wait', network_idle: true },
      { type: 'wait', function: '() => window.b === 1' },
      { type: 'wait', selectors: ['#z'], state: 'detached' },
      { type: 'wait', ms: 10 },
      { type: 'wait', text: 'never', timeout_ms: 500, on_error: 'continue' },
      { type: 'wait', selectors: ['#z'], timeout_ms: 500, on_error: 'continue' },
      { type: 'wait', ms: 5000, timeout_ms: 150, on_error: 'continue' },
      { type: 'wait', text: '/(a+)+$/', timeout_ms: 500 },
    ],
  );
  assertAllOk(results.slice(0, 10));
  assert.deepEqual(summarize(results.slice(10)), [
    'wait error timeout',
    'wait error not_found',
    'wait error timeout',
    'wait error timeout',
  ]);
});

it('extract steps read a list when the document has arrived as a whole, and what is there where it does not', async () => {
  const begun = Promise.withResolvers<ServerResponse>();
  page.site.pages.set('/', (_, response) => {
    response.setHeader('content-type', 'text/html').write('<h1>Links</h1><a href="/1">One</a>');
    begun.resolve(response);
  });
  const steps = [
    { type: 'navigate', url: `${page.site.url}/`, wait_until: 'commit' },
    { type: 'wait', selectors: ['a'] },
    { type: 'extract', selectors: ['a'], list: true, timeout_ms: 2000 },
    { type: 'extract', fields: { title: { selectors: ['h1'] }, links: { selectors: ['a'], list: true } } },
    { type: 'extract', selectors: ['aria/[role="link"]'], list: true },
  ];
  const { results } = await page.run(steps, {
    onResult: ({ index }) => {
      if (index === 2) void begun.promise.then((response) => response.end('<a href="/2">Two</a>'));
    },
  });
  assert.deepEqual(
    results.slice(2).map(({ output }) => output),
    [['One'], { title: 'Links', links: ['One', 'Two'] }, ['One', 'Two']],
    JSON.stringify(results),
  );
});

it('extract steps read values, rows, tables and JSON-LD', async () => {
  const { results, outputs } = await page.inPage(
    `<script type="application/ld+json">{"@type":"Product","name":"P"}</script><h1>Shop</h1><a href="/x">link</a>
     <ul><li><b>One</b><i>1,50 €</i><a href="/1"></a></li><li><b>Two</b><i>20 €</i></li></ul><table><tr><th>k<th>v</tr><tr><td>a` +
      `<td>1</tr></table>`,
    [
      { type: 'extract', selectors: ['h1'], save_as: 'title' },
      { type: 'extract', selectors: ['a'], attribute: 'href' },
      { type: 'extract', selectors: ['li b'], list: true },
      {
        type: 'extract',
        selectors: ['#no', 'li'],
        list: true,
        fields: {
          name: { selectors: ['b'] },
          price: { selectors: ['i'], as: 'number' },
          url: { selectors: ['a'], as: 'url' },
          all: { selectors: ['b, i'], list: true },
          self: { as: 'html' },
        },
      },
      { type: 'extract', fields: { title: { selectors: ['aria/Shop'] }, none: { selectors: ['#no'] } } },
      { type: 'extract', table: true, selectors: ['table'] },
      { type: 'extract', json_ld: true },
      { type: 'extract', selectors: ['li'], list: true, limit: 1 },
      { type: 'extract', selectors: ['#no'], timeout_ms: 500 },
    ],
  );
  assert.deepEqual(outputs.slice(0, 3), ['Shop', `${page.site.url}/x`, ['One', 'Two']]);
  assert.deepEqual(outputs[3], [
    { name: 'One', price: 1.5, url: `${page.site.url}/1`, all: ['One', '1,50 €'], self: '<b>One</b><i>1,50 €</i><a href="/1"></a>' },
    { name: 'Two', price: 20, url: null, all: ['Two', '20 €'], self: '<b>Two</b><i>20 €</i>' },
  ]);
  assert.deepEqual(
    [results[3]?.selector_used, outputs[4], results[4]?.warnings],
    ['li', { title: 'Shop', none: null }, ['No match for the field none.']],
  );
  assert.deepEqual(
    [(outputs[5] as { rows: unknown }).rows, outputs[6], outputs[7]],
    [[['a', '1']], [{ '@type': 'Product', name: 'P' }], ['One1,50 €']],
  );
  assert.deepEqual(summarize(results.slice(8)), ['extract error not_found']);
});

it('capture steps return images, documents and texts of the page or a part of it', async () => {
  const { results, outputs } = await page.inPage('<h1>Hi</h1><p style="height:2000px"><a href="/a">there</a></p>', [
    { type: 'screenshot' },
    { type: 'screenshot', full_page: true, format: 'jpeg', quality: 20 },
    { type: 'screenshot', selectors: ['h1'] },
    { type: 'pdf' },
    { type: 'html', selectors: ['h1'] },
    { type: 'html' },
    { type: 'markdown' },
    { type: 'links' },
  ]);
  assertAllOk(results);
  type Image = { data_base64: string; height: number; content_type: string };
  const [view, full, part, pdf] = outputs as Image[];
  assert.deepEqual(
    [view?.height, (full?.height ?? 0) > 2000, (part?.height ?? 999) < 200, full?.content_type],
    [720, true, true, 'image/jpeg'],
  );
  assert.equal(
    Buffer.from(pdf?.data_base64 ?? '', 'base64')
      .subarray(0, 5)
      .toString(),
    '%PDF-',
  );
  assert.equal(outputs[4], '<h1>Hi</h1>');
  assert.match(String(outputs[5]), /<h1>Hi<\/h1>/);
  assert.match(String(outputs[6]), /^# Hi\n\n\[there\]/);
  assert.equal((outputs[7] as { url: string }[])[0]?.url, `${page.site.url}/a`);
});

it('a download step downloads by a click and by a URL', async () => {
  page.site.pages.set(
    '/file',
    (_, response) => void response.writeHead(200, { 'content-disposition': 'attachment; filename="a.bin"' }).end('12345'),
  );
  const { results, outputs } = await page.inPage('<a href="/file">get</a>', [
    { type: 'download', selectors: ['a'] },
    { type: 'download', url: `${page.site.url}/file` },
    { type: 'download', url: `${page.site.url}/` },
  ]);
  for (const output of outputs.slice(0, 2) as { file_name: string; bytes: number }[])
    assert.deepEqual([output.file_name, output.bytes], ['a.bin', 5]);
  assert.deepEqual(summarize(results), ['download ok', 'download ok', 'download error download_failed']);
});

it('dialogs are answered as the last dialog step says, and reported', async () => {
  const { results, outputs } = await page.inPage('<button onclick="a=confirm(1);b=prompt(\'who\')">x</button>', [
    { type: 'click', selectors: ['button'] },
    evaluate('[a, b]'),
    { type: 'dialog', text: 'Ann' },
    { type: 'click', selectors: ['button'] },
    evaluate('[a, b]'),
    { type: 'dialog', accept: false },
  ]);
  assert.deepEqual(
    [outputs[1], outputs[4]],
    [
      [false, null],
      [true, 'Ann'],
    ],
  );
  assert.deepEqual(results[0]?.warnings, ['dialog dismissed (confirm): 1', 'dialog dismissed (prompt): who']);
  assert.deepEqual(
    (outputs[5] as { seen: { accepted: boolean }[] }).seen.map(({ accepted }) => accepted),
    [true, true],
  );
});

it('steps set cookies, headers and the viewport', async () => {
  page.site.pages.set(
    '/echo',
    (request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(request.headers)),
  );
  const { results, outputs } = await page.inPage(
    '',
    [
      { type: 'set_cookie', name: 'c', value: '1', http_only: true },
      { type: 'set_header', name: 'X-One', value: '1' },
      { type: 'set_header', name: 'X-Two', value: '2' },
      { type: 'set_header', name: 'x-one', value: null },
      { type: 'set_viewport', width: 500, height: 400 },
      { type: 'navigate', url: `${page.site.url}/echo` },
      evaluate('[JSON.parse(document.body.innerText), innerWidth]'),
      { type: 'set_header', name: 'Host', value: '{{vars.x}}', on_error: 'continue' },
    ].slice(0, 7),
  );
  assertAllOk(results);
  const [headers, width] = outputs[6] as [Record<string, string>, number];
  assert.deepEqual([headers['cookie'], headers['x-one'], headers['x-two'], width], ['c=1', undefined, '2', 500]);
});

it('an evaluate step runs only when allowed', async () => {
  const { outputs, results } = await page.inPage('', [
    evaluate('Promise.resolve({ a: [1] })'),
    { type: 'evaluate', expression: 'nothing.here' },
  ]);
  assert.deepEqual([outputs[0], summarize(results)], [{ a: [1] }, ['evaluate ok', 'evaluate error script_failed']]);
  const refused = await page.inPage('', [evaluate('1'), { type: 'wait', function: '1' }], { allowEvaluate: false, stopOnError: false });
  assert.deepEqual(summarize(refused.results), ['evaluate error not_allowed', 'wait error not_allowed']);
});

it('an assert step waits for its condition, and reports the actual value', async () => {
  const { results } = await page.inPage(
    '<title>T</title><input id=f value=v><input type=checkbox id=c checked disabled><p class=x>one</p><p class=x hidden>two</p>' +
      '<script>setTimeout(()=>f.value="later",200)</script>',
    [
      { type: 'assert', text: 'one', title: 'T', url: '/' },
      { type: 'assert', selectors: ['#f'], value: 'later' },
      { type: 'assert', selectors: ['#c'], checked: true, enabled: false },
      { type: 'assert', selectors: ['.x'], count: 2 },
      { type: 'assert', selectors: ['.x'], count: { min: 1 }, text: 'o*e' },
      { type: 'assert', selectors: ['#none'], count: 0 },
      { type: 'assert', selectors: ['#none'], visible: false },
      { type: 'assert', selectors: ['p[hidden]'], visible: false },
      { type: 'assert', selectors: ['p'] },
      { type: 'assert', selectors: ['p'], text: 'other', timeout_ms: 1000, on_error: 'continue' },
      { type: 'assert', selectors: ['#none'], timeout_ms: 500, on_error: 'continue' },
      { type: 'assert', text: 'two', timeout_ms: 500 },
    ],
  );
  assertAllOk(results.slice(0, 9));
  assert.deepEqual(summarize(results.slice(9)), Array(3).fill('assert error assertion_failed'));
  assert.match(results[9]?.error?.message ?? '', /its text should match other and is "one"/);
});

it('a loop over elements locates each again after a navigation', async () => {
  page.site.pages.set('/item', '<title>item</title><p>detail</p>');
  const { results, vars } = await page.inPage(
    '<ul><li><b>a</b><a href="/item?1">open</a></li><li><b>b</b><a href="/item?2">open</a></li></ul>',
    [
      {
        type: 'for_each',
        selectors: ['#none', 'li'],
        as: 'row',
        steps: [
          { type: 'extract', selectors: ['b'], within: 'row', save_as: 'names[]' },
          { type: 'click', selectors: ['text/open'], within: 'row' },
          { type: 'assert', url: '{{vars.row.href}}', text: 'detail' },
          { type: 'back' },
        ],
      },
      { type: 'if', if: { exists: ['li'], not_exists: ['#none'], text: 'open' }, steps: [{ type: 'wait', ms: 0 }] },
      { type: 'if', if: { exists: ['#none'] }, steps: [], else: [{ type: 'wait', ms: 0 }] },
    ],
  );
  assertAllOk(results);
  assert.deepEqual([vars['names'], (vars['row'] as { index: number; text: string }).index], [['a', 'b'], 1]);
  assert.deepEqual(
    results.slice(1).map(({ output }) => (output as { branch: string }).branch),
    ['if', 'else'],
  );
});

it('steps follow tabs that steps open', async () => {
  page.site.pages.set('/pop', '<title>pop</title><p>popped</p>');
  const { results, outputs } = await page.inPage('<title>opener</title><a href="/pop" target=_blank>pop</a>', [
    { type: 'click', selectors: ['a'], id: 'opens' },
    { type: 'extract', selectors: ['p'], tab: 'opened_by:opens' },
    { type: 'extract', selectors: ['p'], tab: 'newest' },
    evaluate('document.title'),
  ]);
  assertAllOk(results);
  assert.deepEqual(outputs.slice(1), ['popped', 'popped', 'opener']);
  for (const tab of page.launched.browser.tabs().slice(1))
    await page.launched.browser.closeTab(tab.tabId, { signal: AbortSignal.timeout(20_000) });
});
