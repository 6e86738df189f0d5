/** One inspection: a capture, in a browser or from a HAR, and its report. */
import { sizeOfHar, type InspectSpec } from './spec.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InspectResponse, WorkError, WorkUsage } from '@berth/contract';
import type { PrivatePage, StepContext } from '@berth/devtools';
import type { Content } from '@berth/reading';
import { createStepContext } from '../../sessions/drive/drive.ts';
import { createHttpClient } from '@berth/egress';
import {
  createCooldown,
  createPageStepContext,
  DeadlineExceededError,
  toFetchError,
  withOwnSession,
  type FetchMachines,
  type PageLease,
} from '../fetch/fetch.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import type { Metering, Ticket } from '../../accounts/metering/metering.ts';
import type { SelfHeal } from '../selfheal/selfheal.ts';
import type { Sessions } from '../../sessions/sessions/sessions.ts';
import { SiteCapture, type SiteCaptureResult } from './capture/capture.ts';
import { limits } from './limits.ts';
import { ReportError, type Reports, type ReportSource } from './reports.ts';
import type { Report } from '@berth/site-report';

export interface InspectRunDeps {
  sessions: Sessions;
  machines: FetchMachines;
  selfHeal: SelfHeal;
  content: Content;
  metering: Metering;
  reports: Reports;
  clock: Clock;
  allowEvaluate: boolean;
  /** User agent of requests that no browser sends. */
  userAgent: string;
}

export interface InspectRunContext {
  jobId: string;
  signal: AbortSignal;
  progress(step: number, total: number | null, note: string): void;
  /** Called before what cannot be repeated. */
  touch(): Promise<void>;
}

export interface InspectOutcome extends Pick<InspectResponse, 'status' | 'block' | 'actions' | 'warnings'> {
  /** The report; null where nothing could be captured. */
  report: Report | null;
  sessionId: string | null;
  screenshot: SiteCaptureResult['screenshot'];
  error: WorkError | null;
  usage: WorkUsage;
  startedAt: Date;
  durationMs: number;
  /** Charges the inspection where it ran; null where no browser was used. */
  charge: ((ticket: Ticket, actions: number) => Promise<void>) | null;
}

/** Time kept for the report, which takes seconds for a page with thousands of requests on a busy machine. */
const reportMs = (totalMs: number): number => Math.min(8000, Math.max(totalMs * 0.2, Math.min(4000, totalMs * 0.4)));

export class InspectRun {
  readonly #deps: InspectRunDeps;
  readonly #spec: InspectSpec;
  readonly #context: InspectRunContext;
  readonly #budget: Deadline;
  readonly #startedAt: Date;
  readonly #usage = { pages: 0, steps: 0, bytes: 0 };
  /** Duration of the report; null while none was begun. */
  reportMs: number | null = null;
  #sessionId: string | null = null;
  #charge: InspectOutcome['charge'] = null;
  #egress = { type: 'direct', country: null as string | null, ip: null as string | null };

  constructor(deps: InspectRunDeps, spec: InspectSpec, context: InspectRunContext) {
    this.#deps = deps;
    this.#spec = spec;
    this.#context = context;
    this.#startedAt = deps.clock.now();
    const { timeout_ms: timeoutMs } = spec.request;
    this.#budget = new Deadline({ signal: context.signal, timeoutMs: timeoutMs - reportMs(timeoutMs), clock: deps.clock });
  }

  get durationMs(): number {
    return this.#budget.spentMs;
  }

