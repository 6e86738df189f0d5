/** Steps in a page: what a caller has done there, one after the other, and what came of each. */
import type { Step, StepResult } from '@berth/contract';
import { Run, type StepRun, type Stopped } from './run/run.ts';
import { scripts } from './scripts.ts';
import type { StepWorld } from './context.ts';

export type { StepRun } from './run/run.ts';
export { importRecorder } from './recorder.ts';
export { StepFailed, type StepWorld } from './context.ts';

/** The source of the function that looks for elements in a page's isolated world: see `find` of page-find.ts. */
export const locatorScript: string = scripts.find;

export interface StepsOutcome {
  /** In the order in which they ran; steps in a step are in its `output.steps`. */
  results: StepResult[];
  vars: Record<string, unknown>;
  /** Of the tab the run began in; empty when it is gone. */
  finalUrl: string;
  stopped: Stopped;
  /** Steps that were begun, well or not: those in a step too, on every turn of a loop. Those whose condition did not hold were not. */
  ran: number;
}

/** Those in a step too, each once: how often a loop goes round, nobody can tell beforehand. */
export function countSteps(steps: readonly Step[]): number {
  let count = steps.length;
  for (const step of steps) {
    if ('steps' in step) count += countSteps(step.steps);
    if ('else' in step) count += countSteps(step.else);
  }
  return count;
}

/**
 * Never rejects for what a page does: each failure is in its step's result.
 * @throws BrowserGone, or the signal's reason
 */
export async function runSteps(world: StepWorld, order: StepRun, { signal }: { signal: AbortSignal }): Promise<StepsOutcome> {
  signal.throwIfAborted();
  const results: StepResult[] = [];
  const run = new Run(world, order, signal);
  try {
    const stopped = await run.list(order.steps, (result) => {
      results.push(result);
      order.onResult?.(result);
    });
    return { results, vars: { ...run.vars }, finalUrl: urlOf(world), stopped, ran: run.ran };
  } finally {
    run.end();
  }
}

function urlOf(world: StepWorld): string {
  return world.tabs().some(({ tabId }) => tabId === world.mainTabId) ? world.page(world.mainTabId).url() : '';
}
