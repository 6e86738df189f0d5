/** What stands around the content of pages: menus, cards, forms and notices. */
import { escape, type Names } from './markup.ts';
import type { Random } from './random.ts';
import type { Text, Writer } from './texts.ts';

export class Around {
  readonly #names: Names;
  readonly #random: Random;
  readonly #writer: Writer;

  constructor(writer: Writer, names: Names) {
    this.#names = names;
    this.#random = writer.random;
    this.#writer = writer;
  }

  name(words: string): string {
    return this.#names.of(words);
  }

  label(): string {
    return escape(this.#random.pick(this.#writer.language.labels));
  }

  sentence(): string {
    return escape(this.#random.pick(this.#writer.language.around));
  }

  /** Headlines of other pages. */
  headline(): string {
    return escape(this.#writer.fill(this.#random.pick(this.#writer.language.titles)));
  }

  links(count: number): string {
    return this.#random
      .times(count, () => `<a href="/${this.#random.between(1, 999)}">${this.label()}</a>`)
      .join(this.#random.pick(['\n', ' | ', '']));
  }

  menu(count: number): string {
    return `<ul>${this.#random.times(count, () => `<li><a href="/s/${this.#random.between(1, 99)}">${this.label()}</a></li>`).join('')}</ul>`;
  }

  /** A list of headlines that lead to other pages. */
  headlines(count: number): string {
    return `<ul>${this.#random.times(count, () => `<li><a href="/n/${this.#random.between(1, 9999)}">${this.headline()}</a></li>`).join('\n')}</ul>`;
  }

  /** Teasers of other pages, with a summary that is no link. */
  cards(count: number): string {
    const card = (): string =>
      `<div class="${this.name('card')}"><a href="/c/${this.#random.between(1, 999)}"><img src="/t.jpg" alt=""><h3>${this.headline()}</h3></a><p>${this.sentence()}</p></div>`;
    return this.#random.times(count, card).join('\n');
  }

  related(count = 4): string {
    const list = this.#random.chance(0.5) ? this.headlines(count) : this.cards(count);
    return `<div class="${this.name(this.#random.pick(['related posts', 'recommended stories', 'related articles']))}"><h3>${this.headline()}</h3>${list}</div>`;
  }

  newsletter(): string {
    return `<div class="${this.name('newsletter signup')}"><h4>${this.label()}</h4><p>${this.sentence()}</p><form action="/n"><input type="email" name="e"><button>${this.label()}</button></form></div>`;
  }

  share(): string {
    const networks = ['Facebook', 'Mastodon', 'WhatsApp', 'E-mail', 'Print'];
    return `<div class="${this.name(this.#random.pick(['share buttons', 'social share', 'sharing']))}">${networks.map((to) => `<a href="https://share.example/${to}" rel="nofollow">${to}</a>`).join(' ')}</div>`;
  }

  byline({ author, date }: Text): string {
    return `<div class="${this.name(this.#random.pick(['byline', 'post meta', 'article meta']))}"><span>${escape(author)}</span> · <time datetime="2026-01-02">${date}</time></div>`;
  }

  bio({ author }: Text): string {
    return `<div class="${this.name('author bio')}"><img src="/a.jpg" alt=""><h4>${escape(author)}</h4><p>${this.sentence()}</p></div>`;
  }

  comments(count = 4): string {
    const comment = (): string =>
      `<li class="${this.name('comment item')}"><div class="${this.name('comment author')}">${this.label()}</div><p>${this.sentence()} ${this.sentence()}</p><a href="#reply">${this.label()}</a></li>`;
    return `<section class="${this.name('comments area')}" id="${this.name('comments').split(' ')[0]}"><h3>${count}</h3><ol>${this.#random.times(count, comment).join('')}</ol></section>`;
  }

  cookies(): string {
    return `<div class="${this.name('cookie banner')}" id="consent"><p>${this.sentence()} ${this.sentence()}</p><button>OK</button><a href="/privacy">${this.label()}</a></div>`;
  }

  promo(): string {
    return `<div class="${this.name(this.#random.pick(['promo box', 'ad slot', 'sponsored content']))}"><p>${this.sentence()}</p><a href="/offer">${this.label()}</a></div>`;
  }

  breadcrumb(): string {
    return `<div class="${this.name('breadcrumb')}"><a href="/">${this.label()}</a> › <a href="/x">${this.label()}</a> › <a href="/x/y">${this.label()}</a></div>`;
  }

  tags(): string {
    return `<div class="${this.name('tag list')}">${this.#random.times(5, () => `<a href="/tag/${this.#random.between(1, 99)}" rel="tag">${this.label()}</a>`).join(' ')}</div>`;
  }

  contents(text: Text): string {
    const headings = text.blocks.flatMap((block) => (block.kind === 'heading' ? [block.text] : []));
    return `<ul>${headings.map((heading) => `<li><a href="#${heading.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-')}">${escape(heading)}</a></li>`).join('')}</ul>`;
  }

  sidebar(): string {
    return `<h3>${this.label()}</h3>${this.headlines(6)}<h3>${this.label()}</h3>${this.menu(7)}${this.newsletter()}<div class="${this.name('widget')}"><p>${this.sentence()}</p></div>`;
  }

  footer(): string {
    return `<div>${this.menu(6)}${this.menu(5)}</div><p>${this.sentence()}</p><p>© 2026 ${this.label()}</p>`;
  }

  /** Scripts and styles as they weigh on real pages. */
  scripts(): string {
    return `<script>window.__DATA__=${JSON.stringify({ items: this.#random.times(20, () => this.label()) })}</script><style>.x{color:red}.y::after{content:"Menu"}</style><noscript><p>${this.sentence()}</p></noscript>`;
  }
}
