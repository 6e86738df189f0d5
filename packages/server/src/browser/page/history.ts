/** Moves in a tab's history, and its reload: told as a navigation is. */
import type { Protocol } from 'devtools-protocol';
import { DocumentTrail } from '../network/document-trail.ts';
import { answerLimitMs, CommandTimeout, ProtocolError, type Connection, type Params } from '../cdp/connection.ts';
import { endHungPage } from '../cdp/hung-page.ts';
import { NavigationError, type NavigationOutcome } from '../model.ts';
import { failureOf } from './navigate.ts';
import type { Frames } from './frames.ts';
import { PageError, type NavigationOrder } from './model.ts';
import { Deadline } from './session.ts';
import { longestTitle, titleOf } from '../tabs/tab.ts';

const lifecycleNames = { load: 'load', domcontentloaded: 'DOMContentLoaded', networkidle: 'networkIdle' } as const;
/** A page that is busy for longer has its title told by the browser process. */
const titleLimitMs = 500;
/** The browser's own error page follows a failure within milliseconds; that it does not come is no reason to hold the answer. */
const errorPageLimitMs = 1500;

export interface MoveParts {
  connection: Connection;
  frames: Frames;
  /** Whether the Network domain stays on afterwards: settings live in it, and listeners. */
  keepsNetwork(): boolean;
}

type MoveOrder = Omit<NavigationOrder, 'url'>;

/** Null where the history ends. @throws NavigationError, PageError */
export async function moveInHistory(
  parts: MoveParts,
  by: -1 | 1,
  { order, signal }: { order: MoveOrder; signal: AbortSignal },
): Promise<NavigationOutcome | null> {
  const deadline = new Deadline({ signal, timeoutMs: order.timeoutMs });
  const { main } = parts.frames;
  const { currentIndex, entries } = await main.send('Page.getNavigationHistory', undefined, deadline);
  const entry = entries[currentIndex + by];
  if (!entry) return null;
  return move(parts, { order, deadline }, ['Page.navigateToHistoryEntry', { entryId: entry.id }]);
}

/** @throws NavigationError, PageError */
export function reload(parts: MoveParts, order: MoveOrder, signal: AbortSignal): Promise<NavigationOutcome> {
  const deadline = new Deadline({ signal, timeoutMs: order.timeoutMs });
  return move(parts, { order, deadline }, ['Page.reload', {}]);
}

type Start =
  | readonly ['Page.reload', Params<'Page.reload'>]
  | readonly ['Page.navigateToHistoryEntry', Params<'Page.navigateToHistoryEntry'>];

async function move(parts: MoveParts, asked: { order: MoveOrder; deadline: Deadline }, start: Start): Promise<NavigationOutcome> {
  const watch = new MoveWatch(parts, asked);
  try {
    return await watch.run(start);
  } finally {
    watch.end();
  }
}

class MoveWatch {
  readonly #parts: MoveParts;
  readonly #order: MoveOrder;
  readonly #deadline: Deadline;
  readonly #undo: (() => void)[] = [];
  readonly #arrived = Promise.withResolvers<void>();
  readonly #trail: DocumentTrail;
  /** Documents that the page set out for. */
  readonly #awaited = new Set<string>();
  /** Why it fails, while the browser's error page has not moved in. */
  #failed: NavigationError | null = null;
  readonly #reached = new Map<string, Set<string>>();
  #loaderId: string | null = null;

  constructor(parts: MoveParts, { order, deadline }: { order: MoveOrder; deadline: Deadline }) {
    this.#parts = parts;
    this.#order = order;
    this.#deadline = deadline;
    this.#trail = new DocumentTrail(parts.connection, parts.frames.tab);
    this.#undo.push(() => this.#trail.end());
    this.#arrived.promise.catch(() => {});
  }

