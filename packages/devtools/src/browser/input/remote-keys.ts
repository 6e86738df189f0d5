/**
 * Converts a remote keyboard event into a DevTools key event. Keyboards have any
 * layout: the text is what the remote system reports; the `code` only helps to
 * find the key code.
 */
import type { Params } from '../cdp/connection.ts';
import type { RemoteInput } from '../screencast/clients.ts';

/** The US keyboard: the names of each key, its event properties and the text it types. */

export interface Key {
  /** `KeyboardEvent.code`: where the key is. */
  code: string;
  /** `KeyboardEvent.key`: what it means. */
  key: string;
  /** `KeyboardEvent.keyCode`, as Windows numbers keys. */
  keyCode: number;
  /** The text that the key types; empty for a key that types nothing. */
  text: string;
  /** 0 everywhere, 1 left, 2 right, 3 on the keypad. */
  location: 0 | 1 | 2 | 3;
  /** Whether it needs Shift. */
  shifted: boolean;
}

const plain = (code: string, key: string, keyCode: number): Key => ({ code, key, keyCode, text: '', location: 0, shifted: false });
const typing = (code: string, text: string, keyCode: number): Key => ({ ...plain(code, text, keyCode), text });

/** Code, key code, what it types alone and with Shift. */
const symbols: readonly (readonly [string, number, string])[] = [
  ['Backquote', 192, '`~'],
  ['Digit1', 49, '1!'],
  ['Digit2', 50, '2@'],
  ['Digit3', 51, '3#'],
  ['Digit4', 52, '4$'],
  ['Digit5', 53, '5%'],
  ['Digit6', 54, '6^'],
  ['Digit7', 55, '7&'],
  ['Digit8', 56, '8*'],
  ['Digit9', 57, '9('],
  ['Digit0', 48, '0)'],
  ['Minus', 189, '-_'],
  ['Equal', 187, '=+'],
  ['BracketLeft', 219, '[{'],
  ['BracketRight', 221, ']}'],
  ['Backslash', 220, '\\|'],
  ['Semicolon', 186, ';:'],
  ['Quote', 222, `'"`],
  ['Comma', 188, ',<'],
  ['Period', 190, '.>'],
  ['Slash', 191, '/?'],
  ...[...'abcdefghijklmnopqrstuvwxyz'].map((letter) => {
    const upper = letter.toUpperCase();
    return [`Key${upper}`, upper.charCodeAt(0), letter + upper] as const;
  }),
];

/** Keys whose `key` and `code` are the same word. */
const named: readonly (readonly [string, number])[] = [
  ['Escape', 27],
  ['Backspace', 8],
  ['Tab', 9],
  ['CapsLock', 20],
  ['PageUp', 33],
  ['PageDown', 34],
  ['End', 35],
  ['Home', 36],
  ['ArrowLeft', 37],
  ['ArrowUp', 38],
  ['ArrowRight', 39],
  ['ArrowDown', 40],
  ['PrintScreen', 44],
  ['Insert', 45],
  ['Delete', 46],
  ['ContextMenu', 93],
  ['NumLock', 144],
  ['ScrollLock', 145],
  ['Pause', 19],
  ...Array.from({ length: 24 }, (_, index) => [`F${index + 1}`, 112 + index] as const),
];

const modifiers: readonly (readonly [string, number, number])[] = [
  ['Shift', 16, 16],
  ['Control', 17, 17],
  ['Alt', 18, 18],
  ['Meta', 91, 92],
];

const keypad: readonly (readonly [string, number, string])[] = [
  ...Array.from({ length: 10 }, (_, digit) => [`Numpad${digit}`, 96 + digit, String(digit)] as const),
  ['NumpadMultiply', 106, '*'],
  ['NumpadAdd', 107, '+'],
  ['NumpadSubtract', 109, '-'],
  ['NumpadDecimal', 110, '.'],
  ['NumpadDivide', 111, '/'],
];

/** What X11 calls the characters of ASCII that are neither letters nor digits, in their order. */
const x11Symbols = [
  ...zip(
    '!"#$%&\'()*+,-./',
    'exclam quotedbl numbersign dollar percent ampersand apostrophe parenleft parenright asterisk plus comma minus period slash',
  ),
  ...zip(':;<=>?@', 'colon semicolon less equal greater question at'),
  ...zip('[\\]^_`{|}~', 'bracketleft backslash bracketright asciicircum underscore grave braceleft bar braceright asciitilde'),
];

function zip(characters: string, names: string): [name: string, character: string][] {
  return names.split(' ').map((name, index) => [name, characters[index] ?? '']);
}

/** Other common names of a key, in lower case. */
const aliases: Readonly<Record<string, string>> = {
  return: 'Enter',
  esc: 'Escape',
  del: 'Delete',
  ins: 'Insert',
  space: ' ',
  spacebar: ' ',
  up: 'ArrowUp',
  down: 'ArrowDown',
  left: 'ArrowLeft',
  right: 'ArrowRight',
  pgup: 'PageUp',
  pgdn: 'PageDown',
  ctrl: 'Control',
  controlormeta: 'Control',
  cmd: 'Meta',
  command: 'Meta',
  super: 'Meta',
  win: 'Meta',
  option: 'Alt',
  ...x11Names(),
};

