/**
 * The worker's own view of the tabs.
 *
 * The root session attaches to every page before its first script, whoever
 * opened it and in whatever browser context.
 */
import type { Protocol } from 'devtools-protocol';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { orAbort } from '../../lib/or-abort.ts';
import type { Connection } from '../cdp/connection.ts';
import { Dialogs } from './dialogs.ts';
import type { Display } from '../screencast/display.ts';
import {
  BrowserGone,
  LastTab,
  TabLimitReached,
  TabNotFound,
  type BrowserEvent,
  type BrowserSettings,
  type BrowserVersion,
  type TabInfo,
} from '../model.ts';
import { NetworkWatchers } from '../network/network-watchers.ts';
import { Preparation } from './preparation.ts';
import { order, pagesAndWorkers, pagesOnly, reachesDeep, usualSettings } from './settings.ts';
import { Titles } from './titles.ts';
import { TabSessions } from './tab-sessions.ts';
import { describeTab, goneTab, moveTab, newTab, type Tab } from './tab.ts';

export type { Tab } from './tab.ts';

type TargetInfo = Protocol.Target.TargetInfo;

/** A page that closes runs its unload work; one that hangs in it is ended by the browser after a few seconds. */
const closeLimitMs = 10_000;
/** A fetched page may open a window or two; more is a flood. */
const privateTabsMax = 4;

export interface TabsOptions {
  log: Log;
  clock: Clock;
  downloadsPath: string;
  display: Display;
  /** Whether a customer's client listens to this page's dialogs. */
  clientWatches(targetId: string): boolean;
  tell(event: BrowserEvent): void;
  /** What `list` gives has changed. */
  changed(): void;
}

export class Tabs {
  readonly preparation: Preparation;
  readonly #connection: Connection;
  readonly #options: TabsOptions;
  readonly titles: Titles;
  readonly network: NetworkWatchers;
  readonly #dialogs: Dialogs;
  readonly #tabs = new Map<string, Tab>();
  readonly sessions = new TabSessions();
  readonly #arrivals = new Map<string, (tab: Tab) => void>();
  /** Browser contexts that no caller sees, with their own settings. */
  readonly #privates = new Map<string, BrowserSettings>();
  #activeId: string | null = null;
  #opening = 0;
  #fresh: Promise<void> = Promise.resolve();
  #settings: BrowserSettings = usualSettings;
  #stopped = false;

