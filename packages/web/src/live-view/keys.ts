/** From a key of the person's keyboard to one of the session's browser. */
import { liveViewBounds, modifierBits, type LiveViewCommand } from '@berth/contract/live-view';

export type KeyCommand = Extract<LiveViewCommand, { type: 'key' }>;

/** What is read of a `KeyboardEvent`. `isAltGraph` is its modifier state of that name. */
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
 * `leave`: gives the keyboard back to this page. `local`: belongs to the person's own browser.
 * `typing`: told by the text field's input events. `paste`: told by the clipboard's event.
 */
export type KeyMeaning = 'leave' | 'local' | 'typing' | 'paste' | 'copy' | 'cut' | 'send';

/** Leaves the page of the session, which takes every other key, Tab and Escape among them. */
export const leaveKey = 'F6';

const localKeys = new Set(['F11', 'F12']);
/** A method of input has these keys, or a dead key waits for its letter, or a soft keyboard does not tell. */
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
 * Keys that are down in the session. What goes down comes up: with the same
 * name, although Shift may have been let go before, and also when the release
 * is never told, as after the focus has gone.
 */
export class HeldKeys {
  readonly #isMac: boolean;
  readonly #held = new Map<string, Pick<KeyCommand, 'key' | 'code' | 'location'>>();

  constructor({ isMac }: { isMac: boolean }) {
    this.#isMac = isMac;
  }

  /** undefined for a key that says nothing to the session. */
  down(press: KeyPress): KeyCommand | undefined {
    const { key, code } = this.#translated(press);
    // It is spelt out by the characters that it makes.
    if (key === 'AltGraph' || key.length > liveViewBounds.keyChars) return undefined;
    const { location, repeat } = press;
    this.#held.set(press.code || press.key, { key, code, location });
    return { type: 'key', action: 'down', key, code, location, repeat, modifiers: this.modifiers(press) };
  }

  up(press: KeyPress): KeyCommand[] {
    const held = this.#held.get(press.code || press.key);
    if (!held) return [];
    this.#held.delete(press.code || press.key);
    const command: KeyCommand = { type: 'key', action: 'up', ...held, repeat: false, modifiers: this.modifiers(press) };
    // macOS never tells the release of a key that was pressed with Command.
    return this.#isMac && press.key === 'Meta' ? [...this.releaseAll(), command] : [command];
  }

  releaseAll(): KeyCommand[] {
    const commands = [...this.#held.values()].map((held): KeyCommand => ({
      type: 'key',
      action: 'up',
      ...held,
      repeat: false,
      modifiers: 0,
    }));
    this.#held.clear();
    return commands;
  }

  /** DevTools' bits. Without those that only made the character, as AltGr does, and Option on a Mac. */
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

  /** The session's browser runs on Linux, where Control does what Command does on a Mac. */
  #translated({ key, code }: KeyPress): { key: string; code: string } {
    if (!this.#isMac || key !== 'Meta') return { key, code };
    return { key: 'Control', code: code === 'MetaRight' ? 'ControlRight' : 'ControlLeft' };
  }
}
