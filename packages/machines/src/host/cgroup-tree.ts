/**
 * The control groups of this process. In cgroup v1 each controller may have its
 * own tree, in v2 all share one. A host may have both; each controller is then in
 * one of them. A container sees only a part of a tree.
 */
import { basename, dirname, join } from 'node:path';
import { readIfThere, readProcesses, withDescendants } from './processes.ts';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';

export const controllers = ['memory', 'cpu', 'pids'] as const;
/** `io` only in v2: in v1 it does not see what the page cache writes. */
export type Controller = (typeof controllers)[number] | 'io';

/** The visible part of one tree. */
export interface CgroupTree {
  version: 1 | 2;
  /** Folder of the highest visible group. */
  top: string;
  /** Folder of the group of this service: `top`, or beneath it. */
  own: string;
}

/** A controller without a mounted tree is absent. `unified` is the v2 tree, with or without controllers. */
export type CgroupTrees = ReadonlyMap<Controller | 'unified', CgroupTree>;

/** cgroup v2: a group holds processes or groups, not both. The service moves here, beside its machines. */
const serviceLeaf = 'berth-service';

interface Mount {
  version: 1 | 2;
  /** The group that is mounted at `path`. */
  root: string;
  path: string;
  options: string[];
}

export function findCgroupTrees(processPath = '/proc/self'): CgroupTrees {
  const mounts = readMounts(join(processPath, 'mountinfo'));
  const trees = new Map<Controller | 'unified', CgroupTree>();
  const add = (name: Controller | 'unified', candidates: Mount[], group: string): void => {
    const tree = treeOf(candidates, group);
    if (tree) trees.set(name, tree);
  };
  for (const line of (readIfThere(join(processPath, 'cgroup')) ?? '').split('\n').filter(Boolean)) {
    const [, names = '', ...rest] = line.split(':');
    const group = rest.join(':');
    if (names === '')
      add(
        'unified',
        mounts.filter(({ version }) => version === 2),
        group,
      );
    for (const name of controllers.filter((controller) => names.split(',').includes(controller)))
      add(
        name,
        mounts.filter(({ version, options }) => version === 1 && options.includes(name)),
        group,
      );
  }
  // Controllers without a v1 tree belong to v2.
  const unified = trees.get('unified');
  for (const name of controllers) if (unified && !trees.has(name)) trees.set(name, unified);
  return trees;
}

/** The group and its ancestors, up to the highest visible one. */
export function groupsAround({ own, top }: CgroupTree): string[] {
  const groups = [own];
  for (let group = own; group !== top; groups.push(group)) group = dirname(group);
  return groups;
}

function treeOf(mounts: Mount[], group: string): CgroupTree | undefined {
  const shows = ({ root }: Mount): boolean => root === '/' || group === root || group.startsWith(`${root}/`);
  // Without a cgroup namespace, a container sees its group's path on the host, while its mounts start further down.
  const mount = mounts.find(shows) ?? mounts[0];
  if (!mount) return undefined;
  const { version, path: top, root } = mount;
  const own = shows(mount) && !group.includes('/..') ? join(top, root === '/' ? group : group.slice(root.length)) : top;
  const path = own.replace(/(?<=.)\/$/, '');
  return { version, top, own: basename(path) === serviceLeaf && path !== top ? dirname(path) : path };
}

/** A line: `31 23 0:28 ROOT PATH rw,relatime shared:1 - cgroup cgroup rw,memory`. */
function readMounts(path: string): Mount[] {
  return (readIfThere(path) ?? '').split('\n').flatMap((line): Mount[] => {
    const [location = '', kind = ''] = line.split(' - ');
    const [, , , root = '', mountPath = ''] = location.split(' ').map(unescaped);
    const [type, , options = ''] = kind.split(' ');
    if (type !== 'cgroup' && type !== 'cgroup2') return [];
    return [{ version: type === 'cgroup' ? 1 : 2, root, path: mountPath, options: options.split(',') }];
  });
}

/** Spaces and similar characters are written as octal escapes. */
const unescaped = (text: string): string => text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));

/** A cgroup whose children are machines, and the controllers that limit them. */
export interface CgroupParent {
  version: 1 | 2;
  controllers: Controller[];
  path: string;
}

/** Processes that start meanwhile are moved in the next round. */
const roundsMax = 10;

/** Creates the parent cgroup of this service's machines inside the service's own cgroup. Throws where that is not allowed. */
export async function createParent({ version, own }: CgroupTree, wanted: Controller[], name: string): Promise<CgroupParent> {
  const path = join(own, name);
  const controllers = version === 1 ? wanted : await availableControllers(own, wanted);
  if (version === 2) await enableControllers(own, controllers);
  await openParent({ version, controllers, path });
  // The folder may exist although no cgroup can be created in it.
  const trial = join(path, `trial-${process.pid}`);
  await mkdir(trial);
  await rmdir(trial);
  return { version, controllers, path };
}

/** Idempotent. */
export async function openParent({ version, controllers, path }: CgroupParent): Promise<void> {
  await mkdir(path, { recursive: true });
  if (version === 2) await enableControllers(path, controllers);
}

async function availableControllers(group: string, wanted: Controller[]): Promise<Controller[]> {
  const offered = await namesIn(join(group, 'cgroup.controllers'));
  const controllers = [...wanted, 'io' as const].filter((controller) => offered.includes(controller));
  if (!controllers.some((controller) => wanted.includes(controller)))
    throw new Error(`the control group ${group} has none of the controllers ${wanted.join(', ')}`);
  return controllers;
}

/** Enables controllers for the children of a cgroup. */
async function enableControllers(group: string, controllers: Controller[]): Promise<void> {
  const file = join(group, 'cgroup.subtree_control');
  const present = await namesIn(file);
  const missing = controllers.filter((controller) => !present.includes(controller)).map((controller) => `+${controller}`);
  if (missing.length === 0) return;
  try {
    await writeFile(file, missing.join(' '));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    await moveToLeaf(group);
    await writeFile(file, missing.join(' '));
  }
}

/**
 * cgroup v2: a cgroup that enables controllers for its children holds no
 * processes itself. If only this service, its ancestors and its descendants are
 * in it, they are moved to a leaf beside the machines. Other processes are not
 * ours to move.
 */
async function moveToLeaf(group: string): Promise<void> {
  const leaf = join(group, serviceLeaf);
  for (let round = 0; round < roundsMax; round += 1) {
    const pids = (await namesIn(join(group, 'cgroup.procs'))).map(Number);
    if (pids.length === 0) return;
    const ours = ownProcesses();
    if (!pids.every((pid) => ours.has(pid)))
      throw new Error(`other processes share the control group ${group}: run this service in its own control group`);
    await mkdir(leaf, { recursive: true });
    // A process that has exited meanwhile is not listed in the next round.
    for (const pid of pids) await writeFile(join(leaf, 'cgroup.procs'), String(pid)).catch(() => undefined);
  }
}

/** This process, its ancestors and its descendants. */
function ownProcesses(): Set<number> {
  const all = readProcesses();
  const parents = new Map(all.map(({ pid, parentPid }) => [pid, parentPid]));
  const members = new Set(withDescendants(new Set([process.pid]), all).map(({ pid }) => pid));
  for (let pid = parents.get(process.pid); pid && !members.has(pid); pid = parents.get(pid)) members.add(pid);
  return members;
}

const namesIn = async (path: string): Promise<string[]> => (await readFile(path, 'latin1')).split(/\s+/).filter(Boolean);
