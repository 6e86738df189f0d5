import type { Point } from '../geometry.ts';

/** A touch this long opens the context menu. */
export const longPressMs = 500;
/** Tolerance for a still finger. */
const stillPx = 10;

export type Gesture =
  | { kind: 'tap'; at: Point }
  | { kind: 'long-press'; at: Point }
  | { kind: 'scroll'; at: Point; dx: number; dy: number };

/** Gestures of one finger. A second finger belongs to the browser's zoom and cancels the gesture. */
export class TouchGestures {
  #start: Point | undefined;
  #last: Point = { x: 0, y: 0 };
  #isScrolling = false;

  down(at: Point): void {
    this.#start = at;
    this.#last = at;
    this.#isScrolling = false;
  }

  /** Scrolls by the movement since the last event, in the opposite direction. */
  move(at: Point): Gesture | undefined {
    if (!this.#start) return undefined;
    if (!this.#isScrolling && Math.hypot(at.x - this.#start.x, at.y - this.#start.y) <= stillPx) return undefined;
    const dx = this.#last.x - at.x;
    const dy = this.#last.y - at.y;
    this.#isScrolling = true;
    this.#last = at;
    return { kind: 'scroll', at: this.#start, dx, dy };
  }

  /** Called `longPressMs` after `down`. */
  longPress(): Gesture | undefined {
    if (!this.#start || this.#isScrolling) return undefined;
    const at = this.#start;
    this.cancel();
    return { kind: 'long-press', at };
  }

  up(): Gesture | undefined {
    const at = this.#start;
    const isTap = at !== undefined && !this.#isScrolling;
    this.cancel();
    return isTap ? { kind: 'tap', at } : undefined;
  }

  cancel(): void {
    this.#start = undefined;
    this.#isScrolling = false;
  }
}
