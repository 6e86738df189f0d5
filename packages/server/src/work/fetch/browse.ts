/** One attempt with a browser: load the page, detect blocks, run waits and actions, read the requested formats. */
import type { FetchRequest, Step, StepResult } from '@berth/contract';
import { classify, classifyPage, type PageProbe, documentWarnings, snapshotWarnings, type Converter } from '@berth/reading';
import { type CookieParam, type LoadResult, type Page, type PrivatePage, runSteps, type StepContext } from '@berth/devtools';
import { loadWarnings, toHar, toProbedPage, type SolveCaptchaResult } from '../../sessions/drive/drive.ts';
import type { Deadline } from '@berth/lib/deadline.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { followedMsMax } from '@berth/lib/refresh.ts';
import { printPdf, readFrames, takeScreenshot, takeSnapshot, type PageSnapshot } from './capture.ts';
import { readCompletePage, waitForRequests } from './complete.ts';
import { convertPage } from './convert.ts';
import { limits } from './limits.ts';
import { mergeParts, readBody, readJsonBody, toBytes, warnOfNoJson, type Body, type PagePart, type PageResult } from './result.ts';

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
    const loaded = toPart(outcome, Math.round(clock.monotonicMs() - startMs));
    const parts = outcome.body ? [await readUnrendered(request, outcome, outcome.body)] : await this.#read(outcome);
    const result = warnOfNoJson(mergeParts(outcome.finalUrl, [loaded, ...parts]), request);
    if (!formats.includes('har')) return result;
    const network = page.network();
    const { log } = await toHar(network, { title: result.finalUrl, startedAt: network.since });
    return { ...result, har: { log: { ...log } } };
  }

  async #read(outcome: LoadResult): Promise<PagePart[]> {
    if (hasNoContent(outcome)) return [];
    const { request, page, budget, stepContext } = this.#options;
    const signal = this.#signal;
    const isPending = hasActions(request) && !outcome.timedOut && !(await waitForRequests(page, budget.leftMs / 4)).isComplete;
    // Without waits and actions one snapshot serves both block detection and the formats.
    const early = hasActions(request) ? undefined : await this.#readComplete(outcome);
    const { part: block, hasChanged } = await this.#detectBlock(early?.outcome ?? outcome, early && (early.snapshot?.probe ?? null));
    const acted = block.block?.blocked === true ? {} : await this.#runActions();
    const late = early === undefined || hasChanged ? await this.#readComplete(outcome) : undefined;
    const before = [isPending ? pending : {}, early?.part ?? {}, block, acted, late?.part ?? {}];
    const { finalUrl } = mergeParts(outcome.finalUrl, before);
    const content = await Promise.all([
      this.#readContent((late ?? early)?.snapshot ?? null, finalUrl),
      this.#readDocumentBytes(outcome.contentType),
    ]);
    const captureOptions = { signal, timeoutMs: Math.max(1, budget.leftMs) };
    const screenshot = request.formats.includes('screenshot') ? await takeScreenshot({ stepContext, request }, captureOptions) : {};
    const pdf = request.formats.includes('pdf') ? await printPdf(page.page, request, captureOptions) : {};
    const tree = request.formats.includes('snapshot') ? await takeSnapshot(page.page, request, captureOptions) : {};
    return [...before, ...content, screenshot, tree, pdf];
  }

  /** Reads a complete page. Also returns the outcome of the document that was read: a page may move on by itself after its load. */
  async #readComplete(outcome: LoadResult): Promise<{ snapshot: PageSnapshot | null; outcome: LoadResult; part: PagePart }> {
    const { request, page, budget } = this.#options;
    // A caller who does not wait for the load does not wait for what comes after it.
    const isUntilLoad = request.wait_until === 'load' || request.wait_until === 'networkidle';
    const waitsFor = outcome.timedOut ? 'nothing' : isUntilLoad ? 'content' : 'requests';
    const { snapshot, isPending, isReplaced } = await readCompletePage(page, request, { signal: this.#signal, budget, waitsFor });
    const read = isPending ? pending : {};
    if (!isReplaced || !snapshot) return { snapshot, outcome, part: read };
    const { statusCode } = snapshot.probe;
    const { headers, cookieNames, redirects } = page.response() ?? {
      headers: { 'content-type': 'text/html' },
      cookieNames: [],
      redirects: [],
    };
    const left = { url: outcome.finalUrl, statusCode: outcome.statusCode ?? 0 };
    const part = { ...read, statusCode, headers, redirects: [...outcome.redirects, left, ...redirects] };
    return { snapshot, outcome: { ...outcome, statusCode, headers, cookieNames }, part };
  }

  /** `hasChanged`: the page may have changed since the snapshot. */
  async #detectBlock(outcome: LoadResult, early: PageProbe | null | undefined): Promise<{ part: PagePart; hasChanged: boolean }> {
    const { request, page, budget, solve } = this.#options;
    const signal = this.#signal;
    const classifyNow = async (probe?: PageProbe | null) => {
      const options = { strictness: request.block_detection, leftMs: budget.leftMs, signal, probe };
      const { block, captcha, warnings, waitedMs, committed } = await classifyPage(toProbedPage(page.page), outcome, options);
      return { part: { block, captcha, ...committed, warnings: [...warnings] }, hasChanged: waitedMs > 0 };
    };
    const first = await classifyNow(early);
    if (!solve || first.part.block?.blocked !== true) return first;
    const { isSolved, units, warning } = await solve(signal);
    this.usage.solves += units;
    const { part } = isSolved ? await classifyNow() : first;
    const before = isSolved ? first.part.warnings : [];
    return { part: { ...first.part, ...part, warnings: [...before, ...part.warnings, ...(warning ? [warning] : [])] }, hasChanged: true };
  }

  async #runActions(): Promise<PagePart> {
    const { request, stepContext, budget, page, allowEvaluate } = this.#options;
    if (!hasActions(request)) return {};
    const run = (steps: readonly Step[], onResult: (result: StepResult) => void = () => undefined) => {
      const timeoutMs = Math.max(1, budget.leftMs - conversionMs(page.page, budget.leftMs));
      const statedTimeoutMs = request.timeout_ms;
      return runSteps(
        stepContext,
        { steps, stopOnError: true, timeoutMs, statedTimeoutMs, allowEvaluate, onResult },
        { signal: this.#signal },
      );
    };
    const part: PagePart = {};
    const waits = toWaitSteps(request);
    if (waits.length > 0) {
      const { results } = await run(waits);
      const failed = results.find(({ status }) => status === 'error');
      if (failed) part.warnings = [`wait_for_failed:${failed.error?.code ?? 'timeout'}`];
    }
    if (request.actions.length > 0) {
      await this.#options.touch();
      // Counted as they end, for a browser that is lost in between; the total also has the nested ones.
      const { results, stepsRun } = await run(request.actions, ({ status }) => (this.usage.steps += status === 'skipped' ? 0 : 1));
      part.actions = results;
      this.usage.steps = stepsRun;
    }
    return { ...part, finalUrl: page.page.url() };
  }

  async #readContent(snapshot: PageSnapshot | null, url: string): Promise<PagePart> {
    const { request, content, budget, page } = this.#options;
    if (!snapshot) return { warnings: ['page_did_not_answer'] };
    const { probe, whole, visible, full } = await readFrames(page.page, snapshot, { signal: this.#signal, leftMs: budget.leftMs });
    const finalUrl = /^https?:/.test(probe.url) ? probe.url : url;
    const isTruncated = whole.truncated || visible?.truncated === true || full?.truncated === true;
    const rendered = visible ?? full;
    const source = { url: finalUrl, html: whole.html, visible, full, isRendered: true };
    const converted = await convertPage({ content, request }, source, { signal: this.#signal, timeoutMs: budget.leftMs });
    const warnings = [
      ...(snapshot.isScriptStopped ? ['script_stopped'] : []),
      ...(isTruncated ? ['html_truncated'] : []),
      ...(rendered ? snapshotWarnings(rendered) : []),
      ...(request.formats.includes('html') ? documentWarnings(whole) : []),
      ...(converted.warnings ?? []),
    ];
    return { ...(whole.title ? { title: whole.title } : {}), ...converted, finalUrl, warnings };
  }

  async #readDocumentBytes(contentType: string | null): Promise<PagePart> {
    const { request, page } = this.#options;
    const wantsRaw = request.formats.includes('raw');
    if (!wantsRaw && !request.formats.includes('json')) return {};
    const body = await page.documentBody({ signal: this.#signal, maxBytes: limits.rawBytesMax });
    if (!body) return wantsRaw ? { warnings: ['raw_not_kept'] } : {};
    const json = request.extract === null ? await readJsonBody(body, contentType) : {};
    return wantsRaw ? { ...json, raw: toBytes(body, contentType) } : json;
  }
}

const pending: PagePart = { warnings: ['requests_pending'] };

const hasNoContent = ({ statusCode }: LoadResult): boolean => statusCode === 304 || statusCode === 204 || statusCode === 205;

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

const toPart = (outcome: LoadResult, loadMs: number): PagePart => ({
  statusCode: outcome.statusCode,
  headers: outcome.headers,
  contentType: outcome.contentType,
  redirects: outcome.redirects,
  title: outcome.title,
  ttfbMs: outcome.ttfbMs,
  loadMs,
  warnings: [...(outcome.timedOut ? ['load_timed_out'] : []), ...loadWarnings(outcome)],
});

/** A response that the browser did not render is classified by its status, headers and body. */
async function readUnrendered(request: FetchRequest, outcome: LoadResult, body: Body): Promise<PagePart> {
  const { statusCode: status, finalUrl: url } = outcome;
  const info = { ...outcome, status, url, html: '', visibleTextLength: null, dom: null, netError: null };
  const { block, captcha, warnings } = classify(info, request.block_detection);
  const read = await readBody(body, outcome, request);
  return { block, captcha, ...read, warnings: [...warnings, ...(read.warnings ?? [])] };
}

const hasActions = ({ wait_for: waitFor, actions }: FetchRequest): boolean => waitFor !== null || actions.length > 0;

const waitStep = { type: 'wait', optional: false, retries: 0, on_error: 'fail', tab: 'main', timeout_ms: 30_000 };

/** `wait_for` runs as steps of the type `wait`, in this order. */
function toWaitSteps({ wait_for: waitFor }: FetchRequest): Step[] {
  const { selector, text, ms } = waitFor ?? {};
  const waits = [selector !== undefined && { selectors: [selector] }, text !== undefined && { text }, ms !== undefined && { ms }];
  return waits.filter((fields) => fields !== false).map((fields) => ({ ...waitStep, ...fields }) as Step);
}
