/** The boot layer: Debian's kernel, and an initramfs of BusyBox, a few modules and our init script. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './command.ts';
import { cpioArchive, fileMode, folderMode, programMode } from './files/cpio.ts';
import type { CpioEntry } from './files/cpio.ts';
import { fingerprintsOf, hashOf } from './files/digest.ts';
import { storedFile } from './files/erofs.ts';
import { ImageError } from './error.ts';
import { sortModules } from './kernel-modules.ts';
import type { KernelModule } from './kernel-modules.ts';
import type { BootLayer, LayerRecipe } from './layers.ts';
import { packedPackage } from './packages/packed-packages.ts';
import { kernelModules } from './packages/packages.ts';
import { fieldsOf } from './packages/repository.ts';
import type { DebianPackage, PackagePlan, Repository } from './packages/repository.ts';
import { listFiles } from './files/walk.ts';

const here = import.meta.dirname;
const scripts = ['init', 'settings'];
const recipe = ['boot-layer.ts', 'files/cpio.ts', 'kernel-modules.ts', 'packages/packages.ts', ...scripts.map((name) => `init/${name}`)];

/** Mount points used during boot. */
const mountPoints = ['dev', 'proc', 'root', 'sys'];

export function bootLayer({ kernel, busybox }: PackagePlan, repository: Repository, signal: AbortSignal): LayerRecipe<BootLayer> {
  const unpack = async (each: DebianPackage, folder: string): Promise<string> => {
    await mkdir(folder);
    await run('dpkg-deb', ['--extract', repository.archiveOf(each), folder], { signal });
    return folder;
  };
  return {
    key: hashOf([kernel.sha256, busybox.sha256, ...fingerprintsOf(recipe, here)]),
    build: async ({ into, work }) => {
      const [kernelFolder, busyboxFolder] = [await unpack(kernel, join(work, 'kernel')), await unpack(busybox, join(work, 'busybox'))];
      const image = readdirSync(join(kernelFolder, 'boot')).find((name) => name.startsWith('vmlinuz-'));
      if (image === undefined) throw new ImageError(`the package ${kernel.name} has no kernel`);
      const kernelVersion = image.slice('vmlinuz-'.length);
      const moduleFolder = findInPackage(kernelFolder, `lib/modules/${kernelVersion}`);
      await unpackModules(moduleFolder, signal);
      const modules = sortModules(moduleFolder, kernelModules);
      await copyFile(join(kernelFolder, 'boot', image), join(into, 'kernel'));
      writeFileSync(join(into, 'initramfs'), cpioArchive(entries(modules, readFileSync(findInPackage(busyboxFolder, 'bin/busybox')))));
      const files = { kernel: await storedFile(join(into, 'kernel')), initramfs: await storedFile(join(into, 'initramfs')) };
      const count = (folder: string, packed: number) => ({ packed, leftOut: listFiles(folder).length - packed });
      return {
        files,
        unpackedBytes: files.kernel.bytes + files.initramfs.bytes,
        kernelVersion,
        packages: [
          packedPackage(fieldsOf(kernel), count(kernelFolder, modules.length + 1)),
          packedPackage(fieldsOf(busybox), count(busyboxFolder, 1)),
        ],
      };
    },
  };
}

/** Debian moves from / into /usr, package by package. */
function findInPackage(folder: string, path: string): string {
  const existing = [join(folder, 'usr', path), join(folder, path)].find((candidate) => existsSync(candidate));
  if (existing === undefined) throw new ImageError(`there is no ${path} in its package`);
  return existing;
}

/** Newer kernels compress their modules; BusyBox loads only uncompressed ones. */
async function unpackModules(folder: string, signal: AbortSignal): Promise<void> {
  const packed = listFiles(folder).filter((path) => path.endsWith('.ko.xz'));
  if (packed.length > 0) await run('xz', ['--decompress', ...packed], { folder, signal });
}

function entries(modules: KernelModule[], busybox: Buffer): CpioEntry[] {
  const folder = (path: string): CpioEntry => ({ path, mode: folderMode, data: Buffer.alloc(0) });
  const file = (path: string, data: Buffer | string, mode = fileMode): CpioEntry => ({ path, mode, data: Buffer.from(data) });
  return [
    ...['bin', 'modules', ...mountPoints].map(folder),
    file('bin/busybox', busybox, programMode),
    file('init', readFileSync(join(here, 'init/init')), programMode),
    file('settings', readFileSync(join(here, 'init/settings'))),
    file('modules/order', modules.map(({ name }) => `${name}.ko\n`).join('')),
    ...modules.map(({ name, data }) => file(`modules/${name}.ko`, data)),
  ];
}
