/** Processes of this host, read from /proc. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

export interface HostProcess {
  pid: number;
  parentPid: number;
  /** Clock ticks since boot. With the pid and the boot id it identifies a process uniquely. */
  startTime: string;
  cpuTicks: number;
  dead: boolean;
}

export const readIfThere = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
};

export function readProcess(pid: number): HostProcess | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (!stat) return undefined;
  // The second field is the program's name in brackets, and may hold spaces and brackets itself.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): string => fields[number - 3] ?? '';
  return {
    pid,
    parentPid: Number(field(4)),
    startTime: field(22),
    cpuTicks: Number(field(14)) + Number(field(15)),
    dead: field(3) === 'Z' || field(3) === 'X',
  };
}

/** Every running process of the host. Takes about 15 µs each. */
export function readProcesses(): HostProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((process): process is HostProcess => process !== undefined && !process.dead);
}

/** The processes of `seeds` and their descendants. */
export function withDescendants(seeds: Set<number>, all: HostProcess[]): HostProcess[] {
  const members = new Set(seeds);
  for (let grown = true; grown;) {
    grown = false;
    for (const { pid, parentPid } of all) {
      if (members.has(pid) || !members.has(parentPid)) continue;
      members.add(pid);
      grown = true;
    }
  }
  return all.filter(({ pid }) => members.has(pid));
}

/** Environment that a process was started with; empty where we may not read it. */
export function readEnvironment(pid: number): Map<string, string> {
  const text = readIfThere(`/proc/${pid}/environ`) ?? '';
  return new Map(text.split('\0').map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]));
}

export const readBootId = (): string => readIfThere('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown';

/** Children of all threads of a process. */
export function childrenOf(pid: number): number[] {
  const lists = threadsOf(pid).map((thread) => readIfThere(`/proc/${pid}/task/${thread}/children`) ?? '');
  return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
}

const threadsOf = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
};

/** Proportional set size: shared pages are divided among the processes that share them. */
async function readMemoryBytes(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024;
}

/** Proportional set size of a process and its descendants. */
export async function memoryOf(root: number): Promise<number> {
  const members = withDescendants(new Set([root]), readProcesses());
  const sizes = await Promise.all(members.map(({ pid }) => readMemoryBytes(pid)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Kills a process only if its start time still matches, so that a reused pid is safe. */
export function killProcess(seen: { pid: number; startTime: string }): boolean {
  const now = readProcess(seen.pid);
  if (!now || now.startTime !== seen.startTime) return false;
  return sendSignal(seen.pid, 'SIGKILL');
}

/** Returns false when the process does not exist. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Nice values. `background` is the lowest priority of the scheduler. */
export const niceness = { background: 19, normal: 0 } as const;

/** Whether the scheduler groups tasks by session (autogroup). */
export const groupsSessions = (): boolean => readIfThere('/proc/sys/kernel/sched_autogroup_enabled')?.trim() === '1';

/**
 * Sets the nice value of a whole session of processes, including threads and
 * future children, with one write. Returns false where the scheduler does not
 * group tasks by session.
 */
export function setSessionNice(pid: number, nice: number): boolean {
  if (!groupsSessions()) return false;
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(nice));
    return true;
  } catch {
    return false;
  }
}
