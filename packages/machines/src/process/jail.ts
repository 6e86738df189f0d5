/**
 * The jail around a browser: its own namespaces for processes, network, mounts,
 * IPC and host name; its own unprivileged user; a file system with programs and
 * fonts only.
 *
 * The chain is bubblewrap, a shell, Chromium; a display runs beside Chromium. The
 * kernel ends each link when its parent dies, and the process namespace ends the
 * rest.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { chromiumFlags, chromiumPolicyFile, chromiumPolicyPaths, vncSocket, withDisplay } from '@berth/guest';
import { confined } from '../host/confine.ts';
import { namespaces } from '../host/namespaces.ts';
import { asUser, withoutPrivileges } from '../host/users.ts';

/** The port of the egress proxy inside every jail. */
const jailProxyPort = 3128;
export const jailDownloadsPath = '/downloads';
export const jailUploadsPath = '/uploads';
const jailDisplayPath = '/display';

/** System call numbers of `sendmsg`, for the egress listener. Other architectures have no jail. */
export const sendmsgNumbers: Partial<Record<NodeJS.Architecture, number>> = { x64: 46, arm64: 211 };

/** Limits of tmpfs mounts, allocated only as they fill. Large pages need shared memory most. */
const sharedMemoryBytes = 1024 ** 3;
const profileBytes = 512 * 1024 ** 2;
const temporaryBytes = 256 * 1024 ** 2;

/**
 * Where Chromium finds Yama, which the kernels of Debian and Ubuntu have, it asks
 * the crash reporter for its number and ends with SIGTRAP if there is no answer.
 * Hidden, Yama stays in force.
 */
const yamaPath = '/proc/sys/kernel/yama';

export interface Command {
  program: string;
  args: string[];
  env: Record<string, string>;
}

interface JailOptions {
  id: string;
  /** Digest of the data folder: separates our machines from those of another service on this host. */
  dataDigest: string;
  uid: number;
  hostDownloadsPath: string;
  hostUploadsPath: string;
  /** Folder of the display's socket; null for a browser without windows. */
  hostDisplayPath: string | null;
  chromiumPath: string;
}

/**
 * Both ends of the veth pair are inside: pages are online, but nothing outside is
 * reachable. It is set up in parallel with Chromium's start, which needs no
 * network. The subshell reparents both to the jail's first process, which reaps them.
 * Without IPv6 addresses of the link, which come a second later and with which
 * Chromium fails what is loading (ERR_NETWORK_CHANGED). Not every kernel can.
 */
const jailScript = `sendmsg=$1 listener=$2
shift 2
ulimit -c 0
( ip -force -batch - <<'LINK' 2>/dev/null &
link add eth0 type veth peer name eth1
link set eth0 addrgenmode none
link set eth1 addrgenmode none
link set eth1 up
link set eth0 up
addr add 10.255.255.2/30 dev eth0
route add default via 10.255.255.1 dev eth0
LINK
perl -e "$listener" "$sendmsg" & )
unset NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE
exec "$@" 4<&3`;

/** Script of a browser without a jail. It only sets up the DevTools pipe: one socket, read on 3 and written on 4. */
const unjailedScript = 'exec "$@" 4<&3';

export const canJailHere = (): boolean => sendmsgNumbers[process.arch] !== undefined;

/** Command of a browser in a jail. Descriptors: 2 log, 3 DevTools, 4 Node's IPC channel. */
export function jailCommand(options: JailOptions, inside?: string[]): Command {
  const listener = readFileSync(new URL('./egress-listener.pl', import.meta.url), 'utf8');
  const profilePath = '/home/profile';
  const windows = options.hostDisplayPath !== null;
  const chromium = [
    options.chromiumPath,
    ...chromiumFlags({ proxyPort: jailProxyPort, profilePath, smallSharedMemory: false, jailed: true, windows }),
  ];
  const browser = windows ? withDisplay(chromium, { vnc: `${jailDisplayPath}/${vncSocket}`, profilePath }) : chromium;
  return {
    program: 'bwrap',
    args: [
      ...namespaces(['CAP_NET_ADMIN']),
      ...fileSystem(options),
      '--',
      ...['/bin/sh', '-c', jailScript, 'machine', String(sendmsgNumbers[process.arch]), listener],
      ...['setpriv', ...asUser(options.uid), ...withoutPrivileges],
      ...(inside ?? browser),
    ],
    env: environment(options, { home: '/home', temporary: '/tmp' }),
  };
}

