/** A page that is fetched: alone in its browser context, its document looked at as the response comes in. */
import type { Protocol } from 'devtools-protocol';
import { systemClock } from '../../lib/clock.ts';
import { orAbort } from '../../lib/or-abort.ts';
import { CommandTimeout, ProtocolError, type Connection } from '../cdp/connection.ts';
import { DocumentTrail, cookieNamesOf, plainHeaders } from '../network/document-trail.ts';
import { NavigationError, type NavigationOutcome } from '../model.ts';
import { egressHeader, navigate, type EgressReason } from './navigate.ts';
import { NetworkLog } from '../network/network-log.ts';
import type { Page } from './model.ts';
import type {
  CapturedBody,
  CookieOrder,
  LoadOrder,
  LoadOutcome,
  NetworkBytes,
  NetworkEntries,
  PrivatePage,
  PrivateSettings,
} from './private-model.ts';
import { setCookies } from '../storage/storage.ts';
import { longestTitle, type Tab } from '../tabs/tab.ts';
import type { Tabs } from '../tabs/tabs.ts';

type Paused = Protocol.Fetch.RequestPausedEvent;

/** A piece of a body that is read at a time. */
const pieceBytes = 1024 * 1024;
/** What is taken from the browser while a response waits is answered at once. */
const takeLimitMs = 5000;
/** Of a load's time, what the reading of a body may take: what has come by then is told. */
const takePart = 0.9;
const titleLimitMs = 500;
/** Of a load's time, what the title may take when that is over. */
const titlePart = 0.1;
const errorPageLimitMs = 2000;

export interface PrivateParts {
  connection: Connection;
  tabs: Tabs;
  tab: Tab;
  page: Page;
  now: () => Date;
  egressRefusal: ((host: string) => EgressReason | null) | undefined;
}

export class FetchedPage implements PrivatePage {
  readonly page: Page;
  readonly #parts: PrivateParts;
  readonly #log: NetworkLog;
  readonly #trail: DocumentTrail;
  readonly #watch: { on: Promise<void>; undo: () => void };
  #wholeNetwork = false;
  /** The load under way, until when it may read a body, and what ends it where there will be no page to wait for. */
  #loading: (LoadOrder & { readByMs: number; noPage: AbortController }) | null = null;
  /** The bytes of the document that is shown, where they were to be kept. */
  #documentBody: CapturedBody | null = null;
  /** What came in place of a document. */
  #captured: Captured | null = null;
  #lastRequestId: string | null = null;
  #closing: Promise<void> | null = null;

