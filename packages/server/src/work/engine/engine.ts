/**
 * Work that a caller hands over, at once or as a job: checked, admitted, placed,
 * run, charged and replied to. A kind of work says only what is its own.
 */
import { ServiceError, ValidationError, type JobStatus, type WorkError, type WorkUsage } from '@berth/contract';
import { Deadline } from '@berth/lib/deadline.ts';
import { newId } from '@berth/lib/ids.ts';
import { newAdmissionId } from '../../accounts/metering/metering.ts';
import type { Principal } from '../../accounts/principals/principals.ts';
import type { JobContext, JobDescription, JobOutcome, JobRecord, JobRequest, Jobs, JobWork } from '../jobs/jobs.ts';
import { Allowance } from './allowance.ts';
import type { StartedWork, WorkEnd, WorkKind, WorkOutcome, WorkSpec } from './kind.ts';
import { WorkRun, type WorkContext, type WorkNeeds, type WorkRunDeps } from './work-run.ts';

export type { Frame, StartedWork, WorkEnd, WorkKind } from './kind.ts';
export { createMachineSpec, keyOf, type MachineSpec, type MachineSpecDeps } from './machine-spec.ts';
export { carriesSecrets } from './secrets.ts';
export { SharedMachines } from './shared-machines.ts';
export { withPageOf, type Place, type WorkRun } from './work-run.ts';

export interface EngineDeps extends WorkRunDeps {
  jobs: Jobs;
}

/** The request's `timeout_ms` has passed. */
export class DeadlineExceededError extends Error {}

/** How long a job may be queued. */
const queuedMsMax = 10 * 60_000;
/** How long the admission outlives the work's own timeout, until the charge is written. */
const chargeMsMax = 120_000;

/** What every response has. */
type WorkReply = Record<string, unknown> & { status: JobStatus; error: WorkError | null; usage: WorkUsage };

/** Work that metering has admitted. */
interface Admitted<Spec> {
  spec: Spec;
  needs: WorkNeeds;
  opId: string;
  allowance: Allowance;
  /** Gives back what was admitted and was not charged, and what the kind holds. */
  leave: () => Promise<void>;
  hasStarted: boolean;
}

export class Engine<
  Request extends { timeout_ms: number },
  Spec extends WorkSpec<Request>,
  Outcome extends WorkOutcome,
  Reply extends WorkReply,
