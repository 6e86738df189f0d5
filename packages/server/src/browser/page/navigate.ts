/** One navigation of one tab, from the order to what has become of it. */
import type { Protocol } from 'devtools-protocol';
import type { NavigationFailure, WaitUntil } from '@berth/contract';
import { answerLimitMs, CommandTimeout, ProtocolError, type Connection } from '../cdp/connection.ts';
import { DocumentTrail, type MainResponse } from '../network/document-trail.ts';
import { endHungPage } from '../cdp/hung-page.ts';
import { longestTitle, titleOf, type Tab } from '../tabs/tab.ts';
import { BrowserGone, NavigationError, TabNotFound, type NavigationOrder, type NavigationOutcome } from '../model.ts';
import { Deadline } from './session.ts';

/** The gate's own reply to a plain-http request that it could not or would not serve says why in this header. */
export const egressHeader = 'x-berth-egress';
const egressReasons: readonly string[] = [
  'dns_failed',
  'blocked_by_policy',
  'connection_refused',
  'connection_reset',
  'timeout',
  'proxy_error',
];

export type EgressReason = 'dns_failed' | 'blocked_by_policy' | 'connection_refused' | 'connection_reset' | 'timeout' | 'proxy_error';

/** Settling after a stop is a trip to the page; one that hangs must not hold the answer. */
const stopLimitMs = 1000;
/** The head of a reply follows within milliseconds, by another way. */
const headLimitMs = 250;
/** The browser's own error page follows its answer within milliseconds; that it does not come is no reason to hold the answer. */
const errorPageLimitMs = 1500;
/** A page that is busy for longer has its title told by the browser process. */
const titleLimitMs = 500;

const failures: readonly (readonly [RegExp, NavigationFailure])[] = [
  [/NAME_NOT_RESOLVED|NAME_RESOLUTION_FAILED|ICANN_NAME_COLLISION|DNS_/, 'dns_failed'],
  [/PROXY|TUNNEL_CONNECTION_FAILED|SOCKS_/, 'proxy_error'],
  [/CERT_|SSL_|TLS_|CLEAR_TEXT_NOT_PERMITTED|ERR_BAD_SSL/, 'tls_error'],
  [
    /CONNECTION_REFUSED|ADDRESS_UNREACHABLE|ADDRESS_INVALID|CONNECTION_FAILED|INTERNET_DISCONNECTED|NETWORK_UNREACHABLE/,
    'connection_refused',
  ],
  [/TIMED_OUT/, 'timeout'],
  [/TOO_MANY_REDIRECTS/, 'too_many_redirects'],
  [/BLOCKED_BY|ERR_UNSAFE_PORT|ERR_UNSAFE_REDIRECT|DISALLOWED_URL_SCHEME|ACCESS_DENIED|NETWORK_ACCESS/, 'blocked_by_policy'],
  [
    /CONNECTION_|EMPTY_RESPONSE|NETWORK_CHANGED|HTTP2_|QUIC_|CONTENT_LENGTH_MISMATCH|INCOMPLETE|INVALID_(HTTP_)?RESPONSE|RESPONSE_HEADERS|NETWORK_IO/,
    'connection_reset',
  ],
];

const lifecycleNames = { load: 'load', domcontentloaded: 'DOMContentLoaded', networkidle: 'networkIdle' } as const;

/** Truthful answers of a server that Chromium shows no document for: nothing to show, an error without a body, a refused login. */
function answersWithoutPage(netError: string, status: number): boolean {
  if (netError === 'net::ERR_ABORTED') return hasNoDocument(status);
  return netError === 'net::ERR_HTTP_RESPONSE_CODE_FAILURE' || netError === 'net::ERR_INVALID_AUTH_CREDENTIALS';
}

const hasNoDocument = (status: number): boolean => status === 204 || status === 205 || status === 304;

/** Chromium's word for a failed load in ours. An unknown one means that the load ended without arriving. */
export function failureOf(netError: string): NavigationFailure {
  return failures.find(([words]) => words.test(netError))?.[1] ?? 'aborted';
}

export interface NavigationParts {
  connection: Connection;
  tab: Tab;
  egressRefusal?: ((host: string) => EgressReason | null) | undefined;
  /** Whether the Network domain stays on afterwards: settings live in it, and listeners. */
  keepsNetwork: () => boolean;
  /** Whether the caller reads title and address from the page itself, so that they need not be asked for. */
  readsPage?: boolean | undefined;
  /** Who looks on; the navigation has its own otherwise. */
  trail?: DocumentTrail | undefined;
}

