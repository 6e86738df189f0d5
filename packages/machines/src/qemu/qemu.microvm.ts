import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, readdirSync, readlinkSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { killProcess, readProcess, sendSignal } from '../host/processes.ts';
import { CdpClient, bootSignal, describeRuntime, newVmSpec } from '../../testing/runtime-suite.ts';
import type { Runtime, Vm, VmSpec } from '../runtime.ts';
import { evaluate, recordRequests, processesOf, until } from '../../testing/machines.ts';
import {
  copyImage,
  firstBootMsMax,
  newDataDir,
  optionsFor,
  qemuOf,
  residueOf,
  startAnotherWorker,
  statusOf,
} from '../../testing/microvm.ts';
import { createQemuRuntime } from './qemu.ts';
import { nightly } from '../../../../tests/nightly.ts';

/** Creates a runtime together with its template, so that what is measured after that is clones. */
async function createWarm(dataDir: string): Promise<Runtime> {
  const runtime = await createQemuRuntime(optionsFor(dataDir));
  const vm = await runtime.boot(newVmSpec(), { signal: bootSignal(firstBootMsMax) });
  await vm.destroy();
  return runtime;
}

describeRuntime(
  'qemu',
  async () => {
    const dataDir = newDataDir();
    // Two services never share a folder: the one that ends takes its control groups along.
    const failingDir = newDataDir();
    const runtime = await createWarm(dataDir);
    return {
      runtime,
      kill: (vm) => void sendSignal(qemuOf(vm), 'SIGKILL'),
      freeze: (vm) => processesOf(vm.id).forEach((pid) => sendSignal(pid, 'SIGSTOP')),
      failing: () => createQemuRuntime(optionsFor(failingDir, withoutKernel(failingDir))),
      residue: (id) => [...residueOf(dataDir, id), ...residueOf(failingDir, id)],
      close: async () => {
        await runtime.close();
        for (const folder of [dataDir, failingDir]) rmSync(folder, { recursive: true });
      },
    };
  },
  nightly,
);

/** An image that looks as it should, and does not boot. */
function withoutKernel(parent: string): { imagesDir: string } {
  const { imagesDir, folder } = copyImage(parent);
  const kernel = join(folder, 'kernel');
  const { size } = statSync(kernel);
  unlinkSync(kernel);
  writeFileSync(kernel, Buffer.alloc(size), { mode: 0o644 });
  rmSync(join(folder, 'templates'), { recursive: true, force: true });
  return { imagesDir };
}

