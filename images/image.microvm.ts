/** Checks of a built image: what is in it, what is not, and that machines boot from it. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { digestOf } from './files/digest.ts';
import { packErofs } from './files/erofs.ts';
import type { ImageManifest, Layers } from './layers.ts';
import type { Sbom } from './packages/sbom.ts';
import { listFiles, walk } from './files/walk.ts';

const imagesDir = process.env['BERTH_IMAGES_DIR'];
if (!imagesDir || !existsSync(join(imagesDir, 'current/image.json')))
  throw new Error('BERTH_IMAGES_DIR has no image. Build one with npm run image.');

const image = realpathSync(join(imagesDir, 'current'));
const manifest = JSON.parse(readFileSync(join(image, 'image.json'), 'utf8')) as ImageManifest;
const sbom = JSON.parse(readFileSync(join(image, 'sbom.json'), 'utf8')) as Sbom;
const { root: rootLayer, boot: bootLayer } = JSON.parse(readFileSync(join(image, 'layers.json'), 'utf8')) as Layers;
const signal = new AbortController().signal;

/** Three seconds where nothing else runs; emulated beside others it may take a minute. */
const bootMsMax = 180_000;
const unpackedBytesMax = 900e6;

describe('the image', () => {
  const work = mkdtempSync(join(tmpdir(), 'image-'));
  const root = join(work, 'root');
  before(() => execFileSync('fsck.erofs', [`--extract=${root}`, join(image, 'root.erofs')], { stdio: 'ignore' }));
  after(() => rmSync(work, { recursive: true, force: true }));

  it('the image is within its size limit', () =>
    assert.ok(manifest.bytes.unpacked <= unpackedBytesMax, `${manifest.bytes.unpacked} bytes`));

  it('the image holds what its description says', async () => {
    const files = { kernel: 'kernel', initramfs: 'initramfs', root: 'root.erofs', agent: 'agent.erofs' } as const;
    for (const [name, file] of Object.entries(files))
      assert.equal(await digestOf(join(image, file)), manifest.sha256[name as keyof typeof files], file);
    // Templates in the same folder are readable by the service only.
    const built = listFiles(image).filter((path) => !path.startsWith('templates/'));
    assert.ok(built.every((path) => (lstatSync(join(image, path)).mode & 0o777) === 0o644));
  });

  it('the image lists every package that is in it, each with a licence that is there', () => {
    const listed = sbom.components.filter(({ purl }) => purl?.startsWith('pkg:deb/'));
    assert.equal(listed.length, manifest.packages);
    const names = new Set(listed.map(({ name, version }) => `${name} ${version}`));
    for (const { name, version } of [...rootLayer.packages, ...bootLayer.packages]) assert.ok(names.has(`${name} ${version}`), name);
    for (const name of ['node', 'zod', '@berth/guest', '@berth/contract'])
      assert.ok(
        sbom.components.some((each) => each.name === name),
        name,
      );
    const licences = listed.flatMap(({ properties = [] }) =>
      properties.filter(({ name }) => name === 'berth:licence-file').map(({ value }) => value),
    );
    assert.ok(licences.length >= listed.length - 2);
    for (const path of licences) assert.ok(existsSync(join(root, path)), path);
  });

  it('the image has the libraries of all that it runs', () => {
    const programs = [
      '/usr/lib/chromium/chromium',
      '/usr/bin/Xtigervnc',
      '/usr/bin/xkbcomp',
      '/usr/bin/openbox',
      '/usr/bin/ip',
      '/usr/bin/tini',
      '/usr/bin/perl',
      '/usr/bin/setpriv',
    ];
    const inside = [
      '--ro-bind',
      root,
      '/',
      '--proc',
      '/proc',
      '--dev',
      '/dev',
      '--tmpfs',
      '/tmp',
      '--unshare-all',
      '--',
      '/usr/bin/ldd',
      ...programs,
    ];
    const needed = execFileSync('bwrap', inside, { encoding: 'utf8' });
    assert.deepEqual(needed.match(/.*not found.*/g), null);
    for (const font of ['NotoSansCJK', 'NotoColorEmoji', 'NotoSansDevanagariUI', 'DejaVuSans', 'LiberationSans'])
      assert.ok(
        listFiles(join(root, 'usr/share/fonts')).some((path) => path.includes(font)),
        font,
      );
  });

  it('the image holds nothing of the host that built it, no key and no password', () => {
    for (const path of ['etc/resolv.conf', 'etc/apt', 'var/lib/apt', 'var/lib/dpkg', 'root', 'usr/local/bin', 'etc/ssh'])
      assert.ok(!existsSync(join(root, path)), path);
    assert.equal(readlinkSync(join(root, 'etc/machine-id')), '/run/machine-id');
    assert.ok(
      readFileSync(join(root, 'etc/shadow'), 'utf8')
        .trim()
        .split('\n')
        .every((line) => line.split(':')[1] === '!*'),
    );
    const texts = listFiles(root).filter((path) => lstatSync(join(root, path)).size < 1024 ** 2);
    assert.deepEqual(
      texts.filter((path) => /^-----BEGIN [A-Z ]*PRIVATE KEY-----/m.test(readFileSync(join(root, path), 'latin1'))),
      [],
    );
  });

  it('the image has no setuid program', () => {
    const setuid = [...walk(root)].filter(
      ({ path, entry }) => !entry.isSymbolicLink() && (lstatSync(join(root, path)).mode & 0o7000) !== 0,
    );
    assert.deepEqual(
      setuid.map(({ path }) => path),
      [],
    );
  });

  it('a machine of the image answers the probe, and ends', async () => {
    const { console, code } = await boot(['-append', 'console=ttyS0 quiet panic=-1 berth.probe']);
    assert.match(console, /BERTH-PROBE-OK/);
    assert.equal(code, 0);
  });

  it('a machine of the image reports a missing disk, and ends', async () => {
    const { console, code } = await boot(['-append', 'console=ttyS0 quiet panic=-1']);
    assert.match(console, /BERTH-BOOT-FAILED no disk [/]dev[/]vda/);
    assert.equal(code, 0);
  });

  it('a machine of the image is bounded, and closed to its browser', async () => {
    const agent = join(work, 'agent.erofs');
    await packInside(join(work, 'agent'), agent);
    const ports = [
      '-device',
      'virtio-serial-pci',
      '-chardev',
      'null,id=nobody',
      '-device',
      'virtserialport,chardev=nobody,name=berth.control',
    ];
    const { console } = await boot([
      '-append',
      'console=ttyS0 quiet panic=-1',
      ...disk(join(image, 'root.erofs')),
      ...disk(agent),
      ...ports,
    ]);
    const line = /^INSIDE (.*)$/m.exec(console)?.[1];
    assert.ok(line, console);
    const { memoryBytes, boundedBytes, addresses, routes, machineId, bootId, ...rest } = JSON.parse(line) as Record<string, unknown>;
    assert.ok(Number(boundedBytes) < 0.75 * Number(memoryBytes), `${String(boundedBytes)} of ${String(memoryBytes)}`);
    assert.match(String(addresses), /^eth0\S* +UP +10[.]255[.]255[.]2/m);
    assert.match(String(routes), /^default via 10[.]255[.]255[.]1 dev eth0/m);
    assert.equal(machineId, String(bootId).replaceAll('-', ''));
    assert.deepEqual(rest, {
      rootWritesTo: [],
      browserWritesTo: ['/downloads', '/home/browser', '/run/display', '/tmp', '/dev/shm'],
      browserReadsPorts: false,
      browserReadsShadow: false,
      browserHasUserNamespaces: true,
      browserDumpsCores: false,
      oneMemoryForFiles: true,
      settings: {
        core_pattern: '/dev/null',
        dmesg_restrict: '1',
        kexec_load_disabled: '1',
        modules_disabled: '1',
        sysrq: '0',
        unprivileged_userns_clone: '1',
        watchdog: '0',
      },
      firstProcess: '/usr/bin/tini',
      hasNameServer: false,
    });
  });
});

