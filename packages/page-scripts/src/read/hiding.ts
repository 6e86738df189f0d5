/**
 * What hides a whole page while it loads: accelerated pages and snippets against
 * flicker do. Sent as text: these functions use each other and nothing else.
 */

export interface Hiding {
  /** The elements that hide the page; without any, it is shown. */
  by: Element[];
  /** Descendants inherit the visibility, so theirs says nothing. */
  isInherited: boolean;
  /** Nothing has a box. */
  isWithoutBoxes: boolean;
}

/** How the document, its body, or elements around everything in it hide the page. */
export function pageHiding(): Hiding {
  const hiding: Hiding = { by: [], isInherited: false, isWithoutBoxes: false };
  for (const element of outermostElements()) {
    const { display, visibility, opacity, contentVisibility } = getComputedStyle(element);
    const [isBoxless, isInvisible] = [display === 'none' || contentVisibility === 'hidden', visibility !== 'visible'];
    if (isBoxless || isInvisible || opacity === '0') hiding.by.push(element);
    hiding.isWithoutBoxes ||= isBoxless;
    hiding.isInherited ||= isInvisible;
  }
  return hiding;
}

/** The root, the body, and below it at most four elements, each the only one with content in the one before. */
export function outermostElements(): Element[] {
  const read = (of: object, name: string, from: unknown): unknown => Object.getOwnPropertyDescriptor(of, name)?.get?.call(from);
  const root = read(Document.prototype, 'documentElement', document) as Element | null;
  const body = read(Document.prototype, 'body', document) as Element | null;
  const elements = [root, body].filter((element) => element !== null);
  for (let at = body; at !== null && elements.length < 6;) {
    const children: ChildNode[] = Array.from(read(Node.prototype, 'childNodes', at) as NodeListOf<ChildNode>);
    const nameOf = (node: Node): string => String(read(Element.prototype, 'localName', node));
    const content = children.filter((node) =>
      node instanceof Element
        ? !/^(script|style|link|noscript|template|meta)$/.test(nameOf(node))
        : node instanceof Text && node.data.trim() !== '',
    );
    const [only] = content;
    at = content.length === 1 && only instanceof Element && /^(div|main|section|.*-.*)$/.test(nameOf(only)) ? only : null;
    if (at) elements.push(at);
  }
  return elements;
}

/** Resolves when the page is shown, and at once where nothing can show it. Returns whether it is shown. */
export async function waitUntilShown(withinMs: number): Promise<boolean> {
  const endMs = performance.now() + withinMs;
  const canChange = (): boolean =>
    Document.prototype.getElementsByTagName.call(document, 'script').length > 0 ||
    Document.prototype.getAnimations.call(document).length > 0;
  while (pageHiding().by.length > 0 && canChange() && performance.now() < endMs) await new Promise((resolve) => setTimeout(resolve, 50));
  return pageHiding().by.length === 0;
}
