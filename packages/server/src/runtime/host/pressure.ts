/**
 * What is left of this host for another machine, as the kernel tells it. The
 * service may itself be kept in a control group, with less than the host has:
 * then the tightest group around it counts.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { findCgroupTrees, groupsAround, type CgroupTree } from './cgroup-tree.ts';
import { readIfThere } from './processes.ts';

export interface HostReading {
  /** What can be taken without anybody being pushed out; null where the kernel does not tell. */
  memoryAvailableBytes: number | null;
  /** Share of the last ten seconds in which something waited for memory; null where the kernel does not tell. */
  memoryStallPercent: number | null;
  /** The same for the processor. */
  cpuStallPercent: number | null;
}

/** Takes some 100 µs, and a little more for each control group around the service. */
export type HostReader = () => HostReading;

export function createHostReader({ procPath = '/proc' }: { procPath?: string } = {}): HostReader {
  const trees = findCgroupTrees(join(procPath, 'self'));
  const memory = trees.get('memory');
  const unified = trees.get('unified');
  const stall = (what: 'memory' | 'cpu'): number | null =>
    // Of this service and its machines where that is told apart: a neighbour who stalls within his own limits takes nothing from us.
    parseStall(unified && readIfThere(join(unified.own, `${what}.pressure`))) ?? parseStall(readIfThere(join(procPath, 'pressure', what)));
  return () => {
    const rooms = [memAvailable(join(procPath, 'meminfo')), ...(memory ? groupsAround(memory).map((group) => roomIn(memory, group)) : [])];
    const known = rooms.filter((room) => room !== null);
    return {
      memoryAvailableBytes: known.length > 0 ? Math.max(0, Math.min(...known)) : null,
      memoryStallPercent: stall('memory'),
      cpuStallPercent: stall('cpu'),
    };
  };
}

/** Processors that this service may use: a fraction where a control group allows it a share of one. */
export function processorsHere({ procPath = '/proc' }: { procPath?: string } = {}): number {
  const tree = findCgroupTrees(join(procPath, 'self')).get('cpu');
  const quotas = tree ? groupsAround(tree).map((group) => quotaIn(tree, group)) : [];
  return Math.min(availableParallelism(), ...quotas);
}

const numberIn = (path: string): number | null => {
  const text = readIfThere(path)?.trim();
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null;
};

const memAvailable = (path: string): number | null => {
  const kilobytes = /^MemAvailable:\s+(\d+) kB/m.exec(readIfThere(path) ?? '')?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
};

/** What a group may still take: null where it has no limit. Pages of files that nobody has used lately are given back when others need them. */
function roomIn({ version }: CgroupTree, group: string): number | null {
  const [limits, usage, idle] =
    version === 2
      ? ([['memory.max', 'memory.high'], 'memory.current', /^inactive_file (\d+)$/m] as const)
      : ([['memory.limit_in_bytes'], 'memory.usage_in_bytes', /^total_inactive_file (\d+)$/m] as const);
  // `max` in the second generation, in the first a number that no memory comes to.
  const limit = Math.min(...limits.map((file) => numberIn(join(group, file)) ?? Infinity));
  const used = limit < Number.MAX_SAFE_INTEGER ? numberIn(join(group, usage)) : null;
  if (used === null) return null;
  const reclaimable = Number(idle.exec(readIfThere(join(group, 'memory.stat')) ?? '')?.[1] ?? 0);
  return limit - Math.max(0, used - reclaimable);
}

function quotaIn({ version }: CgroupTree, group: string): number {
  const [quota = NaN, period = NaN] =
    version === 2
      ? (readIfThere(join(group, 'cpu.max')) ?? '').split(' ').map(Number)
      : ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].map((file) => numberIn(join(group, file)) ?? NaN);
  return quota / period || Infinity;
}

/** A line: `some avg10=33.73 avg60=11.36 avg300=3.14 total=14805399763`. */
function parseStall(text: string | undefined): number | null {
  const percent = /^some avg10=([\d.]+)/m.exec(text ?? '')?.[1];
  return percent === undefined ? null : Number(percent);
}
