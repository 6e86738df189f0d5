/** What this host can do for machines, found out without the service. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { abortAfter } from '@berth/lib/deadline.ts';
import { newId } from '@berth/lib/ids.ts';
import { silentLog } from '@berth/lib/log.ts';
import { controllers, findCgroupTrees, type Controller } from './host/cgroup-tree.ts';
import { MachineCgroups } from './host/cgroup.ts';
import { newUid } from './host/users.ts';
import { probeHost, type HostCapabilities } from './process/probe.ts';
import { createProcessRuntime, type ProcessRuntimeOptions } from './process/process.ts';
import type { Runtime, VmKind } from './runtime.ts';

export { memoryHere, processorsHere } from './host/pressure.ts';
export { programVersion } from './host/program-version.ts';
export { kvmRefusal } from './qemu/kvm/check.ts';
export { findImage, ImageUnusableError } from './qemu/image.ts';

/** Builds one jail, as a start does. */
export const probeIsolation = (chromiumPath: string): Promise<HostCapabilities> =>
  probeHost({ chromiumPath, dataDigest: randomBytes(8).toString('hex'), uid: newUid() });

/** Starts and ends one browser of each kind that this host has, as for a session. By kind: why it did not start, or null. */
export async function startBrowsers(
  programs: Pick<ProcessRuntimeOptions, 'chromiumPath' | 'shellPath'>,
): Promise<Map<VmKind, string | null>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-doctor-'));
  try {
    const runtime = await createProcessRuntime({ ...programs, dataDir, workerId: 'wrk_doctor', log: silentLog });
    const results = new Map<VmKind, string | null>();
    for (const kind of runtime.kinds) results.set(kind, await startBrowser(runtime, kind));
    await runtime.close();
    return results;
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function startBrowser(runtime: Runtime, kind: VmKind): Promise<string | null> {
  const acceptEgress = (connection: Duplex): void => void connection.destroy();
  try {
    const spec = { id: newId('vm'), kind, acceptEgress, priority: 'normal' } as const;
    const vm = await runtime.boot(spec, { signal: abortAfter(runtime.bootMsMax) });
    await vm.destroy();
    return null;
  } catch (error) {
    return explainBoot(error as Error);
  }
}

/** What happened, and the last line of the browser's log, which ends the message. */
function explainBoot({ message, cause }: Error): string {
  const what = cause instanceof Error ? cause.message.split('\n', 1)[0] : '';
  const log = message
    .slice(message.indexOf(': ') + 2)
    .trimEnd()
    .split('\n')
    .at(-1);
  return [what, log].filter(Boolean).join('; ');
}

/** Which control groups this process can create for machines. They are removed again. */
export async function probeCgroups(): Promise<{ version: 1 | 2 | null; missing: Controller[] }> {
  const groups = await MachineCgroups.open(`berth-doctor-${process.pid}`, silentLog).catch(() => null);
  const available = groups?.controllers ?? [];
  await groups?.close();
  const tree = findCgroupTrees().get('memory');
  return { version: tree?.version ?? null, missing: controllers.filter((name) => !available.includes(name)) };
}
