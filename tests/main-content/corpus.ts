/**
 * Pages with the text that a reader came for, to measure main content with. The
 * pages are generated, the same each time, and no two have the same markup. Rules
 * may be made on `tuned`; `unseen` has templates of its own and only measures.
 */
import { Around } from './around.ts';
import { languages, type Language } from './languages.ts';
import { escape, Markup, Names, type Naming, type Style } from './markup.ts';
import { Random } from './random.ts';
import { tuned } from './templates-tuned.ts';
import { unseen } from './templates-unseen.ts';
import type { Template } from './template.ts';
import { truthOf, Writer, writeText, type Kind } from './texts.ts';

export type Half = 'tuned' | 'unseen';

export interface ContentPage {
  name: string;
  kind: Kind;
  half: Half;
  url: string;
  html: string;
  heading: string;
  /** The text of the main content, without `heading`. */
  truth: string;
}

const byKind: Partial<Record<Kind, readonly Language[]>> = {
  cjk: [languages.chinese, languages.japanese, languages.korean],
  rtl: [languages.arabic, languages.hebrew, languages.arabic],
};
const namings: readonly Naming[] = ['kebab', 'bem', 'camel', 'hashed', 'prefixed', 'opaque'];
const seeds: Record<Half, number> = { tuned: 11, unseen: 5003 };

function styleOf(random: Random): Style {
  return {
    paragraph: random.pick(['p', 'p', 'p', 'p', 'div', 'section']),
    figure: random.pick(['figure', 'figure', 'caption', 'image']),
    code: random.pick(['prism', 'sphinx', 'plain']),
    note: random.pick(['aside', 'div', 'div', 'quote']),
    anchors: random.chance(0.5),
  };
}

function pageOf(half: Half, kind: Kind, { template, at }: { template: Template; at: number }): ContentPage {
  const random = new Random(seeds[half] + at * 101 + [...kind].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7));
  const own = byKind[kind];
  const language = own?.[at % own.length] ?? languages.english;
  const writer = new Writer(language, random);
  const text = writeText(kind, writer);
  const names = new Names(namings[(at + kind.length) % namings.length] ?? 'kebab', random);
  const style = template.name === 'tables' ? { ...styleOf(random), paragraph: 'br' as const } : styleOf(random);
  const around = new Around(writer, names);
  const body = template({ text, around, markup: new Markup(style, names, random) });
  const site = around.label();
  const html = `<!doctype html><html lang="${language.code}" dir="${language.direction}"><head><meta charset="utf-8"><title>${escape(text.title)}${random.pick([' | ', ' - ', ' – '])}${site}</title><meta property="og:site_name" content="${site}"></head><body>${body}</body></html>`;
  const name = `${half} ${kind} ${at + 1}: ${template.name}`;
  return { name, kind, half, url: `https://www.${half}-${kind}.example/a/${at}`, html, heading: text.title, truth: truthOf(text) };
}

const halfOf = (half: Half, templates: Readonly<Record<string, readonly Template[]>>): ContentPage[] =>
  Object.entries(templates).flatMap(([kind, list]) => list.map((template, at) => pageOf(half, kind as Kind, { template, at })));

export const contentPages: readonly ContentPage[] = [...halfOf('tuned', tuned), ...halfOf('unseen', unseen)];
