import { load } from 'cheerio/slim';

/** The invalid CSS selectors of the list, in order. */
export const invalidSelectors = (selectors: readonly string[]): string[] => selectors.filter((selector) => !isSelector(selector));

/** The matcher recurses into nested selectors. */
const selectorCharsMax = 2000;

const probe = load('<p></p>');

function isSelector(selector: string): boolean {
  if (selector.trim() === '' || selector.length > selectorCharsMax) return false;
  // A combinator of this parser only, and not of CSS.
  if (selector.replace(/"[^"]*"|'[^']*'/g, '').includes('<')) return false;
  try {
    // With find: `probe(text)` creates elements from text that looks like markup.
    probe.root().find(selector);
    return true;
  } catch {
    return false;
  }
}
