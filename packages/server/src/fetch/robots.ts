/** The robots.txt of a site (RFC 9309), requested through the fetch's own egress and cached. */
import { LRUCache } from 'lru-cache';
import robotsParser from 'robots-parser';
import { HttpFailure, type HttpClient } from '../egress/egress.ts';
import type { Clock } from '../lib/clock.ts';
import { decodeBody } from '../content/content.ts';
import { limits } from './limits.ts';

/** The product token that robots.txt rules match. */
export const robotsAgent = 'Berth';

/** The package exports one function; its types say otherwise. */
const parseRobots = robotsParser as unknown as (
  url: string,
  text: string,
) => { isAllowed(url: string, agent: string): boolean | undefined };

const rulesMax = 1000;
const ttlMs = 3_600_000;
/** A site that answers 429 or 5xx is asked again soon. */
const unavailableTtlMs = 60_000;
/** The file is small; a site that takes longer is asked again at the next fetch. */
const fetchMsMax = 10_000;

interface Rules {
  allows(url: string): boolean;
  /** Why a page is not allowed. */
  reason: string;
  /** 0: not cached. */
  ttlMs: number;
}

const allowAll: Rules = { allows: () => true, reason: 'no rules', ttlMs };

export class Robots {
  readonly #rules: LRUCache<string, Rules>;

  constructor(clock: Clock) {
    this.#rules = new LRUCache({ max: rulesMax, ttl: ttlMs, ttlResolution: 0, perf: { now: () => clock.monotonicMs() + 1 } });
  }

  /** Returns null when the page may be fetched, else why not. */
  async refusal(client: HttpClient, key: string, url: string, signal: AbortSignal): Promise<string | null> {
    const address = new URL('/robots.txt', url).href;
    const cacheKey = `${key} ${address}`;
    const cached = this.#rules.get(cacheKey);
    const rules = cached ?? (await this.#fetchRules(client, address, signal));
    // A hit does not extend the entry's life.
    if (!cached && rules.ttlMs > 0) this.#rules.set(cacheKey, rules, { ttl: rules.ttlMs });
    return rules.allows(url) ? null : rules.reason;
  }

  /** RFC 9309, 2.3.1: 4xx allows everything, 5xx disallows everything. */
  async #fetchRules(client: HttpClient, address: string, signal: AbortSignal): Promise<Rules> {
    const request = { url: address, method: 'GET', headers: {}, body: null, cookies: [], redirectsMax: 5, timeoutMs: fetchMsMax } as const;
    try {
      const { status, body, contentType } = await client.request(
        { ...request, bodyBytesMax: limits.robotsBytesMax, wireBytesMax: limits.robotsBytesMax },
        { signal },
      );
      if (status >= 500 || status === 429) return { allows: () => false, reason: `robots.txt answers ${status}`, ttlMs: unavailableTtlMs };
      if (status >= 400) return allowAll;
      const parsed = parseRobots(address, decodeBody(body, contentType).text);
      return { allows: (url) => parsed.isAllowed(url, robotsAgent) !== false, reason: 'robots.txt disallows it', ttlMs };
    } catch (error) {
      // The page cannot be reached either, and its own error is clearer.
      if (error instanceof HttpFailure) return { ...allowAll, ttlMs: 0 };
      throw error;
    }
  }
}
