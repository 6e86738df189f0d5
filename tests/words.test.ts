/** scripts/words.ts reports each refused word of the glossary where it is refused, and nothing else. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findMisnomers, readGlossary, type Misnomer } from '../scripts/words.ts';

interface Seed {
  what: string;
  file: string;
  text: string;
  /** Exactly the words that must be reported, with their lines. */
  reports: Pick<Misnomer, 'line' | 'word'>[];
}

const src = 'packages/server/src';

const glossary = `# Glossary

A word of the glossary itself, such as *zorp*, is not reported.

## Words that are refused

| Not | In | Instead |
|---|---|---|
| \`zorp\`, \`zorps\` | names, text | session |
| \`blick\` | types | record |
| \`frub\` | names | read |
| \`quux by\` | names, text | detach |

## Exceptions

| Name | Below | Why |
|---|---|---|
| \`zorp line\` | \`${src}/lib/\` | The field's own term. |
| \`frub all\` | | Ordinary English. |
`;

const seeds: Seed[] = [
  { what: 'the name of a variable', file: `${src}/lib/variable.ts`, text: 'const lastZorp = 1;\n', reports: [{ line: 1, word: 'zorp' }] },
  {
    what: 'the name of a function',
    file: `${src}/lib/function.ts`,
    text: '\nfunction quuxBy() {}\n',
    reports: [{ line: 2, word: 'quux by' }],
  },
  {
    what: 'the name of a parameter',
    file: `${src}/lib/parameter.ts`,
    text: 'const f = (frub) => 1;\n',
    reports: [{ line: 1, word: 'frub' }],
  },
  {
    what: 'the name of a private field',
    file: `${src}/lib/field.ts`,
    text: 'class A {\n  #frub = 1;\n}\n',
    reports: [{ line: 2, word: 'frub' }],
  },
  {
    what: 'the name of a property in a type',
    file: `${src}/lib/property.ts`,
    text: 'interface A {\n  zorp_count: number;\n}\n',
    reports: [{ line: 2, word: 'zorp' }],
  },
  {
    what: 'a field of a request',
    file: `${src}/lib/fields.ts`,
    text: 'const Request = z.object({\n  zorp_ms: z.int(),\n});\n',
    reports: [{ line: 2, word: 'zorp' }],
  },
  {
    what: 'the last word of a type',
    file: `${src}/lib/type.ts`,
    text: 'type StepBlick = string;\n',
    reports: [{ line: 1, word: 'blick' }],
  },
  {
    what: 'the last word of a class',
    file: `${src}/lib/class.ts`,
    text: 'class StepBlick {}\n',
    reports: [{ line: 1, word: 'blick' }],
  },
  {
    what: 'a line comment',
    file: `${src}/lib/comment.ts`,
    text: '// The zorps end.\nconst a = 1;\n',
    reports: [{ line: 1, word: 'zorps' }],
  },
  {
    what: 'a comment at the end of a block',
    file: `${src}/lib/last-comment.ts`,
    text: 'function f() {\n  const a = 1;\n  // No zorp.\n}\n',
    reports: [{ line: 3, word: 'zorp' }],
  },
  {
    what: 'a comment that breaks the line between two words',
    file: `${src}/lib/broken-comment.ts`,
    text: '/**\n * What quux\n * by means.\n */\nconst a = 1;\n',
    reports: [{ line: 1, word: 'quux by' }],
  },
  { what: 'a message', file: 'bench/message.ts', text: "console.log('No Zorp here.');\n", reports: [{ line: 1, word: 'zorp' }] },
  { what: 'a template', file: 'images/template.ts', text: 'const a = `${1} zorp of ${2}`;\n', reports: [{ line: 1, word: 'zorp' }] },
  {
    what: 'the text of a page',
    file: 'packages/web/src/page.tsx',
    text: 'const a = <p>A zorp</p>;\n',
    reports: [{ line: 1, word: 'zorp' }],
  },
  {
    what: 'a document',
    file: 'docs/page.md',
    text: '# Page\n\nA zorp and\nanother zorp.\n',
    reports: [3, 4].map((line) => ({ line, word: 'zorp' })),
  },
  { what: 'a document of a folder', file: `${src}/lib/README.md`, text: 'A zorp.\n', reports: [{ line: 1, word: 'zorp' }] },
  { what: 'an example', file: 'examples/zorpless.mjs', text: '// A zorp.\n', reports: [{ line: 1, word: 'zorp' }] },
  { what: 'a file of a deployment', file: 'deploy/helm/values.yaml', text: '# A\n# zorp\n', reports: [{ line: 2, word: 'zorp' }] },
  { what: 'the name of a file', file: 'tests/quux-by.test.ts', text: 'const a = 1;\n', reports: [{ line: 1, word: 'quux by' }] },

  { what: 'an exception below its path', file: `${src}/lib/allowed.ts`, text: 'const zorpLineMax = 1;\n', reports: [] },
  {
    what: 'an exception elsewhere',
    file: `${src}/store/forbidden.ts`,
    text: 'const zorpLineMax = 1;\n',
    reports: [{ line: 1, word: 'zorp' }],
  },
  { what: 'an exception for every path', file: `${src}/store/frub-all.ts`, text: 'const frubAllNow = 1;\n', reports: [] },
  { what: 'a word that contains a refused one', file: `${src}/lib/longer.ts`, text: "const zorpy = 'zorpy, mid-zorp';\n", reports: [] },
  {
    what: 'a refused type ending elsewhere in a name',
    file: `${src}/lib/begins.ts`,
    text: 'type BlickSet = 1;\nconst blick = 1;\n',
    reports: [],
  },
  {
    what: 'a word that is refused in names only, in text',
    file: `${src}/lib/text.ts`,
    text: "// To frub.\nconst a = 'frub';\n",
    reports: [],
  },
  {
    what: 'the alias of an import',
    file: `${src}/lib/alias.ts`,
    text: "import { a as zorp } from 'b';\n",
    reports: [{ line: 1, word: 'zorp' }],
  },
  {
    what: 'names of other packages',
    file: `${src}/lib/imports.ts`,
    text: "import { zorp as a } from 'zorp';\na.zorp();\n",
    reports: [],
  },
  { what: 'a generated file', file: `${src}/generated/names.ts`, text: 'const zorp = 1;\n', reports: [] },
];

