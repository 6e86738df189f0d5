import { type Browser, attachBrowser } from '@berth/devtools';
import type { EgressRoute, EgressGate } from '@berth/egress';
import type { Isolation, Vm, VmExit, VmKind, Runtime } from '@berth/machines';
import { Cleanup } from '@berth/lib/cleanup.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { orAbort } from '@berth/lib/or-abort.ts';
import type { Store } from '../../store/store.ts';
import { deleteForgottenWorkers, deleteMachine, insertMachine, deleteLostMachines, listMachineIds } from './store.ts';

/** One browser in one machine, with its egress. */
export interface Machine {
  readonly id: string;
  readonly vm: Vm;
  readonly egress: EgressRoute;
  readonly browser: Browser;
  /** Monotonic time at which it became ready. */
  readonly readyMs: number;
}

/** Why an assigned machine was lost. */
export type MachineLoss = { reason: 'browser_exited' | 'vm_exited' | 'out_of_memory' | 'unresponsive'; detail: string };

/** Why a machine was lost. With process isolation the machine's exit is the browser's exit. */
export function toMachineLoss(exit: VmExit, isolation: Isolation): MachineLoss {
  if (exit.reason === 'out_of_memory') return { reason: 'out_of_memory', detail: exit.detail };
  return { reason: isolation === 'process' ? 'browser_exited' : 'vm_exited', detail: exit.detail };
}

/** Older pool machines are replaced, because an idle browser's memory grows. */
export const idleAgeMsMax = 30 * 60_000;

export interface BootDeps {
  store: Store;
  runtime: Runtime;
  gate: EgressGate;
  clock: Clock;
  log: Log;
  workerId: string;
  region: string;
}

interface BootOptions {
  id: string;
  kind: VmKind;
  createdAt: Date;
  /** null for a pool machine. */
  sessionId: string | null;
  /** Called before anything is passed on to or from its browser. */
  beforeMessage: () => void;
}

/** Boots a machine and attaches its browser. Its row is inserted first, and everything is rolled back on failure. */
export async function bootMachine(deps: BootDeps, options: BootOptions, signal: AbortSignal): Promise<Machine> {
  const { store, runtime, gate, clock, log, workerId, region } = deps;
  const { id, kind, createdAt, sessionId, beforeMessage } = options;
  const cleanup = new Cleanup();
  try {
    await insertMachine(store, { vmId: id, workerId, region, kind, sessionId, createdAt, runtime: runtime.name });
    cleanup.push('row', () => deleteMachine(store, id));
    const egress = gate.open(id);
    cleanup.push('egress', () => egress.close());
    const priority = sessionId === null ? 'background' : 'normal';
    const vm = await runtime.boot({ id, kind, acceptEgress: (connection) => egress.accept(connection), priority }, { signal });
    cleanup.push('machine', () => vm.destroy());
    const attached = attachBrowser(vm, {
      log,
      clock,
      egressFailureOf: (host, port) => egress.lastRefusal(host, port),
      remoteAddressOf: (host, port) => egress.remoteAddress(host, port),
      slowness: runtime.slowdown,
      beforeMessage,
    });
    const browser = await orAbort(attached, signal);
    // A waiting session gets its browser at once; its first page opens while the caller connects. A pool machine waits for both.
    if (sessionId === null) await orAbort(browser.tabReady(), signal);
    signal.throwIfAborted();
    return { id, vm, egress, browser, readyMs: clock.monotonicMs() };
  } catch (error) {
    for (const failure of await cleanup.run()) log.error({ err: failure, vm: id }, 'machine boot rollback failed');
    throw error;
  }
}

/** Ends a machine. Its row is deleted last. */
export async function endMachine(deps: BootDeps, machine: Machine): Promise<void> {
  machine.browser.detach();
  machine.egress.close();
  await machine.vm.destroy();
  await deleteMachine(deps.store, machine.id);
}

/** Long enough for operators to see these machines as failed. */
const lostSecondsMax = 600;
/** Operators see a lost worker for a day. */
const forgottenSecondsMax = 86_400;

/**
 * Ends orphans: machines that the runtime finds on this host and that have no
 * slot, left by a crashed worker or a failed release. The process identity is
 * verified, so that a process that reuses a pid is safe. Also deletes rows
 * without a machine, and eventually those of lost workers.
 */
export async function reapOrphans({ runtime, store, workerId, log }: BootDeps, slots: ReadonlyMap<string, unknown>): Promise<void> {
  const rows = await listMachineIds(store, workerId);
  const artifacts = await runtime.list();
  for (const artifact of artifacts) {
    if (slots.has(artifact.id)) continue;
    log.warn({ vm: artifact.id, pids: artifact.pids }, 'orphan machine found');
    await runtime.destroy(artifact);
    await deleteMachine(store, artifact.id);
  }
  const present = new Set(artifacts.map((artifact) => artifact.id));
  for (const id of rows) if (!slots.has(id) && !present.has(id)) await deleteMachine(store, id);
  await deleteLostMachines(store, workerId, lostSecondsMax);
  await deleteForgottenWorkers(store, forgottenSecondsMax);
}
