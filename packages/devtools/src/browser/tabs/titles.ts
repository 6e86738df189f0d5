/** Titles of pages. The browser reports a title only with a URL change, so titles are polled on request and while somebody listens. */
import type { Protocol } from 'devtools-protocol';
import type { Connection } from '../cdp/connection.ts';
import { pagesOnly } from './settings.ts';

/** Fast enough for a viewer; the browser process replies in a fraction of a millisecond. */
const askIntervalMs = 1000;
/** A stale title is better than a late response. */
const answerTimeoutMs = 500;

export class Titles {
  readonly #connection: Connection;
  readonly #onInfo: (info: Protocol.Target.TargetInfo) => void;
  readonly #undo: (() => void)[] = [];
  #subscribers = 0;
  #refreshing: Promise<void> | null = null;

  constructor(connection: Connection, onInfo: (info: Protocol.Target.TargetInfo) => void) {
    this.#connection = connection;
    this.#onInfo = onInfo;
  }

  /** Polls until the returned function is called. */
  subscribe(): () => void {
    this.#subscribers += 1;
    if (this.#subscribers === 1) this.#start();
    let isSubscribed = true;
    return () => {
      if (!isSubscribed) return;
      isSubscribed = false;
      this.#subscribers -= 1;
      if (this.#subscribers === 0) this.stop();
    };
  }

  stop(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  #start(): void {
    const refresh = (): void => void this.refresh();
    const timer = setInterval(refresh, askIntervalMs).unref();
    this.#undo.push(
      () => clearInterval(timer),
      this.#connection.on('Page.domContentEventFired', refresh),
      this.#connection.on('Page.loadEventFired', refresh),
    );
    refresh();
  }

  /** Resolves when titles are current, or when the browser does not respond. Never rejects. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#fetchTitles().finally(() => (this.#refreshing = null));
    return this.#refreshing;
  }

  async #fetchTitles(): Promise<void> {
    try {
      const { targetInfos } = await this.#connection.send(
        'Target.getTargets',
        { filter: pagesOnly },
        { timeoutMs: this.#connection.timeoutScale.ms(answerTimeoutMs) },
      );
      for (const info of targetInfos) this.#onInfo(info);
    } catch {
      // Titles stay as they are until the next poll.
    }
  }
}
