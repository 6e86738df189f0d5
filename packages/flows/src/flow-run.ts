/** A run of a flow, as the flow sees it: it runs steps and acts in a page, within one budget of time and steps. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Steps, type AgentStep, type InspectResponse, type StepResult } from '@berth/contract';
import {
  type CallOptions,
  type Json,
  type NavigationRequest,
  type NavigationResult,
  type Page,
  type SiteCookie,
  canChangePage,
  countSteps,
  runSteps,
  StepError,
  type StepContext,
} from '@berth/devtools';
import type { Deadline } from '@berth/lib/deadline.ts';
import { FlowError, toStepFailure } from './failure.ts';
import type { FlowStep } from './flow-step.ts';
import type { Secrets } from './secrets.ts';

/** Navigates for a run: who runs it decides what a block page is, and whether to try again. */
export interface FlowNavigator {
  /** Title of the page after the last navigation. */
  readonly title: string;
  /** @throws StepError `blocked`, NavigationError, PageError */
  navigate(page: Page, request: NavigationRequest, options: { signal: AbortSignal }): Promise<NavigationResult>;
}

export interface FlowRunDeps {
  context: StepContext;
  navigator: FlowNavigator;
  budget: Deadline;
  signal: AbortSignal;
  stepsMax: number;
  allowEvaluate: boolean;
  secrets: Secrets;
  /** Admits the cost of all actions up to this number. @throws ServiceError plan_limit_exceeded, insufficient_credits */
  reserve(actions: number): Promise<void>;
  /** Called before the first step that may change a page. */
  touch(): Promise<void>;
  /** SHA-256 of a completed download, in hex. */
  digestOf(downloadId: string): Promise<string>;
  /** The report of an inspection of the run's owner. @throws ServiceError job_not_found, job_expired, report_not_available */
  readReport(jobId: string): Promise<InspectResponse>;
  /** The reason why the site's robots.txt does not allow a page; null when it does. */
  robotsRefusal(url: string): Promise<string | null>;
  onStep(step: AgentStep, result: StepResult): void;
}

export interface StepsResult {
  results: StepResult[];
  vars: Record<string, unknown>;
}

/** Maximum steps in the reply: as many as `max_steps` allows, which does not count skipped ones and jumps. */
const listedStepsMax = 1000;
/** Maximum result of one page script. */
const readBytesMax = 8 * 1024 * 1024;
const callMsMax = 15_000;
/** Maximum characters that a flow collects from several pages. A job may store 32 MiB. */
export const collectedCharsMax = 24_000_000;
/** Time that another page may take. */
const pageMsMin = 5000;

export class FlowRun {
  readonly steps: AgentStep[] = [];
  readonly warnings = new Set<string>();
  /** Steps that started, also those in loops. */
  actions = 0;
  readonly #deps: FlowRunDeps;
  readonly #context: StepContext;
  #collectedChars = 0;

  constructor(deps: FlowRunDeps) {
    this.#deps = deps;
    this.#context = { ...deps.context, navigate: (page, request, options) => deps.navigator.navigate(page, request, options) };
  }

  get signal(): AbortSignal {
    return this.#deps.signal;
  }

  get secrets(): Secrets {
    return this.#deps.secrets;
  }

  get leftMs(): number {
    return this.#deps.budget.leftMs;
  }

  get stepsLeft(): number {
    return this.#deps.stepsMax - this.actions;
  }

  get content(): StepContext['content'] {
    return this.#context.content;
  }

  get context(): StepContext {
    return this.#context;
  }

  page(): Page {
    return this.#context.page(this.#context.mainTabId);
  }

  /** Called before what may change the site or a page. */
  touch(): Promise<void> {
    return this.#deps.touch();
  }

  digestOf(downloadId: string): Promise<string> {
    return this.#deps.digestOf(downloadId);
  }

  readReport(jobId: string): Promise<InspectResponse> {
    return this.#deps.readReport(jobId);
  }

  robotsRefusal(url: string): Promise<string | null> {
    return this.#deps.robotsRefusal(url);
  }

  url(): string {
    return this.page().url();
  }

  /** Title of the page after the last navigation. */
  title(): string {
    return this.#deps.navigator.title;
  }

  async open(url: string, waitUntil: 'load' | 'domcontentloaded' | 'networkidle' = 'load'): Promise<void> {
    await this.run([{ type: 'navigate', url: '{{inputs.url}}', wait_until: waitUntil }], { url });
  }

  /** Opens a page without a step of its own. @throws StepError `blocked`, NavigationError, PageError */
  navigate(request: NavigationRequest): Promise<NavigationResult> {
    return this.#deps.navigator.navigate(this.page(), request, { signal: this.signal });
  }

