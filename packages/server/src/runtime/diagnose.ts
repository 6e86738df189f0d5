/** What this host can do for machines, found out without starting a runtime. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { silentLog } from '../lib/log.ts';
import { controllers, findCgroupTrees, type Controller } from './host/cgroup-tree.ts';
import { MachineCgroups } from './host/cgroup.ts';
import { newUid } from './host/users.ts';
import { probeHost, type HostCapabilities } from './process/probe.ts';

export { memoryHere, processorsHere } from './host/pressure.ts';
export { kvmRefusal } from './qemu/kvm/check.ts';
export { findImage, ImageUnusable } from './qemu/image.ts';

const versionMsMax = 10_000;

/** What a program prints about its version, in one line; null where it cannot run. */
export async function programVersion(path: string): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], {
      env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' },
      timeout: versionMsMax,
    });
    return stdout.split('\n', 1)[0]?.trim() ?? '';
  } catch {
    return null;
  }
}

/** Builds one jail, as a start does. */
export const probeIsolation = (chromiumPath: string): Promise<HostCapabilities> =>
  probeHost({ chromiumPath, dataDigest: randomBytes(8).toString('hex'), uid: newUid() });

/** Which control groups this process can create for machines. They are removed again. */
export async function probeCgroups(): Promise<{ version: 1 | 2 | null; missing: Controller[] }> {
  const groups = await MachineCgroups.open(`berth-doctor-${process.pid}`, silentLog).catch(() => null);
  const available = groups?.controllers ?? [];
  await groups?.close();
  const tree = findCgroupTrees().get('memory');
  return { version: tree?.version ?? null, missing: controllers.filter((name) => !available.includes(name)) };
}
