import type { PdfOptions } from '@berth/contract';
import type { PdfOptions as PrintOptions } from '../../browser/browser.ts';
import type { ContentFormat } from '@berth/reading';
import type { StepAttempt, Act, StepOf } from '../run/attempt.ts';
import { htmlOf } from '../locators/read.ts';
import { waitUntilReady } from '../locators/ready.ts';
import { StepError } from '../context.ts';

/** Maximum size of one image or document, before base64. */
const binaryBytesMax = 16 * 1024 * 1024;
const htmlBytesMax = 8 * 1024 * 1024;

export const screenshot: Act<'screenshot'> = async (attempt, step) => {
  const { page, signal } = attempt;
  const element = step.selectors ? await waitUntilReady(attempt, step.selectors, ['visible', 'stable']) : undefined;
  const options = {
    format: step.format,
    quality: step.format === 'png' ? undefined : step.quality,
    fullPage: step.full_page,
    scrollFirst: step.scroll_first ?? step.full_page,
    element,
    omitBackground: step.omit_background,
    annotate: step.annotate,
  };
  const picture = await page.screenshot(options, { signal, timeoutMs: attempt.leftMs, maxBytes: binaryBytesMax });
  for (const warning of picture.warnings) attempt.warn(warning);
  const [first, ...more] = picture.tiles.map(({ data, width, height, y }) => ({ data_base64: data.toString('base64'), width, height, y }));
  const output = {
    ...{ content_type: picture.contentType, width: picture.width, height: picture.height },
    ...(picture.annotations ? { annotations: picture.annotations } : {}),
  };
  return more.length === 0 ? { ...output, data_base64: first?.data_base64 ?? '' } : { ...output, tiles: [first, ...more] };
};

type PrintRequest = { [Name in keyof PdfOptions]?: PdfOptions[Name] | undefined };

/** The options of a request or a step as a page takes them. */
export const toPrintOptions = (request: PrintRequest): PrintOptions => ({
  landscape: request.landscape,
  printBackground: request.print_background,
  scale: request.scale,
  paperWidthInches: request.paper_width_inches,
  paperHeightInches: request.paper_height_inches,
  marginInches: request.margin_inches,
  pageRanges: request.page_ranges,
  headerTemplate: request.header_template,
  footerTemplate: request.footer_template,
  preferCssPageSize: request.prefer_css_page_size,
  scrollFirst: request.scroll_first,
});

export const pdf: Act<'pdf'> = async (attempt, step) => {
  const data = await attempt.page.pdf(toPrintOptions(step), {
    signal: attempt.signal,
    timeoutMs: attempt.leftMs,
    maxBytes: binaryBytesMax,
  });
  return { content_type: 'application/pdf', bytes: data.length, data_base64: data.toString('base64') };
};

export const html: Act<'html'> = (attempt, { selectors }) => htmlOf(attempt, { selectors, part: 'document', bytesMax: htmlBytesMax });

async function convert(attempt: StepAttempt, step: StepOf<'markdown'> | StepOf<'links'>, format: ContentFormat) {
  const part = format === 'markdown' ? 'visible' : 'all';
  const source = await htmlOf(attempt, { selectors: step.selectors, part, bytesMax: htmlBytesMax });
  const onlyMainContent = step.type === 'markdown' && step.only_main_content;
  const options = {
    html: source,
    url: attempt.page.url(),
    formats: [format],
    onlyMainContent,
    includeSelectors: [],
    excludeSelectors: [],
    extract: null,
  };
  const result = await attempt.context.content.convert(options, { signal: attempt.signal });
  for (const warning of result.warnings) attempt.warn(warning);
  return result;
}

export const markdown: Act<'markdown'> = async (attempt, step) => (await convert(attempt, step, 'markdown')).markdown ?? '';
export const links: Act<'links'> = async (attempt, step) => (await convert(attempt, step, 'links')).links ?? [];

export const evaluate: Act<'evaluate'> = async (attempt, { expression }, { allowEvaluate }) => {
  if (!allowEvaluate) throw new StepError('not_allowed', 'JavaScript is not allowed for these steps.');
  return attempt.page.evaluate((await attempt.root()).frameId, expression, attempt.call(htmlBytesMax));
};
