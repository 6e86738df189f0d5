import type { Frame } from './frame.ts';

interface Waiting {
  frame: Frame;
  /** Tells the service that this viewer is done with the frame. */
  done: () => void;
}

/** Draws the newest picture onto a canvas. What comes while one is being read replaces what waits. */
export class Painter {
  readonly #onDrawn: (frame: Frame) => void;
  #canvas: HTMLCanvasElement | undefined;
  #waiting: Waiting | undefined;
  #isBusy = false;

  constructor(onDrawn: (frame: Frame) => void) {
    this.#onDrawn = onDrawn;
  }

  drawOn(canvas: HTMLCanvasElement | null): void {
    this.#canvas = canvas ?? undefined;
  }

  show(frame: Frame, done: () => void): void {
    this.#waiting?.done();
    this.#waiting = { frame, done };
    if (!this.#isBusy) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    for (let next = this.#take(); next; next = this.#take()) {
      // A picture that cannot be read is as good as one that was lost on the way.
      await this.#draw(next.frame).catch(() => {});
      next.done();
    }
    this.#isBusy = false;
  }

  #take(): Waiting | undefined {
    const next = this.#waiting;
    this.#waiting = undefined;
    return next;
  }

  async #draw(frame: Frame): Promise<void> {
    const bitmap = await createImageBitmap(new Blob([frame.jpeg], { type: 'image/jpeg' }));
    const canvas = this.#canvas;
    if (canvas) {
      // To set a canvas's size empties it, so only when it differs.
      if (canvas.width !== bitmap.width) canvas.width = bitmap.width;
      if (canvas.height !== bitmap.height) canvas.height = bitmap.height;
      canvas.getContext('2d', { alpha: false })?.drawImage(bitmap, 0, 0);
      this.#onDrawn(frame);
    }
    bitmap.close();
  }
}
