/** One navigation of one tab, from its begin to its result: an address, back, forward, or a reload. */
import type { Protocol } from 'devtools-protocol';
import { cutText } from '@berth/lib/text/text.ts';
import {
  answerTimeoutMs,
  CommandTimeoutError,
  ProtocolError,
  type Command,
  type Connection,
  type Params,
  type Result,
} from '../../cdp/connection.ts';
import { DocumentTrail, type MainResponse } from '../../network/document-trail.ts';
import { OpenRequests } from '../../network/open-requests.ts';
import { endHungPage } from '../../cdp/hung-page.ts';
import { crashMessage, titleCharsMax, titleOf, type Tab } from '../../tabs/tab.ts';
import { hasNoDocument, isAnswerWithoutPage, loadError } from './load-error.ts';
import { BrowserClosedError, NavigationError, TabNotFoundError, type NavigationRequest, type NavigationResult } from '../../interface.ts';
import { orAfter, type Deadline } from '@berth/lib/deadline.ts';
import { isRedirect, isSelf, reloadMsMax } from '@berth/lib/refresh.ts';

/** `Page.stopLoading` is a round trip to the page; one that hangs must not delay the response. */
const stopTimeoutMs = 1000;
/** The head of a response follows within milliseconds, in a separate event. */
const headTimeoutMs = 250;
/** A page that takes longer to turn its events on hangs; the replies come at once otherwise. */
const enabledMsMax = 1000;
/** The browser's error page follows its reply within milliseconds; without it the response is not delayed further. */
const errorPageTimeoutMs = 1500;
/** A download is announced within milliseconds after the load was aborted, in a separate event. */
const downloadTimeoutMs = 1000;
/** How long a page that is left may take to be replaced, beyond its delay. */
const replaceMsMax = 5000;
/** What is kept of the caller's time to return the page whose next one did not come. */
const concludeMs = 2000;
/** `frameStoppedLoading` follows the load at once, and what the page is about to do comes before it. */
const stoppedMsMax = 100;
/** A part of a page is parsed within milliseconds; the error of its body comes from another process and may be earlier. */
const parsedMsMax = 1000;
/** A page that still computes, or a slow machine, says it later, but before it answers. A page that does not answer leads nowhere. */
const saidMsMax = 2000;
/** Documents that may lead from one to the next: as many as redirects in Chromium. */
const documentsMax = 21;
/** The title of a page that is busy for longer comes from the browser process. */
const titleTimeoutMs = 500;

const lifecycleNames = { load: 'load', domcontentloaded: 'DOMContentLoaded', networkidle: 'networkIdle' } as const;

/** The document to which another leads by itself. */
interface NextDocument {
  url: string;
  delayMs: number;
  /** The browser asks for it already. */
  isStarted: boolean;
}

export interface NavigationDeps {
  connection: Connection;
  tab: Tab;
  /** Whether the Network domain must stay on afterwards, for settings or listeners. */
  shouldKeepNetwork: () => boolean;
  /** Whether the caller reads title and URL from the page itself, so that they are not requested here. */
  readsPage?: boolean | undefined;
  /** The caller's trail; the navigation creates its own otherwise. */
  trail?: DocumentTrail | undefined;
}

/** A navigation; one through the history, and a reload, learn their address as they go. */
export type WatchedRequest = Omit<NavigationRequest, 'url'> & { url?: string };

/** Sends the command that begins a navigation, and resolves with what is known when its document is there, or will not be. */
export type Begin = (page: {
  send<C extends Command>(method: C, params: Params<C>): Promise<Result<C>>;
  /** The same as the answer to `Page.navigate`, for commands that are answered before. */
  outcome: Promise<Protocol.Page.NavigateResponse>;
}) => Promise<Protocol.Page.NavigateResponse>;

/** A navigation that was begun before replaced the requested document, before or as soon as that was committed, or the page before crashed. */
export class NavigationSupersededError extends Error {}

