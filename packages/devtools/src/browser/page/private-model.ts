/** The interface of a private page, which fetches use: a separate browser context, with its network traffic. */
import type { BlockDetection, StorageState } from '@berth/contract';
import type { NavigationRequest, NavigationResult, Page } from './page.ts';

export type { BlockDetection };

export interface CookieParam {
  name: string;
  value: string;
  /** Alternative to domain and path. */
  url?: string | undefined;
  domain?: string | undefined;
  path?: string | undefined;
  expires?: number | undefined;
  httpOnly?: boolean | undefined;
  secure?: boolean | undefined;
  sameSite?: 'Strict' | 'Lax' | 'None' | undefined;
  partitionKey?: { topLevelSite: string; hasCrossSiteAncestor: boolean } | undefined;
}

export interface PrivateSettings {
  blockResources: readonly ('image' | 'media' | 'font' | 'stylesheet' | 'websocket')[];
  extraHeaders: Readonly<Record<string, string>>;
  cookies: readonly CookieParam[];
  /** Includes out-of-process frames and workers, at the cost of attaching to each. */
  wholeNetwork: boolean;
}

/** Bytes on the wire as the browser counts them. */
export interface NetworkBytes {
  in: number;
  out: number;
}

/** One request and its response, as a HAR entry needs them. */
export interface NetworkEntry {
  requestId: string;
  startedAt: Date;
  method: string;
  url: string;
  resourceType: string;
  requestHeaders: Readonly<Record<string, string>>;
  requestBytes: number;
  status: number;
  statusText: string;
  protocol: string;
  responseHeaders: Readonly<Record<string, string>>;
  mimeType: string;
  redirectUrl: string;
  remoteAddress: string | null;
  fromCache: boolean;
  fromServiceWorker: boolean;
  bodyBytes: number;
  wireBytes: number;
  error: string | null;
  timings: { blockedMs: number; dnsMs: number; connectMs: number; sslMs: number; sendMs: number; waitMs: number; receiveMs: number };
  totalMs: number;
  /** Present only while an observation records traffic. */
  details?: EntryDetails | null | undefined;
}

/** Limits of recording traffic with bodies. */
export interface TrafficLimits {
  /** Maximum bytes of one body; 0: no body is read. */
  bodyBytesMax: number;
  totalBytesMax: number;
  /** WebSocket messages and server-sent events. */
  messagesMax: number;
}

export interface TrafficMessage {
  type: 'send' | 'receive';
  /** Seconds of the browser's clock. */
  time: number;
  opcode: number;
  data: string;
}

/** How much of a script or a style sheet was used. */
export interface SourceCoverage {
  url: string;
  type: 'js' | 'css';
  totalBytes: number;
  usedBytes: number;
  /** How long a script has run on the main thread of the page; null for a style sheet, and where it is not known. */
  scriptMs: number | null;
}

/** A line that the page or the browser wrote as an error, or an uncaught error. */
export interface ObservedError {
  text: string;
  url: string | null;
  line: number | null;
}

/** The part of a cookie that steps need. */
export interface SiteCookie {
  name: string;
  value: string;
  /** The domain, with a leading dot where it includes subdomains. */
  domain: string;
}

export interface BrowserCookie {
  name: string;
  value: string;
  domain: string;
  path: string;
  /** Unix time in seconds; null for a session cookie. */
  expires: number | null;
  httpOnly: boolean;
  secure: boolean;
  sameSite: 'Strict' | 'Lax' | 'None' | null;
  isPartitioned: boolean;
}

