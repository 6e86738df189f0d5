/** Stubs of a session, its browser and its encoder for a recorder. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConsoleEntry, NetworkEntry, ScreencastAttachment, ScreencastClient, ScreencastDemand, TabInfo } from '@berth/devtools';
import { createUnlimitedDisk } from './disk.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';
import { silentLog } from '@berth/lib/log.ts';
import type { EncoderEnd, EncoderExit, EncoderOptions, VideoEncoder } from '@berth/machines';
import { KnownSecrets, type LiveSession } from '../src/sessions/sessions/sessions.ts';
import { Recorder, type RecorderDeps } from '../src/watch/recordings/recorder.ts';
import type { RecordingRecord } from '../src/watch/recordings/recording.ts';

export const startedAt = new Date('2026-01-01T00:00:00.000Z');

/** A folder that is removed after the test. */
export function tempFolder(after: (undo: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-recordings-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const recordOf = (overrides: Partial<RecordingRecord> = {}): RecordingRecord => ({
  recId: newId('rec'),
  sessionId: newId('ses'),
  owner: 'anna',
  workerId: 'wrk_here',
  status: 'recording',
  video: null,
  startedAt,
  endedAt: null,
  durationMs: 0,
  sizeBytes: 0,
  truncated: false,
  expiresAt: null,
  uploadedAt: null,
  ...overrides,
});

export const playlistOf = (segments: string[], { isClosed = true } = {}): string =>
  [
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    '#EXT-X-MAP:URI="init.mp4"',
    ...segments.flatMap((name) => ['#EXTINF:4.000000,', name]),
    ...(isClosed ? ['#EXT-X-ENDLIST'] : []),
    '',
  ].join('\n');

export const entryOf = (overrides: Partial<NetworkEntry> = {}): NetworkEntry => ({
  requestId: '1',
  startedAt,
  method: 'GET',
  url: 'https://shop.test/a?b=c',
  resourceType: 'Document',
  requestHeaders: {},
  requestBytes: 100,
  status: 200,
  statusText: 'OK',
  protocol: 'h2',
  responseHeaders: {},
  mimeType: 'text/html',
  redirectUrl: '',
  remoteAddress: null,
  fromCache: false,
  fromServiceWorker: false,
  bodyBytes: 2000,
  wireBytes: 900,
  error: null,
  timings: { blockedMs: 0, dnsMs: -1, connectMs: -1, sslMs: -1, sendMs: 0, waitMs: 20, receiveMs: 3 },
  totalMs: 23,
  ...overrides,
});

/** A browser that draws when a test says so. */
export class StubBrowser {
  readonly entries: NetworkEntry[] = [];
  /** What the recorder last demanded; null while it is not attached. */
  demand: ScreencastDemand | null = null;
  /** Whether it rejects all calls. */
  isClosed = false;
  #client: ScreencastClient | null = null;
  #onConsole: (entry: ConsoleEntry) => void = () => {};

  attachScreencast(client: ScreencastClient): ScreencastAttachment {
    this.#client = client;
    this.demand = client.demand();
    return { update: () => void (this.demand = client.demand()), detach: () => void (this.demand = null) };
  }

  onConsole(listener: (entry: ConsoleEntry) => void): () => void {
    this.#onConsole = listener;
    return () => (this.#onConsole = () => {});
  }

  networkLog() {
    if (this.isClosed) throw new Error('the browser has closed');
    return { since: startedAt, entries: [...this.entries], dropped: 0, withoutHeaders: 0 };
  }

  tabs(): TabInfo[] {
    return [
      {
        tabId: 'tab_1',
        url: 'https://shop.test/',
        title: 'Shop',
        active: true,
        openerTabId: null,
        createdAt: startedAt,
        status: 'complete',
        failure: null,
      },
    ];
  }

  draw(data: string | Buffer): void {
    this.#client?.onFrame({ seq: 0, data: Buffer.from(data), tabId: 'tab_1', width: 1280, height: 720, drawnAtMs: 0 });
  }

  log(text: string, overrides: Partial<ConsoleEntry> = {}): void {
    this.#onConsole({ tabId: 'tab_1', level: 'log', text, url: null, line: null, ...overrides });
  }
}

/** An encoder that writes a playlist of one segment on demand or when it finishes. */
export class StubEncoder implements VideoEncoder {
  readonly options: EncoderOptions;
  readonly frames: Buffer[] = [];
  readonly exited: Promise<EncoderExit>;
  startedAtMs: number | null = null;
  bytesWritten = 0;
  isBehind = false;
  /** How it ends in `finish`. */
  end: EncoderEnd = 'finished';
  /** The times in ms that it was given to finish, where it takes its time; null: it finishes at once. */
  finishes: number[] | null = null;
  #exit = Promise.withResolvers<EncoderExit>();

  constructor(options: EncoderOptions) {
    this.options = options;
    this.exited = this.#exit.promise;
  }

  write(jpeg: Buffer): boolean {
    if (this.isBehind) return false;
    this.startedAtMs ??= startedAt.getTime();
    this.frames.push(jpeg);
    return true;
  }

  writeVideo({ isClosed = true } = {}): void {
    writeFileSync(join(this.options.folder, 'init.mp4'), 'init');
    writeFileSync(join(this.options.folder, 'seg00000.m4s'), 'segment');
    writeFileSync(join(this.options.folder, 'video.m3u8'), playlistOf(['seg00000.m4s'], { isClosed }));
    this.bytesWritten = 100;
  }

  finish({ timeoutMs }: { timeoutMs: number }): Promise<EncoderExit> {
    if (this.finishes) {
      this.finishes.push(timeoutMs);
      return this.exited;
    }
    if (this.frames.length > 0 && this.end === 'finished') this.writeVideo();
    this.exit(this.end);
    return this.exited;
  }

  exit(end: EncoderEnd): void {
    this.#exit.resolve({ end, detail: 'code 1' });
  }
}

export class StubEncoders {
  readonly framesPerSecond = 8;
  readonly started: StubEncoder[] = [];
  failure: Error | null = null;

  start(options: EncoderOptions): Promise<VideoEncoder> {
    if (this.failure) return Promise.reject(this.failure);
    const encoder = new StubEncoder(options);
    this.started.push(encoder);
    return Promise.resolve(encoder);
  }

  get only(): StubEncoder {
    const [encoder] = this.started;
    if (!encoder) throw new Error('no encoder was started');
    return encoder;
  }
}

type Listener = Parameters<LiveSession['events']['subscribe']>[0];
type Event = Parameters<Listener>[0];

export class StubEvents {
  readonly secrets = new KnownSecrets();
  readonly #listeners = new Set<Listener>();
  #id = 0;

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get listening(): number {
    return this.#listeners.size;
  }

  emit(type: Event['type'], data: Record<string, unknown> = {}): void {
    for (const listener of this.#listeners) listener({ id: ++this.#id, type, at: startedAt.toISOString(), data });
  }
}

/** A recorder with its own folder and stubs. */
export function createRecorder(root: string, overrides: Partial<RecorderDeps> = {}) {
  const browser = new StubBrowser();
  const events = new StubEvents();
  const encoders = new StubEncoders();
  const clock = new ManualClock(startedAt);
  const record = recordOf();
  const folder = join(root, record.recId);
  const state = { stopped: 0, freeBytes: Infinity };
  const recorder = new Recorder({
    ...{ record, folder, browser, events, encoders, clock, log: silentLog },
    limits: { bytesMax: 1024 ** 3, freeBytesMin: 1000 },
    freeBytes: () => Promise.resolve(state.freeBytes),
    disk: createUnlimitedDisk().open('own_test'),
    onStopped: () => void (state.stopped += 1),
    ...overrides,
  });
  return { recorder, browser, events, encoders, clock, record, folder, seen: state };
}
