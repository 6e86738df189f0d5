import type {
  EndedReason,
  CloseReason,
  RecordingStatus,
  TunnelCloseReason,
  ServiceError,
  SessionEventType,
  SessionStatus,
} from '@berth/contract';
import type { Browser, BrowserEvent, DownloadLimit } from '@berth/devtools';
import { CaptchaWatch } from '../captcha/captcha.ts';
import type { Disk, DiskAccount } from '../../disk/disk.ts';
import type { EgressRoute } from '@berth/egress';
import type { Machine } from '../../fleet/pool/pool.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Meter } from '../../accounts/metering/metering.ts';
import { SessionEvents } from './events.ts';
import { UploadedFiles } from './files.ts';
import { isOver, type End, type LastSeen, type SessionRecord } from './session.ts';
import { profileOriginsMax } from '../profiles/profiles.ts';

/** A DevTools client's socket. */
export interface Connection {
  /** The API key, and the connect token, that opened it; the socket closes when one of them is revoked. */
  credentialIds: readonly string[];
  close(reason: CloseReason): void;
}

export interface LiveSessionDeps {
  clock: Clock;
  disk: Pick<Disk, 'open' | 'downloadBytesMax'>;
}

/** What ends the session soon: a timer, or the stop of its worker. */
export interface ExpiryNotice {
  reason: 'max_lifetime' | 'idle_timeout' | 'drained';
  at: Date;
}

/** How long before an end by a timer it is announced. For short idle timeouts it is half of them. */
const expiryNoticeMs = 30_000;

/** Usage that the session counts, not its meter. */
export interface UsageSample {
  egressBytes: number;
  browserMs: number;
}

/** How far the session's end has come. An end that could not be stored is due again. */
type EndProgress =
  | { state: 'none' }
  /** The store was unavailable: the timers and the next caller try again. */
  | { state: 'due'; end: End }
  /** All callers share it, and its reason counts. */
  | { state: 'begun'; reason: EndedReason; stored: Promise<void> };

/**
 * A session that this worker runs, from its reservation until its machine is
 * released. `record.status` is the last stored status; only `start` and `end`
 * change it.
 */
export class LiveSession {
  record: SessionRecord;
  machine: Machine | null = null;
  warm = false;
  startNavigation: LastSeen['start_navigation'] = null;
  /** Closed when the session is disposed. */
  readonly meter: Meter;
  /** Drive calls running or waiting: such a session is not idle. */
  driving = 0;
  readonly connections = new Set<Connection>();
  /** By their port. They do not keep the session alive. */
  readonly tunnels = new Map<number, Omit<Connection, 'close'> & { close(reason: TunnelCloseReason): void }>();
  /** Live view viewers. They do not keep the session alive. */
  viewers = 0;
  recording: RecordingStatus | null = null;
  readonly events: SessionEvents;
  /** Disk space of its files. Closed when its machine is released. */
  readonly disk: { uploads: DiskAccount; downloads: DiskAccount };
  readonly downloadLimit: DownloadLimit;
  readonly uploads: UploadedFiles;
  readonly captcha: CaptchaWatch;
  /** Origins that a profile is saved of. */
  readonly visited = new VisitedOrigins();
  /** Aborted when the session ends. */
  readonly abort = new AbortController();
  /** Resolves when the start succeeded or failed. Never rejects. */
  started: Promise<void> = Promise.resolve();
  /** The start's failure, if it has a message for the caller. */
  startError: ServiceError | null = null;
  end: EndProgress = { state: 'none' };
  /** Resolves when the session's machine is released and its meter closed. */
  disposed: Promise<void> = Promise.resolve();
  /** The worker lost its lease: the browser is gone, and what the store says of the session counts. */
  isFenced = false;
  readonly #clock: Clock;
  readonly #createdMs: number;
  #touchedMs: number;
  /** When the last DevTools client has left a session that waits for it; null while it does not wait. */
  #leftMs: number | null = null;
  /** When its worker ends it at the latest; null unless the worker is stopping. */
  drainsAt: Date | null = null;
  /** The ends of which `session.expiring` was emitted. */
  readonly #announced = new Set<ExpiryNotice['reason']>();
  #egress: EgressRoute | null = null;
  /** When the session became ready, and when its usage stopped. */
  #readyMs: number | null = null;
  #stoppedMs: number | null = null;

