import type { Browser } from '../browser/browser.ts';
import type { EgressRoute } from '../egress/egress.ts';
import type { Isolation, Vm, VmExit, VmKind } from '../runtime/runtime.ts';

/**
 *   warming ──► ready ──► assigned ──► draining ──► (ended)
 *      └──────────┴───────────────────────▲
 *
 * A machine that was booted for a waiting session goes from `warming` to
 * `assigned`. A used machine is never reused.
 */
export type MachineState = 'warming' | 'ready' | 'assigned' | 'draining';

/** One browser in one machine, with its egress. */
export interface Machine {
  readonly id: string;
  readonly kind: VmKind;
  readonly vm: Vm;
  readonly egress: EgressRoute;
  readonly browser: Browser;
  /** Monotonic time at which it became ready. */
  readonly readyMs: number;
}

/** Why an assigned machine was lost. */
export type MachineLoss = { reason: 'browser_exited' | 'vm_exited' | 'out_of_memory' | 'unresponsive'; detail: string };

/** With process isolation the machine's exit is the browser's exit. */
export function toMachineLoss(exit: VmExit, isolation: Isolation): MachineLoss {
  if (exit.reason === 'out_of_memory') return { reason: 'out_of_memory', detail: exit.detail };
  return { reason: isolation === 'process' ? 'browser_exited' : 'vm_exited', detail: exit.detail };
}

/** Older pool machines are replaced, because an idle browser's memory grows. */
export const idleAgeMsMax = 30 * 60_000;
