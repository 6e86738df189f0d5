/** Resolves the tabs that steps name: the main tab, the newest, and those that steps opened. */
import { TabNotFoundError, type Page } from '../../browser/browser.ts';
import type { StepAttempt } from './attempt.ts';
import { StepError, type StepContext } from '../context.ts';

export class OpenedTabs {
  readonly #context: StepContext;
  /** Tab of each started step with an id, and the tabs that were open at its start. */
  readonly #started = new Map<string, { before: ReadonlySet<string>; tabId: string }>();
  readonly #pages = new Map<string, Page>();

  constructor(context: StepContext) {
    this.#context = context;
  }

  /** Any open tab, preferably the main one. */
  any(): Page {
    const [first] = this.#context.tabs();
    const isOpen = this.#context.tabs().some(({ tabId }) => tabId === this.#context.mainTabId);
    return this.#page(isOpen || !first ? this.#context.mainTabId : first.tabId);
  }

  markStarted(stepId: string, tabId: string): void {
    this.#started.set(stepId, { before: new Set(this.#context.tabs().map((tab) => tab.tabId)), tabId });
  }

  /** Waits for a tab that a step may have just opened. @throws StepError `tab_not_found` */
  async find(name: string, attempt: StepAttempt): Promise<Page> {
    if (name === 'main') return this.#page(this.#context.mainTabId);
    const missing = () => new StepError('tab_not_found', `No tab matches ${name}.`);
    return attempt.poll(async () => {
      const tabId = this.#idOf(name);
      return tabId === undefined ? undefined : this.#page(tabId);
    }, missing);
  }

  #idOf(name: string): string | undefined {
    const tabs = this.#context.tabs();
    if (name === 'newest') return tabs.at(-1)?.tabId;
    const [kind, id = ''] = name.split(':', 2);
    if (kind === 'tab_id') return tabs.find(({ tabId }) => tabId === id)?.tabId;
    const started = this.#started.get(id);
    if (!started) throw new StepError('tab_not_found', `The step ${id} has not run.`);
    return tabs.find(({ tabId, openerTabId }) => openerTabId === started.tabId && !started.before.has(tabId))?.tabId;
  }

  #page(tabId: string): Page {
    const cached = this.#pages.get(tabId);
    if (cached && !cached.closed.aborted) return cached;
    const page = this.#open(tabId);
    this.#pages.set(tabId, page);
    return page;
  }

  #open(tabId: string): Page {
    try {
      return this.#context.page(tabId);
    } catch (error) {
      if (error instanceof TabNotFoundError) throw new StepError('tab_not_found', 'The tab is closed.', { cause: error });
      throw error;
    }
  }
}
