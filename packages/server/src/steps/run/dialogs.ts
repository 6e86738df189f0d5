/** The dialogs of the pages that steps use: answered as the last `dialog` step said, and told. */
import type { Dialog, DialogAnswer, Page } from '../../browser/browser.ts';

export interface SeenDialog {
  type: Dialog['type'];
  message: string;
  default_value: string;
  accepted: boolean;
}

/** A page may open them in a loop. */
const seenMax = 100;

export class Dialogs {
  readonly #seen: SeenDialog[] = [];
  readonly #pages = new Map<string, () => void>();
  #answer: DialogAnswer | null = null;
  /** Called for each that comes. */
  onDialog: (seen: SeenDialog) => void = () => {};

  watch(page: Page): void {
    if (this.#pages.has(page.tabId)) return;
    this.#pages.set(
      page.tabId,
      page.onDialog((dialog) => this.#reply(dialog)),
    );
  }

  set answer(answer: DialogAnswer) {
    this.#answer = answer;
  }

  /** Those that came since it was last asked, oldest first. */
  take(): SeenDialog[] {
    return this.#seen.splice(0);
  }

  end(): void {
    for (const undo of this.#pages.values()) undo();
    this.#pages.clear();
  }

  #reply({ type, message, defaultValue }: Dialog): DialogAnswer {
    // A page that asks whether to leave it is left: whoever sent the browser on meant it.
    const answer = this.#answer ?? { accept: type === 'beforeunload' };
    const seen = { type, message, default_value: defaultValue, accepted: answer.accept };
    if (this.#seen.length < seenMax) this.#seen.push(seen);
    this.onDialog(seen);
    return answer.text === undefined && type === 'prompt' && answer.accept ? { ...answer, text: defaultValue } : answer;
  }
}
