/** A live view with a stub browser, and the messages that a viewer receives. */
import { frameHeaderBytes, type LiveViewMessage, type ViewCloseReason } from '@berth/contract/live-view';
import type {
  Attendant,
  Browser,
  BrowserEvent,
  DownloadInfo,
  Prompt,
  PromptAnswer,
  RemoteInput,
  ScreencastDemand,
  TabInfo,
} from '@berth/devtools';
import type { Drive } from '../src/sessions/drive/drive.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import type { LiveSession, Machine, SessionEvent, SessionRecord, Sessions } from '../src/sessions/sessions/sessions.ts';
import { LiveView } from '../src/watch/view/live-view/live-view.ts';

interface StartOptions {
  maxWidth: number;
  maxHeight: number;
  quality: number;
}

/** The DevTools connection of a screencast: draws when a test says so. */
export class StubConnection {
  readonly timeoutScale = { ms: (baseMs: number): number => baseMs };
  /** Options of the screencasts that were started. */
  readonly starts: StartOptions[] = [];
  /** Running screencasts. */
  running = 0;
  readonly #listeners = new Set<(event: object, sessionId: string) => void>();
  #frames = 0;

  on = (event: string, listener: (event: object, sessionId: string) => void): (() => void) => {
    if (event === 'Page.screencastFrame') this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  send = (method: string, params?: object): Promise<void> => {
    if (method === 'Page.startScreencast') this.starts.push(params as StartOptions);
    this.running += method === 'Page.startScreencast' ? 1 : method === 'Page.stopScreencast' ? -1 : 0;
    return Promise.resolve();
  };

  draw(text: string): void {
    this.#frames += 1;
    const metadata = { deviceWidth: 1280, deviceHeight: 720, pageScaleFactor: 1, timestamp: this.#frames / 1000 };
    const event = { data: Buffer.from(text).toString('base64'), metadata, sessionId: this.#frames };
    for (const listener of this.#listeners) listener(event, 'S1');
  }
}

/** The part of a screencast that a live view and its tests use. */
interface StubScreencast {
  attach: Browser['attachScreencast'];
  demand: ScreencastDemand | null;
}

/** Records what is requested of the browser. */
export class StubBrowser {
  readonly connection = new StubConnection();
  readonly screencast: StubScreencast;
  /** Clients of the screencast. */
  watching = 0;
  tabList: TabInfo[] = [
    {
      tabId: 'T1',
      url: 'http://site.test/',
      title: 'Site',
      active: true,
      openerTabId: null,
      createdAt: new Date(0),
      status: 'complete',
      failure: null,
    },
  ];
  promptList: Prompt[] = [];
  /** Answers to prompts. */
  readonly answers: [promptId: number, answer: PromptAnswer][] = [];
  /** Viewers who can answer. */
  readonly attendants = new Set<Attendant>();
  downloadList: DownloadInfo[] = [];
  readonly #eventListeners = new Set<(event: BrowserEvent) => void>();
  /** Input that was dispatched. */
  readonly inputs: [tabId: string, act: string, given: unknown][] = [];
  /** Delays all input until it resolves. */
  inputGate: Promise<void> = Promise.resolve();
  readonly #tabListeners = new Set<() => void>();

  constructor(createScreencast: (connection: StubConnection) => StubScreencast) {
    this.screencast = createScreencast(this.connection);
  }

  get listening(): number {
    return this.#tabListeners.size;
  }

  tabs = (): TabInfo[] => this.tabList;
  activeTab = (): TabInfo => this.tabList.find(({ active }) => active) ?? fail('no tab is active');

  onTabsChanged = (listener: () => void): (() => void) => {
    this.#tabListeners.add(listener);
    return () => this.#tabListeners.delete(listener);
  };

  prompts = (): Prompt[] => this.promptList;
  downloads = (): DownloadInfo[] => this.downloadList;
  clientCount = (): number => 0;
  historyOf = (): Promise<{ back: boolean; forward: boolean }> => Promise.resolve({ back: false, forward: false });

  attend = (attendant: Attendant): (() => void) => {
    this.attendants.add(attendant);
    return () => this.attendants.delete(attendant);
  };

  answerPrompt = (promptId: number, answer: PromptAnswer): Promise<void> => {
    this.answers.push([promptId, answer]);
    return Promise.resolve();
  };

  onEvent = (listener: (event: BrowserEvent) => void): (() => void) => {
    this.#eventListeners.add(listener);
    return () => this.#eventListeners.delete(listener);
  };

  ask(prompts: Prompt[]): void {
    this.promptList = prompts;
    for (const listener of this.#tabListeners) listener();
  }

  changeTabs(tabs: TabInfo[]): void {
    this.tabList = tabs;
    for (const listener of this.#tabListeners) listener();
  }

  attachScreencast: Browser['attachScreencast'] = (client) => {
    const { update, detach } = this.screencast.attach(client);
    this.watching += 1;
    return {
      update,
      detach: () => {
        this.watching -= 1;
        detach();
      },
    };
  };

  remoteInput = (tabId: string): RemoteInput => {
    const record =
      (kind: string) =>
      async (given?: unknown): Promise<void> => {
        this.inputs.push([tabId, kind, given]);
        await this.inputGate;
      };
    return {
      mouse: record('mouse'),
      wheel: record('wheel'),
      key: record('key'),
      insertText: record('insertText'),
      compose: (text, start, end) => record('compose')([text, start, end]),
      selection: () => Promise.resolve('what is selected'),
      release: record('release'),
    };
  };
}

/** The part of a session that a live view uses. */
export class StubSession {
  viewers = 0;
  /** How often its idle timer was reset. */
  touches = 0;
  readonly #listeners = new Set<(event: SessionEvent) => void>();
  readonly emitted: [type: string, data: unknown][] = [];
  readonly abort = new AbortController();
  record = {
    sessionId: 'ses_1',
    owner: 'local',
    name: 'shopping',
    expiresAt: new Date(900_000),
    endedReason: null as SessionRecord['endedReason'],
    settings: { viewport: { width: 1280, height: 720, device_scale_factor: 1 } },
  };
  readonly events = {
    emit: (type: string, data: unknown): void => void this.emitted.push([type, data]),
    subscribe: (listener: (event: SessionEvent) => void) => {
      this.#listeners.add(listener);
      return () => void this.#listeners.delete(listener);
    },
  };
  /** Reports what the rest of the service did. */
  report(type: SessionEvent['type'], data: SessionEvent['data']): void {
    for (const listener of this.#listeners) listener({ id: 1, type, at: '1970-01-01T00:00:00.000Z', data });
  }
  touch = (): void => void (this.touches += 1);
  endsAt = (): Date => this.record.expiresAt;

  end(endedReason: SessionRecord['endedReason']): void {
    this.record = { ...this.record, endedReason };
    this.abort.abort(new Error('over'));
  }
}

export class LiveViewFixture {
  readonly browser: StubBrowser;
  readonly clock = new ManualClock();
  readonly session = new StubSession();
  readonly live: LiveView;
  /** How often the last viewer disconnected. */
  emptyCount = 0;
  /** Close functions of the open connections. */
  readonly connections = new Set<(reason: ViewCloseReason) => void>();

  constructor(...browser: ConstructorParameters<typeof StubBrowser>) {
    this.browser = new StubBrowser(...browser);
    this.live = new LiveView({
      session: this.session as unknown as LiveSession,
      machine: { browser: this.browser } as unknown as Machine,
      clock: this.clock,
      log: silentLog,
      sessions: {} as Sessions,
      drive: {} as Drive,
      onEmpty: () => void (this.emptyCount += 1),
    });
  }

  readonly registerConnection = (close: (reason: ViewCloseReason) => void): (() => void) => {
    this.connections.add(close);
    return () => this.connections.delete(close);
  };
}

/** All messages and frames that a viewer received. */
export class ReceivedMessages {
  readonly messages: LiveViewMessage[] = [];
  readonly frames: { seq: number; text: string }[] = [];

  receive(data: Buffer, isBinary: boolean): void {
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

export function fail(what: string): never {
  throw new Error(what);
}
