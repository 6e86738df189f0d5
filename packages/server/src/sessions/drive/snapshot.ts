/** Snapshots: the page as an accessibility tree with references. */
import { parseSelector, type SnapshotOptions, type SnapshotResponse } from '@berth/contract';
import { runSteps, toSnapshotResult, untilQuiet } from '@berth/devtools';
import { pageFailed, refFailed } from './errors.ts';
import { createStepContext, tabIdOf, type StepContextDeps } from './step-context.ts';

export interface SnapshotQuery extends SnapshotOptions {
  format: SnapshotResponse['format'];
  /** A reference or a selector of the element to read. */
  scope?: string | undefined;
  tab_id?: string | undefined;
}

/** Long enough for a page of 20,000 nodes on a busy machine. */
const snapshotMsMax = 15_000;
const runMarginMs = 500;

/** @throws PageError, TabNotFoundError, ServiceError ref_not_found, stale_ref, page_failed */
export async function takePageSnapshot(deps: StepContextDeps, query: SnapshotQuery, signal: AbortSignal): Promise<SnapshotResponse> {
  const { browser } = deps.machine;
  const tabId = tabIdOf(browser, query.tab_id);
  const page = browser.page(tabId);
  const { scope, tab_id: _tab, format, ...options } = query;
  const timeoutMs = page.timeoutScale.ms(snapshotMsMax);
  await untilQuiet(page, { leftMs: timeoutMs / 4, signal });
  if (scope === undefined) {
    const { max_tokens: maxTokens, ...request } = options;
    return toSnapshotResult(await page.snapshot({ ...request, maxTokens }, { signal, timeoutMs }), format);
  }
  // As a step, to use its locators and waiting.
  const isRef = parseSelector(`ref/${scope}`) !== null;
  const step = { ...stepDefaults, ...options, format, selectors: [isRef ? `ref/${scope}` : scope], timeout_ms: timeoutMs };
  const run = { steps: [step], stopOnError: true, timeoutMs: timeoutMs + runMarginMs, allowEvaluate: false };
  const { results } = await runSteps(createStepContext(deps, tabId), run, { signal });
  const { error, output } = results[0] ?? {};
  if (error?.code === 'stale_ref' || error?.code === 'ref_not_found') throw refFailed(error.code, error.message, error.details?.candidates);
  if (error || !output) throw pageFailed(error?.code ?? 'timeout', error?.message ?? 'The snapshot timed out.');
  return output as SnapshotResponse;
}

const stepDefaults = { type: 'snapshot', optional: false, retries: 0, on_error: 'fail', tab: 'main' } as const;
