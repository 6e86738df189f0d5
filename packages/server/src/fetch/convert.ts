/** Converts a page's HTML, rendered or plain, to the requested formats. */
import type { FetchRequest } from '@berth/contract';
import { ContentFailed, type Content, type ContentFormat, type ContentResult } from '../content/content.ts';
import type { PageResult } from './result.ts';

export interface PageSource {
  url: string;
  /** The whole document, hidden elements included. */
  html: string;
  mainHtml: string | null | undefined;
  /** Without hidden elements; null when no browser rendered the page. */
  visible: { html: string; mainHtml: string | null } | null;
  /** As a visitor reads it; null when no browser rendered the page. */
  text: string | null;
}

/** Formats of the visible part, and formats of the whole document. */
const visibleFormats: readonly ContentFormat[] = ['markdown', 'text'];
const wholeFormats: readonly ContentFormat[] = ['html', 'links', 'metadata', 'tables'];

/** Whether a requested format leaves out hidden elements. */
export const wantsVisible = ({ formats }: Pick<FetchRequest, 'formats'>): boolean =>
  formats.includes('markdown') || formats.includes('text');

const wantsWholePage = ({ only_main_content: main, include_selectors: include, exclude_selectors: exclude }: FetchRequest): boolean =>
  !main && include.length === 0 && exclude.length === 0;

type ConvertedPage = Pick<PageResult, 'html' | 'markdown' | 'text' | 'links' | 'page' | 'tables' | 'json' | 'title' | 'warnings'>;

interface ConvertLimits {
  signal: AbortSignal;
  timeoutMs: number;
}

/** A format that fails is missing from the result, and a warning names it. */
export async function convertPage(
  content: Content,
  request: FetchRequest,
  source: PageSource,
  limits: ConvertLimits,
): Promise<Partial<ConvertedPage>> {
  const converted: Partial<ConvertedPage> = { warnings: [] };
  const wanted = new Set<ContentFormat>(request.formats.filter((format): format is ContentFormat => isContentFormat(format)));
  if (wantsWholePage(request)) {
    if (wanted.delete('html')) converted.html = source.html;
    if (source.text !== null && wanted.delete('text')) converted.text = source.text;
  }
  const convertFormats = async (
    formats: readonly ContentFormat[],
    part: { html: string; mainHtml: string | null | undefined },
    extract: FetchRequest['extract'],
  ) => {
    if (formats.length === 0 && !extract) return;
    const result = await convertOne(content, request, { url: source.url, ...part, formats, extract }, limits);
    if ('failed' in result)
      converted.warnings?.push(...[...formats, ...(extract ? ['json'] : [])].map((format) => `content_failed:${format}:${result.failed}`));
    else merge(converted, result, extract !== null);
  };
  const visible = source.visible ?? source;
  await Promise.all([
    convertFormats(
      visibleFormats.filter((format) => wanted.has(format)),
      visible,
      null,
    ),
    convertFormats(
      wholeFormats.filter((format) => wanted.has(format)),
      source,
      request.extract,
    ),
  ]);
  return converted;
}

const isContentFormat = (format: string): format is ContentFormat => [...visibleFormats, ...wholeFormats].includes(format as ContentFormat);

interface ConvertPart {
  url: string;
  html: string;
  mainHtml: string | null | undefined;
  formats: readonly ContentFormat[];
  extract: FetchRequest['extract'];
}

async function convertOne(
  content: Content,
  request: FetchRequest,
  part: ConvertPart,
  { signal, timeoutMs }: ConvertLimits,
): Promise<ContentResult | { failed: string }> {
  const { only_main_content: onlyMainContent, include_selectors: includeSelectors, exclude_selectors: excludeSelectors } = request;
  const deadline = AbortSignal.timeout(Math.max(1, timeoutMs));
  try {
    return await content.convert(
      { ...part, onlyMainContent, includeSelectors, excludeSelectors },
      { signal: AbortSignal.any([signal, deadline]) },
    );
  } catch (error) {
    if (deadline.aborted && !signal.aborted) return { failed: 'timeout' };
    if (error instanceof ContentFailed) return { failed: error.reason };
    throw error;
  }
}

function merge(converted: Partial<ConvertedPage>, result: ContentResult, extracted: boolean): void {
  const { html, markdown, text, links, page, tables, json, title, warnings } = result;
  if (title !== '') converted.title = title;
  if (html !== undefined) converted.html = html;
  if (markdown !== undefined) converted.markdown = markdown;
  if (text !== undefined) converted.text = text;
  if (links !== undefined) converted.links = links;
  if (page !== undefined) converted.page = page;
  if (tables !== undefined) converted.tables = tables;
  if (extracted && json !== undefined) converted.json = json;
  converted.warnings = [...(converted.warnings ?? []), ...warnings];
}
