import type { Point } from '../geometry.ts';

const againWithinMs = 500;
const againWithinPx = 5;

interface Press extends Point {
  button: string;
  atMs: number;
}

/** Counts consecutive clicks in one place, as pointer events do not. */
export class ClickCount {
  #last: Press | undefined;
  #count = 0;

  press(press: Press): number {
    const last = this.#last;
    const isAgain =
      last !== undefined &&
      last.button === press.button &&
      press.atMs - last.atMs <= againWithinMs &&
      Math.hypot(press.x - last.x, press.y - last.y) <= againWithinPx;
    this.#count = isAgain ? this.#count + 1 : 1;
    this.#last = press;
    return this.#count;
  }

  /** The click count of the last press. */
  get count(): number {
    return this.#count;
  }
}
