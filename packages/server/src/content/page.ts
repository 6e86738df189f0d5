import { baseOf, parse, type CheerioAPI } from './dom.ts';
import { titleOf } from './metadata.ts';

/** A page. Only its head is parsed until `$` is read. */
export class Page {
  readonly html: string;
  readonly url: string;
  /** '' for a page without one. */
  readonly title: string;
  /** The base of relative links; null without one. */
  readonly base: string | null;
  #parsed: CheerioAPI | undefined;

  constructor(html: string, url: string) {
    this.html = html;
    this.url = url;
    const $ = this.#parseHead() ?? this.$;
    this.title = titleOf($);
    this.base = baseOf($, url);
  }

  get $(): CheerioAPI {
    this.#parsed ??= parse(this.html);
    return this.#parsed;
  }

  /** Undefined when a title or a base may be outside of the head. */
  #parseHead(): CheerioAPI | undefined {
    const end = /<\/head\b|<body\b/i.exec(this.html)?.index;
    const tail = this.html.slice(end ?? 0);
    if (/<base\b/i.test(tail)) return undefined;
    const $ = parse(this.html.slice(0, end ?? 0));
    return titleOf($) === '' && /<title\b/i.test(tail) ? undefined : $;
  }
}
