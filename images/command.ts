/** Runs programs of the host. */
import { spawn } from 'node:child_process';
import { ImageError } from './error.ts';

/** Debian package of each program. `scripts/setup.sh` installs the same. */
const debianPackages: Record<string, string> = {
  'apt-cache': 'apt',
  'apt-config': 'apt',
  'apt-get': 'apt',
  'dpkg-deb': 'dpkg',
  flock: 'util-linux',
  'mkfs.erofs': 'erofs-utils',
  mmdebstrap: 'mmdebstrap',
  setpriv: 'util-linux',
  tar: 'tar',
  xz: 'xz-utils',
};

export interface CommandOptions {
  /** Added to our own environment. */
  environment?: Record<string, string>;
  folder?: string;
  /** Descriptor that the program inherits as 3. */
  inherited?: number;
  signal: AbortSignal;
}

/** Enough of stderr to see why a program failed. */
const stderrTailLength = 2000;

/** A program failed. The message ends with its last output. */
export class CommandError extends ImageError {}

/** Returns the standard output. @throws ImageError when the program is not installed, CommandError when it failed */
export async function run(program: string, args: string[], { environment, folder, inherited, signal }: CommandOptions): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(program, args, {
    // A user's PATH may lack the sbin folders; the locale is fixed because the output is parsed.
    env: { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`, LC_ALL: 'C.UTF-8', ...environment },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe', inherited ?? 'ignore'],
  });
  // SIGTERM lets the program clean up, and we wait for that.
  const stop = (): unknown => child.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  const printed: Buffer[] = [];
  let stderrTail = '';
  child.stdout?.on('data', (chunk: Buffer) => printed.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => (stderrTail = (stderrTail + chunk.toString()).slice(-stderrTailLength)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => reject(error.code === 'ENOENT' ? missing(program) : error));
    child.once('close', resolve);
  }).finally(() => signal.removeEventListener('abort', stop));
  signal.throwIfAborted();
  if (code !== 0) throw new CommandError(`${program} failed: ${stderrTail.trim() || `it ended with ${code ?? 'a signal'}`}`);
  return Buffer.concat(printed).toString();
}

const missing = (program: string): ImageError =>
  new ImageError(
    `${program} is not installed. It is in Debian's package ${debianPackages[program] ?? program}: run \`sh scripts/setup.sh image\`.`,
  );
