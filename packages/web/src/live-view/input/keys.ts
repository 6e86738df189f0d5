/** Translates keys of the user's keyboard to keys of the session's browser. */
import { liveViewBounds, modifierBits, type LiveViewCommand } from '@berth/contract/live-view';

export type KeyCommand = Extract<LiveViewCommand, { type: 'key' }>;

/** The used part of a `KeyboardEvent`. `isAltGraph` is its modifier state of that name. */
export interface KeyPress {
  key: string;
  code: string;
  location: number;
  repeat: boolean;
  altKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  isAltGraph: boolean;
  isComposing: boolean;
}

/**
 * `leave`: returns the focus to this page. `local`: handled by the user's own browser.
 * `typing`: comes as the text field's input events. `paste`: comes as a clipboard event.
 */
export type KeyMeaning = 'leave' | 'local' | 'typing' | 'paste' | 'copy' | 'cut' | 'send';

/** Leaves the page of the session, which receives every other key, including Tab and Escape. */
export const leaveKey = 'F6';

const localKeys = new Set(['F11', 'F12']);
/** Keys of input methods, dead keys and soft keyboards that report no key. */
const typingKeys = new Set(['Process', 'Dead', 'Unidentified', 'Compose']);

const isCharacter = (key: string): boolean => [...key].length === 1;

export function meaningOf(press: KeyPress): KeyMeaning {
  if (press.key === leaveKey) return 'leave';
  if (localKeys.has(press.key)) return 'local';
  if (press.isComposing || typingKeys.has(press.key) || press.key === '') return 'typing';
  const isShortcut = (press.ctrlKey || press.metaKey) && !press.altKey && !press.isAltGraph;
  const letter = press.key.toLowerCase();
  if (isShortcut && letter === 'v') return 'paste';
  if (press.shiftKey && press.key === 'Insert') return 'paste';
  if (isShortcut && !press.shiftKey && (letter === 'c' || press.key === 'Insert')) return 'copy';
  if (isShortcut && !press.shiftKey && letter === 'x') return 'cut';
  return 'send';
}

/**
 * Keys that are pressed in the session. Each is released with the name it was
 * pressed with, even if Shift was released before, and also when the browser
 * reports no release, as after the focus was lost.
 */
export class PressedKeys {
  readonly #isMac: boolean;
  readonly #pressed = new Map<string, Pick<KeyCommand, 'key' | 'code' | 'location'>>();

  constructor({ isMac }: { isMac: boolean }) {
    this.#isMac = isMac;
  }

  /** Returns undefined for a key that is not sent. */
  down(press: KeyPress): KeyCommand | undefined {
    const { key, code } = this.#translated(press);
    // It is sent as the characters that it produces.
    if (key === 'AltGraph' || key.length > liveViewBounds.keyChars) return undefined;
    const { location, repeat } = press;
    this.#pressed.set(press.code || press.key, { key, code, location });
    return { type: 'key', action: 'down', key, code, location, repeat, modifiers: this.modifiers(press) };
  }

  up(press: KeyPress): KeyCommand[] {
    const pressed = this.#pressed.get(press.code || press.key);
    if (!pressed) return [];
    this.#pressed.delete(press.code || press.key);
    const command: KeyCommand = { type: 'key', action: 'up', ...pressed, repeat: false, modifiers: this.modifiers(press) };
    // macOS reports no release of a key that was pressed with Command.
    return this.#isMac && press.key === 'Meta' ? [...this.releaseAll(), command] : [command];
  }

  releaseAll(): KeyCommand[] {
    const commands = [...this.#pressed.values()].map((pressed): KeyCommand => ({
      type: 'key',
      action: 'up',
      ...pressed,
      repeat: false,
      modifiers: 0,
    }));
    this.#pressed.clear();
    return commands;
  }

  /** Returns DevTools' modifier bits, without modifiers that only produced the character: AltGr, and Option on a Mac. */
  modifiers(press: Pick<KeyPress, 'key' | 'altKey' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'isAltGraph'>): number {
    const isMadeByOption = this.#isMac && press.altKey && !press.ctrlKey && !press.metaKey && isCharacter(press.key);
    const bits = [
      press.altKey && !press.isAltGraph && !isMadeByOption ? modifierBits.alt : 0,
      (press.ctrlKey || (this.#isMac && press.metaKey)) && !press.isAltGraph ? modifierBits.control : 0,
      press.metaKey && !this.#isMac ? modifierBits.meta : 0,
      press.shiftKey ? modifierBits.shift : 0,
    ];
    return bits.reduce((all, bit) => all | bit, 0);
  }

  /** The session's browser runs on Linux, where Control is what Command is on a Mac. */
  #translated({ key, code }: KeyPress): { key: string; code: string } {
    if (!this.#isMac || key !== 'Meta') return { key, code };
    return { key: 'Control', code: code === 'MetaRight' ? 'ControlRight' : 'ControlLeft' };
  }
}
