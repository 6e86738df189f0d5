/** The links of a site that are still to be visited, first those of the first page. */
import type { InspectRequest } from '@berth/contract';
import { isUnsafeLink } from '@berth/reading';

export class LinkQueue {
  readonly #options: Pick<InspectRequest, 'depth' | 'max_pages'>;
  readonly #queue: { url: string; depth: number }[] = [];
  readonly #known = new Set<string>();
  #depth = 0;
  #visited = 1;

  constructor(options: Pick<InspectRequest, 'depth' | 'max_pages'>) {
    this.#options = options;
  }

  /** Adds the links of the page that was visited last. */
  add(links: readonly string[], pageUrl: string): void {
    this.#known.add(withoutFragment(pageUrl));
    if (this.#depth >= this.#options.depth) return;
    for (const url of links) {
      if (this.#known.has(url) || isUnsafeLink(url)) continue;
      this.#known.add(url);
      this.#queue.push({ url, depth: this.#depth + 1 });
    }
  }

  next(): string | null {
    if (this.#visited >= this.#options.max_pages) return null;
    const next = this.#queue.shift();
    if (!next) return null;
    this.#visited += 1;
    this.#depth = next.depth;
    return next.url;
  }
}

const withoutFragment = (url: string): string => url.split('#', 1)[0] ?? '';
