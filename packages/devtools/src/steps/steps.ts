/** Runs a caller's steps in a page, one after the other, with a result for each. */
import type { Step, StepResult } from '@berth/contract';
import { Run, type StepRunOptions, type StopReason } from './run/run.ts';
import type { StepContext } from './context.ts';

export type { StepRunOptions } from './run/run.ts';
export { toPrintOptions } from './acts/capture.ts';
export { toSnapshotResult } from './acts/snapshot.ts';
export { customStepName, importRecorder, type ImportedRecording } from './recorder.ts';
export { StepError, type Finding, type KnownElement, type StepContext, type StepMemory, type StepKey } from './context.ts';

export interface StepRunResult {
  /** Results in the order of execution. Those of nested steps are in `output.steps`. */
  results: StepResult[];
  vars: Record<string, unknown>;
  /** URL of the main tab; empty when it is closed. */
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

/** Steps that only load and read, and settings of the page's browser: running them again changes nothing on a site. */
const readingSteps: ReadonlySet<Step['type']> = new Set<Step['type']>([
  ...([
    'navigate',
    'back',
    'forward',
    'reload',
    'scroll',
    'wait',
    'extract',
    'snapshot',
    'screenshot',
    'pdf',
    'html',
    'markdown',
    'links',
  ] as const),
  ...(['dialog', 'set_cookie', 'set_header', 'set_viewport', 'assert', 'if', 'for_each', 'repeat'] as const),
]);

/** Whether one of them, or of those in them, acts in a page: clicks, types, runs the caller's script. */
export const canChangePage = (steps: readonly Step[]): boolean =>
  steps.some(
    (step) =>
      !readingSteps.has(step.type) || ('steps' in step && canChangePage(step.steps)) || ('else' in step && canChangePage(step.else)),
  );

/**
 * Runs the steps. Failures in the page are in the results of their steps.
 * @throws BrowserClosedError, or the signal's reason
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
