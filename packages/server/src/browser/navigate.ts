/** One navigation of one tab, from the order to what has become of it. */
import type { Protocol } from 'devtools-protocol';
import type { NavigationFailure, WaitUntil } from '@berth/contract';
import type { Connection } from './connection.ts';
import { longestTitle, titleOf, type Tab } from './tabs.ts';
import { BrowserGone, NavigationError, TabNotFound, type NavigationOrder, type NavigationOutcome } from './model.ts';
import { CommandTimeout, ProtocolError } from './connection.ts';

/** The gate's own reply to a plain-http request that it could not or would not serve says why in this header. */
export const egressHeader = 'x-berth-egress';
const egressReasons: readonly string[] = ['dns_failed', 'blocked_by_policy', 'connection_refused', 'connection_reset', 'timeout', 'proxy_error'];

export type EgressReason = 'dns_failed' | 'blocked_by_policy' | 'connection_refused' | 'connection_reset' | 'timeout' | 'proxy_error';

/** Settling after a stop is a trip to the page; one that hangs must not hold the answer. */
const stopLimitMs = 1000;
/** The browser's own error page follows its answer within milliseconds; that it does not come is no reason to hold the answer. */
const errorPageLimitMs = 500;
/** The page that is left may be busy with its leave for this long; then its script is ended, for it would hold the tab for ever. */
const leaveLimitMs = 1000;
/** A page whose script was just ended answers within milliseconds, if it ever does. */
const lastAnswerMs = 500;
/** A page that is busy for longer has its title told by the browser process. */
const titleLimitMs = 500;

const failures: readonly (readonly [RegExp, NavigationFailure])[] = [
  [/NAME_NOT_RESOLVED|NAME_RESOLUTION_FAILED|ICANN_NAME_COLLISION|DNS_/, 'dns_failed'],
  [/PROXY|TUNNEL_CONNECTION_FAILED|SOCKS_/, 'proxy_error'],
  [/CERT_|SSL_|TLS_|CLEAR_TEXT_NOT_PERMITTED|ERR_BAD_SSL/, 'tls_error'],
  [/CONNECTION_REFUSED|ADDRESS_UNREACHABLE|ADDRESS_INVALID|CONNECTION_FAILED|INTERNET_DISCONNECTED|NETWORK_UNREACHABLE/, 'connection_refused'],
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
  if (netError === 'net::ERR_ABORTED') return status === 204 || status === 205;
  return netError === 'net::ERR_HTTP_RESPONSE_CODE_FAILURE' || netError === 'net::ERR_INVALID_AUTH_CREDENTIALS';
}

/** Chromium's word for a failed load in ours. An unknown one means that the load ended without arriving. */
export function failureOf(netError: string): NavigationFailure {
  return failures.find(([words]) => words.test(netError))?.[1] ?? 'aborted';
}

export interface NavigationParts {
  connection: Connection;
  tab: Tab;
  egressRefusal?: ((host: string) => EgressReason | null) | undefined;
  /** The session's own settings live in the Network domain, which then stays on. */
  keepNetwork: boolean;
}

/** @throws NavigationError, TabNotFound, BrowserGone, or the signal's reason */
export async function navigate(parts: NavigationParts, order: NavigationOrder, signal: AbortSignal): Promise<NavigationOutcome> {
  const watch = new NavigationWatch(parts, order.waitUntil);
  try {
    return await watch.run(order, signal);
  } finally {
    watch.end();
  }
}

interface MainResponse {
  status: number;
  headers: Record<string, string>;
  url: string;
}

class NavigationWatch {
  readonly #connection: Connection;
  readonly #tab: Tab;
  readonly #egressRefusal: NavigationParts['egressRefusal'];
  readonly #keepNetwork: boolean;
  readonly #waitUntil: WaitUntil;
  readonly #undo: (() => void)[] = [];
  readonly #arrived = Promise.withResolvers<void>();
  readonly #statuses = new Map<string, MainResponse>();
  readonly #reached = new Map<string, Set<string>>();
  /** Documents that were committed since the order, oldest first. The first may be the end of an earlier navigation. */
  readonly #commits: string[] = [];
  /** The error page that the answer named, while it has not moved in. */
  #errorPageId: string | null = null;
  readonly #errorShown = Promise.withResolvers<void>();
  #committedUrl: string | null = null;
  /** The document that the navigation ended in so far; a page may send the browser on before it has loaded. Unknown until the order is answered. */
  #loaderId: string | null = null;

