import type { ReadonlySignal } from '@preact/signals';

export type FootageError = 'denied' | 'unplayable';

/** What the player plays: a video or a sequence of frames. Times are ms from its start. */
export interface Footage {
  readonly isPlaying: ReadonlySignal<boolean>;
  /** Whether playback waits for data. */
  readonly isWaiting: ReadonlySignal<boolean>;
  readonly timeMs: ReadonlySignal<number>;
  /** Grows while recording. */
  readonly durationMs: ReadonlySignal<number>;
  readonly error: ReadonlySignal<FootageError | null>;
  play(): void;
  pause(): void;
  seek(toMs: number): void;
  setRate(rate: number): void;
  /** Stops loading for good. */
  close(): void;
}

/** Update interval of the playback time. */
export const tickMs = 100;
