/** One machine for one session: cloned from a template, or booted from the image. Whatever fails on the way leaves nothing behind. */
import { readOutOfMemoryKills } from '@berth/guest';
import { Cleanup } from '../../lib/cleanup.ts';
import type { Log } from '../../lib/log.ts';
import type { MachineCgroup, MachineCgroups } from '../host/cgroup.ts';
import { BootFailed } from '../process/first-answer.ts';
import { niceness, readProcess, setSessionNice } from '../host/processes.ts';
import type { HostProcess } from '../host/processes.ts';
import { createMachineFolder, removeMachineFolder, writeMarker } from '../host/machine-folder.ts';
import type { MachineMarker, MachinesPlace } from '../host/machine-folder.ts';
import type { VmOrder } from '../runtime.ts';
import { killAll, machineEnvironment } from '../host/artifacts.ts';
import type { Traces } from '../host/artifacts.ts';
import { newUid } from '../host/users.ts';
import { awaitBrowser, loadState, spawnMachine, unlessOver } from './clone.ts';
import { translationMb } from './command.ts';
import type { MachineShape } from './command.ts';
import { GuestLink } from './guest/link.ts';
import type { QemuProcess } from './qemu-process.ts';
import { QemuVm } from './qemu-vm.ts';
import { templateKind } from './templates/template.ts';
import type { Template } from './templates/template.ts';

export interface BootPlace {
  place: MachinesPlace;
  workerId: string;
  shape: MachineShape;
  slowness: number;
  cgroups: MachineCgroups | null;
  traces: Traces;
  log: Log;
}

export interface BootOrder {
  order: VmOrder;
  /** null boots from the image. */
  template: Template | null;
  generation: string;
  /** The machine is no more: nothing of it is left on this host. */
  onGone: () => void;
  signal: AbortSignal;
}

/** QEMU itself, with its devices, its threads and what it buffers. */
const overheadMb = 192;
/** For the disks QEMU has up to 64 threads of its own; the jail takes some. */
const processesMax = 128;

/** Throws the signal's reason, or BootFailed. */
export async function bootMachine(host: BootPlace, boot: BootOrder): Promise<QemuVm> {
  const { order, signal } = boot;
  signal.throwIfAborted();
  const undo = new Cleanup();
  try {
    return await start(host, boot, undo);
  } catch (cause) {
    for (const failure of await undo.run())
      host.log.error({ vm: order.id, error: failure }, 'something of a machine that did not start is left');
    signal.throwIfAborted();
    throw new BootFailed(`machine ${order.id} did not start`, { cause });
  }
}

async function start(host: BootPlace, boot: BootOrder, undo: Cleanup): Promise<QemuVm> {
  const { order, template, signal } = boot;
  const marker = await anchor(host, order.id, undo);
  const cgroup = await bound(host, order.id, undo);
  const findProcesses = (): HostProcess[] => host.traces.processesOf(order.id);
  const startedMs = performance.now();
  const machine = await spawnMachine({ shape: host.shape, uid: marker.uid, marks: machineEnvironment(order.id, host.place) }, template);
  undo.push('machine', () => machine.kill().then(() => killAll(findProcesses)));
  const link = new GuestLink({
    control: machine.control,
    egress: machine.egress,
    acceptEgress: order.acceptEgress,
    slowness: host.slowness,
  });
  undo.push('link', () => link.close());
  const start = template ? null : templateKind(order.kind);
  const runs =
    template &&
    loadState(machine, { signal }).then(() => host.log.debug({ vm: order.id, ms: performance.now() - startedMs }, 'a clone runs'));
  const beginning = Promise.all([prepare(host, { order, marker, machine, cgroup }), runs]);
  const answer = beginning.then(() => awaitBrowser(link, { start, signal }));
  const cdp = await unlessOver(answer, machine, signal).catch(async (cause: unknown) => {
    throw new Error(`its last words: ${await machine.lastWords()}`, { cause });
  });
  return new QemuVm({
    order,
    generation: boot.generation,
    runtime: host.shape.accelerator === 'kvm' ? 'qemu-kvm' : 'qemu-tcg',
    machine,
    link,
    cdp,
    outOfMemoryKills: killCounter(host.cgroups, cgroup),
    findProcesses,
    forget: async () => {
      // What is left of a group holds no process, and is swept away by the next start.
      await cgroup?.remove().catch((error: unknown) => host.log.warn({ vm: order.id, error }, 'the control group of a machine is left'));
      await removeMachineFolder(host.place.dataDir, order.id);
      boot.onGone();
    },
    prioritize: () => void prioritize(machine, cgroup),
  });
}

async function anchor({ place, workerId, traces }: BootPlace, id: string, undo: Cleanup): Promise<MachineMarker> {
  const marker: MachineMarker = { id, workerId, bootId: traces.bootId, uid: newUid(), pid: null, startTime: null, workPath: null };
  await createMachineFolder(place.dataDir, marker);
  undo.push('folder', () => removeMachineFolder(place.dataDir, id));
  return marker;
}

async function bound({ cgroups, shape }: BootPlace, id: string, undo: Cleanup): Promise<MachineCgroup | null> {
  const translation = shape.accelerator === 'kvm' ? 0 : translationMb;
  const limits = {
    memoryBytes: (shape.memoryMb + translation + overheadMb) * 1024 ** 2,
    cpus: shape.cpus + 1,
    processes: processesMax + shape.cpus,
  };
  const cgroup = (await cgroups?.create(id, limits)) ?? null;
  if (cgroup) undo.push('control group', () => cgroup.remove());
  return cgroup;
}

/** By the machine's own group, or else by what has happened on this host since, be it to another. */
function killCounter(cgroups: MachineCgroups | null, cgroup: MachineCgroup | null): () => Promise<number> {
  if (cgroup && cgroups?.controllers.includes('memory')) return () => cgroup.oomKills();
  const before = readOutOfMemoryKills();
  return () => Promise.resolve(readOutOfMemoryKills() - before);
}

interface Started {
  order: VmOrder;
  marker: MachineMarker;
  machine: QemuProcess;
  cgroup: MachineCgroup | null;
}

/** Beside the machine's own start: nothing of this takes as long as that does. */
async function prepare({ place }: BootPlace, { order, marker, machine, cgroup }: Started): Promise<void> {
  const { pid } = machine;
  if (pid === null) return;
  if (order.priority === 'background') setSessionNice(pid, niceness.background);
  await cgroup?.join(pid);
  if (order.priority === 'background') await cgroup?.weigh('background');
  await writeMarker(place.dataDir, { ...marker, pid, startTime: readProcess(pid)?.startTime ?? null });
}

/** Where the kernel shares out the processor by control groups it asks for nothing else. */
async function prioritize({ pid }: QemuProcess, cgroup: MachineCgroup | null): Promise<void> {
  if (pid !== null) setSessionNice(pid, niceness.normal);
  // A group that is gone is that of a machine that has ended.
  await cgroup?.weigh('normal').catch(() => false);
}
