/**
 * The frames of a tab and the sessions in which they are reached.
 *
 * Frames of the page's own site live in its process and session. Those of other
 * sites live elsewhere: the browser is told to attach to them when somebody
 * first asks for frames, so that a page which is only navigated pays nothing.
 * What is known is kept for the tab and goes with it.
 */
import type { Protocol } from 'devtools-protocol';
import type { Connection } from '../cdp/connection.ts';
import { ProtocolError } from '../cdp/connection.ts';
import { PageError, type FrameRef } from './model.ts';
import { PageSession, type Deadline } from './session.ts';
import type { Patience } from '../timeout-scale.ts';
import { deepTargets } from '../tabs/settings.ts';
import { goneTab, type Tab } from '../tabs/tab.ts';

/** More is a page that wants to be expensive; each costs a session and some trips. */
const mostProcesses = 64;
const mostFrames = 1000;
const deepestFrame = 32;
/** A frame that hangs must not hide the others. */
const frameAnswerMs = 1500;
const longestUrl = 8192;
const longestName = 256;

const framesOnly = [{ type: 'iframe' }, { exclude: true }] as { type?: string; exclude?: boolean }[];

export class Frames {
  readonly main: PageSession;
  readonly tab: Tab;
  readonly patience: Patience;
  readonly #connection: Connection;
  /** By the frame at the top of each process. */
  readonly #children = new Map<string, PageSession>();
  /** Frames below the top of their process. */
  readonly #inner = new Map<string, PageSession>();
  readonly #documentGone = new Set<(frameId: string) => void>();
  readonly #attached = new Set<(session: PageSession) => void>();
  /** A frame keeps its parent all its life, and by that of which frames it is a part. */
  readonly #parents = new Map<string, string>();
  readonly #asked = new WeakSet<PageSession>();
  #following: Promise<unknown> | null = null;
  readonly #dragStart = new Set<(data: Protocol.Input.DragData) => void>();

  constructor(connection: Connection, tab: Tab) {
    this.#connection = connection;
    this.patience = connection.patience;
    this.tab = tab;
    const explainGone = (): Error => (tab.gone.signal.aborted ? (tab.gone.signal.reason as Error) : goneTab());
    this.main = new PageSession({ connection, id: tab.sessionId, rootFrameId: tab.id, explainGone });
    const undo = this.#watch();
    const end = (): void => {
      for (const each of undo) each();
    };
    tab.gone.signal.addEventListener('abort', end, { once: true });
    if (tab.gone.signal.aborted) end();
  }

  /** Calls back when a frame's document is replaced or goes away with its frame. */
  onDocumentGone(listener: (frameId: string) => void): void {
    this.#documentGone.add(listener);
  }

  onAttached(listener: (session: PageSession) => void): void {
    this.#attached.add(listener);
  }

  /** The page let something be dragged. */
  onDragStart(listener: (data: Protocol.Input.DragData) => void): () => void {
    this.#dragStart.add(listener);
    return () => this.#dragStart.delete(listener);
  }

  /** Those that are attached to now. */
  sessions(): PageSession[] {
    return [this.main, ...this.#children.values()];
  }

  /** The session in which a frame is reached. @throws PageError `frame_gone` */
  async sessionOf(frameId: string, by: Deadline): Promise<PageSession> {
    const known = this.known(frameId);
    if (known) return known;
    await this.list(by);
    const found = this.known(frameId);
    if (!found) throw new PageError('frame_gone', 'The frame is no longer in the page.');
    return found;
  }

  /** The frames that hold this one, from below the main frame down to itself. @throws PageError `frame_gone` */
  async chain(frameId: string, by: Deadline): Promise<string[]> {
    const known = this.#knownChain(frameId);
    if (known) return known;
    await this.list(by);
    const found = this.#knownChain(frameId);
    if (!found) throw new PageError('frame_gone', 'The frame is no longer in the page.');
    return found;
  }

  #knownChain(frameId: string): string[] | null {
    const chain: string[] = [];
    for (let id: string | undefined = frameId; id !== this.tab.id; id = this.#parents.get(id)) {
      if (id === undefined || !this.known(id) || chain.length >= deepestFrame) return null;
      chain.unshift(id);
    }
    return chain;
  }

  /** A frame may move between processes. */
  forget(frameId: string): void {
    this.#inner.delete(frameId);
  }

  /** Where a frame was when last asked, without asking. */
  known(frameId: string): PageSession | undefined {
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
    const frames = this.#place(this.main, frameTree);
    const ids = new Set(frames.map(({ id }) => id));
    let rest = others.filter((tree) => tree.length > 0);
    for (let next = rest; next.length > 0 && frames.length < mostFrames;) {
      next = rest.filter(([top]) => ids.has(top?.parentId ?? ''));
      rest = rest.filter((tree) => !next.includes(tree));
      for (const frame of next.flat()) {
        ids.add(frame.id);
        frames.push(frame);
      }
    }
    return frames.slice(0, mostFrames);
  }

