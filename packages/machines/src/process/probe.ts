/** Tests which isolation this host allows, before the first browser is started. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { displayPrograms } from '@berth/guest';
import { canJailHere, jailCommand, spawnCommand } from './jail.ts';
import { asUser, isRoot } from '../host/users.ts';
import { vmKinds, type VmKind } from '../runtime.ts';

export interface HostCapabilities {
  jail: boolean;
  /** Those of which machines can be started. */
  kinds: readonly VmKind[];
  warnings: string[];
  /** Why no browser can be started at all. */
  refusal?: string;
}

interface HostProbeOptions {
  jail?: 'auto' | 'none';
  dataDigest: string;
  uid: number;
  chromiumPath: string;
  /** What a display needs. Default: the programs that machines start. */
  programs?: readonly string[];
}

/** Time limit for an empty jail. A slower host cannot serve browsers. */
const probeTimeoutMs = 10_000;

const noJail = (reason: string): string =>
  `Browsers run without a jail (${reason}). Not isolated: the network (only Chromium's flags send its connections to the gate, and ` +
  `other programs of this host can reach the gate's port), the file system (a browser reads what its user may read) and the ` +
  `process list. A browser that is frozen when its worker is killed remains until the next start.`;

/** The namespaces that Chromium's sandbox creates. If one is refused, no page can be opened. */
const sandboxTrial = ['unshare', '--user', '--pid', '--net', 'true'];

export async function probeHost(options: HostProbeOptions): Promise<HostCapabilities> {
  const warnings: string[] = [];
  if (!isRoot()) warnings.push('Not started as root: all browsers share the user of this service.');
  const missing = (options.programs ?? displayPrograms).filter((path) => !existsSync(path));
  const kinds = vmKinds.filter((kind) => kind !== 'full_browser' || missing.length === 0);
  if (missing.length > 0) warnings.push(`Sessions of the kind full_browser cannot be started: ${missing.join(', ')} is missing.`);
  const failure = options.jail === 'none' ? 'disabled by configuration' : await tryJail(options);
  if (failure === undefined) return { jail: true, kinds, warnings };
  if (await canSandbox(options.uid)) return { jail: false, kinds, warnings: [...warnings, noJail(failure)] };
  const refusal =
    `No browser can be started: this host refuses unprivileged user, process or network namespaces, which Chromium's sandbox ` +
    `requires. Allow them (sysctl user.max_*_namespaces, kernel.unprivileged_userns_clone, or the container's seccomp profile) ` +
    `and start again. The jail failed as well: ${failure}.`;
  return { jail: false, kinds, warnings: [...warnings, refusal], refusal };
}

/**
 * Builds a complete jail around a shell that creates the namespaces of Chromium's
 * sandbox and then waits until the worker has the egress listener. Returns what
 * failed.
 */
async function tryJail(options: HostProbeOptions): Promise<string | undefined> {
  if (!canJailHere()) return `the architecture ${process.arch} is not supported`;
  const folder = await mkdtemp(join(tmpdir(), 'berth-probe-'));
  const child = spawnCommand(
    jailCommand({ ...options, id: 'vm_probe', hostDownloadsPath: folder, hostUploadsPath: folder, hostDisplayPath: null }, [
      '/bin/sh',
      '-c',
      `${sandboxTrial.join(' ')} && read -r line <&3`,
    ]),
  );
  const pipe = child.stdio[3] as Socket;
  let problems = '';
  pipe.on('error', () => {});
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    problems = (problems + text).slice(-500);
  });
  child.once('message', (_message, server) => {
    if (server instanceof Server) server.close(() => pipe.write('\n'));
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), probeTimeoutMs);
  const ended = new Promise<number | null>((resolve) =>
    child.once('error', (error) => resolve(((problems += error.message), null))).once('close', resolve),
  );
  const code = await ended;
  clearTimeout(timer);
  pipe.destroy();
  await rm(folder, { recursive: true, force: true });
  return code === 0 ? undefined : `bubblewrap could not build one: ${problems.trim() || `code ${code}`}`;
}

async function canSandbox(uid: number): Promise<boolean> {
  const child = spawn('setpriv', [...asUser(uid), '--no-new-privs', ...sandboxTrial], { stdio: 'ignore' });
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code === 0;
  } catch {
    // setpriv is missing.
    return false;
  }
}
