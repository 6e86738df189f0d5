/** Reference count of a tab's network events: they stay on while somebody needs them. */
import type { BrowserSettings } from '../interface.ts';
import type { Preparation } from '../tabs/preparation.ts';
import { commandCall } from '../tabs/settings.ts';
import type { Tab } from '../tabs/tab.ts';

export class NetworkWatchers {
  readonly #preparation: Preparation;
  readonly #settingsOf: (tab: Tab) => BrowserSettings;
  #watchesAll = false;

  constructor(preparation: Preparation, settingsOf: (tab: Tab) => BrowserSettings) {
    this.#preparation = preparation;
    this.#settingsOf = settingsOf;
  }

  /** Whether later tabs are watched too. */
  get watchesAll(): boolean {
    return this.#watchesAll;
  }

  /** Whether the events must stay on after a navigation, for the session's settings or a listener. */
  isNeeded(tab: Tab): boolean {
    return tab.networkWatchers > 0 || Object.keys(this.#settingsOf(tab).extraHeaders).length > 0;
  }

  /** Keeps the events on for these tabs and for later ones. */
  watchAll(tabs: readonly Tab[]): void {
    this.#watchesAll = true;
    for (const tab of tabs) this.watch(tab);
  }

  /** Keeps the events of a tab on until `undo`. Await `enabled` before a navigation: a new process may otherwise miss the setting. */
  watch(tab: Tab): { enabled: Promise<void>; undo: () => void } {
    tab.networkWatchers += 1;
    const isFirst = tab.networkWatchers === 1;
    const enabled = isFirst
      ? this.#preparation.send(commandCall('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }), tab.sessionId)
      : Promise.resolve();
    let watching = true;
    const undo = (): void => {
      if (!watching) return;
      watching = false;
      tab.networkWatchers -= 1;
      if (!this.isNeeded(tab) && !tab.closed.signal.aborted)
        this.#preparation.sendNoReply(commandCall('Network.disable', undefined), tab.sessionId);
    };
    return { enabled, undo };
  }
}