  constructor(parts: NavigationParts, waitUntil: WaitUntil) {
    this.#connection = parts.connection;
    this.#tab = parts.tab;
    this.#egressRefusal = parts.egressRefusal;
    this.#keepNetwork = parts.keepNetwork;
    this.#waitUntil = waitUntil;
    // Nobody may be waiting yet when the tab dies.
    this.#arrived.promise.catch(() => {});
  }

  async run(order: NavigationOrder, signal: AbortSignal): Promise<NavigationOutcome> {
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
      const outcome = answer && this.#judge(answer, order);
      if (typeof outcome === 'object' && outcome !== null) return await this.#withoutPage(outcome);
      if (outcome === 'same_document') return await this.#describe(this.#tab.statusCode);
      await this.#arrived.promise;
      return await this.#conclude();
    } catch (error) {
      throw await this.#explain(error);
    }
  }

  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
    if (this.#tab.gone.signal.aborted) return;
    const { sessionId } = this.#tab;
    void this.#connection.send('Page.setLifecycleEventsEnabled', { enabled: false }, { sessionId }).catch(() => {});
    if (!this.#keepNetwork) void this.#connection.send('Network.disable', undefined, { sessionId }).catch(() => {});
  }

  async #start(order: NavigationOrder): Promise<Protocol.Page.NavigateResponse> {
    await this.#endHungPage();
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

  /** The response where it brought no document, null where a document is awaited. */
  #judge(answer: Protocol.Page.NavigateResponse, order: NavigationOrder): MainResponse | 'same_document' | null {
    const { loaderId, errorText } = answer;
    if (errorText) {
      const response = loaderId === undefined ? undefined : this.#statuses.get(loaderId);
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
        'Network.responseReceived',
        mine((event: Protocol.Network.ResponseReceivedEvent) => this.#onResponse(event)),
      ),
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

  #onResponse({ type, frameId, loaderId, response }: Protocol.Network.ResponseReceivedEvent): void {
    if (type === 'Document' && frameId === this.#tab.id)
      this.#statuses.set(loaderId, { status: response.status, headers: response.headers, url: response.url });
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

  async #withoutPage({ status, url }: MainResponse): Promise<NavigationOutcome> {
    // The tab keeps its document where there was nothing to show; else it is left with the browser's own error page.
    if (status === 204 || status === 205) return this.#describe(status);
    await this.#errorPage();
    this.#tab.statusCode = status;
    return { finalUrl: url, title: '', statusCode: status };
  }

  #conclude(): Promise<NavigationOutcome> {
    const response = this.#loaderId === null ? undefined : this.#statuses.get(this.#loaderId);
    if (response && response.url.startsWith('http:')) {
      const reason = Object.entries(response.headers).find(([name]) => name.toLowerCase() === egressHeader)?.[1];
      if (reason !== undefined && egressReasons.includes(reason))
        throw new NavigationError(reason as EgressReason, null, `The way out of the browser refused or failed: ${reason}.`);
    }
    this.#tab.statusCode = response?.status || null;
    return this.#describe(this.#tab.statusCode);
  }

  async #describe(statusCode: number | null): Promise<NavigationOutcome> {
    const [{ targetInfo }, title] = await Promise.all([this.#connection.send('Target.getTargetInfo', { targetId: this.#tab.id }), this.#askTitle()]);
    // While a document moves in, its tab has no address for a moment.
    if (targetInfo.url === '') return { finalUrl: this.#committedUrl ?? this.#tab.url, title: title ?? '', statusCode };
    this.#tab.title = title ?? titleOf(targetInfo);
    return { finalUrl: targetInfo.url, title: this.#tab.title, statusCode };
  }

  /** The browser process learns a title a little after the page has loaded, so the page is asked; null where its scripts hang. */
  async #askTitle(): Promise<string | null> {
    const { sessionId } = this.#tab;
    try {
      const { result } = await this.#connection.send(
        'Runtime.evaluate',
        { expression: 'document.title', returnByValue: true },
        { sessionId, timeoutMs: titleLimitMs },
      );
      return typeof result.value === 'string' ? result.value.slice(0, longestTitle) : null;
    } catch (error) {
      if (error instanceof BrowserGone) throw error;
      return null;
    }
  }

  /**
   * A page whose script never returns lets no other of its site into its
   * process. Once a navigation is under way the browser holds back what is sent
   * to the page, so this is asked before.
   */
  async #endHungPage(): Promise<void> {
    if (this.#tab.status === 'crashed' || (await this.#pageAnswers(leaveLimitMs))) return;
    const { sessionId } = this.#tab;
    // Neither is waited for: what they come to is asked next, and all of it counts against the caller's time.
    void this.#connection.send('Page.stopLoading', undefined, { sessionId, timeoutMs: leaveLimitMs }).catch(() => {});
    void this.#connection.send('Runtime.terminateExecution', undefined, { sessionId, timeoutMs: leaveLimitMs }).catch(() => {});
    // One that only goes on with its next loop is given up with its process; the tab stays.
    if (!(await this.#pageAnswers(lastAnswerMs))) await this.#crashPage();
  }

  async #crashPage(): Promise<void> {
    const { sessionId } = this.#tab;
    const { promise: crashed, resolve } = Promise.withResolvers<void>();
    this.#undo.push(this.#connection.on('Inspector.targetCrashed', (_, from) => from === sessionId && resolve()));
    // It never answers its own end.
    const asked = this.#connection.send('Page.crash', undefined, { sessionId, timeoutMs: lastAnswerMs }).catch(() => {});
    await Promise.race([crashed, asked]);
  }

  /** A page that moves on by itself lets nobody ask, and does not hang: its moves are answer enough. */
  async #pageAnswers(withinMs: number): Promise<boolean> {
    const { sessionId } = this.#tab;
    const moved = Promise.withResolvers<true>();
    const ignore = this.#connection.on('Page.frameNavigated', ({ frame }, from) => from === sessionId && frame.parentId === undefined && moved.resolve(true));
    const asked = this.#connection.send('Runtime.evaluate', { expression: '0' }, { sessionId, timeoutMs: withinMs });
    const answered = asked.then(
      () => true,
      (error: unknown) => !(error instanceof CommandTimeout),
    );
    return Promise.race([answered, moved.promise]).finally(ignore);
  }

  /** An error page that moves in after the answer would interrupt what the caller does next. */
  async #errorPage(): Promise<void> {
    if (this.#errorPageId === null) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, errorPageLimitMs);
    await Promise.race([this.#errorShown.promise, this.#arrived.promise, late]).catch(() => {});
    clearTimeout(timer);
  }

  async #explain(error: unknown): Promise<unknown> {
    const { gone, sessionId } = this.#tab;
    await this.#errorPage();
    if (gone.signal.aborted) return gone.signal.reason;
    if (error instanceof BrowserGone || error instanceof TabNotFound) return error;
    if (error instanceof NavigationError && error.reason !== 'timeout') return error;
    if (error instanceof ProtocolError) {
      if (error.code === -32001) return new TabNotFound('the tab is closed');
      return new NavigationError(this.#tab.status === 'crashed' ? 'page_crashed' : 'aborted', null, 'The browser did not take the address.');
    }
    await this.#connection.send('Page.stopLoading', undefined, { sessionId, timeoutMs: stopLimitMs }).catch(() => {});
    return error instanceof CommandTimeout ? timeoutError(null) : error;
  }
}

const timeoutError = (ms: number | null): NavigationError =>
  new NavigationError('timeout', null, ms === null ? 'The page did not load in time.' : `The page did not load within ${ms} ms.`);
