/** DNS resolution with a short cache, one lookup at a time for each name, and a share of lookups for each machine. */
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { Deadline } from '@berth/lib/deadline.ts';
import { LaneFullError, LaneTimeoutError, Lanes } from '@berth/lib/turns/lanes.ts';
import { orAbort } from '@berth/lib/or-abort.ts';
import { isLoopbackName } from './addresses.ts';
import { EgressError } from '../policy.ts';
import { netErrors } from '../gate/refusal.ts';
import { isUnanswered, type Resolver } from './system-names.ts';

/**
 * Long enough for the connections of one page load, short enough to follow a
 * DNS change. Safe: cached addresses are checked again for each connection,
 * and exactly these are dialled.
 */
const cacheTtlMs = 5000;
const cacheMax = 2000;

export interface NameLimits {
  /** How long a name may take to be resolved, and how long it may wait for its turn. */
  resolveTimeoutMs: number;
  /** How long a name that failed is not asked for again. */
  failedNameTtlMs: number;
  /** Lookups of one machine at a time. */
  lookupsMax: number;
  /** Names of one machine that wait for their turn; further ones fail. */
  lookupsWaitingMax: number;
}

export interface Names {
  /**
   * Returns at least one address. IP literals and `localhost` need no lookup.
   * @throws EgressError dns_failed, or the signal's reason
   */
  resolve(host: string, signal: AbortSignal): Promise<readonly string[]>;
}

/** The lookups of all machines. */
export class NameResolver implements Names {
  readonly limits: NameLimits;
  readonly #resolver: Resolver;
  readonly #cache = new LRUCache<string, readonly string[]>({ max: cacheMax, ttl: cacheTtlMs });
  /** Apart, so that names that fail displace none that do not. */
  readonly #failures: LRUCache<string, EgressError>;
  readonly #pending = new Map<string, Promise<readonly string[]>>();

  constructor(resolver: Resolver, limits: NameLimits) {
    this.limits = limits;
    this.#resolver = resolver;
    this.#failures = new LRUCache({ max: cacheMax, ttl: limits.failedNameTtlMs });
  }

  async resolve(host: string, signal: AbortSignal): Promise<readonly string[]> {
    return this.read(host) ?? orAbort(this.query(host), signal);
  }

  /** What needs no lookup; undefined for other names. @throws EgressError of a name that has just failed */
  read(host: string): readonly string[] | undefined {
    if (isIP(host) !== 0) return [host];
    if (isLoopbackName(host)) return ['127.0.0.1', '::1'];
    const failure = this.#failures.get(host);
    if (failure) throw failure;
    return this.#cache.get(host);
  }

  /** Shares a lookup that is under way: a page opens six connections at once. Ends within the time limit. */
  query(host: string): Promise<readonly string[]> {
    const pending = this.#pending.get(host);
    if (pending) return pending;
    const query = this.#query(host).finally(() => this.#pending.delete(host));
    this.#pending.set(host, query);
    return query;
  }

  async #query(host: string): Promise<readonly string[]> {
    const { resolveTimeoutMs: timeoutMs } = this.limits;
    const reason = (): Error =>
      new EgressError('dns_failed', `${host} was not resolved within ${timeoutMs} ms`, { netError: netErrors.dns_unanswered });
    try {
      const answers = await Deadline.run({ signal: neverAborted, timeoutMs, reason }, ({ signal }) =>
        orAbort(this.#resolver(host), signal),
      );
      if (answers.length === 0) throw new EgressError('dns_failed', `${host} has no address`);
      this.#cache.set(host, answers);
      return answers;
    } catch (cause) {
      const failure = cause instanceof EgressError ? cause : toFailure(host, cause);
      this.#failures.set(host, failure);
      throw failure;
    }
  }
}

function toFailure(host: string, cause: unknown): EgressError {
  const netError = isUnanswered(cause) ? netErrors.dns_unanswered : netErrors.dns_failed;
  return new EgressError('dns_failed', `${host} cannot be resolved`, { cause, netError });
}

const neverAborted = new AbortController().signal;

/** The lookups of one machine: those beyond its share wait for its own, never for another's. */
export class MachineNames implements Names {
  readonly #shared: NameResolver;
  readonly #lane: Lanes;

  constructor(shared: NameResolver) {
    this.#shared = shared;
    const { lookupsMax, lookupsWaitingMax, resolveTimeoutMs } = shared.limits;
    this.#lane = new Lanes({ width: lookupsMax, waitingMax: lookupsWaitingMax, waitMsMax: resolveTimeoutMs });
  }

  async resolve(host: string, signal: AbortSignal): Promise<readonly string[]> {
    const known = this.#shared.read(host);
    if (known) return known;
    // A lookup whose caller has left keeps its place until it ends, because it goes on.
    const turn = this.#lane.run('', signal, async () => this.#shared.read(host) ?? this.#shared.query(host));
    return orAbort(turn, signal).catch((error: unknown) => {
      if (!(error instanceof LaneFullError) && !(error instanceof LaneTimeoutError)) throw error;
      const message = `${host}: too many names of this machine are being resolved`;
      throw new EgressError('dns_failed', message, { netError: netErrors.dns_unanswered });
    });
  }
}
