/** Builds the templates that machines are cloned from, so that a service that is started later need not. Run: npm run template */
import { join } from 'node:path';
import { readConfig } from './config.ts';
import { systemClock } from './lib/clock.ts';
import { createLog } from './lib/log.ts';
import { askKvm } from './runtime/qemu/kvm/answer.ts';
import { prepareTemplates, templateKinds } from './runtime/qemu/qemu.ts';

const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MB`;

async function main(): Promise<number> {
  const { dataDir, imagesDir: given, qemu: qemuPath, vmMemoryMb: memoryMb, vmCpus: cpus, logLevel } = readConfig();
  const imagesDir = given ?? join(dataDir, 'images');
  const refusal = await askKvm({ imagesDir, qemuPath, dataDir, clock: systemClock });
  if (refusal !== null) console.log(`Templates of emulated machines: KVM does not work here, for ${refusal}.`);
  const machine = { imagesDir, qemuPath, memoryMb, cpus, accelerator: refusal === null ? ('kvm' as const) : ('tcg' as const) };
  const made = await prepareTemplates({ ...machine, log: createLog(logLevel) });
  for (const { kind, seconds, memoryBytes, stateBytes } of made)
    console.log(
      `${kind}: ready after ${seconds.toFixed(1)} s, ${megabytes(memoryBytes)} of memory, ${Math.round(stateBytes / 1024)} KB of state`,
    );
  return made.length === templateKinds.length ? 0 : 1;
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`No templates can be made: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
