import type { CloseReason, EndedReason, RecordingStatus, SessionEventType, SessionStatus } from '@berth/contract';
import type { Browser, BrowserEvent } from '../browser/browser.ts';
import { CaptchaWatch } from '../captcha/captcha.ts';
import type { Machine } from '../fleet/fleet.ts';
import type { Clock } from '../lib/clock.ts';
import { SessionEvents } from './events.ts';
import { UploadedFiles } from './files.ts';
import { isOver, type LastSeen, type SessionRecord } from './session.ts';

/** A DevTools client's socket, as the session sees it. */
export interface Connection {
  /** The key that opened it: it is closed when the key is revoked. */
  keyId: string | null;
  close(reason: CloseReason): void;
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
  actions = 0;
  /** Drive calls under way or waiting: a session that is being driven is not idle. */
  driving = 0;
  readonly connections = new Set<Connection>();
  /** People who watch: they keep nothing alive. */
  viewers = 0;
  recording: RecordingStatus | null = null;
  readonly events: SessionEvents;
  readonly uploads: UploadedFiles;
  readonly captcha: CaptchaWatch;
  captchaSolves = 0;
  /** Whether the coming end was announced. */
  expiryTold = false;
  /** Aborted when the session ends, whatever waits on it. */
  readonly abort = new AbortController();
  /** Settles when the start is over, well or not. Never rejects. */
  started: Promise<void> = Promise.resolve();
  /** The end under way, shared by all who ask for it. */
  ending: Promise<void> | null = null;
  /** Settles when nothing of the session is left on this host. */
  gone: Promise<void> = Promise.resolve();
  /** An end that the store could not be told of yet. */
  overdue: EndedReason | null = null;
  readonly #clock: Clock;
  readonly #createdMs: number;
  #touchedMs: number;

  constructor(record: SessionRecord, clock: Clock) {
    this.record = record;
    this.#clock = clock;
    this.events = new SessionEvents(clock);
    this.uploads = new UploadedFiles(clock);
    this.captcha = new CaptchaWatch(clock);
    this.#createdMs = clock.monotonicMs();
    this.#touchedMs = this.#createdMs;
  }

  /** What happens in the browser is told as the session's events. */
  follow(browser: Browser): void {
    browser.onEvent((event) => {
      const { type, ...data } = toEvent(event);
      this.events.tell(type, data);
    });
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
    if (!machine || isOver(this.status)) return this.record.lastSeen;
    const facts = machine.way.facts();
    const tabs = machine.browser.tabs();
    const tab = tabs.find((candidate) => candidate.active) ?? tabs[0];
    return {
      // There is always a tab: the first, or one that takes the last one's place, may still be on its way.
      current_url: tab?.url ?? 'about:blank',
      title: tab?.title ?? '',
      egress: { ip: facts.ip, country: facts.country, rotations: facts.rotations, rotated_at: facts.rotatedAt?.toISOString() ?? null },
      tabs_open: Math.max(tabs.length, 1),
      usage: {
        actions: this.actions,
        browser_seconds: this.#browserSeconds(),
        egress_bytes: facts.bytesIn + facts.bytesOut,
        captcha_solves: this.captchaSolves,
      },
      isolation: machine.vm.isolation,
      runtime: machine.vm.runtime,
      start_navigation: this.startNavigation,
      warm: this.warm,
      ...(this.recording ? { recording: this.recording } : {}),
      vm_id: machine.id,
    };
  }

  #browserSeconds(): number {
    const { startedAt } = this.record;
    return startedAt ? Math.max(0, Math.floor((this.#clock.now().getTime() - startedAt.getTime()) / 1000)) : 0;
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
