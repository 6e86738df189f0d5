import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRoot } from '../host/users.ts';
import { machineArguments, machineCommand, probeCommand, type MachineShape, type QemuOptions } from './command.ts';

const image = {
  id: 'image',
  folder: '/images/image',
  createdAt: new Date(0),
  chromiumVersion: '156',
  paths: {
    kernel: '/images/image/kernel',
    initramfs: '/images/image/initramfs',
    root: '/images/image/root.erofs',
    agent: '/images/image/agent.erofs',
  },
};
const emulated: MachineShape = {
  qemuPath: '/usr/bin/qemu-system-x86_64',
  image,
  accelerator: 'tcg',
  memoryMb: 1024,
  cpus: 2,
  kvmGroup: null,
};
const options = (overrides: Partial<QemuOptions> = {}): QemuOptions => ({
  shape: emulated,
  memory: 'clone',
  uid: 1_900_000_001,
  environment: { BERTH_VM: 'vm_1' },
  ...overrides,
});
const inOneLine = (overrides: Partial<QemuOptions> = {}): string => machineCommand(options(overrides)).args.join(' ');

test('QEMU has its own namespaces, no network, and dies with the worker', () => {
  const jail = inOneLine().split(' -- ')[0] ?? '';
  for (const wall of ['--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts', '--die-with-parent', '--cap-drop ALL'])
    assert.ok(jail.includes(wall), wall);
});

test('QEMU sees programs and the image, all of it read-only, and nothing else of the host', () => {
  const { args } = machineCommand(options());
  const writable = args.flatMap((arg, i) => (['--bind', '--bind-try', '--tmpfs', '--dir-bind'].includes(arg) ? [args[i + 1]] : []));
  assert.deepEqual(writable, []);
  const devices = args.flatMap((arg, i) => (arg === '--dev-bind' ? [args[i + 1]] : []));
  assert.deepEqual(devices, ['/dev/null', '/dev/zero', '/dev/urandom']);
  const shown = args.flatMap((arg, i) => (arg.startsWith('--ro-bind') ? [args[i + 1] ?? ''] : []));
  assert.ok(
    shown.every((path) => /^\/(usr|bin|sbin|lib|lib64|etc\/ld[.]so[.]cache|etc\/alternatives|images\/image\/[\w.]+)/.test(path)),
    shown.join(' '),
  );
  assert.ok(inOneLine().includes('--remount-ro /'));
});

test('QEMU runs as an unprivileged user, with its own seccomp filter', () => {
  const line = inOneLine();
  for (const flag of ['--no-new-privs', '--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all', '--pdeathsig=KILL'])
    assert.ok(line.includes(flag), flag);
  if (isRoot()) assert.match(line, /--reuid 1900000001 --regid 1900000001 --clear-groups/);
  assert.match(line, /-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny/);
});

test('a machine has no network card, no shared folder, no display and no default devices', () => {
  const line = machineArguments(emulated).join(' ');
  assert.match(line, /^-nodefaults -no-user-config -display none/);
  assert.doesNotMatch(line, / -(net|netdev|nic|vnc|usb|vga|monitor|gdb|fsdev|virtfs|daemonize) /);
  const devices = machineArguments(emulated).filter((_, i, all) => all[i - 1] === '-device');
  assert.deepEqual(
    devices.map((device) => device.split(',')[0]),
    ['virtio-blk-pci', 'virtio-blk-pci', 'virtio-serial-pci', 'virtserialport', 'virtserialport'],
  );
});

test('disks are read-only, the console is bounded, and a guest that ends is paused until its output is read', () => {
  const line = inOneLine();
  assert.equal(line.match(/driver=file,[^ ]*read-only=on,auto-read-only=off/g)?.length, 2);
  assert.match(line, /ringbuf,id=serial,size=65536/);
  assert.match(line, /-action reboot=shutdown,shutdown=pause/);
});

test('a clone copies what it writes to, a template is written to, and a machine without a template has no memory file', () => {
  assert.match(inOneLine({ memory: 'clone' }), /memory-backend-file,[^ ]*mem-path=\/proc\/self\/fd\/6,share=off -incoming defer$/);
  assert.match(inOneLine({ memory: 'template' }), /memory-backend-file,[^ ]*mem-path=\/proc\/self\/fd\/6,share=on$/);
  assert.match(inOneLine({ memory: 'own' }), /memory-backend-ram,id=memory,size=1024M$/);
});

test('a template and its clones have the same QEMU arguments except for their memory', () => {
  const machine = (memory: QemuOptions['memory']): string => inOneLine({ memory }).replace(/ -object .*/, '');
  assert.equal(machine('clone'), machine('template'));
});

test('under KVM a machine gets the device and its group, and the processor as it is', () => {
  const line = inOneLine({ shape: { ...emulated, accelerator: 'kvm', kvmGroup: 108 } });
  assert.match(line, /--dev-bind \/dev\/kvm \/dev\/kvm/);
  assert.match(line, /-accel kvm -cpu host -m 1024M -smp 2/);
  if (isRoot()) assert.match(line, /--regid 1900000001 --groups 108/);
});

test('under emulation the translated code that QEMU keeps is bounded', () => {
  assert.match(inOneLine(), /-accel tcg,tb-size=\d+/);
});

test('a machine that probes KVM has the kernel and its first program, and neither disks nor ports', () => {
  const line = probeCommand({ shape: emulated, uid: 1_900_000_001 }).args.join(' ');
  assert.match(line, /berth[.]probe/);
  assert.doesNotMatch(line, /virtio|mode=control/);
  assert.match(line, /-chardev socket,id=serial,fd=4 -serial chardev:serial/);
});

test('the outermost process of QEMU has the given environment, and nothing of the service’s', () => {
  assert.deepEqual(Object.keys(machineCommand(options()).env).toSorted(), ['BERTH_VM', 'LANG', 'PATH']);
});