  constructor(parts: PrivateParts) {
    this.#parts = parts;
    this.page = parts.page;
    const { connection, tabs, tab } = parts;
    const isMine = (sessionId: string | undefined): boolean =>
      sessionId === tab.sessionId || (this.#wholeNetwork && tabs.sessions.of(sessionId)?.contextId === tab.contextId);
    this.#log = new NetworkLog(connection, { since: parts.now(), isMine });
    this.#trail = new DocumentTrail(connection, tab);
    this.#watch = tabs.network.watch(tab);
  }

  async prepare(
    { blockResources, extraHeaders, cookies, wholeNetwork }: PrivateSettings,
    { signal }: { signal: AbortSignal },
  ): Promise<void> {
    const { connection, tabs, tab } = this.#parts;
    this.#wholeNetwork = wholeNetwork;
    tab.takesDocuments = (paused) => void this.#onDocument(paused).catch(() => this.#letGo(paused));
    const settings = { ...tabs.settings, blockResources, extraHeaders, keepNetworkLog: wholeNetwork };
    const isUsual = tab.isPrivate && blockResources.length === 0 && Object.keys(extraHeaders).length === 0 && !wholeNetwork;
    const apply = (): Promise<void> => (tab.isPrivate ? tabs.applyPrivate(tab, settings) : tabs.applyBorrowed(tab, settings));
    await orAbort(
      Promise.all([isUsual ? undefined : apply(), setCookies(connection, tab.contextId, cookies, signal), this.#watch.on]),
      signal,
    );
  }

  async load(order: LoadOrder, { signal }: { signal: AbortSignal }): Promise<LoadOutcome> {
    const { connection, tabs, tab, egressRefusal } = this.#parts;
    const trail = this.#trail;
    this.#captured = null;
    const noPage = new AbortController();
    this.#loading = { ...order, noPage, readByMs: systemClock.monotonicMs() + order.timeoutMs * takePart };
    try {
      const outcome = await navigate(
        { connection, tab, egressRefusal, keepsNetwork: () => tabs.network.keeps(tab), trail, readsPage: order.readsPage },
        order,
        AbortSignal.any([signal, noPage.signal]),
      );
      // A document that moved on by itself may have been answered by something that is no page.
      if (this.#captured) return await this.#capturedOutcome(this.#captured);
      // Nothing came to show, so the tab is not at the address that was answered.
      if ((outcome.statusCode ?? 0) >= 400 && outcome.title === '') await this.#clearErrorPage();
      const answered = hasBody(outcome.statusCode ?? 0) ? undefined : this.#trail.of(this.#lastRequestId);
      return loaded(answered ? { ...outcome, finalUrl: answered.url, title: '' } : outcome, null);
    } catch (error) {
      if (this.#captured) return await this.#capturedOutcome(this.#captured);
      const late = error instanceof NavigationError && error.reason === 'timeout' ? await this.#lateOutcome(order) : null;
      if (!late) throw error;
      return late;
    } finally {
      this.#loading = null;
    }
  }

  setCookies(cookies: readonly CookieOrder[], { signal }: { signal: AbortSignal }): Promise<void> {
    return setCookies(this.#parts.connection, this.#parts.tab.contextId, cookies, signal);
  }

  answered(withinMs: number): Promise<boolean> {
    return this.#log.answered(withinMs);
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
    const { tabs, tab } = this.#parts;
    this.#log.end();
    this.#trail.end();
    this.#watch.undo();
    tab.takesDocuments = null;
    if (!tab.isPrivate) await tabs.endBorrowed(tab);
    else if (tab.contextId !== undefined) await tabs.closePrivate(tab.contextId);
  }

  async #onDocument(paused: Paused): Promise<void> {
    const { connection } = this.#parts;
    const { requestId, responseStatusCode: status = 0, responseHeaders = [] } = paused;
    const order = this.#loading;
    const redirects = status >= 300 && status < 400 && responseHeaders.some(({ name }) => name.toLowerCase() === 'location');
    this.#lastRequestId = paused.networkId ?? null;
    if (!order || paused.responseErrorReason || redirects || !hasBody(status)) return this.#letGo(paused);
    // The gate's own words are no page of the site, and the navigation reads them.
    if (paused.request.url.startsWith('http:') && valueOf(responseHeaders, egressHeader) !== undefined) return this.#letGo(paused);
    const kind = documentKind(responseHeaders);
    const keepsBody = order.keepBody || isWithheld(status, responseHeaders);
    if (kind === 'page' && !keepsBody) return this.#letGo(paused);
    if (kind === 'other' && order.showAnything && !isAttachment(responseHeaders) && !keepsBody) return this.#letGo(paused);
    const body = await this.#takeBody(requestId, order.bodyBytesMax);
    if (!body) return this.#letGo(paused);
    const isPage = kind === 'page' || (kind === 'unknown' && looksLikeHtml(body.data));
    const shows = isPage || (order.showAnything && !isAttachment(responseHeaders));
    if (shows && !body.truncated) {
      this.#documentBody = body;
      const headers = responseHeaders.filter(({ name }) => !/^(content-encoding|content-length|transfer-encoding)$/i.test(name));
      await connection.send(
        'Fetch.fulfillRequest',
        { requestId, responseCode: status, responseHeaders: headers, body: body.data.toString('base64') },
        this.#soon(),
      );
      return;
    }
    this.#captured = { paused, body };
    this.#log.took(this.#parts.tab.sessionId, paused, body.data.length);
    await connection.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }, this.#soon());
    order.noPage.abort();
  }

  #letGo({ requestId }: Paused): void {
    void this.#parts.connection.send('Fetch.continueResponse', { requestId }, this.#soon()).catch(() => {});
  }

  #soon(): { sessionId: string; timeoutMs: number } {
    return { sessionId: this.#parts.tab.sessionId, timeoutMs: this.page.patience.ms(takeLimitMs) };
  }

  #readByMs(): number {
    return this.#loading?.readByMs ?? systemClock.monotonicMs() + this.page.patience.ms(takeLimitMs);
  }

  /** Reads a body as far as it may be kept; null where the browser gives none. */
  async #takeBody(requestId: string, maxBytes: number): Promise<CapturedBody | null> {
    const { connection, tab } = this.#parts;
    const readByMs = this.#readByMs();
    const to = () => ({ sessionId: tab.sessionId, timeoutMs: Math.max(1, readByMs - systemClock.monotonicMs()), signal: tab.gone.signal });
    let handle: string;
    try {
      ({ stream: handle } = await connection.send('Fetch.takeResponseBodyAsStream', { requestId }, to()));
    } catch (error) {
      if (error instanceof ProtocolError) return null;
      throw error;
    }
    const pieces: Buffer[] = [];
    let size = 0;
    let truncated = false;
    try {
      for (let done = false; !done && !truncated;) {
        const piece = await connection.send('IO.read', { handle, size: pieceBytes }, to());
        const data = Buffer.from(piece.data, piece.base64Encoded ? 'base64' : 'utf8');
        truncated = size + data.length > maxBytes;
        pieces.push(data.subarray(0, maxBytes - size));
        size += data.length;
        done = piece.eof;
      }
    } catch (error) {
      // What came before a connection broke, or before the time was over, is still what came.
      if (!(error instanceof ProtocolError) && !(error instanceof CommandTimeout)) throw error;
      truncated = true;
    }
    void connection.send('IO.close', { handle }, { sessionId: tab.sessionId }).catch(() => {});
    return { data: Buffer.concat(pieces), truncated };
  }

  /** An error without a body is shown as the browser's own words, which are no part of the answer. */
  async #clearErrorPage(): Promise<void> {
    const { connection, tab } = this.#parts;
    const leftMs = this.#readByMs() - systemClock.monotonicMs();
    const options = { signal: tab.gone.signal, timeoutMs: this.page.patience.ms(errorPageLimitMs, leftMs), maxBytes: 8192 };
    const address = await this.page.call<unknown>(tab.id, '() => location.href', [], options).catch(() => null);
    if (typeof address !== 'string' || !address.startsWith('chrome-error:')) return;
    await connection.send('Page.setDocumentContent', { frameId: tab.id, html: '' }, this.#soon());
  }

  async #capturedOutcome({ paused, body }: Captured): Promise<LoadOutcome> {
    const headers = (paused.responseHeaders ?? []).map(({ name, value }) => [name.toLowerCase(), value] as const);
    const loaderId = paused.networkId ?? '';
    const plain = plainHeaders(Object.fromEntries(headers));
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

  /** What is shown of a page that did not get ready: its document has come and says what it was answered with. */
  async #lateOutcome({ timeoutMs }: LoadOrder): Promise<LoadOutcome | null> {
    const response = this.#trail.of(this.#lastRequestId);
    if (!response || !/^https?:/.test(this.page.url())) return null;
    const { headers, cookieNames, redirects, ttfbMs, status } = response;
    const title = await this.#askTitle(timeoutMs * titlePart);
    const outcome = { finalUrl: this.page.url(), title, statusCode: status, headers, cookieNames, redirects, ttfbMs };
    return { ...loaded(outcome, null), timedOut: true };
  }

