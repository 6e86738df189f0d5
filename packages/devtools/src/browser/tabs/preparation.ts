/**
 * Applies settings to a page before its first script.
 *
 * A new page is paused until its settings are sent. Commands of one session run
 * in order, so they are sent together with the resume at the end, and only
 * `Tab.ready` waits for the replies.
 */
import type { Log } from '@berth/lib/log.ts';
import type { Connection } from '../cdp/connection.ts';
import type { Display } from '../screencast/display.ts';
import type { BrowserSettings, BrowserVersion } from '../interface.ts';
import {
  childTargets,
  contentsCommand,
  downloadParams,
  frameCommands,
  commandCall,
  pageCommands,
  pausedRequestPatterns,
  needsChildTargets,
  viewportCommand,
  workerCommands,
  type CommandCall,
} from './settings.ts';
import { viewportOf } from './popup-sizes.ts';
import type { Tab } from './tab.ts';

type Viewport = BrowserSettings['viewport'];

/** Calls back when a paused target may run. */
export type HoldResume = (resume: () => void) => void;

interface PreparationDeps {
  log: Log;
  downloadsPath: string;
  display: Display;
}

export class Preparation {
  version: BrowserVersion = { product: '', protocolVersion: '', revision: '', userAgent: '', jsVersion: '' };
  /** Called for each new page, frame and worker before it resumes. */
  onPrepared: (sessionId: string) => void = () => {};
  readonly #connection: Connection;
  readonly #deps: PreparationDeps;
  /** Browser contexts with download settings. */
  readonly #contexts = new Set<string>();
  /** That for which the screen was sized. */
  #screenViewport: Viewport | null = null;
  #stopped = false;

  constructor(connection: Connection, options: PreparationDeps) {
    this.#connection = connection;
    this.#deps = options;
  }

  stop(): void {
    this.#stopped = true;
  }

