/**
 * Browsers in virtual machines, one each, cloned from templates. Entry point of
 * this folder.
 *
 * A machine has no network card and no shared folder. It communicates over two
 * ports, whose content is untrusted (`guest/link.ts`). QEMU itself runs in a jail
 * (`command.ts`).
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Deadline } from '@berth/lib/deadline.ts';
import { type Clock, systemClock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { Browser } from '../host/browsers.ts';
import { MachineCgroups } from '../host/cgroup.ts';
import { openMachinesFolder } from '../host/machine-folder.ts';
import { vmKinds, type Runtime, type TemplateState, type Vm, type VmKind, type VmSpec, type VmArtifact } from '../runtime.ts';
import { HostArtifacts } from '../host/artifacts.ts';
import { isRoot, newUid } from '../host/users.ts';
import { bootMachine, type BootDeps } from './boot.ts';
import { versionCommand, type Accelerator, type MachineShape } from './command.ts';
import { findImage } from './image.ts';
import { kvmGroup } from './kvm/check.ts';
import type { QemuVm } from './qemu-vm.ts';
import { buildTemplate } from './templates/build.ts';
import { TemplateStore } from './templates/store.ts';
import { templateInfo, templateKinds, type TemplateKind } from './templates/template.ts';
import { Templates, type TemplateLease } from './templates/templates.ts';

export { templateKinds };

/** This host cannot run QEMU in a jail. The message says why. */
class QemuUnusableError extends Error {}

export interface QemuRuntimeOptions {
  /** Machines' folders are made in `<dataDir>/machines`. */
  dataDir: string;
  workerId: string;
  /** Folder of the images built by `npm run image`. Templates are stored beside each image. */
  imagesDir: string;
  qemuPath: string;
  memoryMb: number;
  cpus: number;
  accelerator: Accelerator;
  /** Why KVM does not work here, for the operator. */
  whyEmulated?: string;
  log: Log;
  clock?: Clock;
}

/** Pages take thirty times as long under emulation; the timeouts have some slack already. */
const slowdownOf: Record<Accelerator, number> = { kvm: 1, tcg: 16 };
const bootMsMaxOf: Record<Accelerator, number> = { kvm: 30_000, tcg: 120_000 };
/** An idle host takes 5 s with KVM and 80 s under emulation; one that emulates at a third of that speed, beside other work, takes eight minutes. */
const buildMsMaxOf: Record<Accelerator, number> = { kvm: 40_000, tcg: 600_000 };
/** Share of the boot timeout for a clone. If it hangs, the rest is left for another attempt. */
const cloneShare = 2 / 3;

const versionMsMax = 10_000;

const emulationWarning = (why = 'selected by configuration'): string =>
  `Virtual machines are emulated (${why}): everything works, but pages take about thirty times as long. Use a host with KVM in production.`;
const userWarning = 'Not started as root: all virtual machines share the user of this service.';

/** Creates the runtime and prepares templates in the background. A boot waits for its template. @throws ImageUnusableError, QemuUnusableError */
export async function createQemuRuntime(options: QemuRuntimeOptions): Promise<Runtime> {
  const { accelerator, log } = options;
  const machinesFolder = await openMachinesFolder(options.dataDir);
  const shape = await machineShape(options);
  const running = new Map<string, QemuVm>();
  const cgroups = await MachineCgroups.open(`berth-${machinesFolder.dataDigest}`, log);
  const hostArtifacts = new HostArtifacts({ machinesFolder, log, running: (id) => running.get(id) });
  const templates = await openTemplates(options, shape);
  const host: BootDeps = {
    machinesFolder,
    workerId: options.workerId,
    shape,
    slowdown: slowdownOf[accelerator],
    cgroups,
    hostArtifacts,
    log,
  };
  const warnings = [...(accelerator === 'tcg' ? [emulationWarning(options.whyEmulated)] : []), ...(isRoot() ? [] : [userWarning])];
  const browser = { version: `Chromium ${shape.image.chromiumVersion}`, builtAt: shape.image.createdAt };
  const runtime = new QemuRuntime({ browser, host, templates, running, warnings, clock: options.clock ?? systemClock });
  for (const warning of runtime.warnings) log.warn({ warning }, 'virtual machines degraded');
  void templates.prepareAll();
  return runtime;
}

interface PreparedTemplate {
  kind: TemplateKind;
  seconds: number;
  /** Allocated bytes, not the size of the guest memory. */
  memoryBytes: number;
  stateBytes: number;
}

