/** What the kernel tells about processes, memory and the processor, read from /proc. */
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

export interface Proc {
  pid: number;
  parent: number;
  /** One letter, `Z` for a zombie. */
  state: string;
  /** When it started, in ticks since boot: with the pid it names one process for good. */
  startedAt: string;
}

/** Processes come and go while they are listed, so a file that is gone is an ordinary answer. */
function readGone(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function readProc(pid: number): Proc | null {
  const stat = readGone(`/proc/${pid}/stat`);
  // The command, in parentheses, may hold spaces; the fields that matter come after its last one.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  const [state, parent] = fields;
  return state && parent ? { pid, parent: Number(parent), state, startedAt: fields[19] ?? '' } : null;
}

const listProcs = (): Proc[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProc(Number(name)) ?? []);

/** A process and all that descend from it. */
export function treeOf(root: number): Proc[] {
  const procs = listProcs();
  const tree = procs.filter(({ pid }) => pid === root);
  for (const { pid } of tree) tree.push(...procs.filter(({ parent }) => parent === pid));
  return tree;
}

export const pidsOf = (root: number): number[] => treeOf(root).map(({ pid }) => pid);

/** A zombie lives no more; it only waits for its parent to hear of it. */
export const isAlive = (pid: number): boolean => (readProc(pid)?.state ?? 'Z') !== 'Z';

/** Which of these processes are still there, as zombies too. */
export const stillThere = (procs: readonly Proc[]): Proc[] => procs.filter(({ pid, startedAt }) => readProc(pid)?.startedAt === startedAt);

/** Proportional set size of some processes together, in MB of 1024² bytes. */
export function memoryMb(pids: readonly number[]): number {
  const kilobytes = pids.map((pid) => Number(/^Pss:\s+(\d+)/m.exec(readGone(`/proc/${pid}/smaps_rollup`) ?? '')?.[1] ?? 0));
  return kilobytes.reduce((sum, one) => sum + one, 0) / 1024;
}

/** What some processes have each for themselves, and what they share with others, in MB of 1024² bytes. */
export function ownAndSharedMb(pids: readonly number[]): { own: number; shared: number } {
  const sum = (field: string, rollups: string[]): number =>
    rollups.reduce((all, text) => all + Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0), 0) / 1024;
  const rollups = pids.map((pid) => readGone(`/proc/${pid}/smaps_rollup`) ?? '');
  return {
    own: sum('Private_Clean', rollups) + sum('Private_Dirty', rollups),
    shared: sum('Shared_Clean', rollups) + sum('Shared_Dirty', rollups),
  };
}

/** The kernel counts in hundredths of a second, whatever its own tick is. */
const tickMs = 10;

/** Time on the processor that each of these processes has had, with its threads and without its children, in ms. */
export function processorMs(pids: readonly number[]): Map<number, number> {
  const times = pids.map((pid): [number, number] => {
    const stat = readGone(`/proc/${pid}/stat`);
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
    return [pid, (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * tickMs];
  });
  return new Map(times);
}

/** The first fifteen characters of a program's name. */
export const commandOf = (pid: number): string => readGone(`/proc/${pid}/comm`)?.trim() ?? '';

/** What a process has read so far, from files, pipes and sockets. */
export const bytesRead = (pid: number): number => Number(/^rchar: (\d+)/m.exec(readGone(`/proc/${pid}/io`) ?? '')?.[1] ?? 0);

/** Open descriptors of one process, and how many of them are sockets. */
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

const calmIdleShare = 0.8;
const calmWindowMs = 250;

/**
 * Waits until the processor has been idle for a quarter of a second, at most
 * `waitMsMax`. Answers whether it came to that.
 */
export async function calm(waitMsMax = 10_000): Promise<boolean> {
  const deadline = performance.now() + waitMsMax;
  for (let before = processorTimes(); performance.now() < deadline;) {
    await wait(calmWindowMs);
    const after = processorTimes();
    if ((after.idle - before.idle) / Math.max(1, after.total - before.total) >= calmIdleShare) return true;
    before = after;
  }
  return false;
}
