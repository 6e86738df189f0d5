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

export interface BootOrder {
  id: string;
  kind: VmKind;
  createdAt: Date;
  /** null for a machine of the pool. */
  sessionId: string | null;
}

/** Starts a machine with its browser attached: anchored in the store first, and with nothing left behind when it fails. */
export async function bootMachine(deps: BootDeps, order: BootOrder, signal: AbortSignal): Promise<Machine> {
  const { store, runtime, gate, clock, log, workerId, region } = deps;
  const { id, kind, createdAt, sessionId } = order;
  const cleanup = new Cleanup();
  try {
    await insertMachine(store, { vmId: id, workerId, region, kind, sessionId, createdAt, runtime: runtime.name });
    cleanup.push('anchor', () => deleteMachine(store, id));
    const way = gate.open(id);
    cleanup.push('egress', () => way.close());
    const priority = sessionId === null ? 'background' : 'normal';
    const vm = await runtime.boot({ id, kind, acceptEgress: (connection) => way.accept(connection), priority }, { signal });
    cleanup.push('machine', () => vm.destroy());
    const attached = attachBrowser(vm, { log, clock, egressRefusal: (host) => way.lastRefusal(host), slowness: runtime.slowness });
    const browser = await orAbort(attached, signal);
    // A session that waits gets its browser at once, and its first page while the caller connects; a machine of the pool is whole.
    if (sessionId === null) await orAbort(browser.tabReady(), signal);
    signal.throwIfAborted();
    return { id, kind, vm, way, browser, readyMs: clock.monotonicMs() };
  } catch (error) {
    for (const failure of await cleanup.run()) log.error({ failure, vm: id }, 'undo failed');
    throw error;
  }
}

/** Ends a machine and everything of it; its anchor goes last. */
export async function endMachine(deps: BootDeps, machine: Machine): Promise<void> {
  machine.browser.detach();
  machine.way.close();
  await machine.vm.destroy();
  await deleteMachine(deps.store, machine.id);
}
