/** Fetch: a page converted to the requested formats, synchronously or as a job. */
import type { FetchRequest, FetchResponse } from '@berth/contract';
import { countSteps } from '@berth/devtools';
import { Loop } from '@berth/lib/loop.ts';
import type { Principal } from '../../accounts/principals/principals.ts';
import { carriesSecrets, Engine, type EngineDeps, type MachineSpecDeps, type SharedMachines, type WorkKind } from '../engine/engine.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { RunDeps } from './attempt.ts';
import { HttpRoutes, type HttpRoutesDeps } from './plain/http-routes.ts';
import { pollPath, toFetchResult, toFinished, toUnfinished, type FetchSubject } from './reply.ts';
import { Robots } from './robots.ts';
import { FetchRun, reserveMs, type FetchRunResult } from './run.ts';
import { createFetchSpec, type FetchSpec } from './spec.ts';

export { toFetchError } from './errors.ts';
export type { Robots } from './robots.ts';
export { createCooldown } from './own-block.ts';

export interface FetchDeps extends EngineDeps, MachineSpecDeps, Omit<RunDeps, 'httpRoutes' | 'robots'>, HttpRoutesDeps {}

type FetchKind = WorkKind<FetchRequest, FetchSpec, FetchRunResult, FetchResponse>;

const purgeMs = 30_000;

export class Fetches {
  readonly machines: SharedMachines;
  readonly robots: Robots;
  readonly purging: Loop;
  readonly #jobs: Jobs;
  readonly #httpRoutes: HttpRoutes;
  readonly #engine: Engine<FetchRequest, FetchSpec, FetchRunResult, FetchResponse>;

  constructor(deps: FetchDeps) {
    this.machines = deps.machines;
    this.#jobs = deps.jobs;
    const httpRoutes = new HttpRoutes(deps);
    this.#httpRoutes = httpRoutes;
    this.robots = new Robots(deps.clock);
    this.#engine = new Engine(deps, createKind(deps, { ...deps, httpRoutes, robots: this.robots }));
    this.purging = new Loop('fetch-routes', purgeMs, () => Promise.resolve(httpRoutes.purge()));
  }

  start(): void {
    this.purging.start();
  }

  async stop(): Promise<void> {
    await this.purging.stop();
    this.#httpRoutes.close();
  }

  /** @throws ValidationError and ServiceError for what the caller or the operator has to fix; every other failure is in the response. */
  fetch(principal: Principal, request: FetchRequest, signal: AbortSignal): Promise<FetchResponse> {
    return this.#engine.run(principal, request, signal);
  }

  /** Queues a fetch as a job. Returns the job with the status `pending`. */
  async submit(principal: Principal, request: FetchRequest, signal: AbortSignal): Promise<FetchResponse> {
    const { record } = await this.#engine.submit(principal, request, signal);
    return { ...toUnfinished(record), poll_url: pollPath(record.jobId) };
  }

  /** @throws ServiceError job_not_found, job_expired */
  async poll(owner: string, jobId: string, options: { waitSeconds: number; signal: AbortSignal }): Promise<FetchResponse> {
    const record = await this.#jobs.get(owner, jobId, { ...options, kind: 'fetch' });
    const { result } = record;
    const response = result ? toFinished(result as FetchResponse) : toUnfinished(record);
    return { ...response, poll_url: pollPath(jobId) };
  }
}

const createKind = (deps: MachineSpecDeps, runDeps: RunDeps): FetchKind => ({
  jobKinds: ['fetch'],
  check: (principal, request) => createFetchSpec(deps, principal, request),
  needs: (spec) => {
    const { url, metadata, mode, profile, actions, timeout_ms: timeoutMs } = spec.request;
    return {
      jobKind: 'fetch',
      machine: spec,
      place: profile !== null ? 'session' : mode === 'browser' ? 'page' : 'nothing',
      actions: 1 + countSteps(actions),
      subject: { url, metadata } satisfies FetchSubject,
      hasSecrets: carriesSecrets(spec.request),
      reserveMs: reserveMs(timeoutMs),
    };
  },
  begin: (spec, run) => new FetchRun(runDeps, spec, run),
  reply: (frame, _spec, outcome) =>
    toFetchResult({ ...frame, subject: frame.subject as FetchSubject, sessionId: outcome.sessionId }, outcome),
});
