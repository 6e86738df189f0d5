/** Finds what leads to the next page of a list. Sent as text, together with `natives.ts`, `words.ts` and `css-paths.ts`. */
import { selectorChainOf } from '../locate/css-paths.ts';
import { isVisible, natives, type Natives } from '../locate/natives.ts';
import { labelsOf, normalizeWords, pressableIn, saysDisabled } from './words.ts';

export interface PageWords {
  /** Whole labels. */
  next: string[];
  /** Parts of longer labels. */
  nextPage: string[];
  more: string[];
  previous: string[];
}

export type NextPage =
  | { kind: 'open'; url: string }
  | { kind: 'click'; selector: string[] }
  /** It is there and cannot be used: `last` for good, `busy` maybe for a moment. */
  | { kind: 'last' }
  | { kind: 'busy' }
  | { kind: 'none' };

interface Candidate {
  element: Element;
  score: number;
}

/** Finds the next page by `rel`, labels and symbols, by the number after the current page, then by a button that loads more. */
export function findNextPage(words: PageWords): NextPage {
  const page = natives();
  const { next, nextPage, more, previous } = toNormalizedWords(words);
  const controls = pressableIn(page, document, 5000).filter((each) => !isOfSlides(page, each));
  const scored = controls.map((element) => ({ element, score: nextScore(page, element, { next, nextPage, previous }) }));
  const candidates = scored.filter(({ score, element }) => score > 0 && isVisible(page, element));
  const best = bestOf(candidates) ?? numberedNext(page, controls);
  const hinted = page.all(document, 'link[rel~="next" i][href]')[0];
  if (best) return toNextPage(page, best, false);
  if (hinted) return toNextPage(page, hinted, false);
  const adding = controls.filter((each) => isVisible(page, each) && isMore(page, each, more));
  // Filters and parts of items have such buttons, too: the list's own comes after it.
  const last = adding.at(-1);
  return last ? toNextPage(page, last, true) : { kind: 'none' };
}

export function toNormalizedWords({ next, nextPage, more, previous }: PageWords) {
  const normalized = (list: string[]): string[] => list.map((each) => normalizeWords(each));
  return {
    next: new Set(normalized(next)),
    nextPage: normalized(nextPage),
    more: new Set(normalized(more)),
    previous: normalized(previous),
  };
}

/** The first of the best. One that can be used is better than its like that cannot, such as of a second list of pages. */
export function bestOf(candidates: readonly Candidate[]): Element | null {
  let best: Candidate | null = null;
  for (const each of candidates) if (best === null || each.score > best.score) best = each;
  return best?.element ?? null;
}

export function toNextPage(page: Natives, element: Element, isMoreButton: boolean): NextPage {
  if (saysDisabled(page, element)) return { kind: isMoreButton || page.name(element) !== 'a' ? 'busy' : 'last' };
  const href = page.attribute(element, 'href')?.trim() ?? '';
  const url = href === '' || href.startsWith('#') ? null : URL.parse(href, document.baseURI);
  if (isMoreButton || !url || !/^https?:$/.test(url.protocol)) return { kind: 'click', selector: selectorChainOf(element) };
  return { kind: 'open', url: url.href };
}

/** How much speaks for an element as the link to the next page; 0 for one that leads elsewhere. */
export function nextScore(page: Natives, element: Element, words: { next: Set<string>; nextPage: string[]; previous: string[] }): number {
  const rel = (page.attribute(element, 'rel') ?? '').toLowerCase().split(/\s+/);
  if (rel.includes('prev')) return 0;
  const parent = page.parent(element);
  const item = parent instanceof Element && page.name(parent) === 'li' ? parent : null;
  const labels = labelsOf(page, element);
  // The item of a list of pages has the title where its button has an icon alone.
  const itemLabels = item ? [page.attribute(item, 'title'), page.attribute(item, 'aria-label')].filter((text) => text !== null) : [];
  const normalized = [...labels, ...itemLabels].map((text) => normalizeWords(text));
  if (normalized.some((text) => words.previous.some((word) => hasWords(text, word)))) return 0;
  const inPages = isInPages(page, element);
  const byName = [element, item].some((each) => each !== null && isNamedNext(page, each)) ? 40 : 0;
  const byLabel = normalized.some((text) => words.next.has(withoutIcons(text))) ? 60 : 0;
  const byPhrase = normalized.some((text) => text.length <= 80 && words.nextPage.some((word) => hasWords(text, word))) ? 60 : 0;
  const symbol = Math.max(0, ...labels.map((text) => symbolScore(text)));
  // A symbol alone may be of a trail of links, and the name `next` of a step: they count among the pages only.
  const bySymbol = inPages ? symbol : 0;
  const isLast = symbol === 0 && byLabel + byPhrase === 0 && normalized.some((text) => /\d/.test(text));
  const byRel = rel.includes('next') ? 100 : 0;
  const score = byRel + byLabel + byPhrase + bySymbol + (isLast ? 0 : inPages ? byName : byName / 4);
  return score === 0 ? 0 : score + (inPages ? 20 : 0);
}

