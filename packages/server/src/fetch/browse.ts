/** One attempt with a browser: load, look what it is, wait and act, and take what was asked for. */
import type { FetchRequest, Step } from '@berth/contract';
import { PageError, type CookieOrder, type LoadOutcome, type Page, type PrivatePage } from '../browser/browser.ts';
import type { Content } from '../content/content.ts';
import { judgePage, judgeReply, toHar, type Look, type Solved } from '../drive/drive.ts';
import type { Clock } from '../lib/clock.ts';
import { runSteps, type StepWorld } from '../steps/steps.ts';
import type { Budget } from './budget.ts';
import { takeBody, takeData, toBytes, type Body } from './bytes.ts';
import { convertPage } from './convert.ts';
import { emptyFound, type Found } from './found.ts';
import { limits } from './limits.ts';
import { takePicture } from './picture.ts';
import { readSeen, type Seen } from './seen.ts';

export interface BrowseParts {
  request: FetchRequest;
  page: PrivatePage;
  world: StepWorld;
  content: Content;
  clock: Clock;
  budget: Budget;
  /** Of the time that is left, what this attempt may take. */
  attemptMs: number;
  allowEvaluate: boolean;
  /** null: those of the request are left out. */
  cookies: readonly CookieOrder[];
  /** Has a captcha solved that stands in the way; null where nobody can. */
  solve: ((signal: AbortSignal) => Promise<Solved>) | null;
  /** Of all attempts together. */
  steps: { ran: number };
}

/** For answers to scripts, after the event that was waited for. */
const graceMsMax = 500;
/** What has come by then is still to be looked at and turned into what was asked for. */
const afterwardsMs = ({ patience }: Page, attemptMs: number): number => Math.min(patience.ms(4000), attemptMs * 0.25);

/** Throws NavigationError, PageError, BrowserGone, or the signal's reason. */
export async function browse(parts: BrowseParts, signal: AbortSignal): Promise<Found> {
  const { request, page, attemptMs, clock } = parts;
  const startMs = clock.monotonicMs();
  await page.prepare(
    {
      blockResources: request.block_resources,
      extraHeaders: request.headers,
      cookies: parts.cookies,
      wholeNetwork: request.formats.includes('har'),
    },
    { signal },
  );
  const outcome = await page.load(loadOrder(request, Math.max(1, Math.round(attemptMs - afterwardsMs(page.page, attemptMs)))), { signal });
  const found = foundOf(outcome);
  found.loadMs = Math.round(clock.monotonicMs() - startMs);
  if (outcome.timedOut) found.warnings.push('load_timed_out');
  if (outcome.body) takeUnshown(request, outcome, outcome.body, found);
  else if (outcome.statusCode !== 304 && outcome.statusCode !== 204 && outcome.statusCode !== 205)
    await readPage(parts, outcome, found, signal);
  if (request.formats.includes('har'))
    found.har = { log: { ...toHar(page.network(), { title: found.finalUrl, startedAt: page.network().since }).log } };
  return found;
}

const showsAnything = ({ formats, actions, wait_for: waitFor }: FetchRequest): boolean =>
  formats.includes('screenshot') || formats.includes('pdf') || actions.length > 0 || waitFor !== null;

const loadOrder = (request: FetchRequest, timeoutMs: number) => ({
  url: request.url,
  waitUntil: request.wait_until,
  timeoutMs,
  showAnything: showsAnything(request),
  // Data that is shown is kept beside its picture.
  keepBody: request.formats.includes('raw') || (request.formats.includes('json') && showsAnything(request)),
  readsPage: true,
  bodyBytesMax: limits.rawBytes,
});

const foundOf = (outcome: LoadOutcome): Found => ({
  ...emptyFound(outcome.finalUrl),
  statusCode: outcome.statusCode,
  headers: outcome.headers,
  contentType: outcome.contentType,
  redirects: outcome.redirects,
  title: outcome.title,
  ttfbMs: outcome.ttfbMs,
});

/** What no browser has shown is judged by what came over the network. */
function takeUnshown(request: FetchRequest, outcome: LoadOutcome, body: Body, found: Found): void {
  const { statusCode: status, headers, cookieNames, finalUrl: url, contentType, title } = outcome;
  const facts = { status, headers, cookieNames, url, contentType, title, html: '', visibleTextLength: null, dom: null, netError: null };
  const { block, captcha, warnings } = judgeReply(facts, request.block_detection);
  found.block = block;
  found.captcha = captcha;
  found.warnings.push(...warnings);
  takeBody(found, body, request);
}

async function readPage(parts: BrowseParts, outcome: LoadOutcome, found: Found, signal: AbortSignal): Promise<void> {
  const { request, page } = parts;
  // A page that asks for its content when it has loaded is not yet what a visitor will see.
  if (!outcome.timedOut && !(await page.answered(Math.min(page.page.patience.ms(graceMsMax), parts.budget.leftMs() / 4))))
    found.warnings.push('requests_pending');
  const read = (): Promise<Seen | null> => readSeen(page.page, request, { signal, leftMs: parts.budget.leftMs() });
  // Most pages are what they are when they have loaded: then one reading serves for the verdict too.
  const early = actsOn(request) ? undefined : await read();
  const changed = await judge(parts, outcome, { found, look: early && early.look }, signal);
  if (found.block?.blocked !== true) await act(parts, found, signal);
  const seen = early === undefined || changed ? await read() : early;
  await Promise.all([takeContent(parts, seen, found, signal), takeOwnBytes(parts, found, signal)]);
  const options = { signal, timeoutMs: Math.max(1, parts.budget.leftMs()) };
  if (request.formats.includes('screenshot')) await takePicture({ world: parts.world, request }, found, options);
  if (request.formats.includes('pdf')) await takePdf(page.page, request, found, options);
}

