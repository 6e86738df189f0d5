/**
 * The control groups of this process. In cgroup v1 each controller may have its
 * own tree, in v2 all share one. A host may have both; each controller is then in
 * one of them. A container sees only a part of a tree.
 */
import { basename, dirname, join } from 'node:path';
import { readIfThere } from './processes.ts';

export const controllers = ['memory', 'cpu', 'pids'] as const;
export type Controller = (typeof controllers)[number];

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
export const serviceLeaf = 'berth-service';

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
