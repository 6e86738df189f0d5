/**
 * Converts a remote keyboard event into a DevTools key event. Keyboards have any
 * layout: the text is what the remote system reports; the `code` only helps to
 * find the key code.
 */
import type { Params } from '../cdp/connection.ts';
import { findKey, withShift } from './keyboard-layout.ts';
import type { RemoteInput } from '../screencast/model.ts';

export type RemoteKeyEvent = Parameters<RemoteInput['key']>[0];
type KeyEventParams = Params<'Input.dispatchKeyEvent'>;

const bits = { alt: 1, control: 2, meta: 4, shift: 8 } as const;
/** The browser's limit for the text of one key. */
const textCharsMax = 4;
/** The effect of the key is not known yet, or an input method handles it. */
const undecidedKeys = new Set(['Dead', 'Process', 'Unidentified', 'Compose']);
const altGraphCode = 225;

/** Returns null for a key that has no effect on the page by itself. */
export function toKeyEventParams({ action, key, code, modifiers, repeat, location }: RemoteKeyEvent): KeyEventParams | null {
  const isNamed = /^[A-Z][A-Za-z0-9]+$/.test(key);
  if (undecidedKeys.has(key) || key === '' || (!isNamed && key.length > textCharsMax)) return null;
  const keyCode = isNamed ? keyCodeOfName(key, code) : keyCodeOfCharacter(key, code);
  if (keyCode === null) return null;
  const isAltGrText = !isNamed && isAltGrCharacter(key, code, modifiers);
  // A character typed with AltGr or Option must not look like a shortcut to the page.
  const eventModifiers = isAltGrText ? modifiers & ~(bits.alt | bits.control) : modifiers;
  const event = {
    key,
    code,
    modifiers: eventModifiers,
    location,
    isKeypad: location === 3,
    windowsVirtualKeyCode: keyCode,
    nativeVirtualKeyCode: keyCode,
  };
  if (action === 'up') return { ...event, type: 'keyUp' };
  const text = (eventModifiers & (bits.alt | bits.control | bits.meta)) !== 0 ? '' : isNamed ? (findKey(key)?.text ?? '') : key;
  const autoRepeat = repeat;
  return text === '' ? { ...event, type: 'rawKeyDown', autoRepeat } : { ...event, type: 'keyDown', autoRepeat, text, unmodifiedText: text };
}

/** Returns null for keys of media players, phones and input methods, which pages do not use. */
function keyCodeOfName(name: string, code: string): number | null {
  if (name === 'AltGraph') return altGraphCode;
  const placed = findKey(code);
  // Left and right keys may have key codes of their own.
  if (placed?.key === name) return placed.keyCode;
  return findKey(name)?.keyCode ?? null;
}

/** Letters and digits have the key code of the character; other characters that of the key's `code`, as on the remote keyboard. */
function keyCodeOfCharacter(character: string, code: string): number {
  const placed = findKey(code);
  if (placed?.location === 3) return placed.keyCode;
  if (/^[a-z0-9]$/i.test(character)) return character.toUpperCase().charCodeAt(0);
  return placed?.keyCode ?? findKey(character)?.keyCode ?? 0;
}

/**
 * Whether the character was typed with Alt, alone or with Control, as AltGr and
 * the Mac's Option do. It then differs from the key's own, unlike in a shortcut.
 */
function isAltGrCharacter(character: string, code: string, modifiers: number): boolean {
  if ((modifiers & bits.alt) === 0 || (modifiers & bits.meta) !== 0 || /^[a-z0-9]$/i.test(character)) return false;
  const placed = findKey(code);
  return placed === undefined || (placed.key !== character && withShift(placed).key !== character);
}
