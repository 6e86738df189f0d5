/** Recordings that were cut off with their worker: what is on the disk is made readable, and called incomplete. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordingVideo } from '@berth/contract';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Store } from '../store/store.ts';
import { folderOf, listSizes, openPlain, readText, replaceFile, sizeOf, videoFolder } from './folder.ts';
import { pictureIndexName, picturesName, type PictureLine } from './frames.ts';
import { closeVideo } from './playlist.ts';
import { readFacts, writeFacts } from './facts.ts';
import type { RecordingOutcome, RecordingRecord } from './recording.ts';
import { strandedRecordings } from './store.ts';
import { timelineName, type TimelineLine } from './timeline.ts';

export interface RecoverDeps {
  store: Store;
  clock: Clock;
  log: Log;
  workerId: string;
  root: string;
  /** Whether this worker records it, or is about to write down what it came to. */
  isHeld(recId: string): boolean;
  /** Workers that no longer tell that they live. */
  silentWorkers(): Promise<string[]>;
  /** Writes down what has become of it, in its row and its session's. */
  settle(record: RecordingRecord, outcome: RecordingOutcome): Promise<void>;
}

/** A day of pictures. */
const indexBytesMax = 32 * 1024 * 1024;
/** The longest line of a timeline is shorter. */
const tailBytesMax = 128 * 1024;

/**
 * Recordings that the store calls running and that nobody records: our own from before we died, and those of workers
 * that are silent, whose files only they can reach.
 */
export async function recoverRecordings(deps: RecoverDeps, signal: AbortSignal): Promise<void> {
  const { store, workerId, log, clock, root } = deps;
  for (const record of await strandedRecordings(store, workerId, await deps.silentWorkers())) {
    if (signal.aborted) return;
    if (deps.isHeld(record.recId)) continue;
    try {
      const isOurs = record.workerId === workerId;
      const outcome = isOurs ? await mend(folderOf(root, record.recId), record, clock.now()) : unseen(record, clock.now());
      await deps.settle(record, outcome);
      log.warn({ recording: record.recId, status: outcome.status }, 'a recording was ended whose worker is gone');
    } catch (error) {
      // Such as on a disk that is full. The next turn tries again.
      log.warn({ error, recording: record.recId }, 'a recording could not be mended');
    }
  }
}

const unseen = ({ durationMs, sizeBytes, truncated }: RecordingRecord, endedAt: Date): RecordingOutcome => ({
  ...{ status: 'incomplete', video: null, endedAt, durationMs, sizeBytes, truncated },
});

/** Closes what was left open in a folder, and says what there is. Doing it twice changes nothing. @throws where it cannot be written */
export async function mend(folder: string, record: RecordingRecord, now: Date): Promise<RecordingOutcome> {
  const facts = await readFacts(folder);
  const timelineMs = await mendTimeline(folder);
  const playlist = await closeVideo(join(folder, videoFolder));
  const picturesMs = playlist ? null : await mendFrames(folder);
  const video: RecordingVideo | null = playlist ? 'hls' : picturesMs === null ? null : 'frames';
  const durationMs = Math.max(facts?.duration_ms ?? 0, timelineMs, picturesMs ?? 0, playlist?.durationMs ?? 0);
  // The worker may have got as far as to write down the end, only not in the store.
  const wasFinished = facts !== null && facts.status !== 'recording' && facts.video === video;
  const outcome: RecordingOutcome = {
    status: wasFinished ? (facts.status as RecordingOutcome['status']) : video === null ? 'failed' : 'incomplete',
    video,
    endedAt: facts?.ended_at ? new Date(facts.ended_at) : new Date(Math.min(now.getTime(), record.startedAt.getTime() + durationMs)),
    durationMs,
    sizeBytes: await sizeOf(folder),
    truncated: facts?.truncated ?? false,
  };
  // Where there is no folder there is nothing to say it in.
  await writeFacts(folder, { ...record, ...outcome }).catch(() => undefined);
  return outcome;
}

/** Cuts a last line that is not whole. Gives the time of the one before, in ms; 0 where there is none. */
async function mendTimeline(folder: string): Promise<number> {
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
    return lineOf(last.slice(last.lastIndexOf('\n') + 1))?.t_ms ?? 0;
  } finally {
    await handle.close();
  }
}

/** Leaves out of the index what is not whole. Gives the time of the last picture, in ms; null where there is none. */
async function mendFrames(folder: string): Promise<number | null> {
  const index = await readText(folder, pictureIndexName, indexBytesMax).catch(() => null);
  if (index === null) return null;
  const bytes = (await listSizes(folder)).get(picturesName) ?? 0;
  const lines = index.split('\n').filter((text) => {
    const { offset = Infinity, length = 0 } = lineOf(text) ?? {};
    return offset + length <= bytes;
  });
  const mended = lines.map((line) => `${line}\n`).join('');
  if (mended !== index) await replaceFile(folder, pictureIndexName, mended);
  return lineOf(lines.at(-1) ?? '')?.t_ms ?? null;
}

/** A line that we wrote ourselves; null where it is not all there. */
function lineOf(text: string): Partial<PictureLine & TimelineLine> | null {
  try {
    return JSON.parse(text) as ReturnType<typeof lineOf>;
  } catch {
    return null;
  }
}