  /** @throws ServiceError and ValidationError for what the caller or the operator has to fix, and the signal's reason */
  async run(): Promise<InspectOutcome> {
    const { request } = this.#spec;
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new DeadlineExceededError()), request.timeout_ms);
    const signal = AbortSignal.any([this.#context.signal, deadline.signal]);
    try {
      return await (request.url === null ? this.#reportHar(signal) : this.#inspectSite(request.url, signal));
    } catch (error) {
      this.#context.signal.throwIfAborted();
      return this.#toOutcome({ status: 'error', error: this.#toError(error, deadline.signal.aborted) });
    } finally {
      clearTimeout(timer);
    }
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
    this.#context.progress(this.#usage.pages, this.#usage.pages, 'report');
    const report = await this.#report(source, { owner, size: limits.capturedBytesMax, signal });
    const { block, actions, warnings, screenshot } = captured;
    return this.#toOutcome({ status: block?.blocked === true ? 'blocked' : 'ok', report, block, actions, warnings, screenshot });
  }

  async #report(source: ReportSource, call: { owner: string; size: number; signal: AbortSignal }): Promise<Report> {
    const beganMs = this.durationMs;
    try {
      return await this.#deps.reports.create({ source, options: pickOptions(this.#spec.request) }, call);
    } finally {
      this.reportMs = this.durationMs - beganMs;
    }
  }

  async #capture(url: string, signal: AbortSignal): Promise<SiteCaptureResult> {
    try {
      const captured = await this.#withPage(url, signal);
      this.#record({ url: captured.finalUrl, statusCode: captured.statusCode, block: captured.block, reason: null });
      return captured;
    } catch (error) {
      if (!this.#context.signal.aborted && this.#usage.pages > 0)
        this.#record({ url, statusCode: null, block: null, reason: this.#toError(error, signal.aborted).reason ?? null });
      throw error;
    }
  }

  #withPage(url: string, signal: AbortSignal): Promise<SiteCaptureResult> {
    const { sessions, machines, clock, content } = this.#deps;
    const { owner, request, machine: spec } = this.#spec;
    if (request.session_id !== null) return this.#inSession(request.session_id, url, signal);
    if (!request.profile)
      return machines.withPage(spec, signal, (lease) => {
        const stepContext = createPageStepContext(lease.page, { clock, content: content.for(owner) });
        return this.#captureIn(lease, { url, stepContext });
      });
    const { jobId } = this.#context;
    // A job has the id of its session.
    const sessionId = jobId.split('.')[0] ?? '';
    const options = { machine: spec, sessionId, timeoutMs: request.timeout_ms, signal, touch: () => this.#context.touch() };
    return withOwnSession(sessions, options, () => this.#inSession(sessionId, url, signal));
  }

  #inSession(sessionId: string, url: string, signal: AbortSignal): Promise<SiteCaptureResult> {
    const { sessions, clock, content } = this.#deps;
    return sessions.withBrowser(this.#spec.owner, sessionId, { signal }, async (machine, inner, session) => {
      const { tabId } = machine.browser.activeTab();
      const page = machine.browser.borrow(tabId);
      const stepContext = createStepContext({ machine, session, content, clock }, tabId);
      try {
        return await this.#captureIn({ sessionId, page, machine, session, signal: inner }, { url, stepContext });
      } finally {
        await page.close();
      }
    });
  }

  async #captureIn(
    { sessionId, page, machine, session, signal }: Omit<PageLease, 'waitedMs'>,
    { url, stepContext }: { url: string; stepContext: StepContext },
  ): Promise<SiteCaptureResult> {
    const { clock, allowEvaluate, sessions, userAgent } = this.#deps;
    const { progress } = this.#context;
    const touch = (): Promise<void> => this.#context.touch();
    this.#sessionId = sessionId;
    this.#charge = (ticket, actions) => sessions.charge(session, ticket, actions);
    const { type, country, ip } = machine.egress.stats();
    this.#egress = { type: type ?? 'direct', country, ip };
    const client = createHttpClient(machine.egress, { userAgent });
    const request = { ...this.#spec.request, url };
    const budget = this.#budget;
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
          jobId: this.#context.jobId,
          sessionId: this.#sessionId,
          region: machine.region.code,
          egress: this.#egress,
          kind: machine.kind,
          n: 1,
          strategy: 'direct',
          startedAt: this.#startedAt,
          durationMs: this.#budget.spentMs,
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
    const counts = { actions: pages + steps, egress_bytes: bytes, captcha_solves: 0 };
    return { ...counts, credits: this.#deps.metering.costOf(counts) };
  }

  #toOutcome(outcome: Pick<InspectOutcome, 'status'> & Partial<InspectOutcome>): InspectOutcome {
    const error = outcome.error ?? null;
    return {
      report: null,
      block: null,
      actions: [],
      warnings: [],
      screenshot: null,
      sessionId: this.#sessionId,
      usage: this.#toUsage(),
      startedAt: this.#startedAt,
      durationMs: this.#budget.spentMs,
      charge: this.#charge,
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
