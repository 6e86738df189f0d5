/** Egress for fetches without a browser, cached for a while so that the next fetch reuses its connections. */
import { LRUCache } from 'lru-cache';
import { createHttpClient, type EgressGate, type EgressRoute, type HttpClient } from '@berth/egress';
import type { Clock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';
import type { Meter, Metering } from '../../../accounts/metering/metering.ts';
import type { FetchSpec } from '../spec.ts';

/** Each holds a few idle connections. */
const routesMax = 200;
const routeTtlMs = 120_000;

export interface HttpRoute {
  route: EgressRoute;
  client: HttpClient;
  /** Meters its traffic, and the fetches whose last attempt used it. */
  meter: Meter;
}

interface CachedRoute extends HttpRoute {
  users: number;
  isEvicted: boolean;
}

export interface HttpRoutesDeps {
  gate: EgressGate;
  metering: Metering;
  clock: Clock;
  /** The `User-Agent` of plain requests. */
  userAgent: string;
}

export class HttpRoutes {
  readonly #deps: HttpRoutesDeps;
  readonly #routes: LRUCache<string, CachedRoute>;
  /** All open routes, also those that were evicted and are still in use. */
  readonly #open = new Set<CachedRoute>();

  constructor(deps: HttpRoutesDeps) {
    this.#deps = deps;
    this.#routes = new LRUCache({
      max: routesMax,
      ttl: routeTtlMs,
      updateAgeOnGet: true,
      ttlAutopurge: false,
      ttlResolution: 0,
      perf: { now: () => deps.clock.monotonicMs() + 1 },
      dispose: (entry) => {
        entry.isEvicted = true;
        if (entry.users === 0) this.#close(entry);
      },
    });
  }

  /** Throws what `work` throws. */
  async withRoute<T>(spec: FetchSpec, work: (route: HttpRoute) => Promise<T>): Promise<T> {
    const entry = this.#routes.get(spec.key) ?? this.#create(spec);
    entry.users += 1;
    try {
      return await work(entry);
    } finally {
      entry.users -= 1;
      if (entry.isEvicted && entry.users === 0) this.#close(entry);
    }
  }

  /** Closes what has expired. */
  purge(): void {
    this.#routes.purgeStale();
  }

  /** Closes all, also those in use: their requests fail. */
  close(): void {
    this.#routes.clear();
    for (const entry of this.#open) this.#close(entry);
  }

  #create({ key, policy, owner, tier }: FetchSpec): CachedRoute {
    if (!policy) throw new Error('a session has its own egress');
    const { gate, metering, userAgent } = this.#deps;
    const route = gate.open('fetch');
    route.apply(policy);
    const sample = () => ({ egressBytes: countEgressBytes(route), browserMs: 0 });
    const meter = metering.open({ meterId: newId('rte'), owner, tier, egressType: policy.type, sample });
    const entry = { route, client: createHttpClient(route, { userAgent }), meter, users: 0, isEvicted: false };
    this.#open.add(entry);
    this.#routes.set(key, entry);
    return entry;
  }

  #close(entry: CachedRoute): void {
    this.#open.delete(entry);
    entry.client.close();
    entry.route.close();
    // Must follow the route: only then are its byte counts final.
    void entry.meter.close();
  }
}

function countEgressBytes(route: EgressRoute): number {
  const { bytesIn, bytesOut } = route.stats();
  return bytesIn + bytesOut;
}
