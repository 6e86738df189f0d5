/** A private page: alone in its browser context, with main responses paused for inspection. */
import type { StorageState } from '@berth/contract';
import type { Protocol } from 'devtools-protocol';
import { cutText } from '@berth/lib/text/text.ts';
import { systemClock } from '@berth/lib/clock.ts';
import { orAbort, whenAborted } from '@berth/lib/or-abort.ts';
import { orAfter } from '@berth/lib/deadline.ts';
import { CommandTimeoutError, ProtocolError, type Connection } from '../cdp/connection.ts';
import { DocumentTrail, cookieNamesOf, toPlainHeaders } from '../network/document-trail.ts';
import { toHeaderSettings } from '../network/header-settings.ts';
import { NavigationError, type NavigationResult } from '../interface.ts';
import { documentKind, hasBody, isAttachment, isLikelyHtml, isSaved, isWithheld } from './navigation/document-kind.ts';
import { navigate } from './navigation/navigate.ts';
import { NetworkLog } from '../network/network-log.ts';
import { PageObservation } from './observation/observation.ts';
import type { Page } from './page.ts';
import type {
  CapturedBody,
  CookieParam,
  LoadRequest,
  LoadResult,
  NetworkBytes,
  NetworkEntries,
  Observation,
  PrivatePage,
  PrivateSettings,
  SiteCookie,
  TrafficLimits,
} from './private-model.ts';
import { readCookies, setCookies, writeStorageState } from '../storage/storage.ts';
import { titleCharsMax, type Tab } from '../tabs/tab.ts';
import type { Tabs } from '../tabs/tabs.ts';

type Paused = Protocol.Fetch.RequestPausedEvent;

/** Size of one read of a body. */
const pieceBytes = 1024 * 1024;
/** The browser replies to commands about a paused response at once. */
const takeTimeoutMs = 5000;
/** Share of a load's timeout for reading a body; what has arrived by then is returned. */
const bodyTimeShare = 0.9;
const titleTimeoutMs = 500;
/** Share of a load's timeout for reading the title afterwards. */
const titleTimeShare = 0.1;
const errorPageTimeoutMs = 2000;

interface PrivatePageDeps {
  connection: Connection;
  tabs: Tabs;
  tab: Tab;
  page: Page;
  now: () => Date;
}

export class FetchedPage implements PrivatePage {
  readonly page: Page;
  readonly #deps: PrivatePageDeps;
  readonly #log: NetworkLog;
  readonly #trail: DocumentTrail;
  readonly #watch: { enabled: Promise<void>; undo: () => void };
  #wholeNetwork = false;
  /** The running load, its deadline for reading a body, and an abort for a response that is not a page. */
  #loading: (LoadRequest & { readByMs: number; noPage: AbortController }) | null = null;
  /** The body of the current document, if it is to be retained. */
  #documentBody: CapturedBody | null = null;
  /** The response in place of a document. */
  #captured: Captured | null = null;
  #lastRequestId: string | null = null;
  #referer: string | undefined;
  /** URL of the document that the running load has shown. */
  #shownUrl: string | null = null;
  #closing: Promise<void> | null = null;
  #observation: PageObservation | null = null;
  readonly #isOwnSession: (sessionId: string | undefined) => boolean;

  constructor(deps: PrivatePageDeps) {
    this.#deps = deps;
    this.page = deps.page;
    const { connection, tabs, tab } = deps;
    this.#isOwnSession = (sessionId) => sessionId === tab.sessionId || (this.#wholeNetwork && isOfPage(tabs.sessions.of(sessionId), tab));
    this.#log = new NetworkLog(connection, { since: deps.now(), isOwnSession: this.#isOwnSession });
    this.#trail = new DocumentTrail(connection, tab);
    this.#watch = tabs.network.watch(tab);
  }

