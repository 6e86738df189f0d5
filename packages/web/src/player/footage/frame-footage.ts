import { signal } from '@preact/signals';
import { AssetError, readBytes } from './asset.ts';
import { tickMs, type Footage, type FootageError } from './footage.ts';
import { blockFrom, frameAt, type FrameLine } from './frame-blocks.ts';
import { GrowingLines } from './growing-lines.ts';
import { growthPollMs } from './recording.ts';

/** Some megabytes of frames. */
const cachedFramesMax = 120;

interface FrameFootageOptions {
  canvas: HTMLCanvasElement;
  index: string;
  pictures: string;
  /** Whether more frames may follow. */
  isGrowing: () => boolean;
}

/** Plays still frames, when the service has no video encoder. */
export class FrameFootage implements Footage {
  readonly isPlaying = signal(false);
  readonly isWaiting = signal(false);
  readonly timeMs = signal(0);
  readonly durationMs = signal(0);
  readonly error = signal<FootageError | null>(null);
  readonly #options: FrameFootageOptions;
  readonly #lines: GrowingLines<FrameLine>;
  readonly #cachedFrames = new Map<number, Blob>();
  readonly #ticks: ReturnType<typeof setInterval>;
  #frames: FrameLine[] = [];
  #rate = 1;
  #tickedMs = 0;
  #shown = -1;
  #isLoading = false;
  #isClosed = false;

  constructor(options: FrameFootageOptions) {
    this.#options = options;
    this.#lines = new GrowingLines(options.index);
    this.#ticks = setInterval(() => this.#tick(), tickMs);
    void this.#loadIndex();
  }

  play(): void {
    if (this.timeMs.value >= this.durationMs.value) this.timeMs.value = 0;
    this.#tickedMs = performance.now();
    this.isPlaying.value = true;
  }

  pause(): void {
    this.isPlaying.value = false;
    this.isWaiting.value = false;
  }

  seek(toMs: number): void {
    this.timeMs.value = Math.min(Math.max(0, toMs), this.durationMs.value);
    void this.#show();
  }

  setRate(rate: number): void {
    this.#rate = rate;
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#ticks);
  }

  #tick(): void {
    if (!this.isPlaying.value) return;
    const now = performance.now();
    // The clock stops while a frame is loading.
    if (!this.isWaiting.value) this.timeMs.value = Math.min(this.durationMs.value, this.timeMs.value + (now - this.#tickedMs) * this.#rate);
    this.#tickedMs = now;
    const isAtEnd = this.#frames.length > 0 && this.timeMs.value >= this.durationMs.value;
    if (isAtEnd && !this.#options.isGrowing()) this.pause();
    void this.#show();
  }

  async #loadIndex(): Promise<void> {
    try {
      this.#frames.push(...(await this.#lines.readNew()));
      this.durationMs.value = this.#frames.at(-1)?.t_ms ?? 0;
      if (this.#shown < 0) void this.#show();
    } catch (error) {
      this.#handleError(error);
    }
    if (!this.#isClosed && (this.#options.isGrowing() || this.#frames.length === 0)) setTimeout(() => void this.#loadIndex(), growthPollMs);
  }

  async #show(): Promise<void> {
    const wanted = frameAt(this.#frames, this.timeMs.value);
    if (wanted < 0 || this.#isLoading) return;
    if (wanted === this.#shown) {
      this.isWaiting.value = false;
      return;
    }
    this.#isLoading = true;
    try {
      const picture = this.#cachedFrames.get(wanted) ?? (await this.#loadBlock(wanted));
      if (picture) await this.#draw(picture);
      this.#shown = wanted;
      this.isWaiting.value = false;
    } catch (error) {
      this.#handleError(error);
    }
    this.#isLoading = false;
  }

  async #loadBlock(first: number): Promise<Blob | undefined> {
    const block = blockFrom(this.#frames, first);
    if (!block) return undefined;
    this.isWaiting.value = this.isPlaying.value;
    const bytes = await readBytes(this.#options.pictures, block.fromByte, block.toByte);
    for (const [index, { offset, length }] of this.#frames.slice(block.first, block.last).entries()) {
      const start = offset - block.fromByte;
      this.#cachedFrames.set(block.first + index, new Blob([bytes.slice(start, start + length)], { type: 'image/jpeg' }));
    }
    // A map iterates in insertion order, so the oldest entries go first.
    for (const key of this.#cachedFrames.keys()) {
      if (this.#cachedFrames.size <= cachedFramesMax) break;
      this.#cachedFrames.delete(key);
    }
    return this.#cachedFrames.get(first);
  }

  async #draw(picture: Blob): Promise<void> {
    // A truncated frame, as at the end of an interrupted recording, leaves the previous one visible.
    const bitmap = await createImageBitmap(picture).catch(() => undefined);
    if (!bitmap) return;
    const { canvas } = this.#options;
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
    canvas.getContext('2d', { alpha: false })?.drawImage(bitmap, 0, 0);
    bitmap.close();
  }

  #handleError(error: unknown): void {
    if (error instanceof AssetError && error.reason === 'denied') {
      this.error.value = 'denied';
      this.pause();
    }
  }
}
