/** Runs one flow: in the caller's session, in a session of its own, or in a page of a machine that the owner's fetches share. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentStep, Block, WorkError, WorkUsage } from '@berth/contract';
import { BrowserClosedError, type Finding, type StepContext } from '@berth/devtools';
import type { Content } from '@berth/reading';
import { createStepContext, Digests } from '../../sessions/drive/drive.ts';
import { createHttpClient, type HttpClient } from '@berth/egress';
import { createPageStepContext, DeadlineExceededError, withOwnSession, type FetchMachines, type Robots } from '../fetch/fetch.ts';
import type { Inspections } from '../inspect/inspect.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Metering, Ticket } from '../../accounts/metering/metering.ts';
import type { SelfHeal } from '../selfheal/selfheal.ts';
import type { LiveSession, Machine, Sessions } from '../../sessions/sessions/sessions.ts';
import type { SkillRun, Skills } from '../skills/skills.ts';
import type { Allowance } from './allowance.ts';
import { createTimeoutFailure, toWorkError } from './failure.ts';
import { FlowRun } from './flow-run.ts';
import { Navigator } from './navigator.ts';
import { redactSecretWords } from './secrets.ts';
import { needsOwnSession, type FlowSpec } from './spec.ts';

export interface WorkDeps {
  sessions: Sessions;
  machines: FetchMachines;
  selfHeal: SelfHeal;
  content: Content;
  metering: Metering;
  skills: Skills;
  inspections: Pick<Inspections, 'report'>;
  clock: Clock;
  allowEvaluate: boolean;
  robots: Robots;
  /** User agent of requests for robots.txt. */
  userAgent: string;
}

export interface WorkContext {
  jobId: string | null;
  /** The id of a session of its own. */
  newSessionId: string;
  signal: AbortSignal;
  progress(step: number, total: number | null, note: string): void;
  /** Called before what cannot be repeated. */
  touch(): Promise<void>;
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

/** Where a flow runs. */
interface RunTarget {
  sessionId: string;
  machine: Machine;
  session: LiveSession;
  signal: AbortSignal;
  stepContext: StepContext;
  bytes(): number;
}

const checkMsMax = 2000;

export class FlowWork {
  readonly #deps: WorkDeps;
  readonly #spec: FlowSpec;
  readonly #context: WorkContext;
  readonly #allowance: Allowance;
  readonly #budget: Deadline;
  readonly #startedAt: Date;
  #run: FlowRun | null = null;
  #navigator: Navigator | null = null;
  #sessionId: string | null = null;
  #finalUrl: string | null = null;
  readonly #memory: SkillRun;
  #egressBytes = 0;
  #client: HttpClient | null = null;
  #charge: ((ticket: Ticket, count: number) => Promise<void>) | null = null;

  constructor(deps: WorkDeps, spec: FlowSpec, { context, allowance }: { context: WorkContext; allowance: Allowance }) {
    this.#deps = deps;
    this.#spec = spec;
    this.#context = context;
    this.#allowance = allowance;
    this.#startedAt = deps.clock.now();
    const runId = context.jobId ?? context.newSessionId;
    const redact = (finding: Finding): Promise<Finding> => redactSecretWords(finding, spec.secrets);
    this.#memory = deps.skills.openRun({ owner: spec.machine.owner, task: spec.flow.name, runId, redact });
    this.#budget = new Deadline({ signal: context.signal, timeoutMs: spec.request.timeout_ms, clock: deps.clock });
  }

