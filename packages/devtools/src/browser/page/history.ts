/** Back, forward and reload, with the same result as a navigation. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Protocol } from 'devtools-protocol';
import { cutText } from '@berth/lib/text/text.ts';
import { OpenRequests } from '../network/open-requests.ts';
import { DocumentTrail } from '../network/document-trail.ts';
import { answerTimeoutMs, CommandTimeoutError, ProtocolError, type Connection, type Params } from '../cdp/connection.ts';
import { endHungPage } from '../cdp/hung-page.ts';
import { NavigationError, type NavigationResult } from '../interface.ts';
import { loadError } from './load-error.ts';
import type { Frames } from './frames.ts';
import { PageError, type NavigationRequest } from './page.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import { titleCharsMax, titleOf } from '../tabs/tab.ts';

const lifecycleNames = { load: 'load', domcontentloaded: 'DOMContentLoaded', networkidle: 'networkIdle' } as const;
/** The title of a page that is busy for longer comes from the browser process. */
const titleTimeoutMs = 500;
/** The browser's error page follows a failure within milliseconds; without it the response is not delayed further. */
const errorPageTimeoutMs = 1500;
/** A page that takes longer to turn its events on hangs; the replies come at once otherwise. */
const enabledMsMax = 1000;
/** The browser's refusal while a document takes the place of the one before, as of a reload that was given up. It has done nothing. */
const betweenDocuments = 'Not attached to an active page';
const betweenDocumentsMs = 20;

export interface HistoryDeps {
  connection: Connection;
  frames: Frames;
  /** Whether the Network domain must stay on afterwards, for settings or listeners. */
  shouldKeepNetwork(): boolean;
}

type HistoryRequest = Omit<NavigationRequest, 'url'>;

/** Returns null at the end of the history. @throws NavigationError, PageError */
export async function moveInHistory(
  deps: HistoryDeps,
  by: -1 | 1,
  { request, signal }: { request: HistoryRequest; signal: AbortSignal },
): Promise<NavigationResult | null> {
  const deadline = new Deadline({ signal, timeoutMs: request.timeoutMs });
  const { main } = deps.frames;
  const { currentIndex, entries } = await main.send('Page.getNavigationHistory', undefined, deadline);
  const entry = entries[currentIndex + by];
  if (!entry) return null;
  return moveInHistoryOrReload(deps, { request, deadline }, ['Page.navigateToHistoryEntry', { entryId: entry.id }]);
}

/** @throws NavigationError, PageError */
export function reload(deps: HistoryDeps, request: HistoryRequest, signal: AbortSignal): Promise<NavigationResult> {
  const deadline = new Deadline({ signal, timeoutMs: request.timeoutMs });
  return moveInHistoryOrReload(deps, { request, deadline }, ['Page.reload', {}]);
}

type HistoryCommand =
  | readonly ['Page.reload', Params<'Page.reload'>]
  | readonly ['Page.navigateToHistoryEntry', Params<'Page.navigateToHistoryEntry'>];

async function moveInHistoryOrReload(
  deps: HistoryDeps,
  options: { request: HistoryRequest; deadline: Deadline },
  command: HistoryCommand,
): Promise<NavigationResult> {
  const watch = new HistoryWatch(deps, options);
  try {
    return await watch.run(command);
  } finally {
    watch.end();
  }
}

class HistoryWatch {
  readonly #deps: HistoryDeps;
  readonly #request: HistoryRequest;
  readonly #deadline: Deadline;
  readonly #undo: (() => void)[] = [];
  readonly #committed = Promise.withResolvers<void>();
  readonly #trail: DocumentTrail;
  /** Loader ids of navigations that have started. */
  readonly #startedLoaders = new Set<string>();
  /** The failure, until the browser's error page is committed. */
  #failed: NavigationError | null = null;
  readonly #reached = new Map<string, Set<string>>();
  /** The open requests that a `networkidle` navigation waits for; null for one that waits for another event. */
  #requests: OpenRequests | null = null;
  #loaderId: string | null = null;
  #bodyError: string | null = null;

  constructor(deps: HistoryDeps, { request, deadline }: { request: HistoryRequest; deadline: Deadline }) {
    this.#deps = deps;
    this.#request = request;
    this.#deadline = deadline;
    this.#trail = new DocumentTrail(deps.connection, deps.frames.tab);
    this.#undo.push(() => this.#trail.end());
    this.#committed.promise.catch(() => {});
  }

