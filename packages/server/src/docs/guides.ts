/** The guides: Markdown files of the repository as pages below `/docs/`, and the programs of `examples/` that they link to. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';
import { getHeadingList, gfmHeadingId } from 'marked-gfm-heading-id';
import { Markup, html, nothing } from '@berth/lib/text/html.ts';
import { codeTabs, isLanguage, type CodeBlock } from './code.ts';
import { withOrigin } from './origin.ts';
import { searchForm } from './search-form.ts';
import type { SearchEntry } from './search.ts';

export interface Guide {
  title: string;
  content: Markup;
  contents: Markup;
  outline: Markup;
  /** Address of the same page as Markdown. */
  markdown: string;
}

interface Rendered {
  title: string;
  body: string;
  outline: Markup;
}

export interface GuideLink {
  label: string;
  address: string;
  description: string;
}

export interface Section {
  title: string;
  links: GuideLink[];
}

const repository = resolve(import.meta.dirname, '../../../..');
/** Markdown files outside `docs`. */
const otherFiles = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
const indexFile = 'docs/README.md';
/** Where programs stand that have a page each. A container or package may be without them. */
const exampleFolders = ['examples', 'examples/python'];
const exampleLanguages: Readonly<Record<string, string>> = { '.mjs': 'js', '.py': 'python' };
const imageTypes: Readonly<Record<string, string>> = { '.png': 'image/png', '.svg': 'image/svg+xml', '.jpg': 'image/jpeg' };
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
    const isPage = (file: string): boolean => file.endsWith('.md') || extname(file) in exampleLanguages;
    const files = [...this.#addresses].filter(([file, address]) => isPage(file) && address !== '/');
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
    const content = new Markup(withOrigin(body, origin));
    return { title, content, contents: this.contents(address), outline, markdown: `${address}.md` };
  }

  /** The file of a guide, with links to what the service serves. */
  markdown(address: string, origin: string): string {
    const file = this.#files.get(address);
    if (file === undefined) throw new Error(`no guide at ${address}`);
    const text = readPage(file).replaceAll(/\]\(([^()\s]+)\)/g, (all, href: string) => {
      if (isAbsolute(href)) return all;
      const { address: target, hash } = this.#targetOf(href, file);
      const isGuide = target !== undefined && this.#files.has(target);
      return target === undefined ? all : `](${target}${isGuide ? '.md' : ''}${hash})`;
    });
    return withOrigin(text, origin, 'text/markdown');
  }

  /** Navigation beside the page at an address; `query` is what the search of that page was for. */
  contents(address: string, query = ''): Markup {
    return contentsOf(this.sections, address, query);
  }

  /** Sections and links as the index lists them. */
  get sections(): readonly Section[] {
    return (this.#sections ??= this.#readSections());
  }

  /** The guides by task. */
  get tasks(): readonly GuideLink[] {
    return this.sections.find(({ title }) => title === 'By task')?.links ?? [];
  }

  /** The parts of the guides that the index lists, a guide at a time. */
  async *searchEntries(): AsyncGenerator<readonly SearchEntry[]> {
    const listed = new Set(this.sections.flatMap(({ links }) => links.map(({ address }) => address)));
    for (const address of listed) if (this.#files.has(address)) yield searchEntriesOf(address, this.#read(address));
  }

  #read(address: string): Rendered {
    const known = this.#rendered.get(address);
    if (known) return known;
    const file = this.#files.get(address);
    if (file === undefined) throw new Error(`no guide at ${address}`);
    const body = this.#markdownOf(file).parse(readPage(file), { async: false });
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
      hooks: { processAllTokens: groupExamples, postprocess: (body) => toScrollable(withRowIds(body)) },
    });
    return markdown;
  }

  /** Where a link of a file leads; no address where that is not served. */
  #targetOf(href: string, file: string): { address: string | undefined; hash: string; path: string } {
    const { pathname, hash } = new URL(href, `file:///${file}`);
    const path = decodeURIComponent(pathname).replace(/^\/|\/$/g, '');
    return { address: this.#addresses.get(path), hash, path };
  }

  #resolve(token: Token, file: string): void {
    if (token.type !== 'link' && token.type !== 'image') return;
    const href = String(token.href);
    if (isAbsolute(href)) return;
    const { hash, path, ...target } = this.#targetOf(href, file);
    const address = token.type === 'image' ? `/${path}` : target.address;
    if (address === undefined) Object.assign(token, { type: 'text' });
    else token.href = address + hash;
  }

  #readSections(): Section[] {
    const markdown = this.#markdownOf(indexFile);
    const sections: Section[] = [];
    for (const token of markdown.lexer(readFileSync(join(repository, indexFile), 'utf8'))) {
      if (token.type === 'heading' && token.depth === 2) sections.push({ title: String(token.text), links: [] });
      if (token.type !== 'list') continue;
      for (const item of (token as Tokens.List).items) {
        const [, description = ''] = item.text.split('): ', 2);
        void markdown.walkTokens(item.tokens, (inner) => {
          this.#resolve(inner, indexFile);
          if (inner.type === 'link') sections.at(-1)?.links.push({ label: String(inner.text), address: String(inner.href), description });
        });
      }
    }
    return sections;
  }
}

