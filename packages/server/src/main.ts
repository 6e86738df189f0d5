/** The service's command line: serves, or does what the named command does. */
import { readCommandLine, usage, UsageError, type CommandLine } from './boot/command-line.ts';
import { readConfig, type Config } from './config.ts';
import { unusableDataDir } from './boot/data-dir.ts';

const print = (lines: readonly string[]): boolean => process.stdout.write(lines.map((line) => `${line}\n`).join(''));

/** Beginnings of the messages about commands that throw. */
const failures: Readonly<Record<CommandLine['command'], string>> = {
  serve: 'Berth cannot start',
  backup: 'Nothing was backed up',
  restore: 'Nothing was restored',
  doctor: 'Nothing was checked',
  'api-key': 'No key was made',
};

/** Each command imports what it needs: the service itself takes a second to load. Resolves with the exit code. */
async function run({ command, file }: CommandLine, config: Config): Promise<number> {
  if (command === 'serve') {
    await (await import('./boot/serve.ts')).serve(config);
    return 0;
  }
  const { backUp, restore } = await import('./boot/backup.ts');
  print(await (command === 'backup' ? backUp : restore)(config, file));
  return 0;
}

/** It also reports settings that no other command could read. */
async function runDoctor({ json }: CommandLine, overrides: Record<string, string>): Promise<number> {
  const { diagnose, toLines } = await import('./doctor/doctor.ts');
  const diagnosis = await diagnose(overrides);
  print(json ? [JSON.stringify(diagnosis, null, 2)] : toLines(diagnosis));
  return diagnosis.status === 'problem' ? 1 : 0;
}

async function main(): Promise<number> {
  // Who reads our lines may have gone.
  process.stdout.on('error', () => undefined);
  let failure = failures.serve;
  let config: Config | undefined;
  try {
    const line = readCommandLine(process.argv.slice(2));
    failure = failures[line.command];
    if (line.help) return (process.stdout.write(usage), 0);
    if (line.command === 'api-key') return (print([(await import('./accounts/keys/keys.ts')).newRawKey()]), 0);
    const overrides: Record<string, string> = line.port === undefined ? {} : { BERTH_PORT: line.port };
    if (line.command === 'doctor') return await runDoctor(line, overrides);
    config = readConfig(undefined, overrides);
    return await run(line, config);
  } catch (thrown) {
    const error = config ? unusableDataDir(config.dataDir, thrown) : thrown;
    process.stderr.write(`${failure}: ${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

process.exit(await main());
