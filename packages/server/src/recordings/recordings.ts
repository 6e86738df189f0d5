/** Recordings: made beside sessions that ask for one, listed and opened by their owner, deleted when their time is up. */
import { mkdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { ServiceError } from '@berth/contract';
import type { FileReply } from '../http/call.ts';
import type { Clock } from '../lib/clock.ts';
import { isId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { Loop } from '../lib/loop.ts';
import type { Owners } from '../owners/owners.ts';
import type { VideoEncoders } from '../runtime/runtime.ts';
import type { LiveSession, Machine, Sessions } from '../sessions/sessions.ts';
import type { Store } from '../store/store.ts';
import { assetNames, openAsset } from './assets.ts';
import { folderOf } from './folder.ts';
import { pruneRecordings } from './prune.ts';
import { Recorder, type RecordingLimits } from './recorder.ts';
import { expiryOf, hasExpired, type RecordingOutcome, type RecordingRecord } from './recording.ts';
import { recoverRecordings } from './recover.ts';
import { finishRecording, insertRecording, recordingsOf } from './store.ts';

export { playerName } from './assets.ts';
export type { RecordingLimits } from './recorder.ts';
export type { RecordingRecord } from './recording.ts';

export interface RecordingsDeps {
  store: Store;
  sessions: Pick<Sessions, 'onReady' | 'onEnded' | 'noteRecording' | 'get'>;
  owners: Pick<Owners, 'tierOf'>;
  clock: Clock;
  log: Log;
  /** An absolute path: recordings lie in its folder `recordings`. */
  dataDir: string;
  workerId: string;
  /** null: single pictures are kept instead of a video. */
  encoders: Pick<VideoEncoders, 'start' | 'framesPerSecond'> | null;
  limits: RecordingLimits;
  /** Workers that no longer tell that they live. */
  silentWorkers(): Promise<string[]>;
}

/** A recording as it is told. */
export interface RecordingView {
  record: RecordingRecord;
  /** Names of what can be asked for. */
  assets: string[];
}

export interface RecordingTarget {
  owner: string;
  sessionId: string;
  recId: string;
}

/** A recording that this worker makes, until it is written down what it came to. */
interface Held {
  recorder: Recorder;
  inserted: Promise<void>;
  ending: Promise<void> | null;
}

const pulseMs = 2000;
/** What is under way then is mended by the next start. */
const stopMsMax = 10_000;

export class Recordings {
  readonly pulse: Loop;
  readonly recovery: Loop;
  readonly pruning: Loop;
  readonly loops: readonly Loop[];
  readonly #deps: RecordingsDeps;
  readonly #root: string;
  /** By session. */
  readonly #held = new Map<string, Held>();

  constructor(deps: RecordingsDeps) {
    const { store, clock, log, workerId, sessions } = deps;
    this.#deps = deps;
    this.#root = join(deps.dataDir, 'recordings');
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
    const isHeld = (recId: string): boolean => [...this.#held.values()].some(({ recorder }) => recorder.record.recId === recId);
    const shared = { store, clock, log, workerId, root: this.#root, isHeld };
    const settle = (record: RecordingRecord, outcome: RecordingOutcome): Promise<void> => this.#settle(record, outcome);
    const silentWorkers = (): Promise<string[]> => deps.silentWorkers();
    this.pulse = new Loop('recording-pulse', pulseMs, () => this.#pulse());
    this.recovery = new Loop('recording-recovery', 10_000, (signal) => recoverRecordings({ ...shared, settle, silentWorkers }, signal));
    this.pruning = new Loop('recording-pruning', 600_000, (signal) => pruneRecordings(shared, signal));
    this.loops = [this.pulse, this.recovery, this.pruning];
    sessions.onReady((session, machine) => this.#begin(session, machine));
    sessions.onEnded(({ sessionId }) => void this.#end(sessionId));
  }

  /** Recordings that are being made, or written down. */
  get size(): number {
    return this.#held.size;
  }

  /** Oldest first; also of a session that is forgotten itself. Throws session_not_found where there is neither. */
  async list(owner: string, sessionId: string): Promise<RecordingView[]> {
    const records = await this.#find(owner, sessionId);
    if (records.length === 0) await this.#deps.sessions.get(owner, sessionId);
    return Promise.all(records.map(async (record) => ({ record, assets: await assetNames(folderOf(this.#root, record.recId)) })));
  }

  /** The id of an owner's recording of a session, as long as there is one. */
  async recordingOf(owner: string, sessionId: string): Promise<string | null> {
    return (await this.#find(owner, sessionId)).at(-1)?.recId ?? null;
  }

  /** Throws recording_not_found for one that is unknown, foreign, another session's or expired alike. */
  async get({ owner, sessionId, recId }: RecordingTarget): Promise<RecordingRecord> {
    const record = (await this.#find(owner, sessionId)).find((candidate) => candidate.recId === recId);
    if (!record) throw new ServiceError('recording_not_found', 'There is no such recording.');
    return record;
  }

  /** A file of it, by its name. The caller closes it. Throws recording_not_found, asset_not_found. */
  async open(target: RecordingTarget, name: string): Promise<FileReply> {
    const record = await this.get(target);
    return openAsset(folderOf(this.#root, record.recId), name, record);
  }

  start(): void {
    for (const loop of this.loops) loop.start();
  }

  /** Waits until what the sessions that have ended leave is written down. Bounded. */
  async stop(): Promise<void> {
    const ends = [...this.#held.keys()].map((sessionId) => this.#end(sessionId));
    await Promise.race([Promise.all(ends), wait(stopMsMax, undefined, { ref: false })]);
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }

  /** Must not throw, nor keep the session waiting. */
  #begin(session: LiveSession, machine: Machine): void {
    const { sessionId } = session.record;
    const recId = session.record.settings.rec_id ?? null;
    if (recId === null) return;
    session.recording = 'recording';
    const { clock, log, store } = this.#deps;
    const record = newRecord(session, recId, this.#deps);
    try {
      const recorder = new Recorder({
        ...{ ...this.#deps, record, folder: folderOf(this.#root, recId), browser: machine.browser, events: session.events },
        freeBytes: () => freeBytesOf(this.#root),
        onStopped: () => void this.#end(sessionId),
      });
      const warn = (error: unknown): void => log.warn({ error, recording: recId }, 'a recording could not be written down');
      this.#held.set(sessionId, { recorder, inserted: insertRecording(store, record).catch(warn), ending: null });
    } catch (error) {
      log.warn({ error, recording: recId }, 'a recording could not be begun');
      const failed = { status: 'failed', video: null, endedAt: clock.now(), durationMs: 0, sizeBytes: 0, truncated: false } as const;
      void this.#settle(record, failed).catch((cause: unknown) =>
        log.warn({ error: cause, recording: recId }, 'a recording could not be written down'),
      );
      return;
    }
    // It ended while it became ready.
    if (session.abort.signal.aborted) void this.#end(sessionId);
  }

  /** Never rejects. All who ask share one end. */
  async #end(sessionId: string): Promise<void> {
    const held = this.#held.get(sessionId);
    if (!held) return;
    // At once, while the browser is still there.
    held.recorder.halt();
    held.ending ??= this.#finish(sessionId, held);
    await held.ending;
  }

  async #finish(sessionId: string, { recorder, inserted }: Held): Promise<void> {
    const { record } = recorder;
    try {
      const outcome = await recorder.finish();
      await inserted;
      // Where it could not be written at its start.
      await insertRecording(this.#deps.store, record);
      await this.#settle(record, outcome);
    } catch (error) {
      // Its row says that it runs, and nobody holds it any more: the next turn of the recovery reads how it ended.
      this.#deps.log.warn({ error, recording: record.recId }, 'the end of a recording could not be written down');
    } finally {
      this.#held.delete(sessionId);
    }
  }

  async #settle(record: RecordingRecord, outcome: RecordingOutcome): Promise<void> {
    const { store, owners, sessions } = this.#deps;
    const { recording_retention_days: days } = await owners.tierOf(record.owner);
    await finishRecording(store, record.recId, { ...outcome, expiresAt: expiryOf(outcome.endedAt, days) });
    await sessions.noteRecording(record.sessionId, outcome.status);
  }

  /** What this worker makes is told as it is now, and not as it was when it began. */
  async #find(owner: string, sessionId: string): Promise<RecordingRecord[]> {
    if (!isId('ses', sessionId)) return [];
    const now = this.#deps.clock.now();
    const records = (await recordingsOf(this.#deps.store, owner, sessionId)).filter((record) => !hasExpired(record, now));
    const live = this.#held.get(sessionId)?.recorder.record;
    if (!live || live.owner !== owner) return records;
    const before = records.find(({ recId }) => recId === live.recId);
    // Between the row's end and the recorder's, the row knows more.
    return before && before.status !== 'recording' ? records : [...records.filter(({ recId }) => recId !== live.recId), live];
  }

  async #pulse(): Promise<void> {
    await Promise.all([...this.#held.values()].map(({ recorder }) => recorder.pulse()));
  }
}

const newRecord = ({ record: { sessionId, owner } }: LiveSession, recId: string, { workerId, clock }: RecordingsDeps): RecordingRecord => ({
  recId,
  sessionId,
  owner,
  workerId,
  status: 'recording',
  video: null,
  startedAt: clock.now(),
  endedAt: null,
  durationMs: 0,
  sizeBytes: 0,
  truncated: false,
  expiresAt: null,
});

async function freeBytesOf(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
