import type { Point } from './place.ts';

const againWithinMs = 500;
const againWithinPx = 5;

interface Press extends Point {
  button: string;
  atMs: number;
}

/** Counts presses of a button in one place: two are a double click. Pointer events do not tell it. */
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

  /** Of the last press, for its release. */
  get count(): number {
    return this.#count;
  }
}
