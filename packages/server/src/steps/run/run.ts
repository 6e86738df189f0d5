/** Runs steps in their order: conditions, tries, jumps, loops, and the budget of the whole. */
import type { ForEachStep, IfStep, RepeatStep, Selector, Selectors, Step, StepResult } from '@berth/contract';
import type { Page } from '../../browser/browser.ts';
import { perform } from '../acts/acts.ts';
import type { ActScope } from '../acts/act.ts';
import { Attempt, type Root } from './attempt.ts';
import { holds } from './condition.ts';
import { Dialogs } from './dialogs.ts';
import { isFinal, toStepFailed } from './failure.ts';
import { Limits } from './limits.ts';
import { enterFrames, locateAll, locateFrom } from '../locators/locate.ts';
import { scripts } from '../scripts.ts';
import { OpenedTabs } from './tabs.ts';
import { fillDeep, fillStep, fillValue, type TemplateValues } from './template.ts';
import { StepFailed, type StepWorld } from '../context.ts';

export interface StepRun {
  steps: readonly Step[];
  /** Whether a step that fails, and says nothing else, ends the run. */
  stopOnError: boolean;
  /** For all steps together. */
  timeoutMs: number;
  allowEvaluate: boolean;
  inputs?: Readonly<Record<string, unknown>>;
  /** Told of each result as it comes. */
  onResult?: (result: StepResult) => void;
}

export type Stopped = 'done' | 'failed' | 'timeout';

/** The element of a loop's turn: the n-th match of what the loop looks for, wherever the loop looks. */
interface LoopElement {
  step: ForEachStep;
  selectors: Selectors;
  index: number;
}

type Tell = (result: StepResult) => void;
type Outcome = { output?: unknown; selectorUsed?: Selector | undefined; isSkipped?: boolean };

const retryPauseMs = 250;
/** A timer of the last step may end a moment before the clock says so. */
const earlyMs = 5;

export class Run {
  readonly #world: StepWorld;
  readonly #run: StepRun;
  readonly #signal: AbortSignal;
  readonly #endMs: number;
  readonly #limits = new Limits();
  readonly #tabs: OpenedTabs;
  readonly #elements = new Map<string, LoopElement>();
  readonly #scope: ActScope;
  readonly vars: Record<string, unknown> = Object.create(null);
  /** Steps that were begun. */
  ran = 0;

  constructor(world: StepWorld, run: StepRun, signal: AbortSignal) {
    this.#world = world;
    this.#run = run;
    this.#signal = signal;
    this.#endMs = world.clock.monotonicMs() + run.timeoutMs;
    this.#tabs = new OpenedTabs(world);
    this.#scope = { allowEvaluate: run.allowEvaluate, dialogs: new Dialogs(), headers: new Map() };
  }

  end(): void {
    this.#scope.dialogs.end();
  }

