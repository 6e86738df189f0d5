/** Records one session: one more watcher of its browser, one more listener to its events. What fails here never reaches the session. */
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Browser, ConsoleEntry, NetworkEntries, ScreencastWatch } from '../browser/browser.ts';
import { toHar } from '../drive/drive.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { VideoEncoders } from '../runtime/runtime.ts';
import type { LiveSession } from '../sessions/sessions.ts';
import { makeFolder, sizeOf } from './folder.ts';
import { writeHar } from './har-file.ts';
import { NetworkTally } from './network.ts';
import { Pictures } from './pictures.ts';
import { writeFacts, writeFirstFacts } from './facts.ts';
import type { RecordingOutcome, RecordingRecord } from './recording.ts';
import { shownRequest, shownText } from './redact.ts';
import { Timeline, timelineName } from './timeline.ts';

export interface RecordingLimits {
  /** Of one recording, all its files together. */
  bytesMax: number;
  /** With less than this on the disk it stops. */
  freeBytesMin: number;
}

export interface RecorderParts {
  /** As it is when it starts. */
  record: RecordingRecord;
  folder: string;
  browser: Pick<Browser, 'watch' | 'onConsole' | 'networkLog' | 'tabs'>;
  events: Pick<LiveSession['events'], 'listen'>;
  /** null: single pictures instead of a video. */
  encoders: Pick<VideoEncoders, 'start' | 'framesPerSecond'> | null;
  limits: RecordingLimits;
  /** What is free on the disk. */
  freeBytes: () => Promise<number>;
  clock: Clock;
  log: Log;
  /** It has stopped by itself, and is to be finished. */
  onStopped: () => void;
}

/** What lies beside the pictures at most: timeline, HAR, poster. */
const otherBytesMax = 32 * 1024 * 1024;
const harBytesMax = 16 * 1024 * 1024;
const filesMsMax = 2000;
/** Between two pulses. A page that writes more is told by the count. */
const consoleLinesMax = 100;
const chatter = { chatter: true };

/** The browser as it was last seen. */
interface LastLook {
  atMs: number;
  at: Date;
  network: NetworkEntries | null;
  title: string;
}

export class Recorder {
  readonly #parts: RecorderParts;
  readonly #startMs: number;
  readonly #timeline: Timeline;
  readonly #pictures: Pictures;
  readonly #watch: ScreencastWatch;
  readonly #undo: (() => void)[] = [];
  readonly #tally = new NetworkTally();
  #consoleLines = 0;
  #pulsing: Promise<void> = Promise.resolve();
  #last: LastLook | null = null;
  /** Something that should be there is not. */
  #isBroken = false;
  #truncated = false;
  #isDiskShort = false;
  #outcome: Promise<RecordingOutcome> | null = null;

  /** Records from now on. @throws where its folder cannot be made, or is there already; then nothing of it runs */
  constructor(parts: RecorderParts) {
    const { record, folder, browser, events, encoders, limits, clock, log } = parts;
    this.#parts = parts;
    this.#startMs = clock.monotonicMs();
    makeFolder(folder);
    writeFirstFacts(folder, record);
    this.#timeline = new Timeline(join(folder, timelineName), { clock, zeroMs: () => this.#pictures.zeroMs });
    const bytesMax = Math.max(limits.bytesMax - otherBytesMax, limits.bytesMax / 2);
    this.#pictures = new Pictures({
      ...{ recId: record.recId, folder, encoders, bytesMax, clock, log },
      onOver: (end) => (end === 'full' ? this.#stop('size') : this.#endVideo()),
      onDemand: (demand) => this.#watch?.change(demand),
    });
    try {
      this.#undo.push(events.listen(({ type, data }) => this.#timeline.add(type, data)));
      this.#undo.push(browser.onConsole((entry) => this.#onConsole(entry)));
      this.#watch = browser.watch(this.#pictures.demand, ({ data }) => this.#pictures.add(data));
    } catch (error) {
      for (const undo of this.#undo) undo();
      void this.#timeline.end();
      void this.#pictures.end();
      throw error;
    }
  }

