/** Records one session by watching its browser and listening to its events. Failures never affect the session. */
import type { EndedReason } from '@berth/contract';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { abortAfter } from '@berth/lib/deadline.ts';
import type { Browser, ConsoleEntry, NetworkEntries, ScreencastAttachment } from '@berth/devtools';
import { toHar } from '../../sessions/drive/drive.ts';
import type { DiskAccount } from '../../disk/disk.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { VideoEncoders } from '@berth/machines';
import type { LiveSession } from '../../sessions/sessions/sessions.ts';
import { createFolder, sizeOf } from './files/folder.ts';
import { NetworkTally } from './network.ts';
import { FrameTrack } from './video/frame-track.ts';
import { writeInfo, writeInitialInfo } from './info.ts';
import type { RecordingOutcome, RecordingRecord } from './recording.ts';
import { recorded } from './redact.ts';
import { Timeline, timelineName } from './timeline.ts';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Har } from 'har-format';

export interface RecordingLimits {
  /** Maximum bytes of all files of a recording together. */
  bytesMax: number;
  /** Recording stops when less disk space is free. */
  freeBytesMin: number;
}

export interface RecorderDeps {
  /** The record at the start. */
  record: RecordingRecord;
  folder: string;
  browser: Pick<Browser, 'attachScreencast' | 'onConsole' | 'networkLog' | 'tabs'>;
  events: Pick<LiveSession['events'], 'subscribe' | 'secrets'>;
  /** null: still frames instead of a video. */
  encoders: Pick<VideoEncoders, 'start' | 'framesPerSecond'> | null;
  limits: RecordingLimits;
  /** Returns the free disk space. */
  freeBytes: () => Promise<number>;
  /** The account of its files' disk use. */
  disk: DiskAccount;
  clock: Clock;
  log: Log;
  /** Called when it has stopped by itself and must be finished. */
  onStopped: () => void;
}

/** Reserved for the timeline, the HAR and the poster. */
const sideFilesBytesMax = 32 * 1024 * 1024;
const harBytesMax = 16 * 1024 * 1024;
const filesTimeoutMs = 2000;
/** Maximum console lines per pulse. Further lines are only counted. */
const consoleLinesMax = 100;
const chatter = { chatter: true };

/** The browser's state when recording stopped. */
interface FinalState {
  atMs: number;
  at: Date;
  network: NetworkEntries | null;
  title: string;
}

export class Recorder {
  readonly #deps: RecorderDeps;
  readonly #startMs: number;
  readonly #timeline: Timeline;
  readonly #frameTrack: FrameTrack;
  readonly #screencast: ScreencastAttachment;
  readonly #undo: (() => void)[] = [];
  readonly #tally = new NetworkTally();
  #consoleLines = 0;
  #pulsing: Promise<void> = Promise.resolve();
  #finalState: FinalState | null = null;
  /** Whether a file is incomplete or missing. */
  #isBroken = false;
  #truncated = false;
  #isDiskLow = false;
  /** The timeline has the session's end. */
  #hasEnd = false;
  #outcome: Promise<RecordingOutcome> | null = null;

  /** Starts recording. @throws when its folder cannot be created or exists; nothing runs then */
  constructor(deps: RecorderDeps) {
    const { record, folder, browser, events, encoders, limits, clock, log } = deps;
    this.#deps = deps;
    this.#startMs = clock.monotonicMs();
    createFolder(folder);
    writeInitialInfo(folder, record);
    const mask = events.secrets.mask.bind(events.secrets);
    this.#timeline = new Timeline(join(folder, timelineName), { clock, zeroMs: () => this.#frameTrack.zeroMs, mask });
    const bytesMax = Math.max(limits.bytesMax - sideFilesBytesMax, limits.bytesMax / 2);
    this.#frameTrack = new FrameTrack({
      ...{ recId: record.recId, folder, encoders, bytesMax, clock, log },
      onEnd: (end) => (end === 'full' ? this.#stop('size') : this.#endVideo()),
      onDemand: () => this.#screencast?.update(),
    });
    try {
      this.#undo.push(events.subscribe(({ type, data }) => this.#onEvent(type, data)));
      this.#undo.push(browser.onConsole((entry) => this.#onConsole(entry)));
      this.#screencast = browser.attachScreencast(this.#frameTrack);
    } catch (error) {
      for (const undo of this.#undo) undo();
      void this.#timeline.end();
      void this.#frameTrack.end();
      throw error;
    }
  }