  get #remainingMs(): number {
    return this.#endMs - this.#world.clock.monotonicMs();
  }

  get #isOver(): boolean {
    return this.#remainingMs <= earlyMs;
  }

  get #values(): TemplateValues {
    return { inputs: this.#run.inputs ?? {}, vars: this.vars };
  }

  async list(steps: readonly Step[], tell: Tell, turn?: number): Promise<Stopped> {
    for (let index = 0; index < steps.length;) {
      const step = steps[index] as Step;
      const result = await this.#step(step, { index, turn });
      tell(result);
      const next = this.#after(steps, step, { index, result });
      if (typeof next === 'string') return next;
      index = next;
    }
    return 'done';
  }

  /** Which step comes next, or how the list ends. */
  #after(steps: readonly Step[], step: Step, { index, result }: { index: number; result: StepResult }): number | Stopped {
    if (result.error !== undefined && this.#isOver) return 'timeout';
    if (result.status !== 'error') return index + 1;
    const goto = /^goto:(.*)$/.exec(step.on_error)?.[1];
    const target = steps.findIndex(({ id }) => id !== undefined && id === goto);
    if (target >= 0) return this.#limits.countJump() ? target : 'failed';
    return step.on_error === 'continue' || (goto === undefined && !this.#run.stopOnError) ? index + 1 : 'failed';
  }

  async #step(step: Step, { index, turn }: { index: number; turn: number | undefined }): Promise<StepResult> {
    const { clock } = this.#world;
    const startMs = clock.monotonicMs();
    const warnings: string[] = [];
    this.#scope.dialogs.onDialog = ({ type, accepted, message }) => {
      if (warnings.length < 20) warnings.push(`dialog ${accepted ? 'accepted' : 'dismissed'} (${type}): ${message.slice(0, 200)}`);
    };
    const { outcome, failure } = await this.#tries(step, warnings);
    if (outcome?.isSkipped !== true) this.ran += 1;
    const isSkipped = outcome?.isSkipped === true || (failure !== null && step.optional && !this.#isOver);
    return {
      index,
      ...(turn === undefined ? {} : { turn }),
      id: step.id ?? null,
      type: step.type,
      status: isSkipped ? 'skipped' : failure ? 'error' : 'ok',
      duration_ms: Math.round(clock.monotonicMs() - startMs),
      ...(outcome?.output === undefined ? {} : { output: outcome.output }),
      ...(failure ? { error: { code: failure.code, message: failure.message } } : {}),
      ...(outcome?.selectorUsed === undefined ? {} : { selector_used: outcome.selectorUsed }),
      ...(warnings.length === 0 ? {} : { warnings }),
    };
  }

  async #tries(step: Step, warnings: string[]): Promise<{ outcome: Outcome | null; failure: StepFailed | null }> {
    let outcome: Outcome | null = null;
    for (let tries = 0; ; tries += 1) {
      try {
        outcome = {};
        await this.#once(step, outcome, warnings);
        return { outcome, failure: null };
      } catch (error) {
        const failure = this.#judge(error);
        if (tries >= step.retries || isFinal(failure) || this.#remainingMs <= retryPauseMs) return { outcome, failure };
        warnings.push(`try ${tries + 1} failed: ${failure.code}`);
        await this.#pause(retryPauseMs);
      }
    }
  }

  /** What is no matter of the step ends the run as what it is. */
  #judge(error: unknown): StepFailed {
    if (this.#signal.aborted) throw this.#signal.reason;
    if (!(error instanceof StepFailed)) throw error;
    if (!this.#isOver) return error;
    return new StepFailed('timeout', `The ${this.#run.timeoutMs} ms for all steps were over. ${error.message}`, { cause: error });
  }

  async #pause(ms: number): Promise<void> {
    await this.#attempt({ timeoutMs: 2 * ms }, (attempt) => attempt.pause(ms));
  }

  /** Fills in the outcome as it comes to be, so that a failure keeps what there was. */
  async #once(raw: Step, outcome: Outcome, warnings: string[]): Promise<void> {
    this.#limits.countStep();
    const step = fillStep(raw, this.#values);
    const page = await this.#attempt({ timeout_ms: step.timeout_ms, page: this.#tabs.any() }, (attempt) =>
      this.#tabs.find(step.tab, attempt),
    );
    this.#scope.dialogs.watch(page);
    if (step.if && step.type !== 'if' && !(await this.#holds(step, page, step.if))) {
      outcome.isSkipped = true;
      return;
    }
    if (step.id !== undefined) this.#tabs.begin(step.id, page.tabId);
    if (step.type === 'if') await this.#branch(step, page, outcome);
    else if (step.type === 'for_each') await this.#forEach(step, page, outcome);
    else if (step.type === 'repeat') await this.#repeat(step, page, outcome);
    else
      await this.#attempt({ ...step, page }, async (attempt) => {
        try {
          outcome.output = await perform(attempt, step, this.#scope);
        } finally {
          outcome.selectorUsed = attempt.selectorUsed;
          warnings.push(...attempt.warnings);
        }
      });
    this.#limits.countOutput(step.type === 'if' || step.type === 'for_each' || step.type === 'repeat' ? undefined : outcome.output);
    if (step.save_as !== undefined) this.#save(step.save_as, outcome.output);
  }

  /** One try of something in a page, within the step's time and the run's. */
  async #attempt<T>(order: Partial<Step> & { timeoutMs?: number; page?: Page }, work: (attempt: Attempt) => Promise<T>): Promise<T> {
    const timeoutMs = Math.max(1, Math.min(order.timeoutMs ?? order.timeout_ms ?? Infinity, this.#remainingMs));
    const page = order.page ?? this.#tabs.any();
    const attempt = new Attempt({ world: this.#world, page, signal: this.#signal, timeoutMs });
    attempt.root = () => this.#root(attempt, order);
    try {
      return await work(attempt);
    } catch (error) {
      this.#signal.throwIfAborted();
      throw toStepFailed(error, attempt) ?? error;
    } finally {
      attempt.end();
    }
  }

  async #root(attempt: Attempt, { within, frame }: Pick<Partial<Step>, 'within' | 'frame'>): Promise<Root> {
    const start = within === undefined ? { frameId: attempt.page.mainFrame(), element: null } : await this.#turnElement(attempt, within);
    return frame ? enterFrames(attempt, start, frame) : start;
  }

  async #turnElement(attempt: Attempt, name: string): Promise<Root> {
    const loop = this.#elements.get(name);
    if (!loop) throw new StepFailed('invalid_value', `There is no loop over ${name} around this step.`);
    const root = await this.#root(attempt, loop.step);
    const located = await locateFrom(attempt, root, { selectors: loop.selectors, pick: 'all', max: loop.index + 1 });
    const element = located?.elements[loop.index];
    if (!element) throw new StepFailed('frame_not_found', `The element ${loop.index} of ${name} is not there.`);
    return { frameId: element.frameId, element };
  }

  #holds(step: Step, page: Page, condition: NonNullable<Step['if']>): Promise<boolean> {
    return this.#attempt({ ...step, page }, (attempt) => holds(attempt, condition));
  }

  async #branch(step: IfStep, page: Page, outcome: Outcome): Promise<void> {
    const branch = (await this.#holds(step, page, step.if)) ? 'steps' : 'else';
    const steps: StepResult[] = [];
    outcome.output = { branch: branch === 'else' ? 'else' : 'if', steps };
    await this.#inner(step[branch], steps);
  }

  async #repeat(step: RepeatStep, page: Page, outcome: Outcome): Promise<void> {
    const steps: StepResult[] = [];
    const output = { turns: 0, stop_reason: 'max', steps };
    outcome.output = output;
    while (output.turns < step.max) {
      await this.#inner(step.steps, steps, output.turns);
      output.turns += 1;
      if (step.until && (await this.#holds(step, page, fillDeep(step.until, this.#values)))) {
        output.stop_reason = 'until';
        return;
      }
    }
  }

  async #forEach(step: ForEachStep, page: Page, outcome: Outcome): Promise<void> {
    const steps: StepResult[] = [];
    const output = { turns: 0, stop_reason: 'end', steps };
    outcome.output = output;
    const items =
      step.over === undefined ? this.#eachElement(step, page, outcome) : eachItem(fillValue(step.over, this.#values), step.over);
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

  /** Counted anew on every turn: what a turn does may add to them or take them away. */
  async *#eachElement(step: ForEachStep, page: Page, outcome: Outcome): AsyncGenerator<unknown> {
    const before = this.#elements.get(step.as);
    let selectors = step.selectors ?? [];
    try {
      for (let index = 0; ; index += 1) {
        const item = await this.#attempt({ ...step, page }, async (attempt) => {
          const found = await locateAll(attempt, selectors, index + 1);
          const element = found.elements[index];
          if (!element) return null;
          selectors = [found.selector];
          outcome.selectorUsed = found.selector;
          return { index, ...(await attempt.page.call<object>(element.frameId, scripts.tellItem, [element], attempt.call())) };
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

  /** Steps in a step: the first failure that ends them is that of the step around. */
  async #inner(steps: readonly Step[], told: StepResult[], turn?: number): Promise<void> {
    let last: StepResult | undefined;
    const stopped = await this.list(
      steps,
      (result) => {
        last = result;
        if (result.status === 'error' || this.#limits.tellsInner()) told.push(result);
      },
      turn,
    );
    if (stopped === 'done') return;
    const place = turn === undefined ? '' : ` of turn ${turn}`;
    throw new StepFailed(
      (last?.error?.code ?? 'timeout') as StepFailed['code'],
      `Step ${last?.index} (${last?.type})${place}: ${last?.error?.message}`,
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

function eachItem(over: unknown, name: string): AsyncIterable<unknown> | Iterable<unknown> {
  if (!Array.isArray(over)) throw new StepFailed('invalid_value', `${name} is no list.`);
  return [...over];
}
