/**
 * The main content of a page. Landmarks are left out first, Readability finds the
 * article in the rest, and blocks that accompany an article are dropped from it.
 * The rules and what they were measured on: docs/adr/0025-reading-pages.md.
 */
import { dropBoilerplate } from './boilerplate.ts';
import {
  collapse,
  elementsNamed,
  isElement,
  isText,
  parse,
  resolveUrl,
  setChildren,
  textIn,
  type CheerioAPI,
  type Element,
  type Parent,
} from '../dom.ts';
import { Landmarks } from './landmarks.ts';
import { checkboxName, headingMark, readArticle, sourceOf } from './readable.ts';
import { PageText } from './text-stats.ts';

/** Readability's work grows with the square of these. A larger page is taken whole, without its landmarks. */
const elementsMax = 15_000;
const depthMax = 128;
/** Minimum text for Readability, which compares paragraphs. A shorter page has too few: all but its landmarks is content. */
const shortChars = 500;
/** The limit of `shortChars` for scripts that write a word with one or two characters. */
const shortDenseChars = 200;
/** Ratio of the container's text to the article's above which Readability has taken one of many parts for the whole. */
const containerRatio = 2;

export interface MainContentOptions {
  base: string | null;
  title: string;
}

/** A document with the main content in its body and absolute addresses; null without any. The page is not changed. */
export function findMainContent($: CheerioAPI, { base, title }: MainContentOptions): CheerioAPI | null {
  const body = $('body')[0];
  if (!body) return null;
  const page = new Landmarks(body);
  if (page.text.of(body).text === 0) return null;
  const heading = findHeading(page, { base, title });
  const skips = (element: Element): boolean => page.isDropped(element) || element === heading;
  const content = article(page, body, { base, skips }) ?? container(page, body, { base, skips });
  if (!content) return null;
  if (heading) addHeading(content, heading.name, headingText(heading));
  return content;
}

interface Rules {
  base: string | null;
  skips: (element: Element) => boolean;
}

/** The article that Readability finds; null without one, or where the page is too small or too large for it. */
function article(page: Landmarks, body: Element, { base, skips }: Rules): CheerioAPI | null {
  const { text } = page;
  const { text: chars, dense } = text.of(body);
  const charsMin = dense > chars / 3 ? shortDenseChars : shortChars;
  if (chars < charsMin || text.elements > elementsMax || text.depth > depthMax) return null;
  const html = readArticle(sourceOf(body, skips), { base, charsMin });
  if (html === '') return null;
  const content = clean(html, base);
  const own = plainText(content);
  const whole = containerOf(page);
  if (own === 0 || (whole && text.plain(whole) > containerRatio * own)) {
    const alternative = container(page, body, { base, skips });
    if (alternative && plainText(alternative) > containerRatio * own) return alternative;
  }
  return own === 0 ? null : content;
}

/** The element that the page itself declares as its content, or its body. */
function container(page: Landmarks, body: Element, { base, skips }: Rules): CheerioAPI | null {
  const content = clean(sourceOf(containerOf(page) ?? body, skips), base);
  return plainText(content) === 0 ? null : content;
}

function containerOf({ mains, articles, text }: Landmarks): Element | undefined {
  const [main] = mains;
  if (main && mains.length === 1 && text.of(main).text > 0) return main;
  return articles.length === 1 ? articles[0] : undefined;
}

function clean(html: string, base: string | null): CheerioAPI {
  const content = parse(html);
  for (const element of elementsNamed(content, 'h1', 'h2', checkboxName)) {
    if (element.name === checkboxName) element.name = 'input';
    else if (headingMark in element.attribs) element.name = 'h1';
    delete element.attribs[headingMark];
  }
  dropBoilerplate(content('body')[0] as Parent);
  for (const { attribs } of elementsNamed(content, 'a', 'img', 'source', 'video', 'audio')) {
    for (const name of ['href', 'src', 'poster']) {
      const value = attribs[name];
      if (value !== undefined && !value.startsWith('#')) attribs[name] = resolveUrl(value, base) ?? value;
    }
  }
  return content;
}

function plainText(content: CheerioAPI): number {
  const root = content.root()[0] as Parent;
  return new PageText(root).plain(root);
}

/** Text of a heading without the mark that links to the heading itself. */
function headingText(heading: Element): string {
  const textOf = ({ children }: Parent): string =>
    children.map((child) => (isElement(child) ? (isSelfLink(child) ? '' : textOf(child)) : isText(child) ? child.data : '')).join('');
  return collapse(textOf(heading));
}

const isSelfLink = (element: Element): boolean =>
  element.name === 'a' && element.attribs['href']?.startsWith('#') === true && /^[#¶§🔗]?$/u.test(collapse(textIn(element)));

const logoName = /(?:^|[\s_-])(?:logo|brand|masthead|site-?(?:title|name)|sitename)(?:$|[\s_-])/i;

/** The heading of what the page is about. */
function findHeading({ headings }: Landmarks, { base, title }: MainContentOptions): Element | undefined {
  const candidates = headings.filter(({ element }) => headingText(element) !== '' && !isLogo(element, base));
  const first = candidates.filter(({ element }) => element.name === 'h1');
  const isTitle = ({ element }: { element: Element }): boolean => saysTitle(headingText(element), title);
  const heading = first.find(isTitle) ?? first.find(({ isInContent }) => isInContent) ?? first[0] ?? candidates.find(isTitle);
  return heading?.element;
}

/** The name of the site, which leads to its front page. */
function isLogo(heading: Element, base: string | null): boolean {
  for (let element: Element | null = heading, levels = 0; element && levels < 3; levels += 1) {
    if (logoName.test(`${element.attribs['class'] ?? ''} ${element.attribs['id'] ?? ''}`)) return true;
    element = element.parent !== null && 'attribs' in element.parent ? element.parent : null;
  }
  const home = base === null ? null : new URL('/', base).href;
  return elementsBelow(heading, 'a').some(({ attribs }) => home !== null && resolveUrl(attribs['href'] ?? '#', base) === home);
}

function elementsBelow(parent: Parent, name: string): Element[] {
  return parent.children.flatMap((child) =>
    isElement(child) ? [...(child.name === name ? [child] : []), ...elementsBelow(child, name)] : [],
  );
}

/** Titles often name the site behind what the page is about. */
function saysTitle(heading: string, title: string): boolean {
  const [own, whole] = [heading.toLowerCase(), collapse(title).toLowerCase()];
  return own !== '' && whole.includes(own) && own.length * 3 >= whole.length;
}

/** Puts the heading in front of content that lacks it: Readability may have taken it for a title that readers know already. */
function addHeading(content: CheerioAPI, name: string, text: string): void {
  const body = content('body')[0] as Parent;
  const same = elementsNamed(content, 'h1', 'h2').find((element) => headingText(element) === text);
  if (same) {
    same.name = name;
    return;
  }
  const [heading] = parse(`<${name}></${name}>`)(name).text(text).toArray();
  if (heading) setChildren(body, [heading, ...body.children]);
}
