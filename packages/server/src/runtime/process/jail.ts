/**
 * What surrounds a browser: namespaces of its own for processes, network,
 * mounts, IPC and names; an unprivileged user of its own; a file system view
 * with programs and fonts in it and nothing of the host's.
 *
 * The chain is bubblewrap, a shell, Chromium; a display stands beside Chromium.
 * The kernel ends each link when the one above dies, and the process namespace
 * ends all the rest.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { chromiumFlags, vncSocket, withDisplay } from '@berth/guest';
import { asUser, isRoot, withoutPowers } from '../host/users.ts';

/** The port of the egress proxy inside every jail. */
export const jailProxyPort = 3128;
export const jailDownloadsPath = '/downloads';
export const jailUploadsPath = '/uploads';
const jailDisplayPath = '/display';

/** `sendmsg` by processor; the listener calls it by number. A processor that is not here has no jail. */
export const sendmsgNumbers: Partial<Record<NodeJS.Architecture, number>> = { x64: 46, arm64: 211 };

/** Sizes are ceilings of memory, taken only as they fill. Shared memory is what a large page needs most. */
const sharedMemoryBytes = 1024 ** 3;
const profileBytes = 512 * 1024 ** 2;
const temporaryBytes = 256 * 1024 ** 2;

export interface Command {
  program: string;
  args: string[];
  env: Record<string, string>;
}

export interface JailOrder {
  id: string;
  /** Digest of the data folder: tells our machines from those of another service on this host. */
  dataDigest: string;
  uid: number;
  hostDownloadsPath: string;
  hostUploadsPath: string;
  /** Where the display's socket is made; null for a browser without windows. */
  hostDisplayPath: string | null;
  chromiumPath: string;
}

/**
 * Both ends of the network cable are inside: a page finds itself online, and
 * there is nowhere to go. Set beside Chromium's start, which needs no network.
 * The inner brackets leave both to the jail's first process, which reaps them.
 */
const jailScript = `sendmsg=$1 listener=$2
shift 2
ulimit -c 0
( ip -batch - <<'LINK' &
link add eth0 type veth peer name eth1
link set eth1 up
link set eth0 up
addr add 10.255.255.2/30 dev eth0
route add default via 10.255.255.1 dev eth0
LINK
perl -e "$listener" "$sendmsg" & )
unset NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE
exec "$@" 4<&3`;

/** Without a jail only the DevTools pipe has to be laid: one socket, read on 3 and written on 4. */
const openScript = 'exec "$@" 4<&3';

export const canJailHere = (): boolean => sendmsgNumbers[process.arch] !== undefined;

/** The browser in a jail. Descriptors: 2 log, 3 DevTools, 4 Node's IPC channel. */
export function jailCommand(order: JailOrder, inside?: string[]): Command {
  const listener = readFileSync(new URL('./egress-listener.pl', import.meta.url), 'utf8');
  const profilePath = '/home/profile';
  const windows = order.hostDisplayPath !== null;
  const chromium = [
    order.chromiumPath,
    ...chromiumFlags({ proxyPort: jailProxyPort, profilePath, smallSharedMemory: false, jailed: true, windows }),
  ];
  const browser = windows ? withDisplay(chromium, { vnc: `${jailDisplayPath}/${vncSocket}`, profilePath }) : chromium;
  return {
    program: 'bwrap',
    args: [
      ...namespaces(),
      ...fileSystem(order),
      '--',
      ...['/bin/sh', '-c', jailScript, 'machine', String(sendmsgNumbers[process.arch]), listener],
      ...['setpriv', ...asUser(order.uid), ...withoutPowers],
      ...(inside ?? browser),
    ],
    env: environment(order, { home: '/home', temporary: '/tmp' }),
  };
}

/** As root the user is changed inside; otherwise a user namespace gives the powers that building a jail takes. */
function namespaces(): string[] {
  const powers = ['CAP_NET_ADMIN', 'CAP_SETPCAP', ...(isRoot() ? ['CAP_SETUID', 'CAP_SETGID'] : [])];
  return [
    ...(isRoot() ? [] : ['--unshare-user']),
    ...[
      '--unshare-pid',
      '--unshare-net',
      '--unshare-ipc',
      '--unshare-uts',
      '--unshare-cgroup-try',
      '--die-with-parent',
      '--hostname',
      'berth',
    ],
    ...['--cap-drop', 'ALL', ...powers.flatMap((power) => ['--cap-add', power])],
  ];
}

