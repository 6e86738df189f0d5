import type { LiveViewCommand } from '@berth/contract/live-view';
import { ClickCount } from './clicks.ts';
import type { Point } from './place.ts';
import { longPressMs, TouchGestures, type Gesture } from './touch-gestures.ts';

interface TouchOptions {
  send: (command: LiveViewCommand) => void;
  /** The place of the page at a place of the window. */
  placeAt: (at: Point) => Point;
  /** How many CSS px of the page one px of the window shows. */
  scale: () => number;
}

/** A finger on the picture: a tap clicks, a drag scrolls, a long press opens the menu. */
export class TouchOn {
  readonly #options: TouchOptions;
  readonly #gestures = new TouchGestures();
  readonly #clicks = new ClickCount();
  readonly #fingers = new Set<number>();
  #rest: ReturnType<typeof setTimeout> | undefined;

  constructor(options: TouchOptions) {
    this.#options = options;
  }

  listen(target: HTMLElement, { signal }: { signal: AbortSignal }): void {
    const forTouch = (take: (event: PointerEvent) => void) => (event: PointerEvent) => {
      if (event.pointerType === 'touch') take(event);
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
    signal.addEventListener('abort', () => clearTimeout(this.#rest));
  }

  #down(event: PointerEvent): void {
    this.#fingers.add(event.pointerId);
    clearTimeout(this.#rest);
    if (this.#fingers.size > 1) return this.#gestures.cancel();
    this.#gestures.down({ x: event.clientX, y: event.clientY });
    this.#rest = setTimeout(() => this.#act(this.#gestures.rest(), performance.now()), longPressMs);
  }

  #moved(event: PointerEvent): void {
    if (this.#fingers.has(event.pointerId)) this.#act(this.#gestures.move({ x: event.clientX, y: event.clientY }), event.timeStamp);
  }

  #up(event: PointerEvent): void {
    this.#fingers.delete(event.pointerId);
    clearTimeout(this.#rest);
    this.#act(this.#gestures.up(), event.timeStamp);
  }

  #cancel(event: PointerEvent): void {
    this.#fingers.delete(event.pointerId);
    clearTimeout(this.#rest);
    this.#gestures.cancel();
  }

  #act(gesture: Gesture | undefined, atMs: number): void {
    if (!gesture) return;
    const place = this.#options.placeAt(gesture.at);
    if (gesture.kind === 'scroll') {
      const scale = this.#options.scale();
      return this.#options.send({ type: 'wheel', ...place, dx: gesture.dx * scale, dy: gesture.dy * scale, modifiers: 0 });
    }
    const isTap = gesture.kind === 'tap';
    const button = isTap ? 'left' : 'right';
    const clicks = this.#clicks.press({ ...gesture.at, button, atMs });
    const event = { type: 'mouse', ...place, modifiers: 0 } as const;
    this.#options.send({ ...event, action: 'move', button: 'none', buttons: 0, clicks: 0 });
    this.#options.send({ ...event, action: 'down', button, buttons: isTap ? 1 : 2, clicks });
    this.#options.send({ ...event, action: 'up', button, buttons: 0, clicks });
  }
}
