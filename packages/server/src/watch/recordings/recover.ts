/** Recovers recordings that were interrupted with their worker: repairs their files and marks them incomplete. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordingVideo } from '@berth/contract';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { Store } from '../../store/store.ts';
import { folderOf, listSizes, openPlain, readText, replaceFile, sizeOf, videoFolder } from './files/folder.ts';
import { frameIndexName, framesName, type FrameLine } from './video/frames.ts';
import { closeVideo } from './video/playlist.ts';
import { readInfo, writeInfo } from './info.ts';
import type { RecordingOutcome, RecordingRecord } from './recording.ts';
import { orphanedRecordings } from './store.ts';
import { timelineName, type TimelineLine } from './timeline.ts';

export interface RecoverDeps {
  store: Store;
  clock: Clock;
  log: Log;
  workerId: string;
  root: string;
  /** Whether this worker is recording or finalizing it. */
  isActive(recId: string): boolean;
  /** Stores the outcome in the rows of the recording and its session. */
  finalize(record: RecordingRecord, outcome: RecordingOutcome): Promise<void>;
}

/** Enough for a day of frames. */
const indexBytesMax = 32 * 1024 * 1024;
/** Longer than any timeline line. */
const tailBytesMax = 128 * 1024;

/**
 * Ends recordings that the store lists as running but no worker records: those of this worker before a restart, and
 * those of lost workers, whose files cannot be read here.
 */
export async function recoverRecordings(deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { store, workerId, log, clock, root } = deps;
  for (const record of await orphanedRecordings(store, workerId)) {
    if (signal.aborted) return;
    if (deps.isActive(record.recId)) continue;
    try {
      const isOurs = record.workerId === workerId;
      const outcome = isOurs
        ? await repairFolder(folderOf(root, record.recId), record, clock.now())
        : abandonedOutcome(record, clock.now());
      await deps.finalize(record, outcome);
      log.warn({ recording: record.recId, status: outcome.status }, 'recording of a lost worker ended');
    } catch (error) {
      // For example on a full disk. The next iteration retries.
      log.warn({ err: error, recording: record.recId }, 'recording repair failed');
    }
  }
}

const abandonedOutcome = ({ durationMs, sizeBytes, truncated }: RecordingRecord, endedAt: Date): RecordingOutcome => ({
  ...{ status: 'incomplete', video: null, endedAt, durationMs, sizeBytes, truncated },
});

/** Repairs the files of a folder and returns the outcome. Idempotent. @throws when a file cannot be written */
export async function repairFolder(folder: string, record: RecordingRecord, now: Date): Promise<RecordingOutcome> {
  const info = await readInfo(folder);
  const timelineMs = await repairTimeline(folder);
  const playlist = await closeVideo(join(folder, videoFolder));
  const framesMs = playlist ? null : await repairFrames(folder);
  const video: RecordingVideo | null = playlist ? 'hls' : framesMs === null ? null : 'frames';
  const durationMs = Math.max(info?.duration_ms ?? 0, timelineMs, framesMs ?? 0, playlist?.durationMs ?? 0);
  // The worker may have finished the files but not updated the store.
  const wasFinished = info !== null && info.status !== 'recording' && info.video === video;
  const outcome: RecordingOutcome = {
    status: wasFinished ? (info.status as RecordingOutcome['status']) : video === null ? 'failed' : 'incomplete',
    video,
    endedAt: info?.ended_at ? new Date(info.ended_at) : new Date(Math.min(now.getTime(), record.startedAt.getTime() + durationMs)),
    durationMs,
    sizeBytes: await sizeOf(folder),
    truncated: info?.truncated ?? false,
  };
  // The folder may not exist.
  await writeInfo(folder, { ...record, ...outcome }).catch(() => undefined);
  return outcome;
}

/** Truncates an incomplete last line. Returns the time of the last complete one, in ms; 0 when there is none. */
async function repairTimeline(folder: string): Promise<number> {
  const file = await openPlain(folder, timelineName).catch(() => null);
  if (!file) return 0;
  await file.handle.close();
  const handle = await open(join(folder, timelineName), 'r+');
  try {
    const from = Math.max(0, file.bytes - tailBytesMax);
    const tail = Buffer.alloc(file.bytes - from);
    await handle.read(tail, 0, tail.length, from);
    const end = tail.lastIndexOf('\n') + 1;
    if (end < tail.length) await handle.truncate(from + end);
    const last = tail.subarray(0, Math.max(0, end - 1)).toString('utf8');
    return parseLine(last.slice(last.lastIndexOf('\n') + 1))?.t_ms ?? 0;
  } finally {
    await handle.close();
  }
}

/** Removes incomplete frames from the index. Returns the time of the last frame, in ms; null when there is none. */
async function repairFrames(folder: string): Promise<number | null> {
  const index = await readText(folder, frameIndexName, indexBytesMax).catch(() => null);
  if (index === null) return null;
  const bytes = (await listSizes(folder)).get(framesName) ?? 0;
  const lines = index.split('\n').filter((text) => {
    const { offset = Infinity, length = 0 } = parseLine(text) ?? {};
    return offset + length <= bytes;
  });
  const repaired = lines.map((line) => `${line}\n`).join('');
  if (repaired !== index) await replaceFile(folder, frameIndexName, repaired);
  return parseLine(lines.at(-1) ?? '')?.t_ms ?? null;
}

/** Parses a line that this service wrote; null when it is incomplete. */
function parseLine(text: string): Partial<FrameLine & TimelineLine> | null {
  try {
    return JSON.parse(text) as ReturnType<typeof parseLine>;
  } catch {
    return null;
  }
}