export class NavigationWatch {
  readonly #connection: Connection;
  readonly #tab: Tab;
  readonly #shouldKeepNetwork: () => boolean;
  readonly #trail: DocumentTrail;
  readonly #readsPage: boolean;
  readonly #request: WatchedRequest;
  readonly #deadline: Deadline;
  readonly #undo: (() => void)[] = [];
  #committed = Promise.withResolvers<void>();
  /** Why there will be no further document to wait for. */
  readonly #ended = Promise.withResolvers<never>();
  readonly #reached = new Map<string, Set<string>>();
  /** Loader ids committed since the request, oldest first. The first may belong to an earlier navigation. */
  readonly #commits: string[] = [];
  /** How many documents had been committed when a navigation began, by its loader id. */
  readonly #begun = new Map<string, number>();
  /** Error texts of documents that could not be loaded, or not to their end, by loader id. */
  readonly #failures = new Map<string, string>();
  /** Loader ids of documents of which something came. */
  readonly #received = new Set<string>();
  /** The document to which the current one leads by itself; null as far as is known. */
  #next: NextDocument | null = null;
  /** The address to which the document after so many commits leads, where the page said so before the reply told which document is the requested one. */
  #unclaimed: { url: string; commits: number } | null = null;
  /** Settles when the current document has nothing more to load. */
  #stopped = Promise.withResolvers<void>();
  /** Settles when the current document is left, or stays. */
  #left = Promise.withResolvers<void>();
  /** The open requests that a `networkidle` navigation waits for; null for one that waits for another event. */
  #requests: OpenRequests | null = null;
  #ownId: string | null = null;
  /** The outcome of a command that is answered before its document is there. */
  readonly #outcome = Promise.withResolvers<Protocol.Page.NavigateResponse>();
  /** The document that a reload, or a step in the history, asks for. */
  #movedId: string | null = null;
  #isRepeatable = false;
  /** The loader id of the browser's error page, from the reply. */
  #errorPageId: string | null = null;
  readonly #errorShown = Promise.withResolvers<void>();
  #committedUrl: string | null = null;
  /** Addresses of the committed documents, by loader id. */
  readonly #urls = new Map<string, string>();
  /** The id of the download that the navigation became. */
  readonly #download = Promise.withResolvers<string>();
  /** The current document of the navigation; a page may redirect before it has loaded. Null until the reply to `Page.navigate`. */
  #loaderId: string | null = null;

  constructor(deps: NavigationDeps, request: WatchedRequest, by: Deadline) {
    this.#connection = deps.connection;
    this.#tab = deps.tab;
    this.#shouldKeepNetwork = deps.shouldKeepNetwork;
    this.#trail = deps.trail ?? new DocumentTrail(deps.connection, deps.tab);
    this.#readsPage = deps.readsPage === true;
    if (!deps.trail) this.#undo.push(() => this.#trail.end());
    this.#request = request;
    this.#deadline = by;
    // The tab may close before anybody awaits this.
    this.#committed.promise.catch(() => {});
    this.#ended.promise.catch(() => {});
  }