function fileSystem(order: JailOrder): string[] {
  const readOnly = ['/usr/bin', '/usr/sbin', '/usr/lib', '/usr/share'].flatMap((path) => ['--ro-bind', path, path]);
  const optional = [
    '/usr/lib64',
    '/usr/lib32',
    '/usr/local/share/fonts',
    '/etc/fonts',
    '/etc/ssl',
    '/etc/ld.so.cache',
    '/etc/localtime',
    '/etc/alternatives',
    '/var/cache/fontconfig',
  ];
  const devices = ['null', 'zero', 'full', 'random', 'urandom'].flatMap((name) => ['--dev-bind', `/dev/${name}`, `/dev/${name}`]);
  const memory = (path: string, bytes: number): string[] => ['--perms', '1777', '--size', String(bytes), '--tmpfs', path];
  const chromiumFolder = dirname(order.chromiumPath);
  return [
    // Folders that a mount makes on its way would be closed to the browser's user.
    ...['/usr', '/usr/local', '/usr/local/share', '/etc', '/dev', '/var', '/var/cache'].flatMap((path) => ['--dir', path]),
    ...readOnly,
    ...['/bin', '/sbin', '/lib', '/lib64'].flatMap(sameAsHost),
    ...optional.flatMap((path) => ['--ro-bind-try', path, path]),
    ...(chromiumFolder.startsWith('/usr/lib/') ? [] : ['--ro-bind', chromiumFolder, chromiumFolder]),
    // Its two processes would stay outside the machine's session, only to write reports that nobody reads.
    ...maskedCrashReporter(chromiumFolder),
    ...['--proc', '/proc', ...devices, '--symlink', '/proc/self/fd', '/dev/fd'],
    ...memory('/dev/shm', sharedMemoryBytes),
    ...memory('/tmp', temporaryBytes),
    ...memory('/home', profileBytes),
    ...['--bind', order.hostDownloadsPath, jailDownloadsPath],
    ...['--ro-bind', order.hostUploadsPath, jailUploadsPath],
    ...(order.hostDisplayPath === null ? [] : ['--bind', order.hostDisplayPath, jailDisplayPath]),
    ...['--chdir', '/home', '--remount-ro', '/'],
  ];
}

/** Most hosts have links here, older ones folders. */
export function sameAsHost(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return [];
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

function maskedCrashReporter(chromiumFolder: string): string[] {
  const reporter = `${chromiumFolder}/chrome_crashpad_handler`;
  return lstatSync(reporter, { throwIfNoEntry: false }) ? ['--ro-bind', '/dev/null', reporter] : [];
}

export interface OpenOrder extends Omit<JailOrder, 'hostDownloadsPath' | 'hostUploadsPath'> {
  workPath: string;
  proxyPort: number;
  smallSharedMemory: boolean;
}

/** The browser without a jail: a user of its own where we may change it, and the proxy by flags alone. */
export function openCommand(order: OpenOrder): Command {
  const profilePath = `${order.workPath}/profile`;
  const windows = order.hostDisplayPath !== null;
  const chromium = [order.chromiumPath, ...chromiumFlags({ ...order, profilePath, jailed: false, windows })];
  const browser = windows ? withDisplay(chromium, { vnc: `${order.hostDisplayPath}/${vncSocket}`, profilePath }) : chromium;
  return {
    program: 'setpriv',
    args: [...asUser(order.uid), '--no-new-privs', '--pdeathsig=KILL', '/bin/sh', '-c', openScript, 'machine', ...browser],
    env: environment(order, { home: order.workPath, temporary: `${order.workPath}/tmp` }),
  };
}

function environment(order: { id: string; dataDigest: string }, paths: { home: string; temporary: string }): Record<string, string> {
  return {
    PATH: '/usr/bin:/usr/sbin:/bin:/sbin',
    HOME: paths.home,
    TMPDIR: paths.temporary,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    BERTH_VM: order.id,
    BERTH_DATA: order.dataDigest,
  };
}

/** In a group and session of its own; descriptor 2 is the log, 3 the DevTools pipe, 4 brings the egress listener. */
export function spawnCommand({ program, args, env }: Command): ChildProcess {
  return spawn(program, args, { env, cwd: '/', detached: true, stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'ipc'] });
}
