import { modifierBits, type LiveViewCommand } from '@berth/contract/live-view';
import { ClickCount } from './clicks.ts';
import type { Point } from '../geometry.ts';

type MouseCommand = Extract<LiveViewCommand, { type: 'mouse' }>;

interface MouseOptions {
  send: (command: LiveViewCommand) => void;
  /** Converts the position of an event to the page's coordinates. */
  pagePointOf: (event: MouseEvent) => Point;
  /** Called before a press, to move the focus to the page. */
  onPress: (event: PointerEvent) => void;
}

const buttonNames: Readonly<Record<number, MouseCommand['button']>> = { 0: 'left', 1: 'middle', 2: 'right' };
/** Each button's bit in `buttons`. */
const buttonBits: Readonly<Record<number, number>> = { 0: 1, 1: 4, 2: 2, 3: 8, 4: 16 };
/** Thumb buttons. */
const historyButtons: Readonly<Record<number, 'back' | 'forward'>> = { 3: 'back', 4: 'forward' };
/** Pixels of one line and one page, by `deltaMode`. */
const lineAndPagePx: Readonly<Record<number, number>> = { 1: 40, 2: 720 };

export const modifiersOf = (event: { altKey: boolean; ctrlKey: boolean; metaKey: boolean; shiftKey: boolean }): number =>
  (event.altKey ? modifierBits.alt : 0) |
  (event.ctrlKey ? modifierBits.control : 0) |
  (event.metaKey ? modifierBits.meta : 0) |
  (event.shiftKey ? modifierBits.shift : 0);

const buttonOf = (buttons: number): MouseCommand['button'] =>
  buttons & 1 ? 'left' : buttons & 2 ? 'right' : buttons & 4 ? 'middle' : 'none';

/** Mouse and wheel input over the frame. Moves and wheel turns are sent once per animation frame. */
export class MouseInput {
  readonly #options: MouseOptions;
  readonly #clicks = new ClickCount();
  #move: MouseCommand | undefined;
  #wheel: Extract<LiveViewCommand, { type: 'wheel' }> | undefined;
  #isFlushScheduled = false;

  constructor(options: MouseOptions) {
    this.#options = options;
  }

  listen(target: HTMLElement, { signal }: { signal: AbortSignal }): void {
    const forMouse = (handler: (event: PointerEvent) => void) => (event: PointerEvent) => {
      if (event.pointerType !== 'touch') handler(event);
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
    target.addEventListener('wheel', (event) => this.#wheeled(event), { signal, passive: false });
    // The press would move the focus away from the keyboard field.
    target.addEventListener('mousedown', (event) => event.preventDefault(), { signal });
    target.addEventListener('contextmenu', (event) => event.preventDefault(), { signal });
  }

  #moved(event: PointerEvent): void {
    // While one button is down, other buttons are reported as moves.
    if (event.button !== -1) return event.buttons & (buttonBits[event.button] ?? 0) ? this.#pressed(event) : this.#released(event);
    this.#move = { ...this.#command(event, 'move'), button: buttonOf(event.buttons), clicks: 0 };
    this.#scheduleFlush();
  }

  #pressed(event: PointerEvent, target?: HTMLElement): void {
    event.preventDefault();
    const button = buttonNames[event.button];
    if (button === undefined) return;
    this.#options.onPress(event);
    // A drag continues outside the frame.
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

  #wheeled(event: WheelEvent): void {
    // With Control, the wheel zooms the user's own browser.
    if (event.ctrlKey) return;
    event.preventDefault();
    const factor = lineAndPagePx[event.deltaMode] ?? 1;
    const { dx = 0, dy = 0 } = this.#wheel ?? {};
    this.#wheel = {
      type: 'wheel',
      ...this.#options.pagePointOf(event),
      dx: dx + event.deltaX * factor,
      dy: dy + event.deltaY * factor,
      modifiers: modifiersOf(event),
    };
    this.#scheduleFlush();
  }

  #command(event: PointerEvent, action: MouseCommand['action']): Omit<MouseCommand, 'button' | 'clicks'> {
    return { type: 'mouse', action, ...this.#options.pagePointOf(event), buttons: event.buttons & 7, modifiers: modifiersOf(event) };
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushScheduled = false;
    if (this.#move) this.#options.send(this.#move);
    if (this.#wheel) this.#options.send(this.#wheel);
    this.#move = undefined;
    this.#wheel = undefined;
  }
}
