/**
 * What a page is sent before its first script.
 *
 * A page waits until the settings are sent; commands of one session are obeyed
 * in their order, so they are sent in one go with the release at the end and
 * nobody waits for the answers but those who ask for `ready`.
 */
import type { Log } from '../../lib/log.ts';
import type { Connection } from '../cdp/connection.ts';
import type { Display } from '../screencast/display.ts';
import type { BrowserSettings, BrowserVersion } from '../model.ts';
import {
  deepTargets,
  downloadOrder,
  frameOrders,
  order,
  pageOrders,
  pausedPatterns,
  reachesDeep,
  viewportOrder,
  workerOrders,
  type Order,
} from './settings.ts';
import type { Tab } from './tab.ts';

export interface PreparationOptions {
  log: Log;
  downloadsPath: string;
  display: Display;
}

export class Preparation {
  version: BrowserVersion = { product: '', protocolVersion: '', userAgent: '', jsVersion: '' };
  /** Whoever listens to pages begins with each here, and with each frame and worker in it. */
  hear: (sessionId: string) => void = () => {};
  readonly #connection: Connection;
  readonly #options: PreparationOptions;
  /** Browser contexts whose download settings were sent. */
  readonly #contexts = new Set<string>();
  #stopped = false;

  constructor(connection: Connection, options: PreparationOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  stop(): void {
    this.#stopped = true;
  }

  async page(tab: Tab, settings: BrowserSettings, waiting: boolean): Promise<void> {
    const { sessionId } = tab;
    // Focus emulation keeps a page awake behind another tab: else it draws no frame, and clicks and screenshots there wait for ever.
    const sent = [
      this.send(order('Page.enable', {}), sessionId),
      this.send(order('Emulation.setFocusEmulationEnabled', { enabled: true }), sessionId),
    ];
    if (tab.contextId !== undefined && !this.#contexts.has(tab.contextId)) {
      // A browser context that was made has download settings of its own.
      this.#contexts.add(tab.contextId);
      sent.push(this.send(this.downloads(settings, tab.contextId)));
    }
    sent.push(...this.apply(tab, settings));
    this.hear(sessionId);
    if (waiting) sent.push(this.send(order('Runtime.runIfWaitingForDebugger', undefined), sessionId));
    if (!tab.isPrivate && !this.#options.display.isThere) sent.push(this.#measureWindow(tab, settings));
    await Promise.all(sent);
  }

  /** What a page's settings come to, beyond those that every page has. */
  apply(tab: Tab, settings: BrowserSettings): Promise<void>[] {
    const sent = pageOrders(settings, this.version).map((each) => this.send(each, tab.sessionId));
    const patterns = pausedPatterns(settings, tab.takesDocuments !== null);
    if (patterns.length > 0) sent.push(this.send(order('Fetch.enable', { patterns }), tab.sessionId));
    if (tab.window) sent.push(this.#sizeWindow(tab.window, settings.viewport));
    if (tab.viewport !== settings.viewport && JSON.stringify(tab.viewport) !== JSON.stringify(settings.viewport)) {
      tab.viewport = settings.viewport;
      sent.push(this.send(viewportOrder(settings.viewport, this.#options.display.isThere), tab.sessionId));
    }
    if (tab.networkWatchers > 0) sent.push(this.send(quietNetwork, tab.sessionId));
    if (reachesDeep(settings)) sent.push(this.send(deepAttachment, tab.sessionId));
    return sent;
  }

  /** A frame in a process of its own, or a worker. */
  child(
    sessionId: string,
    type: string,
    { settings, watched, waiting }: { settings: BrowserSettings; watched: boolean; waiting: boolean },
  ): void {
    const orders = type === 'iframe' ? frameOrders(settings, this.version) : workerOrders(settings, this.version);
    for (const each of orders) this.sendQuietly(each, sessionId);
    const patterns = type === 'iframe' ? pausedPatterns(settings, false) : [];
    if (patterns.length > 0) this.sendQuietly(order('Fetch.enable', { patterns }), sessionId);
    if (watched) this.sendQuietly(quietNetwork, sessionId);
    this.sendQuietly(deepAttachment, sessionId);
    this.hear(sessionId);
    if (waiting) this.sendQuietly(order('Runtime.runIfWaitingForDebugger', undefined), sessionId);
  }

  downloads(settings: BrowserSettings, browserContextId?: string): Order {
    const params = downloadOrder(settings.acceptDownloads, this.#options.downloadsPath);
    return order('Browser.setDownloadBehavior', browserContextId === undefined ? params : { ...params, browserContextId });
  }

  /** A client that leaves takes its own download settings back, and with them those of the session. */
  restoreDownloads(settings: BrowserSettings): void {
    this.sendQuietly(this.downloads(settings));
    for (const contextId of this.#contexts) this.sendQuietly(this.downloads(settings, contextId));
  }

  forgetContext(contextId: string): void {
    this.#contexts.delete(contextId);
  }

  async #measureWindow(tab: Tab, settings: BrowserSettings): Promise<void> {
    const answer = await this.#connection.send('Browser.getWindowForTarget', { targetId: tab.id }).catch(() => null);
    if (!answer) return;
    const { width = 0, height = 0 } = answer.bounds;
    tab.window = { id: answer.windowId, width, height };
    const viewport = tab.viewport ?? settings.viewport;
    if (viewport.width === width && viewport.height === height) return;
    // A window that is sized takes its page along, less its own frame: what is drawn of the page is set after.
    await Promise.all([this.#sizeWindow(tab.window, viewport), this.send(viewportOrder(viewport, false), tab.sessionId)]);
  }

  async #sizeWindow(window: NonNullable<Tab['window']>, { width, height }: BrowserSettings['viewport']): Promise<void> {
    if (window.width === width && window.height === height) return;
    Object.assign(window, { width, height });
    await this.send(order('Browser.setWindowBounds', { windowId: window.id, bounds: { left: 0, top: 0, width, height } }));
  }

  /** A target may die, or know a command not, while it is prepared: then there is nothing left to prepare. */
  async send([method, params]: Order, sessionId?: string): Promise<void> {
    try {
      await this.#connection.send(method, params, { sessionId });
    } catch (error) {
      if (!this.#stopped) this.#options.log.debug({ error, method }, 'a setting was not taken');
    }
  }

  sendQuietly(each: Order, sessionId?: string): void {
    void this.send(each, sessionId);
  }
}

/** Events of the network without a copy of what was transferred. */
const quietNetwork = order('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 });
/** To frames in processes of their own, and to workers. */
export const deepAttachment = order('Target.setAutoAttach', {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: deepTargets,
});
