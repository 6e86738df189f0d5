/** Fetch: any page turned into what the caller asked for, at once or as a job. */
import { ServiceError, ValidationError, type FetchRequest, type FetchResponse } from '@berth/contract';
import type { EgressGate } from '../egress/egress.ts';
import type { Principal } from '../http/call.ts';
import { newJobId, type Jobs } from '../jobs/jobs.ts';
import { newId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { Loop } from '../lib/loop.ts';
import { FetchMachines, type MachinesDeps } from './machines.ts';
import { makeFetchOrder, type FetchOrder, type OrderDeps } from './order.ts';
import { pollPath, toFetchResult, toJobOutcome, toUnfinished } from './reply.ts';
import { Robots } from './robots.ts';
import type { RunDeps } from './deps.ts';
import { FetchRun, type RunContext } from './run.ts';
import { HttpWays } from './ways.ts';

export interface FetchDeps extends OrderDeps, Omit<RunDeps, 'machines' | 'ways' | 'robots'>, MachinesDeps {
  gate: EgressGate;
  jobs: Jobs;
  log: Log;
  /** What plain requests say they are. */
  userAgent: string;
}

/** How long a job may wait for its turn. */
const queuedMsMax = 10 * 60_000;
const purgeMs = 30_000;

export class Fetches {
  readonly machines: FetchMachines;
  readonly purging: Loop;
  readonly #deps: FetchDeps;
  readonly #run: RunDeps;

  constructor(deps: FetchDeps) {
    this.#deps = deps;
    this.machines = new FetchMachines(deps);
    const ways = new HttpWays(deps);
    this.#run = { ...deps, machines: this.machines, ways, robots: new Robots(deps.clock) };
    this.purging = new Loop('fetch-ways', purgeMs, () => Promise.resolve(ways.purge()));
  }

  start(): void {
    this.purging.start();
  }

  async stop(): Promise<void> {
    await this.purging.stop();
    this.#run.ways.close();
  }

  /** Throws ValidationError and ServiceError for what the caller or the operator has to mend; all else is in the answer. */
  async fetch(principal: Principal, request: FetchRequest, signal: AbortSignal): Promise<FetchResponse> {
    const order = await makeFetchOrder(this.#deps, principal, request);
    const createdAt = this.#deps.clock.now();
    return this.#answer(order, createdAt, { jobId: null, signal, progress: () => undefined });
  }

  /** Takes a fetch on as a job, and answers `pending`. */
  async submit(principal: Principal, request: FetchRequest, signal: AbortSignal): Promise<FetchResponse> {
    const order = await makeFetchOrder(this.#deps, principal, request);
    const sessionId = await this.#sessionOf(order, signal);
    const record = await this.#deps.jobs.submit({
      owner: order.owner,
      kind: 'fetch',
      sessionId,
      subject: { url: request.url, metadata: request.metadata },
      queuedMsMax,
      runMsMax: request.timeout_ms,
      run: async (context) => toJobOutcome(await this.#answer(order, record.createdAt, context).catch(asServiceError)),
    });
    return { ...toUnfinished(record), poll_url: pollPath(record.jobId) };
  }

  /** Throws job_not_found and job_expired. */
  async poll(owner: string, jobId: string, options: { waitSeconds: number; signal: AbortSignal }): Promise<FetchResponse> {
    const record = await this.#deps.jobs.get(owner, jobId, options);
    const { result } = record;
    const answer = result ? (result as FetchResponse) : toUnfinished(record);
    return { ...answer, poll_url: pollPath(jobId) };
  }

  async #answer(order: FetchOrder, createdAt: Date, context: RunContext): Promise<FetchResponse> {
    const outcome = await new FetchRun(this.#run, order, context).run();
    const { url, metadata } = order.request;
    const jobId = context.jobId ?? newJobId(outcome.sessionId ?? newId('ses'));
    return toFetchResult({ jobId, sessionId: outcome.sessionId, subject: { url, metadata }, createdAt, finishedAt: this.#deps.clock.now() }, outcome);
  }

  /** The first part of a job's id is the session that will fetch; where none will, it is nobody's. */
  #sessionOf(order: FetchOrder, signal: AbortSignal): Promise<string> {
    const { session_id: sessionId, mode } = order.request;
    if (sessionId !== null) return Promise.resolve(sessionId);
    return mode === 'browser' ? this.machines.reserve(order, signal) : Promise.resolve(newId('ses'));
  }
}

/** A fault of the request that only showed when its job ran. */
function asServiceError(error: unknown): never {
  if (error instanceof ValidationError) throw new ServiceError('bad_request', error.message);
  throw error;
}
