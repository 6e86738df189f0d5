/** What came to one who watches. */
export interface TakenFrame {
  /** By this process's monotonic clock, in ms. */
  atMs: number;
  /** Since the browser drew it, by the clock that both share. */
  ageMs: number;
  bytes: number;
}

export class FrameLog {
  #frames: TakenFrame[] = [];
  #first: ((frame: TakenFrame) => void) | null = null;

  /** `drawnAtMs` is in epoch ms. */
  add(drawnAtMs: number, bytes: number): void {
    const frame = { atMs: performance.now(), ageMs: Date.now() - drawnAtMs, bytes };
    this.#frames.push(frame);
    this.#first?.(frame);
    this.#first = null;
  }

  /** The next frame that comes, from now on. */
  next(): Promise<TakenFrame> {
    return new Promise((resolve) => {
      this.#first = resolve;
    });
  }

  /** What has come since it was asked last. */
  take(): TakenFrame[] {
    const taken = this.#frames;
    this.#frames = [];
    return taken;
  }
}

/** Milliseconds between one frame and the next. */
export const gapsOf = (frames: readonly TakenFrame[]): number[] => frames.slice(1).map(({ atMs }, i) => atMs - (frames[i]?.atMs ?? atMs));

/** Rejects when it takes longer. What it waited for is left alone. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
