/** Inspect: a report on a site, from a browser or from an uploaded HAR, at once or as a job. */
import {
  ServiceError,
  errorsOf,
  inspect,
  type ErrorCode,
  type InspectRequest,
  type InspectResponse,
  type WorkError,
} from '@berth/contract';
import { countSteps } from '@berth/devtools';
import type { Log } from '@berth/lib/log.ts';
import type { Principal } from '../../accounts/principals/principals.ts';
import { carriesSecrets, Engine, type EngineDeps, type MachineSpecDeps, type WorkKind } from '../engine/engine.ts';
import type { JobRecord } from '../jobs/jobs.ts';
import type { CompletedInspection } from './completed.ts';
import { MemoryBudget } from './memory.ts';
import { newSubject, pollPath, toResult, toUnfinished, type InspectSubject } from './reply.ts';
import { Reports } from './reports.ts';
import { InspectRun, reportMs, type InspectOutcome, type InspectRunDeps } from './run.ts';
import { createInspectSpec, sizeOfHar, type InspectSpec } from './spec.ts';

export { ReportLinks, type ReportLinksDeps } from './report-links.ts';
export { inspectionStatuses, type CompletedInspection } from './completed.ts';

export interface InspectDeps extends EngineDeps, MachineSpecDeps, Omit<InspectRunDeps, 'reports' | 'onCompleted'> {
  log: Log;
}

type InspectKind = WorkKind<InspectRequest, InspectSpec, InspectOutcome, InspectResponse>;

export class Inspections {
  readonly #deps: InspectDeps;
  readonly #reports: Reports;
  readonly #engine: Engine<InspectRequest, InspectSpec, InspectOutcome, InspectResponse>;
  readonly #listeners: ((completed: CompletedInspection) => void)[] = [];

  constructor(deps: InspectDeps) {
    this.#deps = deps;
    this.#reports = new Reports(deps);
    const onCompleted = (completed: CompletedInspection): void => {
      for (const listener of this.#listeners) listener(completed);
    };
    this.#engine = new Engine(deps, createKind(deps, { ...deps, reports: this.#reports, onCompleted }));
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
    const record = await this.#engine.runAsJob(principal, request, signal);
    if (record.result) return record.result as InspectResponse;
    if (record.error && isOwnError(record.error.code)) throw toServiceError(record.error.code, record.error);
    return toUnfinished(record);
  }

  /** Queues an inspection as a job. Returns the job with the status `pending`. */
  async submit(principal: Principal, request: InspectRequest, signal: AbortSignal): Promise<InspectResponse> {
    const { record } = await this.#engine.submit(principal, request, signal);
    return { ...toUnfinished(record), poll_url: pollPath(record.jobId) };
  }

  /** The stored report. @throws ServiceError job_not_found, job_expired, report_not_available */
  async report(owner: string, jobId: string, signal: AbortSignal): Promise<InspectResponse> {
    const record = await this.#deps.jobs.get(owner, jobId, { kind: 'inspect', signal });
    const result = record.result as InspectResponse | null;
    if (result === null || result.pages.length === 0) throw noReport(record);
    return result;
  }
}

function createKind(deps: MachineSpecDeps, runDeps: InspectRunDeps): InspectKind {
  const memory = new MemoryBudget();
  return {
    jobKinds: ['inspect'],
    check: (principal, request) => createInspectSpec(deps, principal, request),
    needs: ({ request, machine }) => {
      const { depth, max_pages: pagesMax, actions, url, profile, timeout_ms: timeoutMs } = request;
      return {
        jobKind: 'inspect',
        machine,
        place: profile !== null ? 'session' : url === null ? 'nothing' : 'page',
        actions: (depth === 0 ? 1 : pagesMax) + countSteps(actions),
        subject: newSubject(request),
        hasSecrets: carriesSecrets(request),
        reserveMs: reportMs(timeoutMs),
      };
    },
    hold: ({ machine, request }) => memory.reserve(machine.owner, sizeOfHar(request)),
    begin: (spec, run) => new InspectRun(runDeps, spec, run),
    // Always a job, so it has an id.
    reply: ({ jobId, subject }, _spec, outcome) => toResult({ jobId: jobId ?? '', subject: subject as InspectSubject }, outcome),
  };
}

function noReport({ status }: JobRecord): ServiceError {
  return status === 'pending'
    ? new ServiceError('report_not_available', 'The inspection is still running. Poll its job, and read the report when it has completed.')
    : new ServiceError('report_not_available', 'The inspection has ended without a report; its job has the error. Inspect again.', {
        retryable: false,
      });
}

const toServiceError = (code: ErrorCode, { message, retryable, details }: WorkError): ServiceError =>
  new ServiceError(code, message, { ...(retryable ? { retryAfterSeconds: 1 } : {}), ...(details ? { details } : {}) });

const ownErrors: ReadonlySet<string> = new Set(errorsOf(inspect));
const isOwnError = (code: string): code is ErrorCode => ownErrors.has(code);
