/**
 * The worker's own view of the tabs.
 *
 * The root session attaches to every page before its first script, whoever
 * opened it and in whatever browser context. A page waits until the settings
 * are sent; commands of one session are obeyed in their order, so they are sent
 * in one go with the release at the end and nobody waits for the answers but
 * those who ask for `ready`.
 */
import type { Protocol } from 'devtools-protocol';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { BrowserSettings, BrowserVersion, TabInfo } from './model.ts';
import type { Connection } from './connection.ts';
import { BrowserGone, LastTab, TabLimitReached, TabNotFound } from './model.ts';
import { downloadOrder, frameOrders, order, pageOrders, reachesDeep, usualSettings, viewportOrder, workerOrders, type Order } from './settings.ts';

type TargetInfo = Protocol.Target.TargetInfo;

/** Enough for any title that a person reads and any address that a server takes; a page may set megabytes. */
export const longestTitle = 1024;
const longestUrl = 8192;

/** A client that handles dialogs answers in milliseconds; a person at its console needs some seconds. */
const dialogGraceMs = 10_000;

/** A page that closes runs its unload work; one that hangs in it is ended by the browser after a few seconds. */
const closeLimitMs = 10_000;

/** Kinds of targets that are never anybody's business: the browser's own user interface, and the wrappers around pages. */
const pagesOnly = [{ type: 'page' }, { exclude: true }] as { type?: string; exclude?: boolean }[];
const pagesAndWorkers = [{ type: 'page' }, { type: 'service_worker' }, { type: 'shared_worker' }, { exclude: true }] as { type?: string; exclude?: boolean }[];
const framesAndWorkers = [{ type: 'iframe' }, { type: 'worker' }, { type: 'shared_worker' }, { type: 'service_worker' }, { exclude: true }] as {
  type?: string;
  exclude?: boolean;
}[];

export interface Tab {
  readonly id: string;
  readonly sessionId: string;
  readonly openerId: string | null;
  readonly contextId: string | undefined;
  readonly createdAt: Date;
  url: string;
  title: string;
  status: TabInfo['status'];
  /** Status of the document that is shown, where a navigation of ours has seen it. */
  statusCode: number | null;
  closing: boolean;
  viewport: BrowserSettings['viewport'] | null;
  window: { id: number; width: number; height: number } | null;
  ready: Promise<void>;
  /** Aborted when the tab is gone. */
  readonly gone: AbortController;
}

