/** Captures a site in a browser: pages, traffic with bodies, storage, and what was probed. It holds secrets until it is redacted. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Block, InspectAction, InspectRequest, PictureResponse, StepResult } from '@berth/contract';
import { classifyPage } from '@berth/reading';
import {
  NavigationError,
  PageError,
  type LoadResult,
  type NetworkEntries,
  type NetworkEntry,
  type Observation,
  type PrivatePage,
  runSteps,
  type StepContext,
  type Page,
} from '@berth/devtools';
import { captureScreenshot, loadWarnings, toProbedPage } from '../../../sessions/drive/drive.ts';
import type { HttpClient } from '@berth/egress';
import type { Clock } from '@berth/lib/clock.ts';
import type { Deadline } from '@berth/lib/deadline.ts';
import { limits } from '../limits.ts';
import type { Capture, CapturedAction, CapturedCookie, CaptureLoss, PageSnapshot } from '@berth/site-report';
import { toCapturedHar, type VisitedPage } from './har.ts';
import { LinkQueue } from './links.ts';
import { probeSite } from './probes.ts';
import { readSnapshot, webAuthnCall } from './snapshot.ts';

export interface SiteCaptureOptions {
  request: InspectRequest & { url: string };
  page: PrivatePage;
  stepContext: StepContext;
  /** Client whose requests take the same egress as the page's traffic. */
  client: HttpClient;
  clock: Clock;
  budget: Deadline;
  allowEvaluate: boolean;
  progress(step: number, total: number | null, note: string): void;
  /** Called before the actions. */
  touch(): Promise<void>;
}

export interface SiteCaptureResult {
  capture: Capture;
  statusCode: number | null;
  finalUrl: string;
  block: Block | null;
  actions: InspectAction[];
  screenshot: PictureResponse | null;
  warnings: string[];
}

/** Share of the time for loading one page; the rest is for reading it. */
const loadShare = 0.6;
/** A site that never is quiet is read then. */
const loadMsMax = 30_000;
/** Maximum wait after the load: twice the time after which a request that is still open does not count. */
const idleMsMax = 10_000;
const bodiesMsMax = 3000;
const scriptRequestsMsMax = 2000;

export class SiteCapture {
  /** Pages and steps that were used, also after a failure. */
  readonly usage = { pages: 0, steps: 0 };
  readonly #options: SiteCaptureOptions;
  readonly #signal: AbortSignal;
  readonly #warnings: string[] = [];
  readonly #snapshots: PageSnapshot[] = [];
  readonly #visits: (VisitedPage & { requestIds: Set<string> })[] = [];
  readonly #capturedActions: CapturedAction[] = [];
  #actions: InspectAction[] = [];
  #block: Block | null = null;
  #screenshot: PictureResponse | null = null;

