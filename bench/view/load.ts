/** CPU use of process groups over time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { machineProcs, type Berth } from '../berth.ts';
import { commandOf, processorMs } from '../proc.ts';

/** CPU use in percent of one core. */
export interface Load {
  /** The service's process; for a raw browser, the process that reads its frames. */
  worker: number;
  browser: number;
  encoder: number;
  /** This process, as the viewer. */
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

/** Processes that ended meanwhile are not counted; those that started are. */
export async function loadOver(seconds: number, groups: LoadGroups): Promise<Load> {
  const before = processorMs(Object.values(groups()).flat());
  const [started, ownBefore] = [performance.now(), process.cpuUsage()];
  await sleep(seconds * 1000);
  const [tookMs, own, now] = [performance.now() - started, process.cpuUsage(ownBefore), groups()];
  const percent = (pids: readonly number[]): number => {
    const times = [...processorMs(pids)].map(([pid, ms]) => ms - (before.get(pid) ?? 0));
    return (100 * times.reduce((sum, ms) => sum + ms, 0)) / tookMs;
  };
  const client = (own.user + own.system) / 10 / tookMs;
  return { worker: percent(now.worker), browser: percent(now.browser), encoder: percent(now.encoder), client };
}
