/**
 * Bounds of the kernel around each machine: what goes wild in one is its own
 * loss. Machines are groups in a group of this service's machines, which lies
 * in the group that the service itself is in: whatever bounds the service
 * bounds them as well.
 *
 * Not every host lets a service make groups. Then machines run without.
 */
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../lib/log.ts';
import { makeHome, type CgroupHome } from './cgroup-home.ts';
import { controllers, findCgroupTrees, type CgroupTrees, type Controller } from './cgroup-tree.ts';
import { childrenOf } from './processes.ts';

export interface MachineLimits {
  /** Beyond it the kernel ends a process of the machine, the one that takes the most. Swap is not used. */
  memoryBytes: number;
  /** Processors' worth of time; null: whatever is left, in equal parts with other machines. */
  cpus: number | null;
  /** Threads count as well. */
  processes: number;
}

/** How much of a busy processor a machine gets. One that nobody waits for yields to those in use. */
export type Weight = 'normal' | 'background';

/**
 * What the kernel understands by it, in its two generations. A tenth: kernels
 * before 6.6 make a group that was given little pay for what it had once it is
 * given more, a moment of 4 ms at a hundredth with 400 ms of waiting.
 */
const weights = {
  1: { file: 'cpu.shares', normal: 1024, background: 102, max: 262_144 },
  2: { file: 'cpu.weight', normal: 100, background: 10, max: 10_000 },
};
const periodUs = 100_000;
/** The least that the kernel takes for a quota. */
const quotaUsMin = 1000;
/** Killed processes are gone within some milliseconds, those with gigabytes to give back within a second or two. */
const emptyMsMax = 5000;
const emptyPollMs = 10;

export class MachineCgroups {
  readonly #homes: readonly CgroupHome[];
  readonly #living = new Set<string>();

  private constructor(homes: readonly CgroupHome[]) {
    this.#homes = homes;
  }

  /** `name` tells this service's machines from another's on the same host. null where no group can be made. */
  static async open(name: string, log: Log, trees: CgroupTrees = findCgroupTrees()): Promise<MachineCgroups | null> {
    const { homes, problems } = await makeHomes(name, trees);
    const missing = controllers.filter((controller) => !homes.some((home) => home.controllers.includes(controller)));
    if (missing.length > 0) log.info({ missing, problems }, 'machines run without bounds of their own for some of what they take');
    if (homes.length === 0) return null;
    const groups = new MachineCgroups(homes);
    await groups.#sweep();
    return groups;
  }

  /** What can be bounded here. */
  get controllers(): Controller[] {
    return this.#homes.flatMap((home) => home.controllers);
  }

  async create(id: string, limits: MachineLimits): Promise<MachineCgroup> {
    const group = this.#group(id);
    try {
      for (const home of this.#homes) {
        await mkdir(join(home.path, id));
        for (const { file, value, isOptional } of settingsFor(home, limits)) {
          const written = writeFile(join(home.path, id, file), String(value));
          await (isOptional ? written.catch(() => undefined) : written);
        }
      }
      this.#living.add(id);
      await this.#weighAll();
      return group;
    } catch (cause) {
      await group.remove().catch(() => undefined);
      throw new Error(`no control group could be made for ${id}`, { cause });
    }
  }

