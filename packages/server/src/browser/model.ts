/** The words in which a browser is driven: what it is asked for, what it tells, and how it fails. */
import type { NavigationFailure, StorageState, Viewport } from '@berth/contract';
import type { NavigationOrder, NavigationOutcome, Page } from './page/model.ts';
import type { Patience } from './timeout-scale.ts';
import type { ConsoleEntry, Hands, ScreencastDemand, ScreencastFrame, ScreencastWatch } from './screencast/model.ts';
import type { CookieOrder, NetworkEntries, PrivatePage } from './page/private-model.ts';

export type { NavigationOrder, NavigationOutcome } from './page/model.ts';

/** What a session asks of its browser. Set over DevTools, never by a start flag, so that any warm machine fits. */
export interface BrowserSettings {
  viewport: Viewport;
  userAgent: string | null;
  locale: string | null;
  timezone: string | null;
  extraHeaders: Readonly<Record<string, string>>;
  blockResources: readonly ('image' | 'media' | 'font' | 'stylesheet' | 'websocket')[];
  acceptDownloads: boolean;
  ignoreHttpsErrors: boolean;
  /** Whether the network's events are kept for a HAR from the first page on. */
  keepNetworkLog: boolean;
  tabLimit: number;
}

export interface BrowserVersion {
  /** As `Browser.getVersion` says: `Chrome/156.0.…`. */
  product: string;
  protocolVersion: string;
  userAgent: string;
  jsVersion: string;
}

export interface TabInfo {
  tabId: string;
  url: string;
  title: string;
  active: boolean;
  openerTabId: string | null;
  createdAt: Date;
  status: 'loading' | 'complete' | 'crashed';
}

/** What happens in the browser, as it is told to whoever listens. Texts of pages are cut. */
export type BrowserEvent =
  | { type: 'tab.opened'; tabId: string; url: string; openerTabId: string | null }
  | { type: 'tab.closed'; tabId: string }
  | { type: 'tab.refused'; url: string; limit: number }
  | { type: 'tab.crashed'; tabId: string }
  | { type: 'navigation'; tabId: string; url: string }
  | { type: 'dialog'; tabId: string; dialog: string; message: string }
  | { type: 'download.started'; download: DownloadInfo }
  | { type: 'download.finished'; download: DownloadInfo };

/** A file that a page has downloaded, or is downloading. */
export interface DownloadInfo {
  /** Also the file's name in the machine's folder. */
  id: string;
  url: string;
  /** As the site names it, without anything that a file system could take amiss. */
  suggestedFilename: string;
  status: 'in_progress' | 'completed' | 'cancelled' | 'too_large';
  receivedBytes: number;
  totalBytes: number | null;
  startedAt: Date;
  finishedAt: Date | null;
}

/** A navigation that did not arrive. */
export class NavigationError extends Error {
  readonly reason: NavigationFailure;
  /** `net::ERR_…` as the browser says it; null where no network was to blame. */
  readonly netError: string | null;

  constructor(reason: NavigationFailure, netError: string | null, message: string) {
    super(message);
    this.name = 'NavigationError';
    this.reason = reason;
    this.netError = netError;
  }
}

/** No tab of that id is open in this browser. */
export class TabNotFound extends Error {}
/** The tab limit is reached. */
export class TabLimitReached extends Error {
  readonly limit: number;
  constructor(limit: number) {
    super(`at most ${limit} tabs`);
    this.limit = limit;
  }
}
/** The last tab stays open: a session without a tab cannot be driven. */
export class LastTab extends Error {}
/** The browser is gone, or does not answer any more. */
export class BrowserGone extends Error {}

/** A customer's DevTools connection, from the browser's side. */
export interface DevtoolsClient {
  /** One protocol message of the customer, as it came. */
  receive(message: string | Buffer): void;
  /** The customer has gone: all its attachments are undone. Idempotent. */
  close(): void;
}

