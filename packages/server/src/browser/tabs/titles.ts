/** Titles of pages as they change: the browser tells them with an address, and not when a page has one or takes another. So it is asked: when somebody asks us, and while somebody looks. */
import type { Protocol } from 'devtools-protocol';
import type { Connection } from '../cdp/connection.ts';
import { pagesOnly } from './settings.ts';

/** A person reads no faster, and the browser process answers in a fraction of a millisecond. */
const askIntervalMs = 1000;
/** For who waits: an older title is better than none. */
const answerMsMax = 500;

export class Titles {
  readonly #connection: Connection;
  readonly #tell: (info: Protocol.Target.TargetInfo) => void;
  readonly #undo: (() => void)[] = [];
  #followers = 0;
  #asking: Promise<void> | null = null;

  constructor(connection: Connection, tell: (info: Protocol.Target.TargetInfo) => void) {
    this.#connection = connection;
    this.#tell = tell;
  }

  /** Until it is undone. */
  follow(): () => void {
    this.#followers += 1;
    if (this.#followers === 1) this.#begin();
    let follows = true;
    return () => {
      if (!follows) return;
      follows = false;
      this.#followers -= 1;
      if (this.#followers === 0) this.stop();
    };
  }

  stop(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  #begin(): void {
    const ask = (): void => void this.ask();
    const timer = setInterval(ask, askIntervalMs).unref();
    this.#undo.push(
      () => clearInterval(timer),
      this.#connection.on('Page.domContentEventFired', ask),
      this.#connection.on('Page.loadEventFired', ask),
    );
    ask();
  }

  /** Resolves when titles are as they are now, or when the browser does not answer. Never rejects. */
  ask(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => (this.#asking = null));
    return this.#asking;
  }

  async #ask(): Promise<void> {
    try {
      const { targetInfos } = await this.#connection.send(
        'Target.getTargets',
        { filter: pagesOnly },
        { timeoutMs: this.#connection.patience.ms(answerMsMax) },
      );
      for (const info of targetInfos) this.#tell(info);
    } catch {
      // A browser that is busy or gone is asked again, or not.
    }
  }
}
