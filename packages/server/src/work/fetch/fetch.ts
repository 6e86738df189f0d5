/** Fetch: a page converted to the requested formats, synchronously or as a job. */
import { ServiceError, ValidationError, type FetchRequest, type FetchResponse } from '@berth/contract';
import type { Principal } from '../../accounts/principals/principals.ts';
import type { JobDescription, JobRecord, JobRequest, Jobs, JobWork } from '../jobs/jobs.ts';
import { newId } from '@berth/lib/ids.ts';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import { type Ticket, newAdmissionId } from '../../accounts/metering/metering.ts';
import { countSteps } from '@berth/devtools';
import { FetchMachines, type MachinesDeps } from './machines.ts';
import { createFetchSpec, type FetchSpec, type FetchSpecDeps } from './spec.ts';
import { pollPath, toFetchResult, toFinished, toJobOutcome, toUnfinished } from './reply.ts';
import { Robots } from './robots.ts';
import { carriesSecrets } from './secrets.ts';
import type { RunDeps } from './attempt.ts';
import { FetchRun, type FetchRunResult, type RunContext } from './run.ts';
import { HttpRoutes, type HttpRoutesDeps } from './http-routes.ts';

export { DeadlineExceededError, toFetchError } from './errors.ts';
export type { FetchMachines, PageLease } from './machines.ts';
export type { Robots } from './robots.ts';
export { createCooldown } from './own-block.ts';
export { createPageStepContext } from './page-step-context.ts';
export { withOwnSession } from './own-session.ts';
export { carriesSecrets } from './secrets.ts';
export { createMachineSpec, type FetchSpecDeps, type MachineRequest, type MachineSpec } from './spec.ts';

export interface FetchDeps extends FetchSpecDeps, Omit<RunDeps, 'machines' | 'httpRoutes' | 'robots'>, MachinesDeps, HttpRoutesDeps {
  jobs: Jobs;
  log: Log;
}

/** How long a job may be queued. */
const queuedMsMax = 10 * 60_000;
/** How long the admission outlives the fetch's own timeout, until the charge is written. */
const chargeMsMax = 120_000;
const purgeMs = 30_000;

/** A fetch that metering has admitted. */
interface Admitted {
  spec: FetchSpec;
  ticket: Ticket;
  createdAt: Date;
}

export class Fetches {
  readonly machines: FetchMachines;
  readonly robots: Robots;
  readonly purging: Loop;
  readonly #deps: FetchDeps;
  readonly #run: RunDeps;

