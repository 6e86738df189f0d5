import type { Point } from './place.ts';

/** A finger that rests this long asks for the menu, as on any phone. */
export const longPressMs = 500;
/** No finger rests perfectly still. */
const stillPx = 10;

export type Gesture =
  | { kind: 'tap'; at: Point }
  | { kind: 'long-press'; at: Point }
  | { kind: 'scroll'; at: Point; dx: number; dy: number };

/** What one finger means. A second finger is for the browser's own zoom and ends what the first began. */
export class TouchGestures {
  #start: Point | undefined;
  #last: Point = { x: 0, y: 0 };
  #isScrolling = false;

  down(at: Point): void {
    this.#start = at;
    this.#last = at;
    this.#isScrolling = false;
  }

  /** Scrolls as far as the finger went since the last move, the other way. */
  move(at: Point): Gesture | undefined {
    if (!this.#start) return undefined;
    if (!this.#isScrolling && Math.hypot(at.x - this.#start.x, at.y - this.#start.y) <= stillPx) return undefined;
    const dx = this.#last.x - at.x;
    const dy = this.#last.y - at.y;
    this.#isScrolling = true;
    this.#last = at;
    return { kind: 'scroll', at: this.#start, dx, dy };
  }

  /** To be called when `longPressMs` have passed since `down`. */
  rest(): Gesture | undefined {
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