  /** The current record. */
  get record(): RecordingRecord {
    const { record, clock } = this.#deps;
    return {
      ...record,
      video: this.#frameTrack.video,
      durationMs: Math.round((this.#finalState?.atMs ?? clock.monotonicMs()) - (this.#frameTrack.zeroMs ?? this.#startMs)),
      sizeBytes: this.#frameTrack.bytes + this.#timeline.bytes,
      truncated: this.#truncated,
    };
  }

  /** Updates what has no event of its own. Called every two seconds. Never rejects. */
  pulse(): Promise<void> {
    this.#pulsing = this.#pulse().catch((error: unknown) => this.#warn(error));
    return this.#pulsing;
  }

  async #pulse(): Promise<void> {
    if (this.#finalState) return;
    this.#recordTraffic();
    const { disk, freeBytes, limits } = this.#deps;
    const hasRoom = disk.resize(this.record.sizeBytes) && (await freeBytes()) >= limits.freeBytesMin;
    if (!hasRoom) this.#stop('disk');
    await this.#frameTrack.refresh();
    if (!this.#finalState) await writeInfo(this.#deps.folder, this.record);
  }

  #onEvent(type: string, data: Record<string, unknown>): void {
    this.#hasEnd ||= type === 'session.ended';
    this.#timeline.add(type, data);
  }

  /** Stops recording and reads the browser's final state, after which the browser may close. Idempotent. `end`: the session has ended. */
  halt(end: { ended_reason: EndedReason | null } | null = null): void {
    if (this.#finalState) return;
    // A session that saves its profile emits it when that is done.
    if (end && !this.#hasEnd) this.#onEvent('session.ended', end);
    const { clock, browser } = this.#deps;
    this.#screencast.detach();
    for (const undo of this.#undo.splice(0)) undo();
    const network = this.#recordTraffic();
    const tabs = browser.tabs();
    this.#finalState = {
      atMs: clock.monotonicMs(),
      at: clock.now(),
      network,
      title: (tabs.find(({ active }) => active) ?? tabs[0])?.url ?? '',
    };
  }

  /** Stops recording and writes all files, in bounded time. Never rejects. Concurrent callers share one result. */
  finish(): Promise<RecordingOutcome> {
    this.halt();
    this.#outcome ??= this.#finish();
    return this.#outcome;
  }

  /** The worker is stopping: `finish` takes at most ten seconds from now on. */
  hurry(): void {
    this.#frameTrack.hurry();
  }

  async #finish(): Promise<RecordingOutcome> {
    const { record, folder } = this.#deps;
    const { at } = this.#finalState ?? { at: record.startedAt };
    await this.#pulsing;
    const { video, isVideoComplete } = await this.#frameTrack.end().catch((error: unknown) => {
      this.#warn(error);
      return { video: null, isVideoComplete: false };
    });
    await this.#endFiles().catch((error: unknown) => this.#warn(error));
    const isComplete = isVideoComplete && !this.#isBroken;
    const outcome: RecordingOutcome = {
      status: video === null ? 'failed' : isComplete ? 'complete' : 'incomplete',
      video,
      endedAt: at,
      durationMs: this.record.durationMs,
      sizeBytes: await sizeOf(folder),
      truncated: this.#truncated,
    };
    await writeInfo(folder, { ...record, ...outcome }).catch((error: unknown) => this.#warn(error));
    return outcome;
  }

  async #endFiles(): Promise<void> {
    const signal = abortAfter(filesTimeoutMs);
    if (!(await Promise.race([this.#timeline.end(), sleep(filesTimeoutMs, false, { ref: false })]))) this.#isBroken = true;
    const { network, title } = this.#finalState ?? { network: null, title: '' };
    // On a full disk, the space is left to more important files.
    if (!network || this.#isDiskLow) return;
    const { secrets } = this.#deps.events;
    const har = await toHar({ ...network, secrets, redaction: recorded }, { title, startedAt: network.since });
    await writeHar(this.#deps.folder, har, {
      bytesMax: harBytesMax,
      signal,
    });
  }

  #stop(reason: 'size' | 'disk'): void {
    if (this.#finalState) return;
    this.#truncated = true;
    this.#isDiskLow = reason === 'disk';
    this.#timeline.add('recording.truncated', { reason });
    this.#deps.log.warn({ recording: this.#deps.record.recId, reason }, 'recording stopped: size limit or disk space reached');
    this.halt();
    this.#deps.onStopped();
  }

  #endVideo(): void {
    this.#isBroken = true;
    this.#screencast.detach();
    this.#timeline.add('recording.video_ended', {});
  }

  #onConsole({ tabId, ...entry }: ConsoleEntry): void {
    this.#consoleLines += 1;
    if (this.#consoleLines <= consoleLinesMax) this.#timeline.add('console', { tab_id: tabId, ...entry }, chatter);
  }

  #recordTraffic(): NetworkEntries | null {
    const skipped = this.#consoleLines - consoleLinesMax;
    if (skipped > 0) this.#timeline.add('console.skipped', { lines: skipped }, chatter);
    this.#consoleLines = 0;
    try {
      const network = this.#deps.browser.networkLog();
      const snapshot = this.#tally.snapshot(network);
      for (const failure of snapshot?.failures ?? []) this.#timeline.add('network.failed', failure, chatter);
      if (snapshot) this.#timeline.add('network', snapshot.summary, chatter);
      return network;
    } catch (error) {
      this.#warn(error);
      return null;
    }
  }

  #warn(error: unknown): void {
    this.#deps.log.warn({ err: error, recording: this.#deps.record.recId }, 'recording step failed');
  }
}

const harName = 'har.json';

/** Writes a HAR entry by entry, as the whole text may be too large to hold in memory. */
export async function writeHar(folder: string, har: Har, { bytesMax, signal }: { bytesMax: number; signal: AbortSignal }): Promise<void> {
  await pipeline(Readable.from(serializeHar(har, bytesMax)), createWriteStream(join(folder, harName), { flags: 'wx', mode: 0o600 }), {
    signal,
  });
}

function* serializeHar({ log: { entries, comment, ...head } }: Har, bytesMax: number): Iterable<string> {
  yield `{"log":${JSON.stringify(head).slice(0, -1)},"entries":[`;
  let [bytes, written] = [0, 0];
  for (const entry of entries) {
    const text = JSON.stringify(entry);
    bytes += text.length;
    if (bytes > bytesMax) break;
    yield written === 0 ? text : `,${text}`;
    written += 1;
  }
  const omitted = entries.length - written;
  const comments = [...(comment ? [comment] : []), ...(omitted > 0 ? [`${omitted} more were omitted to limit the size.`] : [])];
  yield `]${comments.length > 0 ? `,"comment":${JSON.stringify(comments.join(' '))}` : ''}}}`;
}
