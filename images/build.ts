/** Builds the missing layers of an image and publishes it as the current one. */
import { mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { agentLayer } from './agent-layer.ts';
import { findSources } from './packages/apt-sources.ts';
import { bootLayer } from './boot-layer.ts';
import { CommandError, run } from './command.ts';
import { hashOf } from './files/digest.ts';
import { ImageError } from './error.ts';
import { layersName, manifestName, sbomName, linkFile } from './image-folder.ts';
import type { ImageFolder, StoredImage } from './image-folder.ts';
import { manifestOf } from './layers.ts';
import type { ImageManifest, LayerRecipe, Layers } from './layers.ts';
import { busyboxPackage, kernelPackage, wanted } from './packages/packages.ts';
import { Repository } from './packages/repository.ts';
import type { PackagePlan } from './packages/repository.ts';
import { rootLayer } from './root-layer.ts';
import { sbomOf } from './packages/sbom.ts';

export interface BuildOptions {
  folder: ImageFolder;
  suite: string;
  /** Lock descriptor that excludes other builds. */
  lock: number;
  signal: AbortSignal;
  /** Receives progress messages. */
  log: (line: string) => void;
}

export interface BuildResult {
  manifest: ImageManifest;
  folder: string;
  isNew: boolean;
}

/** Debian's names for processors that the recipe was made for. */
const architectures: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64' };

/** During the build the file system exists three times: unpacked, as an archive, and packed. */
const rootBuildBytes = 4 * 1024 ** 3;
const otherBuildBytes = 1024 ** 3;

export async function buildImage(options: BuildOptions): Promise<BuildResult> {
  const { folder, suite, lock, signal, log } = options;
  const architecture = architectures[process.arch];
  if (architecture === undefined) throw new ImageError(`images can be built for x86-64 only, and this host is ${process.arch}`);
  const repository = new Repository(join(folder.cachePath, suite), { sources: findSources(suite), architecture, signal });
  const current = folder.current();
  const plan = await planPackages(repository, options);
  if (plan === null) {
    if (current) return { ...current, isNew: false };
    throw new ImageError(`No mirror of Debian ${suite} answers, and there is no earlier image. Check the network and try again.`);
  }
  const recipes: Recipes = {
    root: rootLayer({ plan, repository, suite, lock, signal }),
    boot: bootLayer(plan, repository, signal),
    agent: await agentLayer(signal),
  };
  if (current && layerNames.every((name) => current.layers[name].key === recipes[name].key)) return { ...current, isNew: false };
  const stored = folder.images();
  const findLayer = (name: LayerName): StoredImage | undefined => stored.find(({ layers }) => layers[name].key === recipes[name].key);
  requireSpace(folder.path, findLayer('root') ? otherBuildBytes : rootBuildBytes);
  if (!findLayer('root')) await run('mmdebstrap', ['--version'], { signal });
  if (!findLayer('root') || !findLayer('boot')) {
    log('Fetching packages ...');
    await repository.fetch(plan);
  }
  return assemble({ ...options, recipes, findLayer, architecture });
}

const layerNames = ['root', 'boot', 'agent'] as const;
type LayerName = (typeof layerNames)[number];
type Recipes = { [Name in LayerName]: LayerRecipe<Layers[Name]> };

/**
 * Chooses package versions again when the mirror's lists have changed. Where no
 * mirror answers, the last choice is used, as an old image is better than none.
 * Returns null without any lists.
 */
async function planPackages(repository: Repository, { folder, suite, log }: BuildOptions): Promise<PackagePlan | null> {
  try {
    await repository.refresh();
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    log(`No mirror answers; using the package lists of the last build. ${error.message}`);
    if (!repository.hasLists) return null;
  }
  const names = { root: wanted, kernel: kernelPackage, busybox: busyboxPackage };
  const key = hashOf([await repository.listsKey(), JSON.stringify(names)]);
  const path = join(folder.cachePath, suite, 'plan.json');
  const last = readPlan(path);
  if (last?.key === key) return last.plan;
  log('Choosing packages ...');
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

interface AssembleOptions extends BuildOptions {
  recipes: Recipes;
  findLayer: (name: LayerName) => StoredImage | undefined;
  architecture: string;
}

async function assemble({ folder, recipes, findLayer, architecture, signal, log }: AssembleOptions): Promise<BuildResult> {
  const into = join(folder.asidePath, 'image');
  mkdirSync(into, { recursive: true });
  const takeLayer = async <Name extends LayerName>(name: Name): Promise<Layers[Name]> => {
    const same = findLayer(name);
    if (same) {
      for (const file of Object.keys(same.layers[name].files)) linkFile(join(same.folder, file), join(into, file));
      return same.layers[name];
    }
    signal.throwIfAborted();
    const startedMs = performance.now();
    const work = join(folder.asidePath, name);
    mkdirSync(work);
    const recipe: LayerRecipe<Layers[Name]> = recipes[name];
    const layer = { key: recipe.key, ...(await recipe.build({ into, work })) } as Layers[Name];
    rmSync(work, { recursive: true });
    log(`Built ${layerTitles[name]} in ${((performance.now() - startedMs) / 1000).toFixed(1)} s.`);
    return layer;
  };
  // The slowest last, so that failures come early.
  const [agent, boot] = [await takeLayer('agent'), await takeLayer('boot')];
  const layers: Layers = { root: await takeLayer('root'), boot, agent };
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
    throw new ImageError(
      `${path} has ${gigabytes(free)} GiB free, and the build needs ${gigabytes(bytes)}. Free space or set BERTH_IMAGES_DIR.`,
    );
}
