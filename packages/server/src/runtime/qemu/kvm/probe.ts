/**
 * Whether KVM runs a guest here. On some hosts /dev/kvm opens but a guest's kernel
 * hangs in its first instructions. So one is booted, with a timeout.
 */
import type { Socket } from 'node:net';
import { newUid } from '../../host/users.ts';
import { descriptors, probeCommand } from '../command.ts';
import type { MachineShape } from '../command.ts';
import { findImage } from '../image.ts';
import { kvmGroup, kvmPath } from './device.ts';
import { exitOf, killQemu, spawnQemu } from '../qemu-process.ts';

/** A host with KVM takes half a second. */
const probeMsMax = 10_000;
/** Printed by the image's init when the kernel command line has `berth.probe`. */
const word = 'BERTH-PROBE-OK';
const saidLengthMax = 64 * 1024;

export interface KvmProbeOptions {
  imagesDir: string;
  qemuPath: string;
}

/** Returns null when a guest starts, otherwise what happened. The device must be accessible. @throws ImageUnusable */
export async function probeKvm({ imagesDir, qemuPath }: KvmProbeOptions): Promise<string | null> {
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
  const late = new AbortController();
  const deadline = new Promise<'late'>((resolve) => {
    const timer = setTimeout(() => resolve('late'), msMax);
    late.signal.addEventListener('abort', () => clearTimeout(timer));
  });
  const outcome = await Promise.race([heard, exited, deadline]);
  late.abort();
  await killQemu(child, exited);
  child.stderr?.destroy();
  for (const socket of child.stdio.slice(descriptors.qmp, descriptors.memory)) socket?.destroy();
  if (outcome === 'heard') return null;
  if (outcome === 'late') return `${kvmPath} opens, but a guest had not started after ${msMax / 1000} s`;
  return `QEMU ended at once: ${problems.trim() || `code ${outcome.code}`}`;
}
