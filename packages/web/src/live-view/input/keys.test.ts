import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PressedKeys, meaningOf, type KeyPress } from './keys.ts';

const press = (key: string, code: string, more: Partial<KeyPress> = {}): KeyPress => ({
  key,
  code,
  location: 0,
  repeat: false,
  altKey: false,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  isAltGraph: false,
  isComposing: false,
  ...more,
});

describe('what a key means', () => {
  it('a key of the live view goes to the page, Tab and Escape too, and F6 alone leaves', () => {
    assert.equal(meaningOf(press('Tab', 'Tab')), 'send');
    assert.equal(meaningOf(press('Escape', 'Escape')), 'send');
    assert.equal(meaningOf(press('F6', 'F6')), 'leave');
    assert.equal(meaningOf(press('F6', 'F6', { shiftKey: true })), 'leave');
  });

  it('keys for full screen and tools stay with the person’s browser', () => {
    assert.equal(meaningOf(press('F11', 'F11')), 'local');
    assert.equal(meaningOf(press('F12', 'F12')), 'local');
  });

  it('keys of an input method, a dead key or a soft keyboard are left to the text field', () => {
    assert.equal(meaningOf(press('Process', 'KeyA')), 'typing');
    assert.equal(meaningOf(press('Dead', 'BracketLeft')), 'typing');
    assert.equal(meaningOf(press('Unidentified', '')), 'typing');
    assert.equal(meaningOf(press('a', 'KeyA', { isComposing: true })), 'typing');
  });

  it('copy, cut and paste are recognized on every keyboard', () => {
    for (const pressed of [{ ctrlKey: true }, { metaKey: true }]) {
      assert.equal(meaningOf(press('c', 'KeyC', pressed)), 'copy');
      assert.equal(meaningOf(press('x', 'KeyX', pressed)), 'cut');
      assert.equal(meaningOf(press('v', 'KeyV', pressed)), 'paste');
      assert.equal(meaningOf(press('V', 'KeyV', { ...pressed, shiftKey: true })), 'paste');
    }
    assert.equal(meaningOf(press('Insert', 'Insert', { shiftKey: true })), 'paste');
    assert.equal(meaningOf(press('Insert', 'Insert', { ctrlKey: true })), 'copy');
    assert.equal(meaningOf(press('c', 'KeyC')), 'send');
    assert.equal(meaningOf(press('C', 'KeyC', { ctrlKey: true, shiftKey: true })), 'send');
    assert.equal(meaningOf(press('v', 'KeyV', { ctrlKey: true, altKey: true, isAltGraph: true })), 'send');
  });
});

describe('pressed keys', () => {
  it('pressed keys report modifiers as DevTools bits', () => {
    const keys = new PressedKeys({ isMac: false });
    assert.deepEqual(keys.down(press('A', 'KeyA', { shiftKey: true, ctrlKey: true })), {
      type: 'key',
      action: 'down',
      key: 'A',
      code: 'KeyA',
      location: 0,
      repeat: false,
      modifiers: 2 | 8,
    });
    assert.equal(keys.modifiers(press('a', 'KeyA', { altKey: true, metaKey: true })), 1 | 4);
  });

  it('pressed keys come up with the name under which they went down', () => {
    const keys = new PressedKeys({ isMac: false });
    keys.down(press('A', 'KeyA', { shiftKey: true }));
    const [up] = keys.up(press('a', 'KeyA'));
    assert.deepEqual([up?.action, up?.key, up?.modifiers], ['up', 'A', 0]);
    assert.deepEqual(keys.up(press('a', 'KeyA')), []);
  });

  it('pressed keys come up when the focus goes, once', () => {
    const keys = new PressedKeys({ isMac: false });
    keys.down(press('Shift', 'ShiftLeft', { shiftKey: true, location: 1 }));
    keys.down(press('ArrowDown', 'ArrowDown', { shiftKey: true }));
    keys.down(press('ArrowDown', 'ArrowDown', { shiftKey: true, repeat: true }));
    assert.deepEqual(
      keys.releaseAll().map(({ action, key, location }) => [action, key, location]),
      [
        ['up', 'Shift', 1],
        ['up', 'ArrowDown', 0],
      ],
    );
    assert.deepEqual(keys.releaseAll(), []);
  });

  it('pressed keys type what AltGr makes, without Control and Alt', () => {
    const keys = new PressedKeys({ isMac: false });
    assert.equal(keys.down(press('AltGraph', 'AltRight', { isAltGraph: true })), undefined);
    const at = keys.down(press('@', 'KeyQ', { ctrlKey: true, altKey: true, isAltGraph: true }));
    assert.deepEqual([at?.key, at?.modifiers], ['@', 0]);
  });

  it('pressed keys turn Command into Control, and come up with it, whose keys a Mac never releases', () => {
    const keys = new PressedKeys({ isMac: true });
    const command = keys.down(press('Meta', 'MetaLeft', { metaKey: true }));
    assert.deepEqual([command?.key, command?.code, command?.modifiers], ['Control', 'ControlLeft', 2]);
    assert.equal(keys.down(press('a', 'KeyA', { metaKey: true }))?.modifiers, 2);
    assert.deepEqual(
      keys.up(press('Meta', 'MetaLeft')).map(({ key }) => key),
      ['a', 'Control'],
    );
  });

  it('pressed keys type what Option makes on a Mac, and keep Alt elsewhere', () => {
    assert.equal(new PressedKeys({ isMac: true }).modifiers(press('ø', 'KeyO', { altKey: true })), 0);
    assert.equal(new PressedKeys({ isMac: true }).modifiers(press('ArrowLeft', 'ArrowLeft', { altKey: true })), 1);
    assert.equal(new PressedKeys({ isMac: false }).modifiers(press('f', 'KeyF', { altKey: true })), 1);
  });

  it('pressed keys leave out names that are longer than any key has', () => {
    assert.equal(new PressedKeys({ isMac: false }).down(press('x'.repeat(65), 'KeyX')), undefined);
  });
});