/** @throws NavigationError, TabNotFound, BrowserGone, or the signal's reason */
export async function navigate(parts: NavigationParts, order: NavigationOrder, signal: AbortSignal): Promise<NavigationOutcome> {
  const watch = new NavigationWatch(parts, order.waitUntil, new Deadline({ signal, timeoutMs: order.timeoutMs }));
  try {
    return await watch.run(order);
  } finally {
    watch.end();
  }
}

class NavigationWatch {
  readonly #connection: Connection;
  readonly #tab: Tab;
  readonly #egressRefusal: NavigationParts['egressRefusal'];
  readonly #keepsNetwork: () => boolean;
  readonly #trail: DocumentTrail;
  readonly #readsPage: boolean;
  readonly #waitUntil: WaitUntil;
  readonly #by: Deadline;
  readonly #undo: (() => void)[] = [];
  readonly #arrived = Promise.withResolvers<void>();
  readonly #reached = new Map<string, Set<string>>();
  /** Documents that were committed since the order, oldest first. The first may be the end of an earlier navigation. */
  readonly #commits: string[] = [];
  /** The error page that the answer named, while it has not moved in. */
  #errorPageId: string | null = null;
  readonly #errorShown = Promise.withResolvers<void>();
  #committedUrl: string | null = null;
  /** The document that the navigation ended in so far; a page may send the browser on before it has loaded. Unknown until the order is answered. */
  #loaderId: string | null = null;

  constructor(parts: NavigationParts, waitUntil: WaitUntil, by: Deadline) {
    this.#connection = parts.connection;
    this.#tab = parts.tab;
    this.#egressRefusal = parts.egressRefusal;
    this.#keepsNetwork = parts.keepsNetwork;
    this.#trail = parts.trail ?? new DocumentTrail(parts.connection, parts.tab);
    this.#readsPage = parts.readsPage === true;
    if (!parts.trail) this.#undo.push(() => this.#trail.end());
    this.#waitUntil = waitUntil;
    this.#by = by;
    // Nobody may be waiting yet when the tab dies.
    this.#arrived.promise.catch(() => {});
  }

