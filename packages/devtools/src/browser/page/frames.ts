/**
 * The frames of a tab and the sessions in which they are reached.
 *
 * Frames of the page's own site share its process and session. Those of other
 * sites are out of process: we attach to them when frames are first needed, so
 * that a page which is only navigated costs nothing. The state lives as long as
 * the tab.
 */
import type { Protocol } from 'devtools-protocol';
import { cutText } from '@berth/lib/text/text.ts';
import { type Connection, ProtocolError } from '../cdp/connection.ts';
import { PageError, type FrameRef } from './page.ts';
import type { Deadline } from '@berth/lib/deadline.ts';
import { PageSession } from './session.ts';
import type { TimeoutScale } from '../timeout-scale.ts';
import { childTargets } from '../tabs/settings.ts';
import { crashMessage, tabClosedError, type Tab } from '../tabs/tab.ts';

/** Each process costs a session and some round trips; more is abuse. */
const processesMax = 64;
const framesMax = 1000;
const frameDepthMax = 32;
/** A frame that hangs must not hide the others. */
const frameAnswerMs = 1500;
const urlCharsMax = 8192;
const nameCharsMax = 256;

const framesOnly = [{ type: 'iframe' }, { exclude: true }] as { type?: string; exclude?: boolean }[];

export class Frames {
  readonly main: PageSession;
  readonly tab: Tab;
  readonly timeoutScale: TimeoutScale;
  readonly #connection: Connection;
  /** Out-of-process sessions by their root frame. */
  readonly #children = new Map<string, PageSession>();
  /** Sessions of frames that are not the root of their process. */
  readonly #inner = new Map<string, PageSession>();
  readonly #documentDestroyedListeners = new Set<(frameId: string) => void>();
  readonly #attachedListeners = new Set<(session: PageSession) => void>();
  /** Parent ids; a frame never changes its parent. */
  readonly #parents = new Map<string, string>();
  readonly #autoAttached = new WeakSet<PageSession>();
  #following: Promise<unknown> | null = null;
  readonly #dragStartListeners = new Set<(data: Protocol.Input.DragData) => void>();

  constructor(connection: Connection, tab: Tab) {
    this.#connection = connection;
    this.timeoutScale = connection.timeoutScale;
    this.tab = tab;
    const toClosedError = (): Error => (tab.closed.signal.aborted ? (tab.closed.signal.reason as Error) : tabClosedError());
    const onCommand = (): void => tab.onDriven();
    const toCrashError = (): Error => new PageError('page_crashed', crashMessage(tab));
    this.main = new PageSession({ connection, id: tab.sessionId, rootFrameId: tab.id, onCommand, toClosedError, toCrashError });
    // Its event came before anybody listened here.
    if (tab.status === 'crashed') this.main.onCrash();
    const undo = this.#watch();
    const end = (): void => {
      for (const each of undo) each();
    };
    tab.closed.signal.addEventListener('abort', end, { once: true });
    if (tab.closed.signal.aborted) end();
  }

  /** Adds a listener for documents that are replaced or removed with their frame. */
  onDocumentDestroyed(listener: (frameId: string) => void): void {
    this.#documentDestroyedListeners.add(listener);
  }

  onAttached(listener: (session: PageSession) => void): void {
    this.#attachedListeners.add(listener);
  }

  /** Adds a listener for HTML drags that start; returns a function that removes it. */
  onDragStart(listener: (data: Protocol.Input.DragData) => void): () => void {
    this.#dragStartListeners.add(listener);
    return () => this.#dragStartListeners.delete(listener);
  }

  /** All attached sessions. */
  sessions(): PageSession[] {
    return [this.main, ...this.#children.values()];
  }

  /** The session of a frame. @throws PageError `frame_detached` */
  async sessionOf(frameId: string, by: Deadline): Promise<PageSession> {
    const cached = this.cachedSession(frameId);
    if (cached) return cached;
    await this.list(by);
    const session = this.cachedSession(frameId);
    if (!session) throw new PageError('frame_detached', 'The frame is no longer in the page.');
    return session;
  }

  /** The frames from the main frame (exclusive) down to this one. @throws PageError `frame_detached` */
  async chain(frameId: string, by: Deadline): Promise<string[]> {
    const cached = this.#cachedChain(frameId);
    if (cached) return cached;
    await this.list(by);
    const chain = this.#cachedChain(frameId);
    if (!chain) throw new PageError('frame_detached', 'The frame is no longer in the page.');
    return chain;
  }

  #cachedChain(frameId: string): string[] | null {
    const chain: string[] = [];
    for (let id: string | undefined = frameId; id !== this.tab.id; id = this.#parents.get(id)) {
      if (id === undefined || !this.cachedSession(id) || chain.length >= frameDepthMax) return null;
      chain.unshift(id);
    }
    return chain;
  }