function write(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

describe('the words check', () => {
  const root = mkdtempSync(join(tmpdir(), 'berth-words-'));
  let misnomers: Misnomer[];

  before(() => {
    write(root, { 'docs/glossary.md': glossary });
    write(root, Object.fromEntries(seeds.map(({ file, text }) => [file, text])));
    misnomers = findMisnomers(root);
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  for (const { what, file, reports } of seeds) {
    it(`the words check ${reports.length === 0 ? 'accepts' : 'refuses'} ${what}`, () => {
      const reported = misnomers.filter(({ path }) => path === file).map(({ line, word }) => ({ line, word }));
      assert.deepEqual(reported, reports);
    });
  }

  it('the words check reports nothing else', () => {
    const seeded = new Set(seeds.map(({ file }) => file));
    assert.deepEqual(
      misnomers.filter(({ path }) => !seeded.has(path)),
      [],
    );
  });

  it('the words check names what to use instead', () => {
    const [misnomer] = misnomers.filter(({ path }) => path === `${src}/lib/variable.ts`);
    assert.deepEqual(misnomer, { path: `${src}/lib/variable.ts`, line: 1, text: 'lastZorp', word: 'zorp', instead: 'session' });
  });

  it('the words check reads only what is below the given paths', () => {
    assert.deepEqual([...new Set(findMisnomers(root, ['bench', 'docs/page']).map(({ path }) => path))].toSorted(), [
      'bench/message.ts',
      'docs/page.md',
    ]);
  });
});

describe('the glossary', () => {
  const root = mkdtempSync(join(tmpdir(), 'berth-glossary-'));
  after(() => rmSync(root, { recursive: true, force: true }));
  const refuse = (text: string, error: RegExp): void => {
    write(root, { 'docs/glossary.md': text });
    assert.throws(() => readGlossary(root), error);
  };

  it('a glossary without its tables, with an unknown scope or without a word is refused', () => {
    refuse('# Glossary\n', /has no section "Words that are refused"/);
    refuse(glossary.replace('names, text', 'titles'), /"titles" is not one of names, types, text/);
    refuse(glossary.replaceAll(/^\| `(zorp`, |blick|frub` |quux by` ).*\n/gm, ''), /refuses no word/);
  });

  it('the glossary of this repository can be read', () => {
    const { refused, exceptions } = readGlossary(join(import.meta.dirname, '..'));
    assert.ok(refused.length > 50 && exceptions.length > 0);
  });
});
