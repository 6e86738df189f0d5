/**
 * What pages ask: a dialog, an open list or picker, a file chooser. A browser without a
 * window shows none of them, so people in the live view answer them there.
 */
import type { Protocol } from 'devtools-protocol';
import type { Connection } from '../cdp/connection.ts';
import { PageError } from '../page/page.ts';
import type { Attendant, Prompt, PromptAnswer, PromptHandler, Question } from './prompt.ts';
import type { Tab } from './tab.ts';

interface PromptsDeps {
  /** DevTools sessions of the session's own tabs, and of the frames and workers in them. */
  sessions(): readonly (readonly [sessionId: string, tab: Tab])[];
  /** The tab of such a session. */
  tabOf(sessionId: string | undefined): Tab | undefined;
  onChanged(): void;
}

export class Prompts {
  readonly #connection: Connection;
  readonly #deps: PromptsDeps;
  readonly #attendants = new Set<Attendant>();
  /** The open prompts by tab id. */
  readonly #prompts = new Map<string, Prompt & { handler: PromptHandler }>();
  /** Who wants to know of file choosers, without an answer to give. */
  readonly #fileWatchers = new Set<(tabId: string) => void>();
  #lastId = 0;

  constructor(connection: Connection, deps: PromptsDeps) {
    this.#connection = connection;
    this.#deps = deps;
    connection.on('Page.fileChooserOpened', (event, sessionId) => this.#onFileChooser(event, sessionId));
  }

  /** Whether a person is there to be asked. */
  get isAttended(): boolean {
    return [...this.#attendants].some((attendant) => attendant.isPresent());
  }

  attend(attendant: Attendant): () => void {
    const stopIntercepting = this.#intercept(this.#attendants, attendant);
    return () => {
      if (!stopIntercepting() || this.#attendants.size > 0) return;
      for (const { tabId } of this.list()) this.cancel(tabId);
    };
  }

  /** Reports file choosers, which open nowhere meanwhile. Returns a function that ends it. */
  watchFileChoosers(listener: (tabId: string) => void): () => void {
    return this.#intercept(this.#fileWatchers, listener);
  }

  /** Adds a reason to intercept file choosers; the returned function removes it, and returns whether it was there. */
  #intercept<T>(reasons: Set<T>, reason: T): () => boolean {
    if (!this.#isIntercepting) this.#interceptAll(true);
    reasons.add(reason);
    return () => {
      if (!reasons.delete(reason)) return false;
      if (!this.#isIntercepting) this.#interceptAll(false);
      return true;
    };
  }

  get #isIntercepting(): boolean {
    return this.#attendants.size + this.#fileWatchers.size > 0;
  }

  #interceptAll(enabled: boolean): void {
    for (const [sessionId] of this.#deps.sessions()) this.#interceptFileChoosers(sessionId, enabled);
  }

  /** Prepares the session of a new tab, or of a frame that has a process of its own. */
  prepare(sessionId: string): void {
    if (this.#isIntercepting) this.#interceptFileChoosers(sessionId, true);
  }

  list(): Prompt[] {
    return [...this.#prompts.values()].map(({ id, tabId, question }) => ({ id, tabId, question }));
  }

  /** Replaces an earlier prompt of the tab. */
  open(tabId: string, question: Question, handler: PromptHandler): void {
    this.cancel(tabId, ['list', 'picker', 'files']);
    this.#lastId += 1;
    this.#prompts.set(tabId, { id: this.#lastId, tabId, question, handler });
    this.#deps.onChanged();
  }

  /** @throws PageError `not_possible` when it is no longer open, and what the handler throws */
  async answer(promptId: number, answer: PromptAnswer): Promise<void> {
    const prompt = [...this.#prompts.values()].find(({ id }) => id === promptId);
    if (!prompt) throw new PageError('not_possible', 'The page no longer waits for this answer.');
    this.remove(prompt.tabId);
    await prompt.handler.answer(answer);
  }

  /** Closes a prompt without an answer. */
  cancel(tabId: string, kinds: readonly Question['kind'][] = ['dialog', 'list', 'picker', 'files']): void {
    const prompt = this.#prompts.get(tabId);
    if (!prompt || !kinds.includes(prompt.question.kind)) return;
    this.remove(tabId);
    prompt.handler.cancel();
  }

  /** Forgets a prompt that somebody else has answered, or whose page has gone. */
  remove(tabId: string): void {
    if (this.#prompts.delete(tabId)) this.#deps.onChanged();
  }

  /** Workers, which have no pages, refuse it. */
  #interceptFileChoosers(sessionId: string, enabled: boolean): void {
    this.#connection.send('Page.setInterceptFileChooserDialog', { enabled }, { sessionId }).catch(() => undefined);
  }

  #onFileChooser({ mode, backendNodeId }: Protocol.Page.FileChooserOpenedEvent, sessionId: string | undefined): void {
    const tab = this.#deps.tabOf(sessionId);
    if (!tab || sessionId === undefined || backendNodeId === undefined) return;
    for (const listener of this.#fileWatchers) listener(tab.id);
    if (this.#attendants.size === 0) return;
    this.open(
      tab.id,
      { kind: 'files', multiple: mode === 'selectMultiple' },
      {
        answer: async ({ accept, paths = [] }) => {
          if (accept) await this.#connection.send('DOM.setFileInputFiles', { files: [...paths], backendNodeId }, { sessionId });
        },
        cancel: () => undefined,
      },
    );
  }
}