  constructor(deps: FetchDeps) {
    this.#deps = deps;
    this.machines = new FetchMachines(deps);
    const httpRoutes = new HttpRoutes(deps);
    this.robots = new Robots(deps.clock);
    this.#run = { ...deps, machines: this.machines, httpRoutes, robots: this.robots };
    deps.jobs.describe('fetch', (description, record) => this.#describedWork(description, record));
    this.purging = new Loop('fetch-routes', purgeMs, () => Promise.resolve(httpRoutes.purge()));
  }

  start(): void {
    this.purging.start();
  }

  async stop(): Promise<void> {
    await this.purging.stop();
    this.#run.httpRoutes.close();
  }

  /** @throws ValidationError and ServiceError for what the caller or the operator has to fix; every other failure is in the response. */
  async fetch(principal: Principal, request: FetchRequest, signal: AbortSignal): Promise<FetchResponse> {
    const spec = await createFetchSpec(this.#deps, principal, request);
    const createdAt = this.#deps.clock.now();
    const ticket = await this.#admit(spec, request.timeout_ms);
    return this.#execute({ spec, ticket, createdAt }, { jobId: null, signal, progress: () => undefined, touch: () => Promise.resolve() });
  }

  /** Queues a fetch as a job. Returns the job with the status `pending`. */
  async submit(principal: Principal, request: FetchRequest, signal: AbortSignal): Promise<FetchResponse> {
    const spec = await createFetchSpec(this.#deps, principal, request);
    const opId = newAdmissionId();
    const ticket = await this.#admit(spec, queuedMsMax + request.timeout_ms, opId);
    try {
      const session = await this.#pickSession(spec, signal);
      const record = await this.#deps.jobs.submit({
        owner: spec.owner,
        kind: 'fetch',
        ...session,
        subject: { url: request.url, metadata: request.metadata },
        queuedMsMax,
        runMsMax: request.timeout_ms,
        description: request.session_id === null && !carriesSecrets(request) ? { principal, body: request, opId } : undefined,
        run: async (context) =>
          toJobOutcome(await this.#execute({ spec, ticket, createdAt: record.createdAt }, context).catch(throwAsServiceError)),
        onNeverStarted: () => void ticket.drop(),
      });
      return { ...toUnfinished(record), poll_url: pollPath(record.jobId) };
    } catch (error) {
      await ticket.drop();
      throw error;
    }
  }

  /** @throws ServiceError job_not_found, job_expired */
  async poll(owner: string, jobId: string, options: { waitSeconds: number; signal: AbortSignal }): Promise<FetchResponse> {
    const record = await this.#deps.jobs.get(owner, jobId, { ...options, kind: 'fetch' });
    const { result } = record;
    const response = result ? toFinished(result as FetchResponse) : toUnfinished(record);
    return { ...response, poll_url: pollPath(jobId) };
  }

  /** A fetch that another worker accepted: plan and region are those of now. */
  #describedWork({ principal, body, opId }: JobDescription, { createdAt }: JobRecord): JobWork {
    const request = body as FetchRequest;
    const run = async (context: RunContext): Promise<FetchResponse> => {
      const spec = await createFetchSpec(this.#deps, principal, request);
      return this.#execute({ spec, ticket: await this.#admit(spec, request.timeout_ms, opId), createdAt }, context);
    };
    return { runMsMax: request.timeout_ms, run: async (context) => toJobOutcome(await run(context).catch(throwAsServiceError)) };
  }

  /** Admits what a fetch costs that succeeds at once. @throws ServiceError plan_limit_exceeded, insufficient_credits */
  #admit({ owner, request }: FetchSpec, durationMsMax: number, opId?: string): Promise<Ticket> {
    const ttlMs = durationMsMax + chargeMsMax;
    return this.#deps.metering.admit(owner, { axis: 'action', count: 1 + countSteps(request.actions), ttlMs, opId });
  }

  async #execute({ spec, ticket, createdAt }: Admitted, context: RunContext): Promise<FetchResponse> {
    const outcome = await this.#runAndCharge({ spec, ticket }, async () => {
      const result = await new FetchRun(this.#run, spec, context).run();
      await context.touch();
      return result;
    });
    const { url, metadata } = spec.request;
    const { jobId } = context;
    const finishedAt = this.#deps.clock.now();
    return toFetchResult({ jobId, sessionId: outcome.sessionId, subject: { url, metadata }, createdAt, finishedAt }, outcome);
  }

  async #runAndCharge({ spec, ticket }: Pick<Admitted, 'spec' | 'ticket'>, run: () => Promise<FetchRunResult>): Promise<FetchRunResult> {
    try {
      const outcome = await run();
      const { charge, usage } = outcome;
      if (charge) await charge(ticket, usage.actions);
      else await this.#deps.metering.chargeWithoutRoute(spec, ticket, usage.actions);
      return outcome;
    } catch (error) {
      // Has no effect on a ticket that was charged.
      await ticket.drop();
      throw error;
    }
  }

  /** A job's id begins with the session that will fetch, or with a fresh id when no session is needed. */
  async #pickSession(spec: FetchSpec, signal: AbortSignal): Promise<Pick<JobRequest, 'sessionId' | 'session'>> {
    const { session_id: sessionId, mode, profile } = spec.request;
    if (sessionId !== null) return { sessionId, session: 'known' };
    if (profile !== null) return { sessionId: newId('ses'), session: 'own' };
    if (mode === 'browser') return { sessionId: await this.machines.reserve(spec, signal), session: 'known' };
    return { sessionId: newId('ses'), session: 'none' };
  }
}

/** A request error that only showed when the job ran. */
function throwAsServiceError(error: unknown): never {
  if (error instanceof ValidationError) throw new ServiceError('bad_request', error.message);
  throw error;
}
