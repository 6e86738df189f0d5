/**
 * Checks that the repository uses the words of docs/glossary.md, its only
 * source: the tables there say which words are refused, where, and what is
 * used instead. Run: `node scripts/words.ts [root] [path prefix…]`.
 */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import ts from 'typescript';

/** `names`: a word of a declared name or a file name. `types`: the last word of a type's name. `text`: comments, strings and documents. */
const scopes = ['names', 'types', 'text'] as const;
type Scope = (typeof scopes)[number];

interface RefusedWord {
  word: string;
  scopes: ReadonlySet<Scope>;
  instead: string;
}

export interface Glossary {
  refused: readonly RefusedWord[];
  /** Names that contain a refused word in its ordinary sense, each with the paths in which it may stand. */
  exceptions: readonly { name: string; paths: string }[];
}

/** One use of a refused word. */
export interface Misnomer {
  path: string;
  line: number;
  /** The name or text in which it stands. */
  text: string;
  word: string;
  instead: string;
}

const glossaryPath = 'docs/glossary.md';
const sources = '{packages/*/src,packages/*/testing,images,tests,bench,scripts}/**/*.{ts,tsx}';
/** Read line by line. */
const documents = ['*.md', '{docs,packages,tests,images}/**/*.md', '{examples,scripts}/*.{mjs,cjs,sh}', '*.cjs', 'deploy/**/*'];
const skipped = ['node_modules', 'dist', 'generated', 'results'];

/** The rows of the table below a heading, cell by cell. */
function rowsBelow(text: string, heading: string): string[][] {
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`${glossaryPath} has no section "${heading}"`);
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

const codeSpans = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);

/** @throws Error for a glossary that the check cannot read */
export function readGlossary(root: string): Glossary {
  const text = readFileSync(join(root, glossaryPath), 'utf8');
  const refused = rowsBelow(text, 'Words that are refused').flatMap(([words = '', where = '', instead = '']) => {
    const named = where.split(',').map((scope) => scope.trim());
    const unknown = named.find((scope) => !(scopes as readonly string[]).includes(scope));
    if (unknown !== undefined) throw new Error(`${glossaryPath}: "${unknown}" is not one of ${scopes.join(', ')}`);
    return codeSpans(words).map((word) => ({ word, scopes: new Set(named as Scope[]), instead }));
  });
  if (refused.length === 0) throw new Error(`${glossaryPath} refuses no word`);
  const exceptions = rowsBelow(text, 'Exceptions').flatMap(([names = '', paths = '']) =>
    codeSpans(names).flatMap((name) => (paths === '' ? [''] : codeSpans(paths)).map((path) => ({ name, paths: path }))),
  );
  return { refused, exceptions };
}

/** `lastErrorOf` and `last-error.of` alike: last, error, of. */
const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);

interface Match {
  word: RefusedWord;
  /** The name or text in which the word stands. */
  text: string;
}

type Matcher = (text: string, path: string) => Match | undefined;

const begins = (words: readonly string[], at: number, sequence: readonly string[]): boolean =>
  sequence.every((word, i) => words[at + i] === word);

/** A name's words without those that stand in it in their ordinary sense. */
function withoutOrdinary(words: string[], ordinary: readonly { words: string[] }[]): string[] {
  return ordinary.reduce((left, { words: sequence }) => {
    const at = left.findIndex((_, i) => begins(left, i, sequence));
    return at < 0 ? left : left.toSpliced(at, sequence.length, '_');
  }, words);
}

function nameMatcher({ refused, exceptions }: Glossary, scope: 'names' | 'types'): Matcher {
  const inScope = refused.filter((word) => word.scopes.has(scope)).map((word) => ({ word, parts: wordsOf(word.word) }));
  const ordinary = exceptions.map(({ name, paths }) => ({ words: wordsOf(name), paths }));
  return (name, path) => {
    const words = withoutOrdinary(
      wordsOf(name),
      ordinary.filter(({ paths }) => path.startsWith(paths)),
    );
    const hit = inScope.find(({ parts }) => {
      if (scope === 'types') return parts.length <= words.length && begins(words, words.length - parts.length, parts);
      return words.some((_, at) => begins(words, at, parts));
    });
    return hit && { word: hit.word, text: name };
  };
}

function textMatcher({ refused, exceptions }: Glossary): Matcher {
  const inScope = refused.filter((word) => word.scopes.has('text'));
  if (inScope.length === 0) return () => undefined;
  const escaped = inScope.map(({ word }) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\s+/g, '[\\s*/]+'));
  const pattern = new RegExp(`(?<![\\w-])(?:${escaped.map((word) => `(${word})`).join('|')})(?![\\w-])`, 'i');
  return (text, path) => {
    const match = pattern.exec(text);
    if (!match) return undefined;
    if (exceptions.some(({ name, paths }) => name === match[0] && path.startsWith(paths))) return undefined;
    const word = inScope[match.slice(1).findIndex((group) => group !== undefined)];
    return word && { word, text: match[0].replace(/\s+/g, ' ') };
  };
}

