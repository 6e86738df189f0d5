/** QemuVm without QEMU: its machines are the agent and a browser as processes of this host. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { silentLog } from '../../lib/log.ts';
import { createMachineFolder, openMachinesPlace, removeMachineFolder } from '../host/machine-folder.ts';
import type { Runtime, Vm, VmOrder } from '../runtime.ts';
import { killAll, machineEnvironment, Traces } from '../host/artifacts.ts';
import { until } from '../testing/machines.ts';
import { GuestLink } from './guest/link.ts';
import { QemuVm } from './qemu-vm.ts';
import type { QemuHandle } from './qemu-vm.ts';

export interface HostedRuntime extends Runtime {
  /** The folder that a machine's own files are in. */
  insideOf(id: string): string;
  boot(order: VmOrder, options: { signal: AbortSignal }): Promise<QemuVm>;
}

export async function createHostedRuntime(path: string, chromiumPath: string): Promise<HostedRuntime> {
  const place = await openMachinesPlace(path);
  const folders = new Map<string, string>();
  const running = new Map<string, Vm>();
  const traces = new Traces({ place, log: silentLog, running: (id) => running.get(id) });

  const start = (order: VmOrder): { machine: QemuHandle; link: GuestLink } => {
    // Sockets of browsers have names of at most 108 bytes, folders and all.
    const folder = mkdtempSync(join(tmpdir(), 'agent-'));
    folders.set(order.id, folder);
    chmodSync(folder, 0o711);
    const fixture = fileURLToPath(new URL('./guest/agent-process.fixture.ts', import.meta.url));
    const env = { PATH: '/usr/bin:/bin', ...machineEnvironment(order.id, place) };
    const child = spawn(process.execPath, [fixture, chromiumPath, folder], {
      env,
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'pipe'],
    });
    const exited = once(child, 'exit').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      detail: 'the machine ended',
    }));
    const kill = async (): Promise<void> => {
      await killAll(() => traces.processesOf(order.id));
      await exited;
      // A browser whose agent was killed ends by itself, and writes to its folder until then.
      await until(() => {
        rmSync(folder, { recursive: true, force: true });
        return !existsSync(folder);
      }, 5000);
    };
    const [control, egress] = [child.stdio[3] as Socket, child.stdio[4] as Socket];
    return {
      machine: { pid: child.pid ?? null, exited, kill },
      link: new GuestLink({ control, egress, acceptEgress: order.acceptEgress, slowness: 4 }),
    };
  };

  const boot = async (order: VmOrder, { signal }: { signal: AbortSignal }): Promise<QemuVm> => {
    signal.throwIfAborted();
    await createMachineFolder(place.dataDir, {
      id: order.id,
      workerId: 'wrk_test',
      bootId: traces.bootId,
      uid: 0,
      pid: null,
      startTime: null,
      workPath: null,
    });
    const { machine, link } = start(order);
    try {
      await link.hello({ signal });
      await link.start(order.kind === 'full_browser' ? 'full_browser' : 'headless', { signal });
      await link.identify({ signal });
      const cdp = await link.openDevtools();
      signal.throwIfAborted();
      const forget = async (): Promise<void> => {
        await removeMachineFolder(place.dataDir, order.id);
        running.delete(order.id);
      };
      const findProcesses = (): ReturnType<Traces['processesOf']> => traces.processesOf(order.id);
      const untold = { generation: 'test', runtime: 'qemu-tcg', outOfMemoryKills: () => Promise.resolve(0), prioritize: () => {} } as const;
      const vm = new QemuVm({ ...untold, order, machine, link, cdp, findProcesses, forget });
      running.set(order.id, vm);
      return vm;
    } catch (error) {
      link.close();
      await machine.kill();
      await removeMachineFolder(place.dataDir, order.id);
      throw error;
    }
  };

  return {
    name: 'qemu-tcg',
    isolation: 'microvm',
    warnings: [],
    slowness: 1,
    bootMsMax: 30_000,
    generation: () => 'test',
    templates: () => [],
    insideOf: (id) => folders.get(id) ?? '',
    boot,
    list: () => traces.list(),
    destroy: (trace) => traces.destroy(trace),
    close: () => Promise.resolve(),
  };
}
