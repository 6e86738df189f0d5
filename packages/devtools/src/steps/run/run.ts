/** Runs steps in order: conditions, retries, jumps, loops, and the time limit of the run. */
import type { ForEachStep, IfStep, PlainStep, RepeatStep, Selector, Selectors, Step, StepResult } from '@berth/contract';
import { Deadline } from '@berth/lib/deadline.ts';
import { cutText } from '@berth/lib/text/text.ts';
import type { Page } from '../../browser/browser.ts';
import { perform } from '../acts/acts.ts';
import { type ActScope, StepAttempt, type Root } from './attempt.ts';
import { isMet } from './condition.ts';
import { Dialogs } from './dialogs.ts';
import { isFinal, isOutOfTime, toStepError, toStepFailed } from './failure.ts';
import { Limits } from './limits.ts';
import { canHeal, StepHealing } from '../locators/healing.ts';
import { enterFrames, formatSelectors, locateAll, locateFrom } from '../locators/locate.ts';
import { scripts } from '../scripts.ts';
import { OpenedTabs } from './tabs.ts';
import { fillDeep, fillStep, fillValue, type TemplateValues } from './template.ts';
import { StepError, type StepContext, type StepKey } from '../context.ts';

export interface StepRunOptions {
  steps: readonly Step[];
  /** Whether a failed step ends the run, unless its `on_error` says otherwise. */
  stopOnError: boolean;
  /** Time limit of all steps together. */
  timeoutMs: number;
  /** The caller's limit where `timeoutMs` is what is left of it: messages name this one. */
  statedTimeoutMs?: number;
  allowEvaluate: boolean;
  inputs?: Readonly<Record<string, unknown>>;
  /** Values of `{{secret.name}}`. */
  secrets?: Readonly<Record<string, unknown>>;
  /** Variables at the start. */
  vars?: Readonly<Record<string, unknown>>;
  /** Steps that may start, including all turns of loops. Default: the limit of any run. */
  stepsMax?: number;
  /** Called with each result of the list itself. */
  onResult?: OnResult;
  /** Called with each result of nested steps, before that of the step that they are in. */
  onNestedResult?: OnResult;
}

export type StopReason = 'done' | 'failed' | 'timeout';

/** The element of a loop's turn: the n-th match of the loop's selectors. */
interface LoopElement {
  step: ForEachStep;
  selectors: Selectors;
  index: number;
}

/** `step` is the one of the result, with its templates unresolved. */
export type OnResult = (result: StepResult, step: Step) => void;
type AttemptResult = { output?: unknown; selectorUsed?: Selector | undefined; isSkipped?: boolean; isHealed?: boolean };

const retryDelayMs = 250;
/** A timer may fire slightly before the clock reaches its time. */
const earlyMs = 5;

export class Run {
  readonly #context: StepContext;
  readonly #options: StepRunOptions;
  readonly #deadline: Deadline;
  readonly #limits: Limits;
  readonly #tabs: OpenedTabs;
  readonly #elements = new Map<string, LoopElement>();
  readonly #scope: ActScope;
  readonly vars: Record<string, unknown> = Object.create(null);
  /** Steps that were started. */
  stepsRun = 0;

  constructor(context: StepContext, options: StepRunOptions, signal: AbortSignal) {
    this.#context = context;
    this.#options = options;
    this.#deadline = new Deadline({ signal, timeoutMs: options.timeoutMs, clock: context.clock });
    this.#limits = new Limits(options.stepsMax);
    this.#tabs = new OpenedTabs(context);
    Object.assign(this.vars, options.vars);
    this.#scope = { allowEvaluate: options.allowEvaluate, dialogs: new Dialogs(), headers: new Map() };
  }

  end(): void {
    this.#scope.dialogs.end();
  }

