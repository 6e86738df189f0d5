/** Which runtime this worker gets: as the operator asks for, or the strongest that works here. */
import { access, constants } from 'node:fs/promises';
import { systemClock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { createProcessRuntime } from './process/process.ts';
import { findImage, ImageUnusable } from './qemu/image.ts';
import { askKvm } from './qemu/kvm/answer.ts';
import { createQemuRuntime } from './qemu/qemu.ts';
import type { Runtime } from './runtime.ts';

export interface RuntimeChoice {
  /** `auto` takes virtual machines where KVM works and the image is built. */
  wanted: 'auto' | 'process' | 'qemu';
  dataDir: string;
  workerId: string;
  chromiumPath: string;
  shellPath?: string | undefined;
  imagesDir: string;
  qemuPath: string;
  memoryMb: number;
  cpus: number;
  log: Log;
}

/** Throws what keeps the runtime that was asked for from working, with what to do about it. */
export async function chooseRuntime(choice: RuntimeChoice): Promise<Runtime> {
  const { wanted, log } = choice;
  if (wanted === 'process') return createProcessRuntime(choice);
  const missing = await whatIsMissing(choice);
  if (missing !== null) {
    if (wanted === 'qemu') throw new Error(`virtual machines cannot be used: ${missing}`);
    log.info({ reason: missing }, 'browsers run as processes in jails: virtual machines cannot be used');
    return createProcessRuntime(choice);
  }
  const refusal = await askKvm({ ...choice, clock: systemClock });
  if (refusal === null) return createQemuRuntime({ ...choice, accelerator: 'kvm' });
  if (wanted === 'auto') {
    log.info({ reason: refusal }, 'browsers run as processes in jails: KVM does not work here');
    return createProcessRuntime(choice);
  }
  log.warn({ reason: refusal }, 'virtual machines are emulated: KVM does not work here');
  return createQemuRuntime({ ...choice, accelerator: 'tcg', whyEmulated: refusal });
}

async function whatIsMissing({ qemuPath, imagesDir }: RuntimeChoice): Promise<string | null> {
  if (process.arch !== 'x64') return `they are PCs, and this host's processor is ${process.arch}`;
  if (!(await canRun(qemuPath))) return `there is no QEMU that can be run at ${qemuPath} (BERTH_QEMU; Debian has it in qemu-system-x86).`;
  try {
    await findImage(imagesDir);
    return null;
  } catch (error) {
    if (error instanceof ImageUnusable) return error.message;
    throw error;
  }
}

const canRun = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
