/** Answers the dialogs of the pages that steps use, as the last `dialog` step says, and records them. */
import type { Dialog, DialogAnswer, Page } from '../../browser/browser.ts';

interface DialogRecord {
  type: Dialog['type'];
  message: string;
  default_value: string;
  accepted: boolean;
}

/** A page may open them in a loop. */
const recordsMax = 100;

export class Dialogs {
  readonly #records: DialogRecord[] = [];
  readonly #pages = new Map<string, () => void>();
  #answer: DialogAnswer | null = null;
  /** Called for each dialog. */
  onDialog: (record: DialogRecord) => void = () => {};

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

  /** The dialogs since the last call, oldest first. */
  take(): DialogRecord[] {
    return this.#records.splice(0);
  }

  end(): void {
    for (const undo of this.#pages.values()) undo();
    this.#pages.clear();
  }

  #reply({ type, message, defaultValue }: Dialog): DialogAnswer {
    // A beforeunload dialog is accepted: the step meant to navigate.
    const answer = this.#answer ?? { accept: type === 'beforeunload' };
    const record = { type, message, default_value: defaultValue, accepted: answer.accept };
    if (this.#records.length < recordsMax) this.#records.push(record);
    this.onDialog(record);
    return answer.text === undefined && type === 'prompt' && answer.accept ? { ...answer, text: defaultValue } : answer;
  }
}