  constructor(connection: Connection, options: TabsOptions) {
    this.#connection = connection;
    this.#options = options;
    this.preparation = new Preparation(connection, options);
    this.network = new NetworkWatchers(this.preparation, (tab) => this.settingsOf(tab));
    this.titles = new Titles(connection, (info) => this.#describe(info));
    this.#dialogs = new Dialogs({
      clientWatches: options.clientWatches,
      answer: (sessionId, { accept, text }) =>
        this.preparation.sendQuietly(
          order('Page.handleJavaScriptDialog', text === undefined ? { accept } : { accept, promptText: text }),
          sessionId,
        ),
      told: (tab, { type, message }) => this.#tell(tab, { type: 'dialog', tabId: tab.id, dialog: type, message }),
    });
    this.#listen();
  }

  #listen(): void {
    const connection = this.#connection;
    connection.on('Target.attachedToTarget', (event, parent) => this.#onAttached(event, parent));
    connection.on('Target.detachedFromTarget', ({ sessionId }) => this.#onDetached(sessionId));
    connection.on('Target.targetDestroyed', ({ targetId }) => this.#remove(targetId));
    connection.on('Target.targetCrashed', ({ targetId }) => this.#crash(this.#tabs.get(targetId)));
    connection.on('Inspector.targetCrashed', (_, sessionId) => this.#crash(this.sessions.pageOf(sessionId)));
    connection.on('Target.targetInfoChanged', ({ targetInfo }) => this.#describe(targetInfo));
    connection.on('Page.frameStartedLoading', ({ frameId }, sessionId) => this.#setStatus(sessionId, frameId, 'loading'));
    connection.on('Page.frameStoppedLoading', ({ frameId }, sessionId) => this.#setStatus(sessionId, frameId, 'complete'));
    connection.on('Page.frameNavigated', ({ frame }, sessionId) => this.#onNavigated(frame, this.sessions.of(sessionId)));
    connection.on('Page.javascriptDialogOpening', (event, sessionId) => this.#dialogs.opened(event, this.sessions.of(sessionId)));
    connection.on('Page.javascriptDialogClosed', (_, sessionId) => this.#dialogs.forget(sessionId));
    connection.on('Fetch.requestPaused', (event, sessionId) => this.#onPaused(event, sessionId));
  }

  /** Attaches to what is there. Resolves when the browser has answered; its first page may still be on its way. */
  async start(): Promise<BrowserVersion> {
    const attached = Promise.all([
      this.#connection.send('Target.setDiscoverTargets', { discover: true, filter: pagesAndWorkers }),
      this.#connection.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: pagesOnly }),
    ]);
    this.#await(attached.then(() => this.#firstTab()));
    this.preparation.version = await this.#connection.send('Browser.getVersion', undefined);
    return this.preparation.version;
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
    return this.#open().length + this.#opening;
  }

  get settings(): BrowserSettings {
    return this.#settings;
  }

  settingsOf(tab: Tab): BrowserSettings {
    return (tab.contextId === undefined ? undefined : this.#privates.get(tab.contextId)) ?? this.#settings;
  }

  /** Everything is sent in one go, so that a warm machine is ready after one trip. */
  async apply(settings: BrowserSettings): Promise<void> {
    const before = this.#settings;
    this.#settings = settings;
    const sent: Promise<void>[] = [this.#options.display.fit(settings.viewport)];
    if (settings.acceptDownloads !== before.acceptDownloads) sent.push(this.preparation.send(this.preparation.downloads(settings)));
    if (reachesDeep(settings)) {
      const filter = pagesAndWorkers;
      sent.push(
        this.preparation.send(order('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter })),
      );
    }
    for (const tab of this.#open()) {
      sent.push(...this.preparation.apply(tab, settings));
    }
    await Promise.all(sent);
  }

  /** What a private page is asked for, once it is known: it may have been made ahead. */
  async applyPrivate(tab: Tab, settings: BrowserSettings): Promise<void> {
    if (tab.contextId !== undefined) this.#privates.set(tab.contextId, settings);
    await Promise.all(this.preparation.apply(tab, settings));
  }

  /** The same for a session's own tab, for as long as it is borrowed. */
  async applyBorrowed(tab: Tab, { blockResources, extraHeaders }: Pick<BrowserSettings, 'blockResources' | 'extraHeaders'>): Promise<void> {
    const own = this.#settings;
    const blocked = [...new Set([...own.blockResources, ...blockResources])];
    await Promise.all(
      this.preparation.apply(tab, { ...own, blockResources: blocked, extraHeaders: { ...own.extraHeaders, ...extraHeaders } }),
    );
  }

  async endBorrowed(tab: Tab): Promise<void> {
    if (tab.gone.signal.aborted) return;
    const { preparation } = this;
    const headers =
      Object.keys(this.#settings.extraHeaders).length > 0
        ? []
        : [preparation.send(order('Network.setExtraHTTPHeaders', { headers: {} }), tab.sessionId)];
    await Promise.all([
      preparation.send(order('Fetch.disable', undefined), tab.sessionId),
      ...headers,
      ...preparation.apply(tab, this.#settings),
    ]);
  }

  list(): TabInfo[] {
    return this.#open().map((tab) => this.#toInfo(tab));
  }

  all(): Tab[] {
    return [...this.#tabs.values()];
  }

  active(): TabInfo {
    return this.#toInfo(this.get(this.#activeId ?? ''));
  }

  /** @throws TabNotFound */
  get(tabId: string): Tab {
    const tab = this.#tabs.get(tabId);
    if (!tab || tab.closing || tab.isPrivate) throw new TabNotFound(`no tab ${tabId.slice(0, 64)}`);
    return tab;
  }

  /** Makes a tab the one that drive calls mean when they name none. */
  activate(tabId: string): void {
    const tab = this.#tabs.get(tabId);
    if (!tab || tab.isPrivate || this.#activeId === tabId) return;
    this.#activeId = tabId;
    this.#options.changed();
  }

  /** Brings it to the front first. @throws TabNotFound */
  async bringToFront(tabId: string, signal: AbortSignal): Promise<void> {
    const { sessionId, gone } = this.get(tabId);
    try {
      await this.#connection.send('Page.bringToFront', undefined, { sessionId, signal });
    } catch (error) {
      throw gone.signal.aborted ? gone.signal.reason : error;
    }
    this.activate(tabId);
  }

  /** The active one itself; null while there is none. */
  get front(): Tab | null {
    return this.#tabs.get(this.#activeId ?? '') ?? null;
  }

  /** @throws TabLimitReached */
  async open(options: { active: boolean; signal?: AbortSignal }): Promise<TabInfo> {
    if (this.count >= this.limit) throw new TabLimitReached(this.limit);
    this.#opening += 1;
    let tab: Tab;
    try {
      tab = await this.#create({ url: 'about:blank', background: !options.active }, options.signal);
    } finally {
      this.#opening -= 1;
    }
    await tab.ready;
    if (tab.gone.signal.aborted) throw new TabLimitReached(this.limit);
    if (options.active) this.activate(tab.id);
    return this.#toInfo(tab);
  }

  /** A page in a browser context that nobody else has. Its context goes with `closePrivate`. */
  async openPrivate(settings: BrowserSettings, signal: AbortSignal): Promise<Tab> {
    const { browserContextId } = await this.#connection.send('Target.createBrowserContext', { disposeOnDetach: false }, { signal });
    this.#privates.set(browserContextId, settings);
    try {
      const tab = await this.#create({ url: 'about:blank', browserContextId, background: true }, signal);
      await orAbort(tab.ready, signal);
      return tab;
    } catch (error) {
      // Whoever gave up does not wait for what is left of it.
      void this.closePrivate(browserContextId);
      throw error;
    }
  }

  async closePrivate(contextId: string): Promise<void> {
    this.preparation.forgetContext(contextId);
    await this.preparation.send(order('Target.disposeBrowserContext', { browserContextId: contextId }));
    this.#privates.delete(contextId);
  }

  async #create(params: Protocol.Target.CreateTargetRequest, signal: AbortSignal | undefined): Promise<Tab> {
    const { targetId } = await this.#connection.send('Target.createTarget', params, { signal });
    return this.#tabs.get(targetId) ?? (await this.#arrival(targetId, signal));
  }

  /** @throws TabNotFound, LastTab */
  async close(tabId: string, signal: AbortSignal): Promise<void> {
    const tab = this.get(tabId);
    const staying = this.#open().filter((each) => !each.closing).length;
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
    this.preparation.stop();
    this.#dialogs.stop();
    this.titles.stop();
    for (const tab of this.#tabs.values()) tab.gone.abort(new BrowserGone('the browser is gone'));
  }

  /** By a frame of its main process; a frame of another one belongs to no tab that we know. */
  ofFrame(frameId: string): Tab | undefined {
    return this.#tabs.get(frameId);
  }

  #open(): Tab[] {
    return [...this.#tabs.values()].filter(({ isPrivate }) => !isPrivate);
  }

  #late(): AbortSignal {
    return AbortSignal.timeout(this.#connection.patience.ms(closeLimitMs));
  }

  #untilGone(tab: Tab, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const either = AbortSignal.any([signal, this.#late()]);
    if (tab.gone.signal.aborted) resolve();
    tab.gone.signal.addEventListener('abort', () => resolve(), { once: true });
    either.addEventListener('abort', () => reject(either.reason as Error), { once: true });
    return promise;
  }

  async #arrival(targetId: string, signal: AbortSignal | undefined): Promise<Tab> {
    const { promise, resolve, reject } = Promise.withResolvers<Tab>();
    const either = AbortSignal.any([this.#late(), ...(signal ? [signal] : [])]);
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
    if (targetInfo.type === 'page' && parent === undefined) {
      this.#add(sessionId, targetInfo, waitingForDebugger);
      return;
    }
    const tab = this.sessions.of(parent);
    if (tab) this.sessions.add(sessionId, tab);
    const settings = tab ? this.settingsOf(tab) : this.#settings;
    this.preparation.child(sessionId, targetInfo.type, { settings, watched: (tab?.networkWatchers ?? 0) > 0, waiting: waitingForDebugger });
  }

  #add(sessionId: string, info: TargetInfo, waiting: boolean): void {
    const isPrivate = info.browserContextId !== undefined && this.#privates.has(info.browserContextId);
    if (this.#isTooMany(info, isPrivate)) {
      this.#refuse(sessionId, info, { waiting, isPrivate });
      return;
    }
    const tab = newTab(sessionId, info, { isPrivate, createdAt: this.#options.clock.now() });
    this.#tabs.set(tab.id, tab);
    this.sessions.add(sessionId, tab);
    if (!isPrivate) this.#activeId ??= tab.id;
    // Set before the first document: a page that is made ahead must not be told again when it is used.
    else tab.takesDocuments = (paused) => this.#letGo(paused, sessionId);
    if (this.settingsOf(tab).keepNetworkLog || (this.network.watchesAll && !isPrivate)) tab.networkWatchers += 1;
    this.#describe(info);
    tab.ready = this.preparation.page(tab, this.settingsOf(tab), waiting);
    this.#tell(tab, { type: 'tab.opened', tabId: tab.id, url: tab.url, openerTabId: tab.openerId });
    this.#changed(tab);
    this.#arrivals.get(tab.id)?.(tab);
  }

  #isTooMany({ browserContextId }: TargetInfo, isPrivate: boolean): boolean {
    if (!isPrivate) return this.#open().length >= this.limit;
    return this.all().filter(({ contextId }) => contextId === browserContextId).length >= privateTabsMax;
  }

  #refuse(sessionId: string, info: TargetInfo, { waiting, isPrivate }: { waiting: boolean; isPrivate: boolean }): void {
    this.#options.log.info({ url: info.url.slice(0, 200) }, 'a tab beyond the limit is closed');
    if (!isPrivate) this.#options.tell({ type: 'tab.refused', url: info.url.slice(0, 2048), limit: this.limit });
    this.preparation.sendQuietly(order('Target.closeTarget', { targetId: info.targetId }));
    // A page that waits does not close: its opener would wait for it, in `window.open`, for ever.
    if (waiting) this.preparation.sendQuietly(order('Runtime.runIfWaitingForDebugger', undefined), sessionId);
  }

  /** What waits is of a kind that was asked to be blocked, or a document whose response is looked at first. */
  #onPaused(event: Protocol.Fetch.RequestPausedEvent, sessionId: string | undefined): void {
    const { requestId, responseStatusCode, responseErrorReason } = event;
    const answered = responseStatusCode !== undefined || responseErrorReason !== undefined;
    const tab = this.sessions.of(sessionId);
    if (tab?.showsBlankSites) return;
    if (!answered) this.preparation.sendQuietly(order('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' }), sessionId);
    else if (tab?.takesDocuments && event.frameId === tab.id && sessionId === tab.sessionId) tab.takesDocuments(event);
    else this.#letGo(event, sessionId);
  }

  #letGo({ requestId }: Protocol.Fetch.RequestPausedEvent, sessionId: string | undefined): void {
    this.preparation.sendQuietly(order('Fetch.continueResponse', { requestId }), sessionId);
  }

  #onDetached(sessionId: string): void {
    this.#connection.disown(sessionId);
    this.#dialogs.forget(sessionId);
    this.sessions.remove(sessionId);
  }

  #remove(targetId: string): void {
    const tab = this.#tabs.get(targetId);
    if (!tab) return;
    this.#tabs.delete(targetId);
    this.#onDetached(tab.sessionId);
    this.sessions.removeAll(tab);
    tab.gone.abort(goneTab());
    this.#tell(tab, { type: 'tab.closed', tabId: tab.id });
    const open = this.#open();
    if (this.#activeId === targetId) this.#activeNext(open.find(({ id }) => id === tab.openerId) ?? open.at(-1));
    this.#changed(tab);
    // A session without a tab cannot be driven, so whoever closed the last one finds a fresh one.
    if (open.length === 0 && this.#opening === 0 && !this.#stopped) this.#await(this.open({ active: true }));
  }

  #activeNext(tab: Tab | undefined): void {
    this.#activeId = tab?.id ?? null;
    // On a display the browser shows the one that it likes best.
    if (tab && this.#options.display.isThere) this.preparation.sendQuietly(order('Page.bringToFront', undefined), tab.sessionId);
  }

  #crash(tab: Tab | undefined): void {
    if (!tab || tab.status === 'crashed') return;
    tab.status = 'crashed';
    this.#tell(tab, { type: 'tab.crashed', tabId: tab.id });
    this.#changed(tab);
  }

  #setStatus(sessionId: string | undefined, frameId: string, status: TabInfo['status']): void {
    const tab = this.sessions.of(sessionId);
    // A page's main frame bears the target's id.
    if (!tab || frameId !== tab.id || tab.status === status) return;
    tab.status = status;
    this.#changed(tab);
  }

  #onNavigated(frame: Protocol.Page.Frame, tab: Tab | undefined): void {
    if (!tab || frame.id !== tab.id) return;
    // The browser process tells it too, a little later.
    moveTab(tab, frame.unreachableUrl ?? frame.url + (frame.urlFragment ?? ''));
    this.#tell(tab, { type: 'navigation', tabId: tab.id, url: frame.url.slice(0, 2048) });
    this.#changed(tab);
  }

  #describe(info: TargetInfo): void {
    const tab = this.#tabs.get(info.targetId);
    if (!tab) return;
    const { url, title } = tab;
    describeTab(tab, info);
    if (tab.url !== url || tab.title !== title) this.#changed(tab);
  }

  #tell(tab: Tab, event: BrowserEvent): void {
    if (!tab.isPrivate) this.#options.tell(event);
  }

  #changed(tab: Tab): void {
    if (!tab.isPrivate) this.#options.changed();
  }

  #toInfo(tab: Tab): TabInfo {
    const { id: tabId, url, title, openerId: openerTabId, createdAt, status } = tab;
    return { tabId, url, title, active: tabId === this.#activeId, openerTabId, createdAt, status };
  }
}
