/** Reads which file imports which, types included, by dependency-cruiser. */
import { existsSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ICruiseResult, IForbiddenRuleType } from 'dependency-cruiser';

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

const cruised = ['packages', 'images', 'tests', 'bench', 'scripts'];

/** All imports of the tree at `root`, and the breaches of these rules. */
export async function readImports(root: string, rules: readonly IForbiddenRuleType[] = []): Promise<ICruiseResult> {
  const { cruise, getAvailableTranspilers } = await import('dependency-cruiser');
  if (!getAvailableTranspilers().some(({ name, available }) => name === 'typescript' && available)) {
    throw new Error('the cruiser found no TypeScript that it can use, so type imports would go unseen');
  }
  const { output } = await cruise(
    cruised.filter((folder) => existsSync(join(root, folder))),
    {
      baseDir: root,
      ruleSet: { forbidden: [...rules] },
      validate: rules.length > 0,
      tsPreCompilationDeps: true,
      doNotFollow: { path: 'node_modules' },
      // By default it reads every package.json again after four seconds.
      enhancedResolveOptions: { cachedInputFileSystem: { cacheDuration: 600_000 } },
      // Only ours: `/dist/` anywhere would drop the packages whose code lies in such a folder, and every rule about them with it.
      // The site reads documents and imports nothing of ours; its modules are there only after `npm run site`.
      exclude: { path: '^packages/[^/]+/dist/|^packages/site/|^bench/results/' },
    },
    {
      // Without these an import of a workspace package by its name resolves to nothing, and every rule about it passes.
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
      // A package of types alone has no `main`.
      mainFields: ['module', 'main', 'types'],
    },
  );
  if (typeof output === 'string') throw new Error('the cruiser answered with a report where a result was asked for');
  if (output.summary.totalCruised === 0) throw new Error(`nothing to check in ${root}`);
  return output;
}
