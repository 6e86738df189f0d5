/** Builds the machine templates ahead of the service's start. Run: npm run template */
import { join } from 'node:path';
import { readConfig } from '../config.ts';
import { systemClock } from '@berth/lib/clock.ts';
import { createLog } from '@berth/lib/log.ts';
import { checkKvm, prepareTemplates, templateKinds } from '@berth/machines';

const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MB`;

async function main(): Promise<number> {
  const { dataDir, imagesDir: configured, qemu: qemuPath, vmMemoryMb: memoryMb, vmCpus: cpus, logLevel } = readConfig();
  const imagesDir = configured ?? join(dataDir, 'images');
  const refusal = await checkKvm({ imagesDir, qemuPath, dataDir, clock: systemClock });
  if (refusal !== null) console.log(`Building templates of emulated machines, because KVM does not work here: ${refusal}.`);
  const machine = { imagesDir, qemuPath, memoryMb, cpus, accelerator: refusal === null ? ('kvm' as const) : ('tcg' as const) };
  const templates = await prepareTemplates({ ...machine, log: createLog(logLevel) });
  for (const { kind, seconds, memoryBytes, stateBytes } of templates)
    console.log(
      `${kind}: ready after ${seconds.toFixed(1)} s, ${megabytes(memoryBytes)} of memory, ${Math.round(stateBytes / 1024)} KB of state`,
    );
  return templates.length === templateKinds.length ? 0 : 1;
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`Templates cannot be built: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
