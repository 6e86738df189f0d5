/** Who wants the events of a tab's network: they stay on while somebody does. */
import type { BrowserSettings } from '../model.ts';
import type { Preparation } from '../tabs/preparation.ts';
import { order } from '../tabs/settings.ts';
import type { Tab } from '../tabs/tab.ts';

export class NetworkWatchers {
  readonly #preparation: Preparation;
  readonly #settingsOf: (tab: Tab) => BrowserSettings;
  #watchesAll = false;

  constructor(preparation: Preparation, settingsOf: (tab: Tab) => BrowserSettings) {
    this.#preparation = preparation;
    this.#settingsOf = settingsOf;
  }

  /** Whether tabs that come later are watched too. */
  get watchesAll(): boolean {
    return this.#watchesAll;
  }

  /** Whether the events are wanted after a navigation, by the session's settings or by a listener. */
  keeps(tab: Tab): boolean {
    return tab.networkWatchers > 0 || Object.keys(this.#settingsOf(tab).extraHeaders).length > 0;
  }

  /** Keeps the events of these tabs on from now, and of later ones. */
  watchAll(tabs: readonly Tab[]): void {
    this.#watchesAll = true;
    for (const tab of tabs) this.watch(tab);
  }

  /** Keeps the events of a tab on until it is undone. A page that is sent on before `on` may come in a process that was not told. */
  watch(tab: Tab): { on: Promise<void>; undo: () => void } {
    tab.networkWatchers += 1;
    const isFirst = tab.networkWatchers === 1;
    const on = isFirst
      ? this.#preparation.send(order('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }), tab.sessionId)
      : Promise.resolve();
    let watching = true;
    const undo = (): void => {
      if (!watching) return;
      watching = false;
      tab.networkWatchers -= 1;
      if (!this.keeps(tab) && !tab.gone.signal.aborted) this.#preparation.sendQuietly(order('Network.disable', undefined), tab.sessionId);
    };
    return { on, undo };
  }
}
