/** Totals of all processes of a machine, read from /proc. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { QuietResult } from '@berth/contract/guest';

/** `sysconf(_SC_CLK_TCK)`: 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;
/** Parent of all kernel threads. */
const kernelPid = 2;

const readIfThere = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
};

/** Number of out-of-memory kills since boot. */
export const readOutOfMemoryKills = (): number => Number(/^oom_kill (\d+)$/m.exec(readIfThere('/proc/vmstat'))?.[1] ?? 0);

/** CPU seconds since boot of all processes and the kernel. */
export function readProcessorSeconds(): number {
  const [user, nice, system, , , interrupts, softInterrupts] = (/^cpu +(.*)$/m.exec(readIfThere('/proc/stat'))?.[1] ?? '')
    .split(' ')
    .map(Number);
  return [user, nice, system, interrupts, softInterrupts].reduce<number>((sum, ticks) => sum + (ticks ?? 0), 0) / ticksPerSecond;
}

export function readMemory(): { totalBytes: number; availableBytes: number } {
  const text = readIfThere('/proc/meminfo');
  const bytes = (name: string): number => Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0) * 1024;
  return { totalBytes: bytes('MemTotal'), availableBytes: bytes('MemAvailable') };
}

/** Pids of all processes and kernel threads. */
export const pids = (): string[] => readdirSync('/proc').filter((name) => /^\d+$/.test(name));

/** Excludes kernel threads. */
export function countProcesses(): number {
  const kernelThreads = readIfThere(`/proc/${kernelPid}/task/${kernelPid}/children`).split(' ').filter(Boolean).length;
  return pids().length - kernelThreads - 1;
}

/** Number of renderer processes. */
const countRenderers = (): number => pids().filter((pid) => readIfThere(`/proc/${pid}/cmdline`).includes('--type=renderer')).length;

/** A machine is quiet when its CPU usage stays below this share for `quietMs`. */
const shareMax = 0.05;
const quietMs = 500;
const sampleMs = 100;
/** A machine that is not quiet by then will not become so. */
const quietTimeoutMs = 30_000;

/** Resolves when the machine is quiet without renderers, or after the timeout. The result says which. */
export async function waitForQuiet(): Promise<QuietResult> {
  const deadline = performance.now() + quietTimeoutMs;
  const samples = [sampleCpu()];
  while (performance.now() < deadline) {
    await sleep(sampleMs);
    samples.push(sampleCpu());
    if (isQuiet(samples) && countRenderers() === 0) break;
  }
  return { quiet: isQuiet(samples), renderers: countRenderers() };
}

interface CpuSample {
  atMs: number;
  usedMs: number;
}

const sampleCpu = (): CpuSample => ({ atMs: performance.now(), usedMs: readProcessorSeconds() * 1000 });

function isQuiet(samples: CpuSample[]): boolean {
  const last = samples.at(-1);
  const first = samples.findLast(({ atMs }) => last && last.atMs - atMs >= quietMs);
  return last !== undefined && first !== undefined && last.usedMs - first.usedMs <= (last.atMs - first.atMs) * shareMax;
}
