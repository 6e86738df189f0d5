/** The file of a backup: a tar archive with the server's own base backup, the small files of the data directory, and their description. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The file in the archive that describes it, and is read before anything is unpacked. */
export const descriptionName = 'backup.json';
/** What the server writes: its cluster, as of the end of the backup. */
export const baseName = 'base.tar.gz';

export interface Description {
  format: 1;
  created_at: string;
  /** Version of PostgreSQL. */
  postgres: string;
  /** Names of the migrations that are applied. */
  migrations: string[];
}

const environment = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };
const errorCharactersMax = 500;

/** Runs tar. `output` is a file descriptor; without one, resolves with what tar has printed. @throws Error with what tar says */
export async function tar(args: readonly string[], output?: number): Promise<string> {
  const child = spawn('tar', args, { env: environment, stdio: ['ignore', output ?? 'pipe', 'pipe'] });
  let printed = '';
  let problems = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (problems = (problems + text).slice(-errorCharactersMax)));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`tar failed: ${problems.trim() || `code ${code}`}`);
  return printed;
}
