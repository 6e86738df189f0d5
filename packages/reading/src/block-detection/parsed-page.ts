/** A page as the rules read it: its parsed body and the amount of visible text. */
import type { BlockVendor } from '@berth/contract';
import { captchaMarks } from './rules/captcha-marks.ts';
import { readMarkup, type Markup } from './markup.ts';
import { smallPageBytes, type Condition, type ElementMark } from './rules/rule.ts';
import type { Element } from './tags.ts';
import { rules } from './rules/rules.ts';
import type { PageInfo } from './page-info.ts';

export interface Page {
  info: PageInfo;
  status: number | null;
  title: string;
  /** Host and path of the final address; empty when it cannot be parsed. */
  hostAndPath: string;
  /** Null for files, data and failed navigations. */
  markup: Markup | null;
  htmlLength: number;
  /** Whether only the beginning of the HTML was read. */
  isCut: boolean;
  visibleLength: number;
}

/** Block pages are far smaller, and larger ones have their marks at the beginning. */
const htmlMax = 256 * 1024;

export function parsePage(info: PageInfo): Page {
  // After a failure the document is the browser's own error page.
  const readable = info.netError === null && isReadable(info);
  const html = readable ? info.html.slice(0, htmlMax) : '';
  const markup = readable ? readMarkup(html, interesting) : null;
  return {
    info,
    status: info.status,
    title: info.netError !== null ? '' : collapse(info.title) || (markup?.title ?? ''),
    hostAndPath: hostAndPathOf(info.url),
    markup,
    htmlLength: html.length,
    isCut: info.html.length >= htmlMax,
    visibleLength: info.visibleTextLength ?? markup?.textLength ?? 0,
  };
}

/** Whether the response meets a rule's condition. Data and files are never small pages. */
export function meetsCondition(page: Page, when: Condition | undefined): boolean {
  if (!when) return true;
  const { status, markup, visibleLength } = page;
  if (when.statuses && !when.statuses.includes(status ?? 0)) return false;
  if (when.error && !isError(status)) return false;
  if (when.success && isError(status)) return false;
  if (when.small && (!markup || page.htmlLength > smallPageBytes)) return false;
  if (when.textMax !== undefined && (!markup || visibleLength > when.textMax)) return false;
  if (when.shell && !isShell(page)) return false;
  return when.withoutHeader === undefined || page.info.headers[when.withoutHeader] === undefined;
}

/** More text in the markup is a page, also while its styles hide it: many fade in when a script has run. */
const shellTextMax = 500;

/** What was not read may be the content. */
const isShell = ({ markup, isCut }: Page): boolean => markup !== null && markup.shell && markup.textLength <= shellTextMax && !isCut;

export const isError = (status: number | null): boolean => status !== null && status >= 400;

export function findElement(page: Page, { tag, attribute, value }: ElementMark): Element | undefined {
  return page.markup?.elements.find(
    (element) => (tag === '*' || tag === element.tag) && value.test(element.attributes.get(attribute) ?? ''),
  );
}

export interface DetectedCaptcha {
  present: boolean;
  vendor: BlockVendor | null;
  /** Null without a browser. */
  visible: boolean | null;
}

export function detectCaptcha(page: Page): DetectedCaptcha {
  const { dom } = page.info;
  const vendor = dom ? (dom.visibleCaptcha ?? dom.presentCaptcha) : (captchaMarks.find((mark) => findElement(page, mark))?.vendor ?? null);
  return { present: vendor !== null, vendor, visible: dom ? dom.visibleCaptcha !== null : null };
}

const needles = [
  ...rules.flatMap(({ source }) => (source.kind === 'element' || source.kind === 'script' ? [source.needle] : [])),
  ...captchaMarks.map(({ needle }) => needle),
];

/** One search for all marks: most pages hold none. */
const interesting = new RegExp([...new Set(needles)].map((needle) => needle.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|'), 'g');

function isReadable({ contentType, headers, status }: PageInfo): boolean {
  if (/^\s*attachment\b/i.test(headers['content-disposition'] ?? '')) return false;
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === '' || type === 'text/html' || type === 'application/xhtml+xml') return true;
  // An edge may refuse in plain text. Text with a success status is a file.
  return type === 'text/plain' && isError(status);
}

const collapse = (text: string): string => text.slice(0, 300).replace(/\s+/g, ' ').trim();

function hostAndPathOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? '' : `${parsed.host}${parsed.pathname}`;
}