/** Loads or builds the templates of all kinds and stores them on disk. Failed ones are missing in the result; the log says why. */
export async function prepareTemplates(options: Omit<QemuRuntimeOptions, 'dataDir' | 'workerId'>): Promise<PreparedTemplate[]> {
  const templates = await openTemplates(options, await machineShape(options));
  const made: PreparedTemplate[] = [];
  try {
    for (const kind of templateKinds) {
      const startedMs = performance.now();
      const lease = await templates.lease(kind, new AbortController().signal);
      if (!lease) continue;
      const [memory, state] = await Promise.all([lease.template.memory.handle.stat(), lease.template.state.handle.stat()]);
      made.push({ kind, seconds: (performance.now() - startedMs) / 1000, memoryBytes: memory.blocks * 512, stateBytes: state.size });
      lease.release();
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
  const slowdown = slowdownOf[accelerator];
  return new Templates({
    memoryBytes: shape.memoryMb * 1024 ** 2,
    info: (kind) => templateInfo(shape, kind, version),
    build: (info, { signal }) => buildTemplate({ shape, slowdown, log }, info, { signal }),
    buildMsMax: buildMsMaxOf[accelerator],
    store: new TemplateStore(join(shape.image.folder, 'templates')),
    clock,
    log,
  });
}

/** Returns the version string including the distribution's, as a patch may change the state format. @throws QemuUnusableError */
async function qemuVersion(shape: MachineShape): Promise<string> {
  const { program, args, env } = versionCommand({ shape, uid: newUid() });
  try {
    const { stdout } = await promisify(execFile)(program, args, { env, timeout: versionMsMax });
    return stdout.split('\n')[0]?.trim() ?? '';
  } catch (cause) {
    const { code, stderr, message } = cause as Error & { code?: unknown; stderr?: string };
    const why = code === 'ENOENT' ? `there is no ${program} (Debian has it in bubblewrap)` : stderr?.trim() || message;
    throw new QemuUnusableError(`QEMU cannot be started in a jail: ${why}`, { cause });
  }
}

interface QemuRuntimeDeps {
  browser: Browser;
  host: BootDeps;
  templates: Templates;
  running: Map<string, QemuVm>;
  /** Warnings that do not change. */
  warnings: string[];
  clock: Clock;
}

class QemuRuntime implements Runtime {
  readonly name: 'qemu-kvm' | 'qemu-tcg';
  readonly isolation = 'microvm';
  readonly isJailed = true;
  readonly kinds = vmKinds;
  readonly browser: Browser;
  readonly slowdown: number;
  readonly bootMsMax: number;
  readonly #deps: QemuRuntimeDeps;

  constructor(deps: QemuRuntimeDeps) {
    const { accelerator } = deps.host.shape;
    this.#deps = deps;
    this.browser = deps.browser;
    this.name = accelerator === 'kvm' ? 'qemu-kvm' : 'qemu-tcg';
    this.slowdown = deps.host.slowdown;
    this.bootMsMax = bootMsMaxOf[accelerator];
  }

  get warnings(): readonly string[] {
    const cold = this.templates().filter(({ method }) => method === 'cold');
    return [...this.#deps.warnings, ...cold.map(({ kind, note }) => `Machines of the kind ${kind} take longer to start: ${note}.`)];
  }

  async boot(spec: VmSpec, { signal }: { signal: AbortSignal }): Promise<Vm> {
    const { host, templates } = this.#deps;
    for (;;) {
      const lease = await templates.lease(spec.kind, signal);
      try {
        const withinClone = { signal, timeoutMs: this.bootMsMax * cloneShare };
        const vm = await (lease ? Deadline.run(withinClone, (by) => this.#start(spec, lease, by.signal)) : this.#start(spec, null, signal));
        lease?.worked();
        return vm;
      } catch (error) {
        if (!lease) throw error;
        if (signal.aborted) {
          lease.release();
          throw error;
        }
        lease.failed();
        host.log.warn({ vm: spec.id, kind: spec.kind, err: error }, 'clone boot failed, retrying');
      }
    }
  }

  generation(kind: VmKind): string {
    const { image, accelerator } = this.#deps.host.shape;
    return `${image.id}-${accelerator}-${this.#deps.templates.key(kind)}`;
  }

  templates(): readonly TemplateState[] {
    return this.#deps.templates.states();
  }

  list(): Promise<VmArtifact[]> {
    return this.#deps.host.hostArtifacts.list();
  }

  async destroy(artifact: VmArtifact): Promise<void> {
    const { hostArtifacts, cgroups } = this.#deps.host;
    await hostArtifacts.destroy(artifact);
    if (!(await hostArtifacts.list()).some(({ id }) => id === artifact.id)) await cgroups?.remove(artifact.id);
  }

  async close(): Promise<void> {
    await this.#deps.templates.close();
    await this.#deps.host.cgroups?.close();
  }

  async #start(spec: VmSpec, lease: TemplateLease | null, signal: AbortSignal): Promise<Vm> {
    const { host, running, clock } = this.#deps;
    const startedMs = clock.monotonicMs();
    const vm = await bootMachine(host, {
      spec,
      template: lease?.template ?? null,
      generation: this.generation(spec.kind),
      signal,
      onDestroyed: () => running.delete(spec.id),
    });
    running.set(spec.id, vm);
    host.log.debug(
      { vm: spec.id, pid: vm.pid, method: lease ? 'clone' : 'cold', ms: Math.round(clock.monotonicMs() - startedMs) },
      'machine booted',
    );
    return vm;
  }
}
