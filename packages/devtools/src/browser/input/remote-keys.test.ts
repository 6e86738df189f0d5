import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toKeyEventParams, type RemoteKeyEvent } from './remote-keys.ts';

const [alt, control, meta, shift] = [1, 2, 4, 8];
const down = (key: string, code: string, modifiers = 0, location = 0): RemoteKeyEvent => ({
  action: 'down',
  key,
  code,
  modifiers,
  repeat: false,
  location,
});
/** Key code, text and modifiers of the event. */
const eventOf = (event: RemoteKeyEvent): (string | number | undefined)[] | null => {
  const params = toKeyEventParams(event);
  return params && [params.windowsVirtualKeyCode, params.text ?? '', params.modifiers];
};

describe('a remote key', () => {
  it('a remote key types what the remote keyboard says it types', () => {
    for (const [event, wanted] of [
      [down('a', 'KeyA'), [65, 'a', 0]],
      [down('A', 'KeyA', shift), [65, 'A', shift]],
      [down('1', 'Digit1'), [49, '1', 0]],
      [down('!', 'Digit1', shift), [49, '!', shift]],
      [down(' ', 'Space'), [32, ' ', 0]],
      [down('Enter', 'Enter'), [13, '\r', 0]],
      [down('Enter', 'NumpadEnter', 0, 3), [13, '\r', 0]],
      [down('7', 'Numpad7', 0, 3), [103, '7', 0]],
      [down('+', 'NumpadAdd', 0, 3), [107, '+', 0]],
      // German: z and y change places, ß stands where the US has a minus.
      [down('z', 'KeyY'), [90, 'z', 0]],
      [down('ß', 'Minus'), [189, 'ß', 0]],
      [down('ö', 'Semicolon'), [186, 'ö', 0]],
      // French: digits need Shift.
      [down('é', 'Digit2'), [50, 'é', 0]],
      [down('2', 'Digit2', shift), [50, '2', shift]],
      [down('ф', 'KeyA'), [65, 'ф', 0]],
      [down('你', ''), [0, '你', 0]],
      [down('🦊', 'Unidentified'), [0, '🦊', 0]],
      [down('IntlBackslash', 'IntlBackslash'), null],
      [down('<', 'IntlBackslash'), [188, '<', 0]],
    ] as const)
      assert.deepEqual(eventOf(event), wanted, JSON.stringify(event));
  });

  it('a remote key with Control, Alt or the Mac key is a shortcut, and types nothing', () => {
    for (const [event, wanted] of [
      [down('a', 'KeyA', control), [65, '', control]],
      [down('z', 'KeyY', control), [90, '', control]],
      [down('с', 'KeyC', control), [67, '', control]],
      [down('c', 'KeyC', meta), [67, '', meta]],
      [down('a', 'KeyA', alt), [65, '', alt]],
      [down('t', 'KeyT', control | alt), [84, '', control | alt]],
      [down('=', 'Equal', alt), [187, '', alt]],
      [down('Enter', 'Enter', control), [13, '', control]],
      [down('Tab', 'Tab', shift), [9, '', shift]],
    ] as const)
      assert.deepEqual(eventOf(event), wanted, JSON.stringify(event));
  });

  it('a remote key types the sign of the third level, without the modifiers that led to it', () => {
    for (const [event, wanted] of [
      [down('@', 'KeyQ', control | alt), [81, '@', 0]],
      [down('€', 'KeyE', control | alt), [69, '€', 0]],
      [down('@', 'KeyL', alt), [76, '@', 0]],
      [down('{', 'Digit7', control | alt), [55, '{', 0]],
      [down('@', 'KeyQ'), [81, '@', 0]],
    ] as const)
      assert.deepEqual(eventOf(event), wanted, JSON.stringify(event));
  });

  it('a remote key has the key code of its name and its side', () => {
    for (const [event, wanted] of [
      [down('Home', 'Numpad7', 0, 3), [36, '', 0]],
      [down('Delete', 'NumpadDecimal', 0, 3), [46, '', 0]],
      [down('ArrowLeft', 'ArrowLeft'), [37, '', 0]],
      [down('F11', 'F11'), [122, '', 0]],
      [down('Shift', 'ShiftRight', shift, 2), [16, '', shift]],
      [down('Meta', 'MetaRight', meta, 2), [92, '', meta]],
      [down('AltGraph', 'AltRight', 0, 2), [225, '', 0]],
      [down('Backspace', 'Backspace'), [8, '', 0]],
    ] as const)
      assert.deepEqual(eventOf(event), wanted, JSON.stringify(event));
    assert.equal(toKeyEventParams(down('Home', 'Numpad7', 0, 3))?.isKeypad, true);
  });

  it('a remote key that means nothing by itself is left out', () => {
    for (const key of ['Dead', 'Process', 'Unidentified', 'Compose', '', 'AudioVolumeUp', 'Nothing', 'x'.repeat(5)])
      assert.equal(toKeyEventParams(down(key, 'KeyA')), null, key);
  });

  it('a remote key goes up as it went down, and repeats', () => {
    assert.deepEqual(toKeyEventParams({ ...down('A', 'KeyA', shift), action: 'up' }), {
      type: 'keyUp',
      key: 'A',
      code: 'KeyA',
      modifiers: shift,
      location: 0,
      isKeypad: false,
      windowsVirtualKeyCode: 65,
    });
    assert.equal(toKeyEventParams({ ...down('a', 'KeyA'), repeat: true })?.autoRepeat, true);
  });
});
