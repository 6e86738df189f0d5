/** One attempt with a browser: load the page, detect blocks, run waits and actions, read the requested formats. */
import type { FetchRequest, Step } from '@berth/contract';
import { classify, classifyPage, type PageProbe } from '../block-detection/block-detection.ts';
import type { CookieParam, LoadResult, Page, PrivatePage } from '../browser/browser.ts';
import type { Content } from '../content/content.ts';
import { toHar, toProbedPage, type SolveCaptchaResult } from '../drive/drive.ts';
import type { Clock } from '../lib/clock.ts';
import { runSteps, type StepContext } from '../steps/steps.ts';
import type { Budget } from './budget.ts';
import { addBody, addJsonBody, toBytes, type Body } from './bytes.ts';
import { convertPage } from './convert.ts';
import { createPageResult, type PageResult } from './result.ts';
import { limits } from './limits.ts';
import { addPdf, addScreenshot } from './capture.ts';
import { readPageSnapshot, type PageSnapshot } from './page-snapshot.ts';

export interface BrowseOptions {
  request: FetchRequest;
  page: PrivatePage;
  stepContext: StepContext;
  content: Content;
  clock: Clock;
  budget: Budget;
  /** The part of the remaining budget for this attempt. */
  attemptMs: number;
  allowEvaluate: boolean;
  cookies: readonly CookieParam[];
  /** Solves the captcha that blocks the page; null when no provider is to be used. */
  solve: ((signal: AbortSignal) => Promise<SolveCaptchaResult>) | null;
  /** Summed over all attempts. */
  steps: { ran: number };
}

/** How long to wait for the scripts' own requests after `wait_until`. */
const graceMsMax = 500;
/** Kept back from loading, for reading and converting the page. */
const conversionMs = ({ timeoutScale }: Page, attemptMs: number): number => Math.min(timeoutScale.ms(4000), attemptMs * 0.25);

/** @throws NavigationError, PageError, BrowserClosed, or the signal's reason */
export async function browse(options: BrowseOptions, signal: AbortSignal): Promise<PageResult> {
  const { request, page, attemptMs, clock } = options;
  const startMs = clock.monotonicMs();
  await page.prepare(
    {
      blockResources: request.block_resources,
      extraHeaders: request.headers,
      cookies: options.cookies,
      wholeNetwork: request.formats.includes('har'),
    },
    { signal },
  );
  const outcome = await page.load(toLoadOptions(request, Math.max(1, Math.round(attemptMs - conversionMs(page.page, attemptMs)))), {
    signal,
  });
  const result = toPageResult(outcome);
  result.loadMs = Math.round(clock.monotonicMs() - startMs);
  if (outcome.timedOut) result.warnings.push('load_timed_out');
  if (outcome.body) addUnrendered(request, outcome, outcome.body, result);
  else if (outcome.statusCode !== 304 && outcome.statusCode !== 204 && outcome.statusCode !== 205)
    await readPage(options, outcome, result, signal);
  if (request.formats.includes('har'))
    result.har = { log: { ...toHar(page.network(), { title: result.finalUrl, startedAt: page.network().since }).log } };
  return result;
}

const needsRendering = ({ formats, actions, wait_for: waitFor }: FetchRequest): boolean =>
  formats.includes('screenshot') || formats.includes('pdf') || actions.length > 0 || waitFor !== null;

const toLoadOptions = (request: FetchRequest, timeoutMs: number) => ({
  url: request.url,
  waitUntil: request.wait_until,
  timeoutMs,
  showAnything: needsRendering(request),
  // JSON that is rendered for a screenshot is also returned as data.
  keepBody: request.formats.includes('raw') || (request.formats.includes('json') && needsRendering(request)),
  readsPage: true,
  bodyBytesMax: limits.rawBytesMax,
});

const toPageResult = (outcome: LoadResult): PageResult => ({
  ...createPageResult(outcome.finalUrl),
  statusCode: outcome.statusCode,
  headers: outcome.headers,
  contentType: outcome.contentType,
  redirects: outcome.redirects,
  title: outcome.title,
  ttfbMs: outcome.ttfbMs,
});

/** A response that the browser did not render is classified by its status, headers and body. */
function addUnrendered(request: FetchRequest, outcome: LoadResult, body: Body, result: PageResult): void {
  const { statusCode: status, headers, cookieNames, finalUrl: url, contentType, title } = outcome;
  const replyInfo = { status, headers, cookieNames, url, contentType, title, html: '', visibleTextLength: null, dom: null, netError: null };
  const { block, captcha, warnings } = classify(replyInfo, request.block_detection);
  result.block = block;
  result.captcha = captcha;
  result.warnings.push(...warnings);
  addBody(result, body, request);
}

