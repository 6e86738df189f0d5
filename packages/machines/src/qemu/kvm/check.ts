/**
 * Whether KVM works, with a cached refusal. A host on which KVM hangs takes ten
 * seconds to detect, so a refusal is cached for an hour of the same boot of the
 * host, and a restarted worker is ready at once. Success is tested each time: that
 * takes half a second.
 */
import { readFile, writeFile, access, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '@berth/lib/clock.ts';
import { orAfter } from '@berth/lib/deadline.ts';
import { readBootId } from '../../host/processes.ts';
import type { Socket } from 'node:net';
import { newUid, isRoot } from '../../host/users.ts';
import { descriptors, probeCommand, type MachineShape } from '../command.ts';
import { findImage } from '../image.ts';
import { exitOf, killQemu, spawnQemu } from '../qemu-process.ts';
import { constants } from 'node:fs';

const CachedRefusal = z.object({ boot_id: z.string(), qemu: z.string(), at_ms: z.number(), refusal: z.string() });

const refusalMsMax = 3_600_000;

const pathOf = (dataDir: string): string => join(dataDir, 'kvm-refusal.json');

/** The device's permissions, and whether a guest boots. */
const kvmChecks = { permissions: kvmRefusal, boot: probeKvm };

/** Returns null when KVM works, otherwise why it does not. @throws ImageUnusableError */
export async function checkKvm(
  options: KvmProbeOptions & { dataDir: string; clock: Clock },
  checks: typeof kvmChecks = kvmChecks,
): Promise<string | null> {
  const { dataDir, clock, qemuPath } = options;
  // Never cached, so that a change of permissions takes effect at once.
  const closed = await checks.permissions();
  if (closed !== null) return closed;
  const cached = await readCachedRefusal(dataDir);
  const ageMs = clock.now().getTime() - (cached?.at_ms ?? 0);
  if (cached?.boot_id === readBootId() && cached.qemu === qemuPath && ageMs >= 0 && ageMs < refusalMsMax) return cached.refusal;
  const refusal = await checks.boot(options);
  if (refusal === null) return null;
  const answer: z.infer<typeof CachedRefusal> = { boot_id: readBootId(), qemu: qemuPath, at_ms: clock.now().getTime(), refusal };
  // If it cannot be cached, it is tested again.
  await writeFile(pathOf(dataDir), JSON.stringify(answer)).catch(() => undefined);
  return refusal;
}

async function readCachedRefusal(dataDir: string): Promise<z.infer<typeof CachedRefusal> | undefined> {
  try {
    return CachedRefusal.parse(JSON.parse(await readFile(pathOf(dataDir), 'utf8')));
  } catch {
    return undefined;
  }
}

/** A host with KVM takes half a second. */
const probeMsMax = 10_000;
/** Printed by the image's init when the kernel command line has `berth.probe`. */
const word = 'BERTH-PROBE-OK';
const saidLengthMax = 64 * 1024;

interface KvmProbeOptions {
  imagesDir: string;
  qemuPath: string;
}

/** Returns null when a guest starts, otherwise what happened. The device must be accessible. @throws ImageUnusableError */
async function probeKvm({ imagesDir, qemuPath }: KvmProbeOptions): Promise<string | null> {
  const image = await findImage(imagesDir);
  return bootOnce({ qemuPath, image, accelerator: 'kvm', memoryMb: 256, cpus: 1, kvmGroup: await kvmGroup() });
}

/** Returns null when the guest has printed its word. */
export async function bootOnce(shape: MachineShape, msMax = probeMsMax): Promise<string | null> {
  const child = spawnQemu(probeCommand({ shape, uid: newUid() }), {});
  let said = '';
  let problems = '';
  const keep = (text: string): string => (problems = (problems + text).slice(-500));
  child.stderr?.setEncoding('utf8').on('data', keep);
  const exited = exitOf(child, keep);
  const console = child.stdio[descriptors.control] as Socket;
  const heard = new Promise<'heard'>((resolve) => {
    console.on('error', () => {});
    console.setEncoding('latin1').on('data', (text: string) => {
      said = (said + text).slice(-saidLengthMax);
      if (said.includes(word)) resolve('heard');
    });
  });
  const outcome = await orAfter(Promise.race([heard, exited]), msMax, 'late' as const);
  await killQemu(child, exited);
  child.stderr?.destroy();
  for (const socket of child.stdio.slice(descriptors.qmp, descriptors.memory)) socket?.destroy();
  if (outcome === 'heard') return null;
  if (outcome === 'late') return `${kvmPath} opens, but a guest had not started after ${msMax / 1000} s`;
  return `QEMU ended at once: ${problems.trim() || `code ${outcome.code}`}`;
}

/** The KVM device. */
const kvmPath = '/dev/kvm';

/** Returns why machines cannot open the device, by its permissions; null when they can. */
export async function kvmRefusal(): Promise<string | null> {
  const device = await stat(kvmPath).catch(() => null);
  if (!device?.isCharacterDevice())
    return `there is no ${kvmPath}: the processor has no virtualisation, or the firmware, hypervisor or container runtime hides it`;
  if (isRoot()) return usersRefusal(device);
  return access(kvmPath, constants.R_OK | constants.W_OK).then(
    () => null,
    () => `${kvmPath} cannot be opened by the user of this service: add it to the group that can`,
  );
}

/** Returns the group that machines need to open the device; null where they need none. */
export async function kvmGroup(): Promise<number | null> {
  const device = await stat(kvmPath).catch(() => null);
  return device && isForGroup(device) ? device.gid : null;
}

interface Permissions {
  mode: number;
  gid: number;
}

/** Returns null if machines can open it. Under root they run as their own users and can get an extra group, but never root's. */
export function usersRefusal(device: Permissions): string | null {
  if ((device.mode & 0o006) === 0o006 || isForGroup(device)) return null;
  return `only root can open ${kvmPath}, and machines do not run as root: give it to a group (chgrp kvm ${kvmPath}; chmod 660 ${kvmPath})`;
}

const isForGroup = ({ mode, gid }: Permissions): boolean => (mode & 0o060) === 0o060 && gid !== 0;
