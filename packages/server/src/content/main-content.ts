import { Readability } from '@mozilla/readability';
import { JSDOM } from 'jsdom';
import { dropHidden, parse, type CheerioAPI, type Parent } from './dom.ts';

/** With more elements Readability takes too long. */
const elementsMax = 100_000;

/**
 * The article of a page, as HTML with absolute links, or null. Works on a copy
 * without hidden elements: jsdom runs no scripts and loads nothing here, but it
 * would parse the styles.
 */
export function findMainContent($: CheerioAPI, base: string | null): string | null {
  const copy = parse($.html());
  dropHidden(copy.root()[0] as Parent);
  if (copy('*').length > elementsMax) return null;
  const { window } = new JSDOM(copy.html(), base === null ? {} : { url: base });
  try {
    return new Readability(window.document, options).parse()?.content || null;
  } finally {
    window.close();
  }
}

/** Keeps classes, so that selectors still match. */
const options = { keepClasses: true, disableJSONLD: true, maxElemsToParse: elementsMax };
