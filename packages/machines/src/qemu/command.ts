/**
 * Command line of a virtual machine and its jail.
 *
 * QEMU isolates a compromised machine from this host, so it runs in a jail itself:
 * its own namespaces without a network, its own unprivileged user, no
 * capabilities, its seccomp filter, and read-only access to its programs and the
 * image. Everything else is passed as descriptors that are open before it starts.
 *
 * The chain is bubblewrap, its first process inside, QEMU. The kernel ends each
 * link when its parent dies, and the first with the worker.
 */
import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { guestPorts } from '@berth/contract/guest';
import { sameAsHost, type Command } from '../process/jail.ts';
import { namespaces } from '../host/namespaces.ts';
import { asUser, isRoot, withoutPrivileges } from '../host/users.ts';
import type { Image } from './image.ts';

export type Accelerator = 'kvm' | 'tcg';

/** Settings shared by all machines of a service. */
export interface MachineShape {
  qemuPath: string;
  image: Image;
  accelerator: Accelerator;
  memoryMb: number;
  cpus: number;
  /** Group that may use /dev/kvm; null under emulation. */
  kvmGroup: number | null;
}

/** Guest memory. `own`: anonymous. `template`: a memory file that clones will map. `clone`: such a file, mapped copy-on-write. */
type MemorySource = 'own' | 'template' | 'clone';

export interface QemuOptions {
  shape: MachineShape;
  memory: MemorySource;
  uid: number;
  /** Environment of the outermost process, by which its processes are found. */
  environment: Record<string, string>;
}

/** Descriptor numbers in QEMU. The first three are sockets. */
export const descriptors = { qmp: 3, control: 4, egress: 5, memory: 6, state: 7 } as const;

/** The name of the console's buffer for QMP's `ringbuf-read`. */
export const serialBuffer = 'serial';
/** A power of two. Holds the kernel's last messages; older output is dropped. */
export const serialBytes = 64 * 1024;

/** Paths of the image inside the jail. */
const imageInside = {
  kernel: '/image/kernel',
  initramfs: '/image/initramfs',
  root: '/image/root.erofs',
  agent: '/image/agent.erofs',
} as const;

/** Cache for translated code under emulation. With less, the code of a page is evicted and translated again. */
export const translationMb = 512;

/** Command of a machine for sessions and templates. */
export function machineCommand(options: QemuOptions): Command {
  return jailed(options, [...machineArguments(options.shape), ...memoryArguments(options)]);
}

/** Command of a machine that prints a word on its console (descriptor 4) and ends, to test the accelerator. */
export function probeCommand({ shape, uid }: Pick<QemuOptions, 'shape' | 'uid'>): Command {
  const console = ['-chardev', `socket,id=serial,fd=${descriptors.control}`, '-serial', 'chardev:serial'];
  return jailed({ shape, memory: 'own', uid, environment: {} }, [
    ...boardArguments(shape, 'berth.probe'),
    ...console,
    ...memoryArguments({ shape, memory: 'own' }),
  ]);
}

/** Prints QEMU's version, which also proves that its jail can be built. */
export const versionCommand = (options: Pick<QemuOptions, 'shape' | 'uid'>): Command =>
  jailed({ ...options, memory: 'own', environment: {} }, ['--version'], []);

/** Must be the same for a template and its clones, as the saved state is that of these devices. */
export function machineArguments(shape: MachineShape): string[] {
  const port = (number: number, name: string, descriptor: number): string[] => [
    ...['-chardev', `socket,id=port${number},fd=${descriptor}`],
    ...['-device', `virtserialport,bus=ports.0,nr=${number},chardev=port${number},name=${name}`],
  ];
  const disk = (id: string, path: string): string[] => [
    ...['-blockdev', `driver=file,node-name=${id},filename=${path},read-only=on,auto-read-only=off`],
    ...['-device', `virtio-blk-pci,drive=${id},num-queues=1`],
  ];
  return [
    ...boardArguments(shape),
    ...disk('root', imageInside.root),
    ...disk('agent', imageInside.agent),
    ...['-chardev', `ringbuf,id=${serialBuffer},size=${serialBytes}`, '-serial', `chardev:${serialBuffer}`],
    ...['-chardev', `socket,id=qmp,fd=${descriptors.qmp}`, '-mon', 'chardev=qmp,mode=control'],
    ...['-device', 'virtio-serial-pci,id=ports,max_ports=3'],
    ...port(1, guestPorts.control, descriptors.control),
    ...port(2, guestPorts.egress, descriptors.egress),
  ];
}

