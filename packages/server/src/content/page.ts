import { baseOf, parse, type CheerioAPI } from './dom.ts';
import { titleOf } from './metadata.ts';

/** A page that is parsed when somebody asks for more than its beginning tells. */
export class Page {
  readonly html: string;
  readonly url: string;
  /** '' for a page without one. */
  readonly title: string;
  /** What relative links belong to; null where there is no such thing. */
  readonly base: string | null;
  #parsed: CheerioAPI | undefined;

  constructor(html: string, url: string) {
    this.html = html;
    this.url = url;
    const $ = this.#parseBeginning() ?? this.$;
    this.title = titleOf($);
    this.base = baseOf($, url);
  }

  get $(): CheerioAPI {
    this.#parsed ??= parse(this.html);
    return this.#parsed;
  }

  /** Undefined where a title or a base may stand elsewhere than in the head. */
  #parseBeginning(): CheerioAPI | undefined {
    const end = /<\/head\b|<body\b/i.exec(this.html)?.index;
    const tail = this.html.slice(end ?? 0);
    if (/<base\b/i.test(tail)) return undefined;
    const $ = parse(this.html.slice(0, end ?? 0));
    return titleOf($) === '' && /<title\b/i.test(tail) ? undefined : $;
  }
}