  /** Machines that have a group, ours or left by a worker that died. */
  async list(): Promise<string[]> {
    const found = await Promise.all(this.#homes.map(({ path }) => readdir(path, { withFileTypes: true }).catch(() => [])));
    return [...new Set(found.flat().flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])))];
  }

  /** As `MachineCgroup.remove()`, for a group that somebody else made. */
  remove(id: string): Promise<void> {
    return this.#group(id).remove();
  }

  /** Takes the group of groups away, when no machine is left in it. */
  async close(): Promise<void> {
    for (const { path } of this.#homes) await rmdir(path).catch(() => undefined);
  }

  #group(id: string): MachineCgroup {
    return new MachineCgroup(
      this.#homes.map((home) => ({ ...home, path: join(home.path, id) })),
      async () => {
        if (this.#living.delete(id)) await this.#weighAll();
      },
    );
  }

  /** What a dead worker left. The kernel keeps those in which something still runs: they go when their processes have been ended. */
  async #sweep(): Promise<void> {
    for (const id of await this.list()) for (const { path } of this.#homes) await rmdir(join(path, id)).catch(() => undefined);
  }

  /** To those outside, such as the service itself and its encoders, each machine weighs what one of them does: all in one group would share the weight of one. */
  async #weighAll(): Promise<void> {
    for (const { version, controllers: has, path } of this.#homes) {
      if (!has.includes('cpu')) continue;
      const { file, normal, max } = weights[version];
      await writeFile(join(path, file), String(Math.min(max, normal * Math.max(1, this.#living.size)))).catch(() => undefined);
    }
  }
}

/** The bounds of one machine. */
export class MachineCgroup {
  readonly #groups: readonly CgroupHome[];
  readonly #removed: () => Promise<void>;
  #removing: Promise<void> | undefined;

  constructor(groups: readonly CgroupHome[], removed: () => Promise<void>) {
    this.#groups = groups;
    this.#removed = removed;
  }

  /**
   * Takes in a process and what it has started by now; what they start later
   * is born inside. To be called right after its start: memory that was taken
   * before stays counted where it was. A process that has ended is no error.
   */
  async join(pid: number): Promise<void> {
    const joined = new Set<number>();
    for (let fresh = [pid]; fresh.length > 0; fresh = [...joined].flatMap(childrenOf).filter((child) => !joined.has(child))) {
      for (const each of fresh) {
        // To move a process the kernel waits some milliseconds for all processors: for all trees at once.
        await Promise.all(this.#groups.map(({ path }) => writeFile(join(path, 'cgroup.procs'), String(each)).catch(unlessGone)));
        joined.add(each);
      }
    }
  }

  /** False where the processor is not shared out by groups. Where it is, the niceness of a session of processes has no effect any more. */
  async weigh(weight: Weight): Promise<boolean> {
    const group = this.#groups.find((each) => each.controllers.includes('cpu'));
    if (!group) return false;
    const { file, [weight]: value } = weights[group.version];
    await writeFile(join(group.path, file), String(value));
    return true;
  }

  /** Processes of this machine that the kernel has ended for want of memory. To be asked before the group is removed. */
  async oomKills(): Promise<number> {
    const group = this.#groups.find((each) => each.controllers.includes('memory'));
    if (!group) return 0;
    const counts = await readFile(join(group.path, group.version === 1 ? 'memory.oom_control' : 'memory.events'), 'latin1').catch(() => '');
    return Number(/^oom_kill (\d+)$/m.exec(counts)?.[1] ?? 0);
  }

  /** Resolves when the processes are gone and the group with them; ends none itself. Idempotent. */
  remove(): Promise<void> {
    this.#removing ??= this.#remove();
    return this.#removing;
  }

  async #remove(): Promise<void> {
    await Promise.all(this.#groups.map(({ path }) => removeWhenEmpty(path)));
    await this.#removed();
  }
}

async function makeHomes(name: string, trees: CgroupTrees): Promise<{ homes: CgroupHome[]; problems: string[] }> {
  const homes: CgroupHome[] = [];
  const problems: string[] = [];
  const named = controllers.flatMap((controller) => ({ controller, tree: trees.get(controller) }));
  for (const place of new Set(named.map(({ tree }) => tree?.own))) {
    const here = named.filter(({ tree }) => tree?.own === place);
    const [{ tree } = { tree: undefined }] = here;
    if (!tree) continue;
    try {
      homes.push(
        await makeHome(
          tree,
          here.map(({ controller }) => controller),
          name,
        ),
      );
    } catch (error) {
      problems.push(String(error));
    }
  }
  return { homes, problems };
}

interface Setting {
  file: string;
  value: number | string;
  /** Kernels are built without it. */
  isOptional: boolean;
}

function settingsFor({ version, controllers: has }: CgroupHome, { memoryBytes, cpus, processes }: MachineLimits): Setting[] {
  const quotaUs = cpus === null ? null : Math.max(quotaUsMin, Math.round(cpus * periodUs));
  const setting = (file: string, value: number | string, isOptional = false): Setting => ({ file, value, isOptional });
  // Memory that is full is not swapped: a machine that swaps slows all others. Nor is all of a machine ended at once, as only the second generation could: a page that takes too much costs its tab, and a virtual machine is one process anyway.
  const memory =
    version === 1
      ? [setting('memory.limit_in_bytes', memoryBytes), setting('memory.memsw.limit_in_bytes', memoryBytes, true)]
      : [setting('memory.max', memoryBytes), setting('memory.swap.max', 0, true)];
  const cpu =
    version === 1
      ? [setting('cpu.cfs_period_us', periodUs, true), setting('cpu.cfs_quota_us', quotaUs ?? -1, true)]
      : [setting('cpu.max', `${quotaUs ?? 'max'} ${periodUs}`, true)];
  const pids = [setting('pids.max', processes)];
  return has.flatMap((controller) => ({ memory, cpu, pids })[controller]);
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

/** A process that has ended cannot be moved, and need not be. */
function unlessGone(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
}
