/** Converts a page's HTML, rendered or plain, to the requested formats. */
import type { FetchRequest } from '@berth/contract';
import { Deadline } from '@berth/lib/deadline.ts';
import { ContentError, type ContentFormat, type Converter } from '@berth/reading';
import type { PagePart } from './result.ts';

export interface PageSource {
  url: string;
  /** The whole document, hidden elements included. */
  html: string;
  /** The document without hidden elements, with the documents of frames; null when no browser rendered the page. */
  visible: { html: string } | null;
  /** The whole document with those of its frames; null when no browser rendered the page, or it has none. */
  full: { html: string } | null;
  /** A browser has counted the frames that are missing. */
  isRendered: boolean;
}

/** Formats of the visible part, and formats of the whole document. */
const visibleFormats: readonly ContentFormat[] = ['markdown', 'text'];
const wholeFormats: readonly ContentFormat[] = ['links', 'metadata', 'tables'];

/** Whether a requested format leaves out hidden elements. */
export const wantsVisible = ({ formats }: Pick<FetchRequest, 'formats'>): boolean =>
  formats.includes('markdown') || formats.includes('text');

/** Whether a requested format is made of the documents of frames, too. */
export const wantsFrames = ({ formats, extract }: Pick<FetchRequest, 'formats' | 'extract'>): boolean =>
  formats.includes('links') || formats.includes('tables') || extract !== null;

const wantsWholePage = ({ only_main_content: main, include_selectors: include, exclude_selectors: exclude }: FetchRequest): boolean =>
  !main && include.length === 0 && exclude.length === 0;

const isContentFormat = (format: string): format is ContentFormat => ['html', ...visibleFormats, ...wholeFormats].includes(format);

interface ConvertTarget {
  content: Converter;
  request: FetchRequest;
}

interface ConvertLimits {
  signal: AbortSignal;
  timeoutMs: number;
}

/** Converts a page to the requested formats. One that fails is missing, and a warning names it. */
export async function convertPage(target: ConvertTarget, source: PageSource, within: ConvertLimits): Promise<PagePart> {
  const { request } = target;
  const { url } = source;
  const wanted = new Set<ContentFormat>(request.formats.filter((format): format is ContentFormat => isContentFormat(format)));
  const whole: PagePart = wantsWholePage(request) && wanted.delete('html') ? { html: source.html } : {};
  const pick = (formats: readonly ContentFormat[]): ContentFormat[] => formats.filter((format) => wanted.has(format));
  const parts = await Promise.all([
    convertPart(target, { ...(source.visible ?? source), url, formats: pick(visibleFormats), extract: null }, within),
    convertPart(target, { ...(source.full ?? source), url, formats: pick(wholeFormats), extract: request.extract }, within),
    convertPart(target, { ...source, formats: pick(['html']), extract: null }, within),
  ]);
  const framesLeftOut = source.isRendered ? 0 : Math.max(...parts.map((part) => part.framesLeftOut));
  const warnings = [...parts.flatMap((part) => part.warnings), ...(framesLeftOut > 0 ? [`frames_left_out:${framesLeftOut}`] : [])];
  return Object.assign(whole, ...parts.map(({ page }) => page), { warnings });
}

interface ConvertPart {
  url: string;
  html: string;
  formats: readonly ContentFormat[];
  extract: FetchRequest['extract'];
}

interface ConvertedPart {
  page: PagePart;
  warnings: readonly string[];
  /** The number of frames that are missing from what was converted. */
  framesLeftOut: number;
}

async function convertPart({ content, request }: ConvertTarget, part: ConvertPart, within: ConvertLimits): Promise<ConvertedPart> {
  const { url, html, formats, extract } = part;
  if (formats.length === 0 && !extract) return { page: {}, warnings: [], framesLeftOut: 0 };
  const { only_main_content: onlyMainContent, include_selectors: includeSelectors, exclude_selectors: excludeSelectors } = request;
  const source = { url, html, formats, extract, onlyMainContent, includeSelectors, excludeSelectors };
  try {
    const { title, warnings, json, framesLeftOut, ...converted } = await Deadline.run(
      { signal: within.signal, timeoutMs: Math.max(1, within.timeoutMs), reason: () => new ContentError('timeout') },
      ({ signal }) => content.convert(source, { signal }),
    );
    const page = { ...converted, ...(title === '' ? {} : { title }), ...(extract && json !== undefined ? { json } : {}) };
    return { page, warnings, framesLeftOut };
  } catch (error) {
    if (!(error instanceof ContentError)) throw error;
    const warnings = [...formats, ...(extract ? ['json'] : [])].map((format) => `content_failed:${format}:${error.reason}`);
    return { page: {}, warnings, framesLeftOut: 0 };
  }
}