/** Tells whether the page may have become another meanwhile. */
async function judge(
  { request, page, budget, solve }: BrowseParts,
  outcome: LoadOutcome,
  { found, look: early }: { found: Found; look: Look | null | undefined },
  signal: AbortSignal,
): Promise<boolean> {
  const judgeNow = async (look: Look | null | undefined): Promise<void> => {
    const { block, captcha, warnings, arrived } = await judgePage(page.page, outcome, {
      strictness: request.block_detection,
      leftMs: budget.leftMs(),
      signal,
      ...(look === undefined ? {} : { look }),
    });
    found.block = block;
    found.captcha = captcha;
    found.warnings.push(...warnings);
    if (arrived) Object.assign(found, { finalUrl: arrived.finalUrl, title: arrived.title, statusCode: arrived.statusCode });
  };
  await judgeNow(early);
  const waited = (found.block?.challenge_waited_ms ?? 0) > 0;
  if (!solve || found.block?.blocked !== true) return waited;
  const { isSolved, warning } = await solve(signal);
  if (isSolved) await judgeNow(undefined);
  if (warning) found.warnings.push(warning);
  return true;
}

const actsOn = ({ wait_for: waitFor, actions }: FetchRequest): boolean => waitFor !== null || actions.length > 0;

/** What is waited for is a step like any other. */
function stepsOf({ wait_for: waitFor, actions }: FetchRequest): { waits: Step[]; actions: readonly Step[] } {
  const waits: Step[] = [];
  const wait = (fields: object): void => void waits.push({ ...waitStep, ...fields } as Step);
  if (waitFor?.selector !== undefined) wait({ selectors: [waitFor.selector] });
  if (waitFor?.text !== undefined) wait({ text: waitFor.text });
  if (waitFor?.ms !== undefined) wait({ ms: waitFor.ms });
  return { waits, actions };
}

const waitStep = { type: 'wait', optional: false, retries: 0, on_error: 'fail', tab: 'main', timeout_ms: 30_000 };

async function act(parts: BrowseParts, found: Found, signal: AbortSignal): Promise<void> {
  const { request, world, budget, page, allowEvaluate, steps: told } = parts;
  const { waits, actions } = stepsOf(request);
  const run = (steps: readonly Step[]) =>
    runSteps(
      world,
      { steps, stopOnError: true, timeoutMs: Math.max(1, budget.leftMs() - afterwardsMs(page.page, budget.leftMs())), allowEvaluate },
      { signal },
    );
  if (waits.length > 0) {
    const { results } = await run(waits);
    const failed = results.find(({ status }) => status === 'error');
    if (failed) found.warnings.push(`wait_for_failed:${failed.error?.code ?? 'timeout'}`);
  }
  if (actions.length > 0) {
    const { results, ran } = await run(actions);
    found.actions = results;
    told.ran += ran;
  }
  if (waits.length + actions.length > 0) found.finalUrl = page.page.url();
}

async function takeContent({ request, content, budget }: BrowseParts, seen: Seen | null, found: Found, signal: AbortSignal): Promise<void> {
  if (!seen) {
    found.warnings.push('page_did_not_answer');
    return;
  }
  const { look, whole, visible } = seen;
  if (/^https?:/.test(look.url)) found.finalUrl = look.url;
  if (whole.truncated) found.warnings.push('html_truncated');
  found.title = whole.title || found.title;
  const source = {
    url: found.finalUrl,
    html: whole.html,
    mainHtml: whole.mainHtml,
    visible,
    text: request.formats.includes('text') && !whole.hasShadow ? whole.text : null,
  };
  const { warnings = [], ...made } = await convertPage(content, request, source, { signal, timeoutMs: budget.leftMs() });
  Object.assign(found, made);
  found.warnings.push(...warnings);
}

async function takeOwnBytes({ request, page }: BrowseParts, found: Found, signal: AbortSignal): Promise<void> {
  if (!request.formats.includes('raw') && !request.formats.includes('json')) return;
  const body = await page.documentBody({ signal, maxBytes: limits.rawBytes });
  if (body && request.extract === null) takeData(found, body);
  if (!request.formats.includes('raw')) return;
  if (body) found.raw = toBytes(body, found.contentType);
  else found.warnings.push('raw_not_kept');
}

async function takePdf(
  page: Page,
  request: FetchRequest,
  found: Found,
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<void> {
  const {
    landscape,
    print_background: printBackground,
    scale,
    paper_width_inches,
    paper_height_inches,
    margin_inches,
    page_ranges,
  } = request.pdf ?? {};
  try {
    const data = await page.pdf(
      {
        landscape,
        printBackground: printBackground ?? true,
        scale,
        paperWidthInches: paper_width_inches ?? 8.27,
        paperHeightInches: paper_height_inches ?? 11.69,
        marginInches: margin_inches ?? 0.4,
        pageRanges: page_ranges,
      },
      { ...options, maxBytes: limits.pdfBytes },
    );
    found.pdf = toBytes({ data, truncated: false }, 'application/pdf');
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
    found.warnings.push(`pdf_failed:${error.reason}`);
  }
}
