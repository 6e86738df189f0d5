/** A live view of a browser that does as the test says, and what one person's page gets to know of it. */
import { setTimeout as wait } from 'node:timers/promises';
import { frameHeaderBytes, type LiveViewMessage, type ViewCloseReason } from '@berth/contract/live-view';
import type { Hands, ScreencastDemand, ScreencastFrame, TabInfo } from '../browser/browser.ts';
import type { Drive } from '../drive/drive.ts';
import { ManualClock } from '../lib/clock.ts';
import { silentLog } from '../lib/log.ts';
import type { LiveSession, Machine, SessionRecord, Sessions } from '../sessions/sessions.ts';
import { LiveView } from './live-view.ts';

/** What the browser was asked for, and what it answers with. */
export class StubBrowser {
  readonly demands: ScreencastDemand[] = [];
  /** Watches that have begun and not ended. */
  watching = 0;
  tabList: TabInfo[] = [
    { tabId: 'T1', url: 'http://site.test/', title: 'Site', active: true, openerTabId: null, createdAt: new Date(0), status: 'complete' },
  ];
  /** What hands did: the tab, the act, and what it was given. */
  readonly acts: [tabId: string, act: string, given: unknown][] = [];
  /** What hands wait for before they are done. */
  inputTaken: Promise<void> = Promise.resolve();
  readonly #tabListeners = new Set<() => void>();
  #onFrame: (frame: ScreencastFrame) => void = () => undefined;

  get listening(): number {
    return this.#tabListeners.size;
  }

  tabs = (): TabInfo[] => this.tabList;
  activeTab = (): TabInfo => this.tabList.find(({ active }) => active) ?? never('no tab is active');

  onTabsChanged = (listener: () => void): (() => void) => {
    this.#tabListeners.add(listener);
    return () => this.#tabListeners.delete(listener);
  };

  changeTabs(tabs: TabInfo[]): void {
    this.tabList = tabs;
    for (const listener of this.#tabListeners) listener();
  }

  watch = (
    demand: ScreencastDemand,
    onFrame: (frame: ScreencastFrame) => void,
  ): { change(demand: ScreencastDemand): void; end(): void } => {
    this.demands.push(demand);
    this.watching += 1;
    this.#onFrame = onFrame;
    return { change: (changed) => void this.demands.push(changed), end: () => (this.watching -= 1) };
  };

  draw(text: string): void {
    this.#onFrame({ data: Buffer.from(text), tabId: 'T1', width: 1280, height: 720, drawnAtMs: 1 });
  }

  hands = (tabId: string): Hands => {
    const note =
      (act: string) =>
      async (given?: unknown): Promise<void> => {
        this.acts.push([tabId, act, given]);
        await this.inputTaken;
      };
    return {
      mouse: note('mouse'),
      wheel: note('wheel'),
      key: note('key'),
      insertText: note('insertText'),
      compose: (text, start, end) => note('compose')([text, start, end]),
      selection: () => Promise.resolve('what is selected'),
      release: note('release'),
    };
  };
}

/** What a live view needs of a session. */
export class StubSession {
  viewers = 0;
  /** How often it was kept awake. */
  touches = 0;
  readonly told: [type: string, data: unknown][] = [];
  readonly abort = new AbortController();
  record = {
    sessionId: 'ses_1',
    owner: 'local',
    expiresAt: new Date(900_000),
    endedReason: null as SessionRecord['endedReason'],
    settings: { viewport: { width: 1280, height: 720, device_scale_factor: 1 } },
  };
  readonly events = { tell: (type: string, data: unknown): void => void this.told.push([type, data]) };
  touch = (): void => void (this.touches += 1);

  end(endedReason: SessionRecord['endedReason']): void {
    this.record = { ...this.record, endedReason };
    this.abort.abort(new Error('over'));
  }
}

export class Watched {
  readonly browser = new StubBrowser();
  readonly clock = new ManualClock();
  readonly session = new StubSession();
  readonly live: LiveView;
  /** How often the last viewer has left. */
  emptied = 0;
  /** Of the links that are in use: what closes them. */
  readonly held = new Set<(reason: ViewCloseReason) => void>();

  constructor() {
    this.live = new LiveView({
      session: this.session as unknown as LiveSession,
      machine: { browser: this.browser } as unknown as Machine,
      clock: this.clock,
      log: silentLog,
      sessions: {} as Sessions,
      drive: {} as Drive,
      onEmpty: () => void (this.emptied += 1),
    });
  }

  readonly hold = (close: (reason: ViewCloseReason) => void): (() => void) => {
    this.held.add(close);
    return () => this.held.delete(close);
  };
}

/** All that a page has been told and shown. */
export class Seen {
  readonly messages: LiveViewMessage[] = [];
  readonly frames: { seq: number; text: string }[] = [];

  take(data: Buffer, isBinary: boolean): void {
    if (isBinary) this.frames.push({ seq: data.readUInt32LE(4), text: data.subarray(frameHeaderBytes).toString() });
    else this.messages.push(JSON.parse(data.toString()) as LiveViewMessage);
  }

  texts(): string[] {
    return this.frames.map(({ text }) => text);
  }

  of<T extends LiveViewMessage['type']>(type: T): Extract<LiveViewMessage, { type: T }>[] {
    return this.messages.filter((message): message is Extract<LiveViewMessage, { type: T }> => message.type === type);
  }
}

/** Polls a fact that nothing announces. */
export async function until(what: string, holds: () => boolean, withinMs = 5000): Promise<void> {
  for (const start = performance.now(); !holds(); await wait(5))
    if (performance.now() - start > withinMs) never(`not within ${withinMs} ms: ${what}`);
}

export function never(what: string): never {
  throw new Error(what);
}
