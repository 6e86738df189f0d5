/** The interface of a browser: settings, events and errors. */
import type { NavigationFailure, StorageState, Viewport } from '@berth/contract';
import type { EgressRefusal } from '@berth/egress';
import type { CallOptions, NavigationRequest, NavigationResult, Page, Point } from './page/page.ts';
import type { Attendant, ControlQuestion, Prompt, PromptAnswer } from './tabs/prompt.ts';
import type { BrowserState, ReadBrowserState } from './storage/origin-state.ts';
import type { TimeoutScale } from './timeout-scale.ts';
import type { ConsoleEntry, RemoteInput, ScreencastAttachment, ScreencastClient } from './screencast/clients.ts';
import type { CookieParam, NetworkEntries, PrivatePage, SiteCookie } from './page/private-model.ts';

export type { NavigationRequest, NavigationResult } from './page/page.ts';

/** A session's browser settings. Applied over DevTools, never by a start flag, so that any warm machine fits. */
export interface BrowserSettings {
  viewport: Viewport;
  userAgent: string | null;
  locale: string | null;
  timezone: string | null;
  extraHeaders: Readonly<Record<string, string>>;
  /** The `Referer` of navigations that have none of their own. */
  referer?: string | undefined;
  blockResources: readonly ('image' | 'media' | 'font' | 'stylesheet' | 'websocket')[];
  acceptDownloads: boolean;
  ignoreHttpsErrors: boolean;
  /** Whether network events are recorded for a HAR from the first page on. */
  keepNetworkLog: boolean;
  tabLimit: number;
  /** Default: the limits of `Downloads` alone. */
  downloadLimit?: DownloadLimit | undefined;
  /** The path in the machine of a file that was uploaded, by its id or its name; null: there is none. Default: there are none. */
  uploadPath?: ((name: string) => string | null) | undefined;
}

/** The limit of the disk space of a session's downloads. */
export interface DownloadLimit {
  bytesMax: number;
  /** Asks for this size of all downloads together. False: there is no room. */
  resize(bytes: number): boolean;
}

export interface BrowserVersion {
  /** The product from `Browser.getVersion`, such as `Chrome/156.0.…`. */
  product: string;
  protocolVersion: string;
  /** `@` and the commit that it was built from. */
  revision: string;
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
  /** Why it shows the browser's error page; null where it shows a page. */
  failure: EgressRefusal | 'unknown' | null;
}

/** Browser events for listeners. Text from pages is truncated. */
export type BrowserEvent =
  | { type: 'tab.opened'; tabId: string; url: string; openerTabId: string | null }
  | { type: 'tab.closed'; tabId: string }
  | { type: 'tab.refused'; url: string; limit: number }
  | { type: 'tab.crashed'; tabId: string }
  | { type: 'navigation'; tabId: string; url: string }
  | { type: 'dialog'; tabId: string; dialog: string; message: string }
  | { type: 'download.started'; download: DownloadInfo }
  | { type: 'download.finished'; download: DownloadInfo };

/** A finished or running download. */
export interface DownloadInfo {
  /** The download's id, which is also the file's name in the machine's folder. */
  id: string;
  url: string;
  /** The site's file name without characters that are unsafe in a file system. */
  suggestedFilename: string;
  status: 'in_progress' | 'completed' | 'cancelled' | 'too_large';
  receivedBytes: number;
  totalBytes: number | null;
  startedAt: Date;
  finishedAt: Date | null;
}

/** A navigation that failed. */
export class NavigationError extends Error {
  readonly reason: NavigationFailure;
  /** The browser's `net::ERR_…`, or the one that names the same; null for a crash, which is no error of the network. */
  readonly netError: string | null;
  /** Further details for callers: the rule that refused the address, the id of the download. */
  readonly details: Readonly<Record<string, string>>;

  constructor(reason: NavigationFailure, netError: string | null, message: string, details: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'NavigationError';
    this.reason = reason;
    this.netError = netError;
    this.details = details;
  }
}

/** No tab of that id is open in this browser. */
export class TabNotFoundError extends Error {}
/** The tab limit is reached. */
export class TabLimitReachedError extends Error {
  readonly limit: number;
  constructor(limit: number) {
    super(`at most ${limit} tabs`);
    this.limit = limit;
  }
}
/** The last tab stays open: a session without a tab cannot be driven. */
export class LastTabError extends Error {}
/** The browser has exited or does not respond. */
export class BrowserClosedError extends Error {}

/** A customer's DevTools connection, from the browser's side. */
export interface DevtoolsClient {
  /**
   * Passes on one protocol message of the customer. Where it returns a promise,
   * the session has had its share of the worker, or the browser does not keep
   * up: the next message should wait until it resolves.
   */
  receive(message: string | Buffer): Promise<void> | undefined;
  /** Detaches the client and everything it attached to. Idempotent. */
  close(): void;
  /** Closes after the client has received that its targets are detached, as from a browser that ends. */
  end(): void;
}

export interface DevtoolsClientOptions {
  /** Sends one protocol message to the customer. Returns false when its buffer is full. */
  send(message: string | Buffer): boolean | void;
  /** The connection ended: the customer sent `Browser.close` or broke the protocol, or the browser closed. */
  onClose(reason: 'browser_close' | 'protocol_error' | 'browser_gone'): void;
  /**
   * For a client on this computer: copies a completed download into the folder that the client named for downloads, before
   * the client hears of it. Never rejects.
   */
  copyDownload?: ((id: string, folder: string) => Promise<void>) | undefined;
}

