/** The robots.txt of a site (RFC 9309), requested through the fetch's own egress and cached. */
import { LRUCache } from 'lru-cache';
import { HttpError, type HttpClient } from '@berth/egress';
import { expiringBy, type Clock } from '@berth/lib/clock.ts';
import { decodeBody, parseRobots, robotsAgent } from '@berth/reading';
import { limits } from './limits.ts';

/** All rules in memory. */
const cacheBytesMax = 32 * 1024 * 1024;
const ttlMs = 3_600_000;
/** A site that answers 429 or 5xx is asked again soon. */
const unavailableTtlMs = 60_000;
/** The file is small; a site that takes longer is asked again at the next fetch. */
const fetchMsMax = 10_000;

interface Rules {
  allows(url: string): Promise<boolean>;
  /** Why a page is not allowed. */
  reason: string;
  bytes: number;
  /** 0: not cached. */
  ttlMs: number;
}

/** Bytes that an entry without rules takes. */
const entryBytes = 500;

const allowAll: Rules = { allows: () => Promise.resolve(true), reason: 'no rules', bytes: entryBytes, ttlMs };

export class Robots {
  readonly #rules: LRUCache<string, Rules>;

  constructor(clock: Clock) {
    this.#rules = new LRUCache({ maxSize: cacheBytesMax, sizeCalculation: ({ bytes }) => bytes, ttl: ttlMs, ...expiringBy(clock) });
  }

  /** Returns null when the page may be fetched, else why not. */
  async refusal(client: HttpClient, key: string, url: string, signal: AbortSignal): Promise<string | null> {
    const address = new URL('/robots.txt', url).href;
    const cacheKey = `${key} ${address}`;
    const cached = this.#rules.get(cacheKey);
    const rules = cached ?? (await this.#fetchRules(client, address, signal));
    // A hit does not extend the entry's life.
    if (!cached && rules.ttlMs > 0) this.#rules.set(cacheKey, rules, { ttl: rules.ttlMs });
    return (await rules.allows(url)) ? null : rules.reason;
  }

  /** RFC 9309, 2.3.1: 4xx allows everything, 5xx disallows everything. */
  async #fetchRules(client: HttpClient, address: string, signal: AbortSignal): Promise<Rules> {
    const request = { url: address, method: 'GET', headers: {}, body: null, cookies: [], redirectsMax: 5, timeoutMs: fetchMsMax } as const;
    try {
      const { status, body, contentType } = await client.request(
        { ...request, bodyBytesMax: limits.robotsBytesMax, wireBytesMax: limits.robotsBytesMax },
        { signal },
      );
      if (status >= 500 || status === 429)
        return { allows: () => Promise.resolve(false), reason: `robots.txt answers ${status}`, bytes: entryBytes, ttlMs: unavailableTtlMs };
      if (status >= 400) return allowAll;
      const rules = await parseRobots((await decodeBody(body, contentType)).text, robotsAgent);
      return { allows: (url) => rules.allows(url), reason: 'robots.txt disallows it', bytes: entryBytes + rules.bytes, ttlMs };
    } catch (error) {
      // The page cannot be reached either, and its own error is clearer.
      if (error instanceof HttpError) return { ...allowAll, ttlMs: 0 };
      throw error;
    }
  }
}
