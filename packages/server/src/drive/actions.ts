import type { RunActionsRequest, Step, StepResult } from '@berth/contract';
import type { LiveSession } from '../sessions/sessions.ts';
import { importRecorder, runSteps } from '../steps/steps.ts';
import { tabIdOf, worldOf, type WorldParts } from './world.ts';

export interface ActionsDone {
  results: StepResult[];
  vars: Record<string, unknown>;
  finalUrl: string;
  tabId: string;
  durationMs: number;
  /** Steps that were begun. */
  ran: number;
}

export type ActionsOrder = Omit<RunActionsRequest, 'actions' | 'recording'> & { steps: readonly Step[] };

/** @throws ValidationError for a recording that is none */
export const toOrder = ({ actions, recording, ...request }: RunActionsRequest): ActionsOrder => ({
  ...request,
  steps: actions ?? importRecorder(recording, ['body', 'recording']),
});

/** @throws TabNotFound, BrowserGone */
export async function runActions(
  parts: WorldParts & { allowEvaluate: boolean },
  request: ActionsOrder,
  signal: AbortSignal,
): Promise<ActionsDone> {
  const { machine, session, clock, allowEvaluate } = parts;
  const tabId = tabIdOf(machine.browser, request.tab_id);
  // Throws where there is no such tab, before anything is done.
  machine.browser.page(tabId);
  const startMs = clock.monotonicMs();
  const order = {
    steps: request.steps,
    stopOnError: request.stop_on_error,
    timeoutMs: request.timeout_ms,
    allowEvaluate,
    inputs: request.inputs,
    onResult: (result: StepResult): void => tellStep(session, tabId, result),
  };
  const { results, vars, finalUrl, ran } = await runSteps(worldOf(parts, tabId), order, { signal });
  return { results, vars, finalUrl, ran, tabId, durationMs: Math.round(clock.monotonicMs() - startMs) };
}

/** Without its output, which may be a picture or a secret. */
function tellStep(session: LiveSession, tabId: string, { index, id, type, status, duration_ms, error }: StepResult): void {
  session.events.tell('actions.step', { tab_id: tabId, index, id, step: type, status, duration_ms, error: error?.code ?? null });
}
