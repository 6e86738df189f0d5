/** Selects the runtime of this worker: the configured one, or the strongest that works here. */
import { canRun } from '../lib/can-run.ts';
import { systemClock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { createProcessRuntime } from './process/process.ts';
import { findImage, ImageUnusable } from './qemu/image.ts';
import { checkKvm } from './qemu/kvm/check.ts';
import { createQemuRuntime } from './qemu/qemu.ts';
import type { Runtime } from './runtime.ts';

export { protectService } from './host/confine.ts';

interface RuntimeChoice {
  /** `auto` selects virtual machines where KVM works and the image is built. */
  wanted: 'auto' | 'process' | 'qemu';
  dataDir: string;
  workerId: string;
  chromiumPath: string;
  shellPath?: string | undefined;
  /** Of a machine of the process runtime. */
  memoryMbMax: number;
  imagesDir: string;
  qemuPath: string;
  memoryMb: number;
  cpus: number;
  log: Log;
}

/** @throws Error when the configured runtime cannot work, with what to do about it. */
export async function chooseRuntime(choice: RuntimeChoice): Promise<Runtime> {
  const { wanted, log } = choice;
  if (wanted === 'process') return createProcessRuntime(choice);
  const missing = await whatIsMissing(choice);
  if (missing !== null) {
    if (wanted === 'qemu') throw new Error(`Virtual machines are not available: ${missing}`);
    log.info({ reason: missing }, 'process runtime selected: virtual machines not available');
    return createProcessRuntime(choice);
  }
  const refusal = await checkKvm({ ...choice, clock: systemClock });
  if (refusal === null) return createQemuRuntime({ ...choice, accelerator: 'kvm' });
  if (wanted === 'auto') {
    log.info({ reason: refusal }, 'process runtime selected: KVM not available');
    return createProcessRuntime(choice);
  }
  log.warn({ reason: refusal }, 'emulation selected: KVM not available');
  return createQemuRuntime({ ...choice, accelerator: 'tcg', whyEmulated: refusal });
}

async function whatIsMissing({ qemuPath, imagesDir }: RuntimeChoice): Promise<string | null> {
  if (process.arch !== 'x64') return `they need an x86-64 host, and this one is ${process.arch}`;
  if (!canRun(qemuPath)) return `no executable QEMU at ${qemuPath}. Install qemu-system-x86 or set BERTH_QEMU.`;
  try {
    await findImage(imagesDir);
    return null;
  } catch (error) {
    if (error instanceof ImageUnusable) return error.message;
    throw error;
  }
}
