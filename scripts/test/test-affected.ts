/** Which tests a change concerns, the nearest first: by imports, and of API and end-to-end tests by the endpoints that reach it. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import * as contract from '../../packages/contract/src/contract.ts';
import { fileOf } from '../../tests/contract/contract-table.ts';
import { readImports } from '../import-graph.ts';

/** Files of the repository that each file imports. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** What starts the whole service reaches every file of it, and says nothing of what a change concerns. */
const startsAll = /^packages\/server\/src\/(boot\/(app|mount|serve|services)|main)\.ts$|^tests\/((contract|prepare|services)\/)?[^/]*\.ts$/;
const isTest = (file: string): boolean => file.endsWith('.test.ts');

export async function readImportGraph(root: string): Promise<ImportGraph> {
  const { modules } = await readImports(root);
  return new Map(modules.map(({ source, dependencies }) => [source, dependencies.map(({ resolved }) => resolved)]));
}

/** Files that differ from `base`, also those that are not committed. */
export function listChanges(root: string, base: string): string[] {
  const git = (...words: string[]): string[] => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n');
  return [...new Set([...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')])].filter(Boolean);
}

/** Numbers of imports between each file and the nearest changed one. */
function distancesFrom(changed: readonly string[], graph: ImportGraph): Map<string, number> {
  const importers = new Map<string, string[]>();
  for (const [file, imports] of graph) for (const each of imports) importers.set(each, [...(importers.get(each) ?? []), file]);
  const distances = new Map(changed.map((file) => [file, 0]));
  const queue = [...changed];
  for (const file of queue) {
    if (startsAll.test(file) && distances.get(file) !== 0) continue;
    for (const importer of importers.get(file) ?? []) {
      if (distances.has(importer)) continue;
      distances.set(importer, (distances.get(file) ?? 0) + 1);
      queue.push(importer);
    }
  }
  return distances;
}

/** Endpoints by the names that the contract exports them with. */
const endpoints = new Map(contract.endpoints.map((endpoint) => [endpoint as unknown, endpoint]));
const endpointOf = new Map(
  Object.entries(contract).flatMap(([name, value]) => {
    const endpoint = endpoints.get(value);
    return endpoint ? [[name, endpoint] as const] : [];
  }),
);
/** `recordings` and `recording` are one word. */
const singular = (word: string): string => word.replace(/s$/, '');

/** Tests that use the endpoints which `routes` mounts: by the name of the endpoint, and by that of the folder. */
function testsOfRoutes(root: string, routes: string, tests: readonly string[]): string[] {
  const words = new Set(readFileSync(join(root, routes), 'utf8').match(/\w+/g));
  const ofEndpoints = new Set([...endpointOf].filter(([name]) => words.has(name)).map(([, endpoint]) => fileOf(endpoint)));
  // Such as `fetch-modes` and `live-view` for the folders `fetch` and `view`.
  const folder = singular(basename(dirname(routes)));
  const ofFolder = tests.filter(
    (file) => file.startsWith('tests/e2e/') && basename(file, '.test.ts').split('-').map(singular).includes(folder),
  );
  return [...tests.filter((file) => file.startsWith('tests/api/') && ofEndpoints.has(basename(file))), ...ofFolder];
}

/** Tests that the changed files concern, the nearest first. */
export function affectedTests(root: string, changed: readonly string[], graph: ImportGraph): string[] {
  const tests = [...graph.keys()].filter(isTest);
  const distances = distancesFrom(changed, graph);
  for (const [file, distance] of [...distances]) {
    if (!/\/(admin-)?routes\.ts$/.test(file)) continue;
    for (const test of testsOfRoutes(root, file, tests)) distances.set(test, Math.min(distances.get(test) ?? Infinity, distance + 1));
  }
  return tests.filter((file) => distances.has(file)).toSorted((one, other) => (distances.get(one) ?? 0) - (distances.get(other) ?? 0));
}
