import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRedirect, parseRefresh, refreshOf } from './refresh.ts';

test('a refresh is parsed as the HTML standard has it', () => {
  for (const [value, delayMs, target] of [
    ['0;url=/a', 0, '/a'],
    [' 5 ; URL = /a ', 5000, '/a'],
    ['5,/a', 5000, '/a'],
    ['5 /a', 5000, '/a'],
    ['5;\nurl="/a b" more', 5000, '/a b'],
    ["5;url='/a", 5000, '/a'],
    ['5;"/a"', 5000, '/a'],
    ['5;urls/a', 5000, 'urls/a'],
    ['5;url', 5000, 'url'],
    ['2.9.9;url=/a', 2000, '/a'],
    ['.5;url=/a', 0, '/a'],
    ['7', 7000, ''],
    ['7;', 7000, ''],
    ['7;url=', 7000, ''],
  ] as const)
    assert.deepEqual(parseRefresh(value), { delayMs, target }, JSON.stringify(value));
  for (const value of ['', 'url=/a', '-1;url=/a', '+1;url=/a', '5x;url=/a', '/a']) assert.equal(parseRefresh(value), null, value);
});

test('the shortest refresh to a web address is obeyed, of equal ones the last', () => {
  const from = 'http://site.example/a?b#c';
  const of = (...values: string[]): unknown => refreshOf(values, { base: null, from });
  assert.deepEqual(of('3;/x', '1;/y', '1;/z', '2'), { delayMs: 1000, url: 'http://site.example/z' });
  assert.deepEqual(of('3;url=javascript:go()', '4;mailto:a@b.example', '5;data:,x', 'none'), null);
  assert.deepEqual(of('5'), { delayMs: 5000, url: from });
  assert.deepEqual(refreshOf(['0;x'], { base: '/deep/', from }), { delayMs: 0, url: 'http://site.example/deep/x' });
  assert.equal(refreshOf(['0;http://[/'], { base: 'http://[', from }), null);
});

test('a refresh to another address in time is a redirect, and one to the same address only within a second', () => {
  const from = 'http://site.example/a';
  const follows = (delayMs: number, url: string): boolean => isRedirect({ delayMs, url }, { from, withinMs: 5000 });
  assert.deepEqual(
    [follows(1000, `${from}#part`), follows(2000, from), follows(5000, `${from}?b`), follows(6000, `${from}?b`)],
    [true, false, true, false],
  );
});
