import { signal } from '@preact/signals';
import { AssetError, readBytes } from './asset.ts';
import { tickMs, type Footage, type FootageFault } from './footage.ts';
import { blockFrom, frameAt, type FrameLine } from './frame-blocks.ts';
import { GrowingLines } from './growing-lines.ts';
import { growthPollMs } from './recording.ts';

/** Pictures kept in memory, some megabytes. */
const keptMax = 120;

interface FrameFootageOptions {
  canvas: HTMLCanvasElement;
  index: string;
  pictures: string;
  /** Whether there may come more pictures. */
  isGrowing: () => boolean;
}

/** Single pictures with a clock of their own, where the service has no encoder. */
export class FrameFootage implements Footage {
  readonly isPlaying = signal(false);
  readonly isWaiting = signal(false);
  readonly timeMs = signal(0);
  readonly durationMs = signal(0);
  readonly fault = signal<FootageFault | null>(null);
  readonly #options: FrameFootageOptions;
  readonly #lines: GrowingLines<FrameLine>;
  readonly #kept = new Map<number, Blob>();
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
    void this.#grow();
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
    // The clock waits for the picture.
    if (!this.isWaiting.value) this.timeMs.value = Math.min(this.durationMs.value, this.timeMs.value + (now - this.#tickedMs) * this.#rate);
    this.#tickedMs = now;
    const isAtEnd = this.#frames.length > 0 && this.timeMs.value >= this.durationMs.value;
    if (isAtEnd && !this.#options.isGrowing()) this.pause();
    void this.#show();
  }

  async #grow(): Promise<void> {
    try {
      this.#frames.push(...(await this.#lines.more()));
      this.durationMs.value = this.#frames.at(-1)?.t_ms ?? 0;
      if (this.#shown < 0) void this.#show();
    } catch (error) {
      this.#failed(error);
    }
    if (!this.#isClosed && (this.#options.isGrowing() || this.#frames.length === 0)) setTimeout(() => void this.#grow(), growthPollMs);
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
      const picture = this.#kept.get(wanted) ?? (await this.#load(wanted));
      if (picture) await this.#draw(picture);
      this.#shown = wanted;
      this.isWaiting.value = false;
    } catch (error) {
      this.#failed(error);
    }
    this.#isLoading = false;
  }

  async #load(first: number): Promise<Blob | undefined> {
    const block = blockFrom(this.#frames, first);
    if (!block) return undefined;
    this.isWaiting.value = this.isPlaying.value;
    const bytes = await readBytes(this.#options.pictures, block.fromByte, block.toByte);
    for (const [index, { offset, length }] of this.#frames.slice(block.first, block.last).entries()) {
      const start = offset - block.fromByte;
      this.#kept.set(block.first + index, new Blob([bytes.slice(start, start + length)], { type: 'image/jpeg' }));
    }
    // The oldest first: a map remembers the order.
    for (const key of this.#kept.keys()) {
      if (this.#kept.size <= keptMax) break;
      this.#kept.delete(key);
    }
    return this.#kept.get(first);
  }

  async #draw(picture: Blob): Promise<void> {
    // One that cannot be read, as the last of a recording that was cut off, leaves the one before.
    const bitmap = await createImageBitmap(picture).catch(() => undefined);
    if (!bitmap) return;
    const { canvas } = this.#options;
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
    canvas.getContext('2d', { alpha: false })?.drawImage(bitmap, 0, 0);
    bitmap.close();
  }

  #failed(error: unknown): void {
    if (error instanceof AssetError && error.fault === 'denied') {
      this.fault.value = 'denied';
      this.pause();
    }
  }
}
