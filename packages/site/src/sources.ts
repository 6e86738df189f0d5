/** The pages of the site: the Markdown files of the repository, as they stand there. Nothing is copied or kept. */
import { readFileSync, readdirSync } from 'node:fs';
import { basename, extname, join, posix, resolve } from 'node:path';

/** The build runs in the folder of this package. */
export const repository = resolve(process.cwd(), '../..');
const folders = ['docs', 'docs/adr', 'docs/measurements'];
const others: Readonly<Record<string, string>> = {
  'README.md': 'index',
  'docs/README.md': 'guides',
  'docs/adr/README.md': 'adr',
  'docs/measurements/README.md': 'measurements',
  'ARCHITECTURE.md': 'architecture',
  'CONTRIBUTING.md': 'contributing',
  'CHANGELOG.md': 'changelog',
  'SECURITY.md': 'security-policy',
};
const exampleLanguages: Readonly<Record<string, string>> = { '.mjs': 'js', '.py': 'python' };

export interface Page {
  /** Path of the page without slashes around; `index` is the first page. */
  id: string;
  /** Path in the repository. */
  file: string;
  title: string;
  /** The first paragraph as text. */
  description: string;
  /** Markdown without its title, with links to pages of the site. */
  body: string;
  /** Markdown with its title, with links to Markdown of the site. */
  markdown: string;
}

const listFiles = (folder: string): string[] => readdirSync(join(repository, folder)).toSorted();

function listIds(): ReadonlyMap<string, string> {
  const ids = new Map(Object.entries(others));
  for (const folder of folders)
    for (const name of listFiles(folder).filter((each) => each.endsWith('.md')))
      if (!ids.has(`${folder}/${name}`)) ids.set(`${folder}/${name}`, `${folder}/${name.slice(0, -'.md'.length)}`.replace(/^docs\//, ''));
  for (const folder of ['examples', 'examples/python'])
    for (const name of listFiles(folder).filter((each) => extname(each) in exampleLanguages))
      ids.set(`${folder}/${name}`, `examples/${name.replace('.', '-')}`);
  return ids;
}

const ids = listIds();
const addressOf = (id: string): string => (id === 'index' ? '/' : `/${id}/`);

/** The names of the four languages in which a guide shows the same call, as titles of their blocks. */
const languages: Readonly<Record<string, string>> = { curl: 'curl', typescript: 'TypeScript', python: 'Python', cli: 'Command line' };
const withTitles = (text: string): string =>
  text.replaceAll(
    /^```(sh|ts|python) (curl|typescript|python|cli)$/gm,
    (_, language: string, name: string) => `\`\`\`${language} title="${languages[name]}"`,
  );

/** Replaces the links between files of the repository; a link to what is no page becomes its text. */
function withLinks(text: string, file: string, toAddress: (id: string) => string): string {
  return text.replaceAll(/(!?)\[((?:[^\][]|\[[^\][]*\])*)\]\(([^()\s]+)\)/g, (all, mark: string, label: string, href: string) => {
    if (/^(?:[a-z][a-z0-9+.-]*:|#)/i.test(href)) return all;
    const [path = '', hash] = href.split('#');
    const target = posix.normalize(posix.join(posix.dirname(file), path)).replace(/\/$/, '');
    if (mark === '!') return `![${label}](/images/${basename(target)})`;
    if (target === 'openapi.json') return `[${label}](/openapi.json)`;
    const id = ids.get(target) ?? ids.get(`${target}/README.md`);
    return id === undefined ? label : `[${label}](${toAddress(id)}${hash === undefined ? '' : `#${hash}`})`;
  });
}

function readPage(file: string, id: string): Page {
  const source = readFileSync(join(repository, file), 'utf8');
  const language = exampleLanguages[extname(file)];
  const text = language === undefined ? source : `# ${basename(file)}\n\n\`\`\`${language}\n${source}\`\`\`\n`;
  const [, title = basename(file), rest = ''] = /^# (.*)\n([^]*)$/m.exec(text) ?? [];
  const [, paragraph = title] = /^\n*([A-Z][^\n]*)\n/.exec(rest) ?? [];
  return {
    id,
    file,
    title,
    description: paragraph.replaceAll(/\[([^[\]]*)\]\([^()]*\)/g, '$1').replaceAll(/[`*]/g, ''),
    body: withTitles(withLinks(rest, file, addressOf)),
    markdown: withLinks(text, file, (target) => `/${target}.md`),
  };
}

export const pages: readonly Page[] = [...ids].map(([file, id]) => readPage(file, id));

export interface Section {
  title: string;
  links: { label: string; id: string; description: string }[];
}

/** The list of pages by section, as docs/README.md has it. */
export function readSections(): Section[] {
  const sections: Section[] = [];
  for (const line of readFileSync(join(repository, 'docs/README.md'), 'utf8').split('\n')) {
    const [, title] = /^## (.*)$/.exec(line) ?? [];
    if (title !== undefined) sections.push({ title, links: [] });
    if (!line.startsWith('- ')) continue;
    const [, description = ''] = line.split('): ', 2);
    for (const [, label = '', href = ''] of line.matchAll(/\[([^[\]]*)\]\(([^()]*)\)/g)) {
      const target = posix.normalize(posix.join('docs', href.split('#')[0] ?? ''));
      const id = ids.get(target) ?? ids.get(`${target}/README.md`);
      if (id !== undefined) sections.at(-1)?.links.push({ label, id, description });
    }
  }
  return sections.filter(({ links }) => links.length > 0);
}