/** The names of X11, which tools for the keyboard of a display use. */
function x11Names(): Record<string, string> {
  const sides = ['Shift', 'Control', 'Alt', 'Meta'].flatMap((name) => [
    [`${name}_L`, `${name}Left`],
    [`${name}_R`, `${name}Right`],
  ]);
  const keypad = [...Array.from({ length: 10 }, (_, digit) => String(digit)), 'Enter', 'Add', 'Subtract', 'Multiply', 'Divide', 'Decimal'];
  const names = [
    ...sides,
    ['Super_L', 'MetaLeft'],
    ['Super_R', 'MetaRight'],
    ...keypad.map((name) => [`KP_${name}`, `Numpad${name}`]),
    ...Object.entries({ Page_Up: 'PageUp', Page_Down: 'PageDown', Prior: 'PageUp', Next: 'PageDown', Menu: 'ContextMenu' }),
    ...Object.entries({ Caps_Lock: 'CapsLock', Num_Lock: 'NumLock', Scroll_Lock: 'ScrollLock', Print: 'PrintScreen' }),
    ...x11Symbols,
  ];
  return Object.fromEntries(names.map(([name = '', key = '']) => [name.toLowerCase(), key]));
}

/** The keys by `key` and by `code`. Where two keys have the same `key`, the common one is stored under it. */
const keys = new Map<string, Key>();

function add(key: Key, ...names: string[]): void {
  for (const name of names) if (!keys.has(name)) keys.set(name, key);
}

for (const [code, keyCode, [bare = '', held = '']] of symbols.map(([code, keyCode, texts]) => [code, keyCode, [...texts]] as const)) {
  add(typing(code, bare, keyCode), bare, code);
  add({ ...typing(code, held, keyCode), shifted: true }, held);
}
for (const [name, keyCode] of named) add(plain(name, name, keyCode), name);
for (const [name, leftCode, rightCode] of modifiers) {
  add({ ...plain(`${name}Left`, name, leftCode), location: 1 }, name, `${name}Left`);
  add({ ...plain(`${name}Right`, name, rightCode), location: 2 }, `${name}Right`);
}
add({ ...plain('Enter', 'Enter', 13), text: '\r' }, 'Enter', '\n', '\r');
add({ ...plain('NumpadEnter', 'Enter', 13), text: '\r', location: 3 }, 'NumpadEnter');
add(typing('Space', ' ', 32), ' ', 'Space');
keys.set('\t', keys.get('Tab') ?? plain('Tab', 'Tab', 9));
for (const [code, keyCode, text] of keypad) add({ ...typing(code, text, keyCode), location: 3 }, code);

const byLowerCase = new Map([...keys].filter(([name]) => name.length > 1).map(([name, key]) => [name.toLowerCase(), key]));

/** Finds a key by its character, its `key` such as `Enter`, its `code` such as `KeyA`, or an alias. */
export function findKey(name: string): Key | undefined {
  const lower = name.toLowerCase();
  return keys.get(name) ?? keys.get(aliases[lower] ?? '') ?? byLowerCase.get(lower);
}

/** The key as it is while Shift is held. */
export function withShift(key: Key): Key {
  const symbol = symbols.find(([code]) => code === key.code);
  // A key of another keyboard: its letter in upper case, where that is one.
  const held =
    symbol?.[2][1] ?? (/^\p{Ll}$/u.test(key.text) && /^\p{Lu}$/u.test(key.text.toUpperCase()) ? key.text.toUpperCase() : undefined);
  return held === undefined ? key : { ...key, key: held, text: held };
}

/** Whether a key types the character with Shift, or without it. Of letters either is: Caps Lock changes them, too. */
export function isTypedWith(isShift: boolean, character: string): boolean {
  const key = findKey(character);
  if (key === undefined || /^[a-z]$/i.test(character)) return key !== undefined;
  return isShift ? withShift(key).key === character : !key.shifted;
}

export type RemoteKeyEvent = Parameters<RemoteInput['key']>[0];
type KeyEventParams = Params<'Input.dispatchKeyEvent'>;

const bits = { alt: 1, control: 2, meta: 4, shift: 8 } as const;
/** The browser's limit for the text of one key. */
export const keyTextCharsMax = 4;
/** The effect of the key is not known yet, or an input method handles it. */
const undecidedKeys = new Set(['Dead', 'Process', 'Unidentified', 'Compose']);
const altGraphCode = 225;

/** Returns null for a key that has no effect on the page by itself. */
export function toKeyEventParams({ action, key, code, modifiers, repeat, location }: RemoteKeyEvent): KeyEventParams | null {
  const isNamed = /^[A-Z][A-Za-z0-9]+$/.test(key);
  if (undecidedKeys.has(key) || key === '' || (!isNamed && key.length > keyTextCharsMax)) return null;
  const keyCode = isNamed ? keyCodeOfName(key, code) : keyCodeOfCharacter(key, code);
  if (keyCode === null) return null;
  const isAltGrText = !isNamed && isAltGrCharacter(key, code, modifiers);
  // A character typed with AltGr or Option must not look like a shortcut to the page.
  const eventModifiers = isAltGrText ? modifiers & ~(bits.alt | bits.control) : modifiers;
  // Without a native key code: with one, the key is a shortcut of the browser's window before it is one of the page.
  const event = {
    key,
    code,
    modifiers: eventModifiers,
    location,
    isKeypad: location === 3,
    windowsVirtualKeyCode: keyCode,
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
