/** Several workers of one fleet in this process: one test database; each with its own data directory, simulated machines and port. */
import assert from 'node:assert/strict';
import type { Endpoint, ReplyOf } from '@berth/contract';
import { eventually, startApp, type AppOptions, type Reply, type Request, type TestApp } from '../harness.ts';

export interface TestFleet {
  workers: TestApp[];
  /** The first API key, of the owner `local`. */
  key: string;
  databaseUrl: string;
  /** @throws AssertionError where there is no such worker */
  worker(index: number): TestApp;
  workerId(index: number): string;
  /** The index of the worker that runs a session, wherever it was created. */
  whereIs(sessionId: string): number;
  /** Calls an endpoint of a worker and checks that the contract declares the reply. */
  call<E extends Endpoint>(index: number, endpoint: E, request?: Request<E>): Promise<Reply<ReplyOf<E>>>;
  /** Starts one more worker. */
  add(options?: WorkerOptions): Promise<TestApp>;
  /** Stops a worker as an operator would. The others go on; it stays in `workers`. */
  stop(index: number): Promise<void>;
  close(): Promise<void>;
}

export type WorkerOptions = Omit<AppOptions, 'previous' | 'beside' | 'isInFleet'>;

export interface FleetOptions extends WorkerOptions {
  /** The number of workers; at least one. */
  workers: number;
  /** What a worker has of its own. */
  each?: (index: number) => WorkerOptions;
}

/** Starts the workers one after another. The caller closes the fleet. */
export async function startFleet({ workers: count, each = () => ({}), ...common }: FleetOptions): Promise<TestFleet> {
  assert.ok(count >= 1, 'a fleet has a worker');
  const workers: TestApp[] = [];
  const stopped = new Set<TestApp>();
  const worker = (index: number): TestApp => workers[index] ?? assert.fail(`there is no worker ${index}`);
  const add = async (options: WorkerOptions = {}): Promise<TestApp> => {
    const own = { ...common, ...each(workers.length), ...options };
    const environment = { ...common.environment, ...each(workers.length).environment, ...options.environment };
    const [first] = workers;
    const app = await startApp({ ...own, environment, isInFleet: true, ...(first ? { beside: first } : {}) });
    workers.push(app);
    await eventually('the workers know each other', () => knowEachOther(workers.filter((each) => !stopped.has(each))));
    return app;
  };
  // The first worker last: its database is removed with it.
  const close = async (): Promise<void> => {
    for (const app of workers.toReversed()) if (!stopped.has(app) || app === workers[0]) await app.close();
  };
  try {
    while (workers.length < count) await add();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    workers,
    key: worker(0).key,
    databaseUrl: worker(0).databaseUrl,
    worker,
    workerId: (index) => worker(index).app.fleet.deps.workerId,
    whereIs: (sessionId) => {
      const index = workers.findIndex(({ app }) => app.sessions.live.has(sessionId));
      return index < 0 ? assert.fail('no worker runs the session') : index;
    },
    call: (index, endpoint, request) => worker(index).call(endpoint, request),
    add,
    stop: async (index) => {
      const app = worker(index);
      stopped.add(app);
      if (index === 0) await app.app.stop();
      else await app.close();
    },
    close,
  };
}

async function knowEachOther(workers: readonly TestApp[]): Promise<boolean> {
  for (const { app } of workers)
    for (const other of workers)
      if (other.app !== app && (await app.forwarding?.canReach(other.app.fleet.deps.workerId)) === false) return false;
  return true;
}
