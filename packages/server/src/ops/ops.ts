/** Health checks of this worker. */
import type { Health } from '@berth/contract';
import type { Fleet } from '../fleet/fleet.ts';
import type { Loop } from '../lib/loop.ts';
import type { Store } from '../store/store.ts';

export interface OpsDeps {
  store: Store;
  fleet: Pick<Fleet, 'stats'>;
  loops: readonly Loop[];
  isDraining: () => boolean;
}

type Check = Health['checks'][string];

/** A database that takes longer counts as unavailable. */
const pingMsMax = 2000;

export class Ops {
  readonly #deps: OpsDeps;

  constructor(deps: OpsDeps) {
    this.#deps = deps;
  }

  async health(): Promise<Health> {
    const checks: Record<string, Check> = {
      store: await this.#store(),
      sessions: this.#sessions(),
      machines: this.#machines(),
      drain: this.#drain(),
    };
    const worst = Object.values(checks).map((check) => check.status);
    return { status: worst.includes('unhealthy') ? 'unhealthy' : worst.includes('degraded') ? 'degraded' : 'ok', checks };
  }

  async #store(): Promise<Check> {
    try {
      await this.#deps.store.ping({ signal: AbortSignal.timeout(pingMsMax) });
      return { status: 'ok', note: 'the database is available' };
    } catch {
      return { status: 'unhealthy', note: 'the database is unavailable' };
    }
  }

  /** Sessions depend on the loops: timers, recovery, the reaper. */
  #sessions(): Check {
    const failing = this.#deps.loops.filter((loop) => loop.isFailing);
    if (failing.length === 0) return { status: 'ok', note: `${this.#deps.loops.length} loops running` };
    return { status: 'degraded', note: `failing: ${failing.map((loop) => loop.name).join(', ')}` };
  }

  #machines(): Check {
    const { runtime, machines, failing, templates } = this.#deps.fleet.stats();
    const count = (of: string): number => machines.reduce((sum, { state, count: each }) => (state === of ? sum + each : sum), 0);
    const counts = `${count('ready')} warm, ${count('warming')} warming, ${count('assigned')} in use`;
    const cold = templates.flatMap(({ kind, isCold }) => (isCold ? [kind] : []));
    const troubles = [
      ...failing.map((kind) => `${kind} machines fail to start`),
      ...cold.map((kind) => `${kind} machines are booted cold, without a template`),
    ];
    const note = [`${runtime.name} runtime (${runtime.isolation})`, counts, ...troubles, ...runtime.warnings].join('; ');
    return { status: troubles.length > 0 ? 'degraded' : 'ok', note };
  }

  #drain(): Check {
    return this.#deps.isDraining() ? { status: 'degraded', note: 'shutting down' } : { status: 'ok', note: 'not draining' };
  }
}
