/** Inspect: a report on a site, from a browser or from an uploaded HAR, at once or as a job. */
import {
  ServiceError,
  ValidationError,
  errorsOf,
  inspect,
  type ErrorCode,
  type InspectRequest,
  type InspectResponse,
  type WorkError,
} from '@berth/contract';
import { carriesSecrets, type FetchSpecDeps } from '../fetch/fetch.ts';
import type { Principal } from '../../accounts/principals/principals.ts';
import type { JobContext, JobDescription, JobOutcome, JobRecord, JobRequest, Jobs, JobWork } from '../jobs/jobs.ts';
import { newId } from '@berth/lib/ids.ts';
import type { Log } from '@berth/lib/log.ts';
import { newAdmissionId, type Ticket } from '../../accounts/metering/metering.ts';
import { countSteps } from '@berth/devtools';
import type { CompletedInspection } from './completed.ts';
import { MemoryBudget } from './memory.ts';
import { pollPath, toJobOutcome, toResult, toUnfinished, type InspectSubject } from './reply.ts';
import { Reports } from './reports.ts';
import { InspectRun, type InspectOutcome, type InspectRunDeps } from './run.ts';
import { createInspectSpec, sizeOfHar, type InspectSpec } from './spec.ts';

export { ReportLinks, type ReportLinksDeps } from './report-links.ts';
export { inspectionStatuses, type CompletedInspection } from './completed.ts';

export interface InspectDeps extends FetchSpecDeps, Omit<InspectRunDeps, 'reports'> {
  jobs: Jobs;
  log: Log;
}

/** Maximum time that a job may be queued. */
const queuedMsMax = 10 * 60_000;
/** Time by which the admission outlives the inspection's own timeout, until the charge is written. */
const chargeMsMax = 120_000;

/** An inspection that metering has admitted, with its share of the memory. */
interface Admitted {
  spec: InspectSpec;
  opId: string;
  ticket: Ticket;
  release: () => void;
  hasStarted: boolean;
}

export class Inspections {
  readonly #deps: InspectDeps;
  readonly #reports: Reports;
  readonly #memory = new MemoryBudget();
  readonly #listeners: ((completed: CompletedInspection) => void)[] = [];

