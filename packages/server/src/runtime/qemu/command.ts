/**
 * What a virtual machine is made of and what surrounds it.
 *
 * QEMU is the wall between a page that has taken over its whole machine and
 * this host, so it stands in a jail itself: namespaces of its own without a
 * network, an unprivileged user of its own, no capabilities, its own seccomp
 * filter, and of the host's files its programs and the image, read-only. All
 * else comes to it as descriptors that were open before it started.
 *
 * The chain is bubblewrap, its first process inside, QEMU. The kernel ends each
 * link when the one above dies, and the first with the worker.
 */
import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { guestPorts } from '@berth/contract/guest';
import { sameAsHost } from '../process/jail.ts';
import type { Command } from '../process/jail.ts';
import { asUser, isRoot, withoutPowers } from '../host/users.ts';
import type { Image } from './image.ts';

export type Accelerator = 'kvm' | 'tcg';

/** What all machines of a service have in common. */
export interface MachineShape {
  qemuPath: string;
  image: Image;
  accelerator: Accelerator;
  memoryMb: number;
  cpus: number;
  /** Group that may use /dev/kvm; null under emulation. */
  kvmGroup: number | null;
}

/** Where the memory of a machine comes from. `own`: nowhere. `template`: a memory file that is written for others to be cloned from. `clone`: such a file, copied as it is written to. */
export type MemorySource = 'own' | 'template' | 'clone';

export interface QemuOrder {
  shape: MachineShape;
  memory: MemorySource;
  uid: number;
  /** What the outermost process carries in its environment, to be found by. */
  marks: Record<string, string>;
}

/** Numbers that QEMU finds its descriptors at. The first three are sockets. */
export const descriptors = { qmp: 3, control: 4, egress: 5, memory: 6, state: 7 } as const;

/** The name of the console's buffer for QMP's `ringbuf-read`. */
export const serialBuffer = 'serial';
/** A power of two. The kernel's last words fit in; whatever else a guest prints falls out at the other end. */
export const serialBytes = 64 * 1024;

/** Where the files of the image are inside the jail. */
const imageInside = {
  kernel: '/image/kernel',
  initramfs: '/image/initramfs',
  root: '/image/root.erofs',
  agent: '/image/agent.erofs',
} as const;

/** Of translated code, under emulation: with less, what a page runs is thrown away and translated again. */
export const translationMb = 512;

/** A machine as it is for sessions and templates. */
export function machineCommand(order: QemuOrder): Command {
  return jailed(order, [...machineArguments(order.shape), ...memoryArguments(order)]);
}

/** A machine that says a word on its console, which is descriptor 4, and ends: to see whether the accelerator works. */
export function probeCommand({ shape, uid }: Pick<QemuOrder, 'shape' | 'uid'>): Command {
  const console = ['-chardev', `socket,id=serial,fd=${descriptors.control}`, '-serial', 'chardev:serial'];
  return jailed({ shape, memory: 'own', uid, marks: {} }, [
    ...boardArguments(shape, 'berth.probe'),
    ...console,
    ...memoryArguments({ shape, memory: 'own' }),
  ]);
}

/** Tells QEMU's version, and with that that this host lets its jail be built. */
export const versionCommand = (order: Pick<QemuOrder, 'shape' | 'uid'>): Command =>
  jailed({ ...order, memory: 'own', marks: {} }, ['--version'], []);

/** The same for a template and its clones: what is in a template's state are these devices. */
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

/** A PC without anything that a browser does not need: each device less is code less that a guest can speak to. */
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

function memoryArguments({ shape, memory }: Pick<QemuOrder, 'shape' | 'memory'>): string[] {
  const size = `size=${shape.memoryMb}M`;
  if (memory === 'own') return ['-object', `memory-backend-ram,id=memory,${size}`];
  const file = `memory-backend-file,id=memory,${size},mem-path=/proc/self/fd/${descriptors.memory}`;
  return memory === 'template' ? ['-object', `${file},share=on`] : ['-object', `${file},share=off`, '-incoming', 'defer'];
}

/**
 * Each link of the chain asks the kernel to be ended with the one above, and
 * would outlive one that is gone by then. So QEMU is started only when all have
 * asked, and the worker has said after that that it is still there. A core of
 * QEMU's would hold what a session did.
 */
const onceTied = ['/bin/sh', '-c', 'ulimit -c 0; echo; read -r word || exit 1; exec "$@" </dev/null >/dev/null', 'machine'];

function jailed({ shape, uid, marks }: QemuOrder, qemu: string[], first: string[] = onceTied): Command {
  return {
    program: 'bwrap',
    args: [
      ...namespaces(),
      ...fileSystem(shape),
      '--',
      ...first,
      'setpriv',
      ...user(shape, uid),
      ...withoutPowers,
      shape.qemuPath,
      ...qemu,
    ],
    env: { PATH: '/usr/bin:/usr/sbin:/bin:/sbin', LANG: 'C.UTF-8', ...marks },
  };
}

/** The group that may use KVM is all that is given beside the user. Without root, our own groups are kept. */
function user({ kvmGroup }: MachineShape, uid: number): string[] {
  if (kvmGroup === null || !isRoot()) return asUser(uid);
  return ['--reuid', String(uid), '--regid', String(uid), '--groups', String(kvmGroup)];
}

/** As root the user is changed inside; otherwise a user namespace gives the powers that building a jail takes. */
function namespaces(): string[] {
  const powers = ['CAP_SETPCAP', ...(isRoot() ? ['CAP_SETUID', 'CAP_SETGID'] : [])];
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

/** Nothing of it can be written to, /proc and three devices aside. */
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
    // Folders that a mount makes on its way would be closed to the machine's user.
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