/** A recording of what a page does. Its traffic is in the page's `network()`. */
export interface Observation {
  /** The counts of what the limits left out so far. */
  readonly dropped: { readonly bodies: number; readonly bytes: number; readonly messages: number };
  /** Call before each load. */
  startPage(options: { signal: AbortSignal }): Promise<void>;
  /** Returns the coverage and errors of the page that was loaded last. */
  takePage(options: { signal: AbortSignal }): Promise<{ coverage: SourceCoverage[]; errors: ObservedError[] }>;
  /** Resolves when the bodies of complete requests are read, at most after `withinMs`. */
  bodiesRead(withinMs: number): Promise<void>;
  /** All cookies of the browser context. */
  cookies(options: { signal: AbortSignal }): Promise<BrowserCookie[]>;
}

/** The fields of recorded traffic beside a HAR's standard ones. */
export interface EntryDetails {
  initiator: { type: string; url?: string; lineNumber?: number } | null;
  priority: string | null;
  frameId: string | null;
  documentUrl: string | null;
  requestBody: string | null;
  responseBody: { text: string; isBase64: boolean } | null;
  security: { protocol: string; issuer: string; subjectName: string; validTo: number; sanCount: number } | null;
  /** The messages of a WebSocket. */
  messages: TrafficMessage[];
  /** The events of an `EventSource`. */
  events: { time: number; eventName: string; eventId: string; data: string }[];
}

export interface NetworkEntries {
  since: Date;
  entries: readonly NetworkEntry[];
  /** Number of requests omitted over the limit. */
  dropped: number;
  /** Number of requests, not omitted ones, some of whose headers were omitted over the limit. */
  withoutHeaders: number;
}

/** The body of a main response that is not a page. */
export interface CapturedBody {
  data: Buffer;
  truncated: boolean;
}

export interface LoadRequest extends NavigationRequest {
  /** Whether content other than HTML is also shown, where the browser can; otherwise its body is returned and nothing is shown. */
  showAnything: boolean;
  /** Whether the body of a page is kept for `documentBody`. The page is then shown once the body is complete. */
  keepBody: boolean;
  /** The caller reads title and URL from the page: the result's may then be slightly stale. */
  readsPage: boolean;
  bodyBytesMax: number;
}

export interface LoadResult extends NavigationResult {
  contentType: string | null;
  /** The body in place of a page; null if there is a document. */
  body: CapturedBody | null;
  /** The page did not reach `waitUntil` in time, but has a document. */
  timedOut: boolean;
}

export interface PrivatePage {
  readonly page: Page;
  /** Call once, before use: a page may have been opened ahead of its request. */
  prepare(settings: PrivateSettings, options: { signal: AbortSignal }): Promise<void>;
  /** A page that is late is also a result, if it has a document. @throws NavigationError and what `navigate` throws */
  load(request: LoadRequest, options: { signal: AbortSignal }): Promise<LoadResult>;
  setCookies(cookies: readonly CookieParam[], options: { signal: AbortSignal }): Promise<void>;
  cookies(options: { signal: AbortSignal }): Promise<SiteCookie[]>;
  /** Writes cookies and local storage. Call before `prepare`. */
  setStorageState(state: StorageState, options: { signal: AbortSignal }): Promise<void>;
  /** Records what the page does until it is closed. Call once, after `prepare`. */
  observe(limits: TrafficLimits, options: { signal: AbortSignal }): Promise<Observation>;
  /** Waits for responses that scripts wait for, at most `withinMs`. Returns false if some are missing. */
  waitForScriptRequests(withinMs: number): Promise<boolean>;
  /** Waits until the page has been replaced by another document, and that has loaded, at most `withinMs`. */
  waitForReplacement(withinMs: number): Promise<void>;
  /** The response of the current document and the redirects to it; null if there was none. */
  response(): Pick<NavigationResult, 'headers' | 'cookieNames' | 'redirects'> | null;
  bytes(): NetworkBytes;
  network(): NetworkEntries;
  /** The main document's body as received; null if it was not retained. */
  documentBody(options: { signal: AbortSignal; maxBytes: number }): Promise<CapturedBody | null>;
  /** Closes the page, its popups and its context with all stored data. Idempotent. */
  close(): Promise<void>;
}
