/** The steps from a template, or from nothing, to a machine whose browser answers: for sessions, and for the trial of a new template. */
import type { Duplex } from 'node:stream';
import { firstAnswer } from '../process/first-answer.ts';
import { descriptors, machineCommand } from './command.ts';
import type { QemuOrder } from './command.ts';
import type { GuestLink } from './guest/link.ts';
import { QemuProcess } from './qemu-process.ts';
import type { Template, TemplateKind } from './templates/template.ts';

interface Signalled {
  signal: AbortSignal;
}

/** The guest's memory is not in the stream but in the file that both sides map. */
const stateCapabilities = { capabilities: [{ capability: 'x-ignore-shared', state: true }] };
const savePollMs = 5;

/** A clone waits for `loadState`; a machine without a template boots at once. */
export async function spawnMachine(order: Omit<QemuOrder, 'memory'>, template: Template | null): Promise<QemuProcess> {
  if (!template) return new QemuProcess(machineCommand({ ...order, memory: 'own' }));
  const state = await template.state.openAgain();
  try {
    return new QemuProcess(machineCommand({ ...order, memory: 'clone' }), { memory: template.memory.handle.fd, state: state.fd });
  } finally {
    await state.close();
  }
}

/** Makes the waiting machine go on where the template was saved. Resolves when it runs; a state that cannot be loaded ends the machine. */
export async function loadState({ qmp }: QemuProcess, { signal }: Signalled): Promise<void> {
  const running = new Promise<void>((resolve) => qmp.onEvent('RESUME', resolve));
  await qmp.call('migrate-set-capabilities', stateCapabilities, { signal });
  await qmp.call('migrate-incoming', { uri: `fd:${descriptors.state}` }, { signal });
  await running;
}

/** Writes the state of the machine's devices to the file; the machine stands still from then on. */
export async function saveState(machine: QemuProcess, descriptor: number, { signal }: Signalled): Promise<void> {
  await machine.qmp.call('migrate-set-capabilities', stateCapabilities, { signal });
  await machine.giveFile('state', descriptor);
  await machine.qmp.call('migrate', { uri: 'fd:state' }, { signal });
  for (let status = ''; status !== 'completed';) {
    const answer = (await machine.qmp.call('query-migrate', {}, { signal })) as { status?: unknown };
    status = String(answer.status);
    if (status === 'failed' || status === 'cancelled') throw new Error(`the state was not saved: ${JSON.stringify(answer).slice(0, 500)}`);
    await new Promise((resolve) => setTimeout(resolve, savePollMs));
  }
}

/** The browser's DevTools, once they have answered. `start`: the browser to be started first, where the machine was not cloned with one. */
export async function awaitBrowser(link: GuestLink, { start, signal }: Signalled & { start: TemplateKind | null }): Promise<Duplex> {
  await link.hello({ signal });
  if (start) await link.start(start, { signal });
  await link.identify({ signal });
  const cdp = await link.openDevtools();
  // The pipe breaks when the browser ends: that is told elsewhere.
  cdp.on('error', () => {});
  await firstAnswer(cdp);
  return cdp;
}

/** Whatever comes first: the work's end, the machine's, or the signal's. What the work then still does is of no interest. */
export async function unlessOver<T>(work: Promise<T>, machine: QemuProcess, signal: AbortSignal): Promise<T> {
  const settled = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true, signal: settled.signal });
  });
  const ended = machine.exited.then(({ detail }) => {
    throw new Error(`the machine ended: ${detail}`);
  });
  try {
    const result = await Promise.race([work, ended, aborted]);
    signal.throwIfAborted();
    return result;
  } finally {
    settled.abort();
  }
}
