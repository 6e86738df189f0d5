import { modifierBits, type LiveViewCommand } from '@berth/contract/live-view';
import { ClickCount } from './clicks.ts';
import type { Point } from './place.ts';

type MouseCommand = Extract<LiveViewCommand, { type: 'mouse' }>;

interface MouseOptions {
  send: (command: LiveViewCommand) => void;
  /** The place of the page under an event. */
  placeOf: (event: MouseEvent) => Point;
  /** Called before a press, which also takes the keyboard to the page. */
  onPress: (event: PointerEvent) => void;
}

const buttonNames: Readonly<Record<number, MouseCommand['button']>> = { 0: 'left', 1: 'middle', 2: 'right' };
/** Each button's bit in `buttons`. */
const buttonBits: Readonly<Record<number, number>> = { 0: 1, 1: 4, 2: 2, 3: 8, 4: 16 };
/** The two at the thumb. */
const historyButtons: Readonly<Record<number, 'back' | 'forward'>> = { 3: 'back', 4: 'forward' };
/** What one line, and one page, of a wheel that counts so are in px. */
const lineAndPagePx: Readonly<Record<number, number>> = { 1: 40, 2: 720 };

export const modifiersOf = (event: { altKey: boolean; ctrlKey: boolean; metaKey: boolean; shiftKey: boolean }): number =>
  (event.altKey ? modifierBits.alt : 0) |
  (event.ctrlKey ? modifierBits.control : 0) |
  (event.metaKey ? modifierBits.meta : 0) |
  (event.shiftKey ? modifierBits.shift : 0);

const buttonOf = (buttons: number): MouseCommand['button'] =>
  buttons & 1 ? 'left' : buttons & 2 ? 'right' : buttons & 4 ? 'middle' : 'none';

/** Mouse and wheel over the picture. Moves and turns are told once for each picture of the screen: more nobody sees. */
export class MouseOver {
  readonly #options: MouseOptions;
  readonly #clicks = new ClickCount();
  #move: MouseCommand | undefined;
  #wheel: Extract<LiveViewCommand, { type: 'wheel' }> | undefined;
  #isAsked = false;

  constructor(options: MouseOptions) {
    this.#options = options;
  }

  listen(target: HTMLElement, { signal }: { signal: AbortSignal }): void {
    const forMouse = (take: (event: PointerEvent) => void) => (event: PointerEvent) => {
      if (event.pointerType !== 'touch') take(event);
    };
    target.addEventListener(
      'pointermove',
      forMouse((event) => this.#moved(event)),
      { signal },
    );
    target.addEventListener(
      'pointerdown',
      forMouse((event) => this.#pressed(event, target)),
      { signal },
    );
    target.addEventListener(
      'pointerup',
      forMouse((event) => this.#released(event)),
      { signal },
    );
    target.addEventListener('wheel', (event) => this.#turned(event), { signal, passive: false });
    // The press itself would take the focus away from the field that has the keyboard.
    target.addEventListener('mousedown', (event) => event.preventDefault(), { signal });
    target.addEventListener('contextmenu', (event) => event.preventDefault(), { signal });
  }

  #moved(event: PointerEvent): void {
    // While one button is held, presses of others come as moves.
    if (event.button !== -1) return event.buttons & (buttonBits[event.button] ?? 0) ? this.#pressed(event) : this.#released(event);
    this.#move = { ...this.#command(event, 'move'), button: buttonOf(event.buttons), clicks: 0 };
    this.#ask();
  }

  #pressed(event: PointerEvent, target?: HTMLElement): void {
    event.preventDefault();
    const button = buttonNames[event.button];
    if (button === undefined) return;
    this.#options.onPress(event);
    // A drag goes on outside of the picture.
    target?.setPointerCapture(event.pointerId);
    this.#flush();
    const clicks = this.#clicks.press({ x: event.clientX, y: event.clientY, button, atMs: event.timeStamp });
    this.#options.send({ ...this.#command(event, 'down'), button, clicks });
  }

  #released(event: PointerEvent): void {
    event.preventDefault();
    const to = historyButtons[event.button];
    if (to) return this.#options.send({ type: 'navigate', to });
    const button = buttonNames[event.button];
    if (button === undefined) return;
    this.#flush();
    this.#options.send({ ...this.#command(event, 'up'), button, clicks: this.#clicks.count });
  }

  #turned(event: WheelEvent): void {
    // With Control it is a zoom of the person's own browser.
    if (event.ctrlKey) return;
    event.preventDefault();
    const factor = lineAndPagePx[event.deltaMode] ?? 1;
    const { dx = 0, dy = 0 } = this.#wheel ?? {};
    this.#wheel = {
      type: 'wheel',
      ...this.#options.placeOf(event),
      dx: dx + event.deltaX * factor,
      dy: dy + event.deltaY * factor,
      modifiers: modifiersOf(event),
    };
    this.#ask();
  }

  #command(event: PointerEvent, action: MouseCommand['action']): Omit<MouseCommand, 'button' | 'clicks'> {
    return { type: 'mouse', action, ...this.#options.placeOf(event), buttons: event.buttons & 7, modifiers: modifiersOf(event) };
  }

  #ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    this.#isAsked = false;
    if (this.#move) this.#options.send(this.#move);
    if (this.#wheel) this.#options.send(this.#wheel);
    this.#move = undefined;
    this.#wheel = undefined;
  }
}