function isDeclared(node: ts.Identifier | ts.PrivateIdentifier): boolean {
  const { parent } = node;
  if (ts.isImportSpecifier(parent)) return parent.propertyName !== undefined && parent.name === node;
  const declares =
    ts.isVariableDeclaration(parent) ||
    ts.isParameter(parent) ||
    ts.isBindingElement(parent) ||
    ts.isFunctionLike(parent) ||
    ts.isClassLike(parent) ||
    ts.isInterfaceDeclaration(parent) ||
    ts.isTypeAliasDeclaration(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isPropertySignature(parent) ||
    // Keys of `z.object` are the fields of the API.
    ts.isPropertyAssignment(parent) ||
    ts.isNamespaceImport(parent) ||
    ts.isImportClause(parent);
  return declares && (parent as { name?: ts.Node }).name === node;
}

const declaresType = ({ parent }: ts.Node): boolean =>
  ts.isInterfaceDeclaration(parent) || ts.isTypeAliasDeclaration(parent) || ts.isClassLike(parent);

/** What people read in a source file: comments and texts, with where they begin. */
function textsOf(source: ts.SourceFile): { text: string; at: number }[] {
  const texts: { text: string; at: number }[] = [];
  const comments = new Set<number>();
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node) || ts.isJsxText(node)) {
      if (!ts.isImportDeclaration(node.parent) && !ts.isExportDeclaration(node.parent))
        texts.push({ text: node.text, at: node.getStart(source) });
    }
    for (const { pos, end } of ts.getLeadingCommentRanges(source.text, node.pos) ?? []) {
      if (comments.has(pos)) continue;
      comments.add(pos);
      texts.push({ text: source.text.slice(pos, end), at: pos });
    }
    // Comments at the end of a block belong to its closing brace, which only `getChildren` shows.
    for (const child of node.getChildren(source)) visit(child);
  };
  visit(source);
  return texts;
}

interface Matchers {
  names: Matcher;
  types: Matcher;
  text: Matcher;
}

function inSource(path: string, text: string, { names, types, text: inText }: Matchers): Misnomer[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const misnomers: Misnomer[] = [];
  const report = (match: ReturnType<Matcher>, at: number): void => {
    if (!match) return;
    const line = source.getLineAndCharacterOfPosition(at).line + 1;
    misnomers.push({ path, line, text: match.text, word: match.word.word, instead: match.word.instead });
  };
  const visit = (node: ts.Node): void => {
    if ((ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) && isDeclared(node))
      report(names(node.text, path) ?? (declaresType(node) ? types(node.text, path) : undefined), node.getStart(source));
    ts.forEachChild(node, visit);
  };
  visit(source);
  for (const { text: each, at } of textsOf(source)) report(inText(each, path), at);
  return misnomers;
}

function inDocument(path: string, text: string, { text: inText }: Matchers): Misnomer[] {
  return text.split('\n').flatMap((line, i) => {
    const match = inText(line, path);
    if (!match) return [];
    return [{ path, line: i + 1, text: match.text, word: match.word.word, instead: match.word.instead }];
  });
}

const listFiles = (root: string, pattern: string | string[]): string[] =>
  globSync(pattern, { cwd: root, exclude: (name) => skipped.includes(basename(name)) })
    .filter((path) => statSync(join(root, path)).isFile())
    .toSorted();

/** Every use of a refused word in the tree at `root`, below the given path prefixes. */
export function findMisnomers(root: string, prefixes: readonly string[] = ['']): Misnomer[] {
  const glossary = readGlossary(root);
  const matchers: Matchers = {
    names: nameMatcher(glossary, 'names'),
    types: nameMatcher(glossary, 'types'),
    text: textMatcher(glossary),
  };
  const isMeant = (path: string): boolean => path !== glossaryPath && prefixes.some((prefix) => path.startsWith(prefix));
  const inNames = listFiles(root, sources)
    .filter(isMeant)
    .flatMap((path) => {
      const name = basename(path).replace(/[.].*$/, '');
      const match = matchers.names(name, path);
      return match ? [{ path, line: 1, text: basename(path), word: match.word.word, instead: match.word.instead }] : [];
    });
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  return [
    ...inNames,
    ...listFiles(root, sources)
      .filter(isMeant)
      .flatMap((path) => inSource(path, read(path), matchers)),
    ...listFiles(root, documents)
      .filter(isMeant)
      .flatMap((path) => inDocument(path, read(path), matchers)),
  ];
}

function main([root = resolve(import.meta.dirname, '..'), ...prefixes]: string[]): number {
  if (!existsSync(join(root, glossaryPath))) throw new Error(`${root} has no ${glossaryPath}`);
  const misnomers = findMisnomers(root, prefixes.length > 0 ? prefixes : undefined);
  for (const { path, line, text, word, instead } of misnomers)
    console.log(`${path}:${line}  ${text}${text.toLowerCase() === word.toLowerCase() ? '' : ` (${word})`} → ${instead}`);
  console.log(misnomers.length === 0 ? 'words: kept' : `words: ${misnomers.length} that docs/glossary.md refuses`);
  return misnomers.length === 0 ? 0 : 1;
}

if (process.argv[1] === import.meta.filename) process.exitCode = main(process.argv.slice(2));
