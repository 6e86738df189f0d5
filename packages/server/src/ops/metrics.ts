/** The metrics of this worker in the Prometheus text format. Labels never contain an owner, key, session or address. */
import { endedReasons, errors, type ErrorCode, type SessionStatus } from '@berth/contract';
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import type { Billing } from '../accounts/billing/billing.ts';
import type { Credits } from '../accounts/credits/credits.ts';
import type { EgressGate } from '@berth/egress';
import type { Disk } from '../disk/disk.ts';
import type { Fleet } from '../fleet/pool/pool.ts';
import type { Flows } from '../work/flows/flows.ts';
import type { CompletedRequest } from '../http/options.ts';
import { inspectionStatuses, type CompletedInspection, type Inspections } from '../work/inspect/inspect.ts';
import type { Jobs } from '../work/jobs/jobs.ts';
import type { Loop } from '@berth/lib/loop.ts';
import type { Metering } from '../accounts/metering/metering.ts';
import { objectOperations, type Objects } from '../objects/objects.ts';
import type { Recordings } from '../watch/recordings/recordings.ts';
import type { Sessions } from '../sessions/sessions/sessions.ts';
import type { Skills } from '../work/skills/skills.ts';
import { Readings, zeroOf, type Rows } from './readings.ts';
import type { StallTotals, StallWatch } from './stall-watch.ts';
import { observeTimings, type Timed } from './timings.ts';

export interface MetricsDeps {
  version: string;
  /** Version of the file of regions: workers with different ones place and route differently. */
  registryVersion: string;
  credits: Pick<Credits, 'stats' | 'check'>;
  metering: Pick<Metering, 'stats'>;
  billing: Pick<Billing, 'stats'>;
  gate: Pick<EgressGate, 'stats'>;
  fleet: Pick<Fleet, 'stats'>;
  disk: Pick<Disk, 'state'>;
  sessions: Pick<Sessions, 'live' | 'onEnded'>;
  jobs: Pick<Jobs, 'load'>;
  inspections: Pick<Inspections, 'onCompleted'>;
  flows: Pick<Flows, 'onFinished'>;
  skills: Pick<Skills, 'heals'>;
  /** null: there is no object storage. */
  objects: Pick<Objects, 'stats'> | null;
  recordings: Pick<Recordings, 'uploadsPending'>;
  loops: readonly Loop[];
  stalls: Pick<StallWatch, 'totals'>;
  /** Services that report how long their work took. */
  timed: Timed;
}

/** Buckets from a cached response to a page load that uses its whole deadline. */
const durationSeconds = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

/** Buckets from a small HAR to an inspection that uses its whole timeout. */
const inspectionSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 180];
const flowDurationSeconds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Statuses of requests that are denied, as opposed to invalid. */
const denialStatuses: readonly number[] = [401, 402, 403, 429, 503];
const isDenial = (code: ErrorCode): boolean => denialStatuses.includes(errors[code].status);

const heldStatuses = ['starting', 'ready', 'ending', 'failed'] as const satisfies readonly SessionStatus[];

/**
 * Memory, CPU, files, event loop and garbage collection, under prom-client's names. Once for each process:
 * the timer and the observer behind them cannot be stopped.
 */
let processRegistry: Registry | undefined;

/** Gauges that are named like counters; each has a twin by type of handle, request or resource. */
const refusedDefaults = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

