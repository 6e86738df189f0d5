/** The counters and gauges of this worker, in the text format of Prometheus. No label names an owner, a key, a session or an address. */
import { endedReasons, errors, type ErrorCode, type SessionStatus } from '@berth/contract';
import { Counter, Histogram, Registry } from 'prom-client';
import type { Billing } from '../billing/billing.ts';
import type { Credits } from '../credits/credits.ts';
import type { EgressGate } from '../egress/egress.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Answered } from '../http/options.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { Loop } from '../lib/loop.ts';
import type { Metering } from '../metering/metering.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { ProcessMetrics } from './process-metrics.ts';
import { Readings } from './readings.ts';

export interface MetricsDeps {
  version: string;
  credits: Pick<Credits, 'facts' | 'check'>;
  metering: Pick<Metering, 'facts'>;
  billing: Pick<Billing, 'facts'>;
  gate: Pick<EgressGate, 'facts'>;
  fleet: Pick<Fleet, 'facts'>;
  sessions: Pick<Sessions, 'live' | 'onEnded'>;
  jobs: Pick<Jobs, 'load'>;
  loops: readonly Loop[];
}

/** From an answer out of memory to a page that takes its whole time. */
const durationSeconds = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

/** Answers by which a caller is turned away, and not told of a fault in what it asked. */
const denialStatuses: readonly number[] = [401, 402, 403, 429, 503];
const isDenial = (code: ErrorCode): boolean => denialStatuses.includes(errors[code].status);

const heldStatuses = ['starting', 'ready', 'ending', 'failed'] as const satisfies readonly SessionStatus[];

export class Metrics {
  readonly #registry = new Registry();
  readonly #process: ProcessMetrics;
  readonly #requests = new Counter({
    name: 'berth_http_requests_total',
    help: 'Requests by endpoint (as the OpenAPI document names it, none where there is none) and status.',
    labelNames: ['endpoint', 'status'],
    registers: [this.#registry],
  });
  readonly #durations = new Histogram({
    name: 'berth_http_request_duration_seconds',
    help: 'From the head of a request to the end of its answer; of a socket, until it is open.',
    labelNames: ['endpoint'],
    buckets: durationSeconds,
    registers: [this.#registry],
  });
  readonly #denials = new Counter({
    name: 'berth_denials_total',
    help: 'Requests that were turned away, by the code of their error.',
    labelNames: ['reason'],
    registers: [this.#registry],
  });

  constructor(deps: MetricsDeps) {
    // A series that begins with its first case has no increase to be alarmed by.
    for (const code of Object.keys(errors) as ErrorCode[]) if (isDenial(code)) this.#denials.inc({ reason: code }, 0);
    const readings = new Readings(this.#registry);
    tellMoney(readings, deps);
    tellTraffic(readings, deps);
    tellSessions(readings, deps);
    tellMachines(readings, deps);
    tellWork(readings, deps);
    this.#process = new ProcessMetrics(this.#registry);
  }

  /** For the HTTP server, which calls it for every request. */
  readonly answered = ({ endpointId, status, code, ms }: Answered): void => {
    const endpoint = endpointId || 'none';
    this.#requests.inc({ endpoint, status });
    this.#durations.observe({ endpoint }, ms / 1000);
    if (code !== null && isDenial(code)) this.#denials.inc({ reason: code });
  };

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Watches the process itself. */
  start(): void {
    this.#process.start();
  }

  stop(): void {
    this.#process.stop();
  }
}

function tellMoney(readings: Readings, { credits, metering, billing }: MetricsDeps): void {
  readings.counterBy('axis', 'berth_credits_total', 'Credits that this worker has charged, by what for.', () => credits.facts().charged);
  readings.counter('berth_credits_granted_total', 'Credits given by operators.', () => credits.facts().granted);
  readings.counter('berth_credits_redeemed_total', 'Credits given for codes.', () => credits.facts().redeemed);
  readings.gauge(
    'berth_ledger_wrong_wallets',
    'Wallets that are not what their journal says: never anything but 0.',
    () => credits.check.wrong,
  );
  readings.gauge('berth_ledger_check_timestamp_seconds', 'When that was last found, since 1970; 0 before the first time.', () =>
    secondsOf(credits.check.at),
  );
  readings.counterBy('axis', 'berth_usage_total', 'What this worker has metered.', () => ({ ...metering.facts().totals }));
  readings.gauge('berth_meters', 'Meters that are open, or not yet written and settled.', () => metering.facts().meters);
  readings.counterRows(
    'berth_webhook_events_total',
    'Events of the payment provider, by type and what became of them.',
    ['type', 'outcome'],
    () => billing.facts().events.map(({ type, outcome, count }) => [{ type, outcome }, count]),
  );
  readings.counter('berth_webhooks_unsigned_total', 'Events that were believed without a signature.', () => billing.facts().unsigned);
}

