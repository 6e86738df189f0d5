/** The requests of some pages, as HAR entries need them: bounded, without bodies. */
import type { Protocol } from 'devtools-protocol';
import { cutText } from '@berth/lib/text/text.ts';
import { orAfter } from '@berth/lib/deadline.ts';
import type { Connection } from '../cdp/connection.ts';
import type { NetworkBytes, NetworkEntries, NetworkEntry } from '../page/private-model.ts';
import { charsOf, createEntry, emptyTimings, lineCharsMax, sizeOf, TextBudget, toSentHeaders, urlCharsMax } from './network-entry.ts';
import { endlessMedia } from './open-requests.ts';
import type { Traffic } from './traffic.ts';

/** A busy page makes a few hundred requests. */
const entriesMax = 2000;
/** Requests that never end stay pending; the oldest then go first. */
const pendingMax = 1000;

/** Requests by scripts, whose responses pages may render. After the load also scripts, which only other scripts request then. */
const scriptRequestTypes: ReadonlySet<string> = new Set(['XHR', 'Fetch', 'Script']);

interface Pending extends NetworkEntry {
  startedMs: number;
  responseMs: number | null;
  isBodyTaken: boolean;
  cookieHeaders: Readonly<Record<string, string>>;
  /** Beyond the budget of texts: it is only counted. */
  isOnlyCounted: boolean;
  hasLostHeaders: boolean;
}

type HeaderField = 'requestHeaders' | 'responseHeaders' | 'cookieHeaders';

export class NetworkLog {
  readonly #connection: Connection;
  readonly #since: Date;
  readonly #isOwnSession: (sessionId: string | undefined) => boolean;
  readonly #pending = new Map<string, Pending>();
  readonly #entries: NetworkEntry[] = [];
  readonly #bytes: NetworkBytes = { in: 0, out: 0 };
  readonly #undo: (() => void)[] = [];
  /** Called when a request finishes. */
  readonly #finishListeners = new Set<() => void>();
  /** Records bodies and messages, too. */
  traffic: Traffic | null = null;
  readonly #budget = new TextBudget();
  #dropped = 0;
  #withoutHeaders = 0;

