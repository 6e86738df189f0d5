/** Runs one flow: in the caller's session, in a session of its own, or in a page of a machine that the owner's fetches share. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentStep, Block, WorkError, WorkUsage } from '@berth/contract';
import { BrowserClosedError, type Finding } from '@berth/devtools';
import { Digests } from '../../sessions/drive/drive.ts';
import { createHttpClient, type HttpClient } from '@berth/egress';
import type { Place, StartedWork, WorkEnd, WorkRun } from '../engine/engine.ts';
import type { Robots } from '../fetch/fetch.ts';
import type { Inspections } from '../inspect/inspect.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Metering } from '../../accounts/metering/metering.ts';
import type { SelfHeal } from '../selfheal/selfheal.ts';
import type { Machine } from '../../sessions/sessions/sessions.ts';
import type { SkillRun, Skills } from '../skills/skills.ts';
import { FlowRun, redactSecretWords } from '@berth/flows';
import { createTimeoutFailure, toWorkError } from './failure.ts';
import { Navigator } from './navigator.ts';
import type { FlowSpec } from './spec.ts';

export interface WorkDeps {
  selfHeal: SelfHeal;
  metering: Metering;
  skills: Skills;
  inspections: Pick<Inspections, 'report'>;
  clock: Clock;
  allowEvaluate: boolean;
  robots: Robots;
  /** User agent of requests for robots.txt. */
  userAgent: string;
  onFinished(run: FinishedRun): void;
}

/** A run that has ended, for the metrics. */
export interface FinishedRun {
  /** Name of the flow or template. */
  task: string;
  status: WorkEnd;
  ms: number;
}

export interface WorkResult {
  status: 'ok' | 'blocked' | 'error';
  output: unknown;
  error: WorkError | null;
  block: Block | null;
  steps: AgentStep[];
  warnings: string[];
  sessionId: string | null;
  finalUrl: string | null;
  usage: WorkUsage;
  startedAt: Date;
}

const checkMsMax = 2000;

export class FlowWork implements StartedWork<WorkResult> {
  readonly #deps: WorkDeps;
  readonly #spec: FlowSpec;
  readonly #work: WorkRun;
  readonly #memory: SkillRun;
  #run: FlowRun | null = null;
  #navigator: Navigator | null = null;
  #finalUrl: string | null = null;
  #egressBytes = 0;
  #client: HttpClient | null = null;

  constructor(deps: WorkDeps, spec: FlowSpec, work: WorkRun) {
    this.#deps = deps;
    this.#spec = spec;
    this.#work = work;
    const runId = work.jobId ?? work.ownSessionId;
    const redact = (finding: Finding): Promise<Finding> => redactSecretWords(finding, spec.secrets);
    this.#memory = deps.skills.openRun({ owner: spec.machine.owner, task: spec.flow.name, runId, redact });
  }

  /** What ran is charged in any case. */
  get spentActions(): number {
    return this.#run?.actions ?? 0;
  }

  async run(signal: AbortSignal): Promise<WorkResult> {
    const output = await this.#work.inPlace(signal, (place) => this.#runFlow(place), { keep: this.#spec.request.keep_session });
    return this.#toResult({ status: 'ok', output, error: null });
  }

