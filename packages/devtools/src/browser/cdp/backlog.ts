/**
 * Commands of a DevTools session that the browser has not answered. It reads
 * them faster than it carries them out, so a flood would pile up in its memory
 * and in ours, and each collection of garbage would take longer.
 */

/** More than a client has at once that uses any of the replies. */
const unansweredMax = 1000;
/** A client above it still sends so many as often, because a reply may depend on what it sends next. */
const aboveMax = 20;
const waitMs = 10;

export class Backlog {
  #unanswered = 0;
  /** How many more of these, before it waits again. */
  #above = aboveMax;
  #room: (PromiseWithResolvers<void> & { timer: NodeJS.Timeout }) | null = null;

  get isEmpty(): boolean {
    return this.#unanswered === 0;
  }

  onCommand(): void {
    this.#unanswered += 1;
  }

  onReply(): void {
    if (this.#unanswered > 0) this.#unanswered -= 1;
    // Not one by one: each time a socket is paused costs more than a command.
    if (this.#unanswered === unansweredMax / 2) this.#release();
  }

  /** Resolves when the client may send more; undefined while it need not wait. */
  room(): Promise<void> | undefined {
    if (this.#unanswered <= unansweredMax || this.#above-- > 0) return undefined;
    this.#room ??= { ...Promise.withResolvers<void>(), timer: setTimeout(() => this.#release(), waitMs).unref() };
    return this.#room.promise;
  }

  #release(): void {
    this.#above = aboveMax;
    if (!this.#room) return;
    clearTimeout(this.#room.timer);
    this.#room.resolve();
    this.#room = null;
  }
}
