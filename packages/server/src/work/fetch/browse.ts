/** One attempt with a browser: load the page, detect blocks, run waits and actions, read the requested formats. */
import type { FetchRequest, Step, StepResult } from '@berth/contract';
import { classify, classifyPage, type PageProbe, documentWarnings, snapshotWarnings, type Converter } from '@berth/reading';
import { type CookieParam, type LoadResult, type Page, type PrivatePage, runSteps, type StepContext } from '@berth/devtools';
import { loadWarnings, toHar, toProbedPage, type SolveCaptchaResult } from '../../sessions/drive/drive.ts';
import type { Deadline } from '@berth/lib/deadline.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { followedMsMax } from '@berth/lib/refresh.ts';
import { addPdf, addScreenshot, readFrames, type PageSnapshot } from './capture.ts';
import { readCompletePage, waitForRequests } from './complete.ts';
import { convertPage } from './convert.ts';
import { limits } from './limits.ts';
import { addBody, addJsonBody, createPageResult, toBytes, warnOfNoJson, type Body, type PageResult } from './result.ts';

export interface BrowserFetchOptions {
  request: FetchRequest;
  page: PrivatePage;
  stepContext: StepContext;
  content: Converter;
  clock: Clock;
  budget: Deadline;
  allowEvaluate: boolean;
  /** Called before the actions. */
  touch: () => Promise<void>;
  cookies: readonly CookieParam[];
  /** Solves the captcha that blocks the page; null when no provider is to be used. */
  solve: ((signal: AbortSignal) => Promise<SolveCaptchaResult>) | null;
}

/** Time kept back from loading, for reading and converting the page. */
const conversionMs = ({ timeoutScale }: Page, leftMs: number): number => Math.min(timeoutScale.ms(4000), leftMs * 0.25);

export class BrowserFetch {
  /** Steps that ran and captchas that were solved so far, also after a failure. */
  readonly usage = { steps: 0, solves: 0 };
  readonly #options: BrowserFetchOptions;
  readonly #signal: AbortSignal;

