/** One inspection: a capture, in a browser or from a HAR, and its report. */
import { sizeOfHar, type InspectSpec } from './spec.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InspectResponse, WorkError, WorkUsage } from '@berth/contract';
import type { PrivatePage } from '@berth/devtools';
import { createHttpClient } from '@berth/egress';
import type { Clock } from '@berth/lib/clock.ts';
import { withPageOf, type Place, type StartedWork, type WorkEnd, type WorkRun } from '../engine/engine.ts';
import { createCooldown, toFetchError } from '../fetch/fetch.ts';
import type { SelfHeal } from '../selfheal/selfheal.ts';
import { SiteCapture, type SiteCaptureResult } from './capture/capture.ts';
import type { CompletedInspection } from './completed.ts';
import { limits } from './limits.ts';
import { ReportError, type Reports, type ReportSource } from './reports.ts';
import type { Report } from '@berth/site-report';

export interface InspectRunDeps {
  selfHeal: SelfHeal;
  reports: Reports;
  clock: Clock;
  allowEvaluate: boolean;
  /** User agent of requests that no browser sends. */
  userAgent: string;
  onCompleted(completed: CompletedInspection): void;
}

export interface InspectOutcome extends Pick<InspectResponse, 'block' | 'actions' | 'warnings'> {
  status: 'ok' | 'blocked' | 'error';
  /** The report; null where nothing could be captured. */
  report: Report | null;
  sessionId: string | null;
  screenshot: SiteCaptureResult['screenshot'];
  error: WorkError | null;
  usage: WorkUsage;
  startedAt: Date;
  durationMs: number;
}

/** Time kept for the report, which takes seconds for a page with thousands of requests on a busy machine. */
export const reportMs = (totalMs: number): number => Math.min(8000, Math.max(totalMs * 0.2, Math.min(4000, totalMs * 0.4)));

export class InspectRun implements StartedWork<InspectOutcome> {
  readonly #deps: InspectRunDeps;
  readonly #spec: InspectSpec;
  readonly #run: WorkRun;
  readonly #usage = { pages: 0, steps: 0, bytes: 0 };
  /** Duration of the report; null while none was begun. */
  #reportMs: number | null = null;
  #egress = { type: 'direct', country: null as string | null, ip: null as string | null };

  constructor(deps: InspectRunDeps, spec: InspectSpec, run: WorkRun) {
    this.#deps = deps;
    this.#spec = spec;
    this.#run = run;
  }

  /** @throws what `fail` has to say, and the signal's reason */
  run(signal: AbortSignal): Promise<InspectOutcome> {
    const { url } = this.#spec.request;
    return url === null ? this.#reportHar(signal) : this.#inspectSite(url, signal);
  }

  /** @throws ServiceError and ValidationError for what the caller or the operator has to fix */
  fail(error: unknown, isLate: boolean): InspectOutcome {
    return this.#toOutcome({ status: 'error', error: this.#toError(error, isLate) });
  }

  ended(status: WorkEnd): void {
    this.#deps.onCompleted({ status, durationMs: this.#run.budget.spentMs, reportMs: this.#reportMs });
  }