  async preparePage(tab: Tab, settings: BrowserSettings, hold: HoldResume | null): Promise<void> {
    const { sessionId } = tab;
    // Focus emulation keeps a background page rendering: otherwise clicks and screenshots there would wait for ever.
    const sent = [
      this.send(commandCall('Page.enable', {}), sessionId),
      this.send(commandCall('Emulation.setFocusEmulationEnabled', { enabled: true }), sessionId),
    ];
    if (tab.contextId !== undefined && !this.#contexts.has(tab.contextId)) {
      // Each created browser context has download settings of its own.
      this.#contexts.add(tab.contextId);
      sent.push(this.send(this.downloadCommand(settings, tab.contextId)));
    }
    sent.push(...this.apply(tab, settings));
    this.onPrepared(sessionId);
    if (hold) sent.push(this.#resume(sessionId, hold));
    if (!tab.isPrivate && !this.#deps.display.isAvailable) sent.push(this.#measureWindow(tab, settings));
    await Promise.all(sent);
  }

  emulateFocus(tab: Tab, enabled: boolean): void {
    if (tab.isFocusEmulated === enabled) return;
    tab.isFocusEmulated = enabled;
    this.sendNoReply(commandCall('Emulation.setFocusEmulationEnabled', { enabled }), tab.sessionId);
  }

  /** Sends the settings that can change while a page is open. */
  apply(tab: Tab, settings: BrowserSettings): Promise<void>[] {
    const sent = pageCommands(settings, this.version).map((each) => this.send(each, tab.sessionId));
    const patterns = pausedRequestPatterns(settings, tab.onPausedDocument !== null);
    if (patterns.length > 0) sent.push(this.send(commandCall('Fetch.enable', { patterns }), tab.sessionId));
    const viewport = viewportOf(tab, settings);
    sent.push(this.#sizeWindow(tab, viewport, settings));
    if (tab.viewport !== viewport && JSON.stringify(tab.viewport) !== JSON.stringify(viewport)) {
      tab.viewport = viewport;
      sent.push(this.send(viewportCommand(viewport, this.#deps.display.screenFor(settings.viewport)), tab.sessionId));
    }
    if (tab.networkWatchers > 0) sent.push(this.send(enableNetwork, tab.sessionId));
    if (needsChildTargets(settings)) sent.push(this.send(attachToChildren, tab.sessionId));
    return sent;
  }

  /** Pauses the requests that the settings ask for, and no others. */
  async pauseRequests(tab: Tab, settings: BrowserSettings): Promise<void> {
    const patterns = pausedRequestPatterns(settings, tab.onPausedDocument !== null);
    const sent = [this.send(commandCall('Fetch.disable', undefined), tab.sessionId)];
    if (patterns.length > 0) sent.push(this.send(commandCall('Fetch.enable', { patterns }), tab.sessionId));
    await Promise.all(sent);
  }

  /** Sends the settings to an out-of-process frame or a worker. */
  prepareChild(
    sessionId: string,
    type: string,
    { settings, isWatched, hold }: { settings: BrowserSettings; isWatched: boolean; hold: HoldResume | null },
  ): void {
    const commands = type === 'iframe' ? frameCommands(settings, this.version) : workerCommands(settings, this.version);
    for (const each of commands) this.sendNoReply(each, sessionId);
    const patterns = type === 'iframe' ? pausedRequestPatterns(settings, false) : [];
    if (patterns.length > 0) this.sendNoReply(commandCall('Fetch.enable', { patterns }), sessionId);
    if (isWatched) this.sendNoReply(enableNetwork, sessionId);
    this.sendNoReply(attachToChildren, sessionId);
    this.onPrepared(sessionId);
    if (hold) void this.#resume(sessionId, hold);
  }

  #resume(sessionId: string, hold: HoldResume): Promise<void> {
    return new Promise((resolve) => {
      hold(() => void this.send(resumeCommand, sessionId).then(resolve));
    });
  }

  downloadCommand(settings: BrowserSettings, browserContextId?: string): CommandCall {
    const params = downloadParams(settings.acceptDownloads, this.#deps.downloadsPath);
    return commandCall('Browser.setDownloadBehavior', browserContextId === undefined ? params : { ...params, browserContextId });
  }

  /** A client that disconnects resets its download settings, and with them those of the session. */
  restoreDownloads(settings: BrowserSettings): void {
    this.sendNoReply(this.downloadCommand(settings));
    for (const contextId of this.#contexts) this.sendNoReply(this.downloadCommand(settings, contextId));
  }

  forgetContext(contextId: string): void {
    this.#contexts.delete(contextId);
  }

  async #measureWindow(tab: Tab, settings: BrowserSettings): Promise<void> {
    const answer = await this.#connection.send('Browser.getWindowForTarget', { targetId: tab.id }).catch(() => null);
    if (!answer) return;
    const { width = 0, height = 0 } = answer.bounds;
    const viewport = tab.viewport ?? viewportOf(tab, settings);
    const whole = this.#deps.display.screenFor(viewport);
    const isSized = whole?.width === width && whole.height === height;
    tab.window = { id: answer.windowId, width: isSized ? viewport.width : 0, height: isSized ? viewport.height : 0 };
    await this.#sizeWindow(tab, viewport, settings);
  }

  async #sizeWindow({ window, sessionId }: Tab, { width, height }: Viewport, settings: BrowserSettings): Promise<void> {
    if (!window || (window.width === width && window.height === height)) return;
    Object.assign(window, { width, height });
    await Promise.all([this.send(contentsCommand(window.id, { width, height })), this.#sizeScreen(sessionId, settings)]);
  }

  /**
   * The page has the size of its window from now on. When an emulation ends, Chromium gives a page the size back that it
   * had before, unless its window was resized meanwhile.
   */
  releaseViewport(tab: Tab): void {
    const { window, sessionId } = tab;
    tab.viewport = null;
    if (window) this.sendNoReply(contentsCommand(window.id, { width: window.width, height: window.height + 1 }));
    this.sendNoReply(commandCall('Emulation.clearDeviceMetricsOverride', undefined), sessionId);
    if (window) this.sendNoReply(contentsCommand(window.id, window));
  }

  /** The screen that pages see when a client has taken the emulation of one away. The browser has one for all. */
  async #sizeScreen(sessionId: string, { viewport }: BrowserSettings): Promise<void> {
    if (viewport === this.#screenViewport) return;
    this.#screenViewport = viewport;
    const screens = await this.#connection.send('Emulation.getScreenInfos', undefined, { sessionId }).catch(() => null);
    const screenId = screens?.screenInfos?.[0]?.id;
    if (screenId !== undefined)
      await this.send(commandCall('Emulation.updateScreen', { screenId, ...this.#deps.display.screenFor(viewport) }), sessionId);
  }

  /** Failures are only logged: the target may close, or not support the command. */
  async send([method, params]: CommandCall, sessionId?: string): Promise<void> {
    try {
      await this.#connection.send(method, params, { sessionId });
    } catch (error) {
      if (!this.#stopped) this.#deps.log.debug({ err: error, method }, 'browser setting rejected');
    }
  }

  sendNoReply(each: CommandCall, sessionId?: string): void {
    void this.send(each, sessionId);
  }
}

export const resumeCommand = commandCall('Runtime.runIfWaitingForDebugger', undefined);
/** Enables network events without buffers for response bodies. */
const enableNetwork = commandCall('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 });
/** Attaches to out-of-process frames and workers. */
const attachToChildren = commandCall('Target.setAutoAttach', {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: childTargets,
});
