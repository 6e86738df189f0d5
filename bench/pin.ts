import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';

function setProcessors(pid: number, processors: string): boolean {
  try {
    // All threads of it; what it starts from now on stays there too.
    execFileSync('taskset', ['-acp', processors, String(pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const last = cpus().length - 1;

/** Gives each of these processes the last processor and this one all others. False where that cannot be. */
export function pinApart(pids: readonly number[]): boolean {
  if (last < 1) return false;
  return setProcessors(process.pid, `0-${last - 1}`) && pids.every((pid) => setProcessors(pid, String(last)));
}

/** This process may run anywhere again. */
export const unpin = (): void => void setProcessors(process.pid, `0-${last}`);
