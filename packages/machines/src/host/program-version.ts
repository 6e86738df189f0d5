/** The version of a program that is installed. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const versionMsMax = 10_000;

/** Returns the line that a program prints about its version; null where it cannot run. */
export async function programVersion(path: string): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], {
      env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' },
      timeout: versionMsMax,
    });
    return stdout.split('\n', 1)[0]?.trim() ?? '';
  } catch {
    return null;
  }
}
