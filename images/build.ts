/** Builds what is not there yet of an image, out of layers, and puts it where machines start from it. */
import { mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { agentLayer } from './agent-layer.ts';
import { findSources } from './apt-sources.ts';
import { bootLayer } from './boot-layer.ts';
import { CommandFailed, run } from './command.ts';
import { keyOf } from './digest.ts';
import { ImageFault } from './fault.ts';
import { layersName, manifestName, sbomName, share } from './image-folder.ts';
import type { ImageFolder, StoredImage } from './image-folder.ts';
import { manifestOf } from './layers.ts';
import type { ImageManifest, LayerRecipe, Layers } from './layers.ts';
import { busyboxPackage, kernelPackage, wanted } from './packages.ts';
import { Repository } from './repository.ts';
import type { PackagePlan } from './repository.ts';
import { rootLayer } from './root-layer.ts';
import { sbomOf } from './sbom.ts';

export interface BuildOrder {
  folder: ImageFolder;
  suite: string;
  /** Descriptor that keeps other builds away. */
  lock: number;
  signal: AbortSignal;
  /** Called with what is being done. */
  tell: (line: string) => void;
}

export interface Built {
  manifest: ImageManifest;
  folder: string;
  isNew: boolean;
}

/** Debian's names for processors that the recipe was made for. */
const architectures: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64' };

/** While it is built, the file system lies there three times: unpacked, as one archive, and packed. */
const rootBuildBytes = 4 * 1024 ** 3;
const otherBuildBytes = 1024 ** 3;

export async function buildImage(order: BuildOrder): Promise<Built> {
  const { folder, suite, lock, signal, tell } = order;
  const architecture = architectures[process.arch];
  if (architecture === undefined) throw new ImageFault(`images are made for x86-64, and this host is ${process.arch}`);
  const repository = new Repository(join(folder.cachePath, suite), { sources: findSources(suite), architecture, signal });
  const current = folder.current();
  const plan = await planPackages(repository, order);
  if (plan === null) {
    if (current) return { ...current, isNew: false };
    throw new ImageFault(`No mirror of Debian ${suite} answers, and there is no image of an earlier time.`);
  }
  const recipes: Recipes = {
    root: rootLayer({ plan, repository, suite, lock, signal }),
    boot: bootLayer(plan, repository, signal),
    agent: await agentLayer(signal),
  };
  if (current && layerNames.every((name) => current.layers[name].key === recipes[name].key)) return { ...current, isNew: false };
  const stored = folder.images();
  const found = (name: LayerName): StoredImage | undefined => stored.find(({ layers }) => layers[name].key === recipes[name].key);
  requireSpace(folder.path, found('root') ? otherBuildBytes : rootBuildBytes);
  if (!found('root')) await run('mmdebstrap', ['--version'], { signal });
  if (!found('root') || !found('boot')) {
    tell('Fetching packages ...');
    await repository.fetch(plan);
  }
  return assemble({ ...order, recipes, found, architecture });
}

const layerNames = ['root', 'boot', 'agent'] as const;
type LayerName = (typeof layerNames)[number];
type Recipes = { [Name in LayerName]: LayerRecipe<Layers[Name]> };

/**
 * Chosen anew when the mirror's lists have changed. Where no mirror answers, the
 * choice of the last time stands, for an image that is there is better than
 * none. Null where nothing can be chosen from.
 */
async function planPackages(repository: Repository, { folder, suite, tell }: BuildOrder): Promise<PackagePlan | null> {
  try {
    await repository.refresh();
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    tell(`No mirror answers, so packages stay as they were known the last time. ${error.message}`);
    if (!repository.hasLists) return null;
  }
  const names = { root: wanted, kernel: kernelPackage, busybox: busyboxPackage };
  const key = keyOf([await repository.listsKey(), JSON.stringify(names)]);
  const path = join(folder.cachePath, suite, 'plan.json');
  const last = readPlan(path);
  if (last?.key === key) return last.plan;
  tell('Choosing packages ...');
  const plan = await repository.plan(names);
  writeFileSync(path, JSON.stringify({ key, plan }));
  return plan;
}

function readPlan(path: string): { key: string; plan: PackagePlan } | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as { key: string; plan: PackagePlan };
  } catch {
    return null;
  }
}

interface Assembly extends BuildOrder {
  recipes: Recipes;
  found: (name: LayerName) => StoredImage | undefined;
  architecture: string;
}

async function assemble({ folder, recipes, found, architecture, signal, tell }: Assembly): Promise<Built> {
  const into = join(folder.asidePath, 'image');
  mkdirSync(into, { recursive: true });
  const take = async <Name extends LayerName>(name: Name): Promise<Layers[Name]> => {
    const same = found(name);
    if (same) {
      for (const file of Object.keys(same.layers[name].files)) share(join(same.folder, file), join(into, file));
      return same.layers[name];
    }
    signal.throwIfAborted();
    const startedMs = performance.now();
    const work = join(folder.asidePath, name);
    mkdirSync(work);
    const recipe: LayerRecipe<Layers[Name]> = recipes[name];
    const layer = { key: recipe.key, ...(await recipe.build({ into, work })) } as Layers[Name];
    rmSync(work, { recursive: true });
    tell(`Built ${layerTitles[name]} in ${((performance.now() - startedMs) / 1000).toFixed(1)} s.`);
    return layer;
  };
  // The long one last: what fails early costs little.
  const [agent, boot] = [await take('agent'), await take('boot')];
  const layers: Layers = { root: await take('root'), boot, agent };
  const manifest = manifestOf(layers, { architecture, createdAt: new Date() });
  for (const [name, value] of Object.entries({ [manifestName]: manifest, [layersName]: layers, [sbomName]: sbomOf(manifest, layers) }))
    writeFileSync(join(into, name), `${JSON.stringify(value, null, 2)}\n`);
  folder.publish(into, manifest.id);
  return { manifest, folder: join(folder.path, manifest.id), isNew: true };
}

const layerTitles: Record<LayerName, string> = { root: 'the file system', boot: 'kernel and initramfs', agent: 'the agent' };

function requireSpace(path: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(path);
  const free = bavail * bsize;
  const gigabytes = (value: number): string => (value / 1024 ** 3).toFixed(1);
  if (free < bytes)
    throw new ImageFault(
      `${path} has ${gigabytes(free)} GiB free, and the build needs ${gigabytes(bytes)}. BERTH_IMAGES_DIR names another folder.`,
    );
}