describe('a virtual machine', () => {
  const dataDir = newDataDir();
  let runtime: Runtime;
  before(async () => {
    runtime = await createWarm(dataDir);
  });
  after(async () => {
    await runtime.close();
    rmSync(dataDir, { recursive: true });
  });

  const withMachine = async (work: (vm: Vm, cdp: CdpClient) => Promise<void>, overrides: Partial<VmSpec> = {}): Promise<void> => {
    const vm = await runtime.boot(newVmSpec(overrides), { signal: bootSignal(runtime.bootMsMax) });
    try {
      await work(vm, new CdpClient(vm.cdp));
    } finally {
      await vm.destroy();
    }
  };

  it('a virtual machine says that it is emulated, and what it was made of', nightly, async () => {
    assert.equal(runtime.name, 'qemu-tcg');
    assert.match(runtime.warnings.join('\n'), /emulated/);
    await withMachine(async (vm) => {
      assert.deepEqual([vm.runtime, vm.isolation, vm.generation], ['qemu-tcg', 'microvm', runtime.generation('headless')]);
      assert.ok((await vm.stats()).memoryBytes > 10_000_000);
    });
  });

  it('a virtual machine runs in a jail: an unprivileged user, with a seccomp filter, and nothing writable of the host', async () => {
    await withMachine(async (vm) => {
      const qemu = qemuOf(vm);
      assert.match(readFileSync(`/proc/${qemu}/cmdline`, 'latin1'), /qemu-system/);
      assert.ok(
        statusOf(qemu, 'Uid')
          .split('\t')
          .every((uid) => Number(uid) >= 1_900_000_000),
      );
      assert.equal(statusOf(qemu, 'Groups').trim(), '');
      for (const field of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
        assert.equal(statusOf(qemu, field), '0000000000000000', field);
      assert.equal(statusOf(qemu, 'NoNewPrivs'), '1');
      assert.equal(statusOf(qemu, 'Seccomp'), '2');
      for (const kind of ['net', 'pid', 'mnt', 'ipc', 'uts'])
        assert.notEqual(readlinkSync(`/proc/${qemu}/ns/${kind}`), readlinkSync(`/proc/self/ns/${kind}`), kind);
      assert.match(readFileSync(`/proc/${qemu}/limits`, 'utf8'), /Max core file size +0 +0/);
    });
  });

  it('a virtual machine can write to no file of the host, to its template least of all', async () => {
    await withMachine(async (vm) => {
      const qemu = qemuOf(vm);
      const mounts = readFileSync(`/proc/${qemu}/mountinfo`, 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split(' '));
      const writable = mounts.filter(([, , , , , options]) => options?.split(',').includes('rw')).map(([, , , , path]) => path);
      assert.deepEqual(new Set(writable), new Set(['/dev/null', '/dev/urandom', '/dev/zero', '/proc']));
      const open = readdirSync(`/proc/${qemu}/fd`).map((number) => ({
        path: readlinkSync(`/proc/${qemu}/fd/${number}`),
        flags: parseInt(/flags:\s+(\d+)/.exec(readFileSync(`/proc/${qemu}/fdinfo/${number}`, 'utf8'))?.[1] ?? '0', 8),
      }));
      const files = open.filter(({ path, flags }) => path.startsWith('/') && (flags & 3) !== 0 && path !== '/dev/null');
      assert.ok(
        files.every(({ path }) => path.startsWith('/memfd:berth-template')),
        JSON.stringify(files),
      );
      const maps = readFileSync(`/proc/${qemu}/maps`, 'utf8')
        .split('\n')
        .filter((line) => line.includes('memfd:berth-template'));
      assert.ok(maps.length > 0 && maps.every((line) => line.split(' ')[1]?.endsWith('p')), maps.join('\n'));
    });
  });

  it('a virtual machine has no network card, and no access to the host except the connections that are handed over', async () => {
    let reached = 0;
    const host = createServer((_request, response) => response.end(String((reached += 1)))).listen(0, '0.0.0.0');
    await once(host, 'listening');
    const { port } = host.address() as AddressInfo;
    const asked: string[] = [];
    const acceptEgress = recordRequests(asked);
    await withMachine(
      async (vm, cdp) => {
        assert.doesNotMatch(readFileSync(`/proc/${qemuOf(vm)}/cmdline`, 'latin1'), /netdev|virtio-net|-nic/);
        const page = await cdp.openPage();
        for (const address of [`127.0.0.1:${port}`, `10.0.2.2:${port}`, '169.254.169.254']) {
          await cdp.call('Page.navigate', { url: `http://${address}/` }, page);
          const text = await evaluate(
            cdp,
            page,
            `new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))
              .then(() => document.body.innerText)`,
          );
          assert.equal(text, 'hello');
          assert.ok(asked.includes(`GET http://${address}/ HTTP/1.1`), asked.join('\n'));
        }
        assert.equal(await evaluate(cdp, page, 'navigator.onLine'), true);
      },
      { acceptEgress },
    );
    assert.equal(reached, 0);
    host.close();
  });

  it('a virtual machine is bounded by a control group where the host has them', async (t) => {
    await withMachine(async (vm) => {
      const groups = readFileSync(`/proc/${qemuOf(vm)}/cgroup`, 'utf8');
      if (!groups.includes(vm.id)) return t.skip('this host lets no control groups be made');
      const memory = groups.split('\n').find((line) => /memory|^0::/.test(line) && line.includes(vm.id));
      assert.ok(memory, groups);
    });
  });

  it('a virtual machine has a lower priority in the background, and the normal one after', nightly, async (t) => {
    await withMachine(
      async (vm) => {
        const path = `/proc/${vm.pid}/autogroup`;
        const nice = (): string => /nice -?\d+/.exec(readFileSync(path, 'utf8'))?.[0] ?? '';
        if (!readProcess(vm.pid ?? 0) || nice() === '') return t.skip('this kernel does not group tasks by session');
        assert.equal(nice(), 'nice 19');
        vm.prioritize();
        await until(() => nice() === 'nice 0', 1000);
      },
      { priority: 'background' },
    );
  });

  it('a virtual machine carries messages of many megabytes over the DevTools pipe', nightly, async () => {
    await withMachine(async (_vm, cdp) => {
      const page = await cdp.openPage();
      assert.equal(String(await evaluate(cdp, page, `'x'.repeat(5_000_000)`)).length, 5_000_000);
    });
  });

  it('a virtual machine dies with a worker that is killed, whether in use, kept warm or starting', async () => {
    const { worker, ids } = await startAnotherWorker(dataDir);
    const exit = once(worker, 'exit');
    worker.kill('SIGKILL');
    await exit;
    await until(() => ids.flatMap(processesOf).length === 0, 10_000);
    for (const artifact of await runtime.list()) await runtime.destroy(artifact);
    assert.deepEqual(
      ids.flatMap((id) => residueOf(dataDir, id)),
      [],
    );
  });

  it('a virtual machine dies with its worker also while it is frozen', nightly, async () => {
    const { worker, ids } = await startAnotherWorker(dataDir);
    const exit = once(worker, 'exit');
    // The third is starting: it is not frozen, but killed at whatever it does.
    for (const pid of ids.slice(0, 2).flatMap(processesOf)) sendSignal(pid, 'SIGSTOP');
    worker.kill('SIGKILL');
    await exit;
    await until(() => ids.flatMap(processesOf).length === 0, 10_000);
    for (const artifact of await runtime.list()) await runtime.destroy(artifact);
    assert.deepEqual(await runtime.list(), []);
  });

  it('a virtual machine is ended when the jail around it is killed from outside', nightly, async () => {
    const vm = await runtime.boot(newVmSpec(), { signal: bootSignal(runtime.bootMsMax) });
    const outermost = readProcess(vm.pid ?? 0);
    assert.ok(outermost && killProcess(outermost));
    assert.equal((await vm.exited).reason, 'exited');
    await vm.destroy();
    assert.deepEqual(residueOf(dataDir, vm.id), []);
  });
});
