/**
 * Mouse and keyboard of a tab. All of it goes to the page's own session: the
 * browser finds the frame and process at the place, or with the focus, itself.
 */
import { ProtocolError, type Command, type Params } from '../cdp/connection.ts';
import { findKey, withShift, type Key } from './keyboard-layout.ts';
import type { Frames } from '../page/frames.ts';
import { PageError, type Keyboard, type Modifier, type Mouse, type MouseButton, type Point } from '../page/model.ts';
import { Deadline, pause } from '../page/session.ts';

/** A page takes an event within milliseconds; one that is busy for longer is told to be. */
const inputLimitMs = 10_000;
const longestChord = 8;
const mostSteps = 1000;

const modifierBits: Readonly<Record<Modifier, number>> = { Alt: 1, Control: 2, Meta: 4, Shift: 8 };
const buttonBits: Readonly<Record<MouseButton, number>> = { left: 1, right: 2, middle: 4 };

interface Signalled {
  signal: AbortSignal;
}

/** What is held down, and where the mouse is: of the tab, whoever drives it. */
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
  { signal }: Signalled,
): Promise<void> {
  try {
    await frames.main.send(method, params, new Deadline({ signal, timeoutMs: frames.patience.ms(inputLimitMs) }));
  } catch (error) {
    if (error instanceof ProtocolError) throw new PageError('not_possible', 'The page did not take the input.', { cause: error });
    throw error;
  }
}

class TabMouse implements Mouse {
  readonly #frames: Frames;
  readonly #held: ReadonlySet<Modifier>;
  #at: Point = { x: 0, y: 0 };
  readonly #pressed = new Set<MouseButton>();
  /** What the page lets be dragged, while it is: such a drag belongs to the system, which is us. */
  #dragged: Params<'Input.dispatchDragEvent'>['data'] | null = null;

