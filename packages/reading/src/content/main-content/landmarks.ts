/** Parts of a page that accompany its content, by their element and role: the rules before Readability. */
import { isElement, isHidden, type Element, type Node, type Parent } from '../dom.ts';
import { PageText } from './text-stats.ts';

const landmarkNames: ReadonlySet<string> = new Set(['nav', 'aside', 'header', 'footer']);
const landmarkRoles: ReadonlySet<string> = new Set(
  'navigation complementary banner contentinfo search menu menubar toolbar dialog alertdialog'.split(' '),
);
/** Within these, a header and a footer belong to the content. */
const sectioning: ReadonlySet<string> = new Set(['main', 'article', 'section', 'blockquote']);
/** Notes of documentation, which many tools write as an `aside`. */
const noteClass = /(?:^|[\s_-])(?:admonition|callout|note|tip|hint|warning|caution|danger|important|alert|pullquote)(?:$|[\s_-])/i;
/** A landmark with more of the page's text holds its content. */
const contentShare = 0.3;

const isUnread = (element: Element): boolean =>
  isHidden(element) ||
  element.attribs['aria-hidden'] === 'true' ||
  /(?:^|;)\s*visibility\s*:\s*hidden\b/i.test(element.attribs['style'] ?? '');

export const isMain = ({ name, attribs }: Element): boolean => name === 'main' || attribs['role'] === 'main';

/** The page without its landmarks. */
export class Landmarks {
  readonly #dropped = new Set<Node>();
  /** What holds an article. */
  readonly #articlesIn = new Set<Parent | Node>();
  readonly text: PageText;
  /** What may be the container of the content, in document order. */
  readonly mains: Element[] = [];
  readonly articles: Element[] = [];
  readonly headings: { element: Element; isInContent: boolean }[] = [];

  constructor(root: Parent) {
    const whole = new PageText(root, isUnread);
    this.#visit(root, { whole, total: whole.of(root).text, isInContent: false });
    this.text = new PageText(root, (element) => this.isDropped(element));
    this.#collect(root, false);
  }

  isDropped(element: Element): boolean {
    return this.#dropped.has(element);
  }

  /** Returns whether the element holds what is never dropped. */
  #visit(parent: Parent, context: { whole: PageText; total: number; isInContent: boolean }): boolean {
    let [holdsMain, holdsArticle] = [false, false];
    const walk = (child: Element): void => {
      const isInContent = context.isInContent || sectioning.has(child.name) || isMain(child);
      const holds = this.#visit(child, { ...context, isInContent });
      const share = context.whole.of(child).text / context.total;
      const isContent = holds || isMain(child) || child.name === 'h1' || (share > contentShare && this.#articlesIn.has(child));
      if (isUnread(child) || (!isContent && isLandmark(child, context.isInContent))) {
        this.#dropped.add(child);
        return;
      }
      holdsMain ||= holds || isMain(child) || child.name === 'h1';
      holdsArticle ||= child.name === 'article' || this.#articlesIn.has(child);
    };
    for (const child of parent.children) if (isElement(child)) walk(child);
    if (holdsArticle) this.#articlesIn.add(parent);
    return holdsMain;
  }

  #collect(parent: Parent, isInContent: boolean): void {
    for (const child of parent.children) {
      if (!isElement(child) || this.isDropped(child)) continue;
      if (isMain(child)) this.mains.push(child);
      else if (child.name === 'article') this.articles.push(child);
      else if (child.name === 'h1' || child.name === 'h2') this.headings.push({ element: child, isInContent });
      this.#collect(child, isInContent || isMain(child) || child.name === 'article');
    }
  }
}

function isLandmark({ name, attribs }: Element, isInContent: boolean): boolean {
  const role = attribs['role']?.trim().toLowerCase() ?? '';
  if (landmarkRoles.has(role)) return true;
  if (!landmarkNames.has(name)) return false;
  if (name === 'header' || name === 'footer') return !isInContent;
  return !(name === 'aside' && isInContent && isNote(attribs));
}

export const isNote = (attribs: Element['attribs']): boolean => attribs['role'] === 'note' || noteClass.test(attribs['class'] ?? '');
