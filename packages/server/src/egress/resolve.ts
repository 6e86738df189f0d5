/** One answer for each name: the addresses it has now, all of them. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { isLoopbackName } from './addresses.ts';
import { EgressFailure } from './policy.ts';

/** Every address of a name. Throws the resolver's own error when there is none. */
export type Resolver = (host: string) => Promise<readonly string[]>;

/** As the system resolves, hosts file included. */
export const systemResolver: Resolver = async (host) => (await lookup(host, { all: true, verbatim: true })).map((answer) => answer.address);

/**
 * Long enough to serve the connections of one page load, short enough that a
 * site that moves is followed. Nothing rests on it: what is remembered is
 * checked again for each connection and is what gets dialled.
 */
const rememberMs = 5000;
const rememberMax = 2000;

export class Names {
  readonly #resolver: Resolver;
  readonly #patienceMs: number;
  readonly #known = new LRUCache<string, readonly string[]>({ max: rememberMax, ttl: rememberMs });
  readonly #pending = new Map<string, Promise<readonly string[]>>();

  constructor(resolver: Resolver, patienceMs: number) {
    this.#resolver = resolver;
    this.#patienceMs = patienceMs;
  }

  /**
   * The addresses of a host, at least one. A literal is its own answer, and
   * `localhost` is never asked of anybody. The signal ends the wait, and its
   * reason is thrown; otherwise an {@link EgressFailure} `dns_failed`.
   */
  async addressesOf(host: string, signal: AbortSignal): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host];
    if (isLoopbackName(host)) return ['127.0.0.1', '::1'];
    const known = this.#known.get(host);
    if (known) return known;
    const patience = new AbortController();
    const timer = setTimeout(
      () => patience.abort(new EgressFailure('dns_failed', `${host} was not resolved within ${this.#patienceMs} ms`)),
      this.#patienceMs,
    );
    try {
      return await unlessAborted(this.#ask(host), AbortSignal.any([signal, patience.signal]));
    } finally {
      clearTimeout(timer);
    }
  }

  /** One question at a time for each name: a page opens six connections at once. */
  #ask(host: string): Promise<readonly string[]> {
    const pending = this.#pending.get(host);
    if (pending) return pending;
    const asked = this.#resolver(host)
      .then(
        (answers) => {
          if (answers.length === 0) throw new EgressFailure('dns_failed', `${host} has no address`);
          this.#known.set(host, answers);
          return answers;
        },
        (cause: unknown) => {
          throw new EgressFailure('dns_failed', `${host} cannot be resolved`, { cause });
        },
      )
      .finally(() => this.#pending.delete(host));
    this.#pending.set(host, asked);
    return asked;
  }
}

/** A question to the system cannot be taken back, so only the wait for it ends. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const giveUp = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
