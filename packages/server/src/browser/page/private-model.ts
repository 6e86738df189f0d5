/** The words for a page that is fetched: in a browser context of its own, with what came over the network for it. */
import type { BlockDetection } from '@berth/contract';
import type { NavigationOrder, NavigationOutcome, Page } from './model.ts';

export type { BlockDetection };

export interface CookieOrder {
  name: string;
  value: string;
  /** Or a domain and a path. */
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
  cookies: readonly CookieOrder[];
  /** Also of frames in other processes and of workers. Costs an attachment to each. */
  wholeNetwork: boolean;
}

/** Bytes on the wire as the browser counts them. */
export interface NetworkBytes {
  in: number;
  out: number;
}

/** One request and what came of it: the parts of a HAR entry. */
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
}

export interface NetworkEntries {
  since: Date;
  entries: readonly NetworkEntry[];
  /** Requests beyond the bound, oldest first. */
  dropped: number;
}

/** A response for the page itself that is no page: its bytes instead of a document. */
export interface CapturedBody {
  data: Buffer;
  truncated: boolean;
}

export interface LoadOrder extends NavigationOrder {
  /** Shows also what is no HTML, where the browser can; without it the bytes are taken and nothing is shown. */
  showAnything: boolean;
  /** Keeps the bytes of a page too, for `documentBody`. It is then shown once it is whole. */
  keepBody: boolean;
  /** Whether title and address are read from the page afterwards: then they are not asked for, and may be a moment old. */
  readsPage: boolean;
  bodyBytesMax: number;
}

export interface LoadOutcome extends NavigationOutcome {
  contentType: string | null;
  /** What came in place of a page; null where there is a document. */
  body: CapturedBody | null;
  /** The page did not reach the event that was waited for, but has a document. */
  timedOut: boolean;
}

export interface PrivatePage {
  readonly page: Page;
  /** Once, before it is used: a page may have been made ahead of its order. */
  prepare(settings: PrivateSettings, options: { signal: AbortSignal }): Promise<void>;
  /** Also a page that is late is an outcome, as soon as it has a document. Throws NavigationError and what `navigate` throws. */
  load(order: LoadOrder, options: { signal: AbortSignal }): Promise<LoadOutcome>;
  setCookies(cookies: readonly CookieOrder[], options: { signal: AbortSignal }): Promise<void>;
  /** Waits, for a moment at most, for the answers that scripts wait for. False where some did not come. */
  answered(withinMs: number): Promise<boolean>;
  bytes(): NetworkBytes;
  network(): NetworkEntries;
  /** The main document's bytes as they came; null where the browser has let go of them. */
  documentBody(options: { signal: AbortSignal; maxBytes: number }): Promise<CapturedBody | null>;
  /** Ends the page, its popups and its context, with all that they stored. Idempotent. */
  close(): Promise<void>;
}
