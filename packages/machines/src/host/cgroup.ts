/**
 * Control groups that limit each machine. Machines are children of one parent
 * cgroup, which is a child of the service's own: limits of the service apply to
 * them as well. The parent keeps the kernel's weight of the processor, which is
 * that of one process of the service (v1) or of all of them (v2): with a weight
 * for each machine, two busy ones had the weight of all idle ones, and the
 * service starved beside them.
 *
 * On hosts where the service cannot create control groups, machines run without.
 */
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readOutOfMemoryKills } from '@berth/guest';
import type { Log } from '@berth/lib/log.ts';
import {
  createParent,
  openParent,
  type CgroupParent,
  controllers,
  findCgroupTrees,
  type CgroupTrees,
  type Controller,
} from './cgroup-tree.ts';
import { childrenOf } from './processes.ts';

export interface MachineLimits {
  /** Memory above which the kernel ends the machine (v2) or its largest process (v1). Swap is not used. */
  memoryBytes: number;
  /** CPU quota in processors; null for an equal share of what is available. */
  cpus: number | null;
  /** Includes threads. */
  processes: number;
}

/** CPU weight of a machine. `background` yields to machines in use. */
type Weight = 'normal' | 'background';

/**
 * Values by cgroup version. `background` is a tenth: with a hundredth, kernels
 * before 6.6 delay a group by some 400 ms after its weight is raised.
 */
const cpuWeights = {
  1: { file: 'cpu.shares', normal: 1024, background: 102 },
  2: { file: 'cpu.weight', normal: 100, background: 10 },
};
const periodUs = 100_000;
/** Minimum quota that the kernel accepts. */
const quotaUsMin = 1000;
/** Killed processes exit within milliseconds; those that free gigabytes take a second or two. */
const emptyMsMax = 5000;
const emptyPollMs = 10;

export class MachineCgroups {
  readonly #parents: readonly CgroupParent[];
  readonly #memoryBytesMax: number | undefined;

  private constructor(parents: readonly CgroupParent[], memoryBytesMax: number | undefined) {
    this.#parents = parents;
    this.#memoryBytesMax = memoryBytesMax;
  }

  /**
   * `name` separates this service's machines from those of another on the same host. `memoryBytesMax` is for all machines
   * together. Returns null where no group can be created.
   */
  static async open(
    name: string,
    log: Log,
    { trees = findCgroupTrees(), memoryBytesMax }: { trees?: CgroupTrees; memoryBytesMax?: number } = {},
  ): Promise<MachineCgroups | null> {
    const { parents, problems } = await createParents(name, trees);
    const missing = controllers.filter((controller) => !parents.some((parent) => parent.controllers.includes(controller)));
    if (missing.length > 0) log.info({ missing, problems }, 'resource limits unavailable for machines');
    if (parents.length === 0) return null;
    if (memoryBytesMax !== undefined) await limitAll(parents, memoryBytesMax);
    const groups = new MachineCgroups(parents, memoryBytesMax);
    await groups.#removeEmpty();
    return groups;
  }

  /** Controllers that are available here. */
  get controllers(): Controller[] {
    return this.#parents.flatMap((parent) => parent.controllers);
  }

  async create(id: string, limits: MachineLimits): Promise<MachineCgroup> {
    const group = this.#group(id);
    try {
      for (const parent of this.#parents) {
        await mkdir(join(parent.path, id)).catch((error: unknown) => this.#recreate(parent, id, error));
        for (const { file, value, isOptional } of settingsFor(parent, limits)) {
          const written = writeFile(join(parent.path, id, file), String(value));
          await (isOptional ? written.catch(() => undefined) : written);
        }
      }
      return group;
    } catch (cause) {
      await group.remove().catch(() => undefined);
      throw new Error(`control group of ${id} could not be created`, { cause });
    }
  }

  /** Another service that shares the parent has removed it when its last machine had ended. */
  async #recreate(parent: CgroupParent, id: string, error: unknown): Promise<void> {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await openParent(parent);
    if (this.#memoryBytesMax !== undefined) await limitAll([parent], this.#memoryBytesMax);
    await mkdir(join(parent.path, id));
  }

  /** Ids of machines that have a group, including those of a worker that died. */
  async list(): Promise<string[]> {
    const groups = await Promise.all(this.#parents.map(({ path }) => readdir(path, { withFileTypes: true }).catch(() => [])));
    return [...new Set(groups.flat().flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])))];
  }

  /** `MachineCgroup.remove()` for a group of another worker. */
  remove(id: string): Promise<void> {
    return this.#group(id).remove();
  }

  /** Removes the parent cgroup if no machine is left in it. */
  async close(): Promise<void> {
    for (const { path } of this.#parents) await rmdir(path).catch(() => undefined);
  }

  #group(id: string): MachineCgroup {
    return new MachineCgroup(this.#parents.map((parent) => ({ ...parent, path: join(parent.path, id) })));
  }

  /** Removes the empty groups of a dead worker. The kernel keeps those with processes, which are removed later. */
  async #removeEmpty(): Promise<void> {
    for (const id of await this.list()) for (const { path } of this.#parents) await rmdir(join(path, id)).catch(() => undefined);
  }
}

/** The control group of one machine. */
export class MachineCgroup {
  readonly #groups: readonly CgroupParent[];
  #removing: Promise<void> | undefined;

  constructor(groups: readonly CgroupParent[]) {
    this.#groups = groups;
  }