export interface DevtoolsClientOptions {
  /** Gives one protocol message to the customer. Returns false when its buffer is full. */
  send(message: string | Buffer): boolean | void;
  /** The customer asked for `Browser.close`, or broke the protocol: the reason, in words. */
  onClose(reason: 'browser_close' | 'protocol_error' | 'browser_gone'): void;
}

export interface Browser {
  readonly version: BrowserVersion;
  /** How long to wait for what it does. */
  readonly patience: Patience;
  /** Settles once, when the pipe is closed or the browser stopped answering. */
  readonly gone: Promise<'closed' | 'unresponsive'>;
  /** Makes the browser what a session asked for: on the first tab, and on every later target before its first script. */
  prepare(settings: BrowserSettings): Promise<void>;
  /** Resolves when there is a tab to drive; rejects with BrowserGone. Until then `tabs` is empty and `activeTab` throws. */
  tabReady(): Promise<void>;
  /** Oldest first. A title that a page's script has changed may be missing while nobody listens by `onTabsChanged`. */
  tabs(): TabInfo[];
  /** The same with the titles of now, as far as the browser answers. Never rejects. */
  tabsNow(): Promise<TabInfo[]>;
  /** Throws TabNotFound while the only tab is on its way. */
  activeTab(): TabInfo;
  openTab(options: { active: boolean; signal: AbortSignal }): Promise<TabInfo>;
  closeTab(tabId: string, options: { signal: AbortSignal }): Promise<void>;
  /** Brings a tab to the front and makes it the active one. Throws TabNotFound. */
  activateTab(tabId: string, options: { signal: AbortSignal }): Promise<void>;
  navigate(tabId: string, order: NavigationOrder, options: { signal: AbortSignal }): Promise<NavigationOutcome>;
  /** A tab's page, to be driven and captured. Throws TabNotFound. */
  page(tabId: string): Page;
  /** A page in a browser context of its own, that no caller sees and that leaves nothing behind. */
  openPrivate(options: { signal: AbortSignal }): Promise<PrivatePage>;
  /** A session's own tab, to fetch with; what was set for the fetch is undone by `close`. Throws TabNotFound. */
  borrow(tabId: string): PrivatePage;
  /** Newest first; those of private pages are not among them. */
  downloads(): DownloadInfo[];
  /** Tells what happens until it is undone. */
  onEvent(listener: (event: BrowserEvent) => void): () => void;
  /** Called when what `tabs()` tells has changed, often many times at once; until it is undone. */
  onTabsChanged(listener: () => void): () => void;
  /**
   * Pictures of the active tab, whichever that is, when they change and one at
   * once; until it is ended. Watching is no activity. `onFrame` must not throw.
   */
  watch(demand: ScreencastDemand, onFrame: (frame: ScreencastFrame) => void): ScreencastWatch;
  /** A person's hands on a tab. What they do is activity. Throws TabNotFound. */
  hands(tabId: string): Hands;
  /** Lines of all tabs' consoles until it is undone. Pages cannot tell that somebody listens. */
  onConsole(listener: (entry: ConsoleEntry) => void): () => void;
  /** Cookies of the session's own context, and local storage of the origins that its tabs show. */
  storageState(options: { signal: AbortSignal }): Promise<StorageState>;
  /** Puts cookies and local storage in; before the first page is used. */
  setStorageState(state: StorageState, options: { signal: AbortSignal }): Promise<void>;
  setCookies(cookies: readonly CookieOrder[], options: { signal: AbortSignal; tabId?: string }): Promise<void>;
  /** Traffic of the session's own tabs so far; begins to keep it when nobody did. */
  networkLog(): NetworkEntries;
  /** Attaches a customer's DevTools client. */
  connectClient(options: DevtoolsClientOptions): Promise<DevtoolsClient>;
  clientCount(): number;
  /** Called on each message of a DevTools client and each drive call: what the idle timer looks at. */
  readonly lastActivityMs: number;
  /** A cheap question to the browser process; rejects with BrowserGone when it does not answer in time. */
  ping(options: { signal: AbortSignal }): Promise<void>;
  /** Lets go of the pipe's listeners. The machine ends the browser. */
  detach(): void;
}
