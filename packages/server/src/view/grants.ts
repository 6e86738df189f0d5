/** Cookies of people who watch: what each stands for, and for how long. In memory alone: after a restart a link is opened again. */
import { createHash, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Viewer } from '../http/call.ts';
import type { Clock } from '../lib/clock.ts';

/** What a link's token says, and what a cookie that it was traded for stands for. */
export interface Link extends Omit<Viewer, 'isFirstLoad'> {
  owner: string;
  /** The key that the link was made with: it dies with the key. */
  keyId: string | null;
}

/** Since its last use. */
const idleMs = 3_600_000;
const cookiesMax = 10_000;
/** So that nobody who opens links over and over throws out the viewers of other owners, or of other links. */
const ownerCookiesMax = 1000;
const linkCookiesMax = 32;

export class Grants {
  /** By the digest of the cookie's value: who reads this memory cannot watch. */
  readonly #links: LRUCache<string, Link>;
  /** The digests of each owner and of each link, least lately used first. Together they are those of `#links`. */
  readonly #shares = new Map<string, Set<string>>();

  constructor(clock: Clock) {
    this.#links = new LRUCache({
      max: cookiesMax,
      ttl: idleMs,
      updateAgeOnGet: true,
      ttlResolution: 0,
      perf: { now: () => clock.monotonicMs() + 1 },
      dispose: (link, digest) => this.#leave(link, digest),
    });
  }

  /** The value of a new cookie. It cannot be told from the link, nor the link from it. */
  issue(link: Link): string {
    const value = randomBytes(32).toString('base64url');
    const digest = digestOf(value);
    this.#links.set(digest, link);
    this.#enter(link, digest);
    return value;
  }

  /** What these cookies stand for, without those that are unknown or were not used for too long. Each counts as used. */
  find(values: readonly string[]): Link[] {
    return values.flatMap((value) => {
      const digest = digestOf(value);
      const link = this.#links.get(digest);
      if (!link) return [];
      this.#enter(link, digest);
      return [link];
    });
  }

  /** Forgets those that were not used for too long. */
  purge(): void {
    this.#links.purgeStale();
  }

  #enter(link: Link, digest: string): void {
    for (const { name, max } of sharesOf(link)) {
      const share = this.#shares.get(name) ?? new Set();
      this.#shares.set(name, share);
      share.delete(digest);
      share.add(digest);
      const [oldest] = share;
      if (share.size > max && oldest !== undefined) this.#links.delete(oldest);
    }
  }

  #leave(link: Link, digest: string): void {
    for (const { name } of sharesOf(link)) {
      const share = this.#shares.get(name);
      share?.delete(digest);
      if (share?.size === 0) this.#shares.delete(name);
    }
  }
}

const digestOf = (value: string): string => createHash('sha256').update(value).digest('base64');

const sharesOf = ({ owner, grantId }: Link): { name: string; max: number }[] => [
  { name: `link ${grantId}`, max: linkCookiesMax },
  { name: `owner ${owner}`, max: ownerCookiesMax },
];
