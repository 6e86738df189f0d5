import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shortcutOf } from './shortcuts.ts';

const plain = { ctrlKey: false, metaKey: false, altKey: false, isTyping: false };

describe('shortcuts', () => {
  it('shortcuts open the palette with either modifier, also while typing', () => {
    assert.equal(shortcutOf({ ...plain, key: 'k', ctrlKey: true, isTyping: true }), 'palette');
    assert.equal(shortcutOf({ ...plain, key: 'K', metaKey: true }), 'palette');
  });

  it('shortcuts leave typed characters and other combinations alone', () => {
    assert.equal(shortcutOf({ ...plain, key: '?', isTyping: true }), null);
    assert.equal(shortcutOf({ ...plain, key: 'k' }), null);
    assert.equal(shortcutOf({ ...plain, key: 'k', ctrlKey: true, altKey: true }), null);
    assert.equal(shortcutOf({ ...plain, key: 'k', ctrlKey: true, metaKey: true }), null);
    assert.equal(shortcutOf({ ...plain, key: '/', ctrlKey: true }), null);
  });

  it('shortcuts open the help and the filter where nothing is typed', () => {
    assert.equal(shortcutOf({ ...plain, key: '?' }), 'help');
    assert.equal(shortcutOf({ ...plain, key: '/' }), 'filter');
  });
});
