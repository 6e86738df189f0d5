/** What happens in a browser while actions run: a caller who sees only pictures learns of it by words. */
import { computerEventsMax, listLabelsMax, type ComputerEvent } from '@berth/contract';
import type { Browser, BrowserEvent, ControlQuestion } from '../browser/browser.ts';
import { cutText } from '@berth/lib/text/text.ts';

const labelCharsMax = 200;

export class Happenings {
  readonly #events: ComputerEvent[] = [];
  readonly #browser: Pick<Browser, 'prompts'>;
  readonly #dialogs: 'accept' | 'dismiss' | undefined;
  readonly #unsubscribe: readonly (() => void)[];
  readonly #dialogListeners = new Set<() => void>();
  leftOut = 0;
  /** The action that runs; null after the last. */
  index: number | null = 0;

  constructor(browser: Browser, { dialogs }: { dialogs: 'accept' | 'dismiss' | undefined }) {
    this.#browser = browser;
    this.#dialogs = dialogs;
    this.#unsubscribe = [
      browser.onEvent((event) => this.#onEvent(event)),
      browser.watchFileChoosers((tabId) => this.#add({ type: 'file_chooser', tab_id: tabId })),
    ];
  }

  get list(): readonly ComputerEvent[] {
    return this.#events;
  }

  /** The id of the tab that was opened last and is still open. */
  newestTab(open: ReadonlySet<string>): string | undefined {
    return (
      this.#events.findLast(({ type, tab_id: tabId }) => type === 'tab_opened' && tabId !== null && open.has(tabId))?.tab_id ?? undefined
    );
  }

  /** Whether the tab shows a page that it has led to. */
  hasLoaded(tabId: string): boolean {
    return this.#events.some(({ type, tab_id: of }) => of === tabId && type === 'navigation');
  }

  hasNavigated(tabId: string): boolean {
    return this.#events.some(({ type, tab_id: of }) => of === tabId && (type === 'navigation' || type === 'tab_opened'));
  }

  /** Called when a dialog stays open. Returns a function that removes the listener. */
  onOpenDialog(listener: () => void): () => void {
    this.#dialogListeners.add(listener);
    return () => this.#dialogListeners.delete(listener);
  }

  isDialogOpen(tabId: string): boolean {
    return this.#browser.prompts().some((prompt) => prompt.tabId === tabId && prompt.question.kind === 'dialog');
  }

  /** `index`: the action that opened it. */
  addControl(tabId: string, question: ControlQuestion, index: number | null): void {
    if (question.kind === 'picker') return this.#add({ type: 'picker', index, tab_id: tabId, message: question.type });
    const options = question.options.slice(0, listLabelsMax).map(({ label }) => cutText(label, labelCharsMax));
    this.#add({ type: 'list', index, tab_id: tabId, options });
  }

  end(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  #add(event: Partial<ComputerEvent> & Pick<ComputerEvent, 'type'>): void {
    if (this.#events.length >= computerEventsMax) {
      this.leftOut += 1;
      return;
    }
    this.#events.push({ index: this.index, tab_id: null, url: null, message: null, dialog: null, options: null, ...event });
  }

  #onEvent(event: BrowserEvent): void {
    switch (event.type) {
      case 'dialog':
        return this.#onDialog(event);
      case 'navigation':
        return this.#add({ type: 'navigation', tab_id: event.tabId, url: event.url });
      case 'tab.opened':
        return this.#add({ type: 'tab_opened', tab_id: event.tabId, url: event.url });
      case 'tab.closed':
        return this.#add({ type: 'tab_closed', tab_id: event.tabId });
      case 'tab.crashed':
        return this.#add({ type: 'tab_crashed', tab_id: event.tabId });
      case 'tab.refused':
        return this.#add({ type: 'tab_refused', url: event.url });
      case 'download.started':
        return this.#add({ type: 'download_started', url: event.download.url, message: event.download.suggestedFilename });
      case 'download.finished':
    }
  }

  /** Who answers is known when the event has been handled: a dialog that waits is a prompt by then. */
  #onDialog({ tabId, dialog: type, message }: Extract<BrowserEvent, { type: 'dialog' }>): void {
    const answered = this.#dialogs === 'accept' || (this.#dialogs === undefined && type === 'beforeunload') ? 'accepted' : 'dismissed';
    const dialog = { type, answer: answered as 'accepted' | 'dismissed' | 'open' };
    this.#add({ type: 'dialog', tab_id: tabId, message, dialog });
    queueMicrotask(() => {
      if (!this.isDialogOpen(tabId)) return;
      dialog.answer = 'open';
      for (const listener of this.#dialogListeners) listener();
    });
  }
}