  async run(start: Start): Promise<NavigationOutcome> {
    const { connection, frames } = this.#parts;
    this.#limit();
    try {
      await Promise.race([endHungPage(connection, frames.tab, this.#deadline.leftMs), this.#arrived.promise]);
      this.#listen();
      this.#start(start).catch((error: unknown) => this.#arrived.reject(error));
      await this.#arrived.promise;
    } catch (error) {
      throw this.#explain(error);
    }
    return this.#outcome();
  }

  async #start([method, params]: Start): Promise<void> {
    const { connection, frames } = this.#parts;
    const { main, tab } = frames;
    const to = { sessionId: tab.sessionId, signal: this.#deadline.signal, timeoutMs: Math.max(1, this.#deadline.leftMs) };
    const wasCrashed = tab.status === 'crashed';
    main.sendQuietly('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 });
    main.sendQuietly('Page.setLifecycleEventsEnabled', { enabled: true });
    await connection.send(method, params, to);
    // A process that takes the place of a dead one has not heard it; told again, it tells again what was reached.
    if (wasCrashed) main.sendQuietly('Page.setLifecycleEventsEnabled', { enabled: true });
  }

  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
    const { frames, keepsNetwork } = this.#parts;
    frames.main.sendQuietly('Page.setLifecycleEventsEnabled', { enabled: false });
    if (!keepsNetwork()) frames.main.sendQuietly('Network.disable', undefined);
  }

  #limit(): void {
    const { tab } = this.#parts.frames;
    const either = AbortSignal.any([this.#deadline.signal, tab.gone.signal]);
    const onAbort = (): void => this.#arrived.reject(either.reason);
    const { timeoutMs } = this.#order;
    const late = setTimeout(() => this.#arrived.reject(new CommandTimeout()), timeoutMs);
    either.addEventListener('abort', onAbort, { once: true });
    if (either.aborted) onAbort();
    this.#undo.push(
      () => clearTimeout(late),
      () => either.removeEventListener('abort', onAbort),
    );
  }

  #listen(): void {
    const { connection, frames } = this.#parts;
    const { tab } = frames;
    const mine =
      <P>(act: (params: P) => void) =>
      (params: P, from: string | undefined): void => {
        if (from === tab.sessionId) act(params);
      };
    this.#undo.push(
      connection.on(
        'Page.frameStartedNavigating',
        mine(({ frameId, loaderId }: { frameId: string; loaderId: string }) => this.#isMain(frameId) && this.#awaited.add(loaderId)),
      ),
      connection.on(
        'Network.loadingFailed',
        mine((event: Protocol.Network.LoadingFailedEvent) => this.#onFailed(event)),
      ),
      connection.on(
        'Page.frameNavigated',
        mine((event: Protocol.Page.FrameNavigatedEvent) => this.#onCommit(event)),
      ),
      connection.on(
        'Page.navigatedWithinDocument',
        mine(({ frameId }: { frameId: string }) => this.#onWithinDocument(frameId)),
      ),
      connection.on(
        'Page.lifecycleEvent',
        mine((event: Protocol.Page.LifecycleEventEvent) => this.#onLifecycle(event)),
      ),
      connection.on(
        'Inspector.targetCrashed',
        mine(() => this.#arrived.reject(new NavigationError('page_crashed', null, 'The page crashed while it was loading.'))),
      ),
    );
  }

  #isMain(frameId: string | undefined): boolean {
    return frameId === this.#parts.frames.tab.id;
  }

  #onFailed({ errorText, requestId }: Protocol.Network.LoadingFailedEvent): void {
    // The request for a document bears the document's own id.
    if (this.#loaderId !== null || this.#failed || !this.#awaited.has(requestId)) return;
    const failed = new NavigationError(failureOf(errorText), errorText, `The page could not be loaded: ${errorText}.`);
    this.#failed = failed;
    // An error page that moves in after the answer would interrupt what the caller does next.
    const late = setTimeout(() => this.#arrived.reject(failed), errorText === 'net::ERR_ABORTED' ? 0 : this.#within(errorPageLimitMs));
    this.#undo.push(() => clearTimeout(late));
  }

  #onCommit({ frame, type }: Protocol.Page.FrameNavigatedEvent & { type?: string }): void {
    if (frame.parentId !== undefined) return;
    if (this.#failed) this.#arrived.reject(this.#failed);
    this.#loaderId = frame.loaderId;
    // One that was kept alive is as it was left and loads nothing.
    if (type === 'BackForwardCacheRestore') this.#arrived.resolve();
    this.#check();
  }

  #onWithinDocument(frameId: string): void {
    if (this.#isMain(frameId)) this.#arrived.resolve();
  }

  #onLifecycle({ frameId, loaderId, name }: Protocol.Page.LifecycleEventEvent): void {
    if (!this.#isMain(frameId)) return;
    this.#reached.set(loaderId, (this.#reached.get(loaderId) ?? new Set()).add(name));
    this.#check();
  }

  #check(): void {
    if (this.#loaderId === null) return;
    const { waitUntil } = this.#order;
    if (waitUntil === 'commit' || this.#reached.get(this.#loaderId)?.has(lifecycleNames[waitUntil])) this.#arrived.resolve();
  }

  async #outcome(): Promise<NavigationOutcome> {
    const { tab } = this.#parts.frames;
    const response = this.#trail.of(this.#loaderId);
    if (this.#loaderId !== null) tab.statusCode = response?.status || null;
    const { headers = {}, cookieNames = [], redirects = [], ttfbMs = null } = response ?? {};
    return { ...(await this.#place()), statusCode: tab.statusCode, headers, cookieNames, redirects, ttfbMs };
  }

  async #place(): Promise<{ finalUrl: string; title: string }> {
    const { connection, frames } = this.#parts;
    const { tab } = frames;
    const asked = connection.send(
      'Runtime.evaluate',
      { expression: `[location.href, document.title.slice(0, ${longestTitle})]`, returnByValue: true },
      { sessionId: tab.sessionId, timeoutMs: this.#within(titleLimitMs) },
    );
    const described = connection.send('Target.getTargetInfo', { targetId: tab.id }, { timeoutMs: this.#within(answerLimitMs) });
    const [{ targetInfo }, told] = await Promise.all([described, asked.catch(() => null)]);
    const value: unknown = told?.result.value;
    const [href, title] = Array.isArray(value) ? (value as unknown[]) : [];
    tab.title = typeof title === 'string' ? title.slice(0, longestTitle) : titleOf(targetInfo);
    return { finalUrl: targetInfo.url || (typeof href === 'string' ? href : tab.url), title: tab.title };
  }

  /** A limit of ours in the caller's time. */
  #within(usualMs: number): number {
    return this.#parts.connection.patience.ms(usualMs, this.#deadline.leftMs);
  }

  #explain(error: unknown): unknown {
    const { frames } = this.#parts;
    if (error instanceof CommandTimeout || (error instanceof PageError && error.reason === 'timeout')) {
      frames.main.sendQuietly('Page.stopLoading', undefined);
      return new NavigationError('timeout', null, `The page did not load within ${this.#order.timeoutMs} ms.`);
    }
    if (error instanceof ProtocolError) return new NavigationError('aborted', null, 'The browser did not go there.');
    return error;
  }
}
