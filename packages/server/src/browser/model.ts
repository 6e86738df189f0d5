/** The words in which a browser is driven: what it is asked for, what it tells, and how it fails. */
import type { NavigationFailure, Viewport, WaitUntil } from '@berth/contract';

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

export interface NavigationOrder {
  url: string;
  waitUntil: WaitUntil;
  timeoutMs: number;
  referer?: string | undefined;
}

export interface NavigationOutcome {
  finalUrl: string;
  title: string;
  /** The last main-document response's real status after redirects; null where there was no HTTP. */
  statusCode: number | null;
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
  /** Settles once, when the pipe is closed or the browser stopped answering. */
  readonly gone: Promise<'closed' | 'unresponsive'>;
  /** Makes the browser what a session asked for: on the first tab, and on every later target before its first script. */
  prepare(settings: BrowserSettings): Promise<void>;
  /** Resolves when there is a tab to drive; rejects with BrowserGone. Until then `tabs` is empty and `activeTab` throws. */
  tabReady(): Promise<void>;
  /** Oldest first. */
  tabs(): TabInfo[];
  /** Throws TabNotFound while the only tab is on its way. */
  activeTab(): TabInfo;
  openTab(options: { active: boolean; signal: AbortSignal }): Promise<TabInfo>;
  closeTab(tabId: string, options: { signal: AbortSignal }): Promise<void>;
  navigate(tabId: string, order: NavigationOrder, options: { signal: AbortSignal }): Promise<NavigationOutcome>;
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