/** Whole words, as `前へ` of a language without spaces as well. */
export function hasWords(text: string, words: string): boolean {
  return /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u.test(words) ? text.includes(words) : ` ${text} `.includes(` ${words} `);
}

/** Fonts of icons show a word as a picture. */
export function withoutIcons(text: string): string {
  return text
    .replace(/\b(?:keyboard )?(?:chevron|arrow|navigate|angle)(?: (?:right|forward|next|ios))*\b/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** `›` leads to the next page where `»` leads to the last. */
export function symbolScore(text: string): number {
  if (/^(?:›|>|→|❯|⟩|▶|►|⇨|⮕|🠖|➔|➜|➡|＞|〉)\ufe0f?$/.test(text)) return 35;
  if (/^(?:»|>>|≫|⟫|》)$/.test(text)) return 30;
  return /^(?:chevron_right|navigate_next|arrow_forward|arrow_forward_ios|keyboard_arrow_right|arrow_right)$/.test(text) ? 35 : 0;
}

/** Has `next` as a word of its class, id or test id. */
export function isNamedNext(page: Natives, element: Element): boolean {
  const names = ['class', 'id', 'data-testid', 'data-test', 'data-action'].map((name) => page.attribute(element, name) ?? '');
  return names.some((text) =>
    text
      .slice(0, 500)
      .replace(/([a-z])([A-Z])/g, '$1-$2')
      .toLowerCase()
      .split(/[^a-z]+/)
      .some((word) => word === 'next' || word === 'nextpage'),
  );
}

/** Whether it is in a list of pages: one that is named so, or that has another page's number. */
export function isInPages(page: Natives, element: Element): boolean {
  let at: Node | null = element;
  for (let depth = 0; depth < 4 && at instanceof Element; depth += 1, at = page.parent(at)) {
    const names = `${page.attribute(at, 'class') ?? ''} ${page.attribute(at, 'id') ?? ''} ${page.attribute(at, 'aria-label') ?? ''}`;
    if (/pag(?:e|in|ing)|pager|seite|página|strona|страниц|sayfa|ページ|分页|分頁|翻页|페이지/i.test(names.slice(0, 300))) return true;
    if (
      depth > 0 &&
      page
        .all(at, 'a, button')
        .slice(0, 30)
        .some((each) => isNumber(page.textContent(each)))
    )
      return true;
  }
  return false;
}

export function isNumber(text: string | null): boolean {
  return /^\s*\d{1,5}\s*$/.test((text ?? '').slice(0, 30));
}

/** Slides and months have such buttons as well. */
export function isOfSlides(page: Natives, element: Element): boolean {
  const slides =
    '[aria-roledescription="carousel" i], [class*="carousel" i], [class*="slider" i], [class*="swiper" i], [class*="slick" i], [class*="lightbox" i], [class*="datepicker" i], [class*="calendar" i], [role="grid"], video';
  let at: Node | null = element;
  for (let depth = 0; depth < 12 && at instanceof Element; depth += 1, at = page.parent(at))
    if (page.matches(at, slides) && !page.matches(at, 'body, html, main')) return true;
  return false;
}

/** Among numbered pages, the one after the current. */
export function numberedNext(page: Natives, controls: readonly Element[]): Element | null {
  const marked = page.all(
    document,
    '[aria-current="page"], [aria-current="true"], .active, .current, .selected, [class*="current" i], [class*="active" i], [aria-selected="true"], [aria-disabled="true"], strong, b, em, span',
  );
  for (const current of marked.slice(0, 5000)) {
    if (!isNumber(page.textContent(current)) || !isVisible(page, current)) continue;
    const number = Number(page.textContent(current));
    const near = controls.filter((each) => each !== current && !current.contains(each) && isNumber(page.textContent(each)));
    const next = near.find((each) => Number(page.textContent(each)) === number + 1 && isNear(page, current, each));
    // A link to the current page is no mark of it.
    const isMarked = page.matches(
      current,
      '[aria-current], .active, .current, .selected, [class*="current" i], [class*="active" i], [aria-selected="true"]',
    );
    if (next && isVisible(page, next) && (isMarked || !controls.some((each) => each.contains(current)))) return next;
  }
  return null;
}

/** Whether both are in one list of pages. */
export function isNear(page: Natives, one: Element, other: Element): boolean {
  let at: Node | null = one;
  for (let depth = 0; depth < 4 && at instanceof Element; depth += 1, at = page.parent(at))
    if (at.contains(other)) return isInPages(page, other);
  return false;
}

export function isMore(page: Natives, element: Element, more: Set<string>): boolean {
  const inFilters = 'aside, nav, header, [class*="filter" i], [class*="facet" i], [class*="sidebar" i], [class*="comment" i]';
  let at: Node | null = page.parent(element);
  for (let depth = 0; depth < 8 && at instanceof Element; depth += 1, at = page.parent(at)) if (page.matches(at, inFilters)) return false;
  return labelsOf(page, element).some((text) => more.has(normalizeWords(text.replace(/\p{N}+/gu, ' '))));
}
