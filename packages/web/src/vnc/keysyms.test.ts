import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keysymOfKey, keysymsOfText } from './keysyms.ts';

test('keysyms number characters as X11 does', () => {
  assert.deepEqual(keysymsOfText('aé'), [0x61, 0xe9]);
  assert.deepEqual(keysymsOfText('я日😀'), [0x100044f, 0x10065e5, 0x101f600]);
});

test('keysyms press Enter and Tab, and no other control character', () => {
  assert.deepEqual(keysymsOfText('a\r\nb\tc\u0007\u0090'), [0x61, 0xff0d, 0x62, 0xff09, 0x63]);
});

test('keysyms know keys that type nothing by their names', () => {
  assert.equal(keysymOfKey('Backspace'), 0xff08);
  assert.equal(keysymOfKey('a'), undefined);
  assert.equal(keysymOfKey('constructor'), undefined);
});
