/** The file system of a machine: Debian's packages, installed by Debian's tools, without what no machine needs. */
import { chmodSync, copyFileSync, globSync, lstatSync, mkdirSync, realpathSync, renameSync, rmdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CommandError, run } from './command.ts';
import { fingerprintsOf, hashOf } from './files/digest.ts';
import { fileTimeSeconds, packErofs, storedFile } from './files/erofs.ts';
import { ImageError } from './error.ts';
import type { LayerRecipe, RootLayer } from './layers.ts';
import { leftOutPackages, leftOutPaths, matches, wanted } from './packages/packages.ts';
import { packedInto, readInstalled } from './packages/packed-packages.ts';
import type { InstalledPackage } from './packages/packed-packages.ts';
import type { PackagePlan, Repository } from './packages/repository.ts';
import { listFiles, walk } from './files/walk.ts';

export interface RootLayerOptions {
  plan: PackagePlan;
  repository: Repository;
  suite: string;
  /** Lock descriptor, inherited by the programs of the build. */
  lock: number;
  signal: AbortSignal;
}

const here = import.meta.dirname;
/** Our files, which replace Debian's. */
const ownFolder = join(here, 'root');
const recipe = ['packages/packages.ts', 'root-layer.ts', 'files/erofs.ts', 'packages/packed-packages.ts'];

/** Mount points of other file systems at run time. */
const mountPoints = ['dev', 'proc', 'sys', 'run', 'tmp', 'home', 'mnt', 'downloads', 'uploads', 'opt/berth'];

/** Leftovers of the installation and of packages that are left out. */
const leftovers = [
  ...['boot', 'media', 'srv', 'root', 'var', 'usr/local/{bin,etc,games,include,lib,man,sbin,src}', 'usr/{games,include,src}'],
  ...['usr/lib/{python3*,systemd,udev}', 'usr/share/{bash-completion,bug,gcc,gdb,info,lintian,man,menu,perl5,python3,zsh}'],
  ...['etc/{apt,cron*,default,dpkg,init.d,kernel,logrotate.d,opt,perl,python3*,rc?.d,selinux,skel,systemd,update-motd.d}'],
  ...['etc/{*-,.pwd.lock,fstab,gshadow,hostname,issue*,machine-id,motd,mtab,resolv.conf,shells,subgid,subuid}'],
];

export function rootLayer({ plan, repository, suite, lock, signal }: RootLayerOptions): LayerRecipe<RootLayer> {
  const own = listFiles(ownFolder).map((path) => `root/${path}`);
  const packages = plan.root.map(({ name, version, sha256 }) => `${name} ${version} ${sha256}`);
  return {
    key: hashOf([suite, ...packages, ...fingerprintsOf([...recipe, ...own], here)]),
    build: async ({ into, work }) => {
      const tar = join(work, 'root.tar');
      mkdirSync(join(work, 'root'));
      const root = realpathSync(join(work, 'root'));
      const mirror = repository.publish(plan.root, suite);
      const [program = '', ...args] = [...(await namespaceCommand(signal)), 'mmdebstrap', ...installArguments(suite, tar, mirror)];
      await run(program, args, { environment: { TMPDIR: work, SOURCE_DATE_EPOCH: String(fileTimeSeconds) }, inherited: lock, signal });
      await run('tar', ['--extract', '--file', tar, '--directory', root, '--no-same-owner', '--same-permissions', '--exclude=./dev/*'], {
        signal,
      });
      rmSync(tar);
      const installed = readInstalled(root);
      removeLeftOut(root, installed);
      addOwnFiles(root);
      const unpackedBytes = normalizeModes(root);
      await packErofs(root, join(into, 'root.erofs'), signal);
      const packed = installed.flatMap((each) => packedInto(root, each) ?? []);
      return {
        files: { 'root.erofs': await storedFile(join(into, 'root.erofs')) },
        unpackedBytes,
        suite,
        packages: packed,
        leftOut: installed.map(({ name }) => name).filter((name) => !packed.some((each) => each.name === name)),
        chromiumVersion: packed.find(({ name }) => name === 'chromium')?.version ?? '',
      };
    },
  };
}

/**
 * As root, mmdebstrap mounts the host's /proc and /sys. Namespaces that end with
 * this process remove these mounts even after a kill. Without root mmdebstrap
 * creates its own namespaces; where root may create none, it mounts nothing.
 */
