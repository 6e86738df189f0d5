/** Dialogs of pages: answered by the tab's handler or by a DevTools client, or dismissed. */
import type { Protocol } from 'devtools-protocol';
import type { Dialog, DialogAnswer } from '../page/model.ts';
import { titleCharsMax, type Tab } from './tab.ts';

/** A client that handles dialogs answers in milliseconds; a person at its console needs some seconds. */
const dialogGraceMs = 10_000;

interface DialogsDeps {
  /** Whether a customer's client handles this page's dialogs. */
  isClientWatching(targetId: string): boolean;
  answer(sessionId: string, answer: DialogAnswer): void;
  onDialog(tab: Tab, dialog: Dialog): void;
}

export class Dialogs {
  readonly #deps: DialogsDeps;
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(options: DialogsDeps) {
    this.#deps = options;
  }

  onOpened({ type, message, defaultPrompt }: Protocol.Page.JavascriptDialogOpeningEvent, tab: Tab | undefined): void {
    if (!tab) return;
    const { sessionId } = tab;
    const dialog: Dialog = { type, message: message.slice(0, titleCharsMax), defaultValue: (defaultPrompt ?? '').slice(0, titleCharsMax) };
    const answerGiven = tab.onDialog?.(dialog);
    const answer = (): void => this.#deps.answer(sessionId, answerGiven ?? { accept: type === 'beforeunload' });
    this.#deps.onDialog(tab, dialog);
    this.forget(sessionId);
    if (answerGiven || !this.#deps.isClientWatching(tab.id)) answer();
    else this.#timers.set(sessionId, setTimeout(answer, dialogGraceMs));
  }

  forget(sessionId: string | undefined): void {
    if (sessionId === undefined) return;
    clearTimeout(this.#timers.get(sessionId));
    this.#timers.delete(sessionId);
  }

  stop(): void {
    for (const sessionId of this.#timers.keys()) this.forget(sessionId);
  }
}
