/**
 * Browsers in virtual machines, one in each, cloned from templates: the door of
 * this folder.
 *
 * A machine has no network card and no folder of the host's. What it says
 * comes over two ports, and is the word of a stranger (`guest-link.ts`). What
 * runs it stands in a jail of its own (`command.ts`).
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '../../lib/clock.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { MachineCgroups } from '../host/cgroup.ts';
import { openMachinesPlace } from '../host/machine-folder.ts';
import type { Runtime, TemplateState, Vm, VmKind, VmOrder, VmTrace } from '../runtime.ts';
import { Traces } from '../host/artifacts.ts';
import { isRoot, newUid } from '../host/users.ts';
import { bootMachine } from './boot.ts';
import type { BootPlace } from './boot.ts';
import { versionCommand } from './command.ts';
import type { Accelerator, MachineShape } from './command.ts';
import { findImage } from './image.ts';
import { kvmGroup } from './kvm/device.ts';
import type { QemuVm } from './qemu-vm.ts';
import { buildTemplate } from './templates/build.ts';
import { TemplateStore } from './templates/store.ts';
import { templateFacts, templateKinds } from './templates/template.ts';
import type { TemplateKind } from './templates/template.ts';
import { Templates } from './templates/templates.ts';
import type { Loan } from './templates/templates.ts';

export { templateKinds };

/** This host does not let virtual machines be started as they must be. The message tells the operator why. */
export class QemuUnusable extends Error {}

export interface QemuRuntimeOptions {
  /** Machines' folders are made in `<dataDir>/machines`. */
  dataDir: string;
  workerId: string;
  /** Where `npm run image` has put its images; templates are kept beside each. */
  imagesDir: string;
  qemuPath: string;
  memoryMb: number;
  cpus: number;
  accelerator: Accelerator;
  /** Why KVM does not work here, for those who run the service. */
  whyEmulated?: string;
  log: Log;
  clock?: Clock;
}

/** A page takes thirty times as long under emulation; what is judged by it has some slack already. */
const slownessOf: Record<Accelerator, number> = { kvm: 1, tcg: 16 };
const bootMsMaxOf: Record<Accelerator, number> = { kvm: 30_000, tcg: 120_000 };
/** An idle host takes 5 s, and 60 s under emulation. */
const buildMsMaxOf: Record<Accelerator, number> = { kvm: 40_000, tcg: 300_000 };
/** Of the time for a boot: a clone that hangs leaves the rest to another way. */
const cloneShare = 2 / 3;

const versionMsMax = 10_000;

const emulationWarning = (why = 'it was asked for'): string =>
  `Virtual machines are emulated (${why}): everything works, and pages take some thirty times as long. That is for trying things out; sessions of others belong on a host with KVM.`;
const userWarning = 'Not started as root: all virtual machines share the user of this service instead of having one each.';

/** Throws ImageUnusable, or QemuUnusable. Templates are made ready in the background from now on; a machine that is asked for before waits for its own. */
export async function createQemuRuntime(options: QemuRuntimeOptions): Promise<Runtime> {
  const { accelerator, log } = options;
  const place = await openMachinesPlace(options.dataDir);
  const shape = await machineShape(options);
  const running = new Map<string, QemuVm>();
  const cgroups = await MachineCgroups.open(`berth-${place.dataDigest}`, log);
  const traces = new Traces({ place, log, running: (id) => running.get(id) });
  const templates = await openTemplates(options, shape);
  const host: BootPlace = { place, workerId: options.workerId, shape, slowness: slownessOf[accelerator], cgroups, traces, log };
  const warnings = [...(accelerator === 'tcg' ? [emulationWarning(options.whyEmulated)] : []), ...(isRoot() ? [] : [userWarning])];
  const runtime = new QemuRuntime({ host, templates, running, warnings, clock: options.clock ?? systemClock });
  for (const warning of runtime.warnings) log.warn({ warning }, 'virtual machines are not what they could be');
  void templates.makeAhead();
  return runtime;
}

export interface PreparedTemplate {
  kind: TemplateKind;
  seconds: number;
  /** What it takes, and not how large its machines' memory is. */
  memoryBytes: number;
  stateBytes: number;
}

/** Loads or builds the templates of all kinds, and leaves them on disk. One that cannot be made is missing in the answer: the log says why. */
export async function prepareTemplates(options: Omit<QemuRuntimeOptions, 'dataDir' | 'workerId'>): Promise<PreparedTemplate[]> {
  const templates = await openTemplates(options, await machineShape(options));
  const made: PreparedTemplate[] = [];
  try {
    for (const kind of templateKinds) {
      const startedMs = performance.now();
      const loan = await templates.lend(kind, new AbortController().signal);
      if (!loan) continue;
      const [memory, state] = await Promise.all([loan.template.memory.handle.stat(), loan.template.state.handle.stat()]);
      made.push({ kind, seconds: (performance.now() - startedMs) / 1000, memoryBytes: memory.blocks * 512, stateBytes: state.size });
      loan.release();
    }
    return made;
  } finally {
    await templates.close();
  }
}

