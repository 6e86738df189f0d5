/** The tab that calls without a tab id mean, and which pages believe that they have the focus. */
import type { Display } from '../screencast/display.ts';
import type { Preparation } from './preparation.ts';
import { commandCall } from './settings.ts';
import type { Tab } from './tab.ts';

export class ActiveTab {
  readonly #preparation: Preparation;
  readonly #display: Display;
  #id: string | null = null;
  #activations = 0;

  constructor({ preparation, display }: { preparation: Preparation; display: Display }) {
    this.#preparation = preparation;
    this.#display = display;
  }

  /** The id of the active tab; null while no tab is open. */
  get id(): string | null {
    return this.#id;
  }

  set(tab: Tab): void {
    this.#id = tab.id;
    this.#activations += 1;
    tab.activation = this.#activations;
  }

  /** Called when the active tab has closed: makes that of these tabs active that was so most recently. */
  replace(open: readonly Tab[]): void {
    const tab = lastActive(open);
    if (tab) this.set(tab);
    else this.#id = null;
    this.updateFocus(tab);
    // On a display the browser would choose the next tab itself.
    if (tab && (this.#display.isAvailable || !tab.isFocusEmulated))
      this.#preparation.sendNoReply(commandCall('Page.bringToFront', undefined), tab.sessionId);
  }

  /** Clients see pages in the background as they are; the active tab may be watched by people. */
  updateFocus(tab: Tab | undefined): void {
    if (tab) this.#preparation.emulateFocus(tab, !tab.isClients || tab.id === this.#id);
  }
}

/** The tab that was active most recently; of tabs that never were active, the newest. */
const lastActive = (tabs: readonly Tab[]): Tab | undefined =>
  tabs.reduce<Tab | undefined>((latest, tab) => (latest && latest.activation > tab.activation ? latest : tab), undefined);
