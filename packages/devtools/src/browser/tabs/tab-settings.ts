/** Which settings apply to which tab: a session's to its own tabs, and those of private browser contexts to theirs. */
import type { Display } from '../screencast/display.ts';
import type { BrowserSettings } from '../interface.ts';
import type { Preparation } from './preparation.ts';
import { commandCall, defaultSettings, needsChildTargets, pagesAndWorkers, toUserAgentOverride } from './settings.ts';
import type { Tab } from './tab.ts';

interface TabSettingsDeps {
  preparation: Preparation;
  display: Display;
  /** The session's own tabs. */
  publicTabs(): Tab[];
}

export class TabSettings {
  readonly #deps: TabSettingsDeps;
  /** The settings of private browser contexts, by context id. */
  readonly #ofContexts = new Map<string, BrowserSettings>();
  #ofSession: BrowserSettings = defaultSettings;
  /** Tabs that were borrowed with a user agent of their own. */
  readonly #otherAgents = new WeakSet<Tab>();

  constructor(deps: TabSettingsDeps) {
    this.#deps = deps;
  }

  get ofSession(): BrowserSettings {
    return this.#ofSession;
  }

  of(tab: Tab): BrowserSettings {
    return (tab.contextId === undefined ? undefined : this.#ofContexts.get(tab.contextId)) ?? this.#ofSession;
  }

  isPrivate(contextId: string | undefined): boolean {
    return contextId !== undefined && this.#ofContexts.has(contextId);
  }

  addPrivate(contextId: string, settings: BrowserSettings): void {
    this.#ofContexts.set(contextId, settings);
  }

  removePrivate(contextId: string): void {
    this.#ofContexts.delete(contextId);
  }

  /** Sends everything at once, so that a warm machine is ready after one round trip. */
  async apply(settings: BrowserSettings): Promise<void> {
    const { preparation, display, publicTabs } = this.#deps;
    const before = this.#ofSession;
    this.#ofSession = settings;
    const sent: Promise<void>[] = [display.resize(settings.viewport)];
    if (settings.acceptDownloads !== before.acceptDownloads) sent.push(preparation.send(preparation.downloadCommand(settings)));
    if (needsChildTargets(settings)) {
      const filter = pagesAndWorkers;
      sent.push(
        preparation.send(commandCall('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter })),
      );
    }
    for (const tab of publicTabs()) sent.push(...preparation.apply(tab, settings));
    await Promise.all(sent);
  }

  /** Applies the settings of a private page, which may have been opened ahead of its request. */
  async applyPrivate(tab: Tab, settings: BrowserSettings): Promise<void> {
    if (tab.contextId !== undefined) this.#ofContexts.set(tab.contextId, settings);
    await Promise.all(this.#deps.preparation.apply(tab, settings));
  }

  /** Applies settings to a borrowed tab of the session, until `endBorrowed`. */
  async applyBorrowed(
    tab: Tab,
    { blockResources, extraHeaders, userAgent }: Pick<BrowserSettings, 'blockResources' | 'extraHeaders' | 'userAgent'>,
  ): Promise<void> {
    const own = this.#ofSession;
    const blocked = [...new Set([...own.blockResources, ...blockResources])];
    const settings = { ...own, blockResources: blocked, extraHeaders: { ...own.extraHeaders, ...extraHeaders }, userAgent };
    if (userAgent !== own.userAgent) this.#otherAgents.add(tab);
    await Promise.all(this.#deps.preparation.apply(tab, settings));
  }

  pauseRequests(tab: Tab): Promise<void> {
    return this.#deps.preparation.pauseRequests(tab, this.of(tab));
  }

  async endBorrowed(tab: Tab): Promise<void> {
    if (tab.closed.signal.aborted) return;
    const { preparation } = this.#deps;
    const headers =
      Object.keys(this.#ofSession.extraHeaders).length > 0
        ? []
        : [preparation.send(commandCall('Network.setExtraHTTPHeaders', { headers: {} }), tab.sessionId)];
    const agent = this.#otherAgents.delete(tab)
      ? [
          preparation.send(
            commandCall('Emulation.setUserAgentOverride', toUserAgentOverride(this.#ofSession, preparation.version)),
            tab.sessionId,
          ),
        ]
      : [];
    await Promise.all([
      preparation.send(commandCall('Fetch.disable', undefined), tab.sessionId),
      ...headers,
      ...agent,
      ...preparation.apply(tab, this.#ofSession),
    ]);
  }
}