  /** Folders of the group, one in each tree. A process that writes `0` to their `cgroup.procs` moves itself. */
  get paths(): string[] {
    return this.#groups.map(({ path }) => path);
  }

  /**
   * Moves a process and its current descendants into the group; later children
   * start inside. Call it right after the process starts, as memory allocated
   * before stays charged elsewhere. A process that has exited is no error.
   */
  async join(pid: number): Promise<void> {
    const joined = new Set<number>();
    for (let fresh = [pid]; fresh.length > 0; fresh = [...joined].flatMap(childrenOf).filter((child) => !joined.has(child))) {
      for (const each of fresh) {
        // The kernel takes some milliseconds per move, so all trees are written at once.
        await Promise.all(this.#groups.map(({ path }) => writeFile(join(path, 'cgroup.procs'), String(each)).catch(ignoreExited)));
        joined.add(each);
      }
    }
  }

  /** Returns false where the cpu controller is missing. Where it is present, autogroup niceness has no effect. */
  async setWeight(weight: Weight): Promise<boolean> {
    const group = this.#groups.find((each) => each.controllers.includes('cpu'));
    if (!group) return false;
    const { file, [weight]: value } = cpuWeights[group.version];
    await writeFile(join(group.path, file), String(value));
    if (group.controllers.includes('io')) await writeFile(join(group.path, 'io.weight'), String(value)).catch(() => undefined);
    return true;
  }

  /** Number of out-of-memory kills in this machine, or null where the memory controller is missing. Call it before the group is removed. */
  async oomKills(): Promise<number | null> {
    const group = this.#groups.find((each) => each.controllers.includes('memory'));
    if (!group) return null;
    const counts = await readFile(join(group.path, group.version === 1 ? 'memory.oom_control' : 'memory.events'), 'latin1').catch(() => '');
    return Number(/^oom_kill (\d+)$/m.exec(counts)?.[1] ?? 0);
  }

  /** Waits until the processes have exited, then removes the group. Kills none itself. Idempotent. */
  remove(): Promise<void> {
    this.#removing ??= this.#remove();
    return this.#removing;
  }

  async #remove(): Promise<void> {
    await Promise.all(this.#groups.map(({ path }) => removeWhenEmpty(path)));
  }
}

/**
 * Counts the out-of-memory kills of a machine, or from now on those of the whole host where no group counts the machine's
 * own. A group counts each kill of its processes, whichever limit was reached.
 */
export function killCounter(cgroup: Pick<MachineCgroup, 'oomKills'> | null): () => Promise<number> {
  const before = readOutOfMemoryKills();
  return async () => (await cgroup?.oomKills()) ?? readOutOfMemoryKills() - before;
}

async function createParents(name: string, trees: CgroupTrees): Promise<{ parents: CgroupParent[]; problems: string[] }> {
  const parents: CgroupParent[] = [];
  const problems: string[] = [];
  const named = controllers.flatMap((controller) => ({ controller, tree: trees.get(controller) }));
  for (const ownPath of new Set(named.map(({ tree }) => tree?.own))) {
    const here = named.filter(({ tree }) => tree?.own === ownPath);
    const [{ tree } = { tree: undefined }] = here;
    if (!tree) continue;
    try {
      parents.push(
        await createParent(
          tree,
          here.map(({ controller }) => controller),
          name,
        ),
      );
    } catch (error) {
      problems.push(String(error));
    }
  }
  return { parents, problems };
}

/** A parent that is left from a start with other limits may not allow it; then only the limits of each machine apply. */
async function limitAll(parents: readonly CgroupParent[], memoryBytes: number): Promise<void> {
  for (const { version, controllers: has, path } of parents) {
    if (!has.includes('memory')) continue;
    const file = version === 1 ? 'memory.limit_in_bytes' : 'memory.max';
    await writeFile(join(path, file), String(memoryBytes)).catch(() => undefined);
  }
}

interface Setting {
  file: string;
  value: number | string;
  /** Some kernels are built without it. */
  isOptional: boolean;
}

function settingsFor({ version, controllers: has }: CgroupParent, { memoryBytes, cpus, processes }: MachineLimits): Setting[] {
  const quotaUs = cpus === null ? null : Math.max(quotaUsMin, Math.round(cpus * periodUs));
  const setting = (file: string, value: number | string, isOptional = false): Setting => ({ file, value, isOptional });
  // No swap: a machine that swaps slows all others. No memory.high: without swap it only makes the machine crawl before it ends.
  const memory =
    version === 1
      ? [setting('memory.limit_in_bytes', memoryBytes), setting('memory.memsw.limit_in_bytes', memoryBytes, true)]
      : [setting('memory.max', memoryBytes), setting('memory.swap.max', 0, true), setting('memory.oom.group', 1, true)];
  const cpu =
    version === 1
      ? [setting('cpu.cfs_period_us', periodUs, true), setting('cpu.cfs_quota_us', quotaUs ?? -1, true)]
      : [setting('cpu.max', `${quotaUs ?? 'max'} ${periodUs}`, true)];
  const pids = [setting('pids.max', processes)];
  return has.flatMap((controller) => ({ memory, cpu, pids, io: [] })[controller]);
}

async function removeWhenEmpty(path: string): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += emptyPollMs) {
    try {
      await rmdir(path);
      return;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return;
      if (code !== 'EBUSY' || waitedMs >= emptyMsMax) throw error;
      await sleep(emptyPollMs);
    }
  }
}

/** A process that has exited cannot be moved and need not be. */
function ignoreExited(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
}
