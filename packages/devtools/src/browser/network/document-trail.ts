/** Network responses of a page's own documents: status, headers, redirects, cookie names. */
import type { Protocol } from 'devtools-protocol';
import { cutText } from '@berth/lib/text/text.ts';
import { orAfter } from '@berth/lib/deadline.ts';
import type { Connection } from '../cdp/connection.ts';
import type { Tab } from '../tabs/tab.ts';

export interface MainResponse {
  status: number;
  /** Names in lower case, without cookies. */
  headers: Readonly<Record<string, string>>;
  cookieNames: readonly string[];
  url: string;
  redirects: readonly { url: string; statusCode: number }[];
  ttfbMs: number | null;
}

interface Request {
  url: string;
  firstAt: number;
  redirects: { url: string; statusCode: number }[];
}

/** Chromium stops at twenty. */
const redirectsMax = 32;
const documentsMax = 64;
/** Maximum characters of a URL, as for tabs. */
const urlCharsMax = 8192;

export class DocumentTrail {
  readonly #tab: Tab;
  readonly #requests = new Map<string, Request>();
  readonly #responses = new Map<string, Omit<MainResponse, 'cookieNames' | 'redirects'>>();
  /** The raw head of the last response: the only event for one without a document. */
  readonly #heads = new Map<string, { status: number; headers: Readonly<Record<string, string>> }>();
  readonly #headListeners = new Map<string, () => void>();
  readonly #undo: (() => void)[];

  constructor(connection: Connection, tab: Tab) {
    this.#tab = tab;
    const ifOwnSession =
      <P>(act: (params: P) => void) =>
      (params: P, from: string | undefined): void => {
        if (from === tab.sessionId) act(params);
      };
    this.#undo = [
      connection.on(
        'Network.requestWillBeSent',
        ifOwnSession((event: Protocol.Network.RequestWillBeSentEvent) => this.#onRequest(event)),
      ),
      connection.on(
        'Network.responseReceived',
        ifOwnSession((event: Protocol.Network.ResponseReceivedEvent) => this.#onResponse(event)),
      ),
      connection.on(
        'Network.responseReceivedExtraInfo',
        ifOwnSession((event: Protocol.Network.ResponseReceivedExtraInfoEvent) => this.#onExtra(event)),
      ),
    ];
  }

  end(): void {
    for (const undo of this.#undo) undo();
  }

  /** The response for a document's loader id; undefined without one. */
  of(loaderId: string | null): MainResponse | undefined {
    if (loaderId === null) return undefined;
    const head = this.#heads.get(loaderId);
    const response = this.#responses.get(loaderId) ?? this.#fromHead(loaderId);
    return (
      response && { ...response, cookieNames: head ? cookieNamesOf(Object.entries(head.headers)) : [], redirects: this.redirects(loaderId) }
    );
  }

  /** Waits for the head of a response without a document: its event is separate and may come after the reply to `Page.navigate`. */
  async head(loaderId: string, withinMs: number): Promise<void> {
    if (this.of(loaderId)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#headListeners.set(loaderId, resolve);
    await orAfter(promise, withinMs);
    this.#headListeners.delete(loaderId);
  }

  redirects(loaderId: string): readonly { url: string; statusCode: number }[] {
    return this.#requests.get(loaderId)?.redirects ?? [];
  }

  #fromHead(loaderId: string): Omit<MainResponse, 'cookieNames' | 'redirects'> | undefined {
    const head = this.#heads.get(loaderId);
    const request = this.#requests.get(loaderId);
    // A redirect is not the final response.
    if (!head || !request || (head.status >= 300 && head.status < 400 && head.status !== 304)) return undefined;
    return { status: head.status, url: request.url, headers: toPlainHeaders(head.headers), ttfbMs: null };
  }

  /** Milliseconds since the first request of a document; `timestamp` is in seconds of the browser's clock. */
  #sinceFirst(loaderId: string, timestamp: number): number | null {
    const request = this.#requests.get(loaderId);
    return request ? Math.max(0, Math.round((timestamp - request.firstAt) * 1000)) : null;
  }

  #onRequest({
    requestId,
    loaderId,
    frameId,
    type,
    redirectResponse,
    timestamp,
    request: { url },
  }: Protocol.Network.RequestWillBeSentEvent): void {
    // A document's request id is its loader id.
    if (type !== 'Document' || frameId !== this.#tab.id || requestId !== loaderId) return;
    const request = this.#requests.get(loaderId) ?? { url: '', firstAt: timestamp, redirects: [] };
    request.url = cutText(url, urlCharsMax);
    if (redirectResponse && request.redirects.length < redirectsMax)
      request.redirects.push({ url: cutText(redirectResponse.url, urlCharsMax), statusCode: redirectResponse.status });
    if (this.#requests.size < documentsMax || this.#requests.has(loaderId)) this.#requests.set(loaderId, request);
  }

  #onResponse({ type, frameId, loaderId, response, timestamp }: Protocol.Network.ResponseReceivedEvent): void {
    if (type !== 'Document' || frameId !== this.#tab.id || this.#responses.size >= documentsMax) return;
    const { status, url } = response;
    this.#responses.set(loaderId, {
      status,
      url: cutText(url, urlCharsMax),
      headers: toPlainHeaders(response.headers),
      ttfbMs: this.#sinceFirst(loaderId, timestamp),
    });
  }

  #onExtra({ requestId, headers, statusCode }: Protocol.Network.ResponseReceivedExtraInfoEvent): void {
    if (!this.#requests.has(requestId)) return;
    this.#heads.set(requestId, { status: statusCode, headers });
    if (this.of(requestId)) this.#headListeners.get(requestId)?.();
  }
}

/** Lower-case names, without Set-Cookie. */
export function toPlainHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const pairs = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.replaceAll('\n', ', ')] as const);
  return Object.fromEntries(pairs.filter(([name]) => name !== 'set-cookie' && name !== 'set-cookie2'));
}

/** The names of the cookies, without the values, which are confidential. One header may hold several cookies, one a line. */
export const cookieNamesOf = (headers: Iterable<readonly [string, string]>): string[] =>
  [...headers]
    .filter(([name]) => name.toLowerCase() === 'set-cookie')
    .flatMap(([, value]) => value.split('\n'))
    .map((line) => line.slice(0, Math.max(0, line.indexOf('='))).trim())
    .filter(Boolean);