  constructor(options: BrowserFetchOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** @throws NavigationError, PageError, BrowserClosedError, or the signal's reason */
  async run(): Promise<PageResult> {
    const { request, page, budget, clock, cookies } = this.#options;
    const { block_resources: blockResources, headers: extraHeaders, formats } = request;
    const signal = this.#signal;
    const startMs = clock.monotonicMs();
    await page.prepare({ blockResources, extraHeaders, cookies, wholeNetwork: formats.includes('har') }, { signal });
    const loadMs = Math.max(1, Math.round(budget.leftMs - conversionMs(page.page, budget.leftMs)));
    const outcome = await page.load(toLoadOptions(request, loadMs), { signal });
    const result = toPageResult(outcome);
    result.loadMs = Math.round(clock.monotonicMs() - startMs);
    if (outcome.timedOut) result.warnings.push('load_timed_out');
    result.warnings.push(...loadWarnings(outcome));
    if (outcome.body) await addUnrendered(request, outcome, outcome.body, result);
    else if (outcome.statusCode !== 304 && outcome.statusCode !== 204 && outcome.statusCode !== 205) await this.#read(outcome, result);
    warnOfNoJson(result, request);
    if (formats.includes('har')) {
      const network = page.network();
      const { log } = await toHar(network, { title: result.finalUrl, startedAt: network.since });
      result.har = { log: { ...log } };
    }
    return result;
  }

  async #read(outcome: LoadResult, result: PageResult): Promise<void> {
    const { request, page, budget, stepContext } = this.#options;
    const signal = this.#signal;
    if (hasActions(request) && !outcome.timedOut && !(await waitForRequests(page, budget.leftMs / 4)).isComplete)
      result.warnings.push('requests_pending');
    // Without waits and actions one snapshot serves both block detection and the formats.
    const early = hasActions(request) ? undefined : await this.#readComplete(outcome, result);
    const changed = await this.#detectBlock(early?.outcome ?? outcome, result, early && (early.snapshot?.probe ?? null));
    if (result.block?.blocked !== true) await this.#runActions(result);
    const { snapshot } = early === undefined || changed ? await this.#readComplete(outcome, result) : early;
    await Promise.all([this.#addContent(snapshot, result), this.#addDocumentBytes(result)]);
    const captureOptions = { signal, timeoutMs: Math.max(1, budget.leftMs) };
    if (request.formats.includes('screenshot')) await addScreenshot({ stepContext, request }, result, captureOptions);
    if (request.formats.includes('pdf')) await addPdf(page.page, request, result, captureOptions);
  }

  /** Reads a complete page. Also returns the outcome of the document that was read: a page may move on by itself after its load. */
  async #readComplete(outcome: LoadResult, result: PageResult): Promise<{ snapshot: PageSnapshot | null; outcome: LoadResult }> {
    const { request, page, budget } = this.#options;
    // A caller who does not wait for the load does not wait for what comes after it.
    const isUntilLoad = request.wait_until === 'load' || request.wait_until === 'networkidle';
    const waitsFor = outcome.timedOut ? 'nothing' : isUntilLoad ? 'content' : 'requests';
    const { snapshot, isPending, isReplaced } = await readCompletePage(page, request, { signal: this.#signal, budget, waitsFor });
    if (isPending) result.warnings.push('requests_pending');
    if (!isReplaced || !snapshot) return { snapshot, outcome };
    const { statusCode } = snapshot.probe;
    const { headers, cookieNames, redirects } = page.response() ?? {
      headers: { 'content-type': 'text/html' },
      cookieNames: [],
      redirects: [],
    };
    const left = { url: outcome.finalUrl, statusCode: outcome.statusCode ?? 0 };
    Object.assign(result, { statusCode, headers, redirects: [...outcome.redirects, left, ...redirects] });
    return { snapshot, outcome: { ...outcome, statusCode, headers, cookieNames } };
  }

  /** Returns whether the page may have changed since the snapshot. */
  async #detectBlock(outcome: LoadResult, result: PageResult, early: PageProbe | null | undefined): Promise<boolean> {
    const { request, page, budget, solve } = this.#options;
    const signal = this.#signal;
    let waited = false;
    const classifyNow = async (probe?: PageProbe | null): Promise<void> => {
      const options = { strictness: request.block_detection, leftMs: budget.leftMs, signal, probe };
      const { block, captcha, warnings, waitedMs, committed } = await classifyPage(toProbedPage(page.page), outcome, options);
      waited ||= waitedMs > 0;
      Object.assign(result, { block, captcha }, committed);
      result.warnings.push(...warnings);
    };
    await classifyNow(early);
    if (!solve || result.block?.blocked !== true) return waited;
    const { isSolved, units, warning } = await solve(signal);
    this.usage.solves += units;
    if (isSolved) await classifyNow();
    if (warning) result.warnings.push(warning);
    return true;
  }

  async #runActions(result: PageResult): Promise<void> {
    const { request, stepContext, budget, page, allowEvaluate } = this.#options;
    if (!hasActions(request)) return;
    const run = (steps: readonly Step[], onResult: (result: StepResult) => void = () => undefined) => {
      const timeoutMs = Math.max(1, budget.leftMs - conversionMs(page.page, budget.leftMs));
      const statedTimeoutMs = request.timeout_ms;
      return runSteps(
        stepContext,
        { steps, stopOnError: true, timeoutMs, statedTimeoutMs, allowEvaluate, onResult },
        { signal: this.#signal },
      );
    };
    const waits = toWaitSteps(request);
    if (waits.length > 0) {
      const { results } = await run(waits);
      const failed = results.find(({ status }) => status === 'error');
      if (failed) result.warnings.push(`wait_for_failed:${failed.error?.code ?? 'timeout'}`);
    }
    if (request.actions.length > 0) {
      await this.#options.touch();
      // Counted as they end, for a browser that is lost in between; the total also has the nested ones.
      const { results, stepsRun } = await run(request.actions, ({ status }) => (this.usage.steps += status === 'skipped' ? 0 : 1));
      result.actions = results;
      this.usage.steps = stepsRun;
    }
    result.finalUrl = page.page.url();
  }

  async #addContent(snapshot: PageSnapshot | null, result: PageResult): Promise<void> {
    const { request, content, budget, page } = this.#options;
    if (!snapshot) {
      result.warnings.push('page_did_not_answer');
      return;
    }
    if (snapshot.isScriptStopped) result.warnings.push('script_stopped');
    const { probe, whole, visible, full } = await readFrames(page.page, snapshot, { signal: this.#signal, leftMs: budget.leftMs });
    if (/^https?:/.test(probe.url)) result.finalUrl = probe.url;
    if (whole.truncated || visible?.truncated === true || full?.truncated === true) result.warnings.push('html_truncated');
    const rendered = visible ?? full;
    if (rendered) result.warnings.push(...snapshotWarnings(rendered));
    if (request.formats.includes('html')) result.warnings.push(...documentWarnings(whole));
    result.title = whole.title || result.title;
    const source = { url: result.finalUrl, html: whole.html, visible, full, isRendered: true };
    await convertPage({ content, request, result }, source, { signal: this.#signal, timeoutMs: budget.leftMs });
  }

  async #addDocumentBytes(result: PageResult): Promise<void> {
    const { request, page } = this.#options;
    if (!request.formats.includes('raw') && !request.formats.includes('json')) return;
    const body = await page.documentBody({ signal: this.#signal, maxBytes: limits.rawBytesMax });
    if (body && request.extract === null) await addJsonBody(result, body);
    if (!request.formats.includes('raw')) return;
    if (body) result.raw = toBytes(body, result.contentType);
    else result.warnings.push('raw_not_kept');
  }
}

const needsRendering = ({ formats, actions, wait_for: waitFor }: FetchRequest): boolean =>
  formats.includes('screenshot') || formats.includes('pdf') || actions.length > 0 || waitFor !== null;

const toLoadOptions = (request: FetchRequest, timeoutMs: number) => ({
  url: request.url,
  waitUntil: request.wait_until,
  timeoutMs,
  refreshMsMax: followedMsMax,
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
async function addUnrendered(request: FetchRequest, outcome: LoadResult, body: Body, result: PageResult): Promise<void> {
  const { statusCode: status, finalUrl: url } = outcome;
  const info = { ...outcome, status, url, html: '', visibleTextLength: null, dom: null, netError: null };
  const { block, captcha, warnings } = classify(info, request.block_detection);
  Object.assign(result, { block, captcha });
  result.warnings.push(...warnings);
  await addBody(result, body, request);
}

const hasActions = ({ wait_for: waitFor, actions }: FetchRequest): boolean => waitFor !== null || actions.length > 0;

const waitStep = { type: 'wait', optional: false, retries: 0, on_error: 'fail', tab: 'main', timeout_ms: 30_000 };

/** `wait_for` runs as steps of the type `wait`, in this order. */
function toWaitSteps({ wait_for: waitFor }: FetchRequest): Step[] {
  const { selector, text, ms } = waitFor ?? {};
  const waits = [selector !== undefined && { selectors: [selector] }, text !== undefined && { text }, ms !== undefined && { ms }];
  return waits.filter((fields) => fields !== false).map((fields) => ({ ...waitStep, ...fields }) as Step);
}