const secondsOf = (at: Date | null): number => (at ? at.getTime() / 1000 : 0);

function tellTraffic(readings: Readings, { gate }: MetricsDeps): void {
  readings.counterBy('direction', 'berth_egress_bytes_total', 'Bytes between the gate and sites or proxies.', () => {
    const { bytesIn, bytesOut } = gate.facts();
    return { in: bytesIn, out: bytesOut };
  });
  readings.counterBy(
    'direction',
    'berth_residential_egress_bytes_total',
    'Those of them that went through managed and rotating proxies.',
    () => {
      const { proxiedIn, proxiedOut } = gate.facts();
      return { in: proxiedIn, out: proxiedOut };
    },
  );
  readings.gauge('berth_egress_ways', 'Ways out that are open.', () => gate.facts().waysOpen);
}

function tellSessions(readings: Readings, { sessions }: MetricsDeps): void {
  readings.gaugeBy('status', 'berth_sessions', 'Sessions that this worker holds: failed ones until they are cleared away.', () =>
    countLive(sessions.live),
  );
  // Of what is over nothing is left to be read.
  const ended = zeroOf(endedReasons);
  sessions.onEnded(({ endedReason }) => {
    if (endedReason) ended[endedReason] += 1;
  });
  readings.counterBy('reason', 'berth_sessions_ended_total', 'Sessions that this worker has ended.', () => ended);
}

function countLive(live: Sessions['live']): Record<string, number> {
  const counts: Record<string, number> = zeroOf(heldStatuses);
  for (const { status } of live.values()) if (status in counts) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function tellMachines(readings: Readings, { fleet }: MetricsDeps): void {
  readings.gaugeRows('berth_pool_machines', 'Machines of this worker by kind, those in use (assigned) among them.', ['kind', 'state'], () =>
    fleet.facts().machines.map(({ kind, state, count }) => [{ kind, state }, count]),
  );
  readings.gaugeRows(
    'berth_pool_target',
    'Machines that this worker is to keep warm: its part of the target of its region.',
    ['kind'],
    () => fleet.facts().targets.map(({ kind, target }) => [{ kind }, target]),
  );
  readings.counterBy('reason', 'berth_pool_retired_total', 'Warm machines that were ended unused.', () => fleet.facts().retired);
  readings.counterRows('berth_machine_boots_total', 'Machines that were started, by the way in which.', ['kind', 'way'], () =>
    fleet.facts().boots.map(({ kind, way, count }) => [{ kind, way }, count]),
  );
  readings.counterRows('berth_machine_boot_failures_total', 'Machines that did not start.', ['kind'], () =>
    fleet.facts().bootFailures.map(({ kind, count }) => [{ kind }, count]),
  );
  readings.gaugeRows('berth_template_cold', 'Whether machines of a kind are booted cold because no template works.', ['kind'], () =>
    fleet.facts().templates.map(({ kind, isCold }) => [{ kind }, Number(isCold)]),
  );
  readings.gauge('berth_machine_boots_waiting', 'Sessions that wait for a machine to be started.', () => fleet.facts().waiting);
  readings.gauge('berth_admitting', 'Whether this host has room for another machine.', () => Number(fleet.facts().admitting));
}

function tellWork(readings: Readings, { version, jobs, loops }: MetricsDeps): void {
  const ofLoops = (value: (loop: Loop) => number) => (): Record<string, number> =>
    Object.fromEntries(loops.map((loop) => [loop.name, value(loop)]));
  readings.gaugeBy('state', 'berth_jobs', 'Jobs of this worker that are not over.', () => {
    const { pending, places } = jobs.load;
    return { queued: Math.max(0, pending - places), running: places };
  });
  readings.counterBy(
    'loop',
    'berth_loop_turns_total',
    'Turns of each loop.',
    ofLoops(({ status }) => status.turns),
  );
  readings.gaugeBy(
    'loop',
    'berth_loop_failures',
    'Turns in a row that failed.',
    ofLoops(({ status }) => status.failures),
  );
  readings.gaugeBy('version', 'berth_build_info', 'What runs here.', () => ({ [version]: 1 }));
}

const zeroOf = <Name extends string>(names: readonly Name[]): Record<Name, number> =>
  Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
