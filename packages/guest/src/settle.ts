import { setTimeout as sleep } from 'node:timers/promises';
import type { Settled } from '@berth/contract/guest';
import { countRenderers, readProcessorSeconds } from './processes.ts';

/** Quiet is when the whole machine has used no more than this part of its processor for so long. */
const shareMax = 0.05;
const quietMs = 500;
const lookMs = 100;
/** What is not quiet by then never will be. */
const waitMsMax = 30_000;

/** Resolves when the machine is quiet and no process runs pages, or when it will not be so. */
export async function settle(): Promise<Settled> {
  const deadline = performance.now() + waitMsMax;
  const looks = [look()];
  while (performance.now() < deadline) {
    await sleep(lookMs);
    looks.push(look());
    if (isQuiet(looks) && countRenderers() === 0) break;
  }
  return { quiet: isQuiet(looks), renderers: countRenderers() };
}

interface Look {
  atMs: number;
  usedMs: number;
}

const look = (): Look => ({ atMs: performance.now(), usedMs: readProcessorSeconds() * 1000 });

function isQuiet(looks: Look[]): boolean {
  const last = looks.at(-1);
  const first = looks.findLast(({ atMs }) => last && last.atMs - atMs >= quietMs);
  return last !== undefined && first !== undefined && last.usedMs - first.usedMs <= (last.atMs - first.atMs) * shareMax;
}