  /** The browser process learns of it late. A page that is busy, as late ones often are, is not waited for. */
  async #askTitle(leftMs: number): Promise<string> {
    const { tab } = this.#parts;
    const options = { signal: tab.gone.signal, timeoutMs: this.page.patience.ms(titleLimitMs, leftMs), maxBytes: 4 * longestTitle };
    const title = await this.page.call<unknown>(tab.id, '() => document.title', [], options).catch(() => null);
    return typeof title === 'string' ? title.slice(0, longestTitle) : tab.title;
  }
}

interface Captured {
  paused: Paused;
  body: CapturedBody;
}

const loaded = (outcome: NavigationOutcome, body: CapturedBody | null): LoadOutcome => ({
  ...outcome,
  contentType: outcome.headers['content-type'] ?? null,
  body,
  timedOut: false,
});

const hasBody = (status: number): boolean => status !== 204 && status !== 205 && status !== 304;

type Headers = readonly Protocol.Fetch.HeaderEntry[];
const valueOf = (headers: Headers, wanted: string): string | undefined => headers.find(({ name }) => name.toLowerCase() === wanted)?.value;

/** Whether the browser would make a document of it that has scripts and a structure worth reading. */
function documentKind(headers: Headers): 'page' | 'other' | 'unknown' {
  const type = valueOf(headers, 'content-type')?.split(';')[0]?.trim().toLowerCase();
  if (isAttachment(headers)) return 'other';
  if (!type || !type.includes('/')) return 'unknown';
  return type === 'text/html' || type === 'application/xhtml+xml' ? 'page' : 'other';
}

const isAttachment = (headers: Headers): boolean => /^\s*attachment\b/i.test(valueOf(headers, 'content-disposition') ?? '');

/** A refused login and an error without a word: the browser would show nothing of the one, and words of its own for the other. */
const isWithheld = (status: number, headers: Headers): boolean =>
  (status === 401 && valueOf(headers, 'www-authenticate') !== undefined) || (status >= 400 && valueOf(headers, 'content-length') === '0');

/** As browsers guess when they are not told. */
const looksLikeHtml = (data: Buffer): boolean =>
  /^[\s\ufeff]*<(!doctype html|html|head|body|script|title|div|p|h1|a|table|br|!--|\?xml)/i.test(data.subarray(0, 1024).toString('utf8'));
