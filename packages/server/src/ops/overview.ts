/** The state of the service at a glance, composed of what each folder counts. */
import type { OverviewResponse } from '@berth/contract';
import type { Disk } from '../disk/disk.ts';
import type { EgressGate } from '@berth/egress';
import type { Fleet, FleetSummary } from '../fleet/pool/pool.ts';
import type { Jobs } from '../work/jobs/jobs.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Loop } from '@berth/lib/loop.ts';
import type { Metering } from '../accounts/metering/metering.ts';
import type { SelfHeal } from '../work/selfheal/selfheal.ts';
import type { Sessions } from '../sessions/sessions/sessions.ts';
import type { Metrics } from './metrics.ts';

export interface OverviewDeps {
  version: string;
  clock: Clock;
  fleet: Pick<Fleet, 'summary'>;
  sessions: Pick<Sessions, 'counts'>;
  jobs: Pick<Jobs, 'counts'>;
  metering: Pick<Metering, 'creditTotals'>;
  selfHeal: Pick<SelfHeal, 'countBlocks'>;
  gate: Pick<EgressGate, 'stats'>;
  disk: Pick<Disk, 'state'>;
  metrics: Pick<Metrics, 'denials'>;
  loops: readonly Loop[];
  /** Insecure or incomplete settings, each as a sentence. */
  warnings: () => readonly string[];
}

const dayMs = 86_400_000;

export class Overviews {
  readonly #deps: OverviewDeps;
  readonly #startedMs: number;

  constructor(deps: OverviewDeps) {
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonicMs();
  }

  /** @throws ServiceError store_unavailable */
  async read(): Promise<OverviewResponse> {
    const { version, clock, gate, loops, warnings } = this.#deps;
    const [fleet, sessions, jobs, credits, blocks, denials] = await Promise.all([
      this.#deps.fleet.summary(),
      this.#deps.sessions.counts(),
      this.#deps.jobs.counts(),
      this.#deps.metering.creditTotals(),
      this.#deps.selfHeal.countBlocks(new Date(clock.now().getTime() - dayMs)),
      this.#deps.metrics.denials(),
    ]);
    const { bytesIn, bytesOut, proxiedIn, proxiedOut, routesOpen } = gate.stats();
    return {
      object: 'overview',
      version,
      worker_id: fleet.workerId,
      region: fleet.region,
      uptime_seconds: Math.round(clock.monotonicMs() - this.#startedMs) / 1000,
      warnings: [...warnings(), ...fleet.warnings],
      workers: fleet.workers.map(toWorker),
      sessions: sessions.byStatus,
      fetch_machines: sessions.fetchMachines,
      jobs,
      pool: { targets: fleet.targets, counts: fleet.machines },
      host: this.#host(fleet),
      egress: { bytes_in: bytesIn, bytes_out: bytesOut, proxied_bytes: proxiedIn + proxiedOut, routes: routesOpen },
      denials,
      credits,
      blocks_24h: blocks,
      loops: loops.map(toLoop),
    };
  }

  #host({ pressure }: FleetSummary): OverviewResponse['host'] {
    const { level, freeBytes } = this.#deps.disk.state;
    return {
      admitting: pressure.admitting,
      memory_available_bytes: pressure.memoryAvailableBytes,
      disk_free_bytes: freeBytes,
      disk: level,
    };
  }
}

const toWorker = (worker: FleetSummary['workers'][number]): OverviewResponse['workers'][number] => ({
  worker_id: worker.workerId,
  region: worker.region,
  url: worker.url,
  started_at: worker.startedAt.toISOString(),
  heartbeat_at: worker.heartbeatAt.toISOString(),
  alive: worker.isAlive,
});

const toLoop = ({ name, intervalMs, status }: Loop): OverviewResponse['loops'][number] => ({
  name,
  interval_ms: intervalMs,
  turns: status.turns,
  last_turn_at: status.lastStartedAt?.toISOString() ?? null,
  last_error: status.lastError,
  failures: status.failures,
});
