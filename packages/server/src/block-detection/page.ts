/** A page as the rules look at it: what may be read of its body, and how much there is to see. */
import type { BlockVendor } from '@berth/contract';
import { captchaMarks } from './captcha-marks.ts';
import { readMarkup, type Element, type Markup } from './markup.ts';
import { smallPageBytes, type Condition, type ElementMark } from './rule.ts';
import { rules } from './rules.ts';
import type { PageFacts } from './model.ts';

export interface Page {
  facts: PageFacts;
  status: number | null;
  title: string;
  /** Host and path of the final address; empty when it is none. */
  place: string;
  /** Null for files, data and pages that never came. */
  markup: Markup | null;
  htmlLength: number;
  visibleLength: number;
}

/** A block page is smaller by far, and the marks of a larger one stand at its beginning. */
const htmlMax = 256 * 1024;

export function lookAt(facts: PageFacts): Page {
  // After a failure the document is the browser's own error page.
  const readable = facts.netError === null && isReadable(facts);
  const html = readable ? facts.html.slice(0, htmlMax) : '';
  const markup = readable ? readMarkup(html, interesting) : null;
  return {
    facts,
    status: facts.status,
    title: facts.netError !== null ? '' : collapse(facts.title) || (markup?.title ?? ''),
    place: placeOf(facts.url),
    markup,
    htmlLength: html.length,
    visibleLength: facts.visibleTextLength ?? markup?.textLength ?? 0,
  };
}

/** Whether the reply and the page are as a rule wants them. Data and files are never small pages. */
export function holds(page: Page, when: Condition | undefined): boolean {
  if (!when) return true;
  const { status, markup, visibleLength } = page;
  if (when.statuses && !when.statuses.includes(status ?? 0)) return false;
  if (when.error && !isError(status)) return false;
  if (when.success && isError(status)) return false;
  if (when.small && (!markup || page.htmlLength > smallPageBytes)) return false;
  if (when.textMax !== undefined && (!markup || visibleLength > when.textMax)) return false;
  if (when.shell && !markup?.shell) return false;
  return when.withoutHeader === undefined || page.facts.headers[when.withoutHeader] === undefined;
}

export const isError = (status: number | null): boolean => status !== null && status >= 400;

export function findElement(page: Page, { tag, attribute, value }: ElementMark): Element | undefined {
  return page.markup?.elements.find(
    (element) => (tag === '*' || tag === element.tag) && value.test(element.attributes.get(attribute) ?? ''),
  );
}

export interface CaptchaFound {
  present: boolean;
  vendor: BlockVendor | null;
  /** Null where no browser was there to tell. */
  visible: boolean | null;
}

export function captchaOn(page: Page): CaptchaFound {
  const { dom } = page.facts;
  const vendor = dom ? (dom.visibleCaptcha ?? dom.presentCaptcha) : (captchaMarks.find((mark) => findElement(page, mark))?.vendor ?? null);
  return { present: vendor !== null, vendor, visible: dom ? dom.visibleCaptcha !== null : null };
}

const needles = [
  ...rules.flatMap(({ sight }) => (sight.kind === 'element' || sight.kind === 'script' ? [sight.needle] : [])),
  ...captchaMarks.map(({ needle }) => needle),
];

/** Most pages hold none of the marks, and this is all that is searched for in them. */
const interesting = new RegExp([...new Set(needles)].map((needle) => needle.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|'), 'g');

function isReadable({ contentType, headers, status }: PageFacts): boolean {
  if (/^\s*attachment\b/i.test(headers['content-disposition'] ?? '')) return false;
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === '' || type === 'text/html' || type === 'application/xhtml+xml') return true;
  // An edge that was asked for no page refuses in plain words. Served text is a file.
  return type === 'text/plain' && isError(status);
}

const collapse = (text: string): string => text.slice(0, 300).replace(/\s+/g, ' ').trim();

function placeOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? '' : `${parsed.host}${parsed.pathname}`;
}
