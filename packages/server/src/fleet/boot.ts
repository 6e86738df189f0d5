import { attachBrowser } from '../browser/browser.ts';
import type { EgressGate } from '../egress/egress.ts';
import { Cleanup } from '../lib/cleanup.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { orAbort } from '../lib/or-abort.ts';
import type { Runtime, VmKind } from '../runtime/runtime.ts';
import type { Store } from '../store/store.ts';
import type { Machine } from './machine.ts';
import { deleteMachine, insertMachine } from './store.ts';

export interface BootDeps {
  store: Store;
  runtime: Runtime;
  gate: EgressGate;
  clock: Clock;
  log: Log;
  workerId: string;
  region: string;
}

export interface BootOptions {
  id: string;
  kind: VmKind;
  createdAt: Date;
  /** null for a pool machine. */
  sessionId: string | null;
}

/** Boots a machine and attaches its browser. Its row is inserted first, and everything is rolled back on failure. */
export async function bootMachine(deps: BootDeps, options: BootOptions, signal: AbortSignal): Promise<Machine> {
  const { store, runtime, gate, clock, log, workerId, region } = deps;
  const { id, kind, createdAt, sessionId } = options;
  const cleanup = new Cleanup();
  try {
    await insertMachine(store, { vmId: id, workerId, region, kind, sessionId, createdAt, runtime: runtime.name });
    cleanup.push('row', () => deleteMachine(store, id));
    const egress = gate.open(id);
    cleanup.push('egress', () => egress.close());
    const priority = sessionId === null ? 'background' : 'normal';
    const vm = await runtime.boot({ id, kind, acceptEgress: (connection) => egress.accept(connection), priority }, { signal });
    cleanup.push('machine', () => vm.destroy());
    const attached = attachBrowser(vm, { log, clock, egressRefusal: (host) => egress.lastRefusal(host), slowness: runtime.slowdown });
    const browser = await orAbort(attached, signal);
    // A waiting session gets its browser at once; its first page opens while the caller connects. A pool machine waits for both.
    if (sessionId === null) await orAbort(browser.tabReady(), signal);
    signal.throwIfAborted();
    return { id, kind, vm, egress, browser, readyMs: clock.monotonicMs() };
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
