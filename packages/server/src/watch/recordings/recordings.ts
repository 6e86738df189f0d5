/** Recordings: made of sessions with `record`, listed and read by their owner, deleted when they expire. */
import { mkdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, type EndedReason } from '@berth/contract';
import type { Disk, DiskAccount } from '../../disk/disk.ts';
import type { FileReply } from '../../http/call.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { isId } from '@berth/lib/ids.ts';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import type { Objects } from '../../objects/objects.ts';
import type { Owners } from '../../accounts/owners/owners.ts';
import type { VideoEncoders } from '@berth/machines';
import type { LiveSession, Machine, Sessions } from '../../sessions/sessions/sessions.ts';
import type { Store } from '../../store/store.ts';
import { RecordingFiles } from './files/files.ts';
import { folderOf } from './files/folder.ts';
import { pruneRecordings } from './files/prune.ts';
import { Recorder, type RecordingLimits } from './recorder.ts';
import { expiryOf, hasExpired, type RecordingOutcome, type RecordingRecord } from './recording.ts';
import { recoverRecordings } from './recover.ts';
import { findLocation, finishRecording, insertRecording, recordingsOf, sizesByOwner } from './store.ts';

export { playerName } from './assets.ts';
export type { RecordingLimits } from './recorder.ts';
export type { RecordingRecord } from './recording.ts';

export interface RecordingsDeps {
  store: Store;
  sessions: Pick<Sessions, 'onReady' | 'onEnded' | 'setRecordingStatus' | 'get'>;
  owners: Pick<Owners, 'tierOf'>;
  clock: Clock;
  log: Log;
  /** An absolute path. Recordings are stored in its folder `recordings`. */
  dataDir: string;
  workerId: string;
  /** null: still frames instead of a video. */
  encoders: Pick<VideoEncoders, 'start' | 'framesPerSecond'> | null;
  limits: RecordingLimits;
  disk: Disk;
  /** null: recordings stay on this worker's disk. */
  objects: Objects | null;
  /** Returns the ids of workers whose lease was taken. */
  silentWorkers(): Promise<string[]>;
}

export interface RecordingView {
  record: RecordingRecord;
  /** File names that can be requested. */
  assets: string[];
}

export interface RecordingTarget {
  owner: string;
  sessionId: string;
  recId: string;
}

/** A recording of this worker, until its outcome is stored. */
interface ActiveRecording {
  recorder: Recorder;
  disk: DiskAccount;
  inserted: Promise<void>;
  ending: Promise<void> | null;
}

const pulseMs = 2000;
/** Maximum time to stop: recordings not finished by then are repaired at the next start. */
const stopTimeoutMs = 10_000;

export class Recordings {
  readonly pulse: Loop;
  readonly recovery: Loop;
  readonly pruning: Loop;
  readonly loops: readonly Loop[];
  readonly #deps: RecordingsDeps;
  readonly #root: string;
  readonly #files: RecordingFiles;
  /** The active recordings by session. */
  readonly #active = new Map<string, ActiveRecording>();
  /** The disk accounts of finished recordings, by owner. */
  readonly #stored = new Map<string, DiskAccount>();

