/**
 * The tabs of a browser.
 *
 * The root session attaches to every page before its first script, in every
 * browser context.
 */
import type { Protocol } from 'devtools-protocol';
import { cutText } from '@berth/lib/text/text.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { orAbort, whenAborted } from '@berth/lib/or-abort.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import { CommandTimeoutError, type Connection } from '../cdp/connection.ts';
import { isHiddenAddress } from '../cdp/clients/client-rules.ts';
import type { PausedTarget } from '../cdp/multiplexer.ts';
import { ActiveTab } from './active-tab.ts';
import { BackgroundRendering } from './background-rendering.ts';
import { Dialogs, TabSessions, describeTab, tabClosedError, moveTab, createTab, type Tab } from './tab.ts';
import type { Display } from '../screencast/display.ts';
import {
  BrowserClosedError,
  LastTabError,
  TabLimitReachedError,
  TabNotFoundError,
  type BrowserEvent,
  type BrowserSettings,
  type BrowserVersion,
  type TabInfo,
} from '../interface.ts';
import { NetworkWatchers } from '../network/network-watchers.ts';
import { TabOpener } from './opening.ts';
import { PopupSizes } from './popup-sizes.ts';
import { Preparation, resumeCommand, type HoldResume } from './preparation.ts';
import { Prompts } from './prompts.ts';
import { commandCall, allTargets, pagesOnly } from './settings.ts';
import { TabSettings } from './tab-settings.ts';
import { Titles } from './titles.ts';

type TargetInfo = Protocol.Target.TargetInfo;

/** A closing page runs its unload handlers; the browser ends one that hangs after a few seconds. */
const closeTimeoutMs = 10_000;
/** Timeout of tabs that no caller waits for with a deadline of its own: a session's first, and those of private pages. */
const openTimeoutMs = 20_000;
/** Events are retained, and listeners need no longer URL. */
const eventUrlCharsMax = 2048;
/** A fetched page may open a window or two; more is abuse. */
const privateTabsMax = 4;

/** Whether it is the page that a person gets who opens a tab in the browser's window. */
const isNewTabPage = (url: string): boolean => /^chrome:\/\/new-?tab[a-z-]*\/?$/.test(url);

const resumeAtOnce: HoldResume = (resume) => resume();

interface TabsDeps {
  log: Log;
  clock: Clock;
  downloadsPath: string;
  display: Display;
  /** Whether a customer's client handles this page's dialogs. */
  isClientWatching(targetId: string): boolean;
  /** Whether a client waits for a reply of this page. */
  isClientWaiting(targetId: string): boolean;
  /** Calls `resume` when every client that waits on the target is ready. */
  holdResume(target: PausedTarget, resume: () => void): void;
  emit(event: BrowserEvent): void;
  /** The result of `list` has changed. */
  onChanged(): void;
}

