/** What the kernel of a machine tells about all its processes, read from /proc. */
import { readdirSync, readFileSync } from 'node:fs';

/** `sysconf(_SC_CLK_TCK)`: 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;
/** All threads of the kernel are its children. */
const kernelPid = 2;

const readIfThere = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
};

/** How often the kernel has killed a process for want of memory since it started. */
export const readOutOfMemoryKills = (): number => Number(/^oom_kill (\d+)$/m.exec(readIfThere('/proc/vmstat'))?.[1] ?? 0);

/** What the processor has done since the kernel started, by all processes and the kernel together. */
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

/** Of all processes and of the kernel's own threads. */
export const pids = (): string[] => readdirSync('/proc').filter((name) => /^\d+$/.test(name));

/** Without the kernel's own threads. */
export function countProcesses(): number {
  const kernelThreads = readIfThere(`/proc/${kernelPid}/task/${kernelPid}/children`).split(' ').filter(Boolean).length;
  return pids().length - kernelThreads - 1;
}

/** Processes of the browser that run pages. */
export const countRenderers = (): number => pids().filter((pid) => readIfThere(`/proc/${pid}/cmdline`).includes('--type=renderer')).length;
