/** Whose DevTools sessions are whose: a tab has its page's, and those of frames and workers in it. */
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

  /** The tab whose page's own session it is, and not that of a frame in a process of its own. */
  pageOf(sessionId: string | undefined): Tab | undefined {
    const tab = this.of(sessionId);
    return tab?.sessionId === sessionId ? tab : undefined;
  }

  /** Where a caller may know of the tab. */
  publicOf(sessionId: string | undefined): Tab | undefined {
    const tab = this.of(sessionId);
    return tab?.isPrivate === false ? tab : undefined;
  }

  /** All of those. */
  public(): (readonly [sessionId: string, tab: Tab])[] {
    return [...this.#tabs].filter(([, { isPrivate }]) => !isPrivate);
  }
}