  /** @throws NavigationSupersededError, if the navigation may be repeated */
  async run(begin: Begin, isRepeatable: boolean): Promise<NavigationResult> {
    this.#isRepeatable = isRepeatable;
    const { signal } = this.#deadline;
    const timer = setTimeout(() => this.#fail(timeoutError(this.#request.timeoutMs)), this.#deadline.leftMs);
    const onAbort = (): void => this.#fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#undo.push(
      () => clearTimeout(timer),
      () => signal.removeEventListener('abort', onAbort),
    );
    if (signal.aborted) onAbort();
    try {
      const answer = await Promise.race([this.#start(begin), this.#committed.promise.then(() => null)]);
      if (answer?.isDownload) throw await this.#downloadError();
      if (answer) await this.#awaitHead(answer);
      const result = answer && this.#classifyReply(answer);
      if (typeof result === 'object' && result !== null) return await this.#withoutPage(result);
      if (result === 'same_document') return await this.#describe(undefined, this.#tab.statusCode);
      await this.#committed.promise;
      await this.#follow(this.#request.refreshMsMax ?? reloadMsMax);
      await this.#requireBody();
      const concluded = await this.#conclude();
      // What was read may be of the other document.
      if (isRepeatable && this.#isOvertaken()) throw new NavigationSupersededError();
      return concluded;
    } catch (error) {
      throw await this.#explain(error);
    }
  }

  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
    // A private page is used once and needs no cleanup.
    if (this.#tab.closed.signal.aborted || this.#tab.isPrivate) return;
    const { sessionId } = this.#tab;
    void this.#connection.send('Page.setLifecycleEventsEnabled', { enabled: false }, { sessionId }).catch(() => {});
    if (!this.#shouldKeepNetwork()) void this.#connection.send('Network.disable', undefined, { sessionId }).catch(() => {});
  }

  async #start(begin: Begin): Promise<Protocol.Page.NavigateResponse> {
    await this.#enableEvents();
    this.#watchTab();
    const to = { sessionId: this.#tab.sessionId, signal: this.#deadline.signal, timeoutMs: this.#deadline.leftMs + stopTimeoutMs };
    const wasCrashed = this.#tab.status === 'crashed';
    const answer = await begin({
      send: (method, params) => this.#connection.send(method, params, to),
      outcome: this.#outcome.promise,
    });
    // A process that replaces a crashed one missed the command; sending it again also replays the lifecycle events.
    if (wasCrashed) void this.#connection.send('Page.setLifecycleEventsEnabled', { enabled: true }, to).catch(() => {});
    return answer;
  }

  /** A busy page turns its events on late: without the replies, those of a body that ends at once would be lost. */
  async #enableEvents(): Promise<void> {
    const { sessionId, url, openerId } = this.#tab;
    const to = { sessionId, timeoutMs: this.#scaledMs(enabledMsMax) };
    const enabled = Promise.allSettled([
      this.#connection.send('Network.enable', this.#tab.networkBuffers, to),
      this.#connection.send('Page.setLifecycleEventsEnabled', { enabled: true }, to),
    ]);
    // A new tab cannot hang, and a browser that is busy with another tab may be slow to reply for it.
    const isAnswering =
      url === 'about:blank' && openerId === null ? undefined : endHungPage(this.#connection, this.#tab, this.#deadline.leftMs);
    // A caller who was told that the time is over sees no navigation after it.
    await Promise.race([this.#ended.promise, isAnswering]);
    if (this.#tab.status !== 'crashed') await Promise.race([this.#ended.promise, enabled]);
  }

  /** An aborted load may be a response without a document. */
  async #awaitHead({ errorText, loaderId }: Protocol.Page.NavigateResponse): Promise<void> {
    if (errorText !== 'net::ERR_ABORTED' || loaderId === undefined) return;
    await Promise.race([this.#trail.head(loaderId, this.#scaledMs(headTimeoutMs)), this.#committed.promise]);
  }

  /** Returns the response if it has no document, null if a document will be committed. */
  #classifyReply(answer: Protocol.Page.NavigateResponse): MainResponse | 'same_document' | null {
    const { loaderId, errorText } = answer;
    if (errorText) {
      const response = loaderId === undefined ? undefined : this.#trail.of(loaderId);
      if (errorText !== 'net::ERR_ABORTED' && loaderId !== undefined && !this.#commits.includes(loaderId)) this.#errorPageId = loaderId;
      if (response && isAnswerWithoutPage(errorText, response.status)) return response;
      if (errorText === 'net::ERR_ABORTED' && this.#isRepeatable && this.#isReplaced(loaderId)) throw new NavigationSupersededError();
      throw loadError(this.#connection, errorText, { requestId: loaderId, url: this.#request.url });
    }
    if (loaderId === undefined) return 'same_document';
    this.#ownId = loaderId;
    this.#loaderId = this.#commits.includes(loaderId) ? (this.#commits.at(-1) ?? loaderId) : loaderId;
    if (this.#isOwnShown() && this.#unclaimed?.commits === this.#commits.length) this.#leave(this.#unclaimed.url);
    this.#check();
    return null;
  }

  async #downloadError(): Promise<NavigationError> {
    const known = Promise.race([this.#download.promise, this.#committed.promise.then(() => null)]);
    const id = await orAfter(known, this.#scaledMs(downloadTimeoutMs), null);
    const message = 'The URL is a download and not a page. `GET …/downloads` lists it.';
    return new NavigationError('download', 'net::ERR_ABORTED', message, id === null ? {} : { download_id: id });
  }

  #watchTab(): void {
    const { id, sessionId, closed } = this.#tab;
    const ifOwnSession =
      <P>(act: (params: P) => void) =>
      (params: P, from: string | undefined): void => {
        if (from === sessionId) act(params);
      };
    const onClosed = (): void => this.#fail(closed.signal.reason);
    closed.signal.addEventListener('abort', onClosed, { once: true });
    if (closed.signal.aborted) onClosed();
    if (this.#request.waitUntil === 'networkidle') {
      const isOwnSession = (from: string): boolean => from === sessionId;
      const requests = new OpenRequests({ connection: this.#connection, isOwnSession, onIdle: () => this.#check() });
      this.#requests = requests;
      this.#undo.push(() => requests.end());
    }
    this.#undo.push(
      () => closed.signal.removeEventListener('abort', onClosed),
      this.#connection.on(
        'Browser.downloadWillBegin',
        ({ frameId, guid }: Protocol.Browser.DownloadWillBeginEvent) => frameId === id && this.#download.resolve(guid),
      ),
      this.#connection.on(
        'Page.frameStartedNavigating',
        ifOwnSession((event: Protocol.Page.FrameStartedNavigatingEvent) => event.frameId === id && this.#onBegin(event)),
      ),
      this.#connection.on(
        'Network.loadingFailed',
        ifOwnSession((event: Protocol.Network.LoadingFailedEvent) => this.#onFailed(event)),
      ),
      this.#connection.on(
        'Network.dataReceived',
        ifOwnSession(({ requestId, dataLength }: Protocol.Network.DataReceivedEvent) => {
          if (dataLength > 0 && this.#begun.has(requestId)) this.#received.add(requestId);
        }),
      ),
      this.#connection.on(
        'Page.frameScheduledNavigation',
        ifOwnSession((event: Protocol.Page.FrameScheduledNavigationEvent) => event.frameId === id && this.#onScheduled(event)),
      ),
      this.#connection.on(
        'Page.frameRequestedNavigation',
        ifOwnSession((event: Protocol.Page.FrameRequestedNavigationEvent) => event.frameId === id && this.#onRequested(event)),
      ),
      this.#connection.on(
        'Page.frameClearedScheduledNavigation',
        ifOwnSession(({ frameId }: Protocol.Page.FrameClearedScheduledNavigationEvent) => {
          if (frameId === id && this.#next?.isStarted === false) this.#stay();
        }),
      ),
      this.#connection.on(
        'Page.frameNavigated',
        ifOwnSession((event: Protocol.Page.FrameNavigatedEvent) => this.#onCommit(event)),
      ),
      this.#connection.on(
        'Page.navigatedWithinDocument',
        ifOwnSession(({ frameId }: Protocol.Page.NavigatedWithinDocumentEvent) => {
          if (frameId === id && this.#movedId === null) this.#outcome.resolve({ frameId });
        }),
      ),
      this.#connection.on(
        'Page.lifecycleEvent',
        ifOwnSession((event: Protocol.Page.LifecycleEventEvent) => this.#onLifecycle(event)),
      ),
      this.#connection.on(
        'Page.frameStoppedLoading',
        ifOwnSession(({ frameId }: Protocol.Page.FrameStoppedLoadingEvent) => frameId === id && this.#onStopped()),
      ),
      this.#connection.on('Target.targetCrashed', ({ targetId }) => targetId === id && this.#onCrash()),
    );
  }

  /** A page that is left may crash: Chromium does so now and then when it was about to navigate itself. */
  #onCrash(): void {
    const isLeft = this.#ownId === null ? this.#commits.length === 0 : !this.#commits.includes(this.#ownId);
    if (isLeft && this.#isRepeatable) return this.#committed.reject(new NavigationSupersededError());
    this.#fail(crashError(this.#tab));
  }

  #fail(reason: unknown): void {
    this.#committed.reject(reason);
    this.#ended.reject(reason);
  }

  /** Waits for the documents that the page leads to by itself, each as long as `waitUntil` says. */
  async #follow(refreshMsMax: number): Promise<void> {
    if (this.#request.waitUntil !== 'load' && this.#request.waitUntil !== 'networkidle') return;
    for (;;) {
      const shown = this.#loaderId;
      await this.#saysWhatIsNext();
      const next = this.#next;
      if (this.#loaderId === shown) {
        if (!next) return;
        if (this.#isLoop(next)) return this.#stopNext();
        if (!this.#isFollowed(next, refreshMsMax)) return;
        await this.#within(this.#left.promise, this.#patienceMs(next));
      }
      if (this.#loaderId === shown) {
        if (this.#next !== next) continue;
        // Until the request ends, the browser holds back what is sent to the page.
        if (next?.isStarted === true && this.#readsPage) await this.#stopNext();
        return;
      }
      this.#committed = Promise.withResolvers();
      this.#check();
      await Promise.race([this.#committed.promise, this.#ended.promise]);
    }
  }

  /** A request that has begun is awaited: it brings another page, or it fails, and what is shown until then is none to return. */
  #patienceMs({ delayMs, isStarted }: NextDocument): number {
    if (!isStarted) return delayMs + this.#scaledMs(replaceMsMax);
    const { leftMs } = this.#deadline;
    return Math.max(leftMs - this.#scaledMs(concludeMs), leftMs / 2);
  }

  /** Resolves when the document that is loaded has said where it leads by itself, if it does. */
  async #saysWhatIsNext(): Promise<void> {
    const stopped = this.#stopped.promise;
    let hasStopped = false;
    void stopped.then(() => (hasStopped = true));
    await this.#within(stopped, stoppedMsMax);
    if (hasStopped || this.#next !== null) return;
    const { sessionId } = this.#tab;
    const timeoutMs = this.#scaledMs(saidMsMax);
    const answered = this.#connection
      .send('Runtime.evaluate', { expression: '0' }, { sessionId, timeoutMs })
      .then(() => {})
      .catch(() => {});
    await this.#within(Promise.race([stopped, answered]), timeoutMs);
  }

  #isFollowed({ url, delayMs, isStarted }: NextDocument, withinMs: number): boolean {
    return isStarted || isRedirect({ url, delayMs }, { from: this.#shownUrl(), withinMs });
  }

  /** A page that leads back, or to itself, is followed once: what it wants may be a cookie. */
  #isLoop(next: NextDocument): boolean {
    return this.#isFollowed(next, reloadMsMax) && [...this.#urls.values()].filter((each) => isSelf(each, next.url)).length >= 2;
  }

  /** A page that loads itself again and again, or waits for the next one, could not be read. */
  async #stopNext(): Promise<void> {
    const { sessionId } = this.#tab;
    const next = this.#next;
    await this.#connection.send('Page.stopLoading', undefined, { sessionId, timeoutMs: this.#scaledMs(stopTimeoutMs) }).catch(() => {});
    this.#next = next;
  }

  #shownUrl(): string {
    return this.#urls.get(this.#loaderId ?? '') ?? '';
  }

  /** The URL to which the page is about to lead; null for a page that stays, such as one that reloads itself. */
  #leadsTo(): string | null {
    const next = this.#next;
    const isReload = next !== null && !this.#isFollowed(next, reloadMsMax) && isSelf(next.url, this.#shownUrl());
    return isReload ? null : (next?.url ?? null);
  }

  /** Resolves when it is settled or the time is over, whichever is first. @throws why the navigation ended */
  async #within(settled: Promise<void>, ms: number): Promise<void> {
    await orAfter(Promise.race([settled, this.#ended.promise]), Math.min(ms, this.#deadline.leftMs));
  }

  #onFailed({ requestId: loaderId, type, errorText }: Protocol.Network.LoadingFailedEvent): void {
    // A document's request id is its loader id.
    const isDocument = type === 'Document' || this.#begun.has(loaderId);
    if (isDocument && this.#failures.size < documentsMax) this.#failures.set(loaderId, errorText);
    if (this.#commits.includes(loaderId)) this.#endCutBody(loaderId);
    else if (loaderId === this.#movedId) this.#outcome.resolve({ frameId: this.#tab.id, loaderId, errorText });
  }

  #onCommit({ frame, type }: Protocol.Page.FrameNavigatedEvent): void {
    const { id: frameId, loaderId, parentId, unreachableUrl } = frame;
    if (parentId !== undefined) return;
    if (this.#isOwnShown() && unreachableUrl !== undefined) return this.#failNext(loaderId, unreachableUrl);
    this.#commits.push(loaderId);
    this.#urls.set(loaderId, frame.url);
    if (loaderId === this.#errorPageId) this.#errorShown.resolve();
    this.#committedUrl = frame.url + (frame.urlFragment ?? '');
    // Commits before our own document belong to an earlier navigation.
    if (this.#isOwnShown()) this.#loaderId = loaderId;
    this.#stay();
    this.#stopped = Promise.withResolvers();
    if (this.#commits.length > documentsMax) return this.#fail(tooManyRedirects());
    if (unreachableUrl === undefined) this.#endCutBody(loaderId);
    // A page from the back/forward cache loads nothing, and keeps the id that it had.
    const isRestored = type === 'BackForwardCacheRestore';
    if (isRestored) this.#endLoad(loaderId);
    const failed = unreachableUrl === undefined ? {} : { errorText: this.#failures.get(loaderId) ?? 'net::ERR_FAILED' };
    if (isRestored || this.#movedId === null || this.#movedId === loaderId) this.#outcome.resolve({ frameId, loaderId, ...failed });
    this.#check();
  }

  /** Chromium reports neither event for a document whose body fails on the way: it has all that it will have. */
  #endCutBody(loaderId: string): void {
    if (this.#bodyError(loaderId) !== null) this.#endLoad(loaderId);
  }

  /** The error of a body that broke; null for one that was aborted, by the page itself or by a caller. */
  #bodyError(loaderId: string | null): string | null {
    const errorText = this.#failures.get(loaderId ?? '') ?? 'net::ERR_ABORTED';
    return errorText === 'net::ERR_ABORTED' ? null : errorText;
  }

  #endLoad(loaderId: string): void {
    for (const name of [lifecycleNames.domcontentloaded, lifecycleNames.load])
      this.#onLifecycle({ frameId: this.#tab.id, loaderId, name, timestamp: 0 });
  }

  #isOwnShown(): boolean {
    return this.#loaderId !== null && this.#commits.includes(this.#loaderId);
  }

  /** Fails the navigation because the page's next document could not be loaded. */
  #failNext(loaderId: string, url: string): void {
    const errorText = this.#failures.get(loaderId) ?? 'net::ERR_FAILED';
    this.#fail(loadError(this.#connection, errorText, { requestId: loaderId, url }));
  }

  #onBegin({ loaderId, url, navigationType }: Protocol.Page.FrameStartedNavigatingEvent): void {
    this.#begun.set(loaderId, this.#commits.length);
    if (/^(reload|restore|historyDifferent)/.test(navigationType)) this.#movedId = loaderId;
    if (!this.#commits.includes(loaderId) && !/same_?document/i.test(navigationType)) this.#onLeaving(url);
  }

  #onScheduled({ reason, url, delay }: Protocol.Page.FrameScheduledNavigationEvent): void {
    const isRefresh = reason === 'metaTagRefresh' || reason === 'httpHeaderRefresh';
    if (isRefresh && this.#next?.isStarted !== true) this.#next = { url, delayMs: delay * 1000, isStarted: false };
  }

  /** The page's own word comes in the order of its other events; that of the browser, which begins to load, may be late. */
  #onRequested({ url, disposition }: Protocol.Page.FrameRequestedNavigationEvent): void {
    if (disposition === 'currentTab') this.#onLeaving(url);
  }

  /** The events of a fast page may be handled before the reply to the navigation, which came earlier: that decides then. */
  #onLeaving(url: string): void {
    if (this.#loaderId === null) this.#unclaimed = { url, commits: this.#commits.length };
    else if (this.#isOwnShown()) this.#leave(url);
  }

  /** Page and browser both say so. The second word is nothing new, and whoever waits for the document goes on waiting. */
  #leave(url: string): void {
    if (this.#next?.isStarted !== true || this.#next.url !== url) this.#next = { url, delayMs: 0, isStarted: true };
  }

  /** The document is not left, or is another one now. */
  #stay(): void {
    this.#next = null;
    this.#left.resolve();
    this.#left = Promise.withResolvers();
  }

  #onLifecycle({ frameId, loaderId, name }: Protocol.Page.LifecycleEventEvent): void {
    if (frameId !== this.#tab.id) return;
    const names = this.#reached.get(loaderId) ?? new Set();
    this.#reached.set(loaderId, names.add(name));
    if (name === lifecycleNames.load) this.#requests?.restart();
    this.#check();
  }

  /** A page that began to load a file, and stays, has all that it loads: Chromium reports neither event for it. */
  #onStopped(): void {
    this.#stopped.resolve();
    this.#unclaimed = null;
    if (this.#next?.isStarted === true) this.#stay();
    const loaderId = this.#loaderId;
    const current = this.#commits.length;
    if (loaderId === null || this.#commits.at(-1) !== loaderId || ![...this.#begun.values()].includes(current)) return;
    this.#endLoad(loaderId);
  }

  /** Whether the document after the requested one was on its way before that was committed: no page redirected to it. */
  #isOvertaken(): boolean {
    const at = this.#ownId === null ? -1 : this.#commits.indexOf(this.#ownId);
    const next = this.#commits[at + 1];
    return at >= 0 && next !== undefined && (this.#begun.get(next) ?? Infinity) <= at;
  }

  /** Whether another document was committed since the request, as of a navigation that had run out of time: it ends what waits behind it. */
  #isReplaced(loaderId: string | undefined): boolean {
    return this.#commits.length > 0 && (loaderId === undefined || !this.#commits.includes(loaderId));
  }

  #check(): void {
    if (this.#loaderId === null) return;
    if (this.#isRepeatable && this.#isOvertaken()) return this.#committed.reject(new NavigationSupersededError());
    // After a crash a page may be committed in a new process before its events are on: only replayed events then show it.
    if (!this.#commits.includes(this.#loaderId) && !this.#reached.has(this.#loaderId)) return;
    if (this.#request.waitUntil === 'commit' || this.#hasReached(this.#loaderId, this.#request.waitUntil)) this.#committed.resolve();
  }

  /** The browser's own event of idle waits for event streams and long polls as well. */
  #hasReached(loaderId: string, event: keyof typeof lifecycleNames): boolean {
    const names = this.#reached.get(loaderId);
    if (names === undefined) return false;
    return (
      names.has(lifecycleNames[event]) || (event === 'networkidle' && names.has(lifecycleNames.load) && this.#requests?.isIdle === true)
    );
  }

  async #withoutPage(response: MainResponse): Promise<NavigationResult> {
    const { status, url } = response;
    // Without content the tab keeps its document; otherwise it shows the browser's error page.
    if (hasNoDocument(status)) return this.#describe(response, status);
    await this.#errorPage();
    this.#tab.statusCode = status;
    return { ...responseInfo(response), leadsTo: null, bodyError: null, finalUrl: url, title: '', statusCode: status };
  }

  /** A document of whose body nothing came is no page; one of which a part came is read when that is parsed. @throws NavigationError */
  async #requireBody(): Promise<void> {
    const requestId = this.#loaderId ?? '';
    const errorText = this.#bodyError(requestId);
    if (errorText === null) return;
    if (!this.#received.has(requestId)) throw loadError(this.#connection, errorText, { requestId, url: this.#shownUrl() });
    await this.#within(this.#stopped.promise, this.#scaledMs(parsedMsMax));
  }

  #conclude(): Promise<NavigationResult> {
    const response = this.#trail.of(this.#loaderId);
    this.#tab.statusCode = response?.status || null;
    return this.#describe(response, this.#tab.statusCode);
  }

  /** The redirects to the current document, with the documents before it that led on by themselves. */
  #redirects(response: MainResponse | undefined): MainResponse['redirects'] {
    const before = this.#commits.slice(this.#commits.indexOf(this.#ownId ?? ''), this.#commits.indexOf(this.#loaderId ?? ''));
    const passed = before.map((loaderId) => this.#trail.of(loaderId)).filter((each) => each !== undefined);
    return [
      ...passed.flatMap(({ redirects, url, status: statusCode }) => [...redirects, { url, statusCode }]),
      ...(response?.redirects ?? []),
    ];
  }

  async #describe(response: MainResponse | undefined, statusCode: number | null): Promise<NavigationResult> {
    const info = {
      ...responseInfo(response),
      redirects: this.#redirects(response),
      leadsTo: this.#leadsTo(),
      bodyError: this.#bodyError(this.#loaderId),
    };
    if (this.#readsPage) return { ...info, finalUrl: this.#committedUrl ?? this.#tab.url, title: this.#tab.title, statusCode };
    const asked = this.#connection.send('Target.getTargetInfo', { targetId: this.#tab.id }, { timeoutMs: this.#scaledMs(answerTimeoutMs) });
    const [{ targetInfo }, title] = await Promise.all([asked, this.#askTitle()]);
    // While a document is committed its tab has no URL for a moment.
    if (targetInfo.url === '') return { ...info, finalUrl: this.#committedUrl ?? this.#tab.url, title: title ?? '', statusCode };
    this.#tab.title = title ?? titleOf(targetInfo);
    return { ...info, finalUrl: targetInfo.url, title: this.#tab.title, statusCode };
  }

  /** Reads the title from the page, because the browser process learns it late; null if its scripts hang. */
  async #askTitle(): Promise<string | null> {
    const { sessionId } = this.#tab;
    try {
      const { result } = await this.#connection.send(
        'Runtime.evaluate',
        { expression: 'document.title', returnByValue: true },
        { sessionId, timeoutMs: this.#scaledMs(titleTimeoutMs) },
      );
      return typeof result.value === 'string' ? cutText(result.value, titleCharsMax) : null;
    } catch (error) {
      if (error instanceof BrowserClosedError) throw error;
      return null;
    }
  }

  /** An error page that is committed after the response would interrupt the caller's next call. */
  async #errorPage(): Promise<void> {
    if (this.#errorPageId === null) return;
    await orAfter(Promise.race([this.#errorShown.promise, this.#committed.promise]), this.#scaledMs(errorPageTimeoutMs)).catch(() => {});
  }

  /** A scaled limit within the caller's time. */
  #scaledMs(baseMs: number): number {
    return this.#connection.timeoutScale.ms(baseMs, this.#deadline.leftMs);
  }

  async #explain(error: unknown): Promise<unknown> {
    if (error instanceof NavigationSupersededError) return error;
    const { closed, sessionId } = this.#tab;
    await this.#errorPage();
    if (closed.signal.aborted) return closed.signal.reason;
    if (error instanceof BrowserClosedError || error instanceof TabNotFoundError) return error;
    if (error instanceof NavigationError && error.reason !== 'timeout') return error;
    if (error instanceof ProtocolError) {
      if (error.code === -32001) return new TabNotFoundError('the tab is closed');
      return this.#tab.status === 'crashed'
        ? crashError(this.#tab)
        : new NavigationError('aborted', 'net::ERR_ABORTED', 'The browser rejected the URL.');
    }
    await this.#connection.send('Page.stopLoading', undefined, { sessionId, timeoutMs: stopTimeoutMs }).catch(() => {});
    return error instanceof CommandTimeoutError ? timeoutError(null) : error;
  }
}

const responseInfo = (response: MainResponse | undefined): Pick<NavigationResult, 'headers' | 'cookieNames' | 'redirects' | 'ttfbMs'> => ({
  headers: response?.headers ?? {},
  cookieNames: response?.cookieNames ?? [],
  redirects: response?.redirects ?? [],
  ttfbMs: response?.ttfbMs ?? null,
});

const timeoutError = (ms: number | null): NavigationError =>
  new NavigationError(
    'timeout',
    'net::ERR_TIMED_OUT',
    ms === null ? 'The page did not load in time.' : `The page did not load within ${ms} ms.`,
  );

const crashError = (tab: Tab): NavigationError => new NavigationError('page_crashed', null, crashMessage(tab, ' while it was loading'));

const tooManyRedirects = (): NavigationError =>
  new NavigationError(
    'too_many_redirects',
    'net::ERR_TOO_MANY_REDIRECTS',
    `The page could not be loaded: more than ${documentsMax - 1} pages led from one to the next.`,
  );
