/** From a page's HTML, rendered or as it came, to the formats that were asked for. */
import type { FetchRequest } from '@berth/contract';
import { ContentFailed, type Content, type ContentFormat, type ContentResult } from '../content/content.ts';
import type { Found } from './found.ts';

export interface Source {
  url: string;
  /** All of it, hidden elements too. */
  html: string;
  mainHtml: string | null | undefined;
  /** Without what a visitor does not see; null where nobody could tell. */
  visible: { html: string; mainHtml: string | null } | null;
  /** As a visitor reads it, where a browser told. */
  text: string | null;
}

/** What is made of what a visitor sees, and what of all that is there. */
const visibleFormats: readonly ContentFormat[] = ['markdown', 'text'];
const wholeFormats: readonly ContentFormat[] = ['html', 'links', 'metadata', 'tables'];

/** Whether the page has to be looked at without its hidden parts. */
export const wantsVisible = ({ formats }: Pick<FetchRequest, 'formats'>): boolean =>
  formats.includes('markdown') || formats.includes('text');

const isWhole = ({ only_main_content: main, include_selectors: include, exclude_selectors: exclude }: FetchRequest): boolean =>
  !main && include.length === 0 && exclude.length === 0;

type Made = Pick<Found, 'html' | 'markdown' | 'text' | 'links' | 'page' | 'tables' | 'json' | 'title' | 'warnings'>;

interface Within {
  signal: AbortSignal;
  timeoutMs: number;
}

/** What cannot be made is missing, and a warning says so: the rest is still worth having. */
export async function convertPage(content: Content, request: FetchRequest, source: Source, within: Within): Promise<Partial<Made>> {
  const made: Partial<Made> = { warnings: [] };
  const wanted = new Set<ContentFormat>(request.formats.filter((format): format is ContentFormat => isContentFormat(format)));
  if (isWhole(request)) {
    if (wanted.delete('html')) made.html = source.html;
    if (source.text !== null && wanted.delete('text')) made.text = source.text;
  }
  const ask = async (
    formats: readonly ContentFormat[],
    part: { html: string; mainHtml: string | null | undefined },
    extract: FetchRequest['extract'],
  ) => {
    if (formats.length === 0 && !extract) return;
    const result = await convertOne(content, request, { url: source.url, ...part, formats, extract }, within);
    if ('failed' in result)
      made.warnings?.push(...[...formats, ...(extract ? ['json'] : [])].map((format) => `content_failed:${format}:${result.failed}`));
    else take(made, result, extract !== null);
  };
  const visible = source.visible ?? source;
  await Promise.all([
    ask(
      visibleFormats.filter((format) => wanted.has(format)),
      visible,
      null,
    ),
    ask(
      wholeFormats.filter((format) => wanted.has(format)),
      source,
      request.extract,
    ),
  ]);
  return made;
}

const isContentFormat = (format: string): format is ContentFormat => [...visibleFormats, ...wholeFormats].includes(format as ContentFormat);

interface Part {
  url: string;
  html: string;
  mainHtml: string | null | undefined;
  formats: readonly ContentFormat[];
  extract: FetchRequest['extract'];
}

async function convertOne(
  content: Content,
  request: FetchRequest,
  part: Part,
  { signal, timeoutMs }: Within,
): Promise<ContentResult | { failed: string }> {
  const { only_main_content: onlyMainContent, include_selectors: includeSelectors, exclude_selectors: excludeSelectors } = request;
  const late = AbortSignal.timeout(Math.max(1, timeoutMs));
  try {
    return await content.convert(
      { ...part, onlyMainContent, includeSelectors, excludeSelectors },
      { signal: AbortSignal.any([signal, late]) },
    );
  } catch (error) {
    if (late.aborted && !signal.aborted) return { failed: 'timeout' };
    if (error instanceof ContentFailed) return { failed: error.reason };
    throw error;
  }
}

function take(made: Partial<Made>, result: ContentResult, extracted: boolean): void {
  const { html, markdown, text, links, page, tables, json, title, warnings } = result;
  if (title !== '') made.title = title;
  if (html !== undefined) made.html = html;
  if (markdown !== undefined) made.markdown = markdown;
  if (text !== undefined) made.text = text;
  if (links !== undefined) made.links = links;
  if (page !== undefined) made.page = page;
  if (tables !== undefined) made.tables = tables;
  if (extracted && json !== undefined) made.json = json;
  made.warnings = [...(made.warnings ?? []), ...warnings];
}
