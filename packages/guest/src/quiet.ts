import { setTimeout as sleep } from 'node:timers/promises';
import type { QuietResult } from '@berth/contract/guest';
import { countRenderers, readProcessorSeconds } from './processes.ts';

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
