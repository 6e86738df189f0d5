import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTextInput, splitText } from './text-input.ts';

test('reads what soft keyboards type and delete', () => {
  assert.deepEqual(readTextInput('insertText', 'é'), { kind: 'text', text: 'é' });
  assert.deepEqual(readTextInput('insertLineBreak', null), { kind: 'key', key: 'Enter', isWord: false });
  assert.deepEqual(readTextInput('deleteContentBackward', null), { kind: 'key', key: 'Backspace', isWord: false });
  assert.deepEqual(readTextInput('deleteWordBackward', null), { kind: 'key', key: 'Backspace', isWord: true });
  assert.deepEqual(readTextInput('deleteContentForward', null), { kind: 'key', key: 'Delete', isWord: false });
});

test('leaves compositions and pastes to those who tell them', () => {
  for (const type of ['insertCompositionText', 'insertFromComposition', 'deleteCompositionText', 'insertFromPaste', 'historyUndo']) {
    assert.equal(readTextInput(type, 'x'), undefined, type);
  }
  assert.equal(readTextInput('insertText', null), undefined);
});

test('splits a long text without tearing a character', () => {
  assert.deepEqual(splitText('abcde', 2), ['ab', 'cd', 'e']);
  assert.deepEqual(splitText('a😀b😀', 2), ['a', '😀', 'b', '😀']);
  assert.deepEqual(splitText('', 2), []);
});

test('ends also when a single character is longer than a part', () => {
  assert.equal(splitText('😀', 1).join(''), '😀');
});
