/** A private page: alone in its browser context, with main responses paused for inspection. */
import type { Protocol } from 'devtools-protocol';
import { cutText } from '../../lib/text.ts';
import { systemClock } from '../../lib/clock.ts';
import { orAbort } from '../../lib/or-abort.ts';
import { CommandTimeout, ProtocolError, type Connection } from '../cdp/connection.ts';
import { DocumentTrail, cookieNamesOf, toPlainHeaders } from '../network/document-trail.ts';
import { NavigationError, type NavigationResult } from '../model.ts';
import { navigate } from './navigate.ts';
import { NetworkLog } from '../network/network-log.ts';
import type { Page } from './model.ts';
import type {
  CapturedBody,
  CookieParam,
  LoadRequest,
  LoadResult,
  NetworkBytes,
  NetworkEntries,
  PrivatePage,
  PrivateSettings,
} from './private-model.ts';
import { setCookies } from '../storage/storage.ts';
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
  #closing: Promise<void> | null = null;

  constructor(deps: PrivatePageDeps) {
    this.#deps = deps;
    this.page = deps.page;
    const { connection, tabs, tab } = deps;
    const isOwnSession = (sessionId: string | undefined): boolean =>
      sessionId === tab.sessionId || (this.#wholeNetwork && tabs.sessions.of(sessionId)?.contextId === tab.contextId);
    this.#log = new NetworkLog(connection, { since: deps.now(), isOwnSession });
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
    const settings = { ...tabs.settings, blockResources, extraHeaders, keepNetworkLog: wholeNetwork };
    const isDefault = tab.isPrivate && blockResources.length === 0 && Object.keys(extraHeaders).length === 0 && !wholeNetwork;
    const apply = (): Promise<void> => (tab.isPrivate ? tabs.applyPrivate(tab, settings) : tabs.applyBorrowed(tab, settings));
    await orAbort(
      Promise.all([isDefault ? undefined : apply(), setCookies(connection, tab.contextId, cookies, signal), this.#watch.enabled]),
      signal,
    );
  }

  async load(request: LoadRequest, { signal }: { signal: AbortSignal }): Promise<LoadResult> {
    const { connection, tabs, tab } = this.#deps;
    const trail = this.#trail;
    this.#captured = null;
    const noPage = new AbortController();
    this.#loading = { ...request, noPage, readByMs: systemClock.monotonicMs() + request.timeoutMs * bodyTimeShare };
    try {
      const result = await navigate(
        { connection, tab, shouldKeepNetwork: () => tabs.network.isNeeded(tab), trail, readsPage: request.readsPage },
        request,
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

  setCookies(cookies: readonly CookieParam[], { signal }: { signal: AbortSignal }): Promise<void> {
    return setCookies(this.#deps.connection, this.#deps.tab.contextId, cookies, signal);
  }

  waitForScriptRequests(withinMs: number): Promise<boolean> {
    return this.#log.waitForScriptRequests(withinMs);
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
    this.#log.end();
    this.#trail.end();
    this.#watch.undo();
    tab.onPausedDocument = null;
    if (!tab.isPrivate) await tabs.endBorrowed(tab);
    else if (tab.contextId !== undefined) await tabs.closePrivate(tab.contextId);
  }

  async #onDocument(paused: Paused): Promise<void> {
    const { connection } = this.#deps;
    const { requestId, responseStatusCode: status = 0, responseHeaders = [] } = paused;
    const load = this.#loading;
    const redirects = status >= 300 && status < 400 && responseHeaders.some(({ name }) => name.toLowerCase() === 'location');
    this.#lastRequestId = paused.networkId ?? null;
    if (!load || paused.responseErrorReason || redirects || !hasBody(status)) return this.#continueResponse(paused);
    const kind = documentKind(responseHeaders);
    const keepsBody = load.keepBody || isWithheld(status, responseHeaders);
    if (kind === 'page' && !keepsBody) return this.#continueResponse(paused);
    if (kind === 'other' && load.showAnything && !isAttachment(responseHeaders) && !keepsBody) return this.#continueResponse(paused);
    const body = await this.#takeBody(requestId, load.bodyBytesMax);
    if (!body) return this.#continueResponse(paused);
    const isPage = kind === 'page' || (kind === 'unknown' && isLikelyHtml(body.data));
    const shows = isPage || (load.showAnything && !isAttachment(responseHeaders));
    if (shows && !body.truncated) {
      this.#documentBody = body;
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
      if (!(error instanceof ProtocolError) && !(error instanceof CommandTimeout)) throw error;
      truncated = true;
    }
    void connection.send('IO.close', { handle }, { sessionId: tab.sessionId }).catch(() => {});
    return { data: Buffer.concat(pieces), truncated };
  }

  /** For an error without a body the browser shows its own error page, which is not part of the response. */
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
    const result = { finalUrl: this.page.url(), title, statusCode: status, headers, cookieNames, redirects, ttfbMs };
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

const hasBody = (status: number): boolean => status !== 204 && status !== 205 && status !== 304;

type Headers = readonly Protocol.Fetch.HeaderEntry[];
const valueOf = (headers: Headers, wanted: string): string | undefined => headers.find(({ name }) => name.toLowerCase() === wanted)?.value;

/** Whether the browser would render it as an HTML document. */
function documentKind(headers: Headers): 'page' | 'other' | 'unknown' {
  const type = valueOf(headers, 'content-type')?.split(';')[0]?.trim().toLowerCase();
  if (isAttachment(headers)) return 'other';
  if (!type || !type.includes('/')) return 'unknown';
  return type === 'text/html' || type === 'application/xhtml+xml' ? 'page' : 'other';
}

const isAttachment = (headers: Headers): boolean => /^\s*attachment\b/i.test(valueOf(headers, 'content-disposition') ?? '');

/** The browser would not show the body of failed authentication, and its own error page for an error without a body. */
const isWithheld = (status: number, headers: Headers): boolean =>
  (status === 401 && valueOf(headers, 'www-authenticate') !== undefined) || (status >= 400 && valueOf(headers, 'content-length') === '0');

/** Content sniffing for responses without a type. */
const isLikelyHtml = (data: Buffer): boolean =>
  /^[\s\ufeff]*<(!doctype html|html|head|body|script|title|div|p|h1|a|table|br|!--|\?xml)/i.test(data.subarray(0, 1024).toString('utf8'));