> {
  readonly #deps: EngineDeps;
  readonly #kind: WorkKind<Request, Spec, Outcome, Reply>;

  constructor(deps: EngineDeps, kind: WorkKind<Request, Spec, Outcome, Reply>) {
    this.#deps = deps;
    this.#kind = kind;
    for (const jobKind of kind.jobKinds) deps.jobs.describe(jobKind, (description, record) => this.#describedWork(description, record));
  }

  /** Runs work while its caller waits. @throws ValidationError and ServiceError for what the caller or the operator has to fix */
  async run(principal: Principal, request: Request, signal: AbortSignal): Promise<Reply> {
    const createdAt = this.#deps.clock.now();
    const admitted = await this.#admit(principal, request);
    return this.#execute(admitted, { jobId: null, createdAt, signal, progress: () => undefined, touch: () => Promise.resolve() });
  }

  /** Queues work as a job. */
  submit(principal: Principal, request: Request, signal: AbortSignal): Promise<{ spec: Spec; record: JobRecord }> {
    return this.#start(principal, request, signal, (job) => this.#deps.jobs.submit(job));
  }

  /** Runs work as a job, so that its result can be read later. A caller who leaves cancels it. */
  async runAsJob(principal: Principal, request: Request, signal: AbortSignal): Promise<JobRecord> {
    const run = (job: JobRequest): Promise<JobRecord> => this.#deps.jobs.run({ ...job, description: undefined, isAwaited: true }, signal);
    return (await this.#start(principal, request, signal, run)).record;
  }

  async #start(
    principal: Principal,
    request: Request,
    signal: AbortSignal,
    start: (job: JobRequest) => Promise<JobRecord>,
  ): Promise<{ spec: Spec; record: JobRecord }> {
    const admitted = await this.#admit(principal, request, { waitMsMax: queuedMsMax });
    const { spec, needs, opId, leave } = admitted;
    const { machine, jobKind: kind, subject, hasSecrets } = needs;
    const canMove = machine.request.session_id === null && !hasSecrets;
    try {
      const job: JobRequest = {
        ...{ owner: machine.owner, kind, ...(await this.#pickSession(needs, signal)), subject },
        ...{ queuedMsMax, runMsMax: request.timeout_ms, description: canMove ? { principal, body: request, opId } : undefined },
        run: (context) => this.#runJob(admitted, context),
        onNeverStarted: () => void leave(),
      };
      return { spec, record: await start(job) };
    } catch (error) {
      // Work that has started does it itself.
      if (!admitted.hasStarted) await leave();
      throw error;
    }
  }

  /** The work of a job that another worker accepted: plan and region are those of now. */
  #describedWork({ principal, body, opId }: JobDescription, { subject }: JobRecord): JobWork {
    const request = body as Request;
    const run = async (context: JobContext): Promise<JobOutcome> => {
      const admitted = await this.#admit(principal, request, { opId }).catch(throwAsServiceError);
      return this.#runJob({ ...admitted, needs: { ...admitted.needs, subject } }, context);
    };
    return { runMsMax: request.timeout_ms, run };
  }

  /** `waitMsMax`: how long it may be queued. @throws what the kind's `check` throws, ServiceError plan_limit_exceeded, insufficient_credits */
  async #admit(principal: Principal, request: Request, { opId = newAdmissionId(), waitMsMax = 0 } = {}): Promise<Admitted<Spec>> {
    const spec = await this.#kind.check(principal, request);
    const needs = this.#kind.needs(spec);
    const release = this.#kind.hold?.(spec);
    const ttlMs = waitMsMax + request.timeout_ms + chargeMsMax;
    const allowance = new Allowance(this.#deps.metering, { owner: needs.machine.owner, ttlMs, opId });
    const leave = (): Promise<void> => {
      release?.();
      return allowance.drop();
    };
    try {
      // Before anything else, so that an owner with an exhausted plan is refused without any effect.
      await allowance.reserve(needs.actions);
    } catch (error) {
      release?.();
      throw error;
    }
    return { spec, needs, opId, allowance, leave, hasStarted: false };
  }

  /** A job's id begins with the session that it runs in, or with a fresh id when it needs none. */
  async #pickSession({ machine, place }: WorkNeeds, signal: AbortSignal): Promise<Pick<JobRequest, 'sessionId' | 'session'>> {
    const { session_id: sessionId } = machine.request;
    if (sessionId !== null) return { sessionId, session: 'known' };
    if (place === 'session') return { sessionId: newId('ses'), session: 'own' };
    if (place === 'nothing') return { sessionId: newId('ses'), session: 'none' };
    return { sessionId: await this.#deps.machines.reserve(machine, signal), session: 'known' };
  }

  async #runJob(admitted: Admitted<Spec>, context: JobContext): Promise<JobOutcome> {
    const reply = await this.#execute(admitted, context).catch(throwAsServiceError);
    const { status, error, usage } = reply;
    return { status: status === 'pending' ? 'error' : status, result: reply, error, usage };
  }

  async #execute(admitted: Admitted<Spec>, context: WorkContext): Promise<Reply> {
    admitted.hasStarted = true;
    const { spec, needs, allowance, leave } = admitted;
    const { jobId, createdAt, signal } = context;
    let work: StartedWork<Outcome> | null = null;
    let end: WorkEnd = 'error';
    try {
      const run = new WorkRun(this.#deps, needs, { context, allowance, timeoutMs: spec.request.timeout_ms });
      work = this.#kind.begin(spec, run);
      const outcome = await this.#runAndCharge(work, run, spec.request.timeout_ms, signal);
      end = outcome.status;
      return await this.#kind.reply({ jobId, subject: needs.subject, createdAt, finishedAt: this.#deps.clock.now() }, spec, outcome);
    } catch (error) {
      if (signal.aborted) end = 'cancelled';
      throw error;
    } finally {
      // Has no effect on what was charged.
      await leave();
      await work?.ended?.(end);
    }
  }

  async #runAndCharge(work: StartedWork<Outcome>, run: WorkRun, timeoutMs: number, callerSignal: AbortSignal): Promise<Outcome> {
    const attempt = ({ signal }: Deadline): Promise<Outcome> =>
      work.run(signal).catch((error: unknown) => {
        callerSignal.throwIfAborted();
        return work.fail(error, signal.aborted);
      });
    try {
      const outcome = await Deadline.run({ signal: callerSignal, timeoutMs, reason: () => new DeadlineExceededError() }, attempt);
      await run.charge(outcome.usage.actions);
      return outcome;
    } catch (error) {
      if (work.spentActions) await run.charge(work.spentActions);
      throw error;
    }
  }
}

/** A request error that only showed when the job ran. */
function throwAsServiceError(error: unknown): never {
  if (error instanceof ValidationError) throw new ServiceError('bad_request', error.message);
  throw error;
}
