/** Histograms of how long work takes and waits inside the worker. */
import { Histogram, type Registry } from 'prom-client';
import type { Fetches } from '../work/fetch/fetch.ts';
import type { Fleet } from '../fleet/pool/pool.ts';
import type { Jobs } from '../work/jobs/jobs.ts';
import type { Sessions } from '../sessions/sessions/sessions.ts';
import { statementOperations, type Store } from '../store/store.ts';
import type { Readings } from './readings.ts';

export interface Timed {
  store: Pick<Store, 'observe' | 'connections'>;
  fleet: Pick<Fleet, 'observe'>;
  sessions: Pick<Sessions, 'onTurn'>;
  jobs: Pick<Jobs, 'onStarted'>;
  fetches: { machines: Pick<Fetches['machines'], 'onTurn'> };
}

/** Buckets from a clone of a template to an emulated machine that boots cold. */
const bootSeconds = [0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30, 60, 120];
/** A warm machine is a few milliseconds away; without one there is the wait in the queue and the boot. */
const acquireSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Buckets from no wait at all to the time after which a job is given up. */
const queueSeconds = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600];
/** Buckets from an indexed read to the timeout of a statement. */
const statementSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const queues = ['fetch_page', 'job', 'machine_boot', 'session_lane', 'store_connection'] as const;

export function observeTimings(registry: Registry, readings: Readings, { store, fleet, sessions, jobs, fetches }: Timed): void {
  const waits = new Histogram({
    name: 'berth_queue_wait_seconds',
    help: 'Time that work waited for its turn, of what got one.',
    labelNames: ['queue'],
    buckets: queueSeconds,
    registers: [registry],
  });
  for (const queue of queues) waits.zero({ queue });
  const waited =
    (queue: (typeof queues)[number]) =>
    (ms: number): void =>
      waits.observe({ queue }, ms / 1000);
  observeMachines(registry, fleet, waited('machine_boot'));
  observeStore(registry, readings, store, waited('store_connection'));
  sessions.onTurn(waited('session_lane'));
  fetches.machines.onTurn(waited('fetch_page'));
  const queuedJob = waited('job');
  jobs.onStarted(({ queuedMs }) => queuedJob(queuedMs));
}

function observeMachines(registry: Registry, fleet: Timed['fleet'], waited: (ms: number) => void): void {
  const boots = new Histogram({
    name: 'berth_machine_boot_duration_seconds',
    help: 'Time from the start of a machine until its browser responds and it is stored.',
    labelNames: ['kind', 'method'],
    buckets: bootSeconds,
    registers: [registry],
  });
  const acquisitions = new Histogram({
    name: 'berth_machine_acquire_duration_seconds',
    help: 'Time until a session has a machine: a warm one of the pool, or one that is booted for it.',
    labelNames: ['kind', 'source'],
    buckets: acquireSeconds,
    registers: [registry],
  });
  fleet.observe({
    onBooted: ({ kind, method, ms }) => boots.observe({ kind, method }, ms / 1000),
    onAcquired: ({ kind, warm, ms, queuedMs }) => {
      acquisitions.observe({ kind, source: warm ? 'pool' : 'boot' }, ms / 1000);
      if (queuedMs !== null) waited(queuedMs);
    },
  });
}

function observeStore(registry: Registry, readings: Readings, store: Timed['store'], waited: (ms: number) => void): void {
  const statements = new Histogram({
    name: 'berth_store_statement_duration_seconds',
    help: 'Time of a statement of the database, by its first word; failed ones are included.',
    labelNames: ['operation'],
    buckets: statementSeconds,
    registers: [registry],
  });
  for (const operation of statementOperations) statements.zero({ operation });
  store.observe({ onStatement: (operation, ms) => statements.observe({ operation }, ms / 1000), onConnection: waited });
  readings.gaugeBy('state', 'berth_store_connections', 'Connections to the database; waiting are the callers without one.', () => ({
    ...store.connections,
  }));
}