  async run(command: HistoryCommand): Promise<NavigationResult> {
    const { connection, frames } = this.#deps;
    this.#startTimers();
    try {
      const enabled = this.#enableEvents();
      await Promise.race([endHungPage(connection, frames.tab, this.#deadline.leftMs), this.#committed.promise]);
      if (frames.tab.status !== 'crashed') await Promise.race([enabled, this.#committed.promise]);
      this.#listen();
      this.#start(command).catch((error: unknown) => this.#committed.reject(error));
      await this.#committed.promise;
    } catch (error) {
      throw this.#explain(error);
    }
    return this.#result();
  }

  /** A busy page turns its events on late: without the replies, those of a body that ends at once would be lost. */
  async #enableEvents(): Promise<void> {
    const { connection, frames } = this.#deps;
    const { sessionId, networkBuffers } = frames.tab;
    const to = { sessionId, timeoutMs: this.#scaledMs(enabledMsMax) };
    await Promise.allSettled([
      connection.send('Network.enable', networkBuffers, to),
      connection.send('Page.setLifecycleEventsEnabled', { enabled: true }, to),
    ]);
  }

  async #start([method, params]: HistoryCommand): Promise<void> {
    const { connection, frames } = this.#deps;
    const { main, tab } = frames;
    const wasCrashed = tab.status === 'crashed';
    for (let isRefused = true; isRefused;) {
      const to = { sessionId: tab.sessionId, signal: this.#deadline.signal, timeoutMs: Math.max(1, this.#deadline.leftMs) };
      isRefused = await connection.send(method, params, to).then(
        () => false,
        (error: unknown) => {
          if (error instanceof ProtocolError && error.answer === betweenDocuments && this.#deadline.leftMs > 0) return true;
          throw error;
        },
      );
      if (isRefused) await sleep(betweenDocumentsMs, undefined, { signal: this.#deadline.signal });
    }
    // A process that replaces a crashed one missed the command; sending it again also replays the lifecycle events.
    if (wasCrashed) main.sendNoReply('Page.setLifecycleEventsEnabled', { enabled: true });
  }

  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
    const { frames, shouldKeepNetwork } = this.#deps;
    frames.main.sendNoReply('Page.setLifecycleEventsEnabled', { enabled: false });
    if (!shouldKeepNetwork()) frames.main.sendNoReply('Network.disable', undefined);
  }

  #startTimers(): void {
    const { tab } = this.#deps.frames;
    const either = AbortSignal.any([this.#deadline.signal, tab.closed.signal]);
    const onAbort = (): void => this.#committed.reject(either.reason);
    const { timeoutMs } = this.#request;
    const timer = setTimeout(() => this.#committed.reject(new CommandTimeoutError('Page.navigateToHistoryEntry')), timeoutMs);
    either.addEventListener('abort', onAbort, { once: true });
    if (either.aborted) onAbort();
    this.#undo.push(
      () => clearTimeout(timer),
      () => either.removeEventListener('abort', onAbort),
    );
  }

  #listen(): void {
    const { connection, frames } = this.#deps;
    const { tab } = frames;
    if (this.#request.waitUntil === 'networkidle') {
      const isOwnSession = (from: string): boolean => from === tab.sessionId;
      const requests = new OpenRequests({ connection, isOwnSession, onIdle: () => this.#check() });
      this.#requests = requests;
      this.#undo.push(() => requests.end());
    }
    const ifOwnSession =
      <P>(act: (params: P) => void) =>
      (params: P, from: string | undefined): void => {
        if (from === tab.sessionId) act(params);
      };
    this.#undo.push(
      connection.on(
        'Page.frameStartedNavigating',
        ifOwnSession(
          ({ frameId, loaderId }: { frameId: string; loaderId: string }) => this.#isMain(frameId) && this.#startedLoaders.add(loaderId),
        ),
      ),
      connection.on(
        'Network.loadingFailed',
        ifOwnSession((event: Protocol.Network.LoadingFailedEvent) => this.#onFailed(event)),
      ),
      connection.on(
        'Page.frameNavigated',
        ifOwnSession((event: Protocol.Page.FrameNavigatedEvent) => this.#onCommit(event)),
      ),
      connection.on(
        'Page.navigatedWithinDocument',
        ifOwnSession(({ frameId }: { frameId: string }) => this.#onWithinDocument(frameId)),
      ),
      connection.on(
        'Page.lifecycleEvent',
        ifOwnSession((event: Protocol.Page.LifecycleEventEvent) => this.#onLifecycle(event)),
      ),
      connection.on(
        'Inspector.targetCrashed',
        ifOwnSession(() => this.#committed.reject(new NavigationError('page_crashed', null, 'The page crashed while it was loading.'))),
      ),
    );
  }

  #isMain(frameId: string | undefined): boolean {
    return frameId === this.#deps.frames.tab.id;
  }

  #onFailed({ errorText, requestId }: Protocol.Network.LoadingFailedEvent): void {
    // A document's request id is its loader id.
    if (requestId === this.#loaderId) return this.#endCutBody(errorText);
    if (this.#loaderId !== null || this.#failed || !this.#startedLoaders.has(requestId)) return;
    const failed = loadError(this.#deps.connection, errorText, { requestId });
    this.#failed = failed;
    // An error page that is committed after the response would interrupt the caller's next call.
    const timer = setTimeout(
      () => this.#committed.reject(failed),
      errorText === 'net::ERR_ABORTED' ? 0 : this.#scaledMs(errorPageTimeoutMs),
    );
    this.#undo.push(() => clearTimeout(timer));
  }

  /** Chromium reports neither event for a document whose body fails on the way. What is aborted was stopped. */
  #endCutBody(errorText: string): void {
    if (errorText === 'net::ERR_ABORTED' || this.#loaderId === null) return;
    this.#bodyError = errorText;
    for (const name of [lifecycleNames.domcontentloaded, lifecycleNames.load])
      this.#onLifecycle({ frameId: this.#deps.frames.tab.id, loaderId: this.#loaderId, name, timestamp: 0 });
  }

  #onCommit({ frame, type }: Protocol.Page.FrameNavigatedEvent & { type?: string }): void {
    if (frame.parentId !== undefined) return;
    if (this.#failed) this.#committed.reject(this.#failed);
    this.#loaderId = frame.loaderId;
    // A page from the back/forward cache loads nothing.
    if (type === 'BackForwardCacheRestore') this.#committed.resolve();
    this.#check();
  }

  #onWithinDocument(frameId: string): void {
    if (this.#isMain(frameId)) this.#committed.resolve();
  }

  #onLifecycle({ frameId, loaderId, name }: Protocol.Page.LifecycleEventEvent): void {
    if (!this.#isMain(frameId)) return;
    this.#reached.set(loaderId, (this.#reached.get(loaderId) ?? new Set()).add(name));
    if (name === lifecycleNames.load) this.#requests?.restart();
    this.#check();
  }

  #check(): void {
    if (this.#loaderId === null) return;
    const { waitUntil } = this.#request;
    const names = this.#reached.get(this.#loaderId);
    const isIdle = waitUntil === 'networkidle' && names?.has(lifecycleNames.load) === true && this.#requests?.isIdle === true;
    if (waitUntil === 'commit' || isIdle || names?.has(lifecycleNames[waitUntil])) this.#committed.resolve();
  }

  async #result(): Promise<NavigationResult> {
    const { tab } = this.#deps.frames;
    const response = this.#trail.of(this.#loaderId);
    if (this.#loaderId !== null) tab.statusCode = response?.status || null;
    const { headers = {}, cookieNames = [], redirects = [], ttfbMs = null } = response ?? {};
    const info = { statusCode: tab.statusCode, headers, cookieNames, redirects, leadsTo: null, ttfbMs, bodyError: this.#bodyError };
    return { ...(await this.#location()), ...info };
  }

  async #location(): Promise<{ finalUrl: string; title: string }> {
    const { connection, frames } = this.#deps;
    const { tab } = frames;
    const evaluated = connection.send(
      'Runtime.evaluate',
      { expression: `[location.href, document.title.slice(0, ${titleCharsMax})]`, returnByValue: true },
      { sessionId: tab.sessionId, timeoutMs: this.#scaledMs(titleTimeoutMs) },
    );
    const described = connection.send('Target.getTargetInfo', { targetId: tab.id }, { timeoutMs: this.#scaledMs(answerTimeoutMs) });
    const [{ targetInfo }, reply] = await Promise.all([described, evaluated.catch(() => null)]);
    const value: unknown = reply?.result.value;
    const [href, title] = Array.isArray(value) ? (value as unknown[]) : [];
    tab.title = typeof title === 'string' ? cutText(title, titleCharsMax) : titleOf(targetInfo);
    return { finalUrl: targetInfo.url || (typeof href === 'string' ? href : tab.url), title: tab.title };
  }

  /** A scaled limit within the caller's time. */
  #scaledMs(baseMs: number): number {
    return this.#deps.connection.timeoutScale.ms(baseMs, this.#deadline.leftMs);
  }

  #explain(error: unknown): unknown {
    const { frames } = this.#deps;
    if (error instanceof CommandTimeoutError || (error instanceof PageError && error.reason === 'timeout')) {
      frames.main.sendNoReply('Page.stopLoading', undefined);
      return new NavigationError('timeout', 'net::ERR_TIMED_OUT', `The page did not load within ${this.#request.timeoutMs} ms.`);
    }
    if (error instanceof ProtocolError) return new NavigationError('aborted', 'net::ERR_ABORTED', 'The browser rejected the navigation.');
    return error;
  }
}
