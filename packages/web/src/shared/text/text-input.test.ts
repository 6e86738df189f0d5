import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTextInput, splitText } from './text-input.ts';

test('text input reads what soft keyboards type and delete', () => {
  assert.deepEqual(parseTextInput('insertText', 'é'), { kind: 'text', text: 'é' });
  assert.deepEqual(parseTextInput('insertLineBreak', null), { kind: 'key', key: 'Enter', isWord: false });
  assert.deepEqual(parseTextInput('deleteContentBackward', null), { kind: 'key', key: 'Backspace', isWord: false });
  assert.deepEqual(parseTextInput('deleteWordBackward', null), { kind: 'key', key: 'Backspace', isWord: true });
  assert.deepEqual(parseTextInput('deleteContentForward', null), { kind: 'key', key: 'Delete', isWord: false });
});

test('text input ignores compositions and pastes', () => {
  for (const type of ['insertCompositionText', 'insertFromComposition', 'deleteCompositionText', 'insertFromPaste', 'historyUndo']) {
    assert.equal(parseTextInput(type, 'x'), undefined, type);
  }
  assert.equal(parseTextInput('insertText', null), undefined);
});

test('text input splits a long text without cutting a character', () => {
  assert.deepEqual(splitText('abcde', 2), ['ab', 'cd', 'e']);
  assert.deepEqual(splitText('a😀b😀', 2), ['a', '😀', 'b', '😀']);
  assert.deepEqual(splitText('', 2), []);
});

test('splitting a text ends also when a single character is longer than a part', () => {
  assert.equal(splitText('😀', 1).join(''), '😀');
});
