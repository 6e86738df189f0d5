/** CSS selectors for elements of a page: short, and likely to outlive a change of the page. */
import type { PageElement, PageTree } from './tree.ts';

/** Attributes that name an element for a program or a person, best first. */
const stableAttributes = ['data-testid', 'data-test', 'data-qa', 'name', 'aria-label', 'autocomplete'] as const;
/** More levels break with every change of the layout. */
const levelsMax = 6;
const valueCharsMax = 80;

export function selectorOf(element: PageElement, tree: PageTree): string {
  const own = ownSelector(element, tree);
  if (own?.isUnique) return own.selector;
  const steps = [own?.selector ?? positionOf(element)];
  for (let above = element.parent, level = 1; above && level < levelsMax; above = above.parent, level += 1) {
    const selector = ownSelector(above, tree);
    steps.unshift(selector?.selector ?? (above.name === 'form' || above.name === 'body' ? above.name : positionOf(above)));
    if (selector?.isUnique || above.name === 'form' || above.name === 'body') break;
  }
  return steps.join(' > ').replaceAll(' > > ', ' > ');
}

function ownSelector(element: PageElement, tree: PageTree): { selector: string; isUnique: boolean } | null {
  const id = element.attributes.get('id');
  if (id !== undefined && id.length <= valueCharsMax && isStableId(id) && tree.isUniqueId(id))
    return { selector: isIdentifier(id) ? `#${id}` : `[id=${quote(id)}]`, isUnique: true };
  for (const name of stableAttributes) {
    const value = element.attributes.get(name);
    if (value === undefined || value === '' || value.length > valueCharsMax) continue;
    const selector = `${element.name}[${name}=${quote(value)}]`;
    const isUnique = tree.named(element.name).filter((other) => other.attributes.get(name) === value).length === 1;
    return { selector: isUnique ? selector : `${selector}${nthOf(element)}`, isUnique };
  }
  return null;
}

const positionOf = (element: PageElement): string => `${element.name}${nthOf(element)}`;

function nthOf(element: PageElement): string {
  const siblings = element.parent?.children.filter(({ name }) => name === element.name) ?? [];
  return siblings.length > 1 ? `:nth-of-type(${siblings.indexOf(element) + 1})` : '';
}

/** Ids of frameworks, such as `:r1:` and `ember1234`, change with every visit. */
const isStableId = (id: string): boolean => !/\d{3}|^[:_]|^(?:radix|headlessui|mui|ember)-?/i.test(id);
const isIdentifier = (text: string): boolean => /^[a-z_][\w-]*$/i.test(text);
export const quote = (value: string): string => `"${value.replace(/["\\]/g, '\\$&').replace(/\s/g, ' ')}"`;

/** Class names that people wrote, not tools. */
export const stableClasses = (element: PageElement): string[] =>
  (element.attributes.get('class') ?? '')
    .slice(0, 500)
    .split(/\s+/)
    .filter((name) => /^[a-z][a-z_-]{2,30}$/i.test(name) && !/^(?:css|sc|jsx|svelte|emotion|_)-/.test(name));
