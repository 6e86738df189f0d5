/** The tabs that steps name: the one they began in, the newest, those that steps have opened. */
import { TabNotFound, type Page } from '../../browser/browser.ts';
import type { Attempt } from './attempt.ts';
import { StepFailed, type StepWorld } from '../context.ts';

export class OpenedTabs {
  readonly #world: StepWorld;
  /** For each step with an id: the tabs that were there when it began, and the one it was in. */
  readonly #begun = new Map<string, { before: ReadonlySet<string>; tabId: string }>();
  readonly #pages = new Map<string, Page>();

  constructor(world: StepWorld) {
    this.#world = world;
  }

  /** A tab that is open, for what belongs to none. */
  any(): Page {
    const [first] = this.#world.tabs();
    const isOpen = this.#world.tabs().some(({ tabId }) => tabId === this.#world.mainTabId);
    return this.#page(isOpen || !first ? this.#world.mainTabId : first.tabId);
  }

  begin(stepId: string, tabId: string): void {
    this.#begun.set(stepId, { before: new Set(this.#world.tabs().map((tab) => tab.tabId)), tabId });
  }

  /** Waits for a tab that a step has just asked for. @throws StepFailed `tab_not_found` */
  async find(name: string, attempt: Attempt): Promise<Page> {
    if (name === 'main') return this.#page(this.#world.mainTabId);
    const missing = () => new StepFailed('tab_not_found', `There is no tab ${name}.`);
    return attempt.poll(async () => {
      const tabId = this.#idOf(name);
      return tabId === undefined ? undefined : this.#page(tabId);
    }, missing);
  }

  #idOf(name: string): string | undefined {
    const tabs = this.#world.tabs();
    if (name === 'newest') return tabs.at(-1)?.tabId;
    const [kind, id = ''] = name.split(':', 2);
    if (kind === 'tab_id') return tabs.find(({ tabId }) => tabId === id)?.tabId;
    const begun = this.#begun.get(id);
    if (!begun) throw new StepFailed('tab_not_found', `The step ${id} has not run.`);
    return tabs.find(({ tabId, openerTabId }) => openerTabId === begun.tabId && !begun.before.has(tabId))?.tabId;
  }

  #page(tabId: string): Page {
    const known = this.#pages.get(tabId);
    if (known && !known.gone.aborted) return known;
    const page = this.#open(tabId);
    this.#pages.set(tabId, page);
    return page;
  }

  #open(tabId: string): Page {
    try {
      return this.#world.page(tabId);
    } catch (error) {
      if (error instanceof TabNotFound) throw new StepFailed('tab_not_found', 'The tab is gone.', { cause: error });
      throw error;
    }
  }
}