function processMetrics(): Registry {
  if (processRegistry) return processRegistry;
  collectDefaultMetrics({ register: (processRegistry = new Registry()) });
  for (const name of refusedDefaults) processRegistry.removeSingleMetric(name);
  return processRegistry;
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #process = processMetrics();
  readonly #requests = new Counter({
    name: 'berth_http_requests_total',
    help: 'Requests by endpoint (operation id of the OpenAPI document, or none) and status.',
    labelNames: ['endpoint', 'status'],
    registers: [this.#registry],
  });
  readonly #durations = new Histogram({
    name: 'berth_http_request_duration_seconds',
    help: 'Time from the request headers to the end of the response; for a WebSocket, until it is open.',
    labelNames: ['endpoint'],
    buckets: durationSeconds,
    registers: [this.#registry],
  });
  readonly #denials = new Counter({
    name: 'berth_denials_total',
    help: 'Denied requests by error code.',
    labelNames: ['reason'],
    registers: [this.#registry],
  });
  readonly #inspections = new Counter({
    name: 'berth_inspections_total',
    help: 'Inspections that ran, by their end.',
    labelNames: ['status'],
    registers: [this.#registry],
  });
  readonly #inspectionDurations = new Histogram({
    name: 'berth_inspection_duration_seconds',
    help: 'Time of an inspection, from its start to its report.',
    buckets: inspectionSeconds,
    registers: [this.#registry],
  });
  readonly #reportDurations = new Histogram({
    name: 'berth_inspection_report_seconds',
    help: 'Part of it that the report took, with the wait for a thread.',
    buckets: inspectionSeconds,
    registers: [this.#registry],
  });

  constructor(deps: MetricsDeps) {
    // Starts all series at 0, so that alerts see the first increase.
    for (const code of Object.keys(errors) as ErrorCode[]) if (isDenial(code)) this.#denials.inc({ reason: code }, 0);
    for (const status of inspectionStatuses) this.#inspections.inc({ status }, 0);
    deps.inspections.onCompleted((completed) => this.#countInspection(completed));
    const readings = new Readings(this.#registry);
    registerBillingMetrics(readings, deps);
    registerTrafficMetrics(readings, deps);
    registerSessionMetrics(readings, deps);
    registerMachineMetrics(readings, deps);
    registerJobAndLoopMetrics(readings, deps);
    registerDiskMetrics(readings, deps);
    registerObjectMetrics(readings, deps);
    registerStallMetrics(readings, deps);
    registerFlowMetrics(this.#registry, readings, deps);
    observeTimings(this.#registry, readings, deps.timed);
  }

  /** Called by the HTTP server for every request. */
  readonly observeRequest = ({ endpointId, status, code, ms }: CompletedRequest): void => {
    const endpoint = endpointId || 'none';
    this.#requests.inc({ endpoint, status });
    this.#durations.observe({ endpoint }, ms / 1000);
    if (code !== null && isDenial(code)) this.#denials.inc({ reason: code });
  };

  #countInspection({ status, durationMs, reportMs }: CompletedInspection): void {
    this.#inspections.inc({ status });
    this.#inspectionDurations.observe(durationMs / 1000);
    if (reportMs !== null) this.#reportDurations.observe(reportMs / 1000);
  }

  /** Denied requests since the start, by error code, without zeros. */
  async denials(): Promise<Record<string, number>> {
    const { values } = await this.#denials.get();
    return Object.fromEntries(values.flatMap(({ labels, value }) => (value > 0 ? [[String(labels['reason']), value]] : [])));
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return Registry.merge([this.#registry, this.#process]).metrics();
  }
}

function registerBillingMetrics(readings: Readings, { credits, metering, billing }: MetricsDeps): void {
  readings.counterBy('axis', 'berth_credits_total', 'Credits charged by this worker, by axis.', () => credits.stats().charged);
  readings.counter('berth_credits_granted_total', 'Credits granted by operators.', () => credits.stats().granted);
  readings.counter('berth_credits_redeemed_total', 'Credits redeemed with codes.', () => credits.stats().redeemed);
  readings.gauge('berth_ledger_wrong_wallets', 'Wallets that differ from their journal: always 0.', () => credits.check.wrong);
  readings.gauge(
    'berth_ledger_check_timestamp_seconds',
    'Time of the last ledger check, in seconds since 1970; 0 before the first one.',
    () => secondsOf(credits.check.at),
  );
  readings.counterBy('axis', 'berth_usage_total', 'Usage metered by this worker.', () => ({ ...metering.stats().totals }));
  readings.gauge('berth_meters', 'Meters that are open, or not yet written and charged.', () => metering.stats().meters);
  readings.counterRows('berth_webhook_events_total', 'Billing events by type and outcome.', ['type', 'outcome'], () =>
    billing.stats().events.map(({ type, outcome, count }) => [{ type, outcome }, count]),
  );
  readings.counter('berth_webhooks_unsigned_total', 'Billing events accepted without a signature.', () => billing.stats().unsigned);
}

const secondsOf = (at: Date | null): number => (at ? at.getTime() / 1000 : 0);

function registerTrafficMetrics(readings: Readings, { gate }: MetricsDeps): void {
  readings.counterBy('direction', 'berth_egress_bytes_total', 'Bytes between the egress gate and sites or proxies.', () => {
    const { bytesIn, bytesOut } = gate.stats();
    return { in: bytesIn, out: bytesOut };
  });
  readings.counterBy(
    'direction',
    'berth_residential_egress_bytes_total',
    'Part of berth_egress_bytes_total through managed and rotating proxies.',
    () => {
      const { proxiedIn, proxiedOut } = gate.stats();
      return { in: proxiedIn, out: proxiedOut };
    },
  );
  readings.gauge('berth_egress_routes', 'Open egress routes.', () => gate.stats().routesOpen);
}

function registerSessionMetrics(readings: Readings, { sessions }: MetricsDeps): void {
  readings.gaugeBy('status', 'berth_sessions', 'Sessions of this worker; failed ones until their cleanup.', () => countHeld(sessions.live));
  // Ended sessions are not in `live`, so they are counted by event.
  const ended = zeroOf(endedReasons);
  sessions.onEnded(({ endedReason }) => {
    if (endedReason) ended[endedReason] += 1;
  });
  readings.counterBy('reason', 'berth_sessions_ended_total', 'Sessions ended by this worker.', () => ended);
}

/** Counts sessions without those that were lost with the lease: their end may not be stored yet. */
function countHeld(live: Sessions['live']): Record<string, number> {
  const counts: Record<string, number> = zeroOf(heldStatuses);
  for (const { status, isFenced } of live.values()) if (!isFenced && status in counts) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function registerMachineMetrics(readings: Readings, { fleet }: MetricsDeps): void {
  readings.gaugeRows('berth_pool_machines', 'Machines of this worker by kind and state; assigned ones are in use.', ['kind', 'state'], () =>
    fleet.stats().machines.map(({ kind, state, count }) => [{ kind, state }, count]),
  );
  readings.gaugeRows(
    'berth_pool_target',
    'Warm machines that this worker should keep: its share of the target of its region.',
    ['kind'],
    () => fleet.stats().targets.map(({ kind, target }) => [{ kind }, target]),
  );
  readings.counterBy('reason', 'berth_pool_retired_total', 'Warm machines that were stopped unused.', () => fleet.stats().retired);
  readings.counterRows('berth_machine_boots_total', 'Started machines by kind and boot method.', ['kind', 'method'], () =>
    fleet.stats().boots.map(({ kind, method, count }) => [{ kind, method }, count]),
  );
  readings.counterRows('berth_machine_boot_failures_total', 'Machines that failed to start.', ['kind'], () =>
    fleet.stats().bootFailures.map(({ kind, count }) => [{ kind }, count]),
  );
  readings.gaugeRows('berth_template_cold', '1 while machines of a kind boot without a template.', ['kind'], () =>
    fleet.stats().templates.map(({ kind, isCold }) => [{ kind }, Number(isCold)]),
  );
  readings.gauge('berth_machine_boots_waiting', 'Sessions that wait for a machine to start.', () => fleet.stats().waiting);
  readings.gaugeRows(
    'berth_browser_built_timestamp_seconds',
    'When the browser of new machines was built, with its version.',
    ['version'],
    () => {
      const { version, builtAt } = fleet.stats().runtime.browser;
      const number = /\d[\d.]*/.exec(version)?.[0] ?? '0';
      return [[{ version: number }, Math.floor(builtAt.getTime() / 1000)]];
    },
  );
  readings.gauge('berth_admitting', '1 while this host has room for another machine.', () => Number(fleet.stats().admitting));
}

function registerDiskMetrics(readings: Readings, { disk }: MetricsDeps): void {
  // Not a number before the first reading.
  readings.gauge('berth_disk_free_bytes', 'Free disk space of the worker and its embedded database.', () => disk.state.freeBytes ?? NaN);
  readings.gauge('berth_disk_low', '1 while the disk is below its floor and only the database grows.', () =>
    Number(disk.state.level !== 'ok'),
  );
}

/** All 0 where there is no object storage. */
function registerObjectMetrics(readings: Readings, { objects, recordings }: MetricsDeps): void {
  readings.counterRows('berth_object_requests_total', 'Calls to object storage by operation and result.', ['operation', 'result'], () =>
    objectOperations.flatMap((operation) => {
      const { ok, error } = objects?.stats.requests[operation] ?? { ok: 0, error: 0 };
      return [
        [{ operation, result: 'ok' }, ok],
        [{ operation, result: 'error' }, error],
      ] as Rows;
    }),
  );
  readings.counterBy('direction', 'berth_object_bytes_total', 'Bytes read from object storage and written to it.', () => ({
    in: objects?.stats.bytesIn ?? 0,
    out: objects?.stats.bytesOut ?? 0,
  }));
  readings.gauge(
    'berth_recording_uploads_pending',
    'Finished recordings on the disk of this worker that wait for their upload.',
    () => recordings.uploadsPending,
  );
}

function registerStallMetrics(readings: Readings, { stalls }: MetricsDeps): void {
  const rows = (value: (totals: StallTotals) => number) => (): Rows =>
    [...stalls.totals].map(([during, totals]) => [{ during }, value(totals)]);
  const count = rows((totals) => totals.count);
  const seconds = rows((totals) => totals.seconds);
  readings.counterRows('berth_event_loop_stalls_total', 'Times that the event loop stalled, by what it did.', ['during'], count);
  readings.counterRows('berth_event_loop_stall_seconds_total', 'How long the event loop stalled, by what it did.', ['during'], seconds);
}

function registerJobAndLoopMetrics(readings: Readings, { version, registryVersion, jobs, loops }: MetricsDeps): void {
  const ofLoops = (value: (loop: Loop) => number) => (): Record<string, number> =>
    Object.fromEntries(loops.map((loop) => [loop.name, value(loop)]));
  readings.gaugeBy('state', 'berth_jobs', 'Queued and running jobs of this worker.', () => {
    const { pending, slots } = jobs.load;
    return { queued: Math.max(0, pending - slots), running: slots };
  });
  readings.counterBy(
    'loop',
    'berth_loop_turns_total',
    'Iterations of each loop.',
    ofLoops(({ status }) => status.turns),
  );
  readings.gaugeBy(
    'loop',
    'berth_loop_failures',
    'Consecutive failed iterations.',
    ofLoops(({ status }) => status.failures),
  );
  readings.gaugeBy(
    'loop',
    'berth_loop_interval_seconds',
    'Time between the starts of two iterations.',
    ofLoops(({ intervalMs }) => intervalMs / 1000),
  );
  readings.gaugeBy(
    'loop',
    'berth_loop_lag_seconds',
    'How long the next iteration has been due; grows while one hangs.',
    ofLoops(({ lagMs }) => lagMs / 1000),
  );
  readings.gaugeBy(
    'loop',
    'berth_loop_last_success_timestamp_seconds',
    'End of the last iteration that succeeded, in seconds since 1970; 0 before the first one.',
    ofLoops(({ status }) => secondsOf(status.lastSuccessAt)),
  );
  readings.gaugeBy('version', 'berth_build_info', 'Version of this worker.', () => ({ [version]: 1 }));
  readings.gaugeBy('registry', 'berth_region_registry_info', 'Version of the file of regions.', () => ({ [registryVersion]: 1 }));
}

/** The label `task` has as many values as there are flows and templates. */
function registerFlowMetrics(registry: Registry, readings: Readings, { flows, skills }: MetricsDeps): void {
  const registers = [registry];
  const runs = new Counter({
    name: 'berth_flow_runs_total',
    help: 'Runs of flows and templates by their name and status.',
    labelNames: ['task', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'berth_flow_duration_seconds',
    help: 'Duration of runs of flows and templates, with the start of their browser.',
    labelNames: ['task'],
    buckets: flowDurationSeconds,
    registers,
  });
  flows.onFinished(({ task, status, ms }) => {
    runs.inc({ task, status });
    durations.observe({ task }, ms / 1000);
  });
  readings.counterBy('result', 'berth_heals_total', 'Elements of steps that other selectors had to find, by result.', () => skills.heals);
}