  async prepare(
    { blockResources, extraHeaders, cookies, wholeNetwork }: PrivateSettings,
    { signal }: { signal: AbortSignal },
  ): Promise<void> {
    const { connection, tabs, tab } = this.#deps;
    this.#wholeNetwork = wholeNetwork;
    tab.onPausedDocument = (paused) => void this.#onDocument(paused).catch(() => this.#continueResponse(paused));
    const own = toHeaderSettings(extraHeaders);
    const userAgent = own.userAgent ?? tabs.settings.ofSession.userAgent;
    this.#referer = own.referer;
    const settings = {
      ...tabs.settings.ofSession,
      blockResources,
      extraHeaders: own.extraHeaders,
      userAgent,
      keepNetworkLog: wholeNetwork,
    };
    const isDefault =
      tab.isPrivate &&
      blockResources.length === 0 &&
      Object.keys(own.extraHeaders).length === 0 &&
      own.userAgent === undefined &&
      !wholeNetwork;
    const apply = (): Promise<void> =>
      tab.isPrivate ? tabs.settings.applyPrivate(tab, settings) : tabs.settings.applyBorrowed(tab, settings);
    await orAbort(
      Promise.all([isDefault ? undefined : apply(), setCookies(connection, tab.contextId, cookies, signal), this.#watch.enabled]),
      signal,
    );
  }

  async load(request: LoadRequest, { signal }: { signal: AbortSignal }): Promise<LoadResult> {
    const { connection, tabs, tab } = this.#deps;
    const trail = this.#trail;
    this.#captured = null;
    this.#documentBody = null;
    this.#lastRequestId = null;
    this.#shownUrl = null;
    const noPage = new AbortController();
    this.#loading = { ...request, noPage, readByMs: systemClock.monotonicMs() + request.timeoutMs * bodyTimeShare };
    try {
      const result = await navigate(
        { connection, tab, shouldKeepNetwork: () => tabs.network.isNeeded(tab), trail, readsPage: request.readsPage },
        { ...request, referer: request.referer ?? this.#referer ?? tab.referer ?? tabs.settings.of(tab).referer },
        AbortSignal.any([signal, noPage.signal]),
      );
      // A client-side redirect may have led to a response that is not a page.
      if (this.#captured) return await this.#capturedResult(this.#captured);
      // Without content the tab is not at the requested URL.
      if ((result.statusCode ?? 0) >= 400 && result.title === '') await this.#clearErrorPage();
      const response = hasBody(result.statusCode ?? 0) ? undefined : this.#trail.of(this.#lastRequestId);
      return loaded(response ? { ...result, finalUrl: response.url, title: '' } : result, null);
    } catch (error) {
      if (this.#captured) return await this.#capturedResult(this.#captured);
      const partial = error instanceof NavigationError && error.reason === 'timeout' ? await this.#partialResult(request) : null;
      if (!partial) throw error;
      return partial;
    } finally {
      this.#loading = null;
    }
  }

  cookies({ signal }: { signal: AbortSignal }): Promise<SiteCookie[]> {
    return readCookies(this.#deps.connection, this.#deps.tab.contextId, signal);
  }

  setCookies(cookies: readonly CookieParam[], { signal }: { signal: AbortSignal }): Promise<void> {
    return setCookies(this.#deps.connection, this.#deps.tab.contextId, cookies, signal);
  }

  setStorageState(state: StorageState, { signal }: { signal: AbortSignal }): Promise<void> {
    const { connection, tabs, tab } = this.#deps;
    const pauseRequests = (of: Tab): Promise<void> => tabs.settings.pauseRequests(of);
    return writeStorageState({ connection, tabs: [tab], page: () => this.page, pauseRequests }, state, signal);
  }

  async observe(limits: TrafficLimits, { signal }: { signal: AbortSignal }): Promise<Observation> {
    const { connection, tab } = this.#deps;
    this.#observation = new PageObservation({ connection, tab, log: this.#log, isOwnSession: this.#isOwnSession, limits });
    await this.#observation.start({ signal });
    return this.#observation;
  }

  waitForScriptRequests(withinMs: number): Promise<boolean> {
    return this.#log.waitForScriptRequests(withinMs);
  }

  async waitForReplacement(withinMs: number): Promise<void> {
    const { connection, tab } = this.#deps;
    const { promise, resolve } = Promise.withResolvers<void>();
    let isReplaced = false;
    const isOwn = (frameId: string, from: string | undefined): boolean => frameId === tab.id && from === tab.sessionId;
    const undo = [
      connection.on('Page.frameNavigated', ({ frame }, from) => void (isReplaced ||= isOwn(frame.id, from))),
      connection.on('Page.frameStoppedLoading', ({ frameId }, from) => isReplaced && isOwn(frameId, from) && resolve()),
    ];
    await orAfter(Promise.race([promise, whenAborted(tab.closed.signal)]), withinMs);
    for (const each of undo) each();
  }

  response(): Pick<NavigationResult, 'headers' | 'cookieNames' | 'redirects'> | null {
    return this.#trail.of(this.#lastRequestId) ?? null;
  }

  bytes(): NetworkBytes {
    return this.#log.bytes();
  }

  network(): NetworkEntries {
    return this.#log.entries();
  }

  async documentBody({ signal, maxBytes }: { signal: AbortSignal; maxBytes: number }): Promise<CapturedBody | null> {
    if (this.#captured) return this.#captured.body;
    if (this.#documentBody === null) return null;
    signal.throwIfAborted();
    const { data, truncated } = this.#documentBody;
    return { data: data.subarray(0, maxBytes), truncated: truncated || data.length > maxBytes };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { tabs, tab } = this.#deps;
    this.#observation?.end();
    this.#log.end();
    this.#trail.end();
    this.#watch.undo();
    tab.onPausedDocument = null;
    if (!tab.isPrivate) await tabs.settings.endBorrowed(tab);
    else if (tab.contextId !== undefined) await tabs.closePrivate(tab.contextId);
  }

  async #onDocument(paused: Paused): Promise<void> {
    const { connection } = this.#deps;
    const { requestId, responseStatusCode: status = 0, responseHeaders = [] } = paused;
    const load = this.#loading;
    const redirects = status >= 300 && status < 400 && responseHeaders.some(({ name }) => name.toLowerCase() === 'location');
    if (load && !redirects && this.#keepsPage(paused, load)) {
      // A private page saves no files; a session's tab does as its settings say.
      if (!this.#deps.tab.isPrivate || !hasBody(status)) return this.#continueResponse(paused);
      await connection.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }, this.#takeOptions());
      return;
    }
    if (!redirects) this.#lastRequestId = paused.networkId ?? null;
    if (!load || paused.responseErrorReason || redirects || !hasBody(status)) return this.#continueResponse(paused);
    const kind = documentKind(responseHeaders);
    const keepsBody = load.keepBody || isWithheld(status, responseHeaders);
    if (kind === 'page' && !keepsBody) return this.#show(paused);
    if (kind === 'other' && load.showAnything && !isAttachment(responseHeaders) && !keepsBody) return this.#show(paused);
    const body = await this.#takeBody(requestId, load.bodyBytesMax);
    if (!body) return this.#show(paused);
    const isPage = kind === 'page' || (kind === 'unknown' && isLikelyHtml(body.data));
    const shows = isPage || (load.showAnything && !isAttachment(responseHeaders));
    if (shows && !body.truncated) {
      this.#documentBody = body;
      this.#shownUrl = paused.request.url;
      const headers = responseHeaders.filter(({ name }) => !/^(content-encoding|content-length|transfer-encoding)$/i.test(name));
      await connection.send(
        'Fetch.fulfillRequest',
        { requestId, responseCode: status, responseHeaders: headers, body: body.data.toString('base64') },
        this.#takeOptions(),
      );
      return;
    }
    this.#captured = { paused, body };
    this.#log.recordTakenBody(this.#deps.tab.sessionId, paused, body.data.length);
    await connection.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }, this.#takeOptions());
    load.noPage.abort();
  }

  #show(paused: Paused): void {
    this.#shownUrl = paused.request.url;
    this.#continueResponse(paused);
  }

  /** Whether the page that is shown has begun to load a file, or nothing, and stays. */
  #keepsPage({ networkId, request, responseStatusCode = 0, responseHeaders = [] }: Paused, load: LoadRequest): boolean {
    if (this.#shownUrl === null || (hasBody(responseStatusCode) && !isSaved(responseHeaders))) return false;
    const began = this.#trail.redirects(networkId ?? '')[0]?.url ?? request.url;
    // A page that passes a check may load itself again, to become the file that was requested.
    return began !== this.#shownUrl && began !== urlWithoutFragment(load.url);
  }

  #continueResponse({ requestId }: Paused): void {
    void this.#deps.connection.send('Fetch.continueResponse', { requestId }, this.#takeOptions()).catch(() => {});
  }

  #takeOptions(): { sessionId: string; timeoutMs: number } {
    return { sessionId: this.#deps.tab.sessionId, timeoutMs: this.page.timeoutScale.ms(takeTimeoutMs) };
  }

  #readByMs(): number {
    return this.#loading?.readByMs ?? systemClock.monotonicMs() + this.page.timeoutScale.ms(takeTimeoutMs);
  }

  /** Reads a body up to `maxBytes`; null if the browser provides none. */
  async #takeBody(requestId: string, maxBytes: number): Promise<CapturedBody | null> {
    const { connection, tab } = this.#deps;
    const readByMs = this.#readByMs();
    const sendOptions = () => ({
      sessionId: tab.sessionId,
      timeoutMs: Math.max(1, readByMs - systemClock.monotonicMs()),
      signal: tab.closed.signal,
    });
    let handle: string;
    try {
      ({ stream: handle } = await connection.send('Fetch.takeResponseBodyAsStream', { requestId }, sendOptions()));
    } catch (error) {
      if (error instanceof ProtocolError) return null;
      throw error;
    }
    const pieces: Buffer[] = [];
    let size = 0;
    let truncated = false;
    try {
      for (let done = false; !done && !truncated;) {
        const piece = await connection.send('IO.read', { handle, size: pieceBytes }, sendOptions());
        const data = Buffer.from(piece.data, piece.base64Encoded ? 'base64' : 'utf8');
        truncated = size + data.length > maxBytes;
        pieces.push(data.subarray(0, maxBytes - size));
        size += data.length;
        done = piece.eof;
      }
    } catch (error) {
      // What arrived before the connection failed or the time elapsed is still returned.
      if (!(error instanceof ProtocolError) && !(error instanceof CommandTimeoutError)) throw error;
      truncated = true;
    }
    void connection.send('IO.close', { handle }, { sessionId: tab.sessionId }).catch(() => {});
    return { data: Buffer.concat(pieces), truncated };
  }

  /** Removes the browser's own error page, shown for an error without a body: it is not part of the response. */
  async #clearErrorPage(): Promise<void> {
    const { connection, tab } = this.#deps;
    const leftMs = this.#readByMs() - systemClock.monotonicMs();
    const options = { signal: tab.closed.signal, timeoutMs: this.page.timeoutScale.ms(errorPageTimeoutMs, leftMs), maxBytes: 8192 };
    const address = await this.page.call<unknown>(tab.id, '() => location.href', [], options).catch(() => null);
    if (typeof address !== 'string' || !address.startsWith('chrome-error:')) return;
    await connection.send('Page.setDocumentContent', { frameId: tab.id, html: '' }, this.#takeOptions());
  }

  async #capturedResult({ paused, body }: Captured): Promise<LoadResult> {
    const headers = (paused.responseHeaders ?? []).map(({ name, value }) => [name.toLowerCase(), value] as const);
    const loaderId = paused.networkId ?? '';
    const plain = toPlainHeaders(Object.fromEntries(headers));
    return {
      finalUrl: paused.request.url + (paused.request.urlFragment ?? ''),
      title: '',
      statusCode: paused.responseStatusCode ?? null,
      headers: plain,
      cookieNames: cookieNamesOf(headers),
      redirects: this.#trail.redirects(loaderId),
      leadsTo: null,
      bodyError: null,
      ttfbMs: this.#trail.of(loaderId)?.ttfbMs ?? null,
      contentType: plain['content-type'] ?? null,
      body,
      timedOut: false,
    };
  }

  /** The result of a page that timed out but has a document. */
  async #partialResult({ timeoutMs }: LoadRequest): Promise<LoadResult | null> {
    const response = this.#trail.of(this.#lastRequestId);
    if (!response || !/^https?:/.test(this.page.url())) return null;
    const { headers, cookieNames, redirects, ttfbMs, status } = response;
    const title = await this.#askTitle(timeoutMs * titleTimeShare);
    const info = { statusCode: status, headers, cookieNames, redirects, leadsTo: null, ttfbMs, bodyError: null };
    const result = { finalUrl: this.page.url(), title, ...info };
    return { ...loaded(result, null), timedOut: true };
  }

  /** Reads the title from the page, because the browser process learns it late; falls back to the last known one. */
  async #askTitle(leftMs: number): Promise<string> {
    const { tab } = this.#deps;
    const options = {
      signal: tab.closed.signal,
      timeoutMs: this.page.timeoutScale.ms(titleTimeoutMs, leftMs),
      maxBytes: 4 * titleCharsMax,
    };
    const title = await this.page.call<unknown>(tab.id, '() => document.title', [], options).catch(() => null);
    return typeof title === 'string' ? cutText(title, titleCharsMax) : tab.title;
  }
}

/** Popups of a private page are in its context; other tabs of a session are not of the borrowed one. */
const isOfPage = (other: Tab | undefined, tab: Tab): boolean =>
  other !== undefined && (tab.isPrivate ? other.contextId === tab.contextId : other === tab);

/** The URL without its fragment, as the browser reports it in requests. */
function urlWithoutFragment(url: string): string {
  const parsed = URL.parse(url);
  if (parsed) parsed.hash = '';
  return parsed?.href ?? url;
}

interface Captured {
  paused: Paused;
  body: CapturedBody;
}

const loaded = (result: NavigationResult, body: CapturedBody | null): LoadResult => ({
  ...result,
  contentType: result.headers['content-type'] ?? null,
  body,
  timedOut: false,
});
