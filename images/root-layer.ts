/** The file system of a machine: Debian's packages, installed by Debian's tools, without what no machine needs. */
import { chmodSync, copyFileSync, globSync, lstatSync, mkdirSync, realpathSync, renameSync, rmdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CommandFailed, run } from './command.ts';
import { factsOf, keyOf } from './digest.ts';
import { fileTimeSeconds, packErofs, storedFile } from './erofs.ts';
import { ImageFault } from './fault.ts';
import type { LayerRecipe, RootLayer } from './layers.ts';
import { leftOutPackages, leftOutPaths, matches, wanted } from './packages.ts';
import { packedInto, readInstalled } from './packed-packages.ts';
import type { InstalledPackage } from './packed-packages.ts';
import type { PackagePlan, Repository } from './repository.ts';
import { listFiles, walk } from './walk.ts';

export interface RootOrder {
  plan: PackagePlan;
  repository: Repository;
  suite: string;
  /** Descriptor that a build holds for as long as it writes. */
  lock: number;
  signal: AbortSignal;
}

const here = import.meta.dirname;
/** Files of ours that take the place of Debian's. */
const ownFolder = join(here, 'root');
const recipe = ['packages.ts', 'root-layer.ts', 'erofs.ts', 'packed-packages.ts'];

/** Filled when a machine starts: each is another file system. */
const mountPoints = ['dev', 'proc', 'sys', 'run', 'tmp', 'home', 'mnt', 'downloads', 'uploads', 'opt/berth'];

/** What the making of it leaves behind, and what scripts of packages made for those that are left out. */
const remains = [
  ...['boot', 'media', 'srv', 'root', 'var', 'usr/local/{bin,etc,games,include,lib,man,sbin,src}', 'usr/{games,include,src}'],
  ...['usr/lib/{python3*,systemd,udev}', 'usr/share/{bash-completion,bug,gcc,gdb,info,lintian,man,menu,perl5,python3,zsh}'],
  ...['etc/{apt,cron*,default,dpkg,init.d,kernel,logrotate.d,opt,perl,python3*,rc?.d,selinux,skel,systemd,update-motd.d}'],
  ...['etc/{*-,.pwd.lock,fstab,gshadow,hostname,issue*,machine-id,motd,mtab,resolv.conf,shells,subgid,subuid}'],
];

export function rootLayer({ plan, repository, suite, lock, signal }: RootOrder): LayerRecipe<RootLayer> {
  const own = listFiles(ownFolder).map((path) => `root/${path}`);
  const packages = plan.root.map(({ name, version, sha256 }) => `${name} ${version} ${sha256}`);
  return {
    key: keyOf([suite, ...packages, ...factsOf([...recipe, ...own], here)]),
    build: async ({ into, work }) => {
      const tar = join(work, 'root.tar');
      mkdirSync(join(work, 'root'));
      const root = realpathSync(join(work, 'root'));
      const mirror = repository.publish(plan.root, suite);
      const [program = '', ...args] = [...(await walls(signal)), 'mmdebstrap', ...installArguments(suite, tar, mirror)];
      await run(program, args, { environment: { TMPDIR: work, SOURCE_DATE_EPOCH: String(fileTimeSeconds) }, held: lock, signal });
      await run('tar', ['--extract', '--file', tar, '--directory', root, '--no-same-owner', '--same-permissions', '--exclude=./dev/*'], {
        signal,
      });
      rmSync(tar);
      const installed = readInstalled(root);
      leaveOut(root, installed);
      furnish(root);
      const unpackedBytes = settle(root);
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
 * As root, packages are installed among mounts of the host's /proc and /sys: in
 * namespaces that end with us these cannot stay, whoever is killed. Without root
 * mmdebstrap makes its own; and where root may make none, it mounts nothing.
 */
async function walls(signal: AbortSignal): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const unshare = ['unshare', '--mount', '--pid', '--fork', '--kill-child=KILL', '--mount-proc'];
  try {
    await run('setpriv', ['--pdeathsig=KILL', ...unshare, 'true'], { signal });
  } catch (error) {
    if (error instanceof CommandFailed) return [];
    throw error;
  }
  return ['setpriv', '--pdeathsig=KILL', ...unshare];
}

/** Of the versions that were planned and of nothing else; as whoever we are, where the host allows that. */
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

/** Takes out whole packages, and the folders that are empty by that. */
function leaveOut(root: string, installed: InstalledPackage[]): void {
  const patterns = leftOutPackages.flatMap(({ packages }) => packages);
  for (const { files } of installed.filter(({ name }) => matches(patterns, name))) {
    const isFolder = (path: string): boolean => lstatSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() ?? false;
    const folders = files.filter(isFolder);
    for (const path of files.filter((path) => !folders.includes(path))) remove(root, path);
    for (const folder of new Set([...folders, ...files.map((path) => dirname(path))])) removeEmpty(root, folder);
  }
}

/** A link in this file system that begins with a slash leads into the host's: what lies behind one is not touched. */
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

/** Puts ours in the place of what one system has of its own, and makes the places for other file systems. */
function furnish(root: string): void {
  const [fonts, aside] = [join(root, 'var/cache/fontconfig'), join(root, 'fontconfig')];
  renameSync(fonts, aside);
  for (const path of globSync(remains, { cwd: root })) remove(root, path);
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
  for (const [target, path] of Object.entries(links)) symlinkSync(target, join(root, path));
}

/** Nothing in a machine gives anybody the rights of another. Returns the bytes of all files, each counted once. */
function settle(root: string): number {
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
  if (bytes === 0) throw new ImageFault('mmdebstrap made an empty file system');
  return bytes;
}
