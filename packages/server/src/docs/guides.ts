/** The guides: Markdown files of the repository as pages below `/docs/`. */
import { readFileSync, readdirSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { Marked, type Token } from 'marked';
import { getHeadingList, gfmHeadingId } from 'marked-gfm-heading-id';
import { Markup, escapeHtml, html, nothing } from '@berth/lib/text/html.ts';

export interface Guide {
  title: string;
  content: Markup;
  contents: Markup;
  outline: Markup;
}

interface Rendered {
  title: string;
  body: string;
  outline: Markup;
}

interface Section {
  title: string;
  links: { label: string; address: string }[];
}

const repository = resolve(import.meta.dirname, '../../../..');
/** Markdown files outside `docs`. */
const otherFiles = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
const indexFile = 'docs/README.md';
const imageTypes: Readonly<Record<string, string>> = { '.png': 'image/png', '.svg': 'image/svg+xml', '.jpg': 'image/jpeg' };
/** The address in the examples, which becomes that of the service. */
const exampleHost = '127.0.0.1:8080';
/** A shorter page needs no outline. */
const outlineMin = 3;

export class Guides {
  /** Address by file, each relative to the repository. */
  readonly #addresses: ReadonlyMap<string, string>;
  readonly #files: ReadonlyMap<string, string>;
  readonly #rendered = new Map<string, Rendered>();
  readonly images: ReadonlyMap<string, { path: string; contentType: string }>;
  #sections: readonly Section[] | undefined;

  constructor() {
    this.#addresses = listAddresses();
    // The front page is rendered elsewhere.
    const files = [...this.#addresses].filter(([file, address]) => file.endsWith('.md') && address !== '/');
    this.#files = new Map(files.map(([file, address]) => [address, file]));
    this.images = new Map(
      listFiles('docs/images').flatMap((name) => {
        const contentType = imageTypes[extname(name)];
        return contentType ? [[`/docs/images/${name}`, { path: join(repository, 'docs/images', name), contentType }]] : [];
      }),
    );
  }

  get addresses(): string[] {
    return [...this.#files.keys()];
  }

  /** `origin` replaces the address in the examples. */
  render(address: string, origin: string): Guide {
    const { title, body, outline } = this.#read(address);
    const content = new Markup(
      body
        .replaceAll(`http://${exampleHost}`, () => escapeHtml(origin))
        .replaceAll(`ws://${exampleHost}`, () => escapeHtml(origin.replace(/^http/, 'ws'))),
    );
    this.#sections ??= this.#readSections();
    return { title, content, contents: contentsOf(this.#sections, address), outline };
  }

  #read(address: string): Rendered {
    const known = this.#rendered.get(address);
    if (known) return known;
    const file = this.#files.get(address);
    if (file === undefined) throw new Error(`no guide at ${address}`);
    const body = this.#markdownOf(file).parse(readFileSync(join(repository, file), 'utf8'), { async: false });
    const headings = getHeadingList();
    const title = headings.find(({ level }) => level === 1)?.raw ?? 'Guide';
    const sections = headings.filter(({ level }) => level === 2);
    const rendered = { title, body, outline: sections.length < outlineMin ? nothing : outlineOf(sections) };
    this.#rendered.set(address, rendered);
    return rendered;
  }

  /** Links between files lead to their pages; what is not served is text. */
  #markdownOf(file: string): Marked {
    const markdown = new Marked({ gfm: true });
    markdown.use(gfmHeadingId());
    markdown.use({
      walkTokens: (token) => this.#resolve(token, file),
      hooks: { postprocess: toScrollable },
    });
    return markdown;
  }

  #resolve(token: Token, file: string): void {
    if (token.type !== 'link' && token.type !== 'image') return;
    const href = String(token.href);
    if (/^(?:[a-z][a-z0-9+.-]*:|#)/i.test(href)) return;
    const { pathname, hash } = new URL(href, `file:///${file}`);
    const target = decodeURIComponent(pathname).replace(/^\/|\/$/g, '');
    const address = token.type === 'image' ? `/${target}` : this.#addresses.get(target);
    if (address === undefined) Object.assign(token, { type: 'text' });
    else token.href = address + hash;
  }

  /** Sections and links as the index lists them. */
  #readSections(): Section[] {
    const markdown = this.#markdownOf(indexFile);
    const sections: Section[] = [];
    for (const token of markdown.lexer(readFileSync(join(repository, indexFile), 'utf8'))) {
      if (token.type === 'heading' && token.depth === 2) sections.push({ title: String(token.text), links: [] });
      if (token.type !== 'list') continue;
      void markdown.walkTokens([token], (inner) => {
        this.#resolve(inner, indexFile);
        if (inner.type === 'link') sections.at(-1)?.links.push({ label: String(inner.text), address: String(inner.href) });
      });
    }
    return sections;
  }
}

const listFiles = (folder: string): string[] => readdirSync(join(repository, folder)).toSorted();

/** `docs/quickstart.md` is `/docs/quickstart`; a folder has the address of its index. */
function listAddresses(): Map<string, string> {
  const addresses = new Map([
    ['README.md', '/'],
    [indexFile, '/docs/guides'],
    ['docs', '/docs/guides'],
    ['docs/adr/README.md', '/docs/adr'],
    ['docs/adr', '/docs/adr'],
    ['docs/measurements/README.md', '/docs/measurements'],
    ['docs/measurements', '/docs/measurements'],
    ['openapi.json', '/openapi.json'],
  ]);
  for (const file of otherFiles) addresses.set(file, `/docs/${file.replace('.md', '').toLowerCase()}`);
  for (const folder of ['docs', 'docs/adr', 'docs/measurements'])
    for (const name of listFiles(folder)) {
      const file = `${folder}/${name}`;
      if (name.endsWith('.md') && !addresses.has(file)) addresses.set(file, `/${file.slice(0, -'.md'.length)}`);
    }
  return addresses;
}

/** Wide tables and long lines scroll by themselves, also with the keyboard. Text cannot contain these tags: it is escaped. */
const toScrollable = (body: string): string =>
  body
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="wide" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>');

function contentsOf(sections: readonly Section[], current: string): Markup {
  const groups = sections.map(
    ({ title, links }) =>
      html`<h2>${title}</h2>
        <ul>
          ${links.map(
            ({ label, address }) =>
              html`<li><a href="${address}" ${address === current ? html`aria-current="page"` : nothing}>${label}</a></li> `,
          )}
        </ul>`,
  );
  // A phone shows them folded, above the page.
  return html`<nav class="contents" aria-label="Guides">
    <details class="folded">
      <summary>All guides</summary>
      ${groups}
    </details>
    <div class="unfolded">${groups}</div>
  </nav>`;
}

const outlineOf = (headings: readonly { id: string; text: string }[]): Markup =>
  html`<nav class="outline" aria-label="On this page">
    <h2>On this page</h2>
    <ul>
      ${headings.map(({ id, text }) => html`<li><a href="#${id}">${new Markup(text)}</a></li> `)}
    </ul>
  </nav>`;