  get #isOver(): boolean {
    return this.#deadline.leftMs <= earlyMs;
  }

  get #values(): TemplateValues {
    const { inputs = {}, secrets = {} } = this.#options;
    return { inputs, vars: this.vars, secret: secrets };
  }

  async list(steps: readonly Step[], onResult: OnResult, turn?: number): Promise<StopReason> {
    for (let index = 0; index < steps.length;) {
      const step = steps[index] as Step;
      const result = await this.#step(step, { index, turn });
      onResult(result, step);
      const next = this.#after(steps, step, { index, result });
      if (typeof next === 'string') return next;
      index = next;
    }
    return 'done';
  }

  /** The index of the next step, or why the list ends. */
  #after(steps: readonly Step[], step: Step, { index, result }: { index: number; result: StepResult }): number | StopReason {
    if (result.error !== undefined && this.#isOver) return 'timeout';
    if (result.status !== 'error') return index + 1;
    const goto = /^goto:(.*)$/.exec(step.on_error)?.[1];
    const target = steps.findIndex(({ id }) => id !== undefined && id === goto);
    if (target >= 0) return this.#limits.countJump() ? target : 'failed';
    return step.on_error === 'continue' || (goto === undefined && !this.#options.stopOnError) ? index + 1 : 'failed';
  }

  async #step(step: Step, { index, turn }: { index: number; turn: number | undefined }): Promise<StepResult> {
    const { clock } = this.#context;
    const startMs = clock.monotonicMs();
    const warnings: string[] = [];
    this.#scope.dialogs.onDialog = ({ type, accepted, message }) => {
      if (warnings.length < 20) warnings.push(`dialog ${accepted ? 'accepted' : 'dismissed'} (${type}): ${cutText(message, 200)}`);
    };
    const { result, failure } = await this.#runAttempts(step, warnings);
    if (result?.isSkipped !== true) this.stepsRun += 1;
    const isSkipped = result?.isSkipped === true || (failure !== null && step.optional && !this.#isOver);
    return {
      index,
      ...(turn === undefined ? {} : { turn }),
      id: step.id ?? null,
      type: step.type,
      status: isSkipped ? 'skipped' : failure ? 'error' : 'ok',
      duration_ms: Math.round(clock.monotonicMs() - startMs),
      ...(result?.output === undefined ? {} : { output: result.output }),
      ...(failure ? { error: toStepError(failure) } : {}),
      ...(result?.selectorUsed === undefined ? {} : { selector_used: result.selectorUsed }),
      ...(result?.isHealed === true ? { healed: true } : {}),
      ...(warnings.length === 0 ? {} : { warnings }),
    };
  }

  async #runAttempts(step: Step, warnings: string[]): Promise<{ result: AttemptResult | null; failure: StepError | null }> {
    let result: AttemptResult | null = null;
    for (let attempts = 0; ; attempts += 1) {
      try {
        result = {};
        await this.#runAttempt(step, result, warnings);
        return { result, failure: null };
      } catch (error) {
        const failure = this.#toFailure(error);
        if (attempts >= step.retries || isFinal(failure) || this.#deadline.leftMs <= retryDelayMs) return { result, failure };
        warnings.push(`attempt ${attempts + 1} failed: ${failure.code}`);
        await this.#delay(retryDelayMs);
      }
    }
  }

  /** Rethrows what is not a failure of the step. */
  #toFailure(error: unknown): StepError {
    if (this.#deadline.signal.aborted) throw this.#deadline.signal.reason;
    if (!(error instanceof StepError)) throw error;
    if (!this.#isOver) return error;
    const { timeoutMs, statedTimeoutMs = timeoutMs } = this.#options;
    const message = `The run exceeded its timeout of ${statedTimeoutMs} ms.`;
    return new StepError('timeout', isOutOfTime(error) ? message : `${message} ${error.message}`, { cause: error });
  }

  async #delay(ms: number): Promise<void> {
    await this.#withAttempt({ timeoutMs: 2 * ms }, (attempt) => attempt.sleep(ms));
  }

  /** Fills `result` as it goes, so that a failure keeps what was done before. */
  async #runAttempt(raw: Step, result: AttemptResult, warnings: string[]): Promise<void> {
    this.#limits.countStep();
    const step = fillStep(raw, this.#values);
    const page = await this.#withAttempt({ timeout_ms: step.timeout_ms, page: this.#tabs.any() }, (attempt) =>
      this.#tabs.find(step.tab, attempt),
    );
    this.#scope.dialogs.watch(page);
    if (step.if && step.type !== 'if' && !(await this.#isMet(step, page, step.if))) {
      result.isSkipped = true;
      return;
    }
    if (step.id !== undefined) this.#tabs.markStarted(step.id, page.tabId);
    if (step.type === 'if') await this.#branch(step, page, result);
    else if (step.type === 'for_each') await this.#forEach(step, page, result);
    else if (step.type === 'repeat') await this.#repeat(step, page, result);
    else await this.#withAttempt({ ...step, page }, (attempt) => this.#perform(attempt, step, { raw, result, warnings }));
    await this.#limits.countOutput(step.type === 'if' || step.type === 'for_each' || step.type === 'repeat' ? undefined : result.output);
    if (step.save_as !== undefined) this.#save(step.save_as, result.output);
  }

  async #perform(
    attempt: StepAttempt,
    step: PlainStep,
    { raw, result, warnings }: { raw: Step; result: AttemptResult; warnings: string[] },
  ) {
    const { memory } = this.#context;
    const healing = memory && canHeal(step) ? new StepHealing(attempt, { memory, key: keyOf(attempt.page, raw), type: step.type }) : null;
    attempt.healing = healing;
    try {
      result.output = await perform(attempt, step, this.#scope);
      result.isHealed = healing?.isHealed === true;
      healing?.succeed();
    } catch (error) {
      if (error instanceof StepError && error.code === 'not_found') healing?.fail();
      throw error;
    } finally {
      result.selectorUsed = attempt.selectorUsed;
      warnings.push(...attempt.warnings);
    }
  }

  /** Runs work in a page, within the time limits of the step and the run. */
  async #withAttempt<T>(
    options: Partial<Step> & { timeoutMs?: number; page?: Page },
    work: (attempt: StepAttempt) => Promise<T>,
  ): Promise<T> {
    const timeoutMs = Math.max(1, Math.min(options.timeoutMs ?? options.timeout_ms ?? Infinity, this.#deadline.leftMs));
    const page = options.page ?? this.#tabs.any();
    const attempt = new StepAttempt({ context: this.#context, page, signal: this.#deadline.signal, timeoutMs });
    attempt.root = () => this.#root(attempt, options);
    try {
      return await work(attempt);
    } catch (error) {
      this.#deadline.signal.throwIfAborted();
      throw toStepFailed(error, attempt) ?? error;
    } finally {
      attempt.end();
    }
  }

  async #root(attempt: StepAttempt, { within, frame }: Pick<Partial<Step>, 'within' | 'frame'>): Promise<Root> {
    const start = within === undefined ? { frameId: attempt.page.mainFrame(), element: null } : await this.#turnElement(attempt, within);
    return frame ? enterFrames(attempt, start, frame) : start;
  }

  async #turnElement(attempt: StepAttempt, name: string): Promise<Root> {
    const loop = this.#elements.get(name);
    if (!loop) throw new StepError('invalid_value', `No enclosing loop defines ${name}.`);
    const root = await this.#root(attempt, loop.step);
    const located = await locateFrom(attempt, root, { selectors: loop.selectors, pick: 'all', max: loop.index + 1 });
    const element = located?.elements[loop.index];
    if (!element) throw new StepError('frame_not_found', `Element ${loop.index} of ${name} no longer exists.`);
    return { frameId: element.frameId, element };
  }

  #isMet(step: Step, page: Page, condition: NonNullable<Step['if']>): Promise<boolean> {
    return this.#withAttempt({ ...step, page }, (attempt) => isMet(attempt, condition));
  }

  async #branch(step: IfStep, page: Page, result: AttemptResult): Promise<void> {
    const branch = (await this.#isMet(step, page, step.if)) ? 'steps' : 'else';
    const steps: StepResult[] = [];
    result.output = { branch: branch === 'else' ? 'else' : 'if', steps };
    await this.#inner(step[branch], steps);
  }

  async #repeat(step: RepeatStep, page: Page, result: AttemptResult): Promise<void> {
    const steps: StepResult[] = [];
    const output = { turns: 0, stop_reason: 'max', steps };
    result.output = output;
    while (output.turns < step.max) {
      await this.#inner(step.steps, steps, output.turns);
      output.turns += 1;
      if (step.until && (await this.#isMet(step, page, fillDeep(step.until, this.#values)))) {
        output.stop_reason = 'until';
        return;
      }
    }
  }

  async #forEach(step: ForEachStep, page: Page, result: AttemptResult): Promise<void> {
    const steps: StepResult[] = [];
    const output = { turns: 0, stop_reason: 'end', steps };
    result.output = output;
    const items = step.over === undefined ? this.#eachElement(step, page, result) : eachItem(fillValue(step.over, this.#values), step.over);
    for await (const item of items) {
      if (output.turns >= step.max) {
        output.stop_reason = 'max';
        break;
      }
      this.vars[step.as] = item;
      await this.#inner(step.steps, steps, output.turns);
      output.turns += 1;
    }
  }

  /** Locates the elements again on every turn, because a turn may add or remove some. */
  async *#eachElement(step: ForEachStep, page: Page, result: AttemptResult): AsyncGenerator<unknown> {
    const before = this.#elements.get(step.as);
    let selectors = step.selectors ?? [];
    try {
      for (let index = 0; ; index += 1) {
        const item = await this.#withAttempt({ ...step, page }, async (attempt) => {
          const located = await locateAll(attempt, selectors, index + 1);
          const element = located.elements[index];
          if (!element) return null;
          selectors = [located.selector];
          result.selectorUsed = located.selector;
          return { index, ...(await attempt.page.call<object>(element.frameId, scripts.readItem, [element], attempt.call())) };
        });
        if (item === null) return;
        this.#elements.set(step.as, { step, selectors, index });
        yield item;
      }
    } finally {
      if (before) this.#elements.set(step.as, before);
      else this.#elements.delete(step.as);
    }
  }

  /** Runs nested steps. The failure that ends them becomes that of the outer step. */
  async #inner(steps: readonly Step[], results: StepResult[], turn?: number): Promise<void> {
    let last: StepResult | undefined;
    const stopped = await this.list(
      steps,
      (result, step) => {
        last = result;
        this.#options.onNestedResult?.(result, step);
        if (result.status === 'error' || this.#limits.shouldReportInner()) results.push(result);
      },
      turn,
    );
    if (stopped === 'done') return;
    const position = turn === undefined ? '' : ` of turn ${turn}`;
    throw new StepError(
      (last?.error?.code ?? 'timeout') as StepError['code'],
      `Step ${last?.index} (${last?.type})${position}: ${last?.error?.message}`,
    );
  }

  #save(name: string, output: unknown): void {
    const value = output ?? null;
    if (!name.endsWith('[]')) {
      this.vars[name] = value;
      return;
    }
    const list = this.vars[name.slice(0, -2)];
    if (!Array.isArray(list)) this.vars[name.slice(0, -2)] = [value];
    else {
      this.#limits.checkList(list);
      list.push(value);
    }
  }
}

/** A step is known by its id or type, and its first selector: ids repeat among the flows of an owner. */
const keyOf = (page: Page, step: Step): StepKey => ({
  site: URL.canParse(page.url()) ? new URL(page.url()).hostname : '',
  step: `${step.id ?? step.type} ${'selectors' in step ? formatSelectors(step.selectors?.slice(0, 1) ?? []) : ''}`,
});

function eachItem(over: unknown, name: string): AsyncIterable<unknown> | Iterable<unknown> {
  if (!Array.isArray(over)) throw new StepError('invalid_value', `${name} is not a list.`);
  return [...over];
}
