import { load } from 'cheerio/slim';

/** Those that are no CSS selectors, in the order given, for telling a caller before any work is done. */
export const invalidSelectors = (selectors: readonly string[]): string[] => selectors.filter((selector) => !isSelector(selector));

/** The matcher recurses over what is nested in a selector. */
const selectorCharsMax = 2000;

const probe = load('<p></p>');

function isSelector(selector: string): boolean {
  if (selector.trim() === '' || selector.length > selectorCharsMax) return false;
  // The parser knows a combinator of its own by this sign, and CSS none.
  if (selector.replace(/"[^"]*"|'[^']*'/g, '').includes('<')) return false;
  try {
    // By find: `probe(text)` makes elements of a text that looks like markup.
    probe.root().find(selector);
    return true;
  } catch {
    return false;
  }
}
