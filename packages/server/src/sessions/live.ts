import type { CloseReason, RecordingStatus, ServiceError, SessionEventType, SessionStatus } from '@berth/contract';
import type { Browser, BrowserEvent } from '../browser/browser.ts';
import { CaptchaWatch } from '../captcha/captcha.ts';
import type { EgressWay } from '../egress/egress.ts';
import type { Machine } from '../fleet/fleet.ts';
import type { Clock } from '../lib/clock.ts';
import type { Meter } from '../metering/metering.ts';
import { SessionEvents } from './events.ts';
import { UploadedFiles } from './files.ts';
import { isOver, type End, type LastSeen, type SessionRecord } from './session.ts';

/** A DevTools client's socket, as the session sees it. */
export interface Connection {
  /** The key that opened it: it is closed when the key is revoked. */
  keyId: string | null;
  close(reason: CloseReason): void;
}

/** What a meter cannot count by itself. */
export interface Sample {
  egressBytes: number;
  browserMs: number;
}

/**
 * A session that this worker holds, from its reservation until its machine is
 * gone. `record.status` is what the store was last told; only `start` and
 * `end` change it.
 */
export class LiveSession {
  record: SessionRecord;
  machine: Machine | null = null;
  warm = false;
  startNavigation: LastSeen['start_navigation'] = null;
  /** What its owner pays for: closed when nothing of the session is left. */
  readonly meter: Meter;
  /** Drive calls under way or waiting: a session that is being driven is not idle. */
  driving = 0;
  readonly connections = new Set<Connection>();
  /** People who watch: they keep nothing alive. */
  viewers = 0;
  recording: RecordingStatus | null = null;
  readonly events: SessionEvents;
  readonly uploads: UploadedFiles;
  readonly captcha: CaptchaWatch;
  /** Whether the coming end was announced. */
  expiryTold = false;
  /** Aborted when the session ends, whatever waits on it. */
  readonly abort = new AbortController();
  /** Settles when the start is over, well or not. Never rejects. */
  started: Promise<void> = Promise.resolve();
  /** Why the start failed, where it was refused with words for a caller. */
  refusal: ServiceError | null = null;
  /** The end under way, shared by all who ask for it. */
  ending: Promise<void> | null = null;
  /** Settles when nothing of the session is left on this host. */
  gone: Promise<void> = Promise.resolve();
  /** An end that the store could not be told of yet. */
  overdue: End | null = null;
  readonly #clock: Clock;
  readonly #createdMs: number;
  #touchedMs: number;
  #way: EgressWay | null = null;
  /** When it became ready, and when its use was stopped. */
  #readyMs: number | null = null;
  #stoppedMs: number | null = null;

  constructor(record: SessionRecord, clock: Clock, openMeter: (sample: () => Sample) => Meter) {
    this.record = record;
    this.#clock = clock;
    this.events = new SessionEvents(clock);
    this.uploads = new UploadedFiles(clock);
    this.captcha = new CaptchaWatch(clock);
    this.#createdMs = clock.monotonicMs();
    this.#touchedMs = this.#createdMs;
    this.meter = openMeter(() => this.#sample());
  }

  /** What happens in the browser is told as the session's events. */
  follow(browser: Browser): void {
    browser.onEvent((event) => {
      const { type, ...data } = toEvent(event);
      this.events.tell(type, data);
    });
  }

  /** What goes over this way is the session's. One that comes after the end is closed at once. */
  leaveBy(way: EgressWay): void {
    this.#way = way;
    if (this.#stoppedMs !== null) way.close();
  }

  /** From here on its time counts. */
  begin(): void {
    this.#readyMs = this.#clock.monotonicMs();
  }

  /** Stops its traffic and its time, so that what is told of its use from here on is final. Idempotent. */
  stopUse(): void {
    this.#stoppedMs ??= this.#clock.monotonicMs();
    this.#way?.close();
  }

  get status(): SessionStatus {
    return this.record.status;
  }

  touch(): void {
    this.#touchedMs = this.#clock.monotonicMs();
  }

  /** The reason for which a timer ends the session now, by a clock that does not jump; null while it may live. */
  expired(): 'max_lifetime' | 'idle_timeout' | null {
    if (isOver(this.status)) return null;
    const now = this.#clock.monotonicMs();
    if (now - this.#createdMs >= this.record.timeoutSeconds * 1000) return 'max_lifetime';
    if (this.status !== 'ready' || this.driving > 0) return null;
    return now - this.#lastActivityMs() >= this.record.idleTimeoutSeconds * 1000 ? 'idle_timeout' : null;
  }

  /** Milliseconds until the longest life is over, by a clock that does not jump. */
  leftMs(): number {
    return this.record.timeoutSeconds * 1000 - (this.#clock.monotonicMs() - this.#createdMs);
  }

  lastActivityAt(): Date {
    return new Date(this.#clock.now().getTime() - (this.#clock.monotonicMs() - this.#lastActivityMs()));
  }

  /** What the session looks like now; the last look where its machine is gone. */
  look(): LastSeen {
    const { machine } = this;
    if (isOver(this.status)) return this.record.lastSeen;
    if (!machine) return { ...this.record.lastSeen, usage: this.usage() };
    const facts = machine.way.facts();
    const tabs = machine.browser.tabs();
    const tab = tabs.find((candidate) => candidate.active) ?? tabs[0];
    return {
      // There is always a tab: the first, or one that takes the last one's place, may still be on its way.
      current_url: tab?.url ?? 'about:blank',
      title: tab?.title ?? '',
      egress: { ip: facts.ip, country: facts.country, rotations: facts.rotations, rotated_at: facts.rotatedAt?.toISOString() ?? null },
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

  #sample(): Sample {
    const { bytesIn, bytesOut } = this.#way?.facts() ?? { bytesIn: 0, bytesOut: 0 };
    return { egressBytes: bytesIn + bytesOut, browserMs: this.#browserMs() };
  }

  /** By a clock that does not jump. Of a machine that fetches share, only the time in which it holds a page counts. */
  #browserMs(): number {
    if (this.#readyMs === null || this.record.settings.purpose === 'fetch') return 0;
    return Math.max(0, (this.#stoppedMs ?? this.#clock.monotonicMs()) - this.#readyMs);
  }

  #lastActivityMs(): number {
    return Math.max(this.#touchedMs, this.machine?.browser.lastActivityMs ?? 0);
  }
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