type ShapeOptions = Pick<QemuRuntimeOptions, 'imagesDir' | 'qemuPath' | 'memoryMb' | 'cpus' | 'accelerator'>;

async function machineShape({ imagesDir, qemuPath, memoryMb, cpus, accelerator }: ShapeOptions): Promise<MachineShape> {
  return {
    qemuPath,
    memoryMb,
    cpus,
    accelerator,
    image: await findImage(imagesDir),
    kvmGroup: accelerator === 'kvm' ? await kvmGroup() : null,
  };
}

async function openTemplates(
  { accelerator, log, clock = systemClock }: Pick<QemuRuntimeOptions, 'accelerator' | 'log' | 'clock'>,
  shape: MachineShape,
): Promise<Templates> {
  const version = await qemuVersion(shape);
  const slowness = slownessOf[accelerator];
  return new Templates({
    memoryBytes: shape.memoryMb * 1024 ** 2,
    facts: (kind) => templateFacts(shape, kind, version),
    build: (facts, { signal }) => buildTemplate({ shape, slowness, log }, facts, { signal }),
    buildMsMax: buildMsMaxOf[accelerator],
    store: new TemplateStore(join(shape.image.folder, 'templates')),
    clock,
    log,
  });
}

/** As the program tells it, with the distribution's own: a patch may change what a state means. Throws QemuUnusable. */
async function qemuVersion(shape: MachineShape): Promise<string> {
  const { program, args, env } = versionCommand({ shape, uid: newUid() });
  try {
    const { stdout } = await promisify(execFile)(program, args, { env, timeout: versionMsMax });
    return stdout.split('\n')[0]?.trim() ?? '';
  } catch (cause) {
    const { code, stderr, message } = cause as Error & { code?: unknown; stderr?: string };
    const why = code === 'ENOENT' ? `there is no ${program} (Debian has it in bubblewrap)` : stderr?.trim() || message;
    throw new QemuUnusable(`QEMU cannot be started in a jail: ${why}`, { cause });
  }
}

interface Parts {
  host: BootPlace;
  templates: Templates;
  running: Map<string, QemuVm>;
  /** What does not change as long as this runtime is there. */
  warnings: string[];
  clock: Clock;
}

class QemuRuntime implements Runtime {
  readonly name: 'qemu-kvm' | 'qemu-tcg';
  readonly isolation = 'microvm';
  readonly slowness: number;
  readonly bootMsMax: number;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    const { accelerator } = parts.host.shape;
    this.#parts = parts;
    this.name = accelerator === 'kvm' ? 'qemu-kvm' : 'qemu-tcg';
    this.slowness = parts.host.slowness;
    this.bootMsMax = bootMsMaxOf[accelerator];
  }

  get warnings(): readonly string[] {
    const cold = this.templates().filter(({ way }) => way === 'cold');
    return [...this.#parts.warnings, ...cold.map(({ kind, note }) => `Machines of the kind ${kind} take longer to start: ${note}.`)];
  }

  async boot(order: VmOrder, { signal }: { signal: AbortSignal }): Promise<Vm> {
    const { host, templates } = this.#parts;
    for (;;) {
      const loan = await templates.lend(order.kind, signal);
      try {
        const vm = await this.#start(order, loan, signal);
        loan?.worked();
        return vm;
      } catch (error) {
        if (!loan) throw error;
        if (signal.aborted) {
          loan.release();
          throw error;
        }
        loan.failed();
        host.log.warn({ vm: order.id, kind: order.kind, error }, 'a clone did not start and was thrown away: another one is');
      }
    }
  }

  generation(kind: VmKind): string {
    const { image, accelerator } = this.#parts.host.shape;
    return `${image.id}-${accelerator}-${this.#parts.templates.key(kind)}`;
  }

  templates(): readonly TemplateState[] {
    return this.#parts.templates.states();
  }

  list(): Promise<VmTrace[]> {
    return this.#parts.host.traces.list();
  }

  async destroy(trace: VmTrace): Promise<void> {
    const { traces, cgroups } = this.#parts.host;
    await traces.destroy(trace);
    if (!(await traces.list()).some(({ id }) => id === trace.id)) await cgroups?.remove(trace.id);
  }

  async close(): Promise<void> {
    await this.#parts.templates.close();
    await this.#parts.host.cgroups?.close();
  }

  async #start(order: VmOrder, loan: Loan | null, signal: AbortSignal): Promise<Vm> {
    const { host, running, clock } = this.#parts;
    const startedMs = clock.monotonicMs();
    const vm = await bootMachine(host, {
      order,
      template: loan?.template ?? null,
      generation: this.generation(order.kind),
      signal: loan ? AbortSignal.any([signal, AbortSignal.timeout(this.bootMsMax * cloneShare)]) : signal,
      onGone: () => running.delete(order.id),
    });
    running.set(order.id, vm);
    host.log.debug(
      { vm: order.id, pid: vm.pid, way: loan ? 'clone' : 'cold', ms: Math.round(clock.monotonicMs() - startedMs) },
      'machine booted',
    );
    return vm;
  }
}
