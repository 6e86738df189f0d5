/** DNS resolution with a short cache and one lookup at a time for each name. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { withDeadline } from '../lib/deadline.ts';
import { orAbort } from '../lib/or-abort.ts';
import { isLoopbackName } from './addresses.ts';
import { EgressFailure } from './policy.ts';

/** Returns every address of a name. @throws the resolver's own error when there is none */
export type Resolver = (host: string) => Promise<readonly string[]>;

/** getaddrinfo of the system, hosts file included. */
export const systemResolver: Resolver = async (host) => (await lookup(host, { all: true, verbatim: true })).map((answer) => answer.address);

/**
 * Long enough for the connections of one page load, short enough to follow a
 * DNS change. Safe: cached addresses are checked again for each connection,
 * and exactly these are dialled.
 */
const cacheTtlMs = 5000;
const cacheMax = 2000;

export class NameResolver {
  readonly #resolver: Resolver;
  readonly #timeoutMs: number;
  readonly #cache = new LRUCache<string, readonly string[]>({ max: cacheMax, ttl: cacheTtlMs });
  readonly #pending = new Map<string, Promise<readonly string[]>>();

  constructor(resolver: Resolver, timeoutMs: number) {
    this.#resolver = resolver;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Returns at least one address. IP literals and `localhost` need no lookup.
   * @throws EgressFailure dns_failed, or the signal's reason
   */
  async resolve(host: string, signal: AbortSignal): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host];
    if (isLoopbackName(host)) return ['127.0.0.1', '::1'];
    const cached = this.#cache.get(host);
    if (cached) return cached;
    const reason = (): Error => new EgressFailure('dns_failed', `${host} was not resolved within ${this.#timeoutMs} ms`);
    return withDeadline(signal, { ms: this.#timeoutMs, reason }, (either) => orAbort(this.#query(host), either));
  }

  /** Shares a lookup that is under way: a page opens six connections at once. */
  #query(host: string): Promise<readonly string[]> {
    const pending = this.#pending.get(host);
    if (pending) return pending;
    const query = this.#resolver(host)
      .then(
        (answers) => {
          if (answers.length === 0) throw new EgressFailure('dns_failed', `${host} has no address`);
          this.#cache.set(host, answers);
          return answers;
        },
        (cause: unknown) => {
          throw new EgressFailure('dns_failed', `${host} cannot be resolved`, { cause });
        },
      )
      .finally(() => this.#pending.delete(host));
    this.#pending.set(host, query);
    return query;
  }
}
