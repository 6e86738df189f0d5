/** Fetch: any page turned into what the caller asked for, at once or as a job. */
import { ServiceError, ValidationError, type FetchRequest, type FetchResponse } from '@berth/contract';
import type { Principal } from '../http/call.ts';
import { newJobId, type Jobs } from '../jobs/jobs.ts';
import { newId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { Loop } from '../lib/loop.ts';
import type { Ticket } from '../metering/metering.ts';
import { countSteps } from '../steps/steps.ts';
import { FetchMachines, type MachinesDeps } from './machines.ts';
import { makeFetchOrder, type FetchOrder, type OrderDeps } from './order.ts';
import { pollPath, toFetchResult, toFinished, toJobOutcome, toUnfinished } from './reply.ts';
import { Robots } from './robots.ts';
import type { RunDeps } from './deps.ts';
import { FetchRun, type FetchOutcome, type RunContext } from './run.ts';
import { HttpWays, type WaysDeps } from './ways.ts';

export interface FetchDeps extends OrderDeps, Omit<RunDeps, 'machines' | 'ways' | 'robots'>, MachinesDeps, WaysDeps {
  jobs: Jobs;
  log: Log;
}

/** How long a job may wait for its turn. */
const queuedMsMax = 10 * 60_000;
/** From the end of the time that a fetch is given to its charge. */
const chargeMsMax = 120_000;
const purgeMs = 30_000;

/** A fetch with what is known of it from its admission on. */
interface Admitted {
  order: FetchOrder;
  ticket: Ticket;
  createdAt: Date;
}

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
    const ticket = await this.#admit(order, request.timeout_ms);
    return this.#answer({ order, ticket, createdAt }, { jobId: null, signal, progress: () => undefined });
  }

  /** Takes a fetch on as a job, and answers `pending`. */
  async submit(principal: Principal, request: FetchRequest, signal: AbortSignal): Promise<FetchResponse> {
    const order = await makeFetchOrder(this.#deps, principal, request);
    const ticket = await this.#admit(order, queuedMsMax + request.timeout_ms);
    try {
      const sessionId = await this.#sessionOf(order, signal);
      const record = await this.#deps.jobs.submit({
        owner: order.owner,
        kind: 'fetch',
        sessionId,
        subject: { url: request.url, metadata: request.metadata },
        queuedMsMax,
        runMsMax: request.timeout_ms,
        run: async (context) =>
          toJobOutcome(await this.#answer({ order, ticket, createdAt: record.createdAt }, context).catch(asServiceError)),
        neverRan: () => void ticket.drop(),
      });
      return { ...toUnfinished(record), poll_url: pollPath(record.jobId) };
    } catch (error) {
      await ticket.drop();
      throw error;
    }
  }

  /** Throws job_not_found and job_expired. */
  async poll(owner: string, jobId: string, options: { waitSeconds: number; signal: AbortSignal }): Promise<FetchResponse> {
    const record = await this.#deps.jobs.get(owner, jobId, options);
    const { result } = record;
    const answer = result ? toFinished(result as FetchResponse) : toUnfinished(record);
    return { ...answer, poll_url: pollPath(jobId) };
  }

  /** As much as it comes to when all goes well at once. Throws plan_limit_exceeded and insufficient_credits. */
  #admit({ owner, request }: FetchOrder, takesMsMax: number): Promise<Ticket> {
    return this.#deps.metering.admit(owner, { axis: 'action', count: 1 + countSteps(request.actions), ttlMs: takesMsMax + chargeMsMax });
  }

  async #answer({ order, ticket, createdAt }: Admitted, context: RunContext): Promise<FetchResponse> {
    const outcome = await this.#charged({ order, ticket }, () => new FetchRun(this.#run, order, context).run());
    const { url, metadata } = order.request;
    const jobId = context.jobId ?? newJobId(outcome.sessionId ?? newId('ses'));
    return toFetchResult(
      { jobId, sessionId: outcome.sessionId, subject: { url, metadata }, createdAt, finishedAt: this.#deps.clock.now() },
      outcome,
    );
  }

  async #charged({ order, ticket }: Pick<Admitted, 'order' | 'ticket'>, run: () => Promise<FetchOutcome>): Promise<FetchOutcome> {
    try {
      const outcome = await run();
      const { charge, usage } = outcome;
      if (charge) await charge(ticket, usage.actions);
      else await this.#chargeAlone(order, ticket, usage.actions);
      return outcome;
    } catch (error) {
      // Nothing happens where it was charged before.
      await ticket.drop();
      throw error;
    }
  }

  /** Attempts that came to no way out, such as those that waited for one in vain, have a meter of their own. */
  async #chargeAlone({ owner, tier }: FetchOrder, ticket: Ticket, actions: number): Promise<void> {
    if (actions === 0) return ticket.drop();
    const meter = this.#deps.metering.open({ meterId: newId('way'), owner, tier, sample: () => ({ egressBytes: 0, browserMs: 0 }) });
    await ticket.charge(meter, actions);
    await meter.close();
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
