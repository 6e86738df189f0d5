/** Runs in place of the agent and prints properties of the machine on the console, as one line of JSON. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';

const browser = ['--reuid', '1000', '--regid', '1000', '--clear-groups', '--no-new-privs'];
const asBrowser = (command: string): boolean => spawnSync('setpriv', [...browser, '/bin/sh', '-c', command]).status === 0;
const read = (path: string): string => readFileSync(path, 'utf8').trim();
const bytesOf = (path: string): number => statfsSync(path).blocks * statfsSync(path).bsize;

function canWrite(path: string): boolean {
  try {
    writeFileSync(`${path}/trial`, '');
    return true;
  } catch {
    return false;
  }
}

const settings = [
  'core_pattern',
  'dmesg_restrict',
  'kexec_load_disabled',
  'modules_disabled',
  'sysrq',
  'unprivileged_userns_clone',
  'watchdog',
];

const report = {
  memoryBytes: totalmem(),
  boundedBytes: ['/dev/shm', '/run', '/mnt'].reduce((sum, path) => sum + bytesOf(path), 0),
  rootWritesTo: ['/', '/etc', '/usr', '/opt/berth'].filter(canWrite),
  browserWritesTo: ['/', '/etc', '/run', '/uploads', '/home', '/downloads', '/home/browser', '/run/display', '/tmp', '/dev/shm'].filter(
    (path) => asBrowser(`touch ${path}/of-browser`),
  ),
  browserReadsPorts: asBrowser('cat /dev/vport*'),
  browserReadsShadow: asBrowser('cat /etc/shadow'),
  browserHasUserNamespaces: asBrowser('unshare --user --pid --net true'),
  browserDumpsCores: asBrowser('[ "$(ulimit -c)" != 0 ]'),
  oneMemoryForFiles: new Set(['/tmp', '/home', '/downloads', '/uploads'].map((path) => statSync(path).dev)).size === 1,
  addresses: spawnSync('ip', ['-brief', 'address']).stdout.toString(),
  routes: spawnSync('ip', ['route']).stdout.toString(),
  machineId: read('/etc/machine-id'),
  bootId: read('/proc/sys/kernel/random/boot_id'),
  settings: Object.fromEntries(settings.map((name) => [name, read(`/proc/sys/kernel/${name}`)])),
  firstProcess: read('/proc/1/cmdline').split('\0')[0],
  hasNameServer: existsSync('/etc/resolv.conf'),
};

console.log(`INSIDE ${JSON.stringify(report)}`);
