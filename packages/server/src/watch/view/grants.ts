/** View cookies and the links they stand for, in memory: after the restart of a single worker, viewers open their link again. */
import { createHash, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Viewer } from '../../accounts/principals/principals.ts';
import { expiringBy, type Clock } from '@berth/lib/clock.ts';

/** The claims of a link's token, and of the cookie it is exchanged for. */
export interface Link extends Omit<Viewer, 'isFirstLoad'> {
  owner: string;
  /** The API key that issued the link. Revoking the key revokes the link. */
  keyId: string | null;
}

/** Counted from the last use of a cookie. */
export const idleTimeoutMs = 3_600_000;
export const cookiesMax = 10_000;
/** Opening links repeatedly must not evict the viewers of other owners or of other links. */
const ownerCookiesMax = 1000;
const linkCookiesMax = 32;

export class Grants {
  /** The links by the digest of the cookie's value, so that a memory dump holds no usable cookie. */
  readonly #links: LRUCache<string, Link>;
  /** Digests per owner and per link, least recently used first. Every digest of `#links` is in two groups. */
  readonly #groups = new Map<string, Set<string>>();

  constructor(clock: Clock) {
    this.#links = new LRUCache({
      max: cookiesMax,
      ttl: idleTimeoutMs,
      updateAgeOnGet: true,
      ...expiringBy(clock),
      dispose: (link, digest) => this.#removeFromGroups(link, digest),
    });
  }

  /** Returns the value of a new cookie. It is random: neither it nor the link can be derived from the other. */
  issue(link: Link): string {
    const value = randomBytes(32).toString('base64url');
    this.add(value, link);
    return value;
  }

  /** A cookie that another worker has issued. */
  add(value: string, link: Link): void {
    const digest = digestOf(value);
    this.#links.set(digest, link);
    this.#addToGroups(link, digest);
  }

  /** Whether a cookie is known. Does not count as a use. */
  has(value: string): boolean {
    return this.#links.has(digestOf(value));
  }

  /** Returns the links of these cookies, without unknown and expired ones. Counts as a use of each. */
  find(values: readonly string[]): Link[] {
    return values.flatMap((value) => {
      const digest = digestOf(value);
      const link = this.#links.get(digest);
      if (!link) return [];
      this.#addToGroups(link, digest);
      return [link];
    });
  }

  /** Removes expired cookies. */
  purge(): void {
    this.#links.purgeStale();
  }

  #addToGroups(link: Link, digest: string): void {
    for (const { name, max } of groupsOf(link)) {
      const group = this.#groups.get(name) ?? new Set();
      this.#groups.set(name, group);
      group.delete(digest);
      group.add(digest);
      const [oldest] = group;
      if (group.size > max && oldest !== undefined) this.#links.delete(oldest);
    }
  }

  #removeFromGroups(link: Link, digest: string): void {
    for (const { name } of groupsOf(link)) {
      const group = this.#groups.get(name);
      group?.delete(digest);
      if (group?.size === 0) this.#groups.delete(name);
    }
  }
}

export const digestOf = (value: string): string => createHash('sha256').update(value).digest('base64');

const groupsOf = ({ owner, grantId }: Link): { name: string; max: number }[] => [
  { name: `link ${grantId}`, max: linkCookiesMax },
  { name: `owner ${owner}`, max: ownerCookiesMax },
];
