/**
 * A recording's states, and what is kept of it.
 *
 *   recording ──► complete | incomplete | failed
 *
 * `recording` is left once, by the one statement that finds it so.
 */
import type { RecordingStatus, RecordingVideo } from '@berth/contract';

export interface RecordingRecord {
  recId: string;
  sessionId: string;
  owner: string;
  workerId: string;
  status: RecordingStatus;
  /** null until there is a picture. */
  video: RecordingVideo | null;
  startedAt: Date;
  endedAt: Date | null;
  durationMs: number;
  sizeBytes: number;
  /** Whether it stopped before its session, for want of room. */
  truncated: boolean;
  /** When it is deleted; null while it runs. */
  expiresAt: Date | null;
}

/** What a recording came to: all of its row that its start did not tell. */
export type RecordingOutcome = Pick<RecordingRecord, 'video' | 'durationMs' | 'sizeBytes' | 'truncated'> & {
  status: Exclude<RecordingStatus, 'recording'>;
  endedAt: Date;
};

const dayMs = 24 * 3_600_000;

export const expiryOf = (endedAt: Date, retentionDays: number): Date => new Date(endedAt.getTime() + retentionDays * dayMs);

export const hasExpired = ({ expiresAt }: RecordingRecord, now: Date): boolean => expiresAt !== null && expiresAt <= now;
