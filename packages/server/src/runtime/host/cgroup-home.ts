import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serviceLeaf, type CgroupTree, type Controller } from './cgroup-tree.ts';
import { readProcesses, withDescendants } from './processes.ts';

/** A folder for groups, with the controllers that those in it are bounded by. */
export interface CgroupHome {
  version: 1 | 2;
  controllers: Controller[];
  path: string;
}

/** What starts meanwhile is met in the next round. */
const roundsMax = 10;

/** A group for the groups of this service's machines, in the group that the service is in. Throws where that is not allowed. */
export async function makeHome({ version, own }: CgroupTree, wanted: Controller[], name: string): Promise<CgroupHome> {
  const path = join(own, name);
  const controllers = version === 1 ? wanted : await offeredIn(own, wanted);
  if (version === 2) await handDown(own, controllers);
  await mkdir(path, { recursive: true });
  if (version === 2) await handDown(path, controllers);
  // That the folder is there does not say that there may be others in it.
  const trial = join(path, `trial-${process.pid}`);
  await mkdir(trial);
  await rmdir(trial);
  return { version, controllers, path };
}

async function offeredIn(group: string, wanted: Controller[]): Promise<Controller[]> {
  const offered = await namesIn(join(group, 'cgroup.controllers'));
  const controllers = wanted.filter((controller) => offered.includes(controller));
  if (controllers.length === 0) throw new Error(`the control group ${group} has none of the controllers ${wanted.join(', ')}`);
  return controllers;
}

/** Gives the groups in a group the controllers that it has itself. */
async function handDown(group: string, controllers: Controller[]): Promise<void> {
  const file = join(group, 'cgroup.subtree_control');
  const present = await namesIn(file);
  const missing = controllers.filter((controller) => !present.includes(controller)).map((controller) => `+${controller}`);
  if (missing.length === 0) return;
  try {
    await writeFile(file, missing.join(' '));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    await standAside(group);
    await writeFile(file, missing.join(' '));
  }
}

/**
 * A group that hands down controllers holds no processes itself. Where nobody
 * is in it but this service, with those who started it and those it started,
 * they move into a group beside the machines'. Others are not ours to move.
 */
async function standAside(group: string): Promise<void> {
  const leaf = join(group, serviceLeaf);
  for (let round = 0; round < roundsMax; round += 1) {
    const pids = (await namesIn(join(group, 'cgroup.procs'))).map(Number);
    if (pids.length === 0) return;
    const ours = family();
    if (!pids.every((pid) => ours.has(pid)))
      throw new Error(`this service is not alone in the control group ${group}: give it one of its own`);
    await mkdir(leaf, { recursive: true });
    // One that has ended meanwhile is not there in the next round.
    for (const pid of pids) await writeFile(join(leaf, 'cgroup.procs'), String(pid)).catch(() => undefined);
  }
}

/** This process, those it descends from and those that descend from it. */
function family(): Set<number> {
  const all = readProcesses();
  const parents = new Map(all.map(({ pid, parentPid }) => [pid, parentPid]));
  const members = new Set(withDescendants(new Set([process.pid]), all).map(({ pid }) => pid));
  for (let pid = parents.get(process.pid); pid && !members.has(pid); pid = parents.get(pid)) members.add(pid);
  return members;
}

const namesIn = async (path: string): Promise<string[]> => (await readFile(path, 'latin1')).split(/\s+/).filter(Boolean);
