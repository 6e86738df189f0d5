/** Runs steps of the step language, and says what became of them. */
import { targetOf, type ActionsResponse, type Step, type StepResult } from '@berth/sdk';
import type { Context } from '../context.ts';
import { CommandError, exitCodes } from '../failures.ts';
import { report, type Report } from '../output.ts';

/** How a command names an element: by a ref of a snapshot, or by a locator. */
export type Target = ReturnType<typeof targetOf>;

/** A step before the service has checked it. */
export type StepDraft = { type: string } & Record<string, unknown>;

/** The element that a word of the command line names: `@e3`, `text=Buy`, `xpath=//a`, or any locator of steps. */
export function toTarget(word: string): Target {
  const target = targetOf(word.replace(/^ref=/, ''));
  if ('ref' in target) return target;
  const [, kind, rest = ''] = /^(text|xpath|label|placeholder|testid)=([^]*)$/.exec(word) ?? [];
  return { selectors: [kind === undefined ? word : `${kind}/${rest}`] };
}

/** Runs steps in the session's tab, and fails with the first one that failed. */
export async function runSteps(context: Context, steps: readonly StepDraft[]): Promise<ActionsResponse> {
  const berth = await context.berth();
  const session = context.session();
  const timeoutMs = context.options.number('timeout');
  const actions = steps.map((step) => (timeoutMs === undefined ? step : { ...step, timeout_ms: timeoutMs })) as unknown as Step[];
  const reply = await berth.sessions.act(
    session.id,
    {
      actions,
      ...(session.tabId === undefined ? {} : { tab_id: session.tabId }),
      // The budget of all steps is that of the one, where it is longer than the default.
      ...(timeoutMs !== undefined && timeoutMs > 60_000 ? { timeout_ms: timeoutMs } : {}),
    },
    { signal: context.signal },
  );
  if (reply.status === 'error') throw toError(reply.results.find(({ status }) => status === 'error'));
  return reply;
}

function toError(result: StepResult | undefined): CommandError {
  const { code = 'failed', message = 'The step failed.' } = result?.error ?? {};
  return new CommandError(exitCodes.step, code, `${result?.type ?? 'step'}: ${message}`, stepHints[code]);
}

const stepHints: Readonly<Record<string, string>> = {
  not_found: 'Run `berth snapshot -i` to see what the page has.',
  stale_ref: 'Run `berth snapshot` and use the refs that it shows.',
  ref_not_found: 'Run `berth snapshot` and use the refs that it shows.',
  not_allowed: 'The operator has not set BERTH_ALLOW_EVALUATE.',
};

/** Runs one step, and tells where the page is then. */
export async function runStep(context: Context, step: StepDraft): Promise<Report> {
  const { results, final_url, tab_id, warnings } = await runSteps(context, [step]);
  const [result] = results;
  const all = [...(result?.warnings ?? []), ...warnings];
  const data = {
    status: result?.status ?? 'ok',
    step: step.type,
    ...(result?.selector_used === undefined ? {} : { selector_used: result.selector_used }),
    ...(result?.output === undefined ? {} : { output: result.output }),
    url: final_url,
    tab_id,
    ...(all.length > 0 ? { warnings: all } : {}),
  };
  return report(data, (seen, paint) =>
    [
      `${paint.green(seen.status)} ${seen.step} ${paint.dim(seen.url)}`,
      ...(seen.warnings ?? []).map((text) => paint.yellow(`warning: ${text}`)),
    ].join('\n'),
  );
}

/** The output of one step. */
export async function outputOf<T>(context: Context, step: StepDraft): Promise<T> {
  const { results } = await runSteps(context, [step]);
  return results[0]?.output as T;
}
