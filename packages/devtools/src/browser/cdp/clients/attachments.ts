/** The DevTools sessions of customers' clients, and what each of them waits for. */
import { Backlog } from '../backlog.ts';
import { ClientReplies } from './client-replies.ts';

interface TargetFilterEntry {
  type?: unknown;
  exclude?: unknown;
}

export interface Attachment<C> {
  readonly sessionId: string;
  readonly client: C;
  /** The session that it was attached from; null for a client's own. */
  readonly parent: string | null;
  /** null for a client's own session, which is the browser's. */
  readonly targetId: string | null;
  readonly targetType: string;
  /** Its client does not know of it. */
  isHidden: boolean;
  /** Its client has enabled the events of this page, and so handles its dialogs. */
  isWatchingPage: boolean;
  /** The filter of its `Target.setAutoAttach`, if that pauses new targets; otherwise null. */
  autoAttachFilter: readonly TargetFilterEntry[] | null;
  readonly replies: ClientReplies;
  readonly backlog: Backlog;
}

/** The filter that Chromium uses where none is given: it attaches to all targets but these. */
const defaultFilter: readonly TargetFilterEntry[] = [{ type: 'browser', exclude: true }, { type: 'tab', exclude: true }, {}];

/** The first entry that names the type decides (`Target.TargetFilter`). */
const includes = (filter: readonly TargetFilterEntry[], type: string): boolean => {
  const entry = filter.find((each) => each.type === undefined || each.type === type);
  return entry !== undefined && entry.exclude !== true;
};

export class Attachments<C> {
  readonly #bySession = new Map<string, Attachment<C>>();

  add(of: Pick<Attachment<C>, 'sessionId' | 'client' | 'parent' | 'targetId' | 'targetType' | 'isHidden'>): Attachment<C> {
    const attachment: Attachment<C> = {
      ...of,
      isWatchingPage: false,
      autoAttachFilter: null,
      replies: new ClientReplies(),
      backlog: new Backlog(),
    };
    this.#bySession.set(of.sessionId, attachment);
    return attachment;
  }

  get(sessionId: string): Attachment<C> | undefined {
    return this.#bySession.get(sessionId);
  }

  /** Removes a session and those that were attached from it. */
  remove(sessionId: string): void {
    this.#bySession.delete(sessionId);
    for (const { sessionId: child, parent } of this.#bySession.values()) if (parent === sessionId) this.remove(child);
  }

  /** Removes all sessions of a client. Returns them, children before their parents. */
  removeAll(client: C): Attachment<C>[] {
    const own = [...this.#bySession.values()].filter((each) => each.client === client);
    for (const { sessionId } of own) this.#bySession.delete(sessionId);
    return own.toReversed();
  }

  ofTarget(targetId: string): Attachment<C>[] {
    return [...this.#bySession.values()].filter((each) => each.targetId === targetId);
  }

  /** The page of a page's session, or of one that was attached from it; null for others. */
  pageOf({ targetType, targetId, parent }: Attachment<C>): string | null {
    if (targetType === 'page') return targetId;
    const above = parent === null ? undefined : this.#bySession.get(parent);
    return above ? this.pageOf(above) : null;
  }

  /** The attachments of a page, its frames and its workers. */
  ofPage(targetId: string): Attachment<C>[] {
    return [...this.#bySession.values()].filter((each) => this.pageOf(each) === targetId);
  }

  /**
   * The clients for which Chromium pauses a new target. Puppeteer attaches to the
   * tab of a page and from there to the page, and pauses both.
   */
  waiting(type: string, parentId: string | null): C[] {
    const clients = new Set<C>();
    for (const { client, targetId, targetType, autoAttachFilter } of this.#bySession.values()) {
      const isParent = parentId === null ? targetType === 'browser' : targetId === parentId;
      if (!isParent || !autoAttachFilter) continue;
      if (includes(autoAttachFilter, type) || (type === 'page' && includes(autoAttachFilter, 'tab'))) clients.add(client);
    }
    return [...clients];
  }

  onAutoAttach(sessionId: string, { autoAttach, waitForDebuggerOnStart, filter }: Record<string, unknown>): void {
    const attachment = this.#bySession.get(sessionId);
    if (!attachment) return;
    const entries = Array.isArray(filter)
      ? filter.filter((each): each is object => typeof each === 'object' && each !== null)
      : defaultFilter;
    attachment.autoAttachFilter = autoAttach === true && waitForDebuggerOnStart === true ? entries : null;
  }
}
