/** Dialogs of pages: answered by whoever drives the page, by a client that listens, or dismissed. */
import type { Protocol } from 'devtools-protocol';
import type { Dialog, DialogAnswer } from '../page/model.ts';
import { longestTitle, type Tab } from './tab.ts';

/** A client that handles dialogs answers in milliseconds; a person at its console needs some seconds. */
const dialogGraceMs = 10_000;

export interface DialogsOptions {
  /** Whether a customer's client listens to this page's dialogs. */
  clientWatches(targetId: string): boolean;
  answer(sessionId: string, answer: DialogAnswer): void;
  told(tab: Tab, dialog: Dialog): void;
}

export class Dialogs {
  readonly #options: DialogsOptions;
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(options: DialogsOptions) {
    this.#options = options;
  }

  opened({ type, message, defaultPrompt }: Protocol.Page.JavascriptDialogOpeningEvent, tab: Tab | undefined): void {
    if (!tab) return;
    const { sessionId } = tab;
    const dialog: Dialog = { type, message: message.slice(0, longestTitle), defaultValue: (defaultPrompt ?? '').slice(0, longestTitle) };
    const given = tab.answersDialogs?.(dialog);
    const answer = (): void => this.#options.answer(sessionId, given ?? { accept: type === 'beforeunload' });
    this.#options.told(tab, dialog);
    this.forget(sessionId);
    if (given || !this.#options.clientWatches(tab.id)) answer();
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
