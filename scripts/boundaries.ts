/**
 * Checks the boundaries of architecture.cjs: imports by dependency-cruiser,
 * words by a text rule. Run: `node scripts/boundaries.ts [root]`.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { architecture, boundaryRules, keeperRule } from './boundary-rules.ts';

// TypeScript 7, which checks the types, has no JavaScript API. The cruiser lies
// beside it at the root and would find it, so its imports of `typescript` are
// pointed at the version 5 of this folder. Without one it would fall back to a
// parser that does not see type imports.
const here = createRequire(import.meta.url);
registerHooks({
  resolve: (specifier, context, next) => {
    const cruiserWants = /^typescript(\/|$)/.test(specifier) && context.parentURL?.includes('/dependency-cruiser/');
    return cruiserWants ? { url: pathToFileURL(here.resolve(specifier)).href, shortCircuit: true } : next(specifier, context);
  },
});

/** One breach of one rule. */
export interface Trespass {
  rule: string;
  /** The file at fault, relative to the root. */
  from: string;
  /** What it reaches for. */
  to: string;
  comment: string;
}

const cruised = ['packages', 'images', 'tests', 'bench', 'scripts'];

async function trespassesOfImports(root: string): Promise<Trespass[]> {
  const { cruise, getAvailableTranspilers } = await import('dependency-cruiser');
  if (!getAvailableTranspilers().some(({ name, available }) => name === 'typescript' && available)) {
    throw new Error('the cruiser found no TypeScript that it can use, so type imports would go unseen');
  }
  const rules = boundaryRules(architecture, root);
  const { output } = await cruise(
    cruised.filter((folder) => existsSync(join(root, folder))),
    {
      baseDir: root,
      ruleSet: { forbidden: rules },
      validate: true,
      tsPreCompilationDeps: true,
      doNotFollow: { path: 'node_modules' },
      // Only ours: `/dist/` anywhere would drop the packages whose code lies in such a folder, and every rule about them with it.
      exclude: { path: '^packages/[^/]+/dist/|^bench/results/' },
    },
    {
      // Without these an import of a workspace package by its name resolves to nothing, and every rule about it passes.
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
      // A package of types alone has no `main`.
      mainFields: ['module', 'main', 'types'],
      bustTheCache: true,
    },
  );
  if (typeof output === 'string') throw new Error('the cruiser answered with a report where a result was asked for');
  if (output.summary.totalCruised === 0) throw new Error(`nothing to check in ${root}`);
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
