import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ImageFault } from './fault.ts';
import { listFiles } from './walk.ts';

/** A module of a kernel: as the kernel calls it, and as a file. */
export interface KernelModule {
  name: string;
  data: Buffer;
}

/** Files have hyphens where the kernel has underscores. */
const nameOf = (path: string): string => (path.split('/').at(-1) ?? '').replace(/\.ko$/, '').replaceAll('-', '_');

/** A module tells in its own file what it needs. */
export function neededBy(module: Buffer): string[] {
  const list = /(?:^|\0)depends=([^\0]*)\0/.exec(module.toString('latin1'))?.[1] ?? '';
  return list
    .split(',')
    .filter(Boolean)
    .map((name) => name.replaceAll('-', '_'));
}

/** Each after those that it needs. `folder` is the kernel's own below lib/modules. Throws ImageFault for one that is not there. */
export function orderModules(folder: string, wanted: string[]): KernelModule[] {
  const paths = new Map(
    listFiles(folder)
      .filter((path) => path.endsWith('.ko'))
      .map((path) => [nameOf(path), path]),
  );
  const builtIn = new Set(readFileSync(join(folder, 'modules.builtin'), 'utf8').split('\n').map(nameOf));
  const ordered = new Map<string, KernelModule>();
  const take = (name: string): void => {
    const path = paths.get(name);
    if (ordered.has(name) || (path === undefined && builtIn.has(name))) return;
    if (path === undefined) throw new ImageFault(`the kernel has no module ${name}`);
    const data = readFileSync(join(folder, path));
    for (const needed of neededBy(data)) take(needed);
    ordered.set(name, { name, data });
  };
  for (const name of wanted) take(name);
  return [...ordered.values()];
}
