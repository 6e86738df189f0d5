/**
 * Reports on what a linter does not know: the shape of this repository. A
 * report for a reader, never a gate: it always exits with 0.
 * Run: `node scripts/checks/tidy.ts [root]`.
 */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import ts from 'typescript';
import { architecture } from '../boundary-rules.ts';

interface Remark {
  path: string;
  line: number;
  text: string;
}

/** Where admired code of this kind already is; past these a reader loses the thread. */
const linesMax = { file: 350, function: 60 };
const parametersMax = 4;

const vagueName = /(^|[-.])(utils?|helpers?|common|misc|shared|managers?|services?|handlers?|index)([-.]|$)/;
const vagueType = /(Service|Manager|Helper|Util|Handler)s?$/;
const openEnd = /\b(TO[D]O|FIX[M]E|XX[X])\b(?!\(#\d+\))/g;
const pathInText = /`((?:packages|docs|tests|bench|scripts|deploy)\/[^`*<{ ]+|[a-z]+[.](?:cjs|json))`/g;
const linkInText = /\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)/g;

const listFiles = (root: string, pattern: string): string[] =>
  globSync(pattern, { cwd: root, exclude: (name) => ['node_modules', 'dist', 'generated', 'results'].includes(basename(name)) }).toSorted();

const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;

function remarksOnFunctions(path: string, source: ts.SourceFile): Remark[] {
  const remarks: Remark[] = [];
  const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line + 1;
  const visit = (node: ts.Node): void => {
    const line = lineOf(node.getStart(source));
    if (ts.isFunctionLike(node)) {
      const length = lineOf(node.end) - line + 1;
      // A suite is a list, not a train of thought.
      const isSuite = ts.isCallExpression(node.parent) && /^(describe|suite)\b/.test(node.parent.expression.getText(source));
      if ('body' in node && length > linesMax.function && !isSuite) {
        remarks.push({ path, line, text: `function of ${length} lines, at most ${linesMax.function}` });
      }
      if (node.parameters.length > parametersMax)
        remarks.push({ path, line, text: `${node.parameters.length} parameters: take one options object` });
    }
    if ((ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) && node.name && vagueType.test(node.name.text)) {
      remarks.push({ path, line, text: `${node.name.text} is a vague name: name the thing, not its shelf` });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return remarks;
}

function remarksOnSource(root: string, path: string): Remark[] {
  const text = readFileSync(join(root, path), 'utf8');
  const remarks = remarksOnFunctions(path, ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  const lines = lineAt(text, text.length);
  if (lines > linesMax.file) remarks.push({ path, line: 1, text: `${lines} lines, at most ${linesMax.file}` });
  if (vagueName.test(basename(path, '.ts'))) remarks.push({ path, line: 1, text: 'a vague file name: name the thing, not its shelf' });
  for (const match of text.matchAll(openEnd)) {
    remarks.push({ path, line: lineAt(text, match.index), text: `an open end without an issue: write ${match[1] ?? ''}(#123)` });
  }
  return remarks;
}

function remarksOnDocument(root: string, path: string): Remark[] {
  const text = readFileSync(join(root, path), 'utf8');
  const prose = text.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, ' '));
  const remarks: Remark[] = [];
  const titles = prose.match(/^# /gm)?.length ?? 0;
  if (titles !== 1) remarks.push({ path, line: 1, text: `${titles} top-level titles, a document has exactly one` });
  const named = [...prose.matchAll(pathInText)].map((match) => ({ match, at: join(root, match[1] ?? '') }));
  const linked = [...prose.matchAll(linkInText)].map((match) => ({ match, at: join(root, dirname(path), match[1] ?? '') }));
  for (const { match, at } of [...named, ...linked]) {
    if (!existsSync(at)) remarks.push({ path, line: lineAt(prose, match.index), text: `names ${match[1] ?? ''}, which does not exist` });
  }
  return remarks;
}

function remarksOnLadder(root: string): Remark[] {
  const src = 'packages/server/src';
  const { groups, ladder } = architecture;
  const foldersIn = (path: string): string[] =>
    readdirSync(join(root, src, path), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(path, name));
  const onDisk = foldersIn('').flatMap((name) => (groups.includes(name) ? foldersIn(name) : [name]));
  return [
    ...onDisk
      .filter((name) => !ladder.includes(name) && name !== 'boot' && name !== 'doctor')
      .map((name) => ({ path: `${src}/${name}`, line: 1, text: 'is not on the ladder in architecture.cjs' })),
    ...ladder
      .filter((name) => !onDisk.includes(name))
      .map((name) => ({ path: 'architecture.cjs', line: 1, text: `${name}/ is on the ladder, not on disk` })),
    ...ladder
      .filter(
        (name) =>
          onDisk.includes(name) && !architecture.toolboxes.includes(name) && !existsSync(join(root, src, name, `${basename(name)}.ts`)),
      )
      .map((name) => ({ path: `${src}/${name}`, line: 1, text: `has no door: ${basename(name)}.ts` })),
  ];
}

/** Every remark on the tree at `root`, in the order of the files. */
export function findRemarks(root: string): Remark[] {
  const sources = ['packages/*/{src,testing}/**/*.ts', 'tests/**/*.ts', 'bench/**/*.ts', 'scripts/**/*.ts'].flatMap((pattern) =>
    listFiles(root, pattern),
  );
  const documents = ['*.md', 'docs/**/*.md', 'packages/*/README.md'].flatMap((pattern) => listFiles(root, pattern));
  return [
    ...sources.filter((path) => !path.endsWith('.d.ts')).flatMap((path) => remarksOnSource(root, path)),
    ...documents.flatMap((path) => remarksOnDocument(root, path)),
    ...remarksOnLadder(root),
  ];
}

if (import.meta.main) {
  const remarks = findRemarks(resolve(process.argv[2] ?? join(import.meta.dirname, '../..')));
  for (const { path, line, text } of remarks) console.log(`${path}:${line}: ${text}`);
  console.log(remarks.length === 0 ? 'tidy: nothing to remark' : `tidy: ${remarks.length} remarks`);
}
