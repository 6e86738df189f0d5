/** Texts of pages: what they are about, as blocks, without any markup. */
import type { Language } from './languages.ts';
import type { Random } from './random.ts';

export type Block =
  | { kind: 'text' | 'quote' | 'note'; text: string }
  | { kind: 'heading'; text: string; level: 2 | 3 }
  | { kind: 'list' | 'steps'; items: string[] }
  | { kind: 'code'; text: string; language: string }
  | { kind: 'table'; rows: string[][] }
  | { kind: 'terms'; pairs: [term: string, text: string][] }
  /** A caption is no part of the truth: it describes a picture that a text has not. */
  | { kind: 'figure'; alt: string; caption: string };

export interface Post {
  author: string;
  date: string;
  blocks: Block[];
}

export interface Text {
  title: string;
  author: string;
  date: string;
  blocks: Block[];
  /** The answers to `blocks`, in discussions. */
  posts: Post[];
}

const authors = [
  'Mira Tallis',
  'Jonas Weil',
  'P. Aldous',
  'Keiko Arden',
  'Samir Haddad',
  'Lotte Brandt',
  'oldharbour42',
  'ropewalker',
  'tinbird',
];

/** The truth: everything that a reader came for, headings included, in order. */
export function truthOf({ blocks, posts }: Text): string {
  return [...blocks, ...posts.flatMap((post) => post.blocks)].map(textOf).join('\n');
}

function textOf(block: Block): string {
  switch (block.kind) {
    case 'list':
    case 'steps':
      return block.items.join('\n');
    case 'table':
      return block.rows.flat().join('\n');
    case 'terms':
      return block.pairs.flat().join('\n');
    case 'figure':
      return '';
    default:
      return block.text;
  }
}

export class Writer {
  readonly language: Language;
  readonly random: Random;
  readonly #recent: string[] = [];

  constructor(language: Language, random: Random) {
    this.language = language;
    this.random = random;
  }

  fill(pattern: string): string {
    const text = pattern.replace(/\{(\w+)\}/g, (_, name: string) => this.random.pick(this.language.words[name] ?? ['']));
    return text.charAt(0).toUpperCase() + text.slice(1);
  }

