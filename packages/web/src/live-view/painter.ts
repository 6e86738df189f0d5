import type { Frame } from './frame.ts';

interface PendingFrame {
  frame: Frame;
  /** Acknowledges the frame. */
  done: () => void;
}

/** Draws the newest frame on a canvas. A frame that arrives during decoding replaces the pending one. */
export class Painter {
  readonly #onDrawn: (frame: Frame) => void;
  #canvas: HTMLCanvasElement | undefined;
  #pending: PendingFrame | undefined;
  #isBusy = false;

  constructor(onDrawn: (frame: Frame) => void) {
    this.#onDrawn = onDrawn;
  }

  drawOn(canvas: HTMLCanvasElement | null): void {
    this.#canvas = canvas ?? undefined;
  }

  show(frame: Frame, done: () => void): void {
    this.#pending?.done();
    this.#pending = { frame, done };
    if (!this.#isBusy) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    for (let next = this.#takePending(); next; next = this.#takePending()) {
      // A frame that cannot be decoded counts as lost.
      await this.#draw(next.frame).catch(() => {});
      next.done();
    }
    this.#isBusy = false;
  }

  #takePending(): PendingFrame | undefined {
    const next = this.#pending;
    this.#pending = undefined;
    return next;
  }

  async #draw(frame: Frame): Promise<void> {
    const bitmap = await createImageBitmap(new Blob([frame.jpeg], { type: 'image/jpeg' }));
    const canvas = this.#canvas;
    if (canvas) {
      // Setting the size clears the canvas, so only when it differs.
      if (canvas.width !== bitmap.width) canvas.width = bitmap.width;
      if (canvas.height !== bitmap.height) canvas.height = bitmap.height;
      canvas.getContext('2d', { alpha: false })?.drawImage(bitmap, 0, 0);
      this.#onDrawn(frame);
    }
    bitmap.close();
  }
}
