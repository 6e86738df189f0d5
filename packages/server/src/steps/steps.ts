/** Runs a caller's steps in a page, one after the other, with a result for each. */
import type { Step, StepResult } from '@berth/contract';
import { Run, type StepRunOptions, type StopReason } from './run/run.ts';
import type { StepContext } from './context.ts';

export type { StepRunOptions } from './run/run.ts';
export { importRecorder } from './recorder.ts';
export { StepFailed, type StepContext } from './context.ts';

export interface StepRunResult {
  /** In the order of execution. Results of nested steps are in `output.steps`. */
  results: StepResult[];
  vars: Record<string, unknown>;
  /** Of the main tab; empty when it is closed. */
  finalUrl: string;
  stopped: StopReason;
  /** Started steps, including nested ones on every turn of a loop, without those skipped by their condition. */
  stepsRun: number;
}

/** The number of steps, including nested ones, each once: the number of turns of a loop is unknown. */
export function countSteps(steps: readonly Step[]): number {
  let count = steps.length;
  for (const step of steps) {
    if ('steps' in step) count += countSteps(step.steps);
    if ('else' in step) count += countSteps(step.else);
  }
  return count;
}

/**
 * Runs the steps. Failures in the page are in the results of their steps.
 * @throws BrowserClosed, or the signal's reason
 */
export async function runSteps(context: StepContext, options: StepRunOptions, { signal }: { signal: AbortSignal }): Promise<StepRunResult> {
  signal.throwIfAborted();
  const results: StepResult[] = [];
  const run = new Run(context, options, signal);
  try {
    const stopped = await run.list(options.steps, (result, step) => {
      results.push(result);
      options.onResult?.(result, step);
    });
    return { results, vars: { ...run.vars }, finalUrl: urlOf(context), stopped, stepsRun: run.stepsRun };
  } finally {
    run.end();
  }
}

function urlOf(context: StepContext): string {
  return context.tabs().some(({ tabId }) => tabId === context.mainTabId) ? context.page(context.mainTabId).url() : '';
}