async function readPage(options: BrowseOptions, outcome: LoadResult, result: PageResult, signal: AbortSignal): Promise<void> {
  const { request, page } = options;
  // A page that requests its content after `load` is not complete yet.
  if (
    !outcome.timedOut &&
    !(await page.waitForScriptRequests(Math.min(page.page.timeoutScale.ms(graceMsMax), options.budget.leftMs() / 4)))
  )
    result.warnings.push('requests_pending');
  const read = (): Promise<PageSnapshot | null> => readPageSnapshot(page.page, request, { signal, leftMs: options.budget.leftMs() });
  // Without waits and actions one snapshot serves both block detection and the formats.
  const early = hasActions(request) ? undefined : await read();
  const changed = await detectBlock(options, outcome, { result, probe: early && early.probe }, signal);
  if (result.block?.blocked !== true) await runActions(options, result, signal);
  const snapshot = early === undefined || changed ? await read() : early;
  await Promise.all([addContent(options, snapshot, result, signal), addDocumentBytes(options, result, signal)]);
  const captureOptions = { signal, timeoutMs: Math.max(1, options.budget.leftMs()) };
  if (request.formats.includes('screenshot')) await addScreenshot({ stepContext: options.stepContext, request }, result, captureOptions);
  if (request.formats.includes('pdf')) await addPdf(page.page, request, result, captureOptions);
}

/** Returns whether the page may have changed since the snapshot. */
async function detectBlock(
  { request, page, budget, solve }: BrowseOptions,
  outcome: LoadResult,
  { result, probe: early }: { result: PageResult; probe: PageProbe | null | undefined },
  signal: AbortSignal,
): Promise<boolean> {
  const classifyNow = async (probe: PageProbe | null | undefined): Promise<void> => {
    const { block, captcha, warnings, committed } = await classifyPage(toProbedPage(page.page), outcome, {
      strictness: request.block_detection,
      leftMs: budget.leftMs(),
      signal,
      probe,
    });
    result.block = block;
    result.captcha = captcha;
    result.warnings.push(...warnings);
    if (committed) Object.assign(result, { finalUrl: committed.finalUrl, title: committed.title, statusCode: committed.statusCode });
  };
  await classifyNow(early);
  const waited = (result.block?.challenge_waited_ms ?? 0) > 0;
  if (!solve || result.block?.blocked !== true) return waited;
  const { isSolved, warning } = await solve(signal);
  if (isSolved) await classifyNow(undefined);
  if (warning) result.warnings.push(warning);
  return true;
}

const hasActions = ({ wait_for: waitFor, actions }: FetchRequest): boolean => waitFor !== null || actions.length > 0;

/** `wait_for` runs as steps of the type `wait`. */
function toSteps({ wait_for: waitFor, actions }: FetchRequest): { waits: Step[]; actions: readonly Step[] } {
  const waits: Step[] = [];
  const addWait = (fields: object): void => void waits.push({ ...waitStep, ...fields } as Step);
  if (waitFor?.selector !== undefined) addWait({ selectors: [waitFor.selector] });
  if (waitFor?.text !== undefined) addWait({ text: waitFor.text });
  if (waitFor?.ms !== undefined) addWait({ ms: waitFor.ms });
  return { waits, actions };
}

const waitStep = { type: 'wait', optional: false, retries: 0, on_error: 'fail', tab: 'main', timeout_ms: 30_000 };

async function runActions(options: BrowseOptions, result: PageResult, signal: AbortSignal): Promise<void> {
  const { request, stepContext, budget, page, allowEvaluate, steps: stepCounts } = options;
  const { waits, actions } = toSteps(request);
  const run = (steps: readonly Step[]) =>
    runSteps(
      stepContext,
      { steps, stopOnError: true, timeoutMs: Math.max(1, budget.leftMs() - conversionMs(page.page, budget.leftMs())), allowEvaluate },
      { signal },
    );
  if (waits.length > 0) {
    const { results } = await run(waits);
    const failed = results.find(({ status }) => status === 'error');
    if (failed) result.warnings.push(`wait_for_failed:${failed.error?.code ?? 'timeout'}`);
  }
  if (actions.length > 0) {
    const { results, stepsRun } = await run(actions);
    result.actions = results;
    stepCounts.ran += stepsRun;
  }
  if (waits.length + actions.length > 0) result.finalUrl = page.page.url();
}

async function addContent(
  { request, content, budget }: BrowseOptions,
  snapshot: PageSnapshot | null,
  result: PageResult,
  signal: AbortSignal,
): Promise<void> {
  if (!snapshot) {
    result.warnings.push('page_did_not_answer');
    return;
  }
  const { probe, whole, visible } = snapshot;
  if (/^https?:/.test(probe.url)) result.finalUrl = probe.url;
  if (whole.truncated) result.warnings.push('html_truncated');
  result.title = whole.title || result.title;
  const source = {
    url: result.finalUrl,
    html: whole.html,
    mainHtml: whole.mainHtml,
    visible,
    text: request.formats.includes('text') && !whole.hasShadow ? whole.text : null,
  };
  const { warnings = [], ...converted } = await convertPage(content, request, source, { signal, timeoutMs: budget.leftMs() });
  Object.assign(result, converted);
  result.warnings.push(...warnings);
}

async function addDocumentBytes({ request, page }: BrowseOptions, result: PageResult, signal: AbortSignal): Promise<void> {
  if (!request.formats.includes('raw') && !request.formats.includes('json')) return;
  const body = await page.documentBody({ signal, maxBytes: limits.rawBytesMax });
  if (body && request.extract === null) addJsonBody(result, body);
  if (!request.formats.includes('raw')) return;
  if (body) result.raw = toBytes(body, result.contentType);
  else result.warnings.push('raw_not_kept');
}