  constructor(connection: Connection, options: { since: Date; isOwnSession: (sessionId: string | undefined) => boolean }) {
    this.#connection = connection;
    this.#since = options.since;
    this.#isOwnSession = options.isOwnSession;
    const ifOwnSession =
      <P>(act: (params: P, sessionId: string) => void) =>
      (params: P, sessionId: string | undefined): void => {
        if (sessionId !== undefined && this.#isOwnSession(sessionId)) act(params, sessionId);
      };
    this.#undo.push(
      connection.on(
        'Network.requestWillBeSent',
        ifOwnSession((event: Protocol.Network.RequestWillBeSentEvent, from) => this.#onRequest(event, from)),
      ),
      connection.on(
        'Network.requestWillBeSentExtraInfo',
        ifOwnSession((event: Protocol.Network.RequestWillBeSentExtraInfoEvent, from) => this.#onRequestExtra(event, from)),
      ),
      connection.on(
        'Network.responseReceivedExtraInfo',
        ifOwnSession((event: Protocol.Network.ResponseReceivedExtraInfoEvent, from) => this.#onResponseExtra(event, from)),
      ),
      connection.on(
        'Network.responseReceived',
        ifOwnSession((event: Protocol.Network.ResponseReceivedEvent, from) => this.#onResponse(event, from)),
      ),
      connection.on(
        'Network.loadingFinished',
        ifOwnSession((event: Protocol.Network.LoadingFinishedEvent, from) => this.#onFinished(event, from)),
      ),
      connection.on(
        'Network.loadingFailed',
        ifOwnSession((event: Protocol.Network.LoadingFailedEvent, from) => this.#onFailed(event, from)),
      ),
      connection.on(
        'Network.dataReceived',
        ifOwnSession((event: Protocol.Network.DataReceivedEvent, from) => this.#onData(event, from)),
      ),
    );
  }

  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
    this.#pending.clear();
  }

  bytes(): NetworkBytes {
    let pending = 0;
    for (const entry of this.#pending.values()) pending += entry.wireBytes;
    return { in: this.#bytes.in + pending, out: this.#bytes.out };
  }

  /** Whether a script waits for a response that is to end: the page may be about to change. */
  get hasScriptRequests(): boolean {
    for (const { resourceType, mimeType } of this.#pending.values())
      if (scriptRequestTypes.has(resourceType) && !endlessMedia.has(mimeType.toLowerCase())) return true;
    return false;
  }

  /** Resolves with true when no script waits for a response, with false after `withinMs`. */
  async waitForScriptRequests(withinMs: number): Promise<boolean> {
    if (!this.hasScriptRequests) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const check = (): void => {
      if (!this.hasScriptRequests) resolve(true);
    };
    this.#finishListeners.add(check);
    return orAfter(promise, withinMs, false).finally(() => this.#finishListeners.delete(check));
  }

  entries(): NetworkEntries {
    const unfinished = [...this.#pending.values()].map((entry) => ({ ...entry, error: 'unfinished' }));
    const entries = [...this.#entries, ...unfinished, ...(this.traffic?.sockets() ?? [])].sort(
      (left, right) => left.startedAt.getTime() - right.startedAt.getTime(),
    );
    return { since: this.#since, entries, dropped: this.#dropped, withoutHeaders: this.#withoutHeaders };
  }

  /** Records a response whose body was taken out of the browser, which only reports such a request as aborted. */
  recordTakenBody(
    sessionId: string,
    { networkId = '', responseStatusCode = 0, responseStatusText = '', responseHeaders = [] }: Protocol.Fetch.RequestPausedEvent,
    bodyBytes: number,
  ): void {
    const entry = this.#pending.get(keyOf(sessionId, networkId));
    if (!entry) return;
    const headers = Object.fromEntries(responseHeaders.map(({ name, value }) => [name, value]));
    this.#setHeaders(entry, 'responseHeaders', headers);
    const headBytes = responseHeaders.reduce((sum, { name, value }) => sum + name.length + value.length + 4, 2);
    Object.assign(entry, {
      status: responseStatusCode,
      statusText: cutText(responseStatusText, lineCharsMax),
      mimeType: cutText(responseHeaders.find(({ name }) => name.toLowerCase() === 'content-type')?.value ?? '', lineCharsMax),
      bodyBytes,
      wireBytes: headBytes + bodyBytes,
      isBodyTaken: true,
    } satisfies Partial<Pending>);
  }

  #onRequest(event: Protocol.Network.RequestWillBeSentEvent, from: string): void {
    const key = keyOf(from, event.requestId);
    const before = this.#pending.get(key);
    // A redirect continues under the same id: the entry before it ends with the redirect response.
    if (before && event.redirectResponse) {
      this.#applyResponse(before, event.redirectResponse, event.timestamp * 1000);
      if (!before.isOnlyCounted) before.redirectUrl = cutText(event.request.url, urlCharsMax);
      this.#budget.add(before.redirectUrl.length);
      this.#finish(key, before, { atMs: event.timestamp * 1000, wireBytes: event.redirectResponse.encodedDataLength, error: null });
    }
    if (/^(data|blob|about):/.test(event.request.url)) return;
    if (this.#pending.size >= pendingMax) this.#forgetOldest();
    const pending = toPending(event, this.#budget.hasRoom ? urlCharsMax : lineCharsMax);
    pending.isOnlyCounted = !this.#budget.hasRoom;
    this.#budget.add(pending.url.length);
    const headers = this.#setHeaders(pending, 'requestHeaders', event.request.headers);
    pending.requestBytes = sizeOf(pending, headers);
    pending.details = this.traffic?.begin(event, from) ?? null;
    this.#pending.set(key, pending);
  }

  #onRequestExtra({ requestId, headers }: Protocol.Network.RequestWillBeSentExtraInfoEvent, from: string): void {
    const entry = this.#pending.get(keyOf(from, requestId));
    if (!entry) return;
    entry.requestBytes = sizeOf(entry, this.#setHeaders(entry, 'requestHeaders', headers));
  }

  /** The raw head with its Set-Cookie headers. It may come before or after the response event. */
  #onResponseExtra({ requestId, headers }: Protocol.Network.ResponseReceivedExtraInfoEvent, from: string): void {
    const entry = this.#pending.get(keyOf(from, requestId));
    const cookies = Object.entries(headers).filter(([name]) => /^set-cookie2?$/i.test(name));
    if (entry && cookies.length > 0) this.#setHeaders(entry, 'cookieHeaders', Object.fromEntries(cookies));
  }

  #onResponse({ requestId, response, timestamp }: Protocol.Network.ResponseReceivedEvent, from: string): void {
    const entry = this.#pending.get(keyOf(from, requestId));
    if (!entry) return;
    this.#applyResponse(entry, response, timestamp * 1000);
    if (endlessMedia.has(response.mimeType.toLowerCase())) for (const check of this.#finishListeners) check();
  }

  #onData({ requestId, dataLength, encodedDataLength }: Protocol.Network.DataReceivedEvent, from: string): void {
    const entry = this.#pending.get(keyOf(from, requestId));
    if (!entry) return;
    entry.bodyBytes += dataLength;
    entry.wireBytes += encodedDataLength;
  }

  #onFinished({ requestId, timestamp, encodedDataLength }: Protocol.Network.LoadingFinishedEvent, from: string): void {
    const key = keyOf(from, requestId);
    const entry = this.#pending.get(key);
    if (!entry) return;
    this.#finish(key, entry, { atMs: timestamp * 1000, wireBytes: encodedDataLength, error: null });
    this.traffic?.finish(entry, from);
  }

  #onFailed({ requestId, timestamp, errorText, blockedReason }: Protocol.Network.LoadingFailedEvent, from: string): void {
    const key = keyOf(from, requestId);
    const entry = this.#pending.get(key);
    if (entry)
      this.#finish(key, entry, {
        atMs: timestamp * 1000,
        wireBytes: entry.wireBytes,
        error: entry.isBodyTaken ? null : cutText(blockedReason ?? errorText, lineCharsMax),
      });
  }

  /** Holds the headers as far as they fit, and returns all of them. */
  #setHeaders(entry: Pending, field: HeaderField, headers: Readonly<Record<string, string>>): Record<string, string> {
    const sent = toSentHeaders(headers);
    entry[field] = this.#budget.fit(entry.isOnlyCounted ? {} : sent, entry[field]);
    if (entry[field] !== sent && !entry.hasLostHeaders && !entry.isOnlyCounted) {
      entry.hasLostHeaders = true;
      this.#withoutHeaders += 1;
    }
    return sent;
  }

  #applyResponse(entry: Pending, response: Protocol.Network.Response, atMs: number): void {
    this.#setHeaders(entry, 'responseHeaders', response.headers);
    Object.assign(entry, {
      status: response.status,
      statusText: cutText(response.statusText, lineCharsMax),
      protocol: cutText(response.protocol ?? '', lineCharsMax),
      mimeType: cutText(response.mimeType, lineCharsMax),
      remoteAddress: response.remoteIPAddress === undefined ? null : (this.#connection.gateTraces.remoteAddress(response.url)?.ip ?? null),
      fromCache: response.fromDiskCache === true || response.fromPrefetchCache === true,
      fromServiceWorker: response.fromServiceWorker === true,
      responseMs: atMs,
    } satisfies Partial<Pending>);
    if (response.timing) entry.timings = timingsOf(response.timing);
    else entry.timings = { ...emptyTimings, waitMs: Math.max(0, atMs - entry.startedMs) };
  }

  #finish(key: string, entry: Pending, { atMs, wireBytes, error }: { atMs: number; wireBytes: number; error: string | null }): void {
    this.#pending.delete(key);
    for (const check of this.#finishListeners) check();
    const { startedMs, responseMs, isBodyTaken: _, cookieHeaders, isOnlyCounted, hasLostHeaders: __, ...rest } = entry;
    const receiveMs = responseMs === null ? 0 : Math.max(0, atMs - responseMs);
    this.#bytes.in += wireBytes;
    this.#bytes.out += entry.fromCache || entry.fromServiceWorker ? 0 : entry.requestBytes;
    if (isOnlyCounted || this.#entries.length >= entriesMax) return this.#drop(entry);
    const responseHeaders = { ...rest.responseHeaders, ...cookieHeaders };
    this.#entries.push({
      ...rest,
      responseHeaders,
      wireBytes,
      error,
      totalMs: Math.max(0, atMs - startedMs),
      timings: { ...rest.timings, receiveMs },
    });
  }

  #forgetOldest(): void {
    const [oldest] = this.#pending;
    if (oldest === undefined) return;
    this.#pending.delete(oldest[0]);
    this.#drop(oldest[1]);
  }

  #drop(entry: Pending): void {
    this.#dropped += 1;
    if (entry.hasLostHeaders) this.#withoutHeaders -= 1;
    const headerChars = charsOf(entry.requestHeaders) + charsOf(entry.responseHeaders) + charsOf(entry.cookieHeaders);
    this.#budget.add(-entry.url.length - entry.redirectUrl.length - headerChars);
  }
}

const keyOf = (sessionId: string, requestId: string): string => `${sessionId} ${requestId}`;

function toPending({ requestId, request, timestamp, wallTime, type }: Protocol.Network.RequestWillBeSentEvent, charsMax: number): Pending {
  const startedAt = new Date(wallTime * 1000);
  const url = cutText(request.url, charsMax);
  return {
    ...createEntry({ requestId, startedAt, method: request.method, url, resourceType: type ?? 'Other' }),
    startedMs: timestamp * 1000,
    responseMs: null,
    isBodyTaken: false,
    cookieHeaders: {},
    isOnlyCounted: false,
    hasLostHeaders: false,
  };
}

function timingsOf(timing: Protocol.Network.ResourceTiming): NetworkEntry['timings'] {
  const between = (start: number, end: number): number => (start < 0 || end < 0 ? -1 : Math.max(0, end - start));
  return {
    blockedMs: Math.max(0, Math.min(...[timing.dnsStart, timing.connectStart, timing.sendStart].filter((at) => at >= 0))),
    dnsMs: between(timing.dnsStart, timing.dnsEnd),
    connectMs: between(timing.connectStart, timing.connectEnd),
    sslMs: between(timing.sslStart, timing.sslEnd),
    sendMs: Math.max(0, between(timing.sendStart, timing.sendEnd)),
    waitMs: Math.max(0, between(timing.sendEnd, timing.receiveHeadersEnd)),
    receiveMs: 0,
  };
}
