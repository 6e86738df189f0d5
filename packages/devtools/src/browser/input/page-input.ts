/**
 * Mouse and keyboard of a tab. All input goes to the page's own session: the
 * browser itself finds the frame at the point or with the focus.
 */
import { setTimeout as nodeSleep } from 'node:timers/promises';
import { ProtocolError, type Command, type Params } from '../cdp/connection.ts';
import { findKey, keyTextCharsMax, withShift, type Key } from './remote-keys.ts';
import type { Frames } from '../page/frames.ts';
import { PageError, type DragFrames, type Keyboard, type Modifier, type Mouse, type MouseButton, type Point } from '../page/page.ts';
import { Deadline } from '@berth/lib/deadline.ts';

/** A page handles an event within milliseconds; a longer delay is reported as a timeout. */
const inputTimeoutMs = 10_000;
const chordKeysMax = 8;
const moveStepsMax = 1000;

const modifierBits: Readonly<Record<Modifier, number>> = { Alt: 1, Control: 2, Meta: 4, Shift: 8 };
const buttonBits: Readonly<Record<MouseButton, number>> = { left: 1, right: 2, middle: 4, back: 8, forward: 16 };

interface SignalOptions {
  signal: AbortSignal;
}

const noDrag: Params<'Input.dispatchDragEvent'>['data'] = { items: [], dragOperationsMask: 0 };

/** Mouse and keyboard state of a tab, shared by everybody who controls it. */
export class Input {
  readonly mouse: Mouse;
  readonly keyboard: Keyboard;

  constructor(frames: Frames) {
    const held = new Set<Modifier>();
    this.keyboard = new TabKeyboard(frames, held);
    this.mouse = new TabMouse(frames, held);
  }
}

const bitsOf = (modifiers: Iterable<Modifier>): number => [...new Set(modifiers)].reduce((bits, each) => bits | modifierBits[each], 0);

/** @throws PageError `timeout` or `not_possible` */
async function dispatch<C extends Command>(
  frames: Frames,
  [method, params]: readonly [C, Params<C>],
  { signal }: SignalOptions,
): Promise<void> {
  try {
    await frames.main.send(method, params, new Deadline({ signal, timeoutMs: frames.timeoutScale.ms(inputTimeoutMs) }));
  } catch (error) {
    if (error instanceof ProtocolError) throw new PageError('not_possible', 'The browser rejected the input.', { cause: error });
    throw error;
  }
}

class TabMouse implements Mouse {
  readonly #frames: Frames;
  readonly #held: ReadonlySet<Modifier>;
  #position: Point = { x: 0, y: 0 };
  /** The point at which the left button went down, where a drag begins. */
  #pressedAt: Point = { x: 0, y: 0 };
  readonly #pressed = new Set<MouseButton>();
  /** The data of an HTML drag while it runs: such a drag is the operating system's part, which we play. */
  #dragged: Params<'Input.dispatchDragEvent'>['data'] | null = null;

