/**
 * The browser in a machine, over its DevTools pipe: the worker's own session,
 * and any number of customers' DevTools clients beside it.
 */
import { Deadline, abortAfter } from '@berth/lib/deadline.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Vm } from '@berth/machines';
import { Connection, CommandTimeoutError, type ConnectionOptions } from './cdp/connection.ts';
import {
  BrowserClosedError,
  NavigationError,
  type Browser,
  type BrowserEvent,
  type BrowserVersion,
  type DevtoolsClientOptions,
  type DownloadInfo,
  type NavigationRequest,
} from './interface.ts';
import { Console } from './tabs/console.ts';
import { Display } from './screencast/display.ts';
import { Downloads } from './storage/downloads.ts';
import { findControlAt } from './input/drop-down-lists.ts';
import { TabRemoteInput } from './input/remote-input.ts';
import { Multiplexer, type PausedTarget } from './cdp/multiplexer.ts';
import { Screencast } from './screencast/screencast.ts';
import { navigate } from './page/navigation/navigate.ts';
import { createPage, pageStateOf, type TabDeps } from './page/create-page.ts';
import type { CallOptions, Page, Point } from './page/page.ts';
import { TimeoutScale } from './timeout-scale.ts';
import { FetchedPage } from './page/private-page.ts';
import type { CookieParam, NetworkEntries, PrivatePage, SiteCookie } from './page/private-model.ts';
import type { ConsoleEntry, RemoteInput, ScreencastAttachment, ScreencastClient } from './screencast/clients.ts';
import { NetworkLog } from './network/network-log.ts';
import { readBrowserState, writeBrowserState } from './storage/browser-state.ts';
import type { BrowserState, ReadBrowserState } from './storage/origin-state.ts';
import { readCookies, readStorageState, setCookies, writeStorageState, type StorageDeps } from './storage/storage.ts';
import type { Attendant, ControlQuestion, Prompt, PromptAnswer } from './tabs/prompt.ts';
import type { Tab } from './tabs/tab.ts';
import { toUserAgentOverride } from './tabs/settings.ts';
import { Tabs } from './tabs/tabs.ts';
import type { StorageState } from '@berth/contract';

export { BrowserClosedError, LastTabError, NavigationError, TabLimitReachedError, TabNotFoundError } from './interface.ts';
export { canPress, isChord, parseChord } from './input/page-input.ts';
export { isTypedWith } from './input/remote-keys.ts';
export { sanitizeFileName } from './storage/downloads.ts';
export { CookieRefusedError } from './storage/storage.ts';
export type { BrowserState, OriginState, ReadBrowserState } from './storage/origin-state.ts';
export type * from './page/private-model.ts';
export type * from './screencast/clients.ts';
export type {
  Browser,
  BrowserEvent,
  BrowserSettings,
  BrowserVersion,
  DownloadInfo,
  DownloadLimit,
  DevtoolsClient,
  NavigationRequest,
  NavigationResult,
  TabInfo,
} from './interface.ts';
export { findKey } from './input/remote-keys.ts';
export type { Attendant, ControlQuestion, Prompt, PromptAnswer } from './tabs/prompt.ts';
export { PageError, RefError } from './page/page.ts';
export { toLine as toSnapshotLine } from './page/snapshot/snapshot-text.ts';
export { toQuietOptions, untilQuiet, untilShown, whenQuiet } from './page/quiet.ts';
export { bothWithFrames, withFrames } from './page/snapshot/with-frames.ts';
export { toHeaderSettings } from './network/header-settings.ts';
export type * from './page/page.ts';
export { listDocument, protocolDocument, versionDocument } from './cdp/clients/json-endpoints.ts';

/** A page of a thousand frames keeps the browser process busy for several seconds; a longer delay means that it is frozen. */
const pingTimeoutMs = 15_000;

/** A browser that still reports what happens in its pages, as while it starts hundreds of processes, may leave so many pings unanswered. */
const busyPingsMax = 7;
const ownTabMsMax = 5000;

export interface AttachOptions extends Omit<ConnectionOptions, 'timeoutScale'> {
  clock: Clock;
  /** The machine's `Runtime.slowness`; default 1. */
  slowness?: number | undefined;
}

type Machine = Pick<Vm, 'cdp' | 'downloadsPath' | 'id' | 'kind' | 'resizeDisplay'>;

/**
 * Attaches to a machine's browser. Resolves when the browser has replied; its
 * first page may open later, see `tabReady`.
 * @throws BrowserClosedError
 */
export async function attachBrowser(vm: Machine, options: AttachOptions): Promise<Browser> {
  const log = options.log.child({ vm_id: vm.id });
  const attached = new AttachedBrowser(vm, { ...options, log });
  await attached.start();
  return attached;
}