  /** @throws the error itself when nothing has run, or it is a bug */
  fail(error: unknown, isLate: boolean): WorkResult {
    const { request } = this.#spec;
    if (isLate) return this.#toResult({ status: 'error', output: null, error: createTimeoutFailure(request.timeout_ms) });
    if (!this.#run || this.#run.steps.length === 0) throw error;
    if (this.#navigator?.block?.blocked) return this.#toResult({ status: 'blocked', output: null, error: null });
    return this.#toResult({ status: 'error', output: null, error: toWorkError(error, request) });
  }

  async ended(status: WorkEnd): Promise<void> {
    this.#deps.onFinished({ task: this.#spec.flow.name, status, ms: this.#work.budget.spentMs });
    await this.#memory.finish(status === 'ok');
  }

  async #runFlow(place: Place): Promise<unknown> {
    const { page, session, signal, stepContext } = place;
    const { flow, inputs, secrets } = this.#spec;
    if (page) await page.prepare({ blockResources: [], extraHeaders: {}, cookies: [], wholeNetwork: false }, { signal });
    else await session.events.secrets.add(secrets);
    const bytes = (): number => (page ? page.bytes().in + page.bytes().out : session.meter.totals().egress_bytes);
    const run = this.#createRun(place);
    this.#run = run;
    if (!page && Object.keys(secrets).length > 0 && !session.events.secrets.searchesAll) run.warn('secrets_not_searched');
    const before = bytes();
    try {
      return await flow.run(run, inputs);
    } catch (error) {
      if (!signal.aborted && !(error instanceof BrowserClosedError)) await this.#checkPage(run, signal);
      throw error;
    } finally {
      this.#client?.close();
      // CDP reports the last requests one tick after they were answered.
      await sleep(0);
      this.#egressBytes = Math.max(0, bytes() - before);
      const isOpen = stepContext.tabs().some(({ tabId }) => tabId === stepContext.mainTabId);
      this.#finalUrl = isOpen ? run.url() : null;
    }
  }

  #createRun({ sessionId, machine, signal, stepContext }: Place): FlowRun {
    const { clock, selfHeal, metering, allowEvaluate } = this.#deps;
    const { flow, request, secrets, machine: spec } = this.#spec;
    const { type, country, ip } = machine.egress.stats();
    const navigator = new Navigator(
      { selfHeal, clock },
      {
        owner: spec.owner,
        task: flow.name,
        jobId: this.#work.jobId,
        sessionId,
        region: spec.region.code,
        egress: { type: type ?? 'direct', country, ip },
        kind: spec.kind,
        credits: metering.costOf({ actions: 1 }),
      },
    );
    this.#navigator = navigator;
    return new FlowRun({
      context: { ...stepContext, memory: this.#memory },
      navigator,
      budget: this.#work.budget,
      signal,
      stepsMax: request.max_steps,
      allowEvaluate,
      secrets,
      reserve: (actions) => this.#work.reserve(actions),
      touch: () => this.#work.touch(),
      digestOf: (downloadId) => new Digests().of(machine, downloadId, signal),
      robotsRefusal: (url) => this.#askRobots(machine, url, signal),
      readReport: (jobId) => this.#deps.inspections.report(spec.owner, jobId, signal),
      onStep: ({ index, type: step }) => this.#work.progress(index + 1, null, step),
    });
  }

  /** Asks through the egress of the browser, which checks and counts it. */
  #askRobots({ egress }: Machine, url: string, signal: AbortSignal): Promise<string | null> {
    const { robots, userAgent } = this.#deps;
    this.#client ??= createHttpClient(egress, { userAgent });
    return robots.refusal(this.#client, this.#spec.request.session_id ?? this.#spec.machine.key, url, signal);
  }

  /** A step that failed may have met a block page. */
  async #checkPage(run: FlowRun, signal: AbortSignal): Promise<void> {
    if (this.#navigator?.block?.blocked) return;
    await this.#navigator?.check(run.page(), { leftMs: Math.min(checkMsMax, this.#work.budget.leftMs), signal }).catch(() => undefined);
  }

  #toResult(outcome: Pick<WorkResult, 'status' | 'output' | 'error'>): WorkResult {
    return {
      ...outcome,
      block: this.#navigator?.block ?? null,
      steps: this.#run?.steps ?? [],
      warnings: [...(this.#run?.warnings ?? [])],
      sessionId: this.#work.sessionId,
      finalUrl: this.#finalUrl,
      usage: this.#work.usageOf({ actions: this.spentActions, egress_bytes: this.#egressBytes, captcha_solves: 0 }),
      startedAt: this.#work.startedAt,
    };
  }
}
