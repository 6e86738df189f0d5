/**
 * States and record of a recording.
 *
 *   recording ──► complete | incomplete | failed
 *
 * A compare-and-set leaves `recording`, so it happens once.
 */
import type { RecordingStatus, RecordingVideo } from '@berth/contract';

export interface RecordingRecord {
  recId: string;
  sessionId: string;
  owner: string;
  workerId: string;
  status: RecordingStatus;
  /** null until there is a frame. */
  video: RecordingVideo | null;
  startedAt: Date;
  endedAt: Date | null;
  durationMs: number;
  sizeBytes: number;
  /** Whether it stopped before its session, for lack of space. */
  truncated: boolean;
  /** When it is deleted; null while recording. */
  expiresAt: Date | null;
  /** When its files were in object storage; null: they are on its worker's disk. */
  uploadedAt: Date | null;
}

/** The part of the record that is known only at the end. */
export type RecordingOutcome = Pick<RecordingRecord, 'video' | 'durationMs' | 'sizeBytes' | 'truncated'> & {
  status: Exclude<RecordingStatus, 'recording'>;
  endedAt: Date;
};

const dayMs = 24 * 3_600_000;

export const expiryOf = (endedAt: Date, retentionDays: number): Date => new Date(endedAt.getTime() + retentionDays * dayMs);

export const hasExpired = ({ expiresAt }: RecordingRecord, now: Date): boolean => expiresAt !== null && expiresAt <= now;