class AttachedBrowser implements Browser {
  readonly #connection: Connection;
  readonly #display: Display;
  readonly #tabs: Tabs;
  readonly #multiplexer: Multiplexer;
  readonly #downloads: Downloads;
  readonly #screencast: Screencast;
  readonly #console: Console;
  readonly #tabListeners = new Set<() => void>();
  readonly #listeners = new Set<(event: BrowserEvent) => void>();
  #networkLog: NetworkLog | null = null;
  readonly #options: AttachOptions;
  readonly closed: Promise<'closed' | 'unresponsive'>;
  version: BrowserVersion = { product: '', protocolVersion: '', revision: '', userAgent: '', jsVersion: '' };
  lastActivityMs: number;

  constructor(vm: Machine, options: AttachOptions) {
    const { log, clock, slowness } = options;
    this.#options = options;
    this.lastActivityMs = clock.monotonicMs();
    this.#connection = new Connection(vm.cdp, { ...options, timeoutScale: new TimeoutScale(slowness) });
    const emit = (event: BrowserEvent): void => this.#emit(event);
    const isClientWatching = (targetId: string): boolean => this.#multiplexer.isWatching(targetId);
    const isClientWaiting = (targetId: string): boolean => this.#multiplexer.isWaiting(targetId);
    const { downloadsPath } = vm;
    this.#display = new Display(vm, log);
    const onChanged = (): void => this.#tabsChanged();
    const holdResume = (target: PausedTarget, resume: () => void): void => this.#multiplexer.holdResume(target, resume);
    const tabsDeps = { log, clock, downloadsPath, display: this.#display, isClientWatching, isClientWaiting, holdResume, emit, onChanged };
    this.#tabs = new Tabs(this.#connection, tabsDeps);
    this.#screencast = new Screencast({ connection: this.#connection, front: () => this.#tabs.front });
    this.#console = new Console({
      connection: this.#connection,
      tabOf: (sessionId) => this.#tabs.sessions.publicOf(sessionId),
      sessions: () => this.#tabs.sessions.public(),
    });
    this.#tabs.preparation.onPrepared = (sessionId) => this.#console.listenTo(sessionId);
    this.#downloads = new Downloads(this.#connection, {
      clock,
      emit,
      isPrivate: (frameId) => this.#tabs.findByFrame(frameId)?.isPrivate === true,
    });
    this.#multiplexer = new Multiplexer(this.#connection, {
      log,
      ruleContext: (pageId) => ({
        pageId,
        downloadsPath,
        acceptDownloads: this.#tabs.settings.ofSession.acceptDownloads,
        uploadPath: (name) => this.#tabs.settings.ofSession.uploadPath?.(name) ?? null,
        tabsFree: this.#tabs.limit - this.#tabs.count - this.#multiplexer.openingTabs,
        contextsFree: this.#multiplexer.contextsFree,
      }),
      onActivity: () => this.#touch(),
      onActivate: (targetId) => this.#tabs.activate(targetId),
      onWatching: (targetId) => this.#tabs.onClientWatching(targetId),
      onOpened: (targetId) => this.#tabs.onClientOpened(targetId),
      onDriving: (targetId) => this.#tabs.onClientDriving(targetId),
      onWindowChanged: (of) => this.#tabs.releaseViewport(of),
      onClientClosed: () => this.#tabs.onClientClosed(),
    });
    this.closed = this.#connection.closed.then((reason) => {
      this.#tabs.stop();
      this.#screencast.stop();
      this.#multiplexer.end();
      this.#networkLog?.end();
      return reason;
    });
  }

  get timeoutScale(): TimeoutScale {
    return this.#connection.timeoutScale;
  }

  async start(): Promise<void> {
    const { product, protocolVersion, revision, userAgent, jsVersion } = await this.#tabs.start();
    this.version = { product, protocolVersion, revision, userAgent, jsVersion };
  }

  prepare(settings: Parameters<Browser['prepare']>[0]): Promise<void> {
    if (settings.keepNetworkLog) this.#keepNetworkLog();
    if (settings.downloadLimit) this.#downloads.limit = settings.downloadLimit;
    return this.#tabs.settings.apply(settings);
  }

  tabReady(): Promise<void> {
    return this.#tabs.fresh;
  }

  tabs(): ReturnType<Browser['tabs']> {
    return this.#tabs.list();
  }

  async refreshTabs(): Promise<ReturnType<Browser['tabs']>> {
    await this.#tabs.titles.refresh();
    return this.#tabs.list();
  }

  activeTab(): ReturnType<Browser['activeTab']> {
    return this.#tabs.active();
  }

  async openTab(options: Parameters<Browser['openTab']>[0]): ReturnType<Browser['openTab']> {
    return this.#drive(() => this.#tabs.open(options));
  }

  closeTab(tabId: string, { signal }: { signal: AbortSignal }): Promise<void> {
    return this.#drive(() => this.#tabs.close(tabId, signal));
  }

  activateTab(tabId: string, { signal }: { signal: AbortSignal }): Promise<void> {
    return this.#drive(() => this.#tabs.bringToFront(tabId, signal));
  }

  navigate(tabId: string, request: NavigationRequest, { signal }: { signal: AbortSignal }): ReturnType<Browser['navigate']> {
    return this.#drive(async () => {
      const tab = this.#tabs.forDriving(tabId);
      const shouldKeepNetwork = (): boolean => this.#tabs.network.isNeeded(tab);
      return navigate({ connection: this.#connection, tab, shouldKeepNetwork }, this.#withReferer(tab, request), signal);
    });
  }

  page(tabId: string): Page {
    return this.#pageOf(this.#tabs.forDriving(tabId));
  }

  async openPrivate({ signal }: { signal: AbortSignal }): Promise<PrivatePage> {
    try {
      return this.#createPrivatePage(await this.#tabs.openPrivate(this.#tabs.settings.ofSession, signal));
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof CommandTimeoutError
        ? new BrowserClosedError('the browser did not open a page in time', { cause: error })
        : error;
    }
  }

  #createPrivatePage(tab: Tab): PrivatePage {
    const { clock } = this.#options;
    return new FetchedPage({
      connection: this.#connection,
      tabs: this.#tabs,
      tab,
      page: this.#pageOf(tab),
      now: () => clock.now(),
    });
  }

  borrow(tabId: string): PrivatePage {
    return this.#createPrivatePage(this.#tabs.forDriving(tabId));
  }

  downloads(): DownloadInfo[] {
    return this.#downloads.list();
  }

  onEvent(listener: (event: BrowserEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onTabsChanged(listener: () => void): () => void {
    this.#tabListeners.add(listener);
    const ignoreTitles = this.#tabs.titles.subscribe();
    return () => {
      this.#tabListeners.delete(listener);
      ignoreTitles();
    };
  }

  attend(attendant: Attendant): () => void {
    return this.#tabs.prompts.attend(attendant);
  }

  prompts(): Prompt[] {
    return this.#tabs.prompts.list();
  }

  answerPrompt(promptId: number, answer: PromptAnswer): Promise<void> {
    this.#touch();
    return this.#tabs.prompts.answer(promptId, answer);
  }

  watchFileChoosers(listener: (tabId: string) => void): () => void {
    return this.#tabs.prompts.watchFileChoosers(listener);
  }

  async controlAt(tabId: string, at: Point, options: CallOptions): Promise<ControlQuestion | null> {
    const match = await findControlAt(pageStateOf(this.#tabDeps(this.#tabs.get(tabId))), at, new Deadline(options));
    match?.handler.cancel();
    return match?.question ?? null;
  }

  async historyOf(tabId: string): Promise<{ back: boolean; forward: boolean }> {
    const { sessionId } = this.#tabs.get(tabId);
    const { currentIndex, entries } = await this.#connection.send('Page.getNavigationHistory', undefined, { sessionId });
    return { back: currentIndex > 0, forward: currentIndex < entries.length - 1 };
  }

  attachScreencast(client: ScreencastClient): ScreencastAttachment {
    return this.#screencast.attach(client);
  }

  remoteInput(tabId: string): RemoteInput {
    const { prompts } = this.#tabs;
    return new TabRemoteInput(this.#tabDeps(this.#tabs.forDriving(tabId)), {
      onActivity: () => this.#touch(),
      openControl: (question, handler) => prompts.open(tabId, question, handler),
      closeControl: () => prompts.cancel(tabId, ['list', 'picker']),
    });
  }

  onConsole(listener: (entry: ConsoleEntry) => void): () => void {
    return this.#console.subscribe(listener);
  }

  consoleListening(): Promise<void> {
    return this.#console.listening();
  }

  storageState({ signal }: { signal: AbortSignal }): Promise<StorageState> {
    return this.#drive(() => readStorageState(this.#storageDeps(), signal));
  }

  setStorageState(state: StorageState, { signal }: { signal: AbortSignal }): Promise<void> {
    return this.#drive(() => writeStorageState(this.#storageDeps(), state, signal));
  }

  async readState(request: Parameters<Browser['readState']>[0]): Promise<ReadBrowserState> {
    const tab = this.#tabs.own()[0] ?? (await this.#openOwn(request.signal));
    return this.#drive(() => readBrowserState(this.#storageDeps(), tab, request));
  }

  /** undefined where clients' tabs take all the room. */
  async #openOwn(signal: AbortSignal): Promise<Tab | undefined> {
    await this.openTab({ active: false, timeoutMs: this.timeoutScale.ms(ownTabMsMax), signal }).catch(() => signal.throwIfAborted());
    return this.#tabs.own()[0];
  }

  writeState(state: BrowserState, { signal }: { signal: AbortSignal }): Promise<string[]> {
    const tab = this.#tabs.get(this.activeTab().tabId);
    return this.#drive(() => writeBrowserState(this.#storageDeps(), tab, { state, signal }));
  }

  setCookies(cookies: readonly CookieParam[], { signal, tabId }: { signal: AbortSignal; tabId?: string }): Promise<void> {
    const tab = this.#tabs.get(tabId ?? this.activeTab().tabId);
    return this.#drive(() => setCookies(this.#connection, tab.contextId, cookies, signal));
  }

  cookies({ signal, tabId }: { signal: AbortSignal; tabId?: string }): Promise<SiteCookie[]> {
    const tab = this.#tabs.get(tabId ?? this.activeTab().tabId);
    return this.#drive(() => readCookies(this.#connection, tab.contextId, signal));
  }

  networkLog(): NetworkEntries {
    const log = this.#keepNetworkLog();
    return log.entries();
  }

  #keepNetworkLog(): NetworkLog {
    if (this.#networkLog) return this.#networkLog;
    const isOwnSession = (sessionId: string | undefined): boolean => this.#tabs.sessions.publicOf(sessionId)?.showsBlankSites === false;
    this.#networkLog = new NetworkLog(this.#connection, { since: this.#options.clock.now(), isOwnSession });
    this.#tabs.network.watchAll(this.#tabs.all().filter(({ isPrivate }) => !isPrivate));
    return this.#networkLog;
  }

  #storageDeps(): StorageDeps {
    return {
      connection: this.#connection,
      tabs: this.tabs().map(({ tabId }) => this.#tabs.get(tabId)),
      page: (tabId) => this.page(tabId),
      pauseRequests: (tab) => this.#tabs.settings.pauseRequests(tab),
    };
  }

  #pageOf(tab: Tab): Page {
    const deps = this.#tabDeps(tab);
    return createPage({
      ...deps,
      navigate: (request, { signal }) => this.#drive(() => navigate(deps, this.#withReferer(tab, request), signal)),
    });
  }

  #withReferer(tab: Tab, request: NavigationRequest): NavigationRequest {
    return { ...request, referer: request.referer ?? tab.referer ?? this.#tabs.settings.of(tab).referer };
  }

  #tabDeps(tab: Tab): TabDeps {
    const shouldKeepNetwork = (): boolean => this.#tabs.network.isNeeded(tab);
    const sessionHeaders = (): Readonly<Record<string, string>> => this.#tabs.settings.of(tab).extraHeaders;
    const userAgentOverride: TabDeps['userAgentOverride'] = (userAgent) =>
      toUserAgentOverride({ ...this.#tabs.settings.of(tab), ...(userAgent === undefined ? {} : { userAgent }) }, this.version);
    return { connection: this.#connection, tab, display: this.#display, shouldKeepNetwork, sessionHeaders, userAgentOverride };
  }

  #emit(event: BrowserEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #tabsChanged(): void {
    this.#screencast.refresh();
    for (const listener of this.#tabListeners) listener();
  }

  connectClient(options: DevtoolsClientOptions): ReturnType<Browser['connectClient']> {
    this.#touch();
    return this.#multiplexer.connect(options);
  }

  clientCount(): number {
    return this.#multiplexer.count;
  }

  get isClosed(): boolean {
    return this.#connection.isClosed;
  }

  async ping({ signal }: { signal: AbortSignal }): Promise<void> {
    for (let late = 0; ; late += 1) {
      const { receivedCount } = this.#connection;
      try {
        await this.#connection.send('Browser.getVersion', undefined, { signal, timeoutMs: this.timeoutScale.ms(pingTimeoutMs) });
        return;
      } catch (error) {
        if (!(error instanceof CommandTimeoutError)) throw error;
        if (this.#connection.receivedCount > receivedCount && late < busyPingsMax) continue;
        this.#connection.end('unresponsive');
        throw new BrowserClosedError('the browser does not respond', { cause: error });
      }
    }
  }

  detach(): void {
    this.#connection.end('closed');
  }

  #touch(): void {
    this.lastActivityMs = this.#options.clock.monotonicMs();
  }

  /** A timeout may mean a slow page or a frozen browser; a ping distinguishes them. */
  async #drive<T>(work: () => Promise<T>): Promise<T> {
    this.#touch();
    try {
      return await work();
    } catch (error) {
      const isLate = error instanceof CommandTimeoutError || (error instanceof NavigationError && error.reason === 'timeout');
      if (isLate) void this.ping({ signal: abortAfter(2 * this.timeoutScale.ms(pingTimeoutMs)) }).catch(() => {});
      throw error;
    } finally {
      this.#touch();
    }
  }
}
