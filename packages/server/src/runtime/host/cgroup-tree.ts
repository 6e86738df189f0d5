/**
 * Where this process stands in the kernel's control groups. There are two
 * generations: in the first each controller may have a tree of its own, in the
 * second all share one; a host may have both at once, and then a controller is
 * in one of them. A container sees a part of a tree only.
 */
import { basename, dirname, join } from 'node:path';
import { readIfThere } from './processes.ts';

export const controllers = ['memory', 'cpu', 'pids'] as const;
export type Controller = (typeof controllers)[number];

/** One tree, as far as it is seen from here. */
export interface CgroupTree {
  version: 1 | 2;
  /** Folder of the highest group that is visible. */
  top: string;
  /** Folder of the group of this service: `top`, or beneath it. */
  own: string;
}

/** A controller is absent where no tree of it is mounted. `unified` is the tree of the second generation, whether it has controllers or not. */
export type CgroupTrees = ReadonlyMap<Controller | 'unified', CgroupTree>;

/** In the second generation a group holds processes or groups, not both: the service may stand in this one, beside its machines. */
export const serviceLeaf = 'berth-service';

interface Mount {
  version: 1 | 2;
  /** The group that is shown at `path`. */
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
  // What the first generation does not have is the second's, if anybody's.
  const unified = trees.get('unified');
  for (const name of controllers) if (unified && !trees.has(name)) trees.set(name, unified);
  return trees;
}

/** The group itself, the one around it, and so on to the highest that is visible. */
export function groupsAround({ own, top }: CgroupTree): string[] {
  const groups = [own];
  for (let group = own; group !== top; groups.push(group)) group = dirname(group);
  return groups;
}

function treeOf(mounts: Mount[], group: string): CgroupTree | undefined {
  const shows = ({ root }: Mount): boolean => root === '/' || group === root || group.startsWith(`${root}/`);
  // Without a namespace of its own a container is told its group's name on the host, of which its mounts show the end.
  const mount = mounts.find(shows) ?? mounts[0];
  if (!mount) return undefined;
  const { version, path: top, root } = mount;
  const own = shows(mount) && !group.includes('/..') ? join(top, root === '/' ? group : group.slice(root.length)) : top;
  const standing = own.replace(/(?<=.)\/$/, '');
  return { version, top, own: basename(standing) === serviceLeaf && standing !== top ? dirname(standing) : standing };
}

/** A line: `31 23 0:28 ROOT PATH rw,relatime shared:1 - cgroup cgroup rw,memory`. */
function readMounts(path: string): Mount[] {
  return (readIfThere(path) ?? '').split('\n').flatMap((line): Mount[] => {
    const [place = '', kind = ''] = line.split(' - ');
    const [, , , root = '', mountPath = ''] = place.split(' ').map(unescaped);
    const [type, , options = ''] = kind.split(' ');
    if (type !== 'cgroup' && type !== 'cgroup2') return [];
    return [{ version: type === 'cgroup' ? 1 : 2, root, path: mountPath, options: options.split(',') }];
  });
}

/** Blanks and their like are written as octal numbers. */
const unescaped = (text: string): string => text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