export class Tabs {
  readonly preparation: Preparation;
  readonly #connection: Connection;
  readonly #deps: TabsDeps;
  readonly titles: Titles;
  readonly network: NetworkWatchers;
  readonly #dialogs: Dialogs;
  readonly prompts: Prompts;
  readonly #tabs = new Map<string, Tab>();
  readonly sessions = new TabSessions();
  readonly settings: TabSettings;
  readonly #opener: TabOpener;
  readonly #active: ActiveTab;
  readonly #backgroundRendering: BackgroundRendering;
  readonly #popupSizes = new PopupSizes();
  /** The browser context of the first tab, where the session's own tabs are. Clients may open others. */
  #ownContextId: string | undefined;
  #fresh: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(connection: Connection, options: TabsDeps) {
    this.#connection = connection;
    this.#deps = options;
    this.preparation = new Preparation(connection, options);
    const { preparation } = this;
    this.settings = new TabSettings({ preparation, display: options.display, publicTabs: () => this.#publicTabs() });
    this.#active = new ActiveTab({ preparation, display: options.display });
    this.#backgroundRendering = new BackgroundRendering(connection, {
      log: options.log,
      display: options.display,
      hasNeighbour: (tab) => this.#hasNeighbour(tab),
      isAwaited: (targetId) => options.isClientWaiting(targetId),
    });
    this.#opener = new TabOpener(connection, {
      find: (targetId) => this.#tabs.get(targetId),
      discard: (targetId) => this.#discard(targetId),
    });
    this.network = new NetworkWatchers(preparation, (tab) => this.settings.of(tab));
    this.titles = new Titles(connection, (info) => this.#describe(info));
    this.prompts = new Prompts(connection, {
      sessions: () => this.sessions.public(),
      tabOf: (sessionId) => this.sessions.publicOf(sessionId),
      onChanged: () => options.onChanged(),
    });
    this.#dialogs = new Dialogs({
      isClientWatching: options.isClientWatching,
      prompts: this.prompts,
      answer: (sessionId, { accept, text }) =>
        this.preparation.sendNoReply(
          commandCall('Page.handleJavaScriptDialog', text === undefined ? { accept } : { accept, promptText: text }),
          sessionId,
        ),
      onDialog: (tab, { type, message }) => this.#emit(tab, { type: 'dialog', tabId: tab.id, dialog: type, message }),
    });
    this.#listen();
  }

  #listen(): void {
    const connection = this.#connection;
    connection.on('Target.attachedToTarget', (event, parent) => this.#onAttached(event, parent));
    connection.on('Target.detachedFromTarget', ({ sessionId }) => this.#onDetached(sessionId));
    connection.on('Target.targetDestroyed', ({ targetId }) => this.#remove(targetId));
    connection.on('Target.targetCrashed', (event) => this.#crash(event));
    connection.on('Target.targetInfoChanged', ({ targetInfo }) => this.#describe(targetInfo));
    connection.on('Page.frameStartedLoading', ({ frameId }, sessionId) => this.#setStatus(sessionId, frameId, 'loading'));
    connection.on('Page.frameStoppedLoading', ({ frameId }, sessionId) => this.#setStatus(sessionId, frameId, 'complete'));
    connection.on('Page.frameNavigated', ({ frame }, sessionId) => this.#onNavigated(frame, this.sessions.of(sessionId)));
    connection.on('Page.windowOpen', (event, sessionId) => this.#onOpening(event, this.sessions.of(sessionId)));
    connection.on('Page.javascriptDialogOpening', (event, sessionId) => this.#dialogs.onOpened(event, this.sessions.of(sessionId)));
    connection.on('Page.javascriptDialogClosed', (_, sessionId) => this.#onDialogClosed(sessionId));
    connection.on('Fetch.requestPaused', (event, sessionId) => this.#onPaused(event, sessionId));
  }

  /** Attaches to the open pages. Resolves when the browser has replied; its first page may open later. */
  async start(): Promise<BrowserVersion> {
    const attached = Promise.all([
      this.#connection.send('Target.setDiscoverTargets', { discover: true, filter: allTargets }),
      this.#connection.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: pagesOnly }),
    ]);
    this.#setFresh(attached.then(() => this.#firstTab()));
    this.preparation.version = await this.#connection.send('Browser.getVersion', undefined);
    return this.preparation.version;
  }

  async #firstTab(): Promise<void> {
    if (this.#tabs.size === 0) await this.open({ active: true, timeoutMs: this.#openTimeoutMs() });
    else await Promise.all([...this.#tabs.values()].map((tab) => tab.ready));
  }

  /** Resolves when a tab is open: after the start, and while a new one replaces the last. */
  get fresh(): Promise<void> {
    return this.#fresh;
  }

  #setFresh(fresh: Promise<unknown>): void {
    this.#fresh = fresh.then(() => undefined);
    this.#fresh.catch((error: unknown) => this.#deps.log.debug({ err: error }, 'tab replacement failed'));
  }

  get limit(): number {
    return this.settings.ofSession.tabLimit;
  }

  get count(): number {
    return this.#publicTabs().length + this.#opener.pending;
  }

  list(): TabInfo[] {
    return this.#publicTabs().map((tab) => this.#toInfo(tab));
  }

  all(): Tab[] {
    return [...this.#tabs.values()];
  }

  /** The tabs in the session's own browser context. */
  own(): Tab[] {
    return this.#publicTabs().filter(({ contextId, isClosing }) => contextId === this.#ownContextId && !isClosing);
  }

  active(): TabInfo {
    return this.#toInfo(this.get(this.#active.id ?? ''));
  }

  /** @throws TabNotFoundError */
  get(tabId: string): Tab {
    const tab = this.#tabs.get(tabId);
    if (!tab || tab.isClosing || tab.isPrivate) throw new TabNotFoundError(`no tab ${tabId.slice(0, 64)}`);
    return tab;
  }

  /** The tab, for somebody who drives it. A page in the background would not draw or take input. @throws TabNotFoundError */
  forDriving(tabId: string): Tab {
    const tab = this.get(tabId);
    tab.isClients = false;
    this.#active.updateFocus(tab);
    tab.onDriven();
    return tab;
  }

  /** A DevTools client has opened the page in front. */
  onClientOpened(targetId: string): void {
    const tab = this.#tabs.get(targetId);
    if (tab) this.#backgroundRendering.onFront(tab);
  }

  /** A DevTools client drives the page. */
  onClientDriving(targetId: string): void {
    this.#tabs.get(targetId)?.onDriven();
  }

  /** A DevTools client handles the page from now on. */
  onClientWatching(targetId: string): void {
    const tab = this.#tabs.get(targetId);
    if (!tab || tab.isPrivate) return;
    tab.isClients = true;
    this.#active.updateFocus(tab);
  }

  /** A DevTools client has left. */
  onClientClosed(): void {
    this.preparation.restoreDownloads(this.settings.ofSession);
    for (const tab of this.#publicTabs()) {
      tab.isClients &&= this.#deps.isClientWatching(tab.id);
      this.#active.updateFocus(tab);
    }
  }

  /** A DevTools client has set its own window or viewport: that of the session no longer applies to the page. */
  releaseViewport({ targetId, windowId }: { targetId?: string | null; windowId?: unknown }): void {
    for (const tab of this.#publicTabs()) {
      if (tab.viewport === null || (tab.id !== targetId && (windowId === undefined || tab.window?.id !== windowId))) continue;
      this.preparation.releaseViewport(tab);
    }
  }

  /** Makes a tab the default of calls without a tab id. */
  activate(tabId: string): void {
    const tab = this.#tabs.get(tabId);
    if (!tab || tab.isPrivate) return;
    this.#backgroundRendering.onFront(tab);
    if (this.#active.id === tabId) return;
    const before = this.front;
    this.#active.set(tab);
    for (const each of [before ?? undefined, tab]) this.#active.updateFocus(each);
    this.#deps.onChanged();
  }

  /** Brings a tab to the front and activates it. @throws TabNotFoundError */
  async bringToFront(tabId: string, signal: AbortSignal): Promise<void> {
    const { sessionId, closed } = this.get(tabId);
    try {
      await this.#connection.send('Page.bringToFront', undefined, { sessionId, signal });
    } catch (error) {
      throw closed.signal.aborted ? closed.signal.reason : error;
    }
    this.activate(tabId);
  }

  /** The active tab; null while there is none. */
  get front(): Tab | null {
    return this.#tabs.get(this.#active.id ?? '') ?? null;
  }

  /** @throws TabLimitReachedError, CommandTimeoutError, or the signal's reason. A tab that comes after that is closed. */
  async open({ active, ...limits }: { active: boolean; timeoutMs: number; signal?: AbortSignal }): Promise<TabInfo> {
    if (this.count >= this.limit) throw new TabLimitReachedError(this.limit);
    const tab = await this.#opener.open({ url: 'about:blank', background: !active }, limits);
    if (tab.closed.signal.aborted) throw new TabLimitReachedError(this.limit);
    if (active) this.activate(tab.id);
    return this.#toInfo(tab);
  }

  /** Opens a page in a new browser context; `closePrivate` disposes of it. */
  async openPrivate(settings: BrowserSettings, signal: AbortSignal): Promise<Tab> {
    const { browserContextId } = await this.#connection.send('Target.createBrowserContext', { disposeOnDetach: false }, { signal });
    this.settings.addPrivate(browserContextId, settings);
    try {
      const limits = { timeoutMs: this.#openTimeoutMs(), signal };
      return await this.#opener.open({ url: 'about:blank', browserContextId, background: true }, limits);
    } catch (error) {
      // The caller does not wait for the cleanup.
      void this.closePrivate(browserContextId);
      throw error;
    }
  }

  async closePrivate(contextId: string): Promise<void> {
    this.preparation.forgetContext(contextId);
    await this.preparation.send(commandCall('Target.disposeBrowserContext', { browserContextId: contextId }));
    this.settings.removePrivate(contextId);
  }

  #openTimeoutMs(): number {
    return this.#connection.timeoutScale.ms(openTimeoutMs);
  }

  /** Forgets a tab at once; the browser closes it when it can. */
  #discard(targetId: string): void {
    this.#remove(targetId);
    this.preparation.sendNoReply(commandCall('Target.closeTarget', { targetId }));
  }

  /** @throws TabNotFoundError, LastTabError, CommandTimeoutError */
  async close(tabId: string, signal: AbortSignal): Promise<void> {
    const tab = this.get(tabId);
    const remaining = this.#publicTabs().filter((each) => !each.isClosing).length;
    if (remaining <= 1) throw new LastTabError('the last tab stays open');
    tab.isClosing = true;
    try {
      const closed = this.#waitForClose(tab, signal);
      // It may still wait for a client.
      this.preparation.sendNoReply(resumeCommand, tab.sessionId);
      await Promise.all([closed, this.#connection.send('Target.closeTarget', { targetId: tab.id }, { signal })]);
    } finally {
      tab.isClosing = false;
    }
  }

  stop(): void {
    this.#stopped = true;
    this.preparation.stop();
    this.#dialogs.stop();
    this.titles.stop();
    for (const tab of this.#tabs.values()) tab.closed.abort(new BrowserClosedError('the browser has closed'));
  }

  /** The tab with this main frame; undefined for other frames. */
  findByFrame(frameId: string): Tab | undefined {
    return this.#tabs.get(frameId);
  }

  #publicTabs(): Tab[] {
    return [...this.#tabs.values()].filter(({ isPrivate }) => !isPrivate);
  }

  /** Each browser context has a window of its own. */
  #hasNeighbour(tab: Tab): boolean {
    for (const each of this.#tabs.values()) if (each !== tab && each.contextId === tab.contextId) return true;
    return false;
  }

  async #waitForClose(tab: Tab, signal: AbortSignal): Promise<void> {
    const timeoutMs = this.#connection.timeoutScale.ms(closeTimeoutMs);
    const reason = (): Error => new CommandTimeoutError('Target.closeTarget');
    await Deadline.run({ signal, timeoutMs, reason }, (by) => orAbort(whenAborted(tab.closed.signal), by.signal));
  }

  #onAttached({ sessionId, targetInfo, waitingForDebugger }: Protocol.Target.AttachedToTargetEvent, parent: string | undefined): void {
    if (targetInfo.type === 'browser') return;
    if (targetInfo.type === 'page' && parent === undefined) {
      // One that is known has been attached to once more, to be drawn.
      if (this.#tabs.has(targetInfo.targetId)) return;
      this.#add(sessionId, targetInfo, waitingForDebugger);
      return;
    }
    const tab = this.sessions.of(parent);
    if (tab) this.sessions.add(sessionId, tab);
    if (tab?.isPrivate === false && targetInfo.type === 'iframe') this.prompts.prepare(sessionId);
    const settings = tab ? this.settings.of(tab) : this.settings.ofSession;
    this.preparation.prepareChild(sessionId, targetInfo.type, {
      settings,
      isWatched: (tab?.networkWatchers ?? 0) > 0,
      hold: waitingForDebugger ? this.#holdOf(targetInfo, parent) : null,
    });
  }

  /**
   * Resumes a paused target. What a frame or worker opens is not held: its clients are not known here. Nor is a frame:
   * Chromium pauses it for one session after the other, and notifies the next only when the one before has resumed it.
   */
  #holdOf({ targetId, type, canAccessOpener }: TargetInfo, parent: string | undefined): HoldResume {
    const page = this.sessions.pageOf(parent);
    if (parent !== undefined && (!page || type === 'iframe')) return resumeAtOnce;
    return (resume) =>
      this.#deps.holdResume({ targetId, type, parentId: page?.id ?? null, isPopup: type === 'page' && canAccessOpener }, resume);
  }

  #add(sessionId: string, info: TargetInfo, isWaiting: boolean): void {
    const isPrivate = this.settings.isPrivate(info.browserContextId);
    const opener = this.#tabs.get(info.openerId ?? '');
    const popupSize = opener ? this.#popupSizes.take(opener, info) : null;
    if (this.#isOverLimit(info, isPrivate)) {
      this.#refuse(sessionId, info, { isWaiting, isPrivate });
      return;
    }
    const tab = createTab(sessionId, info, { isPrivate, createdAt: this.#deps.clock.now() });
    tab.popupSize = popupSize;
    this.#backgroundRendering.onOpened(tab);
    tab.onDriven = () => this.#backgroundRendering.onDriven(tab);
    this.#tabs.set(tab.id, tab);
    this.sessions.add(sessionId, tab);
    // Set before the first document, so that a page opened ahead needs no further setting when it is used.
    if (!isPrivate) this.#ownContextId ??= info.browserContextId;
    if (isPrivate) tab.onPausedDocument = (paused) => this.#continueResponse(paused, sessionId);
    else if (this.#active.id === null) this.#active.set(tab);
    if (this.settings.of(tab).keepNetworkLog || (this.network.watchesAll && !isPrivate)) tab.networkWatchers += 1;
    this.#describe(info);
    const hold = isPrivate ? resumeAtOnce : this.#holdOf(info, undefined);
    if (!isPrivate) this.prompts.prepare(sessionId);
    tab.ready = this.preparation.preparePage(tab, this.settings.of(tab), isWaiting ? hold : null);
    this.#emit(tab, { type: 'tab.opened', tabId: tab.id, url: tab.url, openerTabId: tab.openerId });
    this.#emitChanged(tab);
    this.#opener.onAttached(tab);
  }

  #isOverLimit({ browserContextId }: TargetInfo, isPrivate: boolean): boolean {
    if (!isPrivate) return this.#publicTabs().length >= this.limit;
    return this.all().filter(({ contextId }) => contextId === browserContextId).length >= privateTabsMax;
  }

  #refuse(sessionId: string, info: TargetInfo, { isWaiting, isPrivate }: { isWaiting: boolean; isPrivate: boolean }): void {
    this.#deps.log.info({ url: cutText(info.url, 200) }, 'tab over the limit closed');
    if (!isPrivate) this.#deps.emit({ type: 'tab.refused', url: cutText(info.url, eventUrlCharsMax), limit: this.limit });
    this.#opener.onRefused(info.targetId, new TabLimitReachedError(this.limit));
    const close = (): Promise<void> => this.preparation.send(commandCall('Target.closeTarget', { targetId: info.targetId }));
    if (!isWaiting) return void close();
    // A page that closes while it is paused leaves its opener, which shares its process, paused for ever. So it runs, with nothing in it.
    this.preparation.sendNoReply(commandCall('Emulation.setScriptExecutionDisabled', { value: true }), sessionId);
    this.preparation.sendNoReply(commandCall('Fetch.enable', {}), sessionId);
    void this.preparation.send(resumeCommand, sessionId).then(close);
  }

  /** A paused request is of a blocked type, or a document at its response. */
  #onPaused(event: Protocol.Fetch.RequestPausedEvent, sessionId: string | undefined): void {
    const { requestId, responseStatusCode, responseErrorReason } = event;
    const answered = responseStatusCode !== undefined || responseErrorReason !== undefined;
    const tab = this.sessions.of(sessionId);
    if (tab?.showsBlankSites) return;
    if (!answered) this.preparation.sendNoReply(commandCall('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' }), sessionId);
    else if (tab?.onPausedDocument && event.frameId === tab.id && sessionId === tab.sessionId) tab.onPausedDocument(event);
    else this.#continueResponse(event, sessionId);
  }

  #continueResponse({ requestId }: Protocol.Fetch.RequestPausedEvent, sessionId: string | undefined): void {
    this.preparation.sendNoReply(commandCall('Fetch.continueResponse', { requestId }), sessionId);
  }

  #onOpening(event: Protocol.Page.WindowOpenEvent, opener: Tab | undefined): void {
    if (opener) this.#popupSizes.onOpening(opener, event);
  }

  #onDialogClosed(sessionId: string | undefined): void {
    this.#dialogs.forget(sessionId);
    const tab = this.sessions.of(sessionId);
    if (tab) this.prompts.remove(tab.id);
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
    this.#backgroundRendering.onClosed(tab);
    this.prompts.remove(targetId);
    this.#onDetached(tab.sessionId);
    this.sessions.removeAll(tab);
    tab.closed.abort(tabClosedError());
    this.#emit(tab, { type: 'tab.closed', tabId: tab.id });
    const open = this.#publicTabs();
    if (this.#active.id === targetId) this.#active.replace(open);
    this.#emitChanged(tab);
    // A session always has a tab, so a new one replaces the last.
    if (open.length === 0 && this.#opener.pending === 0 && !this.#stopped)
      this.#setFresh(this.open({ active: true, timeoutMs: this.#openTimeoutMs() }));
  }

  #crash({ targetId, status }: Protocol.Target.TargetCrashedEvent): void {
    const tab = this.#tabs.get(targetId);
    if (!tab || tab.status === 'crashed') return;
    tab.status = 'crashed';
    tab.wasKilled = status === 'killed';
    this.#emit(tab, { type: 'tab.crashed', tabId: tab.id });
    this.#emitChanged(tab);
  }

  #setStatus(sessionId: string | undefined, frameId: string, status: TabInfo['status']): void {
    const tab = this.sessions.of(sessionId);
    // A page's main frame id is its target id.
    if (!tab || frameId !== tab.id || tab.status === status) return;
    tab.status = status;
    this.#emitChanged(tab);
  }

  #onNavigated(frame: Protocol.Page.Frame, tab: Tab | undefined): void {
    if (!tab || frame.id !== tab.id) return;
    this.prompts.cancel(tab.id, ['list', 'picker', 'files']);
    tab.failure = frame.unreachableUrl === undefined ? null : (this.#connection.netErrors.refusalOf(frame.unreachableUrl) ?? 'unknown');
    // The browser process reports the URL a little later.
    moveTab(tab, frame.unreachableUrl ?? frame.url + (frame.urlFragment ?? ''));
    // Empty pages are the service's own.
    if (!tab.showsBlankSites) this.#emit(tab, { type: 'navigation', tabId: tab.id, url: cutText(frame.url, eventUrlCharsMax) });
    this.#emitChanged(tab);
  }

  #describe(info: TargetInfo): void {
    const tab = this.#tabs.get(info.targetId);
    if (!tab) return;
    const { url, title } = tab;
    describeTab(tab, info);
    if (tab.url !== url || tab.title !== title) this.#emitChanged(tab);
    if (isHiddenAddress(tab.url) && !isNewTabPage(tab.url)) {
      this.#deps.log.info({ url: tab.url.slice(0, 200) }, 'tab with a page of the browser closed');
      this.preparation.sendNoReply(commandCall('Target.closeTarget', { targetId: tab.id }));
    }
  }

  #emit(tab: Tab, event: BrowserEvent): void {
    if (!tab.isPrivate) this.#deps.emit(event);
  }

  #emitChanged(tab: Tab): void {
    if (!tab.isPrivate) this.#deps.onChanged();
  }

  #toInfo(tab: Tab): TabInfo {
    const { id: tabId, url, title, openerId: openerTabId, createdAt, status, failure } = tab;
    return { tabId, url, title, active: tabId === this.#active.id, openerTabId, createdAt, status, failure };
  }
}
