import type { Berth } from './berth.ts';
import { type Proc, pidsOf, treeOf } from './proc.ts';

/** The processes of machines, and of encoders: all below the worker that are not the database's. */
export function machineProcs(berth: Berth): Proc[] {
  const database = new Set(berth.databasePid === null ? [] : pidsOf(berth.databasePid));
  return treeOf(berth.pid).filter(({ pid }) => pid !== berth.pid && !database.has(pid));
}
