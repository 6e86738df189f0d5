/** Boots a machine from the image, saves it when its browser is up and quiet, and shows by a clone of it that it can be used. */
import { duplexPair } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Duplex } from 'node:stream';
import type { Log } from '../../../lib/log.ts';
import { readProcesses, withDescendants } from '../../host/processes.ts';
import { newUid } from '../../host/users.ts';
import { awaitBrowser, loadState, saveState, spawnMachine, unlessOver } from '../clone.ts';
import { machineCommand } from '../command.ts';
import type { MachineShape } from '../command.ts';
import { GuestLink } from '../guest/link.ts';
import { QemuProcess } from '../qemu-process.ts';
import { createMemory } from './sealed-memory.ts';
import type { OpenMemory } from './sealed-memory.ts';
import { closeTemplate, templateKey } from './template.ts';
import type { Template, TemplateFacts } from './template.ts';

export interface Workshop {
  shape: MachineShape;
  /** Stretches every deadline of the guest's. */
  slowness: number;
  log: Log;
}

/** The state of the devices takes some 400 KB; its memory grows as it is written. */
const stateBytesAtFirst = 0;
/** The guest has noticed that the host left, when its processor has rested for so long. */
const restMs = 500;
const restLookMs = 50;
/** Of one processor. An idle guest's own timers take a tenth under emulation. */
const restShareMax = 0.3;
/** What is not at rest by then is saved as it is: the trial shows whether it is good. */
const restMsMax = 15_000;

/** Throws what went wrong, and leaves nothing of it. */
export async function buildTemplate(workshop: Workshop, facts: TemplateFacts, { signal }: { signal: AbortSignal }): Promise<Template> {
  const memory = await createMemory(workshop.shape.memoryMb * 1024 ** 2);
  const state = await createMemory(stateBytesAtFirst).catch(async (error: unknown) => {
    await memory.close();
    throw error;
  });
  let template: Template;
  try {
    await makeMachine(workshop, facts, { memory, state, signal });
    template = { facts, memory: await memory.seal(), state: await state.seal() };
  } catch (error) {
    await Promise.all([memory.close(), state.close()]);
    throw error;
  }
  try {
    await tryClone(workshop, template, { signal });
    return template;
  } catch (cause) {
    await closeTemplate(template);
    throw new Error('a clone of the new template does not work', { cause });
  }
}

interface Making {
  memory: OpenMemory;
  state: OpenMemory;
  signal: AbortSignal;
}

async function makeMachine(workshop: Workshop, facts: TemplateFacts, { memory, state, signal }: Making): Promise<void> {
  const order = { shape: workshop.shape, memory: 'template' as const, uid: newUid(), marks: marksOf(facts) };
  const machine = new QemuProcess(machineCommand(order), { memory: memory.handle.fd });
  // Nobody is at this port while the template is made: what was said to one host must not be read by the next.
  machine.egress.destroy();
  const link = new GuestLink({ control: machine.control, egress: silence(), acceptEgress: refuse, slowness: workshop.slowness });
  try {
    await unlessOver(bringUp(link, facts, { log: workshop.log, signal }), machine, signal);
    link.close();
    await unlessOver(atRest(machine), machine, signal);
    await unlessOver(saveState(machine, state.handle.fd, { signal }), machine, signal);
  } catch (cause) {
    throw new Error(`no template could be made: ${await machine.lastWords()}`, { cause });
  } finally {
    link.close();
    await machine.kill();
  }
}

async function bringUp(link: GuestLink, { kind }: TemplateFacts, { log, signal }: { log: Log; signal: AbortSignal }): Promise<void> {
  await link.hello({ signal });
  await link.start(kind, { signal });
  const { quiet, renderers } = await link.settle({ signal });
  // What a page draws its random numbers from would be the same in all clones.
  if (renderers > 0) throw new Error(`the browser has ${renderers} renderers before its first page`);
  if (!quiet) log.warn({ kind }, 'a template was saved before its browser was quiet: clones start with work to do');
}

async function atRest(machine: QemuProcess): Promise<void> {
  const deadlineMs = performance.now() + restMsMax;
  const ticks = (): number =>
    withDescendants(new Set([machine.pid ?? 0]), readProcesses()).reduce((sum, { cpuTicks }) => sum + cpuTicks, 0);
  const ticksMax = (restMs / 10) * restShareMax;
  for (let last = ticks(), sinceMs = performance.now(); performance.now() < deadlineMs;) {
    await sleep(restLookMs);
    if (performance.now() - sinceMs < restMs) continue;
    const now = ticks();
    if (now - last <= ticksMax) return;
    last = now;
    sinceMs = performance.now();
  }
}

/** What a session would do, short of a page. */
async function tryClone({ shape, slowness }: Workshop, template: Template, { signal }: { signal: AbortSignal }): Promise<void> {
  const machine = await spawnMachine({ shape, uid: newUid(), marks: marksOf(template.facts) }, template);
  const link = new GuestLink({ control: machine.control, egress: machine.egress, acceptEgress: refuse, slowness });
  try {
    await unlessOver(loadState(machine, { signal }), machine, signal);
    await unlessOver(awaitBrowser(link, { start: null, signal }), machine, signal);
  } finally {
    link.close();
    await machine.kill();
  }
}

/** No machine of a session: whoever looks for strays passes it over. It dies with its worker. */
const marksOf = (facts: TemplateFacts): Record<string, string> => ({ BERTH_TEMPLATE: templateKey(facts) });

const refuse = (connection: Duplex): void => void connection.on('error', () => {}).destroy();

/** A port at which nobody ever is. */
const silence = (): Duplex => duplexPair()[0];
