import { Readability } from '@mozilla/readability';
import { JSDOM } from 'jsdom';
import { dropUnseen, parse, type CheerioAPI, type Parent } from './dom.ts';

/** More of them take Readability longer than any caller waits. */
const elementsMax = 100_000;

/**
 * The article of a page, as HTML with absolute links. Null where there is none.
 * It works on a copy, from which the unseen was dropped: jsdom runs no scripts
 * and loads nothing here, but it would read the styles.
 */
export function findMainContent($: CheerioAPI, base: string | null): string | null {
  const copy = parse($.html());
  dropUnseen(copy.root()[0] as Parent);
  if (copy('*').length > elementsMax) return null;
  const { window } = new JSDOM(copy.html(), base === null ? {} : { url: base });
  try {
    return new Readability(window.document, options).parse()?.content || null;
  } finally {
    window.close();
  }
}

/** Classes stay, so that selectors still match. */
const options = { keepClasses: true, disableJSONLD: true, maxElemsToParse: elementsMax };