  constructor(frames: Frames, held: ReadonlySet<Modifier>) {
    this.#frames = frames;
    this.#held = held;
    frames.onDragStart((data) => {
      if (this.#pressed.has('left')) this.#dragged = data;
    });
  }

  get position(): Point {
    return { ...this.#position };
  }

  async move(to: Point, options: SignalOptions & { steps?: number; modifiers?: readonly Modifier[] }): Promise<void> {
    if (!Number.isFinite(to.x) || !Number.isFinite(to.y)) throw new PageError('not_possible', 'The coordinates must be finite numbers.');
    const from = this.#position;
    const steps = Math.max(1, Math.min(moveStepsMax, Math.trunc(options.steps ?? 1)));
    for (let step = 1; step <= steps; step += 1) {
      this.#position = { x: from.x + ((to.x - from.x) * step) / steps, y: from.y + ((to.y - from.y) * step) / steps };
      if (!this.#dragged) await this.#moveOnce(options);
      // The frame at the end may be of another process, which knows nothing of the drag.
      else if (step === steps) await this.#dragIn(options);
      else await this.#drag('dragOver', options);
    }
  }

  async #moveOnce(options: SignalOptions & { modifiers?: readonly Modifier[] }): Promise<void> {
    await this.#send({ type: 'mouseMoved', button: [...this.#pressed][0] ?? 'none' }, options);
    if (this.#dragged) await this.#dragIn(options);
  }

  /** The browser tells the end of a drag to the process that it ends in; that of the frame where it began must hear it, too. */
  async #drop({ dragged, ...options }: SignalOptions & { dragged?: DragFrames | undefined }): Promise<void> {
    const data = this.#dragged ?? noDrag;
    await this.#drag('drop', options);
    if (dragged && this.#frames.cachedSession(dragged.from) !== this.#frames.cachedSession(dragged.to))
      this.#frames.main.sendNoReply('Input.dispatchDragEvent', { type: 'dragCancel', ...this.#pressedAt, data });
  }

  /** A document that the drag has entered already has no second `dragenter`. */
  async #dragIn(options: SignalOptions): Promise<void> {
    await this.#drag('dragEnter', options);
    await this.#drag('dragOver', options);
  }

  async down(options: SignalOptions & { button: MouseButton; clickCount: number; modifiers?: readonly Modifier[] }): Promise<void> {
    const { button, clickCount } = options;
    this.#pressed.add(button);
    if (button === 'left') {
      this.#pressedAt = this.#position;
      this.#frames.main.sendNoReply('Input.setInterceptDrags', { enabled: true });
    }
    await this.#send({ type: 'mousePressed', button, clickCount }, options);
  }

  async up(options: Parameters<Mouse['up']>[0]): Promise<void> {
    const { button, clickCount } = options;
    this.#pressed.delete(button);
    try {
      if (this.#dragged && button === 'left') await this.#drop(options);
      else await this.#send({ type: 'mouseReleased', button, clickCount }, options);
    } finally {
      if (button === 'left') {
        this.#dragged = null;
        this.#frames.main.sendNoReply('Input.setInterceptDrags', { enabled: false });
      }
    }
  }

  async wheel(delta: Point, options: SignalOptions & { modifiers?: readonly Modifier[] }): Promise<void> {
    await this.#send({ type: 'mouseWheel', deltaX: delta.x, deltaY: delta.y }, options);
  }

  #drag(type: 'dragEnter' | 'dragOver' | 'drop', options: SignalOptions): Promise<void> {
    const data = this.#dragged ?? noDrag;
    return dispatch(this.#frames, ['Input.dispatchDragEvent', { type, ...this.#position, data, modifiers: bitsOf(this.#held) }], options);
  }

  #send(
    event: Omit<Params<'Input.dispatchMouseEvent'>, 'x' | 'y'>,
    options: SignalOptions & { modifiers?: readonly Modifier[] },
  ): Promise<void> {
    const buttons = [...this.#pressed].reduce((bits, each) => bits | buttonBits[each], 0);
    const modifiers = bitsOf([...this.#held, ...(options.modifiers ?? [])]);
    return dispatch(
      this.#frames,
      ['Input.dispatchMouseEvent', { ...event, ...this.#position, buttons, modifiers, pointerType: 'mouse' }],
      options,
    );
  }
}

class TabKeyboard implements Keyboard {
  readonly #frames: Frames;
  readonly #held: Set<Modifier>;
  readonly #down = new Set<string>();

  constructor(frames: Frames, held: Set<Modifier>) {
    this.#frames = frames;
    this.#held = held;
  }

  async press(keys: string, options: SignalOptions & { delayMs?: number }): Promise<void> {
    const chord = parseChord(keys);
    const { held, key: last, isExact } = chord;
    const holding = held.map(keyOf);
    const key = lastKeyOf(chord);
    if (!key) throw unknownKey(last);
    const done: Key[] = [];
    try {
      for (const each of holding) {
        done.push(each);
        await this.#press(each, options);
      }
      if (key.text.length > keyTextCharsMax) await this.insertText(last, options);
      else await this.#pressAndRelease(isExact ? key : this.#resolveKey(key, last), options);
    } finally {
      // A modifier that stays down would affect all later input.
      for (const each of done.toReversed()) await this.#releaseKey(each, options);
    }
  }

  async type(text: string, options: SignalOptions & { delayMs?: number }): Promise<number> {
    const { signal, delayMs = 0 } = options;
    let keydowns = 0;
    const sleepSignal = AbortSignal.any([signal, this.#frames.tab.closed.signal]);
    let first = true;
    for (const character of text.replaceAll('\r\n', '\n')) {
      if (!first && delayMs > 0) await sleep(delayMs, sleepSignal);
      first = false;
      const key = findKey(character);
      if (key) keydowns += await this.#typeKey(this.#resolveKey(key, character), { signal });
      else await this.insertText(character, options);
    }
    return keydowns;
  }

  async insertText(text: string, options: SignalOptions): Promise<void> {
    await dispatch(this.#frames, ['Input.insertText', { text }], options);
  }

  async down(name: string, options: SignalOptions): Promise<void> {
    await this.#press(this.#resolveKey(keyOf(name), name), options);
  }

  async up(name: string, options: SignalOptions): Promise<void> {
    await this.#sendKeyUp(this.#resolveKey(keyOf(name), name), options);
  }

  /** Holds Shift for a character that needs it, as who types it does. Returns how many keys went down. */
  async #typeKey(key: Key, options: SignalOptions & { delayMs?: number }): Promise<number> {
    const shift = key.shifted && !this.#held.has('Shift') ? findKey('Shift') : undefined;
    if (shift) await this.#press(shift, options);
    try {
      await this.#pressAndRelease(key, options);
    } finally {
      if (shift) await this.#releaseKey(shift, options);
    }
    return shift ? 2 : 1;
  }

  async #pressAndRelease(key: Key, options: SignalOptions & { delayMs?: number }): Promise<void> {
    await this.#press(key, options);
    try {
      if (options.delayMs) await sleep(options.delayMs, AbortSignal.any([options.signal, this.#frames.tab.closed.signal]));
    } finally {
      await this.#releaseKey(key, options);
    }
  }

  /** `Control+A` means the key A, and so the letter a; with Shift a key has its other character. */
  #resolveKey(key: Key, name: string): Key {
    if (this.#held.has('Shift')) return withShift(key);
    if (!this.#isShortcut || !/^\p{Lu}$/u.test(name)) return key;
    const letter = name.toLowerCase();
    return findKey(letter) ?? keyOfCharacter(letter);
  }

  /** Whether a modifier is held with which a key types nothing. */
  get #isShortcut(): boolean {
    return this.#held.has('Control') || this.#held.has('Alt') || this.#held.has('Meta');
  }

  async #press(key: Key, options: SignalOptions): Promise<void> {
    const autoRepeat = this.#down.has(key.code);
    this.#down.add(key.code);
    if (isModifier(key.key)) this.#held.add(key.key);
    const text = this.#isShortcut ? '' : key.text;
    const event = { ...this.#event(key), type: text ? ('keyDown' as const) : ('rawKeyDown' as const), autoRepeat };
    await dispatch(this.#frames, ['Input.dispatchKeyEvent', text ? { ...event, text, unmodifiedText: text } : event], options);
  }

  async #sendKeyUp(key: Key, options: SignalOptions): Promise<void> {
    await dispatch(this.#frames, ['Input.dispatchKeyEvent', this.#up(key)], options);
  }

  /** Releases a key, also when the action was aborted. */
  async #releaseKey(key: Key, options: SignalOptions): Promise<void> {
    if (options.signal.aborted) this.#frames.main.sendNoReply('Input.dispatchKeyEvent', this.#up(key));
    else await this.#sendKeyUp(key, options);
  }

  #up(key: Key): Params<'Input.dispatchKeyEvent'> {
    this.#down.delete(key.code);
    if (isModifier(key.key)) this.#held.delete(key.key);
    return { ...this.#event(key), type: 'keyUp' };
  }

  /** The event without a native key code: with one, the key is a shortcut of the browser's window before it is one of the page. */
  #event({ key, code, keyCode, location }: Key): Omit<Params<'Input.dispatchKeyEvent'>, 'type'> {
    return {
      key,
      code,
      windowsVirtualKeyCode: keyCode,
      location,
      isKeypad: location === 3,
      modifiers: bitsOf(this.#held),
    };
  }
}

const isModifier = (key: string): key is Modifier => key in modifierBits;
/** Whether a key may have this name. In a chord it is of one code point: the browser takes no more for the name of a key. */
const isCharacter = (name: string, others: readonly string[]): boolean =>
  (others.length === 0 ? [...new Intl.Segmenter().segment(name)] : [...name]).length === 1;
/** The key of another keyboard for a character that none of ours has. */
const keyOfCharacter = (character: string): Key => ({ code: '', key: character, keyCode: 0, text: character, location: 0, shifted: false });
const unknownKey = (name: string): PageError => new PageError('unknown_key', `Unknown key: ${JSON.stringify(name.slice(0, 40))}.`);

/** Whether a chord can be pressed. */
export const canPress = (chord: Chord): boolean =>
  chord.held.every((name) => findKey(name) !== undefined) && lastKeyOf(chord) !== undefined;

/** The last key may be a character that no key has, and in quotes it is a character. */
function lastKeyOf({ held, key: name, isExact }: Chord): Key | undefined {
  if (isExact && !isCharacter(name, held)) return undefined;
  return findKey(name) ?? (isCharacter(name, held) ? keyOfCharacter(name) : undefined);
}

/** Whether `press` knows the keys of such a chord. */
export function isChord(keys: string): boolean {
  try {
    return canPress(parseChord(keys));
  } catch {
    return false;
  }
}

function keyOf(name: string): Key {
  const key = findKey(name);
  if (!key) throw unknownKey(name);
  return key;
}

/** Keys that are pressed together. */
export interface Chord {
  /** Names of the keys that are held. */
  held: string[];
  key: string;
  /** Whether the key is a character that is typed as it is, also where Shift makes another one of it on our keyboard. */
  isExact: boolean;
}

/**
 * Splits `Control+Shift+T` into keys. The last may be the plus sign itself, or a character in quotes: `Shift+'/'`.
 * @throws PageError unknown_key
 */
export function parseChord(keys: string): Chord {
  if (keys.length === 0 || keys.length > 200) throw unknownKey(keys);
  const quoted = quotedAtEnd(keys);
  const last = quoted ?? (keys === '+' || keys.endsWith('++') ? '+' : keys.slice(keys.lastIndexOf('+') + 1));
  const before = keys.slice(0, keys.length - last.length - (quoted === null ? 0 : 2));
  const held = before === '' ? [] : before.slice(0, -1).split('+');
  if (held.length >= chordKeysMax || held.includes('') || last === '') throw unknownKey(keys);
  return { held, key: last, isExact: quoted !== null };
}

/** Returns the text in quotes at the end of a chord; null where there are none. */
function quotedAtEnd(keys: string): string | null {
  const open = keys.indexOf("'");
  if (open < 0 || keys.length - open < 3 || !keys.endsWith("'")) return null;
  return open === 0 || keys[open - 1] === '+' ? keys.slice(open + 1, -1) : null;
}

/** @throws the signal's reason */
const sleep = (ms: number, signal: AbortSignal): Promise<void> => nodeSleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
