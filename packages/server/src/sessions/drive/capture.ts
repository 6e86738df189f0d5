/** Screenshots and PDFs. */
import type { PdfRequest, PictureResponse, ScreenshotRequest, Selector, Step } from '@berth/contract';
import { untilQuiet, type Page, type Screenshot, runSteps, toPrintOptions, type StepContext } from '@berth/devtools';
import { Deadline } from '@berth/lib/deadline.ts';
import { pageFailed, refFailed } from './errors.ts';
import { tabIdOf, createStepContext, type StepContextDeps } from './step-context.ts';

export type ScreenshotResult = PictureResponse;

/** Limit of the binary data in one response, which is held in memory. */
const binaryBytesMax = 24 * 1024 * 1024;

/** @throws PageError, ServiceError page_failed */
export async function takeScreenshot(deps: StepContextDeps, request: ScreenshotRequest, signal: AbortSignal): Promise<ScreenshotResult> {
  const { browser } = deps.machine;
  const tabId = tabIdOf(browser, request.tab_id);
  const { format, quality, full_page: fullPage, scroll_first: scrollFirst, annotate } = request;
  const selector = request.ref === undefined ? request.selector : `ref/${request.ref}`;
  // Throws TabNotFoundError.
  const timeoutMs = await leftWhenQuiet(browser.page(tabId), request, signal);
  const options = { selector, format, quality, fullPage, scrollFirst, annotate, timeoutMs, bytesMax: binaryBytesMax };
  return captureScreenshot(createStepContext(deps, tabId), options, signal);
}

export interface ScreenshotOptions {
  /** Capture only this element. */
  selector: Selector | undefined;
  format: ScreenshotRequest['format'];
  quality: number | undefined;
  fullPage: boolean;
  scrollFirst: boolean;
  /** Draws the references of what can be operated. */
  annotate?: boolean;
  timeoutMs: number;
  bytesMax: number;
}

/** Captures the context's main tab. @throws PageError, ServiceError page_failed */
export async function captureScreenshot(context: StepContext, options: ScreenshotOptions, signal: AbortSignal): Promise<ScreenshotResult> {
  if (options.selector !== undefined) return captureElement(context, { ...options, selector: options.selector }, signal);
  const { format, fullPage, scrollFirst, annotate, timeoutMs, bytesMax: maxBytes } = options;
  const request = { format, quality: toQuality(options), fullPage, scrollFirst: fullPage && scrollFirst, annotate };
  return toScreenshotResult(await context.page(context.mainTabId).screenshot(request, { signal, timeoutMs, maxBytes }));
}

const qualityDefault = 80;
const runMarginMs = 500;
/** PNG takes no quality. */
const toQuality = ({ format, quality = qualityDefault }: Pick<ScreenshotOptions, 'format' | 'quality'>): number | undefined =>
  format === 'png' ? undefined : quality;

/** Runs a `screenshot` step, to use its locators and waiting. */
async function captureElement(
  context: StepContext,
  options: ScreenshotOptions & { selector: Selector },
  signal: AbortSignal,
): Promise<ScreenshotResult> {
  const { selector, format, timeoutMs, annotate = false } = options;
  const step = {
    ...screenshotStepDefaults,
    selectors: [selector],
    format,
    quality: toQuality(options),
    annotate,
    timeout_ms: timeoutMs,
  } satisfies Step;
  // The step times out before the run, because its error is the more specific one.
  const { results } = await runSteps(
    context,
    { steps: [step], stopOnError: true, timeoutMs: timeoutMs + runMarginMs, allowEvaluate: false },
    { signal },
  );
  const [result] = results;
  const { error } = result ?? {};
  if (error?.code === 'stale_ref' || error?.code === 'ref_not_found') throw refFailed(error.code, error.message, error.details?.candidates);
  if (!result || error || typeof result.output !== 'object')
    throw pageFailed(error?.code ?? 'timeout', error?.message ?? 'The screenshot timed out.');
  return {
    data_base64: null,
    tiles: null,
    ...(result.output as Partial<ScreenshotResult>),
    warnings: result.warnings ?? [],
  } as ScreenshotResult;
}

const screenshotStepDefaults = {
  type: 'screenshot',
  optional: false,
  retries: 0,
  on_error: 'fail',
  tab: 'main',
  full_page: false,
  omit_background: false,
} as const;

function toScreenshotResult({ tiles, contentType, width, height, warnings, annotations }: Screenshot): ScreenshotResult {
  const encoded = tiles.map(({ data, ...position }) => ({ data_base64: data.toString('base64'), ...position }));
  const [only, ...more] = encoded;
  return {
    content_type: contentType,
    width,
    height,
    ...(more.length > 0 ? { data_base64: null, tiles: encoded } : { data_base64: only?.data_base64 ?? null, tiles: null }),
    warnings,
    ...(annotations ? { annotations } : {}),
  };
}

/** Waits for the content of a page that has just loaded. Returns what is left of the request's time. */
async function leftWhenQuiet(page: Page, { timeout_ms: timeoutMs }: { timeout_ms: number }, signal: AbortSignal): Promise<number> {
  const deadline = new Deadline({ signal, timeoutMs });
  await untilQuiet(page, { leftMs: timeoutMs / 4, signal });
  return Math.max(1, deadline.leftMs);
}

/** @throws PageError */
export async function printPage(page: Page, request: PdfRequest, signal: AbortSignal): Promise<Buffer> {
  const timeoutMs = await leftWhenQuiet(page, request, signal);
  return page.pdf(toPrintOptions(request), { signal, timeoutMs, maxBytes: binaryBytesMax });
}