/** A PC with the fewest devices possible, to reduce the attack surface. */
function boardArguments({ accelerator, memoryMb, cpus }: MachineShape, mode = ''): string[] {
  const kvm = accelerator === 'kvm';
  return [
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-action', 'reboot=shutdown,shutdown=pause'],
    ...['-M', 'q35,usb=off,smbus=off,sata=off,vmport=off,i8042=off,hpet=off,smm=off,dump-guest-core=off,memory-backend=memory'],
    ...(kvm ? ['-accel', 'kvm', '-cpu', 'host'] : ['-accel', `tcg,tb-size=${translationMb}`, '-cpu', 'max']),
    ...['-m', `${memoryMb}M`, '-smp', String(cpus)],
    ...['-kernel', imageInside.kernel, '-initrd', imageInside.initramfs],
    ...['-append', ['console=ttyS0 quiet panic=-1', mode].filter(Boolean).join(' ')],
    ...['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'],
  ];
}

function memoryArguments({ shape, memory }: Pick<QemuOptions, 'shape' | 'memory'>): string[] {
  const size = `size=${shape.memoryMb}M`;
  if (memory === 'own') return ['-object', `memory-backend-ram,id=memory,${size}`];
  const file = `memory-backend-file,id=memory,${size},mem-path=/proc/self/fd/${descriptors.memory}`;
  return memory === 'template' ? ['-object', `${file},share=on`] : ['-object', `${file},share=off`, '-incoming', 'defer'];
}

/**
 * Each link of the chain requests a parent-death signal, which comes too late if
 * the parent has already died. So QEMU starts only after all links have requested
 * it and the worker has then confirmed that it is alive. Core dumps are disabled,
 * as they would contain session data.
 */
const startWhenAllTied = ['/bin/sh', '-c', 'ulimit -c 0; echo; read -r word || exit 1; exec "$@" </dev/null >/dev/null', 'machine'];

function jailed({ shape, uid, environment }: QemuOptions, qemu: string[], first: string[] = startWhenAllTied): Command {
  return {
    program: 'bwrap',
    args: [
      ...namespaces(),
      ...fileSystem(shape),
      '--',
      ...first,
      'setpriv',
      ...user(shape, uid),
      ...withoutPrivileges,
      shape.qemuPath,
      ...qemu,
    ],
    env: { PATH: '/usr/bin:/usr/sbin:/bin:/sbin', LANG: 'C.UTF-8', ...environment },
  };
}

/** The only extra group is the one of /dev/kvm. Without root, our own groups stay. */
function user({ kvmGroup }: MachineShape, uid: number): string[] {
  if (kvmGroup === null || !isRoot()) return asUser(uid);
  return ['--reuid', String(uid), '--regid', String(uid), '--groups', String(kvmGroup)];
}

/** Read-only except /proc and three devices. */
function fileSystem({ qemuPath, image, accelerator }: MachineShape): string[] {
  const programs = ['/usr/bin', '/usr/sbin', '/usr/lib', '/usr/share'].flatMap((path) => ['--ro-bind', path, path]);
  const optional = ['/usr/lib64', '/etc/ld.so.cache', '/etc/alternatives'].flatMap((path) => ['--ro-bind-try', path, path]);
  const devices = ['null', 'zero', 'urandom', ...(accelerator === 'kvm' ? ['kvm'] : [])].flatMap((name) => [
    '--dev-bind',
    `/dev/${name}`,
    `/dev/${name}`,
  ]);
  const files = Object.entries(imageInside).flatMap(([name, path]) => ['--ro-bind', image.paths[name as keyof typeof imageInside], path]);
  const folder = dirname(qemuPath);
  const elsewhere = folder !== '/usr/bin' && lstatSync(folder, { throwIfNoEntry: false }) ? ['--ro-bind', folder, folder] : [];
  return [
    // Parent folders that bubblewrap creates for a mount would be closed to the machine's user.
    ...['/usr', '/etc', '/dev', '/image'].flatMap((path) => ['--dir', path]),
    ...programs,
    ...['/bin', '/sbin', '/lib', '/lib64'].flatMap(sameAsHost),
    ...optional,
    ...elsewhere,
    ...['--proc', '/proc', ...devices],
    ...files,
    ...['--chdir', '/', '--remount-ro', '/'],
  ];
}
