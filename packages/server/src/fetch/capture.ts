/** The page as a picture and as a PDF. What cannot be made is missing from the result, and a warning says why. */
import { ServiceError, type FetchRequest } from '@berth/contract';
import { PageError, type Page } from '../browser/browser.ts';
import { captureScreenshot } from '../drive/drive.ts';
import type { StepContext } from '../steps/steps.ts';
import { toBytes } from './bytes.ts';
import type { PageResult } from './result.ts';
import { limits } from './limits.ts';

const defaults: NonNullable<FetchRequest['screenshot']> = { full_page: true, format: 'png', scroll_first: true };

/** The page has loaded: an element that has not appeared by then is not coming. */
const elementMsMax = 3000;

export async function addScreenshot(
  { stepContext, request }: { stepContext: StepContext; request: FetchRequest },
  result: PageResult,
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
): Promise<void> {
  const { full_page: fullPage, format, quality, selector, scroll_first: scrollFirst } = request.screenshot ?? defaults;
  try {
    const { timeoutScale } = stepContext.page(stepContext.mainTabId);
    const limitMs = selector === undefined ? timeoutMs : Math.min(timeoutMs, timeoutScale.ms(elementMsMax, timeoutMs / 2));
    const imageOptions = { selector, format, quality, fullPage, scrollFirst, timeoutMs: limitMs, bytesMax: limits.screenshotBytesMax };
    result.screenshot = await captureScreenshot(stepContext, imageOptions, signal);
    result.warnings.push(...result.screenshot.warnings.map((warning) => `screenshot:${warning}`));
  } catch (error) {
    result.warnings.push(`screenshot_failed:${toWarningReason(error)}`);
  }
}

function toWarningReason(error: unknown): string {
  if (error instanceof PageError) return error.reason;
  if (error instanceof ServiceError && error.code === 'page_failed') return String(error.details['reason']);
  throw error;
}

export async function addPdf(
  page: Page,
  request: FetchRequest,
  result: PageResult,
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
      { ...options, maxBytes: limits.pdfBytesMax },
    );
    result.pdf = toBytes({ data, truncated: false }, 'application/pdf');
  } catch (error) {
    if (!(error instanceof PageError)) throw error;
    result.warnings.push(`pdf_failed:${error.reason}`);
  }
}