  constructor(record: SessionRecord, { clock, disk }: LiveSessionDeps, openMeter: (sample: () => UsageSample) => Meter) {
    this.record = record;
    this.#clock = clock;
    this.events = new SessionEvents(clock);
    this.disk = { uploads: disk.open(record.owner), downloads: disk.open(record.owner) };
    const { downloads } = this.disk;
    this.downloadLimit = { bytesMax: disk.downloadBytesMax, resize: (bytes) => downloads.resize(bytes) };
    this.uploads = new UploadedFiles(clock, this.disk.uploads);
    this.captcha = new CaptchaWatch(clock);
    this.#createdMs = clock.monotonicMs();
    this.#touchedMs = this.#createdMs;
    this.meter = openMeter(() => this.#sample());
  }

  /** Emits the browser's events as the session's. */
  subscribe(browser: Browser): void {
    browser.onEvent((event) => {
      const { type, ...data } = toEvent(event);
      this.events.emit(type, data);
    });
  }

  /** Counts this route's traffic as the session's. Closes the route at once if the session has ended. */
  attachEgress(route: EgressRoute): void {
    this.#egress = route;
    if (this.#stoppedMs !== null) route.close();
  }

  /** Closes the disk accounts when its files are deleted. */
  closeDisk(): void {
    this.disk.uploads.close();
    this.disk.downloads.close();
  }

  /** Starts counting browser time. */
  startUsage(): void {
    this.#readyMs = this.#clock.monotonicMs();
  }

  /** Stops traffic and browser time, so that the usage is final. Idempotent. */
  stopUsage(): void {
    this.#stoppedMs ??= this.#clock.monotonicMs();
    this.#egress?.close();
  }

  get status(): SessionStatus {
    return this.record.status;
  }

  /** Resolves when the end that has begun is stored; null before one has begun. */
  get ending(): Promise<void> | null {
    return this.end.state === 'begun' ? this.end.stored : null;
  }

  touch(): void {
    this.#touchedMs = this.#clock.monotonicMs();
  }

  /** Waits for clients to connect again, where the session does that. Returns whether it does. */
  awaitClients(): boolean {
    if (this.record.settings.reconnect === undefined) return false;
    if (this.connections.size === 0) this.#leftMs = this.#clock.monotonicMs();
    return true;
  }

  onClientConnected(): void {
    this.#leftMs = null;
  }

  /** Whether it waits for clients to connect again. */
  get isAwaitingClients(): boolean {
    return this.#leftMs !== null;
  }

  /** Why the timers should end the session now; null when they should not. Uses the monotonic clock. */
  expiryReason(): 'max_lifetime' | 'idle_timeout' | 'cdp_closed' | null {
    if (isOver(this.status)) return null;
    if (this.remainingMs() <= 0) return 'max_lifetime';
    if (this.#awaitedMs() <= 0) return 'cdp_closed';
    return this.#idleRemainingMs() <= 0 ? 'idle_timeout' : null;
  }

  /** An end that is near and was not announced yet. Returns each once, and an idle timeout again after an activity. */
  nextExpiryNotice(): ExpiryNotice | null {
    if (this.status !== 'ready') return null;
    if (this.drainsAt && this.#announce('drained')) return { reason: 'drained', at: this.endsAt() };
    const { expiresAt, idleTimeoutSeconds } = this.record;
    const [lifetimeMs, idleMs] = [this.remainingMs(), this.#idleRemainingMs()];
    const isIdleEndNear = idleMs <= Math.min(expiryNoticeMs, idleTimeoutSeconds * 500);
    if (!isIdleEndNear) this.#announced.delete('idle_timeout');
    if (lifetimeMs <= expiryNoticeMs && this.#announce('max_lifetime')) return { reason: 'max_lifetime', at: expiresAt };
    if (!isIdleEndNear || idleMs > lifetimeMs || !this.#announce('idle_timeout')) return null;
    return { reason: 'idle_timeout', at: new Date(this.#clock.now().getTime() + idleMs) };
  }

  /** When it ends at the latest. */
  endsAt(): Date {
    const { expiresAt } = this.record;
    return this.drainsAt && this.drainsAt < expiresAt ? this.drainsAt : expiresAt;
  }

  /** Lets its ends be announced again, as they may have moved. */
  onTimersChanged(): void {
    this.#announced.clear();
  }

  #announce(reason: ExpiryNotice['reason']): boolean {
    if (this.#announced.has(reason)) return false;
    this.#announced.add(reason);
    return true;
  }

  /** Milliseconds until the maximum lifetime, by the monotonic clock. */
  remainingMs(): number {
    return this.record.timeoutSeconds * 1000 - (this.#clock.monotonicMs() - this.#createdMs);
  }

  /** Milliseconds for which it still waits for clients to connect again; without end while it does not wait, or is driven. */
  #awaitedMs(): number {
    if (this.#leftMs === null || this.driving > 0) return Infinity;
    const seconds = this.record.settings.reconnect?.seconds ?? 0;
    return seconds * 1000 - (this.#clock.monotonicMs() - this.#leftMs);
  }

  /** Milliseconds until the idle timeout: without end while the session is driven or a DevTools client is attached. */
  #idleRemainingMs(): number {
    if (this.status !== 'ready' || this.driving > 0 || this.connections.size > 0 || this.isAwaitingClients) return Infinity;
    return this.record.idleTimeoutSeconds * 1000 - (this.#clock.monotonicMs() - this.#lastActivityMs());
  }

  lastActivityAt(): Date {
    return new Date(this.#clock.now().getTime() - (this.#clock.monotonicMs() - this.#lastActivityMs()));
  }

  /** The session's current state; the last stored one after its end. */
  snapshot(): LastSeen {
    const { machine } = this;
    if (isOver(this.status)) return this.record.lastSeen;
    if (!machine) return { ...this.record.lastSeen, usage: this.usage() };
    const egressInfo = machine.egress.stats();
    const tabs = machine.browser.tabs();
    const tab = tabs.find((candidate) => candidate.active) ?? tabs[0];
    return {
      // A session always has a tab; the first one, or a replacement for the last one, may still be opening.
      // It is stored: what a flow has typed, which the page shows in its address, is not.
      current_url: this.events.secrets.mask(tab?.url ?? 'about:blank'),
      title: this.events.secrets.mask(tab?.title ?? ''),
      user_agent: this.record.settings.user_agent ?? machine.browser.version.userAgent,
      egress: {
        type: egressInfo.type,
        ip: egressInfo.ip,
        country: egressInfo.country,
        rotations: egressInfo.rotations,
        rotated_at: egressInfo.rotatedAt?.toISOString() ?? null,
      },
      tabs_open: Math.max(tabs.length, 1),
      usage: this.usage(),
      isolation: machine.vm.isolation,
      runtime: machine.vm.runtime,
      start_navigation: this.startNavigation,
      warm: this.warm,
      ...(this.recording ? { recording: this.recording } : {}),
      vm_id: machine.id,
    };
  }

  usage(): Required<LastSeen['usage']> {
    const { actions, browser_seconds, egress_bytes, captcha_solves } = this.meter.totals();
    return { actions, browser_seconds, egress_bytes, captcha_solves, credits: this.meter.credits() };
  }

  #sample(): UsageSample {
    const { bytesIn, bytesOut } = this.#egress?.stats() ?? { bytesIn: 0, bytesOut: 0 };
    return { egressBytes: bytesIn + bytesOut, browserMs: this.#browserMs() };
  }

  /** Browser time by the monotonic clock. Machines for fetches are metered by the fetches that lease their pages. */
  #browserMs(): number {
    if (this.#readyMs === null || this.record.settings.purpose === 'fetch') return 0;
    return Math.max(0, (this.#stoppedMs ?? this.#clock.monotonicMs()) - this.#readyMs);
  }

  #lastActivityMs(): number {
    return Math.max(this.#touchedMs, this.machine?.browser.lastActivityMs ?? 0);
  }
}

/** A session's record with its current state. */
export interface SessionView {
  record: SessionRecord;
  snapshot: LastSeen;
  lastActivityAt: Date;
  connections: number;
  viewers: number;
  pid: number | null;
}

/** `session` null: no session of this worker. */
export function toView(record: SessionRecord, session: LiveSession | null): SessionView {
  if (!session) return { record, snapshot: record.lastSeen, lastActivityAt: record.lastActivityAt, connections: 0, viewers: 0, pid: null };
  const isEnded = isOver(session.status);
  return {
    record: session.record,
    snapshot: session.snapshot(),
    lastActivityAt: isEnded ? session.record.lastActivityAt : session.lastActivityAt(),
    connections: session.connections.size,
    viewers: session.viewers,
    pid: isEnded ? null : (session.machine?.vm.pid ?? null),
  };
}

function toEvent(event: BrowserEvent): { type: SessionEventType; [field: string]: unknown } {
  switch (event.type) {
    case 'tab.opened':
      return { type: event.type, tab_id: event.tabId, url: event.url, opener_tab_id: event.openerTabId };
    case 'tab.refused':
      return { type: event.type, url: event.url, limit: event.limit };
    case 'navigation':
      return { type: event.type, tab_id: event.tabId, url: event.url };
    case 'dialog':
      return { type: event.type, tab_id: event.tabId, dialog: event.dialog, message: event.message };
    case 'download.started':
    case 'download.finished': {
      const { id, url, suggestedFilename, status, receivedBytes } = event.download;
      return { type: event.type, download_id: id, url, suggested_filename: suggestedFilename, status, received_bytes: receivedBytes };
    }
    case 'tab.closed':
    case 'tab.crashed':
      return { type: event.type, tab_id: event.tabId };
  }
}

/** The origins that a session's tabs have visited, the latest last. */
class VisitedOrigins {
  readonly #origins = new Set<string>();

  add(address: string): void {
    const url = URL.parse(address);
    if (!url || !/^https?:$/.test(url.protocol)) return;
    this.#origins.delete(url.origin);
    this.#origins.add(url.origin);
    const [oldest] = this.#origins;
    // More find no room in a profile.
    if (oldest !== undefined && this.#origins.size > profileOriginsMax) this.#origins.delete(oldest);
  }

  latestFirst(): string[] {
    return [...this.#origins].toReversed();
  }
}
