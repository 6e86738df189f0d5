/** Texts as markup, in the styles of different sites. */
import type { Random } from './random.ts';
import type { Block } from './texts.ts';

export const escape = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');

/** How a site names its classes: `related posts` as `related-posts`, `relatedPosts`, or nothing that says it. */
export type Naming = 'kebab' | 'bem' | 'camel' | 'hashed' | 'opaque' | 'prefixed';

export class Names {
  readonly #naming: Naming;
  readonly #random: Random;

  constructor(naming: Naming, random: Random) {
    this.#naming = naming;
    this.#random = random;
  }

  /** Returns the class name of a block that is described by these words. */
  of(words: string): string {
    const [first = '', ...others] = words.split(' ');
    const camel = first + others.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
    switch (this.#naming) {
      case 'kebab':
        return words.replaceAll(' ', '-');
      case 'bem':
        return others.length > 0 ? `${first}__${others.join('-')}` : `c-${first}`;
      case 'camel':
        return camel;
      case 'hashed':
        return `${camel}_${this.#code(5)}`;
      case 'opaque':
        return `css-${this.#code(6)}`;
      case 'prefixed':
        return `tpl-${words.replaceAll(' ', '_')} tpl-block`;
    }
  }

  #code(length: number): string {
    return Array.from({ length }, () => this.#random.pick([...'abcdefghijkmnopqrstuvwxyz0123456789'])).join('');
  }
}

export interface Style {
  paragraph: 'p' | 'div' | 'br' | 'section';
  figure: 'figure' | 'caption' | 'image';
  code: 'prism' | 'sphinx' | 'plain';
  note: 'aside' | 'div' | 'quote';
  /** Headings with a link to themselves. */
  anchors: boolean;
}

export class Markup {
  readonly names: Names;
  readonly random: Random;
  readonly #style: Style;

  constructor(style: Style, names: Names, random: Random) {
    this.#style = style;
    this.names = names;
    this.random = random;
  }

  blocks(blocks: readonly Block[]): string {
    return blocks.map((block) => this.block(block)).join('\n');
  }

  block(block: Block): string {
    const { names } = this;
    switch (block.kind) {
      case 'text':
        return this.#paragraph(this.inline(block.text));
      case 'quote':
        return `<blockquote${this.random.chance(0.5) ? ` class="${names.of('pull quote')}"` : ''}><p>${this.inline(block.text)}</p></blockquote>`;
      case 'note':
        return this.#note(block.text);
      case 'heading':
        return this.#heading(block);
      case 'list':
        return `<ul>\n${block.items.map((item) => `<li>${this.inline(item)}</li>`).join('\n')}\n</ul>`;
      case 'steps':
        return `<ol>${block.items.map((item) => `<li>${this.random.chance(0.3) ? `<p>${escape(item)}</p>` : escape(item)}</li>`).join('\n')}</ol>`;
      case 'code':
        return this.#code(block);
      case 'table':
        return table(block.rows);
      case 'terms':
        return `<dl>${block.pairs.map(([term, text]) => `<dt>${escape(term)}</dt><dd>${escape(text)}</dd>`).join('')}</dl>`;
      case 'figure':
        return this.#figure(block);
    }
  }

  /** Some words as links or emphasised. */
  inline(text: string): string {
    const words = text.split(' ');
    if (words.length < 8) return escape(text);
    const wraps = this.random.pick(['', '', 'a', 'em', 'strong', 'a']);
    if (wraps === '') return escape(text);
    const start = this.random.between(1, words.length - 4);
    const length = this.random.between(1, 3);
    const inner = escape(words.slice(start, start + length).join(' '));
    const wrapped = wraps === 'a' ? `<a href="/topic/${this.random.between(1, 900)}">${inner}</a>` : `<${wraps}>${inner}</${wraps}>`;
    return [escape(words.slice(0, start).join(' ')), wrapped, escape(words.slice(start + length).join(' '))].join(' ').trim();
  }

  #paragraph(html: string): string {
    switch (this.#style.paragraph) {
      case 'p':
        return `<p>${html}</p>`;
      case 'div':
        return `<div class="${this.names.of('text block')}">${html}</div>`;
      case 'section':
        return `<div class="${this.names.of('body row')}"><div><p>${html}</p></div></div>`;
      case 'br':
        return `${html}<br><br>`;
    }
  }

  #note(text: string): string {
    const html = `<p>${escape(text)}</p>`;
    switch (this.#style.note) {
      case 'aside':
        return `<aside class="note admonition" aria-label="Note">${html}</aside>`;
      case 'div':
        return `<div class="admonition note">${html}</div>`;
      case 'quote':
        return `<blockquote class="callout">${html}</blockquote>`;
    }
  }

  #heading({ text, level }: Block & { kind: 'heading' }): string {
    const slug = text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-');
    const anchor = this.#style.anchors ? `<a class="headerlink" href="#${slug}" title="Permalink">¶</a>` : '';
    return `<h${level} id="${slug}">${escape(text)}${anchor}</h${level}>`;
  }

  #code({ text, language }: Block & { kind: 'code' }): string {
    switch (this.#style.code) {
      case 'prism':
        return `<pre class="language-${language}"><code class="language-${language}">${escape(text).replace(/\b(const|for|import|def|return)\b/g, '<span class="token keyword">$1</span>')}</code></pre>`;
      case 'sphinx':
        return `<div class="highlight-${language} notranslate"><div class="highlight"><pre>${escape(text)}\n</pre></div></div>`;
      case 'plain':
        return `<pre>${escape(text)}</pre>`;
    }
  }

  #figure({ alt, caption }: Block & { kind: 'figure' }): string {
    const image = `<img src="/media/${this.random.between(100, 999)}.jpg" alt="${escape(alt)}" width="800" height="450">`;
    switch (this.#style.figure) {
      case 'figure':
        return `<figure>${image}<figcaption>${escape(caption)}</figcaption></figure>`;
      case 'caption':
        return `<div class="wp-caption alignnone">${image}<p class="wp-caption-text">${escape(caption)}</p></div>`;
      case 'image':
        return `<p>${image}</p>`;
    }
  }
}

function table(rows: readonly string[][]): string {
  const [head = [], ...body] = rows;
  const cells = (row: readonly string[], name: string): string =>
    `<tr>${row.map((cell) => `<${name}>${escape(cell)}</${name}>`).join('')}</tr>`;
  if (head.length > 2)
    return `<table><thead>${cells(head, 'th')}</thead><tbody>${body.map((row) => cells(row, 'td')).join('\n')}</tbody></table>`;
  return `<table class="specs">${rows.map(([term = '', text = '']) => `<tr><th scope="row">${escape(term)}</th><td>${escape(text)}</td></tr>`).join('\n')}</table>`;
}
