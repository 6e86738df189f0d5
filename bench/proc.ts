/** Processes, memory and CPU time, read from /proc. */
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Proc {
  pid: number;
  parent: number;
  /** One letter, `Z` for a zombie. */
  state: string;
  /** Start time in ticks since boot. With the pid it identifies the process. */
  startedAt: string;
}

/** Returns null when the process has exited meanwhile. */
function readIfExists(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function readProc(pid: number): Proc | null {
  const stat = readIfExists(`/proc/${pid}/stat`);
  // The command, in parentheses, may hold spaces; the fields that matter come after its last one.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  const [state, parent] = fields;
  return state && parent ? { pid, parent: Number(parent), state, startedAt: fields[19] ?? '' } : null;
}

const listProcs = (): Proc[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProc(Number(name)) ?? []);

/** Returns a process and all its descendants. */
export function treeOf(root: number): Proc[] {
  const procs = listProcs();
  const tree = procs.filter(({ pid }) => pid === root);
  for (const { pid } of tree) tree.push(...procs.filter(({ parent }) => parent === pid));
  return tree;
}

export const pidsOf = (root: number): number[] => treeOf(root).map(({ pid }) => pid);

/** Zombies have exited and only wait for their parent. */
export const isAlive = (pid: number): boolean => (readProc(pid)?.state ?? 'Z') !== 'Z';

/** Returns those processes that still exist, including zombies, as they are now. */
export const stillExisting = (procs: readonly Proc[]): Proc[] =>
  procs.flatMap(({ pid, startedAt }) => {
    const now = readProc(pid);
    return now?.startedAt === startedAt ? [now] : [];
  });

/** Returns the total proportional set size (PSS), in MB of 1024² bytes. */
export function memoryMb(pids: readonly number[]): number {
  const kilobytes = pids.map((pid) => Number(/^Pss:\s+(\d+)/m.exec(readIfExists(`/proc/${pid}/smaps_rollup`) ?? '')?.[1] ?? 0));
  return kilobytes.reduce((sum, one) => sum + one, 0) / 1024;
}

/** Returns the private and the shared memory of processes, in MB of 1024² bytes. */
export function ownAndSharedMb(pids: readonly number[]): { own: number; shared: number } {
  const sum = (field: string, rollups: string[]): number =>
    rollups.reduce((all, text) => all + Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0), 0) / 1024;
  const rollups = pids.map((pid) => readIfExists(`/proc/${pid}/smaps_rollup`) ?? '');
  return {
    own: sum('Private_Clean', rollups) + sum('Private_Dirty', rollups),
    shared: sum('Shared_Clean', rollups) + sum('Shared_Dirty', rollups),
  };
}

/** The kernel counts in hundredths of a second, whatever its own tick is. */
const tickMs = 10;

/** Returns the CPU time of each process in ms, with its threads and without its children. */
export function processorMs(pids: readonly number[]): Map<number, number> {
  const times = pids.map((pid): [number, number] => {
    const stat = readIfExists(`/proc/${pid}/stat`);
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
    return [pid, (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * tickMs];
  });
  return new Map(times);
}

/** Returns how long a process's main thread has run, exact where it waits, and how long it waited for a processor, in µs. */
export function mainThreadUs(pid: number): { ran: number; waited: number } {
  const [ran = 0, waited = 0] = (readIfExists(`/proc/${pid}/task/${pid}/schedstat`) ?? '').split(' ').map(Number);
  return { ran: ran / 1000, waited: waited / 1000 };
}

/** Returns the first fifteen characters of the program's name. */
export const commandOf = (pid: number): string => readIfExists(`/proc/${pid}/comm`)?.trim() ?? '';

/** Returns the program and its arguments, or the program's name for a process without any. */
export const argumentsOf = (pid: number): string => readIfExists(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ').trim() || commandOf(pid);

/** Returns the bytes that a process has read from files, pipes and sockets. */
export const bytesRead = (pid: number): number => Number(/^rchar: (\d+)/m.exec(readIfExists(`/proc/${pid}/io`) ?? '')?.[1] ?? 0);

/** Returns the open descriptors of a process, and how many of them are sockets. */
export function descriptorsOf(pid: number): { files: number; sockets: number } {
  const targets = readdirSync(`/proc/${pid}/fd`).map((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`);
    } catch {
      return '';
    }
  });
  return { files: targets.filter(Boolean).length, sockets: targets.filter((target) => target.startsWith('socket:')).length };
}

function processorTimes(): { idle: number; total: number } {
  const times = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').trim().split(/\s+/).slice(1, 9).map(Number);
  return { idle: (times[3] ?? 0) + (times[4] ?? 0), total: times.reduce((sum, one) => sum + one, 0) };
}

const idleShareMin = 0.8;
const idleWindowMs = 250;

/** Waits until the CPU has been mostly idle for a quarter of a second, at most `timeoutMs`. Returns whether it was. */
export async function waitForIdleCpu(timeoutMs = 10_000): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (let before = processorTimes(); performance.now() < deadline;) {
    await sleep(idleWindowMs);
    const after = processorTimes();
    if ((after.idle - before.idle) / Math.max(1, after.total - before.total) >= idleShareMin) return true;
    before = after;
  }
  return false;
}

function setProcessors(pid: number, processors: string): boolean {
  try {
    // All its threads; new child processes inherit it.
    execFileSync('taskset', ['-acp', processors, String(pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const lastProcessor = cpus().length - 1;

/** Pins these processes to the last processor and this one to all others. Returns false when that is impossible. */
export function pinApart(pids: readonly number[]): boolean {
  if (lastProcessor < 1) return false;
  return setProcessors(process.pid, `0-${lastProcessor - 1}`) && pids.every((pid) => setProcessors(pid, String(lastProcessor)));
}

/** Lets this process run on all processors again. */
export const unpin = (): void => void setProcessors(process.pid, `0-${lastProcessor}`);
