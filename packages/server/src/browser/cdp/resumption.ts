/**
 * Resumes new targets when everybody who waits on them is ready.
 *
 * Chromium pauses a new page for each session that wants to set it up first, and
 * the first session that resumes it resumes it for all. So the worker's own
 * command and those of the clients are held until the last of them has come.
 */

/** A client on the other side of the world needs some seconds for a page with many settings; one that takes longer has stopped. */
const resumeMsMax = 10_000;

interface Waiting<C> {
  clients: Set<C>;
  /** Sends the held commands. */
  held: (() => void)[];
  timer: NodeJS.Timeout;
}

export class Resumption<C extends object> {
  readonly #targets = new Map<string, Waiting<C>>();
  /** Clients that did not resume a target in time. They are waited for again once they resume one. */
  readonly #late = new WeakSet<C>();

  /** Calls `resume` when all of the clients have resumed the target, or in ten seconds. */
  hold(targetId: string, clients: readonly C[], resume: () => void): void {
    const waiting = new Set(clients.filter((client) => !this.#late.has(client)));
    if (waiting.size === 0) return resume();
    this.release(targetId);
    const timer = setTimeout(() => {
      for (const client of waiting) this.#late.add(client);
      this.release(targetId);
    }, resumeMsMax).unref();
    this.#targets.set(targetId, { clients: waiting, held: [resume], timer });
  }

  /** A client resumes a target. `forward` sends its command. */
  resume(targetId: string, client: C, forward: () => void): void {
    this.#late.delete(client);
    const waiting = this.#targets.get(targetId);
    if (!waiting) return forward();
    waiting.held.push(forward);
    this.#leave(targetId, client);
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
    for (const forward of waiting.held) forward();
  }

  end(): void {
    for (const { timer } of this.#targets.values()) clearTimeout(timer);
    this.#targets.clear();
  }
}
