import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serviceLeaf, type CgroupTree, type Controller } from './cgroup-tree.ts';
import { readProcesses, withDescendants } from './processes.ts';

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
  await mkdir(path, { recursive: true });
  if (version === 2) await enableControllers(path, controllers);
  // The folder may exist although no cgroup can be created in it.
  const trial = join(path, `trial-${process.pid}`);
  await mkdir(trial);
  await rmdir(trial);
  return { version, controllers, path };
}

async function availableControllers(group: string, wanted: Controller[]): Promise<Controller[]> {
  const offered = await namesIn(join(group, 'cgroup.controllers'));
  const controllers = wanted.filter((controller) => offered.includes(controller));
  if (controllers.length === 0) throw new Error(`the control group ${group} has none of the controllers ${wanted.join(', ')}`);
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
