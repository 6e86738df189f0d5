/** Builds a template: boots a machine from the image, saves it when its browser is quiet, and verifies it with one clone. */
import { duplexPair, type Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '@berth/lib/log.ts';
import { readProcesses, withDescendants } from '../../host/processes.ts';
import { newUid } from '../../host/users.ts';
import { connectBrowser, loadState, saveState, spawnMachine, raceExit } from '../clone.ts';
import { machineCommand, type MachineShape } from '../command.ts';
import { GuestLink } from '../guest/link.ts';
import { QemuProcess } from '../qemu-process.ts';
import { createMemory, type OpenMemory } from './sealed-memory.ts';
import { closeTemplate, templateKey, type Template, type TemplateInfo } from './template.ts';

interface TemplateBuildDeps {
  shape: MachineShape;
  /** Multiplies every timeout of the guest. */
  slowdown: number;
  log: Log;
}

/** The device state takes about 400 KB; its file grows as it is written. */
const stateBytesAtFirst = 0;
/** The guest has noticed that the host disconnected when it has been idle for this long. */
const restMs = 500;
const restPollMs = 50;
/** Share of one processor. Timers of an idle guest take a tenth under emulation. */
const restShareMax = 0.3;
/** A guest that is not idle by then is saved anyway; the verification decides. */
const restMsMax = 15_000;

/** A build that throws leaves nothing behind. */
export async function buildTemplate(deps: TemplateBuildDeps, info: TemplateInfo, { signal }: { signal: AbortSignal }): Promise<Template> {
  const memory = await createMemory(deps.shape.memoryMb * 1024 ** 2);
  const state = await createMemory(stateBytesAtFirst).catch(async (error: unknown) => {
    await memory.close();
    throw error;
  });
  let template: Template;
  try {
    await makeMachine(deps, info, { memory, state, signal });
    template = { info, memory: await memory.seal(), state: await state.seal() };
  } catch (error) {
    await Promise.all([memory.close(), state.close()]);
    throw error;
  }
  try {
    await verifyClone(deps, template, { signal });
    return template;
  } catch (cause) {
    await closeTemplate(template);
    throw new Error('a clone of the new template does not work', { cause });
  }
}

interface MakeMachineOptions {
  memory: OpenMemory;
  state: OpenMemory;
  signal: AbortSignal;
}

async function makeMachine(deps: TemplateBuildDeps, info: TemplateInfo, { memory, state, signal }: MakeMachineOptions): Promise<void> {
  const options = { shape: deps.shape, memory: 'template' as const, uid: newUid(), environment: environmentOf(info) };
  const machine = new QemuProcess(machineCommand(options), { memory: memory.handle.fd });
  // Egress stays disconnected: data sent to one host must not be read by the next.
  machine.egress.destroy();
  const link = new GuestLink({ control: machine.control, egress: unusedPort(), acceptEgress: refuse, slowdown: deps.slowdown });
  try {
    await raceExit(startBrowser(link, info, { log: deps.log, signal }), machine, signal);
    link.close();
    await raceExit(waitForRest(machine), machine, signal);
    await raceExit(saveState(machine, state.handle.fd, { signal }), machine, signal);
  } catch (cause) {
    throw new Error(`template build failed: ${await machine.readTail()}`, { cause });
  } finally {
    link.close();
    await machine.kill();
  }
}

async function startBrowser(link: GuestLink, { kind }: TemplateInfo, { log, signal }: { log: Log; signal: AbortSignal }): Promise<void> {
  await link.hello({ signal });
  await link.start(kind, { signal });
  const { quiet, renderers } = await link.waitForQuiet({ signal });
  // The random generator of a renderer would be the same in all clones.
  if (renderers > 0) throw new Error(`the browser has ${renderers} renderers before its first page`);
  if (!quiet) log.warn({ kind }, 'template saved before its browser was quiet');
}

async function waitForRest(machine: QemuProcess): Promise<void> {
  const deadlineMs = performance.now() + restMsMax;
  const ticks = (): number =>
    withDescendants(new Set([machine.pid ?? 0]), readProcesses()).reduce((sum, { cpuTicks }) => sum + cpuTicks, 0);
  const ticksMax = (restMs / 10) * restShareMax;
  for (let last = ticks(), sinceMs = performance.now(); performance.now() < deadlineMs;) {
    await sleep(restPollMs);
    if (performance.now() - sinceMs < restMs) continue;
    const now = ticks();
    if (now - last <= ticksMax) return;
    last = now;
    sinceMs = performance.now();
  }
}

/** Does what a session does, except opening a page. */
async function verifyClone({ shape, slowdown }: TemplateBuildDeps, template: Template, { signal }: { signal: AbortSignal }): Promise<void> {
  const machine = await spawnMachine({ shape, uid: newUid(), environment: environmentOf(template.info) }, template);
  const link = new GuestLink({ control: machine.control, egress: machine.egress, acceptEgress: refuse, slowdown });
  try {
    await raceExit(loadState(machine, { signal }), machine, signal);
    await raceExit(connectBrowser(link, { start: null, signal }), machine, signal);
  } finally {
    link.close();
    await machine.kill();
  }
}

/** Marks a machine that belongs to no session, so that orphan cleanup ignores it. It ends with its worker. */
const environmentOf = (info: TemplateInfo): Record<string, string> => ({ BERTH_TEMPLATE: templateKey(info) });

const refuse = (connection: Duplex): void => void connection.on('error', () => {}).destroy();

/** A port without a peer. */
const unusedPort = (): Duplex => duplexPair()[0];
