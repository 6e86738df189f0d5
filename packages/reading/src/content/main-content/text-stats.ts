/** How much text elements hold, and how much of it in links. White space does not count. */
import { isElement, isText, type Element, type Node, type Parent } from '../dom.ts';

export interface TextStats {
  text: number;
  inLinks: number;
  links: number;
  /** Characters of scripts that write a word with one or two of them: Chinese, Japanese, Korean. */
  dense: number;
}

const none: TextStats = { text: 0, inLinks: 0, links: 0, dense: 0 };

const denseLetters = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/g;
const denseOf = (text: string): number => text.match(denseLetters)?.length ?? 0;

export class PageText {
  readonly #stats = new Map<Parent | Node, TextStats>();
  elements = 0;
  /** Depth of the deepest element. */
  depth = 0;

  /** `skips`: what does not count, with all that it holds. */
  constructor(root: Parent, skips: (element: Element) => boolean = () => false) {
    this.#measure(root, skips, 1);
  }

  of(node: Parent | Node): TextStats {
    return this.#stats.get(node) ?? none;
  }

  /** Characters outside of links. */
  plain(node: Parent | Node): number {
    const { text, inLinks } = this.of(node);
    return text - inLinks;
  }

  #measure(parent: Parent, skips: (element: Element) => boolean, depth: number): TextStats {
    this.depth = Math.max(this.depth, depth);
    const total = { ...none };
    for (const child of parent.children) {
      if (isText(child)) {
        total.text += child.data.replace(/\s+/g, '').length;
        total.dense += denseOf(child.data);
      }
      if (!isElement(child) || skips(child)) continue;
      this.elements += 1;
      const { text, inLinks, links, dense } = this.#measure(child, skips, depth + 1);
      const isLink = child.name === 'a' && child.attribs['href'] !== undefined;
      total.text += text;
      total.dense += dense;
      total.inLinks += isLink ? text : inLinks;
      total.links += links + (isLink ? 1 : 0);
    }
    this.#stats.set(parent, total);
    return total;
  }
}
