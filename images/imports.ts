/** Follows a program's imports, as Node does, to find exactly the files that it needs. */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ImageError } from './error.ts';

const comments = /\/\*[^]*?\*\/|^\s*\/\/.*$/gm;
const imports = /\b(?:from|import)\s*\(?\s*['"]([^'"\n]+)['"]/g;
/** Files that the program reads at run time. */
const assets = /\bnew URL\(\s*['"](\.[^'"\n]+)['"]\s*,\s*import\.meta\.url\s*\)/g;

type Exports = string | { import?: Exports; default?: Exports };

/** package.json of a package or of a folder inside one. */
export interface PackageFile {
  name?: string;
  version?: string;
  license?: string;
  exports?: Record<string, Exports>;
}

export interface ImportedFiles {
  /** Real paths of all files, the entry among them. */
  files: string[];
  /** The nearest package.json of each file. */
  packages: string[];
}

export function followImports(entry: string): ImportedFiles {
  const files = new Set<string>();
  const packages = new Set<string>();
  const follow = (path: string): void => {
    if (files.has(path)) return;
    if (!existsSync(path)) throw new ImageError(`${path} is missing: the agent needs it`);
    files.add(path);
    packages.add(ownPackage(path));
    const text = readFileSync(path, 'utf8');
    if (!/\.[cm]?[jt]s$/.test(path)) return;
    const code = text.replaceAll(comments, '');
    for (const [, specifier = ''] of code.matchAll(imports)) if (!specifier.startsWith('node:')) follow(resolveImport(specifier, path));
    for (const [, asset = ''] of code.matchAll(assets)) follow(resolve(dirname(path), asset));
  };
  follow(entry);
  return { files: [...files].toSorted(), packages: [...packages].toSorted() };
}

export const readPackageFile = (path: string): PackageFile => JSON.parse(readFileSync(path, 'utf8')) as PackageFile;

function ownPackage(path: string): string {
  const packageFile = findPackageJSON(pathToFileURL(path));
  if (packageFile === undefined) throw new ImageError(`${path} belongs to no package`);
  return packageFile;
}

function resolveImport(specifier: string, from: string): string {
  if (specifier.startsWith('.')) return resolve(dirname(from), specifier);
  const rest = /^(?:@[^/]+\/)?[^/]+(\/.*)?$/.exec(specifier)?.[1] ?? '';
  const file = packageOf(specifier, from);
  const target = file === undefined ? undefined : resolveExport(readPackageFile(file).exports?.[`.${rest}`]);
  if (file === undefined || target === undefined) throw new ImageError(`${from} imports ${specifier}, which does not exist`);
  // Our packages are linked.
  return realpathSync(join(dirname(file), target));
}

function packageOf(specifier: string, from: string): string | undefined {
  try {
    return findPackageJSON(specifier, pathToFileURL(from));
  } catch {
    return undefined;
  }
}

const resolveExport = (target: Exports | undefined): string | undefined =>
  typeof target === 'object' ? resolveExport(target.import ?? target.default) : target;
