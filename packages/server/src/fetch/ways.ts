/** Ways out for fetches without a browser: kept for a while, so that their connections serve the next fetch too. */
import { LRUCache } from 'lru-cache';
import { createHttpClient, type EgressGate, type EgressWay, type HttpClient } from '../egress/egress.ts';
import type { Clock } from '../lib/clock.ts';
import type { FetchOrder } from './order.ts';

/** Each holds a few idle connections. */
const waysMax = 200;
const keptMs = 120_000;

export interface HttpWay {
  way: EgressWay;
  client: HttpClient;
}

export class HttpWays {
  readonly #gate: EgressGate;
  readonly #userAgent: string;
  readonly #ways: LRUCache<string, HttpWay & { users: number; dropped: boolean }>;

  constructor({ gate, clock, userAgent }: { gate: EgressGate; clock: Clock; userAgent: string }) {
    this.#gate = gate;
    this.#userAgent = userAgent;
    this.#ways = new LRUCache({
      max: waysMax,
      ttl: keptMs,
      updateAgeOnGet: true,
      ttlAutopurge: false,
      ttlResolution: 0,
      perf: { now: () => clock.monotonicMs() + 1 },
      dispose: (entry) => {
        entry.dropped = true;
        if (entry.users === 0) closeWay(entry);
      },
    });
  }

  /** Throws what `work` throws. */
  async with<T>({ key, policy }: FetchOrder, work: (way: HttpWay) => Promise<T>): Promise<T> {
    if (!policy) throw new Error('a session has its own way out');
    const entry = this.#ways.get(key) ?? this.#open(key, policy);
    entry.users += 1;
    try {
      return await work(entry);
    } finally {
      entry.users -= 1;
      if (entry.dropped && entry.users === 0) closeWay(entry);
    }
  }

  /** Lets go of what nobody uses. */
  purge(): void {
    this.#ways.purgeStale();
  }

  close(): void {
    this.#ways.clear();
  }

  #open(key: string, policy: NonNullable<FetchOrder['policy']>): HttpWay & { users: number; dropped: boolean } {
    const way = this.#gate.open('fetch');
    way.apply(policy);
    const entry = { way, client: createHttpClient(way, { userAgent: this.#userAgent }), users: 0, dropped: false };
    this.#ways.set(key, entry);
    return entry;
  }
}

function closeWay({ way, client }: HttpWay): void {
  client.close();
  way.close();
}