  /** Has the browser attach to the frames of other processes, those that come later too. Resolves when it has to those that are there. */
  async follow(by: Deadline): Promise<void> {
    this.#following ??= this.#begin(by).catch((error: unknown) => {
      this.#following = null;
      throw error;
    });
    await this.#following;
    // Each may hold frames of further processes, and is asked once: it goes on telling of what comes. One that hangs is not waited for.
    for (let asking = this.#unasked(); asking.length > 0; asking = this.#unasked()) {
      for (const child of asking) this.#asked.add(child);
      await Promise.all(asking.map((child) => this.#askToAttach(child, this.#shortly(by)).catch(() => {})));
      by.signal.throwIfAborted();
    }
  }

  #unasked(): PageSession[] {
    return [...this.#children.values()].filter((child) => !this.#asked.has(child));
  }

  async #begin(by: Deadline): Promise<void> {
    const [, { frameTree }, { targetInfos }] = await Promise.all([
      this.#askToAttach(this.main, by),
      this.main.send('Page.getFrameTree', undefined, by),
      this.#connection.send('Target.getTargets', { filter: framesOnly }, { signal: by.signal, timeoutMs: Math.max(1, by.leftMs) }),
    ]);
    const inner = new Set(this.#place(this.main, frameTree).map(({ id }) => id));
    const unseen = targetInfos.some(({ targetId, parentFrameId }) => inner.has(parentFrameId ?? '') && !this.#children.has(targetId));
    if (!unseen) return;
    // The settings of this session had it attach before we listened: it tells of what it attaches to only once.
    this.main.sendQuietly('Target.setAutoAttach', { autoAttach: false, waitForDebuggerOnStart: false, flatten: true });
    await this.#askToAttach(this.main, by);
  }

  #askToAttach(session: PageSession, by: Deadline): Promise<unknown> {
    return session.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: deepTargets }, by);
  }

  /** Half of the time is for the others. */
  #shortly(by: Deadline): Deadline {
    return by.within(this.patience.ms(frameAnswerMs, by.leftMs / 2));
  }

  async #tree(session: PageSession, by: Deadline): Promise<FrameRef[]> {
    const id = session.rootFrameId;
    try {
      const { frameTree } = await session.send('Page.getFrameTree', undefined, this.#shortly(by));
      return this.#place(session, frameTree);
    } catch (error) {
      if (!(error instanceof PageError || error instanceof ProtocolError)) throw error;
      // One that hangs is told as the browser knows it; one that went away is told no more.
      const to = { signal: by.signal, timeoutMs: Math.max(1, by.leftMs) };
      const info = await this.#connection.send('Target.getTargetInfo', { targetId: id }, to).catch(() => null);
      const parentId = info?.targetInfo.parentFrameId;
      return info && parentId !== undefined ? [{ id, parentId, url: info.targetInfo.url.slice(0, longestUrl), name: '' }] : [];
    }
  }

  #adopt(frameId: string, id: string): void {
    const explainGone = (): Error => new PageError('frame_gone', 'The frame is no longer in the page.');
    const session = new PageSession({ connection: this.#connection, id, rootFrameId: frameId, explainGone });
    this.#children.set(frameId, session);
    this.#forgetDocument(frameId);
    // Only then are replaced documents told.
    session.sendQuietly('Page.enable', {});
    for (const tell of this.#attached) tell(session);
  }

  #place(session: PageSession, top: Protocol.Page.FrameTree): FrameRef[] {
    const frames: FrameRef[] = [];
    const waiting = [top];
    for (let tree = waiting.shift(); tree && frames.length < mostFrames; tree = waiting.shift()) {
      const { id, parentId, url, urlFragment, name } = tree.frame;
      if (id !== session.rootFrameId) this.#inner.set(id, session);
      if (parentId !== undefined) this.#parents.set(id, parentId);
      frames.push({
        id,
        parentId: parentId ?? null,
        url: (url + (urlFragment ?? '')).slice(0, longestUrl),
        name: (name ?? '').slice(0, longestName),
      });
      waiting.push(...(tree.childFrames ?? []));
    }
    return frames;
  }

  #isOurs(sessionId: string | undefined): PageSession | undefined {
    return sessionId === undefined ? undefined : this.sessions().find(({ id }) => id === sessionId);
  }

  #watch(): (() => void)[] {
    const connection = this.#connection;
    return [
      connection.on('Target.attachedToTarget', ({ sessionId, targetInfo }, parent) => {
        const unknown = targetInfo.type === 'iframe' && !this.#children.has(targetInfo.targetId) && this.#children.size < mostProcesses;
        if (!unknown || !this.#isOurs(parent)) return;
        if (targetInfo.parentFrameId !== undefined) this.#parents.set(targetInfo.targetId, targetInfo.parentFrameId);
        this.#adopt(targetInfo.targetId, sessionId);
      }),
      connection.on('Target.detachedFromTarget', ({ sessionId }) => this.#onDetached(sessionId)),
      connection.on('Input.dragIntercepted', ({ data }, from) => from === this.main.id && this.#dragStart.forEach((tell) => tell(data))),
      connection.on('Inspector.targetCrashed', (_, from) => this.#isOurs(from)?.onCrash()),
      connection.on('Page.frameNavigated', ({ frame }, from) => {
        const session = this.#isOurs(from);
        if (session?.rootFrameId === frame.id) session.onDocument();
        if (session) this.#forgetDocument(frame.id);
      }),
      connection.on('Page.frameDetached', ({ frameId }, from) => {
        const session = this.#isOurs(from);
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
    for (const tell of this.#documentGone) tell(frameId);
  }
}