  constructor(frames: Frames, held: ReadonlySet<Modifier>) {
    this.#frames = frames;
    this.#held = held;
    frames.onDragStart((data) => {
      if (this.#pressed.has('left')) this.#dragged = data;
    });
  }

  async move(to: Point, options: Signalled & { steps?: number; modifiers?: readonly Modifier[] }): Promise<void> {
    if (!Number.isFinite(to.x) || !Number.isFinite(to.y)) throw new PageError('not_possible', 'There is no such place.');
    const from = this.#at;
    const steps = Math.max(1, Math.min(mostSteps, Math.trunc(options.steps ?? 1)));
    for (let step = 1; step <= steps; step += 1) {
      this.#at = { x: from.x + ((to.x - from.x) * step) / steps, y: from.y + ((to.y - from.y) * step) / steps };
      if (this.#dragged) await this.#drag('dragOver', options);
      else await this.#moveOnce(options);
    }
  }

  async #moveOnce(options: Signalled & { modifiers?: readonly Modifier[] }): Promise<void> {
    await this.#send({ type: 'mouseMoved', button: [...this.#pressed][0] ?? 'none' }, options);
    if (!this.#dragged) return;
    await this.#drag('dragEnter', options);
    await this.#drag('dragOver', options);
  }

  async down(options: Signalled & { button: MouseButton; clickCount: number; modifiers?: readonly Modifier[] }): Promise<void> {
    const { button, clickCount } = options;
    this.#pressed.add(button);
    if (button === 'left') this.#frames.main.sendQuietly('Input.setInterceptDrags', { enabled: true });
    await this.#send({ type: 'mousePressed', button, clickCount }, options);
  }

  async up(options: Signalled & { button: MouseButton; clickCount: number; modifiers?: readonly Modifier[] }): Promise<void> {
    const { button, clickCount } = options;
    this.#pressed.delete(button);
    try {
      if (this.#dragged && button === 'left') await this.#drag('drop', options);
      else await this.#send({ type: 'mouseReleased', button, clickCount }, options);
    } finally {
      if (button === 'left') {
        this.#dragged = null;
        this.#frames.main.sendQuietly('Input.setInterceptDrags', { enabled: false });
      }
    }
  }

  async wheel(delta: Point, options: Signalled): Promise<void> {
    await this.#send({ type: 'mouseWheel', deltaX: delta.x, deltaY: delta.y }, options);
  }

  #drag(type: 'dragEnter' | 'dragOver' | 'drop', options: Signalled): Promise<void> {
    const data = this.#dragged ?? { items: [], dragOperationsMask: 0 };
    return dispatch(this.#frames, ['Input.dispatchDragEvent', { type, ...this.#at, data, modifiers: bitsOf(this.#held) }], options);
  }

  #send(
    event: Omit<Params<'Input.dispatchMouseEvent'>, 'x' | 'y'>,
    options: Signalled & { modifiers?: readonly Modifier[] },
  ): Promise<void> {
    const buttons = [...this.#pressed].reduce((bits, each) => bits | buttonBits[each], 0);
    const modifiers = bitsOf([...this.#held, ...(options.modifiers ?? [])]);
    return dispatch(
      this.#frames,
      ['Input.dispatchMouseEvent', { ...event, ...this.#at, buttons, modifiers, pointerType: 'mouse' }],
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

  async press(keys: string, options: Signalled & { delayMs?: number }): Promise<void> {
    const chord = readChord(keys);
    const last = chord.pop() ?? '';
    const holding = chord.map(keyOf);
    const key = findKey(last);
    if (!key && (chord.length > 0 || !isCharacter(last))) throw unknownKey(last);
    const done: Key[] = [];
    try {
      for (const each of holding) {
        done.push(each);
        await this.#press(each, options);
      }
      if (key && done.length === 0) await this.#typed(this.#meant(key, last), options);
      else if (key) await this.#stroke(this.#meant(key, last), options);
      else await this.insertText(last, options);
    } finally {
      // A modifier that stays down would spoil all that is typed after.
      for (const each of done.toReversed()) await this.#letGo(each, options);
    }
  }

  async type(text: string, options: Signalled & { delayMs?: number }): Promise<void> {
    const { signal, delayMs = 0 } = options;
    const waits = AbortSignal.any([signal, this.#frames.tab.gone.signal]);
    let first = true;
    for (const character of text.replaceAll('\r\n', '\n')) {
      if (!first && delayMs > 0) await pause(delayMs, waits);
      first = false;
      const key = findKey(character);
      if (key) await this.#typed(this.#meant(key, character), { signal });
      else await this.insertText(character, options);
    }
  }

  async insertText(text: string, options: Signalled): Promise<void> {
    await dispatch(this.#frames, ['Input.insertText', { text }], options);
  }

  async down(name: string, options: Signalled): Promise<void> {
    await this.#press(this.#meant(keyOf(name), name), options);
  }

  async up(name: string, options: Signalled): Promise<void> {
    await this.#lift(this.#meant(keyOf(name), name), options);
  }

  /** A character that needs Shift is typed as a person types it. */
  async #typed(key: Key, options: Signalled & { delayMs?: number }): Promise<void> {
    const shift = key.shifted && !this.#held.has('Shift') ? findKey('Shift') : undefined;
    if (shift) await this.#press(shift, options);
    try {
      await this.#stroke(key, options);
    } finally {
      if (shift) await this.#letGo(shift, options);
    }
  }

  async #stroke(key: Key, options: Signalled & { delayMs?: number }): Promise<void> {
    await this.#press(key, options);
    try {
      if (options.delayMs) await pause(options.delayMs, AbortSignal.any([options.signal, this.#frames.tab.gone.signal]));
    } finally {
      await this.#letGo(key, options);
    }
  }

  /** `Control+A` means the key A, and so the letter a; with Shift a key means its other sign. */
  #meant(key: Key, name: string): Key {
    if (this.#held.has('Shift')) return withShift(key);
    const chord = this.#held.has('Control') || this.#held.has('Alt') || this.#held.has('Meta');
    return chord && /^[A-Z]$/.test(name) ? (findKey(name.toLowerCase()) ?? key) : key;
  }

  async #press(key: Key, options: Signalled): Promise<void> {
    const autoRepeat = this.#down.has(key.code);
    this.#down.add(key.code);
    if (isModifier(key.key)) this.#held.add(key.key);
    const silent = this.#held.has('Control') || this.#held.has('Alt') || this.#held.has('Meta');
    const text = silent ? '' : key.text;
    const event = { ...this.#event(key), type: text ? ('keyDown' as const) : ('rawKeyDown' as const), autoRepeat };
    await dispatch(this.#frames, ['Input.dispatchKeyEvent', text ? { ...event, text, unmodifiedText: text } : event], options);
  }

  async #lift(key: Key, options: Signalled): Promise<void> {
    await dispatch(this.#frames, ['Input.dispatchKeyEvent', this.#up(key)], options);
  }

  /** Lifts a key at the end of what it was pressed for, also when that was broken off. */
  async #letGo(key: Key, options: Signalled): Promise<void> {
    if (options.signal.aborted) this.#frames.main.sendQuietly('Input.dispatchKeyEvent', this.#up(key));
    else await this.#lift(key, options);
  }

  #up(key: Key): Params<'Input.dispatchKeyEvent'> {
    this.#down.delete(key.code);
    if (isModifier(key.key)) this.#held.delete(key.key);
    return { ...this.#event(key), type: 'keyUp' };
  }

  #event({ key, code, keyCode, location }: Key): Omit<Params<'Input.dispatchKeyEvent'>, 'type'> {
    return {
      key,
      code,
      windowsVirtualKeyCode: keyCode,
      nativeVirtualKeyCode: keyCode,
      location,
      isKeypad: location === 3,
      modifiers: bitsOf(this.#held),
    };
  }
}

const isModifier = (key: string): key is Modifier => key in modifierBits;
const isCharacter = (name: string): boolean => [...new Intl.Segmenter().segment(name)].length === 1;
const unknownKey = (name: string): PageError => new PageError('unknown_key', `There is no key ${JSON.stringify(name.slice(0, 40))}.`);

function keyOf(name: string): Key {
  const key = findKey(name);
  if (!key) throw unknownKey(name);
  return key;
}

/** The keys of `Control+Shift+T`, where the plus sign may itself be the last. */
function readChord(keys: string): string[] {
  if (keys.length === 0 || keys.length > 200) throw unknownKey(keys);
  if (keys === '+') return ['+'];
  const names = keys.endsWith('++') ? [...keys.slice(0, -2).split('+'), '+'] : keys.split('+');
  if (names.length > longestChord || names.includes('')) throw unknownKey(keys);
  return names;
}
