/** Reads a page: a snapshot of its document, a screenshot, a PDF. */
import { FetchSnapshotOptions, PdfOptions, ServiceError, type FetchRequest } from '@berth/contract';
import { pageProbeObject, type PageProbe, snapshotScript, type Snapshot } from '@berth/reading';
import { bothWithFrames, PageError, whenQuiet, type Page, type toQuietOptions, toPrintOptions, type StepContext } from '@berth/devtools';
import { Deadline } from '@berth/lib/deadline.ts';
import { captureScreenshot } from '../../sessions/drive/drive.ts';
import { wantsFrames, wantsVisible } from './convert.ts';
import { limits } from './limits.ts';
import { toBytes, type PagePart } from './result.ts';

/** One read of a page: its HTML, its visible part, and the probe for block detection. */
export interface PageSnapshot {
  probe: PageProbe;
  /** The document alone. */
  whole: Snapshot;
  /** The document as a visitor sees it, with frames; null when no requested format needs it. */
  visible: Snapshot | null;
  /** The document with those of its frames; null when no requested format needs it, or there are none. */
  full: Snapshot | null;
  /** Whether a script that did not return was ended, so that the page could be read. */
  isScriptStopped: boolean;
}

/** A page that is busy for longer counts as not answering. */
const snapshotMsMax = 10_000;
/** Share of the time that is left for the first read, so that there is enough for a second one. */
const firstReadShare = 1 / 2;

const readSource = whenQuiet(`(options, { visibleToo, framesToo }) => {
  const take = ${snapshotScript};
  const whole = take({ ...options, visibleOnly: false });
  const visible = visibleToo ? take({ ...options, visibleOnly: true }) : null;
  const full = framesToo && whole.hasFrames ? take({ ...options, visibleOnly: false, withFrames: true }) : null;
  return { probe: ${pageProbeObject('whole.html')}, whole, visible, full };
}`);

interface CaptureLimits {
  signal: AbortSignal;
  timeoutMs: number;
}

interface ReadLimits {
  signal: AbortSignal;
  leftMs: number;
  /** null: read at once. */
  quiet: ReturnType<typeof toQuietOptions> | null;
}

/**
 * Returns null when the page does not answer in time, or is too large. A script that does not return is stopped first: in
 * a browser without a process for each site it may be that of a frame, which the page knows nothing of.
 */
export async function readPageSnapshot(
  page: Page,
  request: FetchRequest,
  { signal, leftMs, quiet }: ReadLimits,
): Promise<PageSnapshot | null> {
  const by = new Deadline({ signal, timeoutMs: leftMs });
  const first = await readOnce(page, request, { by: by.within(leftMs * firstReadShare), quiet });
  if (first !== 'timeout') return first;
  await page.stopScript({ signal });
  const second = await readOnce(page, request, { by, quiet: null });
  return second === 'timeout' ? null : second && { ...second, isScriptStopped: true };
}

async function readOnce(
  page: Page,
  request: FetchRequest,
  { by, quiet }: { by: Deadline; quiet: ReadLimits['quiet'] },
): Promise<PageSnapshot | 'timeout' | null> {
  const options = { maxBytes: limits.htmlBytesMax };
  const { signal, leftMs } = by;
  const readMs = page.timeoutScale.ms(snapshotMsMax, leftMs);
  const timeoutMs = Math.max(1, Math.min((quiet?.withinMs ?? 0) + readMs, leftMs));
  const within = { signal, timeoutMs, maxBytes: 6 * limits.htmlBytesMax };
  const parts = { visibleToo: wantsVisible(request), framesToo: wantsFrames(request) };
  try {
    const read = await page.call<Omit<PageSnapshot, 'isScriptStopped'>>(page.mainFrame(), readSource, [quiet, options, parts], within);
    return { ...read, isScriptStopped: false };
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
    if (error.reason === 'timeout') return 'timeout';
    if (error.reason === 'too_large') return null;
    throw error;
  }
}

/** The snapshot with what frames of other sites have. @throws BrowserClosedError, or the signal's reason */
export async function readFrames(
  page: Page,
  snapshot: PageSnapshot,
  within: { signal: AbortSignal; leftMs: number },
): Promise<PageSnapshot> {
  const reading = { ...within, frameId: page.mainFrame(), maxBytes: limits.htmlBytesMax };
  const { visible, whole: full } = await bothWithFrames(page, { visible: snapshot.visible, whole: snapshot.full }, reading);
  return { ...snapshot, visible, full };
}

const defaults: NonNullable<FetchRequest['screenshot']> = { full_page: true, format: 'png', scroll_first: true };

/** The page has loaded: an element that has not appeared by then is not coming. */
const elementMsMax = 3000;

/** Takes a screenshot; without one, a warning says why. */
export async function takeScreenshot(
  { stepContext, request }: { stepContext: StepContext; request: FetchRequest },
  { signal, timeoutMs }: CaptureLimits,
): Promise<PagePart> {
  const { full_page: fullPage, format, quality, selector, scroll_first: scrollFirst } = request.screenshot ?? defaults;
  try {
    const { timeoutScale } = stepContext.page(stepContext.mainTabId);
    const limitMs = selector === undefined ? timeoutMs : Math.min(timeoutMs, timeoutScale.ms(elementMsMax, timeoutMs / 2));
    const imageOptions = { selector, format, quality, fullPage, scrollFirst, timeoutMs: limitMs, bytesMax: limits.screenshotBytesMax };
    const screenshot = await captureScreenshot(stepContext, imageOptions, signal);
    return { screenshot, warnings: screenshot.warnings.map((warning) => `screenshot:${warning}`) };
  } catch (error) {
    return { warnings: [`screenshot_failed:${toWarningReason(error)}`] };
  }
}

function toWarningReason(error: unknown): string {
  if (error instanceof PageError) return error.reason;
  if (error instanceof ServiceError && error.code === 'page_failed') return String(error.details['reason']);
  throw error;
}

/** Reads the accessibility tree; without one, a warning says why. A page that closes with the fetch has no use for references. */
export async function takeSnapshot(page: Page, request: FetchRequest, options: CaptureLimits): Promise<PagePart> {
  const { max_tokens: maxTokens, ...asked } = request.snapshot ?? FetchSnapshotOptions.parse({});
  try {
    const withRefs = request.session_id !== null;
    const { text: snapshot, left, warnings } = await page.snapshot({ ...asked, boxes: false, maxTokens, withRefs }, options);
    return { snapshot, warnings: [...warnings, ...(left ? [`snapshot_cut:${left.nodes}`] : [])] };
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
    return { warnings: [`snapshot_failed:${error.reason}`] };
  }
}

/** Prints a PDF; without one, a warning says why. */
export async function printPdf(page: Page, { pdf }: FetchRequest, options: CaptureLimits): Promise<PagePart> {
  try {
    const data = await page.pdf(toPrintOptions(pdf ?? PdfOptions.parse({})), { ...options, maxBytes: limits.pdfBytesMax });
    return { pdf: toBytes({ data, truncated: false }, 'application/pdf') };
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
    return { warnings: [`pdf_failed:${error.reason}`] };
  }
}