  /** Runs steps; `inputs` fill their templates and are never templates themselves. @throws FlowError for a step that failed */
  async run(
    list: readonly FlowStep[],
    inputs: Readonly<Record<string, unknown>> = {},
    vars: Record<string, unknown> = {},
  ): Promise<StepsResult> {
    const { budget, signal, secrets, allowEvaluate } = this.#deps;
    const steps = Steps.parse(list);
    await this.#admit(Math.min(countSteps(steps), this.stepsLeft));
    if (canChangePage(steps)) await this.touch();
    const before = this.actions;
    // Steps are counted as they end, for a browser that is lost in between.
    const onResult = (result: StepResult): void => {
      if (result.status !== 'skipped') this.actions += 1;
      this.#report(result);
    };
    const {
      results,
      vars: saved,
      stopped,
      stepsRun,
    } = await runSteps(
      this.#context,
      {
        steps,
        stopOnError: true,
        timeoutMs: Math.max(1, budget.leftMs),
        statedTimeoutMs: budget.timeoutMs,
        stepsMax: this.stepsLeft,
        allowEvaluate,
        inputs,
        secrets,
        vars,
        onResult,
        onNestedResult: onResult,
      },
      { signal },
    );
    this.actions = before + stepsRun;
    const failed = results.at(-1);
    if (stopped !== 'done' && failed) throw toStepFailure(failed, this.steps.length - 1);
    return { results, vars: saved };
  }

  /** Runs work of the flow itself as one step. @throws FlowError */
  async act<T>(type: string, work: () => Promise<T>): Promise<T> {
    await this.#admit(1);
    const startMs = this.#context.clock.monotonicMs();
    const report = (status: StepResult['status'], error?: StepResult['error']): StepResult => {
      const duration_ms = Math.round(this.#context.clock.monotonicMs() - startMs);
      const result = { index: 0, id: null, type, status, duration_ms, ...(error ? { error } : {}) };
      this.#report(result);
      return result;
    };
    this.actions += 1;
    try {
      const value = await work();
      report('ok');
      return value;
    } catch (error) {
      this.signal.throwIfAborted();
      if (error instanceof FlowError) {
        const { code, message } = error.error;
        report('error', { code, message });
        throw error;
      }
      if (!(error instanceof StepError)) {
        report('error', { code: 'script_failed', message: 'The step failed.' });
        throw error;
      }
      throw toStepFailure(report('error', { code: error.code, message: error.message }), this.steps.length - 1);
    }
  }

  /** Calls a page script in the main frame. @throws PageError */
  call<T>(source: string, args: readonly Json[] = []): Promise<T> {
    const page = this.page();
    return page.call<T>(page.mainFrame(), source, args, this.callOptions());
  }

  callOptions(): CallOptions {
    return { signal: this.signal, timeoutMs: Math.max(1, Math.min(callMsMax, this.leftMs)), maxBytes: readBytesMax };
  }

  /** Cookies of the browser's context, also those that no script reads. */
  cookies(): Promise<SiteCookie[]> {
    return this.#context.cookies({ signal: this.signal, tabId: this.#context.mainTabId });
  }

  async sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.signal }).catch(() => this.signal.throwIfAborted());
  }

  /** Whether the budget has too little left for another page, which takes some steps. A flow then returns what it has. */
  isNearEnd(stepsPerPage: number): boolean {
    const isNear = this.stepsLeft < stepsPerPage || this.leftMs < Math.min(pageMsMin, this.#deps.budget.timeoutMs / 4);
    if (isNear) this.warn('limit_reached');
    return isNear;
  }

  /** Called before texts are kept for the output. False when they would be more than a run may return: the flow then returns what it has. */
  collect(chars: number): boolean {
    this.#collectedChars += chars;
    if (this.#collectedChars <= collectedCharsMax) return true;
    this.warn('limit_reached');
    return false;
  }

  warn(code: string): void {
    this.warnings.add(code);
  }

  async #admit(actions: number): Promise<void> {
    this.signal.throwIfAborted();
    if (this.stepsLeft <= 0)
      throw new FlowError('limit_reached', `The flow needs more than the max_steps of ${this.#deps.stepsMax}. Allow more steps.`);
    await this.#deps.reserve(this.actions + Math.max(1, actions));
  }

  #report(result: StepResult): void {
    const { type, turn, status, duration_ms, error, selector_used, healed = false, warnings = [] } = result;
    // Sentences are about the step alone.
    for (const warning of warnings) if (/^\w+(?::\S*)?$/.test(warning)) this.warn(warning);
    if (this.steps.length >= listedStepsMax) return this.warn('steps_truncated');
    const step = {
      index: this.steps.length,
      type,
      ...(turn === undefined ? {} : { turn }),
      selector_used: selector_used ?? null,
      healed,
      duration_ms,
      status,
      ...(error ? { error } : {}),
    };
    this.steps.push(step);
    this.#deps.onStep(step, result);
  }
}
