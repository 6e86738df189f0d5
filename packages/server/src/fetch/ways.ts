/** Ways out for fetches without a browser: kept for a while, so that their connections serve the next fetch too. */
import { LRUCache } from 'lru-cache';
import { createHttpClient, type EgressGate, type EgressWay, type HttpClient } from '../egress/egress.ts';
import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { Meter, Metering } from '../metering/metering.ts';
import type { FetchOrder } from './order.ts';

/** Each holds a few idle connections. */
const waysMax = 200;
const keptMs = 120_000;

export interface HttpWay {
  way: EgressWay;
  client: HttpClient;
  /** Of what goes over it, and of the fetches that end on it. */
  meter: Meter;
}

interface Kept extends HttpWay {
  users: number;
  dropped: boolean;
}

export interface WaysDeps {
  gate: EgressGate;
  metering: Metering;
  clock: Clock;
  /** What plain requests say they are. */
  userAgent: string;
}

export class HttpWays {
  readonly #deps: WaysDeps;
  readonly #ways: LRUCache<string, Kept>;
  /** Those that are no longer kept and still in use, too. */
  readonly #open = new Set<Kept>();

  constructor(deps: WaysDeps) {
    this.#deps = deps;
    this.#ways = new LRUCache({
      max: waysMax,
      ttl: keptMs,
      updateAgeOnGet: true,
      ttlAutopurge: false,
      ttlResolution: 0,
      perf: { now: () => deps.clock.monotonicMs() + 1 },
      dispose: (entry) => {
        entry.dropped = true;
        if (entry.users === 0) this.#close(entry);
      },
    });
  }

  /** Throws what `work` throws. */
  async with<T>(order: FetchOrder, work: (way: HttpWay) => Promise<T>): Promise<T> {
    const entry = this.#ways.get(order.key) ?? this.#make(order);
    entry.users += 1;
    try {
      return await work(entry);
    } finally {
      entry.users -= 1;
      if (entry.dropped && entry.users === 0) this.#close(entry);
    }
  }

  /** Lets go of what nobody uses. */
  purge(): void {
    this.#ways.purgeStale();
  }

  /** Also those in use: what goes over them ends. */
  close(): void {
    this.#ways.clear();
    for (const entry of this.#open) this.#close(entry);
  }

  #make({ key, policy, owner, tier }: FetchOrder): Kept {
    if (!policy) throw new Error('a session has its own way out');
    const { gate, metering, userAgent } = this.#deps;
    const way = gate.open('fetch');
    way.apply(policy);
    const sample = () => ({ egressBytes: egressBytesOf(way), browserMs: 0 });
    const meter = metering.open({ meterId: newId('way'), owner, tier, sample });
    const entry = { way, client: createHttpClient(way, { userAgent }), meter, users: 0, dropped: false };
    this.#open.add(entry);
    this.#ways.set(key, entry);
    return entry;
  }

  #close(entry: Kept): void {
    this.#open.delete(entry);
    entry.client.close();
    entry.way.close();
    // After the way: what is counted then is all that there was.
    void entry.meter.close();
  }
}

function egressBytesOf(way: EgressWay): number {
  const { bytesIn, bytesOut } = way.facts();
  return bytesIn + bytesOut;
}
