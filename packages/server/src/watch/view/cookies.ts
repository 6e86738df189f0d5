/**
 * The cookies of view links. A worker remembers those that it has seen; in a
 * fleet they are stored as well, so that any worker takes them.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { Store } from '../../store/store.ts';
import { cookiesMax, digestOf, Grants, idleTimeoutMs, type Link } from './grants.ts';
import { findCookies, insertCookie, pruneCookies, touchCookies } from './store.ts';

export interface CookiesDeps {
  /** Where the workers of a fleet store them; null: this worker is the only one. */
  shared: Store | null;
  clock: Clock;
  log: Log;
}

/** How exactly the last use of a cookie is stored. */
const touchMs = 600_000;

export class Cookies {
  readonly #deps: CookiesDeps;
  readonly #grants: Grants;
  /** When this worker last stored that a cookie was used, by digest. */
  readonly #touched = new LRUCache<string, number>({ max: cookiesMax });

  constructor(deps: CookiesDeps) {
    this.#deps = deps;
    this.#grants = new Grants(deps.clock);
  }

  /** Returns the value of a new cookie for the link. @throws ServiceError store_unavailable */
  async issue(link: Link): Promise<string> {
    const { shared, clock } = this.#deps;
    const value = this.#grants.issue(link);
    const digest = digestOf(value);
    if (shared) await insertCookie(shared, digest, link);
    this.#touched.set(digest, clock.monotonicMs());
    return value;
  }

  /** Returns the links of these cookies, without unknown and expired ones. Counts as a use of each. @throws ServiceError store_unavailable */
  async find(values: readonly string[]): Promise<Link[]> {
    const { shared } = this.#deps;
    if (!shared || values.length === 0) return this.#grants.find(values);
    await this.#adopt(shared, values);
    this.#touch(shared, values);
    return this.#grants.find(values);
  }

  async purge(): Promise<void> {
    this.#grants.purge();
    if (this.#deps.shared) await pruneCookies(this.#deps.shared, idleTimeoutMs);
  }

  /** Remembers what another worker has issued. */
  async #adopt(shared: Store, values: readonly string[]): Promise<void> {
    const unknown = new Map(values.filter((value) => !this.#grants.has(value)).map((value) => [digestOf(value), value]));
    if (unknown.size === 0) return;
    for (const { digest, link } of await findCookies(shared, [...unknown.keys()], idleTimeoutMs)) {
      const value = unknown.get(digest);
      if (value !== undefined) this.#grants.add(value, link);
    }
  }

  /** The response does not wait: a use that is not stored costs its viewer at most a part of the idle time. */
  #touch(shared: Store, values: readonly string[]): void {
    const now = this.#deps.clock.monotonicMs();
    const digests = values.filter((value) => this.#grants.has(value)).map(digestOf);
    const due = digests.filter((digest) => now - (this.#touched.get(digest) ?? -touchMs) >= touchMs);
    if (due.length === 0) return;
    for (const digest of due) this.#touched.set(digest, now);
    void touchCookies(shared, due).catch((error: unknown) => this.#deps.log.warn({ err: error }, 'cookie use not stored'));
  }
}