async function namespaceCommand(signal: AbortSignal): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const unshare = ['unshare', '--mount', '--pid', '--fork', '--kill-child=KILL', '--mount-proc'];
  try {
    await run('setpriv', ['--pdeathsig=KILL', ...unshare, 'true'], { signal });
  } catch (error) {
    if (error instanceof CommandError) return [];
    throw error;
  }
  return ['setpriv', '--pdeathsig=KILL', ...unshare];
}

/** Arguments to install exactly the planned versions. */
function installArguments(suite: string, tar: string, mirror: string): string[] {
  const patterns = leftOutPaths.flatMap(({ paths, but = [] }) => [
    ...paths.map((path) => `path-exclude=${path}`),
    ...but.map((path) => `path-include=${path}`),
  ]);
  return [
    ...[
      '--mode=auto',
      '--variant=essential',
      '--format=tar',
      '--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr',
      `--include=${wanted.join(',')}`,
    ],
    ...['APT::Install-Recommends "false"', 'APT::Sandbox::User "root"'].map((option) => `--aptopt=${option}`),
    ...['force-unsafe-io', ...patterns].map((option) => `--dpkgopt=${option}`),
    // Fonts are looked up in a list that holds only for folders of the very time that they had when it was made.
    `--customize-hook=find "$1/usr/share/fonts" -type d -exec touch --date=@${fileTimeSeconds} {} +`,
    '--customize-hook=chroot "$1" fc-cache --system-only --force',
    ...[suite, tar, mirror],
  ];
}

/** Removes left-out packages and folders that become empty. */
function removeLeftOut(root: string, installed: InstalledPackage[]): void {
  const patterns = leftOutPackages.flatMap(({ packages }) => packages);
  for (const { files } of installed.filter(({ name }) => matches(patterns, name))) {
    const isFolder = (path: string): boolean => lstatSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() ?? false;
    const folders = files.filter(isFolder);
    for (const path of files.filter((path) => !folders.includes(path))) remove(root, path);
    for (const folder of new Set([...folders, ...files.map((path) => dirname(path))])) removeEmpty(root, folder);
  }
}

/** Absolute links of this file system point into the host's, so paths behind them are never touched. */
function isInside(root: string, path: string): boolean {
  try {
    return `${realpathSync(dirname(join(root, path)))}/`.startsWith(`${root}/`);
  } catch {
    return false;
  }
}

function remove(root: string, path: string): void {
  if (isInside(root, path)) rmSync(join(root, path), { recursive: true, force: true });
}

function removeEmpty(root: string, folder: string): void {
  try {
    if (!isInside(root, folder)) return;
    rmdirSync(join(root, folder));
  } catch {
    return;
  }
  removeEmpty(root, dirname(folder));
}

/** Replaces system-specific files by ours and creates the mount points. */
function addOwnFiles(root: string): void {
  const [fonts, aside] = [join(root, 'var/cache/fontconfig'), join(root, 'fontconfig')];
  renameSync(fonts, aside);
  for (const path of globSync(leftovers, { cwd: root })) remove(root, path);
  mkdirSync(dirname(fonts), { recursive: true });
  renameSync(aside, fonts);
  for (const path of listFiles(ownFolder)) {
    remove(root, path);
    copyFileSync(join(ownFolder, path), join(root, path));
    chmodSync(join(root, path), path === 'etc/shadow' ? 0o600 : 0o644);
  }
  for (const path of mountPoints) {
    remove(root, path);
    mkdirSync(join(root, path), { recursive: true });
  }
  const links = { '/run/machine-id': 'etc/machine-id', '/proc/self/mounts': 'etc/mtab', '/run': 'var/run', '/tmp': 'var/tmp' };
  // Chromium's policy comes with the agent.
  const policies = join(root, 'etc/chromium/policies/managed');
  mkdirSync(policies, { recursive: true });
  symlinkSync('/opt/berth/packages/guest/src/browser/chromium-policy.json', join(policies, 'berth.json'));
  for (const [target, path] of Object.entries(links)) symlinkSync(target, join(root, path));
}

/** Removes setuid, setgid and sticky bits. Returns the bytes of all files, each inode once. */
function normalizeModes(root: string): number {
  const counted = new Set<number>();
  let bytes = 0;
  for (const { path, entry } of walk(root)) {
    if (entry.isSymbolicLink()) continue;
    const { mode, size, ino } = lstatSync(join(root, path));
    chmodSync(join(root, path), mode & 0o0777);
    if (!entry.isFile() || counted.has(ino)) continue;
    counted.add(ino);
    bytes += size;
  }
  if (bytes === 0) throw new ImageError('mmdebstrap made an empty file system');
  return bytes;
}
