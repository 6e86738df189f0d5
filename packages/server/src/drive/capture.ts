/** Pictures and documents of a page. */
import type { PdfRequest, PictureResponse, ScreenshotRequest, Selector, Step } from '@berth/contract';
import type { Page, Screenshot } from '../browser/browser.ts';
import { runSteps, type StepWorld } from '../steps/steps.ts';
import { pageFailed } from './errors.ts';
import { tabIdOf, worldOf, type WorldParts } from './world.ts';

export type Picture = PictureResponse;

/** All of a reply, before it is written as text: it is held in memory once for each caller. */
const binaryBytesMax = 24 * 1024 * 1024;

/** @throws PageError, ServiceError page_failed */
export function takePicture(parts: WorldParts, request: ScreenshotRequest, signal: AbortSignal): Promise<Picture> {
  const { browser } = parts.machine;
  const tabId = tabIdOf(browser, request.tab_id);
  const { selector, format, quality, full_page: fullPage, scroll_first: scrollFirst, timeout_ms: timeoutMs } = request;
  const order = { selector, format, quality, fullPage, scrollFirst, timeoutMs, bytesMax: binaryBytesMax };
  // Throws where there is no such tab.
  browser.page(tabId);
  return pictureIn(worldOf(parts, tabId), order, signal);
}

export interface PictureOrder {
  /** Of one element only, by any locator of the step language. */
  selector: Selector | undefined;
  format: ScreenshotRequest['format'];
  quality: number | undefined;
  fullPage: boolean;
  scrollFirst: boolean;
  timeoutMs: number;
  bytesMax: number;
}

/** Of the page that steps would begin in. @throws PageError, ServiceError page_failed */
export async function pictureIn(world: StepWorld, order: PictureOrder, signal: AbortSignal): Promise<Picture> {
  if (order.selector !== undefined) return elementIn(world, { ...order, selector: order.selector }, signal);
  const { format, fullPage, scrollFirst, timeoutMs, bytesMax: maxBytes } = order;
  const asked = { format, quality: qualityOf(order), fullPage, scrollFirst: fullPage && scrollFirst };
  return toPicture(await world.page(world.mainTabId).screenshot(asked, { signal, timeoutMs, maxBytes }));
}

const usualQuality = 80;
const runMarginMs = 500;
/** PNG has none. */
const qualityOf = ({ format, quality = usualQuality }: Pick<PictureOrder, 'format' | 'quality'>): number | undefined =>
  format === 'png' ? undefined : quality;

/** As the step of that name does it: with its locators, and with its patience. */
async function elementIn(world: StepWorld, order: PictureOrder & { selector: Selector }, signal: AbortSignal): Promise<Picture> {
  const { selector, format, timeoutMs } = order;
  const step = { ...plainStep, selectors: [selector], format, quality: qualityOf(order), timeout_ms: timeoutMs } satisfies Step;
  // The step's own time ends first, and its failure says what was missing.
  const { results } = await runSteps(
    world,
    { steps: [step], stopOnError: true, timeoutMs: timeoutMs + runMarginMs, allowEvaluate: false },
    { signal },
  );
  const [result] = results;
  if (!result || result.error || typeof result.output !== 'object')
    throw pageFailed(result?.error?.code ?? 'timeout', result?.error?.message ?? 'It took too long.');
  return { data_base64: null, tiles: null, ...(result.output as Partial<Picture>), warnings: result.warnings ?? [] } as Picture;
}

const plainStep = {
  type: 'screenshot',
  optional: false,
  retries: 0,
  on_error: 'fail',
  tab: 'main',
  full_page: false,
  omit_background: false,
} as const;

function toPicture({ tiles, contentType, width, height, warnings }: Screenshot): Picture {
  const all = tiles.map(({ data, ...place }) => ({ data_base64: data.toString('base64'), ...place }));
  const [only, ...more] = all;
  return {
    content_type: contentType,
    width,
    height,
    ...(more.length > 0 ? { data_base64: null, tiles: all } : { data_base64: only?.data_base64 ?? null, tiles: null }),
    warnings,
  };
}

/** @throws PageError */
export function printPage(page: Page, request: PdfRequest, signal: AbortSignal): Promise<Buffer> {
  const order = {
    landscape: request.landscape,
    printBackground: request.print_background,
    scale: request.scale,
    paperWidthInches: request.paper_width_inches,
    paperHeightInches: request.paper_height_inches,
    marginInches: request.margin_inches,
    pageRanges: request.page_ranges,
  };
  return page.pdf(order, { signal, timeoutMs: request.timeout_ms, maxBytes: binaryBytesMax });
}
