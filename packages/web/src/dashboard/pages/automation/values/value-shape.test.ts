import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shapeOf, titleOf, toHref } from './value-shape.ts';

test('a link in a result leads to the web and nowhere else', () => {
  for (const url of ['https://a.example/?q=1#b', 'http://127.0.0.1:80']) assert.equal(toHref(url), url);
  for (const url of [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,<script>',
    'file:///etc/passwd',
    'blob:https://a/b',
    '//a.example',
    'https://',
    'https://a b',
    'see https://a.example',
    ' https://a.example',
    '',
  ])
    assert.equal(toHref(url), undefined, url);
});

test('rows of flat values are shown as a table with all columns that occur', () => {
  assert.deepEqual(shapeOf([{ a: 1 }, { b: null }]), { kind: 'table', columns: ['a', 'b'], rows: [{ a: 1 }, { b: null }] });
  assert.equal(shapeOf([{ a: {} }]).kind, 'json');
  assert.equal(shapeOf([]).kind, 'json');
  assert.equal(shapeOf([Object.fromEntries(Array.from({ length: 13 }, (_, n) => [`c${n}`, n]))]).kind, 'json');
  assert.deepEqual(shapeOf(['a', 'b']), { kind: 'list', items: ['a', 'b'] });
});

test('a table of a page is shown by position, and a list of them as all of them', () => {
  const table = { caption: null, headers: ['a', 'a'], rows: [['1', '2']] };
  assert.deepEqual(shapeOf(table), { kind: 'cells', tables: [table] });
  assert.deepEqual(shapeOf([table]), { kind: 'cells', tables: [table] });
  assert.equal(shapeOf({ ...table, rows: [[1]] }).kind, 'group');
});

test('bytes are shown as a picture only where their type is one that cannot run scripts', () => {
  const kindOf = (content_type: unknown) => shapeOf({ data_base64: 'AA==', content_type }).kind;
  for (const type of ['image/png', 'image/jpeg', 'image/webp']) assert.equal(kindOf(type), 'picture', type);
  for (const type of ['image/svg+xml', 'text/html', 'application/pdf', null, 7]) assert.equal(kindOf(type), 'file', String(type));
  assert.deepEqual(shapeOf({ data_base64: 'AA==', content_type: 'image/png', width: 2 }), {
    kind: 'picture',
    contentType: 'image/png',
    tiles: ['AA=='],
    notes: [['width', 2]],
  });
  const tiles = [{ data_base64: 'AA==' }, { data_base64: 'AQ==' }];
  const tall = shapeOf({ data_base64: null, content_type: 'image/png', tiles });
  assert.deepEqual(tall.kind === 'picture' && tall.tiles, ['AA==', 'AQ==']);
  assert.equal(kindOf('image/png') === 'picture' && shapeOf({ data_base64: null, content_type: 'image/png', tiles: [7] }).kind, 'group');
});

test('objects are shown as groups down to the second level, then as JSON', () => {
  assert.deepEqual(shapeOf({ a: 1 }), { kind: 'group', entries: [['a', 1]] });
  assert.equal(shapeOf({ a: 1 }, 2).kind, 'json');
});

test('plain values are shown as texts', () => {
  assert.deepEqual(
    [7, true, 'a'].map((value) => shapeOf(value)),
    [
      { kind: 'text', text: '7' },
      { kind: 'text', text: 'true' },
      { kind: 'text', text: 'a' },
    ],
  );
  assert.deepEqual(shapeOf(null), { kind: 'json', value: null });
});

test('fields of a result are named in words, with short forms written as such', () => {
  assert.deepEqual(['final_url', 'http_status', 'open-graph', 'id', 'price'].map(titleOf), [
    'Final URL',
    'HTTP status',
    'Open graph',
    'ID',
    'Price',
  ]);
});