  /** As it is now. */
  get record(): RecordingRecord {
    const { record, clock } = this.#parts;
    return {
      ...record,
      video: this.#pictures.video,
      durationMs: Math.round((this.#last?.atMs ?? clock.monotonicMs()) - (this.#pictures.zeroMs ?? this.#startMs)),
      sizeBytes: this.#pictures.bytes + this.#timeline.bytes,
      truncated: this.#truncated,
    };
  }

  /** To be called every two seconds: for what changes without anybody telling. Never rejects. */
  pulse(): Promise<void> {
    this.#pulsing = this.#pulse().catch((error: unknown) => this.#warn(error));
    return this.#pulsing;
  }

  async #pulse(): Promise<void> {
    if (this.#last) return;
    this.#tellTraffic();
    if ((await this.#parts.freeBytes()) < this.#parts.limits.freeBytesMin) this.#stop('disk');
    await this.#pictures.look();
    if (!this.#last) await writeFacts(this.#parts.folder, this.record);
  }

  /** Nothing comes in any more. The browser is looked at for the last time, and may be gone afterwards. Idempotent. */
  halt(): void {
    if (this.#last) return;
    const { clock, browser } = this.#parts;
    this.#watch.end();
    for (const undo of this.#undo.splice(0)) undo();
    const network = this.#tellTraffic();
    const tabs = browser.tabs();
    this.#last = { atMs: clock.monotonicMs(), at: clock.now(), network, title: (tabs.find(({ active }) => active) ?? tabs[0])?.url ?? '' };
  }

  /** Halts it and writes down what it came to: within ten seconds, however it goes. Never rejects; callers share one end. */
  finish(): Promise<RecordingOutcome> {
    this.halt();
    this.#outcome ??= this.#finish();
    return this.#outcome;
  }

  async #finish(): Promise<RecordingOutcome> {
    const { record, folder } = this.#parts;
    const { at } = this.#last ?? { at: record.startedAt };
    await this.#pulsing;
    const { video, isWhole } = await this.#pictures.end().catch((error: unknown) => {
      this.#warn(error);
      return { video: null, isWhole: false };
    });
    await this.#endFiles().catch((error: unknown) => this.#warn(error));
    const isComplete = isWhole && !this.#isBroken;
    const outcome: RecordingOutcome = {
      status: video === null ? 'failed' : isComplete ? 'complete' : 'incomplete',
      video,
      endedAt: at,
      durationMs: this.record.durationMs,
      sizeBytes: await sizeOf(folder),
      truncated: this.#truncated,
    };
    await writeFacts(folder, { ...record, ...outcome }).catch((error: unknown) => this.#warn(error));
    return outcome;
  }

  async #endFiles(): Promise<void> {
    const signal = AbortSignal.timeout(filesMsMax);
    if (!(await Promise.race([this.#timeline.end(), wait(filesMsMax, false, { ref: false })]))) this.#isBroken = true;
    const { network, title } = this.#last ?? { network: null, title: '' };
    // On a disk that is full it would take the room of what matters more.
    if (!network || this.#isDiskShort) return;
    const shown = { ...network, entries: network.entries.map(shownRequest) };
    await writeHar(this.#parts.folder, toHar(shown, { title: shownText(title), startedAt: network.since }), {
      bytesMax: harBytesMax,
      signal,
    });
  }

  #stop(why: 'size' | 'disk'): void {
    if (this.#last) return;
    this.#truncated = true;
    this.#isDiskShort = why === 'disk';
    this.#timeline.add('recording.truncated', { reason: why });
    this.#parts.log.warn({ recording: this.#parts.record.recId, why }, 'a recording stops for want of room');
    this.halt();
    this.#parts.onStopped();
  }

  #endVideo(): void {
    this.#isBroken = true;
    this.#watch.end();
    this.#timeline.add('recording.video_ended', {});
  }

  #onConsole({ tabId, ...entry }: ConsoleEntry): void {
    this.#consoleLines += 1;
    if (this.#consoleLines <= consoleLinesMax) this.#timeline.add('console', { tab_id: tabId, ...entry }, chatter);
  }

  #tellTraffic(): NetworkEntries | null {
    const skipped = this.#consoleLines - consoleLinesMax;
    if (skipped > 0) this.#timeline.add('console.skipped', { lines: skipped }, chatter);
    this.#consoleLines = 0;
    try {
      const network = this.#parts.browser.networkLog();
      const look = this.#tally.look(network);
      for (const failure of look?.failures ?? []) this.#timeline.add('network.failed', failure, chatter);
      if (look) this.#timeline.add('network', look.summary, chatter);
      return network;
    } catch (error) {
      this.#warn(error);
      return null;
    }
  }

  #warn(error: unknown): void {
    this.#parts.log.warn({ error, recording: this.#parts.record.recId }, 'a part of a recording failed');
  }
}
