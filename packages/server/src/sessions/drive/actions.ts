import type { RunActionsRequest, Step, StepResult } from '@berth/contract';
import type { LiveSession } from '../sessions/sessions.ts';
import { importRecorder, runSteps, type ImportedRecording } from '@berth/devtools';
import { redactUrl } from '@berth/lib/secrets/redact/redact.ts';
import { cutText } from '@berth/lib/text/text.ts';
import { tabIdOf, createStepContext, type StepContextDeps } from './step-context.ts';

const targetCharsMax = 200;

export interface ActionsResult {
  results: StepResult[];
  vars: Record<string, unknown>;
  finalUrl: string;
  tabId: string;
  durationMs: number;
  /** Steps that started. */
  ran: number;
  /** What was not done of a recording. */
  warnings: string[];
}

export type ActionsOptions = Omit<RunActionsRequest, 'actions' | 'recording'> & ImportedRecording;

/** @throws ValidationError for an invalid recording */
export const toActionsOptions = ({ actions, recording, ...request }: RunActionsRequest): ActionsOptions => ({
  ...request,
  ...(actions ? { steps: actions, warnings: [] } : importRecorder(recording, ['body', 'recording'])),
});

/** @throws TabNotFoundError, BrowserClosedError */
export async function runActions(
  deps: StepContextDeps & { allowEvaluate: boolean },
  request: ActionsOptions,
  signal: AbortSignal,
): Promise<ActionsResult> {
  const { machine, session, clock, allowEvaluate } = deps;
  const tabId = tabIdOf(machine.browser, request.tab_id);
  // Throws TabNotFoundError before any step runs.
  machine.browser.page(tabId);
  const startMs = clock.monotonicMs();
  const options = {
    steps: request.steps,
    stopOnError: request.stop_on_error,
    timeoutMs: request.timeout_ms,
    allowEvaluate,
    inputs: request.inputs,
    onResult: (result: StepResult, step: Step): void => emitStep(session, tabId, { ...result, step }),
  };
  const { results, vars, finalUrl, stepsRun } = await runSteps(createStepContext(deps, tabId), options, { signal });
  return {
    results,
    vars,
    finalUrl,
    ran: stepsRun,
    tabId,
    durationMs: Math.round(clock.monotonicMs() - startMs),
    warnings: request.warnings,
  };
}

/** The event omits the output, which may be large or secret. */
function emitStep(session: LiveSession, tabId: string, result: StepResult & { step: Step }): void {
  const { index, id, type, status, duration_ms, error, step } = result;
  const target = targetTextOf(step);
  session.events.emit('actions.step', {
    ...{ tab_id: tabId, index, id, step: type, status, duration_ms, error: error?.code ?? null },
    ...(target === null ? {} : { target }),
  });
}

/** What the step acts on, as the caller wrote it: values, and what templates stand for, are not part of it. */
function targetTextOf(step: Step): string | null {
  const [selector] = 'selectors' in step ? (step.selectors ?? []) : [];
  if (selector !== undefined) return cutText(typeof selector === 'string' ? selector : selector.join(' → '), targetCharsMax);
  return 'url' in step && typeof step.url === 'string'
    ? redactUrl(step.url, { placeholder: '…', rule: 'bare', charsMax: targetCharsMax })
    : null;
}