const isAbsolute = (href: string): boolean => /^(?:[a-z][a-z0-9+.-]*:|#)/i.test(href);

/** How the fences of grouped examples begin: the language of the block, and which of our four it stands for. */
const examplePattern = /^(?:sh|ts|python) (\w+)$/;

/**
 * Blocks that follow one another and name one of our languages (`ts typescript`, `sh cli`) say the same: they become one with
 * a choice. In the file, and on pages that show the file, they stand below one another.
 */
function groupExamples(tokens: Token[]): Token[] {
  const grouped: Token[] = [];
  let blocks: CodeBlock[] = [];
  let count = 0;
  const close = (): void => {
    if (blocks.length > 0)
      grouped.push({ type: 'html', block: true, raw: '', pre: false, text: codeTabs(`example-${++count}`, blocks).text });
    blocks = [];
  };
  for (const token of tokens) {
    const language = token.type === 'code' ? examplePattern.exec(String(token.lang ?? ''))?.[1] : undefined;
    if (language !== undefined && isLanguage(language)) blocks.push({ language, code: (token as Tokens.Code).text });
    // Blank lines between the blocks of a group.
    else if (token.type !== 'space' || blocks.length === 0) {
      close();
      grouped.push(token);
    }
  }
  close();
  return grouped;
}

/** A row whose first cell is a name can be linked to: `errors#session_not_found`. The first of each name. */
function withRowIds(body: string): string {
  const taken = new Set(Array.from(body.matchAll(/ id="([^"]+)"/g), ([, id]) => id));
  return body.replaceAll(/<tr>\n<td><code>([A-Za-z][\w.-]*)<\/code><\/td>/g, (row, name: string) => {
    if (taken.has(name)) return row;
    taken.add(name);
    return row.replace('<tr>', `<tr id="${name}">`);
  });
}

/** The parts of a page by its second headings. */
function searchEntriesOf(address: string, { title, body }: Rendered): SearchEntry[] {
  return body.split(/(?=<h2 )/).map((part) => {
    const [, id, heading = ''] = /^<h2 id="([^"]+)">(.*?)<\/h2>/s.exec(part) ?? [];
    const text = toText(part.replace(/^<h2 [^>]*>.*?<\/h2>/s, ''));
    return { address: id === undefined ? address : `${address}#${id}`, page: title, heading: toText(heading), text };
  });
}

const entities: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };
const toText = (markup: string): string =>
  markup
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? entity)
    .replaceAll(/\s+/g, ' ')
    .trim();

const listFiles = (folder: string): string[] => readdirSync(join(repository, folder)).toSorted();

/** A page as Markdown: the file itself, or a program with its name as the title. */
function readPage(file: string): string {
  const text = readFileSync(join(repository, file), 'utf8');
  const language = exampleLanguages[extname(file)];
  return language === undefined ? text : `# ${basename(file)}\n\n\`\`\`${language}\n${text}\`\`\`\n`;
}

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
  for (const folder of exampleFolders.filter((each) => existsSync(join(repository, each))))
    for (const name of listFiles(folder))
      if (extname(name) in exampleLanguages) addresses.set(`${folder}/${name}`, `/docs/examples/${name}`);
  return addresses;
}

/** Wide tables and long lines scroll by themselves, also with the keyboard. Text cannot contain these tags: it is escaped. */
const toScrollable = (body: string): string =>
  body
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="wide" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>');

function contentsOf(sections: readonly Section[], current: string, query: string): Markup {
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
    ${searchForm(query)}
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
