import type { LiveViewCommand } from '@berth/contract/live-view';
import { ClickCount } from './clicks.ts';
import type { Point } from '../geometry.ts';
import { longPressMs, TouchGestures, type Gesture } from './touch-gestures.ts';

interface TouchOptions {
  send: (command: LiveViewCommand) => void;
  /** Converts a point of the window to page coordinates. */
  pagePointAt: (point: Point) => Point;
  /** CSS px of the page per px of the window. */
  scale: () => number;
}

/** Touch input on the frame: a tap clicks, a drag scrolls, a long press opens the context menu. */
export class TouchInput {
  readonly #options: TouchOptions;
  readonly #gestures = new TouchGestures();
  readonly #clicks = new ClickCount();
  readonly #fingers = new Set<number>();
  #longPressTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: TouchOptions) {
    this.#options = options;
  }

  listen(target: HTMLElement, { signal }: { signal: AbortSignal }): void {
    const forTouch = (handler: (event: PointerEvent) => void) => (event: PointerEvent) => {
      if (event.pointerType === 'touch') handler(event);
    };
    target.addEventListener(
      'pointerdown',
      forTouch((event) => this.#down(event)),
      { signal },
    );
    target.addEventListener(
      'pointermove',
      forTouch((event) => this.#moved(event)),
      { signal },
    );
    target.addEventListener(
      'pointerup',
      forTouch((event) => this.#up(event)),
      { signal },
    );
    target.addEventListener(
      'pointercancel',
      forTouch((event) => this.#cancel(event)),
      { signal },
    );
    signal.addEventListener('abort', () => clearTimeout(this.#longPressTimer));
  }

  #down(event: PointerEvent): void {
    this.#fingers.add(event.pointerId);
    clearTimeout(this.#longPressTimer);
    if (this.#fingers.size > 1) return this.#gestures.cancel();
    this.#gestures.down({ x: event.clientX, y: event.clientY });
    this.#longPressTimer = setTimeout(() => this.#handleGesture(this.#gestures.longPress(), performance.now()), longPressMs);
  }

  #moved(event: PointerEvent): void {
    if (this.#fingers.has(event.pointerId))
      this.#handleGesture(this.#gestures.move({ x: event.clientX, y: event.clientY }), event.timeStamp);
  }

  #up(event: PointerEvent): void {
    this.#fingers.delete(event.pointerId);
    clearTimeout(this.#longPressTimer);
    this.#handleGesture(this.#gestures.up(), event.timeStamp);
  }

  #cancel(event: PointerEvent): void {
    this.#fingers.delete(event.pointerId);
    clearTimeout(this.#longPressTimer);
    this.#gestures.cancel();
  }

  #handleGesture(gesture: Gesture | undefined, atMs: number): void {
    if (!gesture) return;
    const point = this.#options.pagePointAt(gesture.at);
    if (gesture.kind === 'scroll') {
      const scale = this.#options.scale();
      return this.#options.send({ type: 'wheel', ...point, dx: gesture.dx * scale, dy: gesture.dy * scale, modifiers: 0 });
    }
    const isTap = gesture.kind === 'tap';
    const button = isTap ? 'left' : 'right';
    const clicks = this.#clicks.press({ ...gesture.at, button, atMs });
    const event = { type: 'mouse', ...point, modifiers: 0 } as const;
    this.#options.send({ ...event, action: 'move', button: 'none', buttons: 0, clicks: 0 });
    this.#options.send({ ...event, action: 'down', button, buttons: isTap ? 1 : 2, clicks });
    this.#options.send({ ...event, action: 'up', button, buttons: 0, clicks });
  }
}
