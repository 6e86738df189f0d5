/** Effects of a compromised machine on its host, and what remains of a machine after its end. */
import assert from 'node:assert/strict';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { execFileSync } from 'node:child_process';
import { silentLog } from '@berth/lib/log.ts';
import { CdpClient, bootSignal, newVmSpec } from '../../testing/runtime-suite.ts';
import type { Runtime, Vm } from '../runtime.ts';
import { evaluate } from '../../testing/machines.ts';
import { copyImage, firstBootMsMax, imagesDir, newDataDir, optionsFor, qemuOf, residueOf } from '../../testing/microvm.ts';
import { createQemuRuntime } from './qemu.ts';

/** Replaces Node and thereby the whole agent, as root of the machine. */
const hostileAgents: Record<string, { script: string; expected: RegExp }> = {
  'floods its console and its ports': {
    script: `
      my @ports = map { m{([^/]+)$} } glob '/sys/class/virtio-ports/*';
      sub named { my $wanted = shift; grep { my $name = qx(cat /sys/class/virtio-ports/$_/name); $name =~ /^$wanted$/ } @ports }
      my ($control) = named('berth.control');
      my ($egress) = named('berth.egress');
      my $flood = 'A' x 65536;
      for my $path ('/dev/console', "/dev/$egress") { next if fork; open my $out, '>', $path or exit; while (1) { syswrite $out, $flood } }
      open my $port, '+<', "/dev/$control" or die "port: $!";
      while (1) { syswrite $port, $flood }`,
    expected: /bad client magic|Protocol error/,
  },
  'starts over and over': {
    script: `syscall 169, 0xfee1dead, 672274793, 0x01234567, 0; sleep 600;`,
    expected: /the machine ended|reboot: Restarting system/,
  },
};

/** Maximum growth of this process's memory in bytes, while machines send gigabytes. */
const memoryGrowthMax = 200 * 1024 ** 2;
/** The log of a failure has the last lines of QEMU and of the console, 4 KiB each, in whatever is wrapped around them. */
const logBytesMax = 64 * 1024;

describe('a compromised machine', () => {
  const dataDir = newDataDir();
  after(() => rmSync(dataDir, { recursive: true }));

  for (const [what, { script, expected }] of Object.entries(hostileAgents)) {
    it(`a compromised machine that ${what} ends alone, with bounded logs`, async () => {
      const said: string[] = [];
      const keep = (fields: object, message: string): void => void said.push(message + chainOf((fields as { err?: unknown }).err));
      const log = { ...silentLog, warn: keep, error: keep, child: () => log };
      const runtime = await createQemuRuntime(optionsFor(dataDir, { imagesDir: imageWith(dataDir, script), log }));
      const spec = newVmSpec();
      let highest = 0;
      const watch = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), 50);
      const before = process.memoryUsage.rss();
      try {
        const failure: unknown = await runtime.boot(spec, { signal: bootSignal(firstBootMsMax) }).then(
          () => assert.fail('it was taken for a machine'),
          (error: unknown) => error,
        );
        assert.match(chainOf(failure), expected);
        assert.ok(chainOf(failure).length < logBytesMax);
      } finally {
        clearInterval(watch);
        await runtime.close();
      }
      assert.ok(highest - before < memoryGrowthMax, `${highest - before} bytes were kept`);
      assert.ok(said.length > 0 && said.every((line) => line.length < logBytesMax));
      assert.deepEqual(residueOf(dataDir, spec.id), []);
      assert.deepEqual(await runtime.list(), []);
    });
  }
});

/** What an error says, and what those behind it say. */
const chainOf = (error: unknown): string => (error instanceof Error ? `${error.message}\n${chainOf(error.cause)}` : '');

/** The image with another agent, which is a program in Perl. */
function imageWith(parent: string, script: string): string {
  const { imagesDir, folder } = copyImage(parent);
  rmSync(join(folder, 'templates'), { recursive: true, force: true });
  const files = join(folder, 'agent');
  mkdirSync(join(files, 'bin'), { recursive: true });
  writeFileSync(join(files, 'bin/node'), `#!/usr/bin/perl\n${script}\n`, { mode: 0o755 });
  const packed = join(folder, 'agent.erofs');
  unlinkSync(packed);
  execFileSync('mkfs.erofs', ['--quiet', packed, files]);
  rmSync(files, { recursive: true });
  const description = join(folder, 'image.json');
  const manifest = JSON.parse(readFileSync(description, 'utf8')) as { bytes: { agent: number } };
  unlinkSync(description);
  writeFileSync(description, JSON.stringify({ ...manifest, bytes: { ...manifest.bytes, agent: statSync(packed).size } }));
  return imagesDir;
}