  async run(order: NavigationOrder): Promise<NavigationOutcome> {
    const { signal } = this.#by;
    const timer = setTimeout(() => this.#arrived.reject(timeoutError(order.timeoutMs)), order.timeoutMs);
    const onAbort = (): void => this.#arrived.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#undo.push(
      () => clearTimeout(timer),
      () => signal.removeEventListener('abort', onAbort),
    );
    if (signal.aborted) onAbort();
    try {
      const answer = await Promise.race([this.#start(order), this.#arrived.promise.then(() => null)]);
      if (answer) await this.#awaitHead(answer);
      const outcome = answer && this.#judge(answer, order);
      if (typeof outcome === 'object' && outcome !== null) return await this.#withoutPage(outcome);
      if (outcome === 'same_document') return await this.#describe(undefined, this.#tab.statusCode);
      await this.#arrived.promise;
      return await this.#conclude();
    } catch (error) {
      throw await this.#explain(error);
    }
  }

  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
    // A page that was made for one visit is not put in order after it.
    if (this.#tab.gone.signal.aborted || this.#tab.isPrivate) return;
    const { sessionId } = this.#tab;
    void this.#connection.send('Page.setLifecycleEventsEnabled', { enabled: false }, { sessionId }).catch(() => {});
    if (!this.#keepsNetwork()) void this.#connection.send('Network.disable', undefined, { sessionId }).catch(() => {});
  }

  async #start(order: NavigationOrder): Promise<Protocol.Page.NavigateResponse> {
    // A tab that has shown nothing yet cannot hang; a browser that is busy with another may be slow to answer for it.
    if (this.#tab.url !== 'about:blank' || this.#tab.openerId !== null) await endHungPage(this.#connection, this.#tab, this.#by.leftMs);
    this.#watchTab();
    const { sessionId } = this.#tab;
    const to = { sessionId, timeoutMs: order.timeoutMs + stopLimitMs };
    // One trip for all: the answers of the first two say nothing that the third would not.
    void this.#connection.send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }, to).catch(() => {});
    void this.#connection.send('Page.setLifecycleEventsEnabled', { enabled: true }, to).catch(() => {});
    const wasCrashed = this.#tab.status === 'crashed';
    const answer = await this.#connection.send(
      'Page.navigate',
      order.referer === undefined ? { url: order.url } : { url: order.url, referrer: order.referer },
      to,
    );
    // A process that takes the place of a dead one has not heard it; told again, it tells again what was reached.
    if (wasCrashed) void this.#connection.send('Page.setLifecycleEventsEnabled', { enabled: true }, to).catch(() => {});
    return answer;
  }

  /** An aborted load may be an answer without a document. */
  async #awaitHead({ errorText, loaderId }: Protocol.Page.NavigateResponse): Promise<void> {
    if (errorText !== 'net::ERR_ABORTED' || loaderId === undefined) return;
    await Promise.race([this.#trail.head(loaderId, this.#within(headLimitMs)), this.#arrived.promise]);
  }

  /** The response where it brought no document, null where a document is awaited. */
  #judge(answer: Protocol.Page.NavigateResponse, order: NavigationOrder): MainResponse | 'same_document' | null {
    const { loaderId, errorText } = answer;
    if (errorText) {
      const response = loaderId === undefined ? undefined : this.#trail.of(loaderId);
      if (errorText !== 'net::ERR_ABORTED' && loaderId !== undefined && !this.#commits.includes(loaderId)) this.#errorPageId = loaderId;
      if (response && answersWithoutPage(errorText, response.status)) return response;
      throw this.#failure(errorText, order.url);
    }
    if (answer.isDownload) throw new NavigationError('aborted', 'net::ERR_ABORTED', 'The address is a download and not a page.');
    if (loaderId === undefined) return 'same_document';
    this.#loaderId = this.#commits.includes(loaderId) ? (this.#commits.at(-1) ?? loaderId) : loaderId;
    this.#check();
    return null;
  }

  #failure(netError: string, address: string): NavigationError {
    const refused = netError.includes('TUNNEL_CONNECTION_FAILED') ? this.#egressRefusal?.(new URL(address).hostname) : null;
    return new NavigationError(refused ?? failureOf(netError), netError, `The page could not be loaded: ${netError}.`);
  }

  #watchTab(): void {
    const { sessionId, gone } = this.#tab;
    const mine =
      <P>(act: (params: P) => void) =>
      (params: P, from: string | undefined): void => {
        if (from === sessionId) act(params);
      };
    const onGone = (): void => this.#arrived.reject(gone.signal.reason);
    gone.signal.addEventListener('abort', onGone, { once: true });
    if (gone.signal.aborted) onGone();
    this.#undo.push(
      () => gone.signal.removeEventListener('abort', onGone),
      this.#connection.on(
        'Page.frameNavigated',
        mine(({ frame }: Protocol.Page.FrameNavigatedEvent) => this.#onCommit(frame)),
      ),
      this.#connection.on(
        'Page.lifecycleEvent',
        mine((event: Protocol.Page.LifecycleEventEvent) => this.#onLifecycle(event)),
      ),
      this.#connection.on(
        'Inspector.targetCrashed',
        mine(() => this.#arrived.reject(new NavigationError('page_crashed', null, 'The page crashed while it was loading.'))),
      ),
    );
  }