  constructor(deps: InspectDeps) {
    this.#deps = deps;
    this.#reports = new Reports(deps);
    deps.jobs.describe('inspect', (description, record) => this.#describedWork(description, record));
  }

  /** Registers a listener for the end of each inspection that ran, whatever its end. */
  onCompleted(listener: (completed: CompletedInspection) => void): void {
    this.#listeners.push(listener);
  }

  close(): Promise<void> {
    return this.#reports.close();
  }

  /**
   * Every inspection is a job, so that its report can be read later. A caller who leaves cancels it.
   * @throws ValidationError and ServiceError for what the caller or the operator has to fix; every other failure is in the response
   */
  async inspect(principal: Principal, request: InspectRequest, signal: AbortSignal): Promise<InspectResponse> {
    const start = (job: JobRequest): Promise<JobRecord> => this.#deps.jobs.run({ ...job, description: undefined, isAwaited: true }, signal);
    const record = await this.#submit(principal, request, start, signal);
    if (record.result) return record.result as InspectResponse;
    if (record.error && isOwnError(record.error.code)) throw toServiceError(record.error.code, record.error);
    return toUnfinished(record);
  }

  /** Queues an inspection as a job. Returns the job with the status `pending`. */
  async submit(principal: Principal, request: InspectRequest, signal: AbortSignal): Promise<InspectResponse> {
    const record = await this.#submit(principal, request, (job) => this.#deps.jobs.submit(job), signal);
    return { ...toUnfinished(record), poll_url: pollPath(record.jobId) };
  }

  /** The stored report. @throws ServiceError job_not_found, job_expired, report_not_available */
  async report(owner: string, jobId: string, signal: AbortSignal): Promise<InspectResponse> {
    const record = await this.#deps.jobs.get(owner, jobId, { kind: 'inspect', signal });
    const result = record.result as InspectResponse | null;
    if (result === null || result.pages.length === 0) throw noReport(record);
    return result;
  }

  async #submit(
    principal: Principal,
    request: InspectRequest,
    start: (job: JobRequest) => Promise<JobRecord>,
    signal: AbortSignal,
  ): Promise<JobRecord> {
    const spec = await createInspectSpec(this.#deps, principal, request);
    const release = this.#memory.reserve(spec.owner, sizeOfHar(request));
    const opId = newAdmissionId();
    let admitted: Admitted | null = null;
    try {
      admitted = { spec, opId, ticket: await this.#admit(spec, opId), release, hasStarted: false };
      return await start(await this.#toJob(admitted, signal));
    } catch (error) {
      // A job that has started does it itself.
      if (!admitted?.hasStarted) {
        await admitted?.ticket.drop();
        release();
      }
      throw error;
    }
  }

  async #toJob(admitted: Admitted, signal: AbortSignal): Promise<JobRequest> {
    const { spec, opId, ticket, release } = admitted;
    const { metadata, timeout_ms: runMsMax, session_id: given } = spec.request;
    const canMove = given === null && !carriesSecrets(spec.request);
    const subject: InspectSubject = { inspect_id: newId('ins'), metadata };
    return {
      owner: spec.owner,
      kind: 'inspect',
      ...(await this.#pickSession(spec, signal)),
      subject,
      queuedMsMax,
      runMsMax,
      description: canMove ? { principal: spec.machine.principal, body: spec.request, opId } : undefined,
      run: (context) => this.#run(admitted, { context, subject }),
      onNeverStarted: () => {
        release();
        void ticket.drop();
      },
    };
  }

  async #run(admitted: Admitted, { context, subject }: { context: JobContext; subject: InspectSubject }): Promise<JobOutcome> {
    return toJobOutcome(toResult({ jobId: context.jobId, subject }, await this.#execute(admitted, context).catch(throwAsServiceError)));
  }

  /** An inspection that another worker accepted: plan and region are those of now. */
  #describedWork({ principal, body, opId }: JobDescription, record: JobRecord): JobWork {
    const request = body as InspectRequest;
    const subject = record.subject as InspectSubject;
    const run = async (context: JobContext): Promise<JobOutcome> => {
      const spec = await createInspectSpec(this.#deps, principal, request).catch(throwAsServiceError);
      const release = this.#memory.reserve(spec.owner, sizeOfHar(request));
      const ticket = await this.#admit(spec, opId).catch((error: unknown) => {
        release();
        throw error;
      });
      return this.#run({ spec, opId, ticket, release, hasStarted: true }, { context, subject });
    };
    return { runMsMax: request.timeout_ms, run };
  }

  /** Admits what an inspection costs that succeeds at once. @throws ServiceError plan_limit_exceeded, insufficient_credits */
  #admit({ owner, request }: InspectSpec, opId: string): Promise<Ticket> {
    const { depth, max_pages: pagesMax, actions, timeout_ms: timeoutMs } = request;
    const pages = depth === 0 ? 1 : pagesMax;
    const ttlMs = queuedMsMax + timeoutMs + chargeMsMax;
    return this.#deps.metering.admit(owner, { axis: 'action', count: pages + countSteps(actions), ttlMs, opId });
  }

  async #execute(admitted: Admitted, context: JobContext): Promise<InspectOutcome> {
    const { spec, ticket, release } = admitted;
    admitted.hasStarted = true;
    const run = new InspectRun({ ...this.#deps, reports: this.#reports }, spec, context);
    let status: CompletedInspection['status'] = 'error';
    try {
      const outcome = await run.run();
      const { charge, usage } = outcome;
      status = outcome.status === 'pending' ? 'error' : outcome.status;
      await context.touch();
      if (charge) await charge(ticket, usage.actions);
      else await this.#deps.metering.chargeWithoutRoute(spec.machine, ticket, usage.actions);
      return outcome;
    } catch (error) {
      // Has no effect on a ticket that was charged.
      await ticket.drop();
      throw error;
    } finally {
      release();
      const completed = {
        status: context.signal.aborted ? 'cancelled' : status,
        durationMs: run.durationMs,
        reportMs: run.reportMs,
      } as const;
      for (const listener of this.#listeners) listener(completed);
    }
  }

  /** A job's id begins with the session that will load the site, or with a fresh id when no session is needed. */
  async #pickSession({ request, machine }: InspectSpec, signal: AbortSignal): Promise<Pick<JobRequest, 'sessionId' | 'session'>> {
    if (request.session_id !== null) return { sessionId: request.session_id, session: 'known' };
    if (request.profile !== null) return { sessionId: newId('ses'), session: 'own' };
    if (request.url === null) return { sessionId: newId('ses'), session: 'none' };
    return { sessionId: await this.#deps.machines.reserve(machine, signal), session: 'known' };
  }
}

function noReport({ status }: JobRecord): ServiceError {
  return status === 'pending'
    ? new ServiceError('report_not_available', 'The inspection is still running. Poll its job, and read the report when it has completed.')
    : new ServiceError('report_not_available', 'The inspection has ended without a report; its job has the error. Inspect again.', {
        retryable: false,
      });
}

/** A request error that only showed when the job ran. */
function throwAsServiceError(error: unknown): never {
  if (error instanceof ValidationError) throw new ServiceError('bad_request', error.message);
  throw error;
}

const toServiceError = (code: ErrorCode, { message, retryable, details }: WorkError): ServiceError =>
  new ServiceError(code, message, { ...(retryable ? { retryAfterSeconds: 1 } : {}), ...(details ? { details } : {}) });

const ownErrors: ReadonlySet<string> = new Set(errorsOf(inspect));
const isOwnError = (code: string): code is ErrorCode => ownErrors.has(code);