const disk = (path: string): string[] => [
  '-drive',
  `if=none,id=d${path.length},file=${path},format=raw,readonly=on`,
  '-device',
  `virtio-blk-pci,drive=d${path.length}`,
];

/** Runs a machine under emulation until it ends by itself. */
async function boot(more: string[]): Promise<{ console: string; code: number | null }> {
  const shape = [
    '-nodefaults',
    '-no-user-config',
    '-display',
    'none',
    '-no-reboot',
    '-M',
    'q35,usb=off',
    '-accel',
    'tcg',
    '-cpu',
    'max',
    '-m',
    '1024',
  ];
  const files = ['-kernel', join(image, 'kernel'), '-initrd', join(image, 'initramfs'), '-serial', 'stdio'];
  const machine: ChildProcess = spawn('qemu-system-x86_64', [...shape, ...files, ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
  let console = '';
  machine.stdout?.on('data', (chunk: Buffer) => (console += chunk.toString().replaceAll('\r', '')));
  const deadline = setTimeout(() => machine.kill('SIGKILL'), bootMsMax);
  const code = await new Promise<number | null>((resolve, reject) => machine.once('error', reject).once('close', resolve));
  clearTimeout(deadline);
  return { console, code };
}

/** Packs an agent disk with a test program in place of the agent. The machine ends with it. */
async function packInside(folder: string, file: string): Promise<void> {
  mkdirSync(join(folder, 'packages/guest/src'), { recursive: true });
  mkdirSync(join(folder, 'bin'));
  copyFileSync(process.execPath, join(folder, 'bin/node'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  copyFileSync(join(import.meta.dirname, 'inside.fixture.ts'), join(folder, 'packages/guest/src/main.ts'));
  await packErofs(folder, file, signal);
}