  #onCommit(frame: Protocol.Page.Frame): void {
    if (frame.parentId !== undefined) return;
    this.#commits.push(frame.loaderId);
    if (frame.loaderId === this.#errorPageId) this.#errorShown.resolve();
    this.#committedUrl = frame.url + (frame.urlFragment ?? '');
    // What is committed before our own document belongs to a navigation before ours.
    if (this.#loaderId !== null && this.#commits.includes(this.#loaderId)) this.#loaderId = frame.loaderId;
    this.#check();
  }

  #onLifecycle({ frameId, loaderId, name }: Protocol.Page.LifecycleEventEvent): void {
    if (frameId !== this.#tab.id) return;
    const names = this.#reached.get(loaderId) ?? new Set();
    this.#reached.set(loaderId, names.add(name));
    this.#check();
  }

  #check(): void {
    if (this.#loaderId === null) return;
    // A page that comes in a fresh process, after a crash, may be there before its events are on: then only those that are told again show it.
    if (!this.#commits.includes(this.#loaderId) && !this.#reached.has(this.#loaderId)) return;
    if (this.#waitUntil === 'commit' || this.#reached.get(this.#loaderId)?.has(lifecycleNames[this.#waitUntil])) this.#arrived.resolve();
  }

  async #withoutPage(response: MainResponse): Promise<NavigationOutcome> {
    const { status, url } = response;
    // The tab keeps its document where there was nothing to show; else it is left with the browser's own error page.
    if (hasNoDocument(status)) return this.#describe(response, status);
    await this.#errorPage();
    this.#tab.statusCode = status;
    return { ...factsOf(response), finalUrl: url, title: '', statusCode: status };
  }

  #conclude(): Promise<NavigationOutcome> {
    const response = this.#trail.of(this.#loaderId);
    if (response && response.url.startsWith('http:')) {
      const reason = response.headers[egressHeader];
      if (reason !== undefined && egressReasons.includes(reason))
        throw new NavigationError(reason as EgressReason, null, `The way out of the browser refused or failed: ${reason}.`);
    }
    this.#tab.statusCode = response?.status || null;
    return this.#describe(response, this.#tab.statusCode);
  }

  async #describe(response: MainResponse | undefined, statusCode: number | null): Promise<NavigationOutcome> {
    if (this.#readsPage) return { ...factsOf(response), finalUrl: this.#committedUrl ?? this.#tab.url, title: this.#tab.title, statusCode };
    const asked = this.#connection.send('Target.getTargetInfo', { targetId: this.#tab.id }, { timeoutMs: this.#within(answerLimitMs) });
    const [{ targetInfo }, title] = await Promise.all([asked, this.#askTitle()]);
    // While a document moves in, its tab has no address for a moment.
    if (targetInfo.url === '')
      return { ...factsOf(response), finalUrl: this.#committedUrl ?? this.#tab.url, title: title ?? '', statusCode };
    this.#tab.title = title ?? titleOf(targetInfo);
    return { ...factsOf(response), finalUrl: targetInfo.url, title: this.#tab.title, statusCode };
  }

  /** The browser process learns a title a little after the page has loaded, so the page is asked; null where its scripts hang. */
  async #askTitle(): Promise<string | null> {
    const { sessionId } = this.#tab;
    try {
      const { result } = await this.#connection.send(
        'Runtime.evaluate',
        { expression: 'document.title', returnByValue: true },
        { sessionId, timeoutMs: this.#within(titleLimitMs) },
      );
      return typeof result.value === 'string' ? result.value.slice(0, longestTitle) : null;
    } catch (error) {
      if (error instanceof BrowserGone) throw error;
      return null;
    }
  }

  /** An error page that moves in after the answer would interrupt what the caller does next. */
  async #errorPage(): Promise<void> {
    if (this.#errorPageId === null) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#within(errorPageLimitMs));
    await Promise.race([this.#errorShown.promise, this.#arrived.promise, late]).catch(() => {});
    clearTimeout(timer);
  }

  /** A limit of ours in the caller's time. */
  #within(usualMs: number): number {
    return this.#connection.patience.ms(usualMs, this.#by.leftMs);
  }

  async #explain(error: unknown): Promise<unknown> {
    const { gone, sessionId } = this.#tab;
    await this.#errorPage();
    if (gone.signal.aborted) return gone.signal.reason;
    if (error instanceof BrowserGone || error instanceof TabNotFound) return error;
    if (error instanceof NavigationError && error.reason !== 'timeout') return error;
    if (error instanceof ProtocolError) {
      if (error.code === -32001) return new TabNotFound('the tab is closed');
      return new NavigationError(
        this.#tab.status === 'crashed' ? 'page_crashed' : 'aborted',
        null,
        'The browser did not take the address.',
      );
    }
    await this.#connection.send('Page.stopLoading', undefined, { sessionId, timeoutMs: stopLimitMs }).catch(() => {});
    return error instanceof CommandTimeout ? timeoutError(null) : error;
  }
}

const factsOf = (response: MainResponse | undefined): Pick<NavigationOutcome, 'headers' | 'cookieNames' | 'redirects' | 'ttfbMs'> => ({
  headers: response?.headers ?? {},
  cookieNames: response?.cookieNames ?? [],
  redirects: response?.redirects ?? [],
  ttfbMs: response?.ttfbMs ?? null,
});

const timeoutError = (ms: number | null): NavigationError =>
  new NavigationError('timeout', null, ms === null ? 'The page did not load in time.' : `The page did not load within ${ms} ms.`);
