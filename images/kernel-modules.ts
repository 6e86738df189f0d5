import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ImageError } from './error.ts';
import { listFiles } from './files/walk.ts';

/** A kernel module: its name in the kernel, and its file. */
export interface KernelModule {
  name: string;
  data: Buffer;
}

/** Files have hyphens where the kernel has underscores. */
const nameOf = (path: string): string => (path.split('/').at(-1) ?? '').replace(/\.ko$/, '').replaceAll('-', '_');

/** Reads the dependencies from the module's own file. */
export function dependenciesOf(module: Buffer): string[] {
  const list = /(?:^|\0)depends=([^\0]*)\0/.exec(module.toString('latin1'))?.[1] ?? '';
  return list
    .split(',')
    .filter(Boolean)
    .map((name) => name.replaceAll('-', '_'));
}

/** Returns modules after their dependencies. `folder` is the kernel's folder in lib/modules. @throws ImageError for a missing one */
export function sortModules(folder: string, wanted: string[]): KernelModule[] {
  const paths = new Map(
    listFiles(folder)
      .filter((path) => path.endsWith('.ko'))
      .map((path) => [nameOf(path), path]),
  );
  const builtIn = new Set(readFileSync(join(folder, 'modules.builtin'), 'utf8').split('\n').map(nameOf));
  const ordered = new Map<string, KernelModule>();
  const add = (name: string): void => {
    const path = paths.get(name);
    if (ordered.has(name) || (path === undefined && builtIn.has(name))) return;
    if (path === undefined) throw new ImageError(`the kernel has no module ${name}`);
    const data = readFileSync(join(folder, path));
    for (const needed of dependenciesOf(data)) add(needed);
    ordered.set(name, { name, data });
  };
  for (const name of wanted) add(name);
  return [...ordered.values()];
}
