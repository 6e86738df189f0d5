/**
 * Checks the boundaries of architecture.cjs: imports by dependency-cruiser,
 * words by a text rule. Run: `node scripts/boundaries.ts [root]`.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { architecture, boundaryRules, keeperRule } from './boundary-rules.ts';
import { readImports } from './import-graph.ts';

/** One breach of one rule. */
export interface Trespass {
  rule: string;
  /** The file at fault, relative to the root. */
  from: string;
  /** What it reaches for. */
  to: string;
  comment: string;
}

async function trespassesOfImports(root: string): Promise<Trespass[]> {
  const rules = boundaryRules(architecture, root);
  const output = await readImports(root, rules);
  const comments = new Map(rules.map(({ name, comment }) => [name, comment ?? '']));
  return output.summary.violations.map(({ rule, from, to }) => ({ rule: rule.name, from, to, comment: comments.get(rule.name) ?? '' }));
}

const comments = /\/\*[\s\S]*?\*\/|(^|\s)\/\/[^\n]*/g;

function trespassesOfWords(root: string): Trespass[] {
  const files = globSync('packages/*/src/**/*.ts', { cwd: root }).filter(
    (path) => !path.endsWith('.test.ts') && !path.includes('node_modules'),
  );
  return files.flatMap((from) => {
    const code = readFileSync(join(root, from), 'utf8').replace(comments, ' ');
    return architecture.wordKeepers
      .filter(({ words, only }) => words.test(code) && !only.test(from))
      .map(({ what, only }) => ({ rule: keeperRule(what), from, to: what, comment: `Only ${only.source} holds ${what}.` }));
  });
}

/** Every breach of the boundaries in the tree at `root`. */
export async function findTrespasses(root: string): Promise<Trespass[]> {
  return [...(await trespassesOfImports(root)), ...trespassesOfWords(root)];
}

if (import.meta.main) {
  const trespasses = await findTrespasses(resolve(process.argv[2] ?? join(import.meta.dirname, '..')));
  for (const { rule, from, to, comment } of trespasses) console.log(`${rule}: ${from} → ${to}\n    ${comment}`);
  console.log(trespasses.length === 0 ? 'boundaries: kept' : `boundaries: ${trespasses.length} breached`);
  process.exitCode = trespasses.length === 0 ? 0 : 1;
}