function fileSystem(options: JailOptions): string[] {
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
  const chromiumFolder = dirname(options.chromiumPath);
  return [
    // Parent folders that bubblewrap creates for a mount would be closed to the browser's user.
    ...['/usr', '/usr/local', '/usr/local/share', '/etc', '/dev', '/var', '/var/cache'].flatMap((path) => ['--dir', path]),
    ...readOnly,
    ...['/bin', '/sbin', '/lib', '/lib64'].flatMap(sameAsHost),
    ...optional.flatMap((path) => ['--ro-bind-try', path, path]),
    ...chromiumPolicyPaths.flatMap(boundPolicy),
    ...(chromiumFolder.startsWith('/usr/lib/') ? [] : ['--ro-bind', chromiumFolder, chromiumFolder]),
    // The crash reporter's two processes would run outside the machine's session, for reports that nobody reads.
    ...maskedCrashReporter(chromiumFolder),
    ...['--proc', '/proc', ...hiddenFolder(yamaPath), ...devices, '--symlink', '/proc/self/fd', '/dev/fd'],
    ...memory('/dev/shm', sharedMemoryBytes),
    ...memory('/tmp', temporaryBytes),
    ...memory('/home', profileBytes),
    ...['--bind', options.hostDownloadsPath, jailDownloadsPath],
    ...['--ro-bind', options.hostUploadsPath, jailUploadsPath],
    ...(options.hostDisplayPath === null ? [] : ['--bind', options.hostDisplayPath, jailDisplayPath]),
    ...['--chdir', '/home', '--remount-ro', '/'],
  ];
}

/** bubblewrap would close the folders that it creates to the browser's user. */
function boundPolicy(path: string): string[] {
  const folders = path.split('/').slice(2, -1);
  const parents = folders.map((_, at) => `/etc/${folders.slice(0, at + 1).join('/')}`);
  return [...parents.flatMap((folder) => ['--dir', folder]), '--ro-bind', chromiumPolicyFile, path];
}

/** Recreates a path of the host as a link or a bind mount: most hosts have links here, older ones folders. */
export function sameAsHost(path: string): string[] {
  const link = lstatSync(path, { throwIfNoEntry: false });
  if (!link) return [];
  return link.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

function maskedCrashReporter(chromiumFolder: string): string[] {
  const reporter = `${chromiumFolder}/chrome_crashpad_handler`;
  return lstatSync(reporter, { throwIfNoEntry: false }) ? ['--ro-bind', '/dev/null', reporter] : [];
}

/** Covers a folder, where the host has it, with one that is empty and stays so. */
export function hiddenFolder(path: string): string[] {
  return lstatSync(path, { throwIfNoEntry: false }) ? ['--tmpfs', path, '--remount-ro', path] : [];
}

interface UnjailedOptions extends Omit<JailOptions, 'hostDownloadsPath' | 'hostUploadsPath'> {
  workPath: string;
  proxyPort: number;
  smallSharedMemory: boolean;
}

/** Command of a browser without a jail: its own user where we may change it, and the proxy set by flags only. */
export function unjailedCommand(options: UnjailedOptions): Command {
  const profilePath = `${options.workPath}/profile`;
  const windows = options.hostDisplayPath !== null;
  const chromium = [options.chromiumPath, ...chromiumFlags({ ...options, profilePath, jailed: false, windows })];
  const browser = windows ? withDisplay(chromium, { vnc: `${options.hostDisplayPath}/${vncSocket}`, profilePath }) : chromium;
  return {
    program: 'setpriv',
    args: [...asUser(options.uid), '--no-new-privs', '--pdeathsig=KILL', '/bin/sh', '-c', unjailedScript, 'machine', ...browser],
    env: environment(options, { home: options.workPath, temporary: `${options.workPath}/tmp` }),
  };
}

function environment(options: { id: string; dataDigest: string }, paths: { home: string; temporary: string }): Record<string, string> {
  return {
    PATH: '/usr/bin:/usr/sbin:/bin:/sbin',
    HOME: paths.home,
    TMPDIR: paths.temporary,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    BERTH_VM: options.id,
    BERTH_DATA: options.dataDigest,
  };
}

/**
 * Starts in its own process group and session, and in these control groups. Descriptor 2 is the log, 3 the DevTools pipe,
 * 4 receives the egress listener.
 */
export function spawnCommand(command: Command, groups: readonly string[] = []): ChildProcess {
  const { program, args, env } = confined(command, groups);
  return spawn(program, args, { env, cwd: '/', detached: true, stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'ipc'] });
}
