/** Programs of the host, run to their end. */
import { spawn } from 'node:child_process';
import { ImageFault } from './fault.ts';

/** In which package of Debian each of them is. `scripts/setup.sh` installs the same. */
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
  /** What is set beside our own environment. */
  environment?: Record<string, string>;
  folder?: string;
  /** Descriptor that the program holds as its 3 for as long as it lives. */
  held?: number;
  signal: AbortSignal;
}

/** Enough of what a program said to see why it failed. */
const lastWordsLength = 2000;

/** A program that did not do what it was asked to. The message ends with its last words. */
export class CommandFailed extends ImageFault {}

/** Resolves with what it printed. Throws ImageFault where it is not installed and CommandFailed where it failed. */
export async function run(program: string, args: string[], { environment, folder, held, signal }: CommandOptions): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(program, args, {
    // Programs of the system are in folders that a user's PATH may leave out; what they print is read, so it is in English.
    env: { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`, LC_ALL: 'C.UTF-8', ...environment },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe', held ?? 'ignore'],
  });
  // It puts away what it has begun, and that is waited for.
  const stop = (): unknown => child.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  const printed: Buffer[] = [];
  let lastWords = '';
  child.stdout?.on('data', (chunk: Buffer) => printed.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => (lastWords = (lastWords + chunk.toString()).slice(-lastWordsLength)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => reject(error.code === 'ENOENT' ? missing(program) : error));
    child.once('close', resolve);
  }).finally(() => signal.removeEventListener('abort', stop));
  signal.throwIfAborted();
  if (code !== 0) throw new CommandFailed(`${program} failed: ${lastWords.trim() || `it ended with ${code ?? 'a signal'}`}`);
  return Buffer.concat(printed).toString();
}

const missing = (program: string): ImageFault =>
  new ImageFault(
    `${program} is not installed. It is in Debian's package ${debianPackages[program] ?? program}: run \`sh scripts/setup.sh image\`.`,
  );
