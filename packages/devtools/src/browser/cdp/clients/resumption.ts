/**
 * Resumes new targets when everybody who waits on them is ready.
 *
 * Chromium pauses a new page for each session that wants to set it up first, and
 * the first session that resumes it resumes it for all. So the worker's own
 * command and those of the clients are held until the last of them has come.
 *
 * Of a popup one command is sent, and the others are answered here: one that comes
 * when its page runs would resume the popup that the opener opens next, as they are
 * in one process. Other pages wait for every session.
 */

/** A client on the other side of the world needs some seconds for a page with many settings; one that takes longer has stopped. */
const resumeMsMax = 10_000;

/** Ids that are remembered. */
const popupsMax = 1000;

/** A command that resumes a target. */
export interface Resume {
  send(): void;
  /** Replies instead, as if it had been sent. */
  answer(): void;
}

interface Waiting<C> {
  clients: Set<C>;
  /** Sends the worker's own command. */
  resume: () => void;
  /** Commands of clients. */
  held: Resume[];
  timer: NodeJS.Timeout;
}

export class Resumption<C extends object> {
  readonly #targets = new Map<string, Waiting<C>>();
  /** Clients that did not resume a target in time. They are waited for again once they resume one. */
  readonly #late = new WeakSet<C>();
  /** Popups that the worker resumes, oldest first. */
  readonly #popups = new Set<string>();

  /** Calls `resume` when all of the clients have resumed the target, or in ten seconds. */
  hold({ targetId, isPopup }: { targetId: string; isPopup: boolean }, clients: readonly C[], resume: () => void): void {
    if (isPopup) this.#remember(targetId);
    const waiting = new Set(clients.filter((client) => !this.#late.has(client)));
    if (waiting.size === 0) return resume();
    this.release(targetId);
    const timer = setTimeout(() => {
      for (const client of waiting) this.#late.add(client);
      this.release(targetId);
    }, resumeMsMax).unref();
    this.#targets.set(targetId, { clients: waiting, resume, held: [], timer });
  }

  #remember(targetId: string): void {
    this.#popups.add(targetId);
    const [oldest] = this.#popups;
    if (this.#popups.size > popupsMax && oldest !== undefined) this.#popups.delete(oldest);
  }

  /** A client resumes a target. */
  resume(targetId: string, client: C, command: Resume): void {
    this.#late.delete(client);
    const waiting = this.#targets.get(targetId);
    if (!waiting) return this.#forward(targetId, command);
    waiting.held.push(command);
    this.#leave(targetId, client);
  }

  #forward(targetId: string, command: Resume): void {
    if (this.#popups.has(targetId)) command.answer();
    else command.send();
  }

  /** A client does not attach to the target, has detached from it or resumed what leads to it. */
  #leave(targetId: string, client: C): void {
    const waiting = this.#targets.get(targetId);
    if (waiting?.clients.delete(client) && waiting.clients.size === 0) this.release(targetId);
  }

  /** A client has detached from a target; without one, from all. */
  leave(client: C, targetId?: string): void {
    for (const each of targetId === undefined ? [...this.#targets.keys()] : [targetId]) this.#leave(each, client);
  }

  /** Sends what is held for a target. */
  release(targetId: string): void {
    const waiting = this.#targets.get(targetId);
    if (!waiting) return;
    this.#targets.delete(targetId);
    clearTimeout(waiting.timer);
    waiting.resume();
    for (const command of waiting.held) this.#forward(targetId, command);
  }

  end(): void {
    for (const { timer } of this.#targets.values()) clearTimeout(timer);
    this.#targets.clear();
    this.#popups.clear();
  }
}