describe('what a page has left in a machine', () => {
  const dataDir = newDataDir();
  let runtime: Runtime;
  before(async () => {
    runtime = await createQemuRuntime(optionsFor(dataDir));
    await (await runtime.boot(newVmSpec(), { signal: bootSignal(firstBootMsMax) })).destroy();
  });
  after(async () => {
    await runtime.close();
    rmSync(dataDir, { recursive: true });
  });

  const boot = async (): Promise<{ vm: Vm; cdp: CdpClient; page: string }> => {
    const vm = await runtime.boot(newVmSpec(), { signal: bootSignal(runtime.bootMsMax) });
    const cdp = new CdpClient(vm.cdp);
    return { vm, cdp, page: await cdp.openPage() };
  };

  it('a page leaves nothing that outlives its machine: on the host, in the template, or in the next machine', async () => {
    const marker = `remanence-${process.hrtime.bigint()}`;
    const first = await boot();
    await evaluate(first.cdp, first.page, `window.kept = Array.from({ length: 2000 }, (_, n) => '${marker}-' + n); kept.join().length`);
    assert.ok(memoryHolds(qemuOf(first.vm), marker), 'the marker is not in the memory of the machine that made it');
    await first.vm.destroy();

    const second = await boot();
    await evaluate(second.cdp, second.page, '1 + 1');
    assert.ok(!memoryHolds(qemuOf(second.vm), marker), 'the marker is in the next machine');
    const templates = [...templateMemories(), ...filesBelow(join(imagesDir, 'current/templates'))];
    assert.ok(templates.length >= 4, templates.join('\n'));
    for (const path of [...filesBelow(dataDir), ...templates]) assert.ok(!fileHolds(path, marker), `the marker is in ${path}`);
    await second.vm.destroy();
  });
});

const chunkBytes = 4 * 1024 ** 2;

/** Whether the marker stands anywhere in what `read` gives. */
function holds(read: (into: Buffer, position: number) => number, marker: string, end: number): boolean {
  const wanted = Buffer.from(marker);
  const buffer = Buffer.alloc(chunkBytes + wanted.length);
  for (let position = 0; position < end; position += chunkBytes) {
    const length = read(buffer.subarray(0, Math.min(buffer.length, end - position)), position);
    if (buffer.subarray(0, length).includes(wanted)) return true;
  }
  return false;
}

/** What a process can read of its memory, the pages of a guest among it. */
function memoryHolds(pid: number, marker: string): boolean {
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  try {
    return readFileSync(`/proc/${pid}/maps`, 'latin1')
      .split('\n')
      .map((line) =>
        /^([0-9a-f]+)-([0-9a-f]+) rw/
          .exec(line)
          ?.slice(1)
          .map((address) => Number.parseInt(address, 16)),
      )
      .some((range) => {
        const [start = 0, end = 0] = range ?? [];
        return holds((into, position) => readOrNone(memory, into, start + position), marker, end - start);
      });
  } finally {
    closeSync(memory);
  }
}

function fileHolds(path: string, marker: string): boolean {
  const file = openSync(path, 'r');
  try {
    return holds((into, position) => readOrNone(file, into, position), marker, statSync(path).size);
  } finally {
    closeSync(file);
  }
}

function readOrNone(file: number, into: Buffer, position: number): number {
  try {
    return readSync(file, into, 0, into.length, position);
  } catch {
    // Some mappings of the kernel's cannot be read.
    return 0;
  }
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );

/** The templates that this process has open. */
const templateMemories = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((number) => {
    try {
      return readlinkSync(`/proc/self/fd/${number}`).startsWith('/memfd:berth-template') ? [`/proc/self/fd/${number}`] : [];
    } catch {
      return [];
    }
  });
