import type { ReadonlySignal } from '@preact/signals';

export type FootageFault = 'denied' | 'unplayable';

/** What can be played: a video, or pictures one after the other. Times are ms from its start. */
export interface Footage {
  readonly isPlaying: ReadonlySignal<boolean>;
  /** Whether it stands still because what comes next has not arrived. */
  readonly isWaiting: ReadonlySignal<boolean>;
  readonly timeMs: ReadonlySignal<number>;
  /** How far it can be played; it grows while the recording does. */
  readonly durationMs: ReadonlySignal<number>;
  readonly fault: ReadonlySignal<FootageFault | null>;
  play(): void;
  pause(): void;
  seek(toMs: number): void;
  setRate(rate: number): void;
  /** Ends loading for good. */
  close(): void;
}

/** How often the time is told while it plays: the eye sees no finer step of a seek bar. */
export const tickMs = 100;
