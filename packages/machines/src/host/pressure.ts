/**
 * Free memory and pressure (PSI) of this host, as the kernel reports them. If the
 * service is limited by control groups, the tightest one counts.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { findCgroupTrees, groupsAround, type CgroupTree } from './cgroup-tree.ts';
import { readIfThere } from './processes.ts';

export interface HostReading {
  /** Memory that can be allocated without evicting others; null where the kernel does not report it. */
  memoryAvailableBytes: number | null;
  /** Share of the last ten seconds in which some task waited for memory; null where the kernel does not report it. */
  memoryStallPercent: number | null;
  /** The same for the processor. */
  cpuStallPercent: number | null;
}

/** Takes about 100 µs, and a little more for each control group around the service. */
export type HostReader = () => HostReading;

export function createHostReader({ procPath = '/proc' }: { procPath?: string } = {}): HostReader {
  const trees = findCgroupTrees(join(procPath, 'self'));
  const memory = trees.get('memory');
  const unified = trees.get('unified');
  const stall = (what: 'memory' | 'cpu'): number | null =>
    // The service's own group where it has one: stalls of a neighbour within its own limits do not affect us.
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

/** Number of processors that this service may use. A fraction where a control group has a quota below one. */
export function processorsHere({ procPath = '/proc' }: { procPath?: string } = {}): number {
  const tree = findCgroupTrees(join(procPath, 'self')).get('cpu');
  const quotas = tree ? groupsAround(tree).map((group) => quotaIn(tree, group)) : [];
  return Math.min(availableParallelism(), ...quotas);
}

/** Memory that this service and its machines may use: the host's, or the tightest limit around the service. */
export function memoryHere({ procPath = '/proc' }: { procPath?: string } = {}): number {
  const kilobytes = /^MemTotal:\s+(\d+) kB/m.exec(readIfThere(join(procPath, 'meminfo')) ?? '')?.[1];
  const total = kilobytes === undefined ? Infinity : Number(kilobytes) * 1024;
  const tree = findCgroupTrees(join(procPath, 'self')).get('memory');
  return Math.min(total, ...(tree ? groupsAround(tree).map((group) => limitIn(tree, group)) : []));
}

const numberIn = (path: string): number | null => {
  const text = readIfThere(path)?.trim();
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null;
};

const memAvailable = (path: string): number | null => {
  const kilobytes = /^MemAvailable:\s+(\d+) kB/m.exec(readIfThere(path) ?? '')?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
};

/** Bytes a group may still allocate; null without a limit. Inactive file cache counts as free, as the kernel reclaims it. */
function roomIn({ version }: Pick<CgroupTree, 'version'>, group: string): number | null {
  const [usage, idle] =
    version === 2
      ? (['memory.current', /^inactive_file (\d+)$/m] as const)
      : (['memory.usage_in_bytes', /^total_inactive_file (\d+)$/m] as const);
  const limit = limitIn({ version }, group);
  const used = limit < Number.MAX_SAFE_INTEGER ? numberIn(join(group, usage)) : null;
  if (used === null) return null;
  const reclaimable = Number(idle.exec(readIfThere(join(group, 'memory.stat')) ?? '')?.[1] ?? 0);
  return limit - Math.max(0, used - reclaimable);
}

/** No limit is `max` in v2, and a number above any memory in v1. */
function limitIn({ version }: Pick<CgroupTree, 'version'>, group: string): number {
  const files = version === 2 ? ['memory.max', 'memory.high'] : ['memory.limit_in_bytes'];
  return Math.min(...files.map((file) => numberIn(join(group, file)) ?? Infinity));
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
