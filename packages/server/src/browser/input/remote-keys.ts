/**
 * A key as the keyboard of a person far away gives it, and what DevTools is
 * told of it. Keyboards of all countries come here: what a key types is what
 * the person's own system says, where it is only helps to number it.
 */
import type { Params } from '../cdp/connection.ts';
import { findKey, withShift } from './keyboard-layout.ts';
import type { Hands } from '../screencast/model.ts';

export type HandKey = Parameters<Hands['key']>[0];
export type KeyOrder = Params<'Input.dispatchKeyEvent'>;

const bits = { alt: 1, control: 2, meta: 4, shift: 8 } as const;
/** The browser takes no longer text for one key. */
const longestText = 4;
/** What the key does is not known yet, or an input method has it. */
const undecided = new Set(['Dead', 'Process', 'Unidentified', 'Compose']);
const altGraphCode = 225;

/** Null for a key that means nothing to the page by itself. */
export function keyOrder({ action, key, code, modifiers, repeat, location }: HandKey): KeyOrder | null {
  const named = /^[A-Z][A-Za-z0-9]+$/.test(key);
  if (undecided.has(key) || key === '' || (!named && key.length > longestText)) return null;
  const number = named ? numberOfName(key, code) : numberOfSign(key, code);
  if (number === null) return null;
  const written = !named && choosesSign(key, code, modifiers);
  // What a key of the third or fourth level types is no shortcut to the page.
  const told = written ? modifiers & ~(bits.alt | bits.control) : modifiers;
  const event = {
    key,
    code,
    modifiers: told,
    location,
    isKeypad: location === 3,
    windowsVirtualKeyCode: number,
    nativeVirtualKeyCode: number,
  };
  if (action === 'up') return { ...event, type: 'keyUp' };
  const text = (told & (bits.alt | bits.control | bits.meta)) !== 0 ? '' : named ? (findKey(key)?.text ?? '') : key;
  const autoRepeat = repeat;
  return text === '' ? { ...event, type: 'rawKeyDown', autoRepeat } : { ...event, type: 'keyDown', autoRepeat, text, unmodifiedText: text };
}

/** Null for keys of players, phones and input methods, which no page waits for. */
function numberOfName(name: string, code: string): number | null {
  if (name === 'AltGraph') return altGraphCode;
  const placed = findKey(code);
  // Left and right have numbers of their own, where they have.
  if (placed?.key === name) return placed.keyCode;
  return findKey(name)?.keyCode ?? null;
}

/** Letters and digits are numbered by what they are, whatever their place; other signs by the place, as on the keyboard of the person. */
function numberOfSign(sign: string, code: string): number {
  const placed = findKey(code);
  if (placed?.location === 3) return placed.keyCode;
  if (/^[a-z0-9]$/i.test(sign)) return sign.toUpperCase().charCodeAt(0);
  return placed?.keyCode ?? findKey(sign)?.keyCode ?? 0;
}

/**
 * Whether Alt, alone or with Control, was held to get at this sign, as AltGr
 * and the Mac's Option do. Then it is not the key's own, which a shortcut's is.
 */
function choosesSign(sign: string, code: string, modifiers: number): boolean {
  if ((modifiers & bits.alt) === 0 || (modifiers & bits.meta) !== 0 || /^[a-z0-9]$/i.test(sign)) return false;
  const placed = findKey(code);
  return placed === undefined || (placed.key !== sign && withShift(placed).key !== sign);
}