  /** @throws ServiceError when nothing has run, and the signal's reason. What ran is charged in any case. */
  async execute(): Promise<WorkResult> {
    const { request } = this.#spec;
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new DeadlineExceededError()), request.timeout_ms);
    const signal = AbortSignal.any([this.#context.signal, deadline.signal]);
    let isDone = false;
    try {
      const output = await this.#inTarget(signal, (target) => this.#runFlow(target));
      isDone = true;
      return this.#toResult({ status: 'ok', output, error: null });
    } catch (error) {
      this.#context.signal.throwIfAborted();
      if (deadline.signal.aborted)
        return this.#toResult({ status: 'error', output: null, error: createTimeoutFailure(request.timeout_ms) });
      if (!this.#run || this.#run.steps.length === 0) throw error;
      if (this.#navigator?.block?.blocked) return this.#toResult({ status: 'blocked', output: null, error: null });
      return this.#toResult({ status: 'error', output: null, error: toWorkError(error, request) });
    } finally {
      clearTimeout(timer);
      await this.#memory.finish(isDone);
      await this.#chargeActions();
    }
  }

  /** Charges the actions that ran; a run that another worker has by now is charged there. */
  async #chargeActions(): Promise<void> {
    try {
      if (!this.#charge) return;
      await this.#context.touch();
      await this.#allowance.charge(this.#run?.actions ?? 0, this.#charge);
    } finally {
      // Has no effect on what was charged.
      await this.#allowance.drop();
    }
  }

  #inTarget<T>(signal: AbortSignal, work: (target: RunTarget) => Promise<T>): Promise<T> {
    const { request } = this.#spec;
    if (request.session_id !== null) return this.#inSession(request.session_id, signal, work);
    if (needsOwnSession(this.#spec)) return this.#inOwnSession(signal, work);
    return this.#inSharedMachine(signal, work);
  }

  #inSession<T>(sessionId: string, callerSignal: AbortSignal, work: (target: RunTarget) => Promise<T>): Promise<T> {
    const { sessions } = this.#deps;
    return sessions.withBrowser(this.#spec.machine.owner, sessionId, { signal: callerSignal }, (machine, signal, session) => {
      const { tabId } = machine.browser.activeTab();
      session.events.secrets.add(this.#spec.secrets);
      const stepContext = createStepContext({ ...this.#deps, machine, session }, tabId);
      const bytes = (): number => session.meter.totals().egress_bytes;
      return work({ sessionId, machine, session, signal, stepContext, bytes });
    });
  }

  #inOwnSession<T>(signal: AbortSignal, work: (target: RunTarget) => Promise<T>): Promise<T> {
    const { machine, request } = this.#spec;
    // The id that a second run would give it.
    const { newSessionId: sessionId } = this.#context;
    const { timeout_ms: timeoutMs, keep_session: keep } = request;
    const options = { machine, sessionId, timeoutMs, keep, signal, touch: () => this.#context.touch() };
    return withOwnSession(this.#deps.sessions, options, () => this.#inSession(sessionId, signal, work));
  }

  #inSharedMachine<T>(signal: AbortSignal, work: (target: RunTarget) => Promise<T>): Promise<T> {
    const { content, clock, machines } = this.#deps;
    return machines.withPage(this.#spec.machine, signal, async (lease) => {
      const stepContext = createPageStepContext(lease.page, { content: content.for(this.#spec.machine.owner), clock });
      const bytes = (): number => {
        const { in: received, out: sent } = lease.page.bytes();
        return received + sent;
      };
      const settings = { blockResources: [], extraHeaders: {}, cookies: [], wholeNetwork: false };
      await lease.page.prepare(settings, { signal: lease.signal });
      return work({ ...lease, stepContext, bytes });
    });
  }

  async #runFlow(target: RunTarget): Promise<unknown> {
    const { sessionId, session, signal, stepContext, bytes } = target;
    const { flow, inputs } = this.#spec;
    this.#sessionId = sessionId;
    this.#charge = (ticket, count) => this.#deps.sessions.charge(session, ticket, count);
    const run = this.#createRun(target);
    this.#run = run;
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

  #createRun({ sessionId, machine, signal, stepContext }: RunTarget): FlowRun {
    const { clock, selfHeal, metering, allowEvaluate } = this.#deps;
    const { flow, request, secrets, machine: spec } = this.#spec;
    const { type, country, ip } = machine.egress.stats();
    const navigator = new Navigator(
      { selfHeal, clock },
      {
        owner: spec.owner,
        task: flow.name,
        jobId: this.#context.jobId,
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
      budget: this.#budget,
      signal,
      stepsMax: request.max_steps,
      allowEvaluate,
      secrets,
      reserve: (actions) => this.#allowance.reserve(actions),
      touch: () => this.#context.touch(),
      digestOf: (downloadId) => new Digests().of(machine, downloadId, signal),
      robotsRefusal: (url) => this.#askRobots(machine, url, signal),
      readReport: (jobId) => this.#deps.inspections.report(spec.owner, jobId, signal),
      onStep: ({ index, type: step }) => this.#context.progress(index + 1, null, step),
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
    await this.#navigator?.check(run.page(), { leftMs: Math.min(checkMsMax, this.#budget.leftMs), signal }).catch(() => undefined);
  }

  #toResult(outcome: Pick<WorkResult, 'status' | 'output' | 'error'>): WorkResult {
    const actions = this.#run?.actions ?? 0;
    const counts = { actions, egress_bytes: this.#egressBytes, captcha_solves: 0 };
    return {
      ...outcome,
      block: this.#navigator?.block ?? null,
      steps: this.#run?.steps ?? [],
      warnings: [...(this.#run?.warnings ?? [])],
      sessionId: this.#sessionId,
      finalUrl: this.#finalUrl,
      usage: { ...counts, credits: this.#deps.metering.costOf(counts) },
      startedAt: this.#startedAt,
    };
  }
}
