/** Boots one machine: cloned from a template, or cold from the image. A failed boot leaves nothing behind. */
import { Cleanup } from '@berth/lib/cleanup.ts';
import type { Log } from '@berth/lib/log.ts';
import { killCounter, type MachineCgroup, type MachineCgroups } from '../host/cgroup.ts';
import { BootError } from '../process/devtools-ready.ts';
import { niceness, readProcess, setSessionNice, type HostProcess } from '../host/processes.ts';
import { createMachineFolder, removeMachineFolder, writeMarker, type MachineMarker, type MachinesFolder } from '../host/machine-folder.ts';
import type { VmSpec } from '../runtime.ts';
import { killAll, machineEnvironment, type HostArtifacts } from '../host/artifacts.ts';
import { newUid } from '../host/users.ts';
import { connectBrowser, loadState, spawnMachine, raceExit } from './clone.ts';
import { translationMb, type MachineShape } from './command.ts';
import { GuestLink } from './guest/link.ts';
import type { QemuProcess } from './qemu-process.ts';
import { QemuVm } from './qemu-vm.ts';
import { templateKind, type Template } from './templates/template.ts';

export interface BootDeps {
  machinesFolder: MachinesFolder;
  workerId: string;
  shape: MachineShape;
  slowdown: number;
  cgroups: MachineCgroups | null;
  hostArtifacts: HostArtifacts;
  log: Log;
}

interface BootOptions {
  spec: VmSpec;
  /** null for a cold boot from the image. */
  template: Template | null;
  generation: string;
  /** Called when nothing of the machine is left on this host. */
  onDestroyed: () => void;
  signal: AbortSignal;
}

/** Memory of QEMU itself: devices, threads and buffers. */
const overheadMb = 192;
/** QEMU uses up to 64 threads for disks; the jail takes some. */
const processesMax = 128;

/** @throws the signal's reason, or BootError */
export async function bootMachine(host: BootDeps, boot: BootOptions): Promise<QemuVm> {
  const { spec, signal } = boot;
  signal.throwIfAborted();
  const undo = new Cleanup();
  try {
    return await start(host, boot, undo);
  } catch (cause) {
    for (const failure of await undo.run()) host.log.error({ vm: spec.id, err: failure }, 'cleanup of a failed boot incomplete');
    signal.throwIfAborted();
    throw new BootError(`machine ${spec.id} did not start`, { cause });
  }
}

async function start(host: BootDeps, boot: BootOptions, undo: Cleanup): Promise<QemuVm> {
  const { spec, template, signal } = boot;
  const marker = await anchor(host, spec.id, undo);
  const cgroup = await createCgroup(host, spec.id, undo);
  const findProcesses = (): HostProcess[] => host.hostArtifacts.processesOf(spec.id);
  const startedMs = performance.now();
  const machine = await spawnMachine(
    { shape: host.shape, uid: marker.uid, environment: machineEnvironment(spec.id, host.machinesFolder) },
    template,
  );
  undo.push('machine', () => machine.kill().then(() => killAll(findProcesses)));
  const link = new GuestLink({
    control: machine.control,
    egress: machine.egress,
    acceptEgress: spec.acceptEgress,
    slowdown: host.slowdown,
  });
  undo.push('link', () => link.close());
  const start = template ? null : templateKind(spec.kind);
  const runs =
    template &&
    loadState(machine, { signal }).then(() => host.log.debug({ vm: spec.id, ms: performance.now() - startedMs }, 'clone running'));
  const beginning = Promise.all([prepare(host, { spec, marker, machine, cgroup }), runs]);
  const answer = beginning.then(() => connectBrowser(link, { start, signal }));
  const cdp = await raceExit(answer, machine, signal).catch(async (cause: unknown) => {
    throw new Error(`last output: ${await machine.readTail()}`, { cause });
  });
  return new QemuVm({
    spec,
    generation: boot.generation,
    runtime: host.shape.accelerator === 'kvm' ? 'qemu-kvm' : 'qemu-tcg',
    machine,
    link,
    cdp,
    outOfMemoryKills: killCounter(cgroup),
    findProcesses,
    forget: async () => {
      // A group that is left is empty, and the next start removes it.
      await cgroup?.remove().catch((error: unknown) => host.log.warn({ vm: spec.id, err: error }, 'control group not removed'));
      await removeMachineFolder(host.machinesFolder.dataDir, spec.id);
      boot.onDestroyed();
    },
    prioritize: () => void prioritize(machine, cgroup),
  });
}

async function anchor({ machinesFolder, workerId, hostArtifacts }: BootDeps, id: string, undo: Cleanup): Promise<MachineMarker> {
  const marker: MachineMarker = { id, workerId, bootId: hostArtifacts.bootId, uid: newUid(), pid: null, startTime: null, workPath: null };
  await createMachineFolder(machinesFolder.dataDir, marker);
  undo.push('folder', () => removeMachineFolder(machinesFolder.dataDir, id));
  return marker;
}

async function createCgroup({ cgroups, shape }: BootDeps, id: string, undo: Cleanup): Promise<MachineCgroup | null> {
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

interface Started {
  spec: VmSpec;
  marker: MachineMarker;
  machine: QemuProcess;
  cgroup: MachineCgroup | null;
}

/** Runs in parallel with the start of the machine, which takes longer. */
async function prepare({ machinesFolder }: BootDeps, { spec, marker, machine, cgroup }: Started): Promise<void> {
  const { pid } = machine;
  if (pid === null) return;
  if (spec.priority === 'background') setSessionNice(pid, niceness.background);
  await cgroup?.join(pid);
  if (spec.priority === 'background') await cgroup?.setWeight('background');
  await writeMarker(machinesFolder.dataDir, { ...marker, pid, startTime: readProcess(pid)?.startTime ?? null });
}

/** Sets both: where cpu control groups are in use, the kernel ignores autogroup niceness. */
async function prioritize({ pid }: QemuProcess, cgroup: MachineCgroup | null): Promise<void> {
  if (pid !== null) setSessionNice(pid, niceness.normal);
  // The group is missing if the machine has ended.
  await cgroup?.setWeight('normal').catch(() => false);
}
