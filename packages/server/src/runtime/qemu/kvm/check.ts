/**
 * Whether KVM works, with a cached refusal. A host on which KVM hangs takes ten
 * seconds to detect, so a refusal is cached for an hour of the same boot of the
 * host, and a restarted worker is ready at once. Success is tested each time: that
 * takes half a second.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { readBootId } from '../../host/processes.ts';
import { kvmRefusal } from './device.ts';
import { probeKvm } from './probe.ts';
import type { KvmProbeOptions } from './probe.ts';

const CachedRefusal = z.object({ boot_id: z.string(), qemu: z.string(), at_ms: z.number(), refusal: z.string() });

const refusalMsMax = 3_600_000;

const pathOf = (dataDir: string): string => join(dataDir, 'kvm-refusal.json');

/** The device's permissions, and whether a guest boots. */
export const kvmChecks = { permissions: kvmRefusal, boot: probeKvm };

/** Returns null when KVM works, otherwise why it does not. @throws ImageUnusable */
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
