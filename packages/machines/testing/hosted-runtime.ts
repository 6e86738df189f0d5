/** A runtime of QemuVm without QEMU: agent and browser run as processes of this host. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { silentLog } from '@berth/lib/log.ts';
import { createMachineFolder, openMachinesFolder, removeMachineFolder } from '../src/host/machine-folder.ts';
import { vmKinds, type Runtime, type Vm, type VmSpec } from '../src/runtime.ts';
import { killAll, machineEnvironment, HostArtifacts } from '../src/host/artifacts.ts';
import { until } from './machines.ts';
import { GuestLink } from '../src/qemu/guest/link.ts';
import { QemuVm, type QemuHandle } from '../src/qemu/qemu-vm.ts';

export interface HostedRuntime extends Runtime {
  /** Folder with the files of a machine. */
  insideOf(id: string): string;
  boot(spec: VmSpec, options: { signal: AbortSignal }): Promise<QemuVm>;
}

export async function createHostedRuntime(path: string, chromiumPath: string): Promise<HostedRuntime> {
  const machinesFolder = await openMachinesFolder(path);
  const folders = new Map<string, string>();
  const running = new Map<string, Vm>();
  const hostArtifacts = new HostArtifacts({ machinesFolder, log: silentLog, running: (id) => running.get(id) });

  const start = (spec: VmSpec): { machine: QemuHandle; link: GuestLink } => {
    // Socket paths are limited to 108 bytes.
    const folder = mkdtempSync(join(tmpdir(), 'agent-'));
    folders.set(spec.id, folder);
    chmodSync(folder, 0o711);
    const fixture = fileURLToPath(new URL('./guest/agent-process.ts', import.meta.url));
    const env = { PATH: '/usr/bin:/bin', ...machineEnvironment(spec.id, machinesFolder) };
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
      await killAll(() => hostArtifacts.processesOf(spec.id));
      await exited;
      // A browser whose agent was killed exits on its own, and writes to its folder until then.
      await until(() => {
        rmSync(folder, { recursive: true, force: true });
        return !existsSync(folder);
      }, 5000);
    };
    const [control, egress] = [child.stdio[3] as Socket, child.stdio[4] as Socket];
    return {
      machine: { pid: child.pid ?? null, exited, kill },
      link: new GuestLink({ control, egress, acceptEgress: spec.acceptEgress, slowdown: 4 }),
    };
  };

  const boot = async (spec: VmSpec, { signal }: { signal: AbortSignal }): Promise<QemuVm> => {
    signal.throwIfAborted();
    await createMachineFolder(machinesFolder.dataDir, {
      id: spec.id,
      workerId: 'wrk_test',
      bootId: hostArtifacts.bootId,
      uid: 0,
      pid: null,
      startTime: null,
      workPath: null,
    });
    const { machine, link } = start(spec);
    try {
      await link.hello({ signal });
      await link.start(spec.kind === 'full_browser' ? 'full_browser' : 'headless', { signal });
      await link.identify({ signal });
      const cdp = await link.openDevtools();
      signal.throwIfAborted();
      const forget = async (): Promise<void> => {
        await removeMachineFolder(machinesFolder.dataDir, spec.id);
        running.delete(spec.id);
      };
      const findProcesses = (): ReturnType<HostArtifacts['processesOf']> => hostArtifacts.processesOf(spec.id);
      const fixed = { generation: 'test', runtime: 'qemu-tcg', outOfMemoryKills: () => Promise.resolve(0), prioritize: () => {} } as const;
      const vm = new QemuVm({ ...fixed, spec, machine, link, cdp, findProcesses, forget });
      running.set(spec.id, vm);
      return vm;
    } catch (error) {
      link.close();
      await machine.kill();
      await removeMachineFolder(machinesFolder.dataDir, spec.id);
      throw error;
    }
  };

  return {
    name: 'qemu-tcg',
    isolation: 'microvm',
    isJailed: true,
    kinds: vmKinds,
    browser: { version: 'Chromium 1', builtAt: new Date() },
    warnings: [],
    slowdown: 1,
    bootMsMax: 30_000,
    generation: () => 'test',
    templates: () => [],
    insideOf: (id) => folders.get(id) ?? '',
    boot,
    list: () => hostArtifacts.list(),
    destroy: (artifact) => hostArtifacts.destroy(artifact),
    close: () => Promise.resolve(),
  };
}
