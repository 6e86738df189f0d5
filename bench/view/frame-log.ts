/** A frame that a viewer received. */
export interface ReceivedFrame {
  /** Time of arrival by this process's monotonic clock, in ms. */
  atMs: number;
  /** Time since the browser drew it, by the shared clock. */
  ageMs: number;
  bytes: number;
}

export class FrameLog {
  #frames: ReceivedFrame[] = [];
  #first: ((frame: ReceivedFrame) => void) | null = null;

  /** `drawnAtMs` is in epoch ms. */
  add(drawnAtMs: number, bytes: number): void {
    const frame = { atMs: performance.now(), ageMs: Date.now() - drawnAtMs, bytes };
    this.#frames.push(frame);
    this.#first?.(frame);
    this.#first = null;
  }

  /** Resolves to the next frame. */
  next(): Promise<ReceivedFrame> {
    return new Promise((resolve) => {
      this.#first = resolve;
    });
  }

  /** Returns the frames since the last call. */
  take(): ReceivedFrame[] {
    const taken = this.#frames;
    this.#frames = [];
    return taken;
  }
}

/** Milliseconds between one frame and the next. */
export const gapsOf = (frames: readonly ReceivedFrame[]): number[] =>
  frames.slice(1).map(({ atMs }, i) => atMs - (frames[i]?.atMs ?? atMs));

/** Rejects after `ms`. The work is not cancelled. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