  /** A frame may move between processes. */
  forget(frameId: string): void {
    this.#inner.delete(frameId);
  }

  /** The session of a frame as last known. */
  cachedSession(frameId: string): PageSession | undefined {
    if (frameId === this.tab.id) return this.main;
    return this.#children.get(frameId) ?? this.#inner.get(frameId);
  }

  /** The main frame first, parents before their children. */
  async list(by: Deadline): Promise<FrameRef[]> {
    await this.follow(by);
    const children = [...this.#children.values()];
    const [{ frameTree }, ...others] = await Promise.all([
      this.main.send('Page.getFrameTree', undefined, by),
      ...children.map((child) => this.#tree(child, by)),
    ]);
    const frames = this.#register(this.main, frameTree);
    const ids = new Set(frames.map(({ id }) => id));
    let rest = others.filter((tree) => tree.length > 0);
    for (let next = rest; next.length > 0 && frames.length < framesMax;) {
      next = rest.filter(([top]) => ids.has(top?.parentId ?? ''));
      rest = rest.filter((tree) => !next.includes(tree));
      for (const frame of next.flat()) {
        ids.add(frame.id);
        frames.push(frame);
      }
    }
    return frames.slice(0, framesMax);
  }

  /** Attaches to out-of-process frames, later ones included. Resolves when the current ones are attached. */
  async follow(by: Deadline): Promise<void> {
    this.#following ??= this.#startFollowing(by).catch((error: unknown) => {
      this.#following = null;
      throw error;
    });
    await this.#following;
    // Each may hold frames of further processes. Auto-attach is set once and also covers later frames. A frame that hangs is not awaited.
    for (let pending = this.#notAutoAttached(); pending.length > 0; pending = this.#notAutoAttached()) {
      for (const child of pending) this.#autoAttached.add(child);
      await Promise.all(pending.map((child) => this.#autoAttach(child, this.#frameDeadline(by)).catch(() => {})));
      by.signal.throwIfAborted();
    }
  }

  #notAutoAttached(): PageSession[] {
    return [...this.#children.values()].filter((child) => !this.#autoAttached.has(child));
  }

  async #startFollowing(by: Deadline): Promise<void> {
    const [, { frameTree }, { targetInfos }] = await Promise.all([
      this.#autoAttach(this.main, by),
      this.main.send('Page.getFrameTree', undefined, by),
      this.#connection.send('Target.getTargets', { filter: framesOnly }, by.rest()),
    ]);
    const inner = new Set(this.#register(this.main, frameTree).map(({ id }) => id));
    const hasUnseen = targetInfos.some(({ targetId, parentFrameId }) => inner.has(parentFrameId ?? '') && !this.#children.has(targetId));
    if (!hasUnseen) return;
    // The session's settings attached to them before we listened, and the event comes only once: attach again.
    this.main.sendNoReply('Target.setAutoAttach', { autoAttach: false, waitForDebuggerOnStart: false, flatten: true });
    await this.#autoAttach(this.main, by);
  }

  #autoAttach(session: PageSession, by: Deadline): Promise<unknown> {
    return session.send(
      'Target.setAutoAttach',
      { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: childTargets },
      by,
    );
  }

  /** A frame may take at most half of the time that is left. */
  #frameDeadline(by: Deadline): Deadline {
    return by.within(this.timeoutScale.ms(frameAnswerMs, by.leftMs / 2));
  }

  async #tree(session: PageSession, by: Deadline): Promise<FrameRef[]> {
    const id = session.rootFrameId;
    try {
      const { frameTree } = await session.send('Page.getFrameTree', undefined, this.#frameDeadline(by));
      return this.#register(session, frameTree);
    } catch (error) {
      if (!(error instanceof PageError || error instanceof ProtocolError)) throw error;
      // A frame that hangs is listed as the browser process knows it; a removed one is not listed.
      const to = by.rest();
      const info = await this.#connection.send('Target.getTargetInfo', { targetId: id }, to).catch(() => null);
      const parentId = info?.targetInfo.parentFrameId;
      return info && parentId !== undefined ? [{ id, parentId, url: cutText(info.targetInfo.url, urlCharsMax), name: '' }] : [];
    }
  }

  #adopt(frameId: string, id: string): void {
    const toClosedError = (): Error => new PageError('frame_detached', 'The frame is no longer in the page.');
    const onCommand = (): void => this.tab.onDriven();
    const toCrashError = (): Error => new PageError('page_crashed', 'The process of a frame crashed.');
    const session = new PageSession({ connection: this.#connection, id, rootFrameId: frameId, onCommand, toClosedError, toCrashError });
    this.#children.set(frameId, session);
    this.#forgetDocument(frameId);
    // Required for `Page.frameNavigated`.
    session.sendNoReply('Page.enable', {});
    for (const listener of this.#attachedListeners) listener(session);
  }

  #register(session: PageSession, top: Protocol.Page.FrameTree): FrameRef[] {
    const frames: FrameRef[] = [];
    const waiting = [top];
    for (let tree = waiting.shift(); tree && frames.length < framesMax; tree = waiting.shift()) {
      const { id, parentId, url, urlFragment, name } = tree.frame;
      if (id !== session.rootFrameId) this.#inner.set(id, session);
      if (parentId !== undefined) this.#parents.set(id, parentId);
      frames.push({
        id,
        parentId: parentId ?? null,
        url: cutText(url + (urlFragment ?? ''), urlCharsMax),
        name: cutText(name ?? '', nameCharsMax),
      });
      waiting.push(...(tree.childFrames ?? []));
    }
    return frames;
  }

  #ownSession(sessionId: string | undefined): PageSession | undefined {
    return sessionId === undefined ? undefined : this.sessions().find(({ id }) => id === sessionId);
  }

  #watch(): (() => void)[] {
    const connection = this.#connection;
    return [
      connection.on('Target.attachedToTarget', ({ sessionId, targetInfo }, parent) => {
        const isNew = targetInfo.type === 'iframe' && !this.#children.has(targetInfo.targetId) && this.#children.size < processesMax;
        if (!isNew || !this.#ownSession(parent)) return;
        if (targetInfo.parentFrameId !== undefined) this.#parents.set(targetInfo.targetId, targetInfo.parentFrameId);
        this.#adopt(targetInfo.targetId, sessionId);
      }),
      connection.on('Target.detachedFromTarget', ({ sessionId }) => this.#onDetached(sessionId)),
      connection.on(
        'Input.dragIntercepted',
        ({ data }, from) => from === this.main.id && this.#dragStartListeners.forEach((listener) => listener(data)),
      ),
      connection.on('Target.targetCrashed', ({ targetId }) => targetId === this.tab.id && this.main.onCrash()),
      connection.on('Inspector.targetCrashed', (_, from) => from !== this.main.id && this.#ownSession(from)?.onCrash()),
      connection.on('Page.frameNavigated', ({ frame }, from) => {
        const session = this.#ownSession(from);
        if (session?.rootFrameId === frame.id) session.onDocument();
        if (session) this.#forgetDocument(frame.id);
      }),
      connection.on('Page.frameDetached', ({ frameId }, from) => {
        const session = this.#ownSession(from);
        if (!session || this.#inner.get(frameId) !== session) return;
        this.#inner.delete(frameId);
        if (!this.#children.has(frameId)) this.#parents.delete(frameId);
        this.#forgetDocument(frameId);
      }),
    ];
  }

  #onDetached(sessionId: string): void {
    for (const [frameId, session] of this.#children)
      if (session.id === sessionId) {
        this.#children.delete(frameId);
        this.#parents.delete(frameId);
        this.#forgetDocument(frameId);
      }
    for (const [frameId, session] of this.#inner)
      if (session.id === sessionId) {
        this.#inner.delete(frameId);
        this.#parents.delete(frameId);
        this.#forgetDocument(frameId);
      }
  }

  #forgetDocument(frameId: string): void {
    for (const listener of this.#documentDestroyedListeners) listener(frameId);
  }
}
