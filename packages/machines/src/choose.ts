/** Selects the runtime of this worker: the configured one, or the strongest that works here. */
import { canRun } from '@berth/lib/can-run.ts';
import { systemClock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { isScript, isSnap } from './host/browsers.ts';
import { createProcessRuntime } from './process/process.ts';
import { findImage, ImageUnusableError } from './qemu/image.ts';
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
  /** Maximum memory of a machine of the process runtime, in MB. */
  memoryMbMax: number;
  imagesDir: string;
  qemuPath: string;
  memoryMb: number;
  cpus: number;
  log: Log;
}

/** Which runtime a worker gets, and why not a stronger one. */
export type RuntimeDecision =
  | { runtime: 'process'; why: string | null }
  | { runtime: 'qemu'; accelerator: 'kvm' | 'tcg'; why: string | null };

/** @throws Error when the configured runtime cannot work, with what to do about it. */
export async function chooseRuntime(choice: RuntimeChoice): Promise<Runtime> {
  const { wanted, log } = choice;
  const decision = await decideRuntime(choice);
  if (decision.runtime === 'process') {
    if (wanted === 'auto') log.info({ reason: decision.why }, 'process runtime selected: virtual machines not available');
    return createProcessRuntime(choice);
  }
  if (decision.why === null) return createQemuRuntime({ ...choice, accelerator: 'kvm' });
  log.warn({ reason: decision.why }, 'emulation selected: KVM not available');
  return createQemuRuntime({ ...choice, accelerator: 'tcg', whyEmulated: decision.why });
}

/** Starts no runtime. @throws Error when the configured one cannot work */
export async function decideRuntime(choice: Omit<RuntimeChoice, 'log' | 'workerId' | 'memoryMbMax'>): Promise<RuntimeDecision> {
  const { wanted } = choice;
  if (wanted === 'process') return { runtime: 'process', why: null };
  const missing = await whatIsMissing(choice);
  if (missing !== null) {
    if (wanted === 'qemu') throw new Error(`Virtual machines are not available: ${missing}`);
    return { runtime: 'process', why: missing };
  }
  const refusal = await checkKvm({ ...choice, clock: systemClock });
  if (refusal === null) return { runtime: 'qemu', accelerator: 'kvm', why: null };
  return wanted === 'auto' ? { runtime: 'process', why: refusal } : { runtime: 'qemu', accelerator: 'tcg', why: refusal };
}

/** Paths at which Ubuntu has its snap, or a program that starts it. */
const snaps = ['/snap/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/chromium'];
const snapAdvice = 'It cannot run in a jail. Install Google Chrome, or set BERTH_CHROMIUM to the program of a Chromium that is no snap.';

/** Refuses a start without Chromium, as every session would fail later. @throws Error */
export function requireChromium(path: string): void {
  if (isSnap(path)) throw new Error(`${path} starts a snap. ${snapAdvice}`);
  if (!canRun(path)) {
    const hasSnap = snaps.some((each) => isSnap(each));
    const advice = hasSnap ? `The Chromium of this host is a snap. ${snapAdvice}` : 'Install Chromium or set BERTH_CHROMIUM.';
    throw new Error(`no executable Chromium at ${path}. ${advice}`);
  }
  if (!isScript(path)) return;
  throw new Error(
    `${path} is a script. It cannot start Chromium in a machine, which has only the program's own folder. ` +
      'Set BERTH_CHROMIUM to the program that it starts, such as /usr/lib/chromium/chromium.',
  );
}

async function whatIsMissing({ qemuPath, imagesDir }: Pick<RuntimeChoice, 'qemuPath' | 'imagesDir'>): Promise<string | null> {
  if (process.arch !== 'x64') return `they need an x86-64 host, and this one is ${process.arch}`;
  if (!canRun(qemuPath)) return `no executable QEMU at ${qemuPath}. Install qemu-system-x86 or set BERTH_QEMU.`;
  try {
    await findImage(imagesDir);
    return null;
  } catch (error) {
    if (error instanceof ImageUnusableError) return error.message;
    throw error;
  }
}