  title(): string {
    return this.fill(this.#fresh(this.language.titles));
  }

  sentence(): string {
    return this.fill(this.#fresh(this.language.patterns));
  }

  /** Picks a pattern that is not one of those used last. */
  #fresh(patterns: readonly string[]): string {
    const pattern = this.random.pick(patterns.filter((one) => !this.#recent.includes(one)));
    this.#recent.push(pattern);
    if (this.#recent.length > patterns.length * 0.6) this.#recent.splice(0, Math.ceil(patterns.length * 0.3));
    return pattern;
  }

  paragraph(least = 2, most = 5): Block {
    const sentences = this.random.times(this.random.between(least, most), () => this.sentence());
    return { kind: 'text', text: sentences.join(this.language.space) };
  }

  paragraphs(count: number): Block[] {
    return this.random.times(count, () => this.paragraph());
  }

  heading(level: 2 | 3 = 2): Block {
    return { kind: 'heading', level, text: this.title() };
  }

  list(kind: 'list' | 'steps' = 'list', count = 4): Block {
    return { kind, items: this.random.times(count, () => this.sentence()) };
  }

  figure(): Block {
    return { kind: 'figure', alt: this.title(), caption: `${this.title()}. ${this.random.pick(authors)}` };
  }

  /** Picks an author and a date. */
  signed(): { author: string; date: string } {
    return {
      author: this.random.pick(authors),
      date: `${this.random.between(1, 28)}.${this.random.between(1, 12)}.202${this.random.between(1, 6)}`,
    };
  }

  text(blocks: Block[], posts: Post[] = []): Text {
    return { title: this.title(), ...this.signed(), blocks, posts };
  }
}

export type Kind = 'news' | 'docs' | 'blog' | 'shop' | 'forum' | 'recipe' | 'short' | 'cjk' | 'rtl';

export function writeText(kind: Kind, writer: Writer): Text {
  const { random } = writer;
  switch (kind) {
    case 'news':
    case 'cjk':
    case 'rtl':
      return writer.text([
        ...writer.paragraphs(random.between(2, 3)),
        writer.figure(),
        ...writer.paragraphs(random.between(2, 4)),
        ...(random.chance(0.5) ? [writer.heading(), ...writer.paragraphs(2)] : []),
        ...(random.chance(0.4) ? [{ kind: 'quote', text: writer.sentence() } as const] : []),
        ...writer.paragraphs(random.between(1, 3)),
      ]);
    case 'blog':
      return writer.text([
        writer.paragraph(),
        ...random.times(random.between(2, 4), () => [writer.heading(), ...writer.paragraphs(random.between(1, 3))]).flat(),
        writer.list(),
        writer.figure(),
        writer.paragraph(),
      ]);
    case 'docs':
      return writer.text(docsBlocks(writer));
    case 'recipe':
      return writer.text(recipeBlocks(writer));
    case 'shop':
      return writer.text(shopBlocks(writer));
    case 'forum':
      return writer.text(
        writer.paragraphs(random.between(1, 2)),
        random.times(random.between(3, 7), () => ({ ...writer.signed(), blocks: [writer.paragraph(1, 4)] })),
      );
    case 'short':
      return writer.text([writer.paragraph(1, 2), writer.paragraph(1, 1)]);
  }
}

function docsBlocks(writer: Writer): Block[] {
  const { random } = writer;
  const name = random.pick(['winch', 'sieve', 'ledger', 'tide']);
  const code = random.pick([
    `import { open } from '${name}';\n\nconst ${name} = await open({ depth: ${random.between(2, 9)} });\nfor (const row of ${name}.rows) console.log(row.label);`,
    `$ ${name} init --depth ${random.between(2, 9)}\n$ ${name} run --watch\nready in 41 ms`,
    `def measure(${name}, depth=${random.between(2, 9)}):\n    rows = ${name}.rows()\n    return [row for row in rows if row.depth > depth]`,
  ]);
  return [
    writer.paragraph(),
    writer.heading(),
    writer.paragraph(1, 3),
    { kind: 'code', text: code, language: code.startsWith('$') ? 'sh' : code.startsWith('def') ? 'python' : 'js' },
    { kind: 'note', text: writer.sentence() },
    writer.heading(),
    writer.paragraph(1, 3),
    {
      kind: 'table',
      rows: [
        ['Option', 'Default', 'Meaning'],
        ...['depth', 'label', 'retries'].map((option) => [option, String(random.between(0, 9)), writer.sentence()]),
      ],
    },
    writer.heading(3),
    writer.list('steps', 3),
    writer.paragraph(),
  ];
}

const ingredients = [
  '200 g of flour',
  'two eggs',
  'a pinch of salt',
  '150 ml of milk',
  'one lemon, grated',
  '80 g of butter, soft',
  'three spoons of honey',
  'a handful of walnuts',
];
const methods = [
  'Heat the oven to 180 degrees and grease a small tin.',
  'Stir the flour with the salt, then add the eggs one after another.',
  'Warm the milk until it steams and pour it in slowly while you keep stirring.',
  'Fold in the butter and leave the bowl to rest for twenty minutes.',
  'Bake until the top is brown and a needle comes out clean.',
  'Let it cool in the tin before you turn it out, or it will break.',
  'Scatter the nuts over it and serve it while it is still lukewarm.',
];

function recipeBlocks(writer: Writer): Block[] {
  const { random } = writer;
  return [
    writer.paragraph(2, 4),
    writer.figure(),
    { kind: 'heading', level: 2, text: 'Ingredients' },
    { kind: 'list', items: ingredients.filter(() => random.chance(0.8)) },
    { kind: 'heading', level: 2, text: random.pick(['Method', 'Instructions', 'Preparation']) },
    { kind: 'steps', items: methods.filter(() => random.chance(0.85)) },
    writer.paragraph(1, 3),
  ];
}

function shopBlocks(writer: Writer): Block[] {
  const { random } = writer;
  return [
    writer.paragraph(2, 3),
    { kind: 'heading', level: 2, text: random.pick(['Description', 'Details', 'About this item']) },
    writer.paragraph(2, 4),
    {
      kind: 'list',
      items: random.times(
        4,
        () =>
          `${writer.fill('{adjective} {tool}')} of ${random.pick(['ash', 'brass', 'oiled steel', 'linen', 'cork'])}, ${random.between(10, 90)} cm`,
      ),
    },
    { kind: 'heading', level: 2, text: random.pick(['Specifications', 'Technical data']) },
    {
      kind: 'table',
      rows: [
        ['Weight', `${random.between(2, 9)}.${random.between(1, 9)} kg`],
        ['Material', random.pick(['solid beech', 'cast iron', 'recycled wool'])],
        ['Origin', writer.fill('workshop in {place}')],
        ['Warranty', `${random.between(2, 10)} years`],
      ],
    },
    writer.paragraph(1, 2),
  ];
}
