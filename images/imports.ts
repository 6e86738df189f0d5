/** Follows a program's imports, as Node would: what it needs to run is found, and nothing else comes along. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ImageFault } from './fault.ts';

const comments = /\/\*[^]*?\*\/|^\s*\/\/.*$/gm;
const imports = /\b(?:from|import)\s*\(?\s*['"]([^'"\n]+)['"]/g;
/** Files that are read beside the program. */
const assets = /\bnew URL\(\s*['"](\.[^'"\n]+)['"]\s*,\s*import\.meta\.url\s*\)/g;

type Exports = string | { import?: Exports; default?: Exports };

/** Of a package that bears a name, or of a folder in one. */
export interface PackageFile {
  name?: string;
  version?: string;
  license?: string;
  exports?: Record<string, Exports>;
}

export interface FoundFiles {
  /** Real paths of all files, the entry among them. */
  files: string[];
  /** The package.json that holds for each of them. */
  packages: string[];
}

export function followImports(entry: string): FoundFiles {
  const found = new Set<string>();
  const packages = new Set<string>();
  const follow = (path: string): void => {
    if (found.has(path)) return;
    if (!existsSync(path)) throw new ImageFault(`${path} is missing: the agent needs it`);
    found.add(path);
    packages.add(ownPackage(path));
    const text = readFileSync(path, 'utf8');
    if (!/\.[cm]?[jt]s$/.test(path)) return;
    const code = text.replaceAll(comments, '');
    for (const [, specifier = ''] of code.matchAll(imports)) if (!specifier.startsWith('node:')) follow(resolveImport(specifier, path));
    for (const [, asset = ''] of code.matchAll(assets)) follow(resolve(dirname(path), asset));
  };
  follow(entry);
  return { files: [...found].toSorted(), packages: [...packages].toSorted() };
}

export const readPackageFile = (path: string): PackageFile => JSON.parse(readFileSync(path, 'utf8')) as PackageFile;

function ownPackage(path: string): string {
  const found = findPackageJSON(pathToFileURL(path));
  if (found === undefined) throw new ImageFault(`${path} belongs to no package`);
  return found;
}

function resolveImport(specifier: string, from: string): string {
  if (specifier.startsWith('.')) return resolve(dirname(from), specifier);
  const rest = /^(?:@[^/]+\/)?[^/]+(\/.*)?$/.exec(specifier)?.[1] ?? '';
  const file = packageOf(specifier, from);
  const target = file === undefined ? undefined : chosen(readPackageFile(file).exports?.[`.${rest}`]);
  if (file === undefined || target === undefined) throw new ImageFault(`${from} imports ${specifier}, which is not there`);
  // Ours are found through links.
  return realpathSync(join(dirname(file), target));
}

function packageOf(specifier: string, from: string): string | undefined {
  try {
    return findPackageJSON(specifier, pathToFileURL(from));
  } catch {
    return undefined;
  }
}

const chosen = (target: Exports | undefined): string | undefined =>
  typeof target === 'object' ? chosen(target.import ?? target.default) : target;
