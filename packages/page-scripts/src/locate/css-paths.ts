/** CSS selectors of given elements. Sent as text: these functions use each other, those of `natives.ts` and nothing else. */
import { natives, type Natives } from './natives.ts';

/** Returns for each element a selector that matches it alone; null in a shadow root, which CSS does not reach. */
export function cssPathsOf(...elements: Element[]): (string | null)[] {
  const page = natives();
  return elements.map((element) => (page.rootOf(element) === document ? pathInRoot(page, element) : null));
}

/** A selector for each shadow tree that the element is in, from the document inwards: together they match it alone. */
export function selectorChainOf(element: Element): string[] {
  const page = natives();
  const root = page.rootOf(element);
  const path = pathInRoot(page, element);
  return root instanceof ShadowRoot ? [...selectorChainOf(page.host(root)), path.startsWith('#') ? path : `:host > ${path}`] : [path];
}

/** A selector that matches the element alone in its document or shadow tree: from the nearest id that only one element has. */
export function pathInRoot(page: Natives, element: Element): string {
  const root = page.rootOf(element);
  const steps: string[] = [];
  for (let at: Node | null = element; at && page.type(at) === 1; at = page.parent(at)) {
    const id = page.attribute(at as Element, 'id');
    const byId = id === null || id === '' ? null : `#${CSS.escape(id)}`;
    if (byId !== null && page.all(root, byId).length === 1) return [byId, ...steps].join(' > ');
    let nth = 1;
    for (let before = page.previous(at); before; before = page.previous(before)) if (page.type(before) === 1) nth += 1;
    steps.unshift(`${CSS.escape(page.name(at))}:nth-child(${nth})`);
  }
  return steps.join(' > ');
}