/** A page without a title is described by its address, which is no title. */
export function titleOf({ title, url }: Pick<TargetInfo, 'title' | 'url'>): string {
  const untitled = title === url || url.replace(/^https?:\/\//, '').replace(/\/$/, '') === title;
  return untitled ? '' : title.slice(0, longestTitle);
}

export interface TabsOptions {
  log: Log;
  clock: Clock;
  downloadsPath: string;
  /** Whether a customer's client listens to this page's dialogs. */
  clientWatches(targetId: string): boolean;
}

export class Tabs {
  readonly #connection: Connection;
  readonly #options: TabsOptions;
  readonly #tabs = new Map<string, Tab>();
  readonly #bySession = new Map<string, Tab>();
  readonly #dialogTimers = new Map<string, NodeJS.Timeout>();
  readonly #arrivals = new Map<string, (tab: Tab) => void>();
  readonly #contexts = new Set<string>();
  #activeId: string | null = null;
  #opening = 0;
  #fresh: Promise<void> = Promise.resolve();
  #settings: BrowserSettings = usualSettings;
  #version: BrowserVersion = { product: '', protocolVersion: '', userAgent: '', jsVersion: '' };
  #stopped = false;

  constructor(connection: Connection, options: TabsOptions) {
    this.#connection = connection;
    this.#options = options;
    connection.on('Target.attachedToTarget', (event, parent) => this.#onAttached(event, parent));
    connection.on('Target.detachedFromTarget', ({ sessionId }) => this.#onDetached(sessionId));
    connection.on('Target.targetDestroyed', ({ targetId }) => this.#remove(targetId));
    connection.on('Target.targetCrashed', ({ targetId }) => this.#crash(this.#tabs.get(targetId)));
    connection.on('Inspector.targetCrashed', (_, sessionId) => this.#crash(this.#ofSession(sessionId)));
    connection.on('Target.targetInfoChanged', ({ targetInfo }) => this.#describe(targetInfo));
    connection.on('Page.frameStartedLoading', ({ frameId }, sessionId) => this.#setStatus(sessionId, frameId, 'loading'));
    connection.on('Page.frameStoppedLoading', ({ frameId }, sessionId) => this.#setStatus(sessionId, frameId, 'complete'));
    connection.on('Page.javascriptDialogOpening', (event, sessionId) => this.#onDialog(event, this.#ofSession(sessionId)));
    connection.on('Page.javascriptDialogClosed', (_, sessionId) => this.#forgetDialog(sessionId));
    connection.on('Fetch.requestPaused', ({ requestId }, sessionId) =>
      this.#sendQuietly(['Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' }], sessionId),
    );
  }

  /** Attaches to what is there. Resolves when the browser has answered; its first page may still be on its way. */
  async start(): Promise<BrowserVersion> {
    const attached = Promise.all([
      this.#connection.send('Target.setDiscoverTargets', { discover: true, filter: pagesAndWorkers }),
      this.#connection.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: pagesOnly }),
    ]);
    this.#await(attached.then(() => this.#firstTab()));
    this.#version = await this.#connection.send('Browser.getVersion', undefined);
    return this.#version;
  }

  async #firstTab(): Promise<void> {
    if (this.#tabs.size === 0) await this.open({ active: true });
    else await Promise.all([...this.#tabs.values()].map((tab) => tab.ready));
  }

  /** Settles when there is a tab to drive: after the start, and while a fresh one takes the place of the last. */
  get fresh(): Promise<void> {
    return this.#fresh;
  }

  #await(fresh: Promise<unknown>): void {
    this.#fresh = fresh.then(() => undefined);
    this.#fresh.catch((error: unknown) => this.#options.log.debug({ error }, 'no fresh tab could be opened'));
  }

  get limit(): number {
    return this.#settings.tabLimit;
  }

  get count(): number {
    return this.#tabs.size + this.#opening;
  }

  get downloadsAccepted(): boolean {
    return this.#settings.acceptDownloads;
  }

  /** Whether settings of this session live in the Network domain of each page. */
  get needsNetwork(): boolean {
    return Object.keys(this.#settings.extraHeaders).length > 0;
  }

  /** Everything is sent in one go, so that a warm machine is ready after one trip. */
  async apply(settings: BrowserSettings): Promise<void> {
    const before = this.#settings;
    this.#settings = settings;
    const sent: Promise<void>[] = [];
    if (settings.acceptDownloads !== before.acceptDownloads) sent.push(this.#send(this.#downloads()));
    if (reachesDeep(settings)) {
      const filter = pagesAndWorkers;
      sent.push(this.#send(order('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter })));
    }
    for (const tab of this.#tabs.values()) sent.push(...this.#pageSettings(tab, settings));
    await Promise.all(sent);
  }

  /** A client that leaves takes its own download settings back, and with them those of the session. */
  restoreDownloads(): void {
    this.#sendQuietly(this.#downloads());
    for (const contextId of this.#contexts) this.#sendQuietly(this.#downloads(contextId));
  }

  #downloads(browserContextId?: string): Order {
    const params = downloadOrder(this.#settings.acceptDownloads, this.#options.downloadsPath);
    return order('Browser.setDownloadBehavior', browserContextId === undefined ? params : { ...params, browserContextId });
  }

  list(): TabInfo[] {
    return [...this.#tabs.values()].map((tab) => this.#toInfo(tab));
  }

  active(): TabInfo {
    return this.#toInfo(this.get(this.#activeId ?? ''));
  }

  /** @throws TabNotFound */
  get(tabId: string): Tab {
    const tab = this.#tabs.get(tabId);
    if (!tab || tab.closing) throw new TabNotFound(`no tab ${tabId.slice(0, 64)}`);
    return tab;
  }

  /** Makes a tab the one that drive calls mean when they name none. */
  activate(tabId: string): void {
    if (this.#tabs.has(tabId)) this.#activeId = tabId;
  }

  /** @throws TabLimitReached */
  async open(options: { active: boolean; signal?: AbortSignal }): Promise<TabInfo> {
    if (this.count >= this.limit) throw new TabLimitReached(this.limit);
    this.#opening += 1;
    let tab: Tab;
    try {
      const { targetId } = await this.#connection.send('Target.createTarget', { url: 'about:blank', background: !options.active }, { signal: options.signal });
      tab = this.#tabs.get(targetId) ?? (await this.#arrival(targetId, options.signal));
    } finally {
      this.#opening -= 1;
    }
    await tab.ready;
    if (tab.gone.signal.aborted) throw new TabLimitReached(this.limit);
    if (options.active) this.#activeId = tab.id;
    return this.#toInfo(tab);
  }

  /** @throws TabNotFound, LastTab */
  async close(tabId: string, signal: AbortSignal): Promise<void> {
    const tab = this.get(tabId);
    const staying = [...this.#tabs.values()].filter((each) => !each.closing).length;
    if (staying <= 1) throw new LastTab('the last tab stays open');
    tab.closing = true;
    try {
      const gone = this.#untilGone(tab, signal);
      await Promise.all([gone, this.#connection.send('Target.closeTarget', { targetId: tab.id }, { signal })]);
    } finally {
      tab.closing = false;
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#dialogTimers.values()) clearTimeout(timer);
    this.#dialogTimers.clear();
    for (const tab of this.#tabs.values()) tab.gone.abort(new BrowserGone('the browser is gone'));
  }

  #untilGone(tab: Tab, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const either = AbortSignal.any([signal, AbortSignal.timeout(closeLimitMs)]);
    if (tab.gone.signal.aborted) resolve();
    tab.gone.signal.addEventListener('abort', () => resolve(), { once: true });
    either.addEventListener('abort', () => reject(either.reason as Error), { once: true });
    return promise;
  }

  async #arrival(targetId: string, signal: AbortSignal | undefined): Promise<Tab> {
    const { promise, resolve, reject } = Promise.withResolvers<Tab>();
    const either = AbortSignal.any([AbortSignal.timeout(closeLimitMs), ...(signal ? [signal] : [])]);
    either.addEventListener('abort', () => reject(either.reason as Error), { once: true });
    this.#arrivals.set(targetId, resolve);
    try {
      return await promise;
    } finally {
      this.#arrivals.delete(targetId);
    }
  }

  #onAttached({ sessionId, targetInfo, waitingForDebugger }: Protocol.Target.AttachedToTargetEvent, parent: string | undefined): void {
    if (targetInfo.type === 'browser') return;
    if (targetInfo.type === 'page' && parent === undefined) this.#add(sessionId, targetInfo, waitingForDebugger);
    else this.#prepareChild(sessionId, targetInfo.type, waitingForDebugger);
  }

  #add(sessionId: string, info: TargetInfo, waiting: boolean): void {
    if (this.#tabs.size >= this.limit) {
      this.#options.log.info({ url: info.url.slice(0, 200) }, 'a tab beyond the limit is closed');
      this.#sendQuietly(order('Target.closeTarget', { targetId: info.targetId }));
      // A page that waits does not close: its opener would wait for it, in `window.open`, for ever.
      if (waiting) this.#sendQuietly(order('Runtime.runIfWaitingForDebugger', undefined), sessionId);
      return;
    }
    const tab: Tab = {
      id: info.targetId,
      sessionId,
      openerId: info.openerId ?? null,
      contextId: info.browserContextId,
      createdAt: this.#options.clock.now(),
      url: info.url.slice(0, longestUrl),
      title: '',
      status: 'complete',
      statusCode: null,
      closing: false,
      viewport: null,
      window: null,
      ready: Promise.resolve(),
      gone: new AbortController(),
    };
    this.#tabs.set(tab.id, tab);
    this.#bySession.set(sessionId, tab);
    this.#activeId ??= tab.id;
    this.#describe(info);
    tab.ready = this.#preparePage(tab, waiting);
    this.#arrivals.get(tab.id)?.(tab);
  }

  async #preparePage(tab: Tab, waiting: boolean): Promise<void> {
    const { sessionId } = tab;
    // Focus emulation keeps a page awake behind another tab: else it draws no frame, and clicks and screenshots there wait for ever.
    const sent = [this.#send(order('Page.enable', {}), sessionId), this.#send(order('Emulation.setFocusEmulationEnabled', { enabled: true }), sessionId)];
    if (tab.contextId !== undefined && !this.#contexts.has(tab.contextId)) {
      // A browser context that a client has made has download settings of its own.
      this.#contexts.add(tab.contextId);
      sent.push(this.#send(this.#downloads(tab.contextId)));
    }
    sent.push(...this.#pageSettings(tab, this.#settings));
    if (waiting) sent.push(this.#send(order('Runtime.runIfWaitingForDebugger', undefined), sessionId));
    sent.push(this.#measureWindow(tab));
    await Promise.all(sent);
  }

  #pageSettings(tab: Tab, settings: BrowserSettings): Promise<void>[] {
    const sent = pageOrders(settings, this.#version).map((each) => this.#send(each, tab.sessionId));
    if (tab.viewport !== settings.viewport && JSON.stringify(tab.viewport) !== JSON.stringify(settings.viewport)) {
      tab.viewport = settings.viewport;
      sent.push(this.#send(viewportOrder(settings.viewport), tab.sessionId));
    }
    if (reachesDeep(settings)) sent.push(this.#send(deepAttachment, tab.sessionId));
    if (tab.window) sent.push(this.#sizeWindow(tab.window, settings));
    return sent;
  }

  async #measureWindow(tab: Tab): Promise<void> {
    const answer = await this.#connection.send('Browser.getWindowForTarget', { targetId: tab.id }).catch(() => null);
    if (!answer) return;
    const { width = 0, height = 0 } = answer.bounds;
    tab.window = { id: answer.windowId, width, height };
    await this.#sizeWindow(tab.window, this.#settings);
  }

  async #sizeWindow(window: NonNullable<Tab['window']>, { viewport: { width, height } }: BrowserSettings): Promise<void> {
    if (window.width === width && window.height === height) return;
    Object.assign(window, { width, height });
    await this.#send(order('Browser.setWindowBounds', { windowId: window.id, bounds: { left: 0, top: 0, width, height } }));
  }

  #prepareChild(sessionId: string, type: string, waiting: boolean): void {
    const orders = type === 'iframe' ? frameOrders(this.#settings, this.#version) : workerOrders(this.#settings, this.#version);
    for (const each of orders) this.#sendQuietly(each, sessionId);
    this.#sendQuietly(deepAttachment, sessionId);
    if (waiting) this.#sendQuietly(order('Runtime.runIfWaitingForDebugger', undefined), sessionId);
  }

  /** A target may die, or know a command not, while it is prepared: then there is nothing left to prepare. */
  async #send([method, params]: Order, sessionId?: string): Promise<void> {
    try {
      await this.#connection.send(method, params, { sessionId });
    } catch (error) {
      if (!this.#stopped) this.#options.log.debug({ error, method }, 'a setting was not taken');
    }
  }

  #sendQuietly(each: Order, sessionId?: string): void {
    void this.#send(each, sessionId);
  }

  #onDetached(sessionId: string): void {
    this.#connection.disown(sessionId);
    this.#forgetDialog(sessionId);
    this.#bySession.delete(sessionId);
  }

  #remove(targetId: string): void {
    const tab = this.#tabs.get(targetId);
    if (!tab) return;
    this.#tabs.delete(targetId);
    this.#onDetached(tab.sessionId);
    tab.gone.abort(new TabNotFound('the tab is closed'));
    if (this.#activeId === targetId) this.#activeId = (tab.openerId && this.#tabs.has(tab.openerId) ? tab.openerId : [...this.#tabs.keys()].at(-1)) ?? null;
    // A session without a tab cannot be driven, so whoever closed the last one finds a fresh one.
    if (this.#tabs.size === 0 && this.#opening === 0 && !this.#stopped) this.#await(this.open({ active: true }));
  }

  #ofSession(sessionId: string | undefined): Tab | undefined {
    return sessionId === undefined ? undefined : this.#bySession.get(sessionId);
  }

  #crash(tab: Tab | undefined): void {
    if (tab) tab.status = 'crashed';
  }

  #setStatus(sessionId: string | undefined, frameId: string, status: TabInfo['status']): void {
    const tab = this.#ofSession(sessionId);
    // A page's main frame bears the target's id.
    if (tab && frameId === tab.id) tab.status = status;
  }

  #describe(info: TargetInfo): void {
    const tab = this.#tabs.get(info.targetId);
    // A tab whose document is just moving in has no address for a moment.
    if (!tab || info.type !== 'page' || info.url === '') return;
    tab.url = info.url.slice(0, longestUrl);
    tab.title = titleOf(info);
  }

  #onDialog({ type }: Protocol.Page.JavascriptDialogOpeningEvent, tab: Tab | undefined): void {
    if (!tab) return;
    const { sessionId } = tab;
    const answer = (): void => this.#sendQuietly(order('Page.handleJavaScriptDialog', { accept: type === 'beforeunload' }), sessionId);
    this.#forgetDialog(sessionId);
    if (!this.#options.clientWatches(tab.id)) answer();
    else this.#dialogTimers.set(sessionId, setTimeout(answer, dialogGraceMs));
  }

  #forgetDialog(sessionId: string | undefined): void {
    if (sessionId === undefined) return;
    clearTimeout(this.#dialogTimers.get(sessionId));
    this.#dialogTimers.delete(sessionId);
  }

  #toInfo(tab: Tab): TabInfo {
    const { id: tabId, url, title, openerId: openerTabId, createdAt, status } = tab;
    return { tabId, url, title, active: tabId === this.#activeId, openerTabId, createdAt, status };
  }
}

const deepAttachment = order('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: framesAndWorkers });
