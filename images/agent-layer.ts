/**
 * The agent: the Node that this repository is pinned to, and the sources that
 * the agent's program imports, mounted at /opt/berth.
 *
 * The layout is that of the repository. Our packages are linked from node_modules,
 * as Node runs no TypeScript inside it.
 */
import { chmodSync, copyFileSync, existsSync, lstatSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { run } from './command.ts';
import { fingerprintsOf, hashOf } from './files/digest.ts';
import { packErofs, storedFile } from './files/erofs.ts';
import { ImageError } from './error.ts';
import { followImports, readPackageFile } from './imports.ts';
import type { AgentLayer, AgentPackage, LayerRecipe } from './layers.ts';
import { listFiles } from './files/walk.ts';

const repository = realpathSync(join(import.meta.dirname, '..'));
const entry = 'packages/guest/src/main.ts';
const recipe = ['images/agent-layer.ts', 'images/imports.ts', 'images/files/erofs.ts'];
const pinnedNode = 'node_modules/.bin/node';

export async function agentLayer(signal: AbortSignal): Promise<LayerRecipe<AgentLayer>> {
  const node = realpathSync(join(repository, pinnedNode));
  const nodeVersion = (await run(node, ['--version'], { signal })).trim().replace(/^v/, '');
  const { files, packages } = followImports(join(repository, entry));
  const paths = [...files, ...packages].map(pathInRepository);
  return {
    key: hashOf([nodeVersion, process.arch, ...fingerprintsOf([...recipe, ...paths], repository)]),
    build: async ({ into, work }) => {
      const root = join(work, 'agent');
      mkdirSync(join(root, 'bin'), { recursive: true });
      copyFileSync(node, join(root, 'bin/node'));
      chmodSync(join(root, 'bin/node'), 0o755);
      for (const path of paths) {
        mkdirSync(dirname(join(root, path)), { recursive: true });
        copyFileSync(join(repository, path), join(root, path));
        chmodSync(join(root, path), 0o644);
      }
      const named = packages.flatMap((path) => describe(path) ?? []);
      for (const each of named.filter(({ isOurs }) => isOurs)) linkOwn(root, each);
      for (const { name, folder } of [{ name: 'node', folder: join(dirname(node), '..') }, ...named]) keepLicence(root, name, folder);
      await packErofs(root, join(into, 'agent.erofs'), signal);
      return {
        files: { 'agent.erofs': await storedFile(join(into, 'agent.erofs')) },
        unpackedBytes: listFiles(root).reduce((sum, path) => sum + lstatSync(join(root, path)).size, 0),
        packages: named.map(({ name, version, licence, isOurs }) => ({ name, version, licence, isOurs })),
        nodeVersion,
      };
    },
  };
}

function pathInRepository(path: string): string {
  const relativePath = relative(repository, path);
  if (relativePath.startsWith('..')) throw new ImageError(`the agent imports ${path}, which is outside of the repository`);
  return relativePath;
}

interface NamedPackage extends AgentPackage {
  folder: string;
}

/** Returns null for a nested package.json that only sets the module type. */
function describe(path: string): NamedPackage | null {
  const { name, version, license = 'NOASSERTION' } = readPackageFile(path);
  const folder = dirname(path);
  if (name === undefined || version === undefined) return null;
  return { name, version, licence: license, isOurs: !relative(repository, folder).startsWith('node_modules/'), folder };
}

function linkOwn(root: string, { name, folder }: NamedPackage): void {
  const link = join(root, 'node_modules', name);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(relative(dirname(link), join(root, relative(repository, folder))), link);
}

/** Copies the licence of a distributed package. Ours is the repository's. */
function keepLicence(root: string, name: string, folder: string): void {
  const source = [join(folder, 'LICENSE'), join(repository, 'LICENSE')].find((path) => existsSync(path));
  const target = join(root, 'licences', name);
  mkdirSync(dirname(target), { recursive: true });
  if (source !== undefined) copyFileSync(source, target);
}
