/**
 * A host on which KVM hangs costs ten seconds to find out. The answer is kept
 * for an hour of the same boot of the host, so that a worker that was killed is
 * back in a moment. That KVM works is asked each time: it costs half a second.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { readBootId } from '../../host/processes.ts';
import { kvmRefusal } from './device.ts';
import { probeKvm } from './probe.ts';
import type { KvmQuestion } from './probe.ts';

const Kept = z.object({ boot_id: z.string(), qemu: z.string(), at_ms: z.number(), refusal: z.string() });

const keptMsMax = 3_600_000;

const pathOf = (dataDir: string): string => join(dataDir, 'kvm-refusal.json');

/** What is looked at: the device's permissions, and whether a guest starts. */
export const kvmLooks = { permissions: kvmRefusal, boot: probeKvm };

/** null when KVM works; otherwise why it does not. Throws ImageUnusable. */
export async function askKvm(
  question: KvmQuestion & { dataDir: string; clock: Clock },
  look: typeof kvmLooks = kvmLooks,
): Promise<string | null> {
  const { dataDir, clock, qemuPath } = question;
  // To look costs nothing, and an operator who has just given the device to a group is not told of before.
  const closed = await look.permissions();
  if (closed !== null) return closed;
  const kept = await readKept(dataDir);
  const ageMs = clock.now().getTime() - (kept?.at_ms ?? 0);
  if (kept?.boot_id === readBootId() && kept.qemu === qemuPath && ageMs >= 0 && ageMs < keptMsMax) return kept.refusal;
  const refusal = await look.boot(question);
  if (refusal === null) return null;
  const answer: z.infer<typeof Kept> = { boot_id: readBootId(), qemu: qemuPath, at_ms: clock.now().getTime(), refusal };
  // Where it cannot be kept it is asked again.
  await writeFile(pathOf(dataDir), JSON.stringify(answer)).catch(() => undefined);
  return refusal;
}

async function readKept(dataDir: string): Promise<z.infer<typeof Kept> | undefined> {
  try {
    return Kept.parse(JSON.parse(await readFile(pathOf(dataDir), 'utf8')));
  } catch {
    return undefined;
  }
}
