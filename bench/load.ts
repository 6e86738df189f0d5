/** Who had how much of the processor over some time. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Berth } from './berth.ts';
import { machineProcs } from './machine-procs.ts';
import { commandOf, processorMs } from './proc.ts';

/** In percent of one core. */
export interface Load {
  /** The service's own process; of a raw browser, who reads its frames. */
  worker: number;
  browser: number;
  encoder: number;
  /** This process: the one who watches. */
  client: number;
}

export type LoadGroups = () => Record<'worker' | 'browser' | 'encoder', number[]>;

const encoderCommand = 'ffmpeg';

export const groupsOfBerth =
  (berth: Berth): LoadGroups =>
  () => {
    const below = machineProcs(berth).map(({ pid }) => pid);
    const isEncoder = (pid: number): boolean => commandOf(pid) === encoderCommand;
    return { worker: [berth.pid], browser: below.filter((pid) => !isEncoder(pid)), encoder: below.filter(isEncoder) };
  };

/** Of a process that ended meanwhile nothing is counted; of one that began, all. */
export async function loadOver(seconds: number, groups: LoadGroups): Promise<Load> {
  const before = processorMs(Object.values(groups()).flat());
  const [started, ownBefore] = [performance.now(), process.cpuUsage()];
  await wait(seconds * 1000);
  const [tookMs, own, now] = [performance.now() - started, process.cpuUsage(ownBefore), groups()];
  const percent = (pids: readonly number[]): number => {
    const times = [...processorMs(pids)].map(([pid, ms]) => ms - (before.get(pid) ?? 0));
    return (100 * times.reduce((sum, ms) => sum + ms, 0)) / tookMs;
  };
  const client = (own.user + own.system) / 10 / tookMs;
  return { worker: percent(now.worker), browser: percent(now.browser), encoder: percent(now.encoder), client };
}