  constructor(options: SiteCaptureOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** @throws NavigationError, PageError, BrowserClosedError, or the signal's reason */
  async run(): Promise<SiteCaptureResult> {
    const { request, page } = this.#options;
    const signal = this.#signal;
    if (request.storage_state) await page.setStorageState(request.storage_state, { signal });
    await page.prepare({ blockResources: [], extraHeaders: {}, cookies: [], wholeNetwork: true }, { signal });
    const bodyBytesMax = request.capture_bodies === 'none' ? 0 : request.max_body_bytes;
    const observation = await page.observe(
      { bodyBytesMax, totalBytesMax: limits.capturedBytesMax, messagesMax: limits.messagesMax },
      { signal },
    );
    const links = new LinkQueue(request);
    const first = await this.#visit(observation, request.url, links);
    const probing = probeSite(this.#options.client, { url: first.finalUrl, isFull: request.probe }, signal);
    await this.#followLinks(observation, links);
    const [probes, cookies] = await Promise.all([probing, observation.cookies({ signal }), observation.bodiesRead(bodiesMsMax)]);
    return this.#toResult(observation, { first, probes, cookies });
  }

  async #followLinks(observation: Observation, links: LinkQueue): Promise<void> {
    const { budget } = this.#options;
    if (this.#block?.blocked === true) return;
    for (let link = links.next(); link !== null; link = links.next()) {
      // Half of what is left for each, so that the last page is not cut short by its predecessors.
      if (budget.leftMs < 1500) {
        this.#warnings.push('pages_left_out:timeout');
        return;
      }
      try {
        await this.#visit(observation, link, links);
      } catch (error) {
        this.#signal.throwIfAborted();
        if (!(error instanceof NavigationError) && !(error instanceof PageError)) throw error;
        this.#warnings.push(`page_failed:${error.reason}`);
      }
    }
  }

  async #visit(observation: Observation, url: string, links: LinkQueue): Promise<LoadResult> {
    const { request, page, budget, clock, progress } = this.#options;
    const signal = this.#signal;
    const isFirst = this.#visits.length === 0;
    const pageId = `page_${this.#visits.length + 1}`;
    progress(this.#visits.length + 1, request.depth === 0 ? 1 : null, `page ${this.#visits.length + 1}`);
    const visit = {
      pageId,
      url,
      title: '',
      startedAt: clock.now(),
      domContentLoadedMs: null,
      loadMs: null,
      requestIds: this.#seenRequests(),
    };
    await observation.startPage({ signal });
    this.usage.pages += 1;
    const timeoutMs = Math.max(1, Math.min(page.page.timeoutScale.ms(loadMsMax), Math.round(budget.leftMs * loadShare)));
    const waitsForIdle = request.wait_until === 'networkidle';
    const waitUntil = waitsForIdle ? 'load' : request.wait_until;
    const outcome = await page.load({ ...loadOptions, url, waitUntil, timeoutMs }, { signal });
    this.#visits.push(visit);
    if (outcome.timedOut) this.#warnings.push('load_timed_out');
    this.#warnings.push(...loadWarnings({ leadsTo: null, bodyError: outcome.bodyError }));
    if (outcome.body) return outcome;
    if (waitsForIdle && !outcome.timedOut) await this.#waitForIdle();
    await page.waitForScriptRequests(Math.min(page.page.timeoutScale.ms(scriptRequestsMsMax), budget.leftMs / 4));
    if (isFirst) await this.#detectBlock(outcome);
    if (isFirst && this.#block?.blocked !== true) await this.#runActions();
    if (request.scroll) await scrollToEnd(page.page, { signal, timeoutMs: budget.leftMs / 4 });
    await this.#goOn(request.settle_ms);
    if (isFirst && request.include.includes('screenshot')) await this.#takeScreenshot();
    await this.#read(observation, visit, links);
    return outcome;
  }

  /** A page that asks again and again is never idle, and has shown by then what it loads. */
  async #waitForIdle(): Promise<void> {
    const { page, budget } = this.#options;
    const timeoutMs = Math.max(1, Math.min(page.page.timeoutScale.ms(idleMsMax), budget.leftMs / 4));
    try {
      await page.page.networkIdle({ signal: this.#signal, timeoutMs });
    } catch (error) {
      if (!(error instanceof PageError) || error.reason !== 'timeout') throw error;
      this.#warnings.push('load_timed_out');
    }
  }

  /** Reads the document that is shown now: actions may have led to another one. */
  async #read(observation: Observation, visit: VisitedPage, links: LinkQueue): Promise<void> {
    const { page, budget } = this.#options;
    const signal = this.#signal;
    const { coverage, errors } = await observation.takePage({ signal });
    const result = await readSnapshot(page.page, { pageId: visit.pageId, leftMs: budget.leftMs / 2 }, signal);
    if (!result) {
      this.#warnings.push('page_did_not_answer');
      return;
    }
    const { snapshot, links: onPage, isScriptStopped } = result;
    if (isScriptStopped) this.#warnings.push('script_stopped');
    const { vitals, url, title } = snapshot;
    Object.assign(visit, { url, title, domContentLoadedMs: vitals.domContentLoadedMs, loadMs: vitals.loadMs });
    this.#snapshots.push({ ...snapshot, coverage, consoleErrors: errors });
    links.add(onPage, url);
  }

  async #detectBlock(outcome: LoadResult): Promise<void> {
    const { request, page, budget } = this.#options;
    const options = { strictness: request.block_detection, leftMs: budget.leftMs / 2, signal: this.#signal };
    const { block, warnings } = await classifyPage(toProbedPage(page.page), outcome, options);
    this.#block = block;
    this.#warnings.push(...warnings);
  }

  async #runActions(): Promise<void> {
    const { request, stepContext, budget, allowEvaluate, clock } = this.#options;
    if (request.actions.length === 0) return;
    await this.#options.touch();
    const onResult = (result: StepResult): void => {
      this.usage.steps += result.status === 'skipped' ? 0 : 1;
      const startedAt = new Date(clock.now().getTime() - result.duration_ms).toISOString();
      this.#capturedActions.push({ index: result.index, type: result.type, startedAt });
    };
    const options = { stopOnError: true, timeoutMs: Math.max(1, budget.leftMs * loadShare), statedTimeoutMs: request.timeout_ms };
    const run = await runSteps(stepContext, { ...options, steps: request.actions, allowEvaluate, onResult }, { signal: this.#signal });
    this.usage.steps = run.stepsRun;
    this.#actions = run.results.map(toAction);
    if (run.results.some(({ status }) => status === 'error')) this.#warnings.push('action_failed');
  }

  async #takeScreenshot(): Promise<void> {
    const { stepContext, budget } = this.#options;
    const options = { selector: undefined, format: 'jpeg', quality: 70, fullPage: false, scrollFirst: false } as const;
    try {
      const within = { timeoutMs: Math.max(1, budget.leftMs / 4), bytesMax: limits.screenshotBytesMax };
      this.#screenshot = await captureScreenshot(stepContext, { ...options, ...within }, this.#signal);
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!(error instanceof PageError)) throw error;
      this.#warnings.push(`screenshot_failed:${error.reason}`);
    }
  }

  async #goOn(ms: number): Promise<void> {
    const leftMs = Math.min(ms, this.#options.budget.leftMs / 3);
    if (leftMs > 0) await sleep(leftMs, undefined, { signal: this.#signal }).catch(() => this.#signal.throwIfAborted());
  }

  /** The clocks of the browser and of this process may differ, so a page is known by what was requested before it. */
  #seenRequests(): Set<string> {
    return new Set(this.#options.page.network().entries.map(({ requestId }) => requestId));
  }

  async #toResult(
    observation: Observation,
    { first, probes, cookies }: { first: LoadResult; probes: Capture['probes']; cookies: CapturedCookie[] },
  ): Promise<SiteCaptureResult> {
    const { request, page } = this.#options;
    const { entries, dropped, withoutHeaders } = page.network();
    const pageOf = (requestId: string): string =>
      (this.#visits.findLast(({ requestIds }) => !requestIds.has(requestId)) ?? this.#visits[0])?.pageId ?? 'page_1';
    const har = await toCapturedHar(entries, this.#visits, pageOf);
    const hosts = new Set(entries.flatMap(({ url }) => URL.parse(url)?.hostname ?? []));
    const capture: Capture = {
      url: request.url,
      har,
      pages: entries.some(callsWebAuthn) ? this.#snapshots.map((page) => ({ ...page, usesWebAuthn: true })) : this.#snapshots,
      cookies: cookies.filter(({ domain }) => isOfHosts(domain, hosts)),
      probes,
      actions: this.#capturedActions,
      loss: toLoss(observation, { dropped, withoutHeaders }),
    };
    const { statusCode, finalUrl } = first;
    const warnings = [...new Set(this.#warnings)];
    return { capture, statusCode, finalUrl, block: this.#block, actions: this.#actions, screenshot: this.#screenshot, warnings };
  }
}

const loadOptions = { showAnything: false, keepBody: false, readsPage: true, bodyBytesMax: 1024 * 1024 };

/** The action without outputs, which may hold what the site shows to its user. */
const toAction = ({ index, type, status, duration_ms, error }: StepResult): InspectAction => ({
  index,
  type,
  status,
  error_code: error?.code ?? null,
  duration_ms,
});

const callsWebAuthn = ({ resourceType, details }: NetworkEntry): boolean =>
  resourceType === 'Script' && webAuthnCall.test(details?.responseBody?.text ?? '');

/** A session's context may have cookies of sites that were not inspected. */
function isOfHosts(domain: string, hosts: ReadonlySet<string>): boolean {
  const bare = domain.replace(/^\./, '');
  for (const host of hosts) if (host === bare || (domain.startsWith('.') && host.endsWith(domain))) return true;
  return false;
}

function toLoss(
  { dropped: { bodies, bytes, messages } }: Observation,
  { dropped, withoutHeaders }: Pick<NetworkEntries, 'dropped' | 'withoutHeaders'>,
): CaptureLoss {
  const counts = { requests: dropped, headers: withoutHeaders, bodies, messages };
  const reasons = Object.entries(counts).flatMap(([what, count]) => (count > 0 ? [what] : []));
  return { droppedRequests: dropped, droppedBytes: bytes, reasons };
}

const scrollMsMax = 8000;

const scrollSource = `async (withinMs) => {
  const endMs = performance.now() + withinMs;
  for (let lastY = -1; performance.now() < endMs && scrollY !== lastY;) {
    lastY = scrollY;
    scrollBy(0, innerHeight * 0.8);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  scrollTo(0, 0);
}`;

/** A page that does not answer is read as it is. @throws BrowserClosedError, or the signal's reason */
async function scrollToEnd(page: Page, { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number }): Promise<void> {
  const withinMs = Math.min(scrollMsMax, timeoutMs);
  try {
    await page.call(page.mainFrame(), scrollSource, [withinMs], { signal, timeoutMs: Math.max(1, withinMs + 1000) });
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
  }
}