export interface Browser {
  readonly version: BrowserVersion;
  /** Scales time limits to the speed of the machine. */
  readonly timeoutScale: TimeoutScale;
  /** Resolves once, when the pipe closes or the browser stops responding. */
  readonly closed: Promise<'closed' | 'unresponsive'>;
  /** Whether `closed` has resolved. */
  readonly isClosed: boolean;
  /** Applies a session's settings: to the first tab, and to every later target before its first script. */
  prepare(settings: BrowserSettings): Promise<void>;
  /** Resolves when a tab is open. Until then `tabs` is empty and `activeTab` throws. @throws BrowserClosedError */
  tabReady(): Promise<void>;
  /** The tabs, oldest first. Titles that a page's script has changed may be stale while `onTabsChanged` has no listener. */
  tabs(): TabInfo[];
  /** Returns `tabs()` with current titles, as far as the browser responds. Never rejects. */
  refreshTabs(): Promise<TabInfo[]>;
  /** @throws TabNotFoundError while the only tab is opening */
  activeTab(): TabInfo;
  /** @throws TabLimitReachedError, PageError `timeout`; a tab that comes after that is closed */
  openTab(options: { active: boolean; timeoutMs: number; signal: AbortSignal }): Promise<TabInfo>;
  closeTab(tabId: string, options: { signal: AbortSignal }): Promise<void>;
  /** Brings a tab to the front and makes it the active one. @throws TabNotFoundError */
  activateTab(tabId: string, options: { signal: AbortSignal }): Promise<void>;
  navigate(tabId: string, request: NavigationRequest, options: { signal: AbortSignal }): Promise<NavigationResult>;
  /** The page of a tab. @throws TabNotFoundError */
  page(tabId: string): Page;
  /** Opens a page in a separate browser context that is invisible to callers and leaves nothing behind. */
  openPrivate(options: { signal: AbortSignal }): Promise<PrivatePage>;
  /** Uses one of the session's own tabs for a fetch; `close` restores its settings. @throws TabNotFoundError */
  borrow(tabId: string): PrivatePage;
  /** Newest first, without those of private pages. */
  downloads(): DownloadInfo[];
  /** Adds a listener; returns a function that removes it. */
  onEvent(listener: (event: BrowserEvent) => void): () => void;
  /** Lets a person answer what pages ask. Without one, dialogs are dismissed and lists and file choosers stay closed. Returns a function that ends it. */
  attend(attendant: Attendant): () => void;
  /** The open prompts, at most one of each tab. Changes are reported like those of `tabs()`. */
  prompts(): Prompt[];
  /** @throws PageError `not_possible` when the prompt is no longer open */
  answerPrompt(promptId: number, answer: PromptAnswer): Promise<void>;
  /** Reports file choosers that pages open, which open nowhere meanwhile. Returns a function that ends it. */
  watchFileChoosers(listener: (tabId: string) => void): () => void;
  /** The drop-down list or picker that a press at the point would open; null for anything else. @throws TabNotFoundError, PageError */
  controlAt(tabId: string, at: Point, options: CallOptions): Promise<ControlQuestion | null>;
  /** Whether the tab has earlier and later pages. @throws TabNotFoundError */
  historyOf(tabId: string): Promise<{ back: boolean; forward: boolean }>;
  /** Adds a listener for changes of `tabs()`, which may come in bursts; returns a function that removes it. */
  onTabsChanged(listener: () => void): () => void;
  /** Streams frames of whichever tab is active: one at once, then on change, until the client detaches. Watching is no activity. */
  attachScreencast(client: ScreencastClient): ScreencastAttachment;
  /** Remote mouse and keyboard of a tab; input counts as activity. @throws TabNotFoundError */
  remoteInput(tabId: string): RemoteInput;
  /** Adds a listener for the console lines of all tabs; pages cannot detect it. Returns a function that removes it. */
  onConsole(listener: (entry: ConsoleEntry) => void): () => void;
  /** Resolves when all pages report their lines to the first listener. One that hangs does not reply. */
  consoleListening(): Promise<void>;
  /** Reads the cookies of the session's context, and local storage of the origins that its tabs show. */
  storageState(options: { signal: AbortSignal }): Promise<StorageState>;
  /** Writes cookies and local storage. Call before the first page is used. */
  setStorageState(state: StorageState, options: { signal: AbortSignal }): Promise<void>;
  /**
   * Reads the cookies of the session's own context, and local storage and databases of these origins, in a tab that is
   * empty afterwards. Origins for which there is no time within `timeoutMs` are reported as unread.
   */
  readState(options: { origins: readonly string[]; timeoutMs: number; signal: AbortSignal }): Promise<ReadBrowserState>;
  /** Writes what `readState` has read into a new browser, as far as it accepts it. Resolves with the origins that it does not. */
  writeState(state: BrowserState, options: { signal: AbortSignal }): Promise<string[]>;
  setCookies(cookies: readonly CookieParam[], options: { signal: AbortSignal; tabId?: string }): Promise<void>;
  /** Cookies of the context of a tab. Default: the active one. */
  cookies(options: { signal: AbortSignal; tabId?: string }): Promise<SiteCookie[]>;
  /** Network traffic of the session's tabs so far; starts recording if it was off. */
  networkLog(): NetworkEntries;
  /** Attaches a customer's DevTools client. */
  connectClient(options: DevtoolsClientOptions): Promise<DevtoolsClient>;
  clientCount(): number;
  /** Monotonic ms of the last DevTools client message or API call; the idle timer reads it. */
  readonly lastActivityMs: number;
  /** Checks that the browser process responds. @throws BrowserClosedError */
  ping(options: { signal: AbortSignal }): Promise<void>;
  /** Removes the pipe's listeners. The machine ends the browser. */
  detach(): void;
}
