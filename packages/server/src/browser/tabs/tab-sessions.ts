/** Maps DevTools sessions to tabs: a tab has its page's session, and those of frames and workers in it. */
import type { Tab } from './tab.ts';

export class TabSessions {
  readonly #tabs = new Map<string, Tab>();

  add(sessionId: string, tab: Tab): void {
    this.#tabs.set(sessionId, tab);
  }

  remove(sessionId: string): void {
    this.#tabs.delete(sessionId);
  }

  removeAll(tab: Tab): void {
    for (const [sessionId, owner] of this.#tabs) if (owner === tab) this.#tabs.delete(sessionId);
  }

  of(sessionId: string | undefined): Tab | undefined {
    return sessionId === undefined ? undefined : this.#tabs.get(sessionId);
  }

  /** The tab of a page session; undefined for sessions of frames and workers. */
  pageOf(sessionId: string | undefined): Tab | undefined {
    const tab = this.of(sessionId);
    return tab?.sessionId === sessionId ? tab : undefined;
  }

  /** The tab, unless it is private. */
  publicOf(sessionId: string | undefined): Tab | undefined {
    const tab = this.of(sessionId);
    return tab?.isPrivate === false ? tab : undefined;
  }

  /** All sessions of tabs that are not private. */
  public(): (readonly [sessionId: string, tab: Tab])[] {
    return [...this.#tabs].filter(([, { isPrivate }]) => !isPrivate);
  }
}
