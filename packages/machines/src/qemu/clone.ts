/** Steps from a template or the image to a machine whose browser answers. Used for sessions and to verify new templates. */
import type { Duplex } from 'node:stream';
import { waitForDevTools } from '../process/devtools-ready.ts';
import { descriptors, machineCommand, type QemuOptions } from './command.ts';
import type { GuestLink } from './guest/link.ts';
import { QemuProcess } from './qemu-process.ts';
import type { Template, TemplateKind } from './templates/template.ts';

interface Signalled {
  signal: AbortSignal;
}

/** Guest memory is not migrated: both sides map the same file. */
const stateCapabilities = { capabilities: [{ capability: 'x-ignore-shared', state: true }] };
const savePollMs = 5;

/** Starts QEMU. A clone waits for `loadState`; a machine without a template boots at once. */
export async function spawnMachine(options: Omit<QemuOptions, 'memory'>, template: Template | null): Promise<QemuProcess> {
  if (!template) return new QemuProcess(machineCommand({ ...options, memory: 'own' }));
  const state = await template.state.openAgain();
  try {
    return new QemuProcess(machineCommand({ ...options, memory: 'clone' }), { memory: template.memory.handle.fd, state: state.fd });
  } finally {
    await state.close();
  }
}

/** Resumes the machine where the template was saved. Resolves when it runs; a state that cannot be loaded ends the machine. */
export async function loadState({ qmp }: QemuProcess, { signal }: Signalled): Promise<void> {
  const running = new Promise<void>((resolve) => qmp.onEvent('RESUME', resolve));
  await qmp.call('migrate-set-capabilities', stateCapabilities, { signal });
  await qmp.call('migrate-incoming', { uri: `fd:${descriptors.state}` }, { signal });
  await running;
}

/** Saves the device state to the file. The machine is paused from then on. */
export async function saveState(machine: QemuProcess, descriptor: number, { signal }: Signalled): Promise<void> {
  await machine.qmp.call('migrate-set-capabilities', stateCapabilities, { signal });
  await machine.passFile('state', descriptor);
  await machine.qmp.call('migrate', { uri: 'fd:state' }, { signal });
  for (let status = ''; status !== 'completed';) {
    const answer = (await machine.qmp.call('query-migrate', {}, { signal })) as { status?: unknown };
    status = String(answer.status);
    if (status === 'failed' || status === 'cancelled')
      throw new Error(`the device state was not saved: ${JSON.stringify(answer).slice(0, 500)}`);
    await new Promise((resolve) => setTimeout(resolve, savePollMs));
  }
}

/** Returns the DevTools pipe after its first answer. `start`: kind of the browser to start, for machines that were not cloned with one. */
export async function connectBrowser(link: GuestLink, { start, signal }: Signalled & { start: TemplateKind | null }): Promise<Duplex> {
  await link.hello({ signal });
  if (start) await link.start(start, { signal });
  await link.identify({ signal });
  const cdp = await link.openDevtools();
  // The pipe breaks when the browser exits, which is reported elsewhere.
  cdp.on('error', () => {});
  await waitForDevTools(cdp);
  return cdp;
}

/** Returns the result of `work`. Rejects when the machine exits or the signal aborts first. */
export async function raceExit<T>(work: Promise<T>, machine: QemuProcess, signal: AbortSignal): Promise<T> {
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
