import type { Browser } from '../browser/browser.ts';
import type { EgressWay } from '../egress/egress.ts';
import type { Isolation, Vm, VmExit, VmKind } from '../runtime/runtime.ts';

/**
 *   warming ──► ready ──► assigned ──► draining ──► (gone)
 *      └──────────┴───────────────────────▲
 *
 * A machine that was started for a session that waits for it goes from
 * `warming` to `assigned`. It never goes back: a used machine is not reused.
 */
export type MachineState = 'warming' | 'ready' | 'assigned' | 'draining';

/** One browser in one machine, with its way out. */
export interface Machine {
  readonly id: string;
  readonly kind: VmKind;
  readonly vm: Vm;
  readonly way: EgressWay;
  readonly browser: Browser;
  /** Monotonic: since when it has been idle and ready. */
  readonly readyMs: number;
}

/** Why a machine is lost to the session that it was assigned to. */
export type MachineLoss = { how: 'browser_gone' | 'vm_gone' | 'out_of_memory' | 'unresponsive'; detail: string };

/** Where the machine is no more than the browser's own jail, its exit is the browser's. */
export function lossOf(exit: VmExit, isolation: Isolation): MachineLoss {
  if (exit.reason === 'out_of_memory') return { how: 'out_of_memory', detail: exit.detail };
  return { how: isolation === 'process' ? 'browser_gone' : 'vm_gone', detail: exit.detail };
}

/** A pool machine older than this is replaced: what a browser does when left alone adds up. */
export const idleAgeMsMax = 30 * 60_000;