  async #reportHar(signal: AbortSignal): Promise<InspectOutcome> {
    const { owner, request } = this.#spec;
    this.#usage.pages = 1;
    const source = { har: request.har, maxBodyBytes: request.max_body_bytes };
    const report = await this.#report(source, { owner, size: sizeOfHar(request), signal });
    return this.#toOutcome({ status: 'ok', report });
  }

  async #inspectSite(url: string, signal: AbortSignal): Promise<InspectOutcome> {
    const { owner, domain } = this.#spec;
    const { selfHeal, clock } = this.#deps;
    const { cooldown } = await selfHeal.begin(owner, domain, { enabled: ['direct'], ignoreCooldown: false, signal });
    if (cooldown) return this.#toOutcome({ status: 'blocked', block: createCooldown(cooldown, clock.now()) });
    const captured = await this.#capture(url, signal);
    const source = { capture: captured.capture };
    this.#run.progress(this.#usage.pages, this.#usage.pages, 'report');
    const report = await this.#report(source, { owner, size: limits.capturedBytesMax, signal });
    const { block, actions, warnings, screenshot } = captured;
    return this.#toOutcome({ status: block?.blocked === true ? 'blocked' : 'ok', report, block, actions, warnings, screenshot });
  }

  async #report(source: ReportSource, call: { owner: string; size: number; signal: AbortSignal }): Promise<Report> {
    const beganMs = this.#run.budget.spentMs;
    try {
      return await this.#deps.reports.create({ source, options: pickOptions(this.#spec.request) }, call);
    } finally {
      this.#reportMs = this.#run.budget.spentMs - beganMs;
    }
  }

  async #capture(url: string, signal: AbortSignal): Promise<SiteCaptureResult> {
    try {
      const captured = await this.#run.inPlace(signal, (place) => withPageOf(place, (page) => this.#captureIn(place, page, url)));
      this.#record({ url: captured.finalUrl, statusCode: captured.statusCode, block: captured.block, reason: null });
      return captured;
    } catch (error) {
      if (!this.#run.budget.signal.aborted && this.#usage.pages > 0)
        this.#record({ url, statusCode: null, block: null, reason: this.#toError(error, signal.aborted).reason ?? null });
      throw error;
    }
  }

  async #captureIn({ machine, signal, stepContext }: Place, page: PrivatePage, url: string): Promise<SiteCaptureResult> {
    const { clock, allowEvaluate, userAgent } = this.#deps;
    const progress: WorkRun['progress'] = (...report) => this.#run.progress(...report);
    const touch = (): Promise<void> => this.#run.touch();
    const { type, country, ip } = machine.egress.stats();
    this.#egress = { type: type ?? 'direct', country, ip };
    const client = createHttpClient(machine.egress, { userAgent });
    const request = { ...this.#spec.request, url };
    const { budget } = this.#run;
    const capture = new SiteCapture({ request, page, stepContext, client, clock, budget, allowEvaluate, progress, touch }, signal);
    const before = page.bytes();
    try {
      return await capture.run();
    } finally {
      client.close();
      await this.#countUsage(page, before, capture);
    }
  }

  async #countUsage(page: PrivatePage, before: { in: number; out: number }, { usage }: SiteCapture): Promise<void> {
    // CDP reports the last requests one tick after they were answered.
    await sleep(0);
    const after = page.bytes();
    Object.assign(this.#usage, { pages: usage.pages, steps: usage.steps, bytes: after.in - before.in + after.out - before.out });
  }

  #record({
    url,
    statusCode,
    block,
    reason,
  }: {
    url: string;
    statusCode: number | null;
    block: InspectOutcome['block'];
    reason: string | null;
  }): void {
    const { owner, domain, machine } = this.#spec;
    if (domain === '') return;
    const isBlocked = block?.blocked === true;
    const isAnswered = reason === null && (statusCode ?? 0) < 500;
    this.#deps.selfHeal.record({
      attempts: [
        {
          owner,
          domain,
          url,
          task: 'inspect',
          jobId: this.#run.jobId,
          sessionId: this.#run.sessionId,
          region: machine.region.code,
          egress: this.#egress,
          kind: machine.kind,
          n: 1,
          strategy: 'direct',
          startedAt: this.#run.startedAt,
          durationMs: this.#run.budget.spentMs,
          credits: this.#toUsage().credits,
          outcome: isBlocked ? 'blocked' : isAnswered ? 'ok' : 'error',
          reason,
          block: isBlocked ? block : null,
          statusCode,
        },
      ],
    });
  }

  #toError(error: unknown, isLate: boolean): WorkError & { reason?: string | null } {
    if (error instanceof ReportError) return error.error;
    const { request } = this.#spec;
    if (isLate) {
      const message = `The inspection took longer than the timeout_ms of ${request.timeout_ms}. Allow more time.`;
      return { code: 'timeout', message, retryable: true, reason: 'timeout' };
    }
    return toFetchError(error, request);
  }

  /** Each page that was visited, or a HAR, is an action, and each step that ran. */
  #toUsage(): WorkUsage {
    const { pages, steps, bytes } = this.#usage;
    return this.#run.usageOf({ actions: pages + steps, egress_bytes: bytes, captcha_solves: 0 });
  }

  #toOutcome(outcome: Pick<InspectOutcome, 'status'> & Partial<InspectOutcome>): InspectOutcome {
    const error = outcome.error ?? null;
    return {
      report: null,
      block: null,
      actions: [],
      warnings: [],
      screenshot: null,
      sessionId: this.#run.sessionId,
      usage: this.#toUsage(),
      startedAt: this.#run.startedAt,
      durationMs: this.#run.budget.spentMs,
      ...outcome,
      error: error && withoutReason(error),
    };
  }
}

const withoutReason = ({ code, message, retryable, details }: WorkError): WorkError => ({
  code,
  message,
  retryable,
  ...(details ? { details } : {}),
});

const pickOptions = ({ include, capture_bodies }: InspectSpec['request']) => ({ include, capture_bodies });
