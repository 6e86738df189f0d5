/** What a site's robots.txt allows us, asked by the fetch's own way out and remembered for a while. */
import { LRUCache } from 'lru-cache';
import robotsParser from 'robots-parser';
import { HttpFailure, type HttpClient } from '../egress/egress.ts';
import type { Clock } from '../lib/clock.ts';
import { decodeBody } from '../content/content.ts';
import { limits } from './limits.ts';

/** The name that a site's rules call us by. */
export const robotsAgent = 'Berth';

/** The package is one function; its types say that it has one. */
const parseRobots = robotsParser as unknown as (
  url: string,
  text: string,
) => { isAllowed(url: string, agent: string): boolean | undefined };

const rulesMax = 1000;
const keptMs = 3_600_000;
/** A site that cannot tell its rules right now may a moment later. */
const unreadKeptMs = 60_000;
/** The rules are a small file; a site that takes longer is asked again at the next fetch. */
const askMsMax = 10_000;

interface Rules {
  allows(url: string): boolean;
  /** Why, for a site whose rules could not be read. */
  why: string;
  /** 0: asked for again at the next fetch. */
  keptMs: number;
}

const everything: Rules = { allows: () => true, why: 'no rules', keptMs };

export class Robots {
  readonly #rules: LRUCache<string, Rules>;

  constructor(clock: Clock) {
    this.#rules = new LRUCache({ max: rulesMax, ttl: keptMs, ttlResolution: 0, perf: { now: () => clock.monotonicMs() + 1 } });
  }

  /** null when the page may be fetched, else why not. */
  async refusal(client: HttpClient, key: string, url: string, signal: AbortSignal): Promise<string | null> {
    const address = new URL('/robots.txt', url).href;
    const place = `${key} ${address}`;
    const known = this.#rules.get(place);
    const rules = known ?? (await this.#ask(client, address, signal));
    // What is known keeps its age, however often it is looked at.
    if (!known && rules.keptMs > 0) this.#rules.set(place, rules, { ttl: rules.keptMs });
    return rules.allows(url) ? null : rules.why;
  }

  /** RFC 9309: a site without the file allows everything, one that cannot be asked nothing. */
  async #ask(client: HttpClient, address: string, signal: AbortSignal): Promise<Rules> {
    const order = { url: address, method: 'GET', headers: {}, body: null, cookies: [], redirectsMax: 5, timeoutMs: askMsMax } as const;
    try {
      const { status, body, contentType } = await client.request(
        { ...order, maxBytes: limits.robotsBytes, maxWireBytes: limits.robotsBytes },
        { signal },
      );
      if (status >= 500 || status === 429) return { allows: () => false, why: `robots.txt answers ${status}`, keptMs: unreadKeptMs };
      if (status >= 400) return everything;
      const parsed = parseRobots(address, decodeBody(body, contentType).text);
      return { allows: (url) => parsed.isAllowed(url, robotsAgent) !== false, why: 'robots.txt disallows it', keptMs };
    } catch (error) {
      // The page itself will not be reached either, and says better why.
      if (error instanceof HttpFailure) return { ...everything, keptMs: 0 };
      throw error;
    }
  }
}