  constructor(deps: RecordingsDeps) {
    const { store, clock, log, workerId, sessions } = deps;
    this.#deps = deps;
    this.#root = join(deps.dataDir, 'recordings');
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
    const isActive = (recId: string): boolean => [...this.#active.values()].some(({ recorder }) => recorder.record.recId === recId);
    const silentWorkers = (): Promise<string[]> => deps.silentWorkers();
    const shared = { store, clock, log, workerId, root: this.#root, isActive: isActive };
    const recount = async (): Promise<void> => this.#countStored(await sizesByOwner(store, workerId));
    const files = new RecordingFiles({ ...shared, objects: deps.objects, silentWorkers, onRemoved: recount });
    this.#files = files;
    const finalize = (record: RecordingRecord, outcome: RecordingOutcome): Promise<void> => this.#finalize(record, outcome);
    this.pulse = new Loop('recording-progress', pulseMs, () => this.#pulse());
    this.recovery = new Loop('recording-recovery', 10_000, (signal) => recoverRecordings({ ...shared, finalize }, signal));
    this.pruning = new Loop('recording-pruning', 600_000, async (signal) => {
      await pruneRecordings({ ...shared, deleteObjects: deps.objects && ((recId) => files.deleteObjects(recId)) }, signal);
      await recount();
    });
    this.loops = [this.pulse, this.recovery, this.pruning, ...files.loops];
    sessions.onReady((session, machine) => this.#begin(session, machine));
    sessions.onEnded(({ sessionId, endedReason }) => void this.#end(sessionId, { ended_reason: endedReason }));
  }

  /** The number of recordings in progress or being finalized. */
  get size(): number {
    return this.#active.size;
  }

  /** The number of finished recordings that wait for their upload. */
  get uploadsPending(): number {
    return this.#files.pending;
  }

  /** Oldest first, also for a session that has been deleted. @throws ServiceError session_not_found when neither exists, store_unavailable */
  async list(owner: string, sessionId: string): Promise<RecordingView[]> {
    const records = await this.#listRecords(owner, sessionId);
    if (records.length === 0) await this.#deps.sessions.get(owner, sessionId);
    return Promise.all(records.map(async (record) => ({ record, assets: await this.#files.assetNames(record) })));
  }

  /** Returns the id of the newest recording of an owner's session, or null. */
  async recordingOf(owner: string, sessionId: string): Promise<string | null> {
    return (await this.#listRecords(owner, sessionId)).at(-1)?.recId ?? null;
  }

  /** Whose recordings a session has and which worker has their files; undefined where none or every worker has them. */
  locationOf(sessionId: string): Promise<{ owner: string; workerId: string } | undefined> {
    return findLocation(this.#deps.store, sessionId);
  }

  /** @throws ServiceError recording_not_found, the same for unknown, foreign and expired recordings and those of other sessions */
  async get({ owner, sessionId, recId }: RecordingTarget): Promise<RecordingRecord> {
    const record = (await this.#listRecords(owner, sessionId)).find((candidate) => candidate.recId === recId);
    if (!record)
      throw new ServiceError('recording_not_found', 'Recording not found. List recordings with GET /v1/session/{session_id}/recordings.');
    return record;
  }

  /** Opens a file of a recording. The caller closes it. @throws ServiceError recording_not_found, asset_not_found, store_unavailable */
  async open(target: RecordingTarget, name: string): Promise<FileReply> {
    return this.#files.open(await this.get(target), name);
  }

  start(): void {
    for (const loop of this.loops) loop.start();
  }

  /** Waits until all recordings are finalized, in bounded time. */
  async stop(): Promise<void> {
    for (const { recorder } of this.#active.values()) recorder.hurry();
    const ends = [...this.#active.keys()].map((sessionId) => this.#end(sessionId));
    // Uploaded now, as this worker may not come back.
    const ended = Promise.all(ends).then(() => this.#uploadNow());
    await Promise.race([ended, sleep(stopTimeoutMs, undefined, { ref: false })]);
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }

  async #uploadNow(): Promise<void> {
    this.#files.nudge();
    await this.#files.idle();
  }

  /** Must neither throw nor delay the session. */
  #begin(session: LiveSession, machine: Machine): void {
    const { sessionId } = session.record;
    const recId = session.record.settings.rec_id ?? null;
    if (recId === null) return;
    session.recording = 'recording';
    const { clock, log, store } = this.#deps;
    const record = newRecord(session, recId, this.#deps);
    const account = this.#deps.disk.open(record.owner);
    try {
      const recorder = new Recorder({
        ...{ ...this.#deps, record, folder: folderOf(this.#root, recId), browser: machine.browser, events: session.events },
        freeBytes: () => freeBytesOf(this.#root),
        disk: account,
        onStopped: () => void this.#end(sessionId),
      });
      const warn = (error: unknown): void => log.warn({ err: error, recording: recId }, 'recording row write failed');
      this.#active.set(sessionId, { recorder, disk: account, inserted: insertRecording(store, record).catch(warn), ending: null });
    } catch (error) {
      account.close();
      log.warn({ err: error, recording: recId }, 'recording start failed');
      const failed = { status: 'failed', video: null, endedAt: clock.now(), durationMs: 0, sizeBytes: 0, truncated: false } as const;
      void this.#finalize(record, failed).catch((cause: unknown) =>
        log.warn({ err: cause, recording: recId }, 'recording row write failed'),
      );
      return;
    }
    // The session ended while it became ready.
    if (session.abort.signal.aborted) void this.#end(sessionId);
  }

  /** Never rejects. Concurrent callers share one end. */
  async #end(sessionId: string, end: { ended_reason: EndedReason | null } | null = null): Promise<void> {
    const active = this.#active.get(sessionId);
    if (!active) return;
    // Halted at once, while the browser is still open.
    active.recorder.halt(end);
    active.ending ??= this.#finish(sessionId, active);
    await active.ending;
  }

  async #finish(sessionId: string, { recorder, inserted, disk }: ActiveRecording): Promise<void> {
    const { record } = recorder;
    try {
      const outcome = await recorder.finish();
      await inserted;
      // Inserted again, in case the insert at the start failed.
      await insertRecording(this.#deps.store, record);
      await this.#finalize(record, outcome);
      const stored = this.#storedOf(record.owner);
      stored.set(stored.bytes + outcome.sizeBytes);
    } catch (error) {
      // The row still says `recording`, so the recovery loop ends it.
      this.#deps.log.warn({ err: error, recording: record.recId }, 'recording finalization failed');
    } finally {
      disk.close();
      this.#active.delete(sessionId);
      this.#files.nudge();
    }
  }

  /** Counts the disk use of this worker's finished recordings. */
  #countStored(sizes: ReadonlyMap<string, number>): void {
    for (const [owner, account] of this.#stored) if (!sizes.has(owner)) account.close();
    for (const owner of this.#stored.keys()) if (!sizes.has(owner)) this.#stored.delete(owner);
    for (const [owner, bytes] of sizes) this.#storedOf(owner).set(bytes);
  }

  #storedOf(owner: string): DiskAccount {
    const account = this.#stored.get(owner) ?? this.#deps.disk.open(owner);
    this.#stored.set(owner, account);
    return account;
  }

  async #finalize(record: RecordingRecord, outcome: RecordingOutcome): Promise<void> {
    const { store, owners, sessions } = this.#deps;
    const { recording_retention_days: days } = await owners.tierOf(record.owner);
    // Together: a recording that has ended is not recovered again.
    await store.transaction(async (tx) => {
      await finishRecording(tx, record.recId, { ...outcome, expiresAt: expiryOf(outcome.endedAt, days) });
      await sessions.setRecordingStatus(tx, record.sessionId, outcome.status);
    });
  }

  /** A recording of this worker is returned in its current state, as its row is from its start. */
  async #listRecords(owner: string, sessionId: string): Promise<RecordingRecord[]> {
    if (!isId('ses', sessionId)) return [];
    const now = this.#deps.clock.now();
    const records = (await recordingsOf(this.#deps.store, owner, sessionId)).filter((record) => !hasExpired(record, now));
    const current = this.#active.get(sessionId)?.recorder.record;
    if (!current || current.owner !== owner) return records;
    const stored = records.find(({ recId }) => recId === current.recId);
    // Once the row is finalized, it is newer than the recorder's state.
    return stored && stored.status !== 'recording' ? records : [...records.filter(({ recId }) => recId !== current.recId), current];
  }

  async #pulse(): Promise<void> {
    await Promise.all([...this.#active.values()].map(({ recorder }) => recorder.pulse()));
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
  uploadedAt: null,
});

async function freeBytesOf(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
