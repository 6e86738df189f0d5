import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { nightly } from '../../../../tests/nightly.ts';
import { findCgroupTrees } from '../host/cgroup-tree.ts';
import { groupsSessions, readBootId, readProcess, sendSignal } from '../host/processes.ts';
import { machinePath } from '../host/machine-folder.ts';
import { createProcessRuntime } from './process.ts';
import { CdpClient, bootSignal, describeRuntime, newVmSpec } from '../../testing/runtime-suite.ts';
import type { Runtime, Vm, VmSpec } from '../runtime.ts';
import {
  bootInAnotherWorker,
  evaluate,
  recordRequests,
  optionsFor,
  processesOf,
  readOf,
  statusOf,
  until,
  userNamespaceOf,
} from '../../testing/machines.ts';

const newDataDir = (): string => mkdtempSync(join(tmpdir(), 'runtime-test-'));

// Without a jail, tests of the display are the sample of every run.
for (const jail of ['auto', 'none'] as const) {
  describeRuntime(
    jail === 'auto' ? 'process' : 'process without a jail',
    async () => {
      const dataDir = newDataDir();
      const runtime = await createProcessRuntime(optionsFor(dataDir, { jail }));
      return {
        runtime,
        kill: (vm) => void sendSignal(vm.pid ?? 0, 'SIGKILL'),
        freeze: (vm) => processesOf(vm.id).forEach((pid) => sendSignal(pid, 'SIGSTOP')),
        // A program that is there and may not be run.
        failing: () => createProcessRuntime(optionsFor(dataDir, { jail, chromiumPath: '/usr/lib/chromium/resources.pak' })),
        residue: (id) => [...processesOf(id).map((pid) => `process ${pid}`), ...(existsSync(machinePath(dataDir, id)) ? ['folder'] : [])],
        close: async () => {
          await runtime.close();
          await rm(dataDir, { recursive: true });
        },
      };
    },
    jail === 'none' ? nightly : {},
  );
}

/** The process of Chromium without a type. Not the first by number: numbers start again at their maximum. */
const browserProcessOf = (id: string): number =>
  processesOf(id).find((pid) => {
    const command = readOf(pid, 'cmdline');
    return command.split('\0', 1)[0]?.endsWith('/chromium') && !command.includes('--type=');
  }) ?? 0;

describe('a machine of the process runtime', () => {
  const dataDir = newDataDir();
  let runtime: Runtime;
  before(async () => {
    runtime = await createProcessRuntime(optionsFor(dataDir));
  });
  after(async () => {
    await runtime.close();
    await rm(dataDir, { recursive: true });
  });

  const withMachine = async (work: (vm: Vm, cdp: CdpClient) => Promise<void>, overrides: Partial<VmSpec> = {}): Promise<void> => {
    const vm = await runtime.boot(newVmSpec(overrides), { signal: bootSignal() });
    try {
      await work(vm, new CdpClient(vm.cdp));
    } finally {
      await vm.destroy();
    }
  };
  const loaded = async (cdp: CdpClient, page: string, url: string): Promise<string> => {
    await cdp.call('Page.navigate', { url }, page);
    return String(
      await evaluate(
        cdp,
        page,
        `new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))
          .then(() => document.body.innerText)`,
      ),
    );
  };

  it('the process runtime has no warnings where the host allows full isolation', () => {
    assert.deepEqual(runtime.warnings, []);
  });

  describe('that runs', () => {
    const asked: string[] = [];
    let vm: Vm;
    let cdp: CdpClient;
    before(async () => {
      vm = await runtime.boot(newVmSpec({ acceptEgress: recordRequests(asked) }), { signal: bootSignal() });
      cdp = new CdpClient(vm.cdp);
    });
    after(() => vm.destroy());

    it('a page in a machine of the process runtime has no access to the host except the connections that are handed over', async () => {
      let reached = 0;
      const host = createServer((_request, response) => response.end(String((reached += 1)))).listen(0, '127.0.0.1');
      await once(host, 'listening');
      const { port } = host.address() as AddressInfo;
      asked.length = 0;
      const page = await cdp.openPage();
      const local = `http://127.0.0.1:${port}/`;
      assert.equal(await loaded(cdp, page, local), 'hello');
      assert.equal(await evaluate(cdp, page, `fetch('/refused').then(() => 'answered', () => 'failed')`), 'failed');
      assert.equal(await evaluate(cdp, page, `navigator.onLine`), true);
      assert.deepEqual(asked.filter((line) => line === `GET ${local} HTTP/1.1`).length, 1);
      assert.ok(
        asked.every((line) => line.startsWith(`GET ${local}`)),
        asked.join('\n'),
      );
      assert.equal(reached, 0);
      host.close();
    });

    it('a machine of the process runtime shows nothing of the host in its file system', async () => {
      await cdp.openPage();
      const root = `/proc/${browserProcessOf(vm.id)}/root`;
      assert.ok(existsSync(`${root}/etc/ssl`));
      for (const path of ['/etc/shadow', '/etc/passwd', '/root', '/var/lib', '/run', '/sys', dataDir, process.cwd()])
        assert.equal(existsSync(`${root}${path}`), false, path);
    });

    it('a machine of the process runtime opens neither files nor pages of the browser, whoever asks', async () => {
      const page = await cdp.openPage();
      for (const url of [
        'file:///etc/ssl',
        'chrome://version',
        'chrome-untrusted://print/',
        'view-source:http://x/',
        'devtools://devtools/x',
      ])
        assert.match(await loaded(cdp, page, url), /ERR_BLOCKED_BY_ADMINISTRATOR|This page is blocked/, url);
    });

    it('a machine of the process runtime runs as an unprivileged user, with the sandbox of Chromium on', async () => {
      await cdp.openPage();
      const main = browserProcessOf(vm.id);
      const browsers = processesOf(vm.id)
        .map((pid) => ['Name', 'Uid', 'NoNewPrivs'].map((field) => statusOf(pid, field)))
        .filter(([name]) => name === 'chromium');
      for (const [, uid, noNewPrivileges] of browsers)
        if (uid !== '' && noNewPrivileges !== '') assert.deepEqual([Number(uid) >= 1_900_000_000, noNewPrivileges], [true, '1']);
      assert.equal(statusOf(main, 'CapEff'), '0000000000000000');
      // A process enters its sandbox some time after it has started.
      const sandboxed = (pid: number): boolean => statusOf(pid, 'Name') === 'chromium' && statusOf(pid, 'Seccomp') === '2';
      let namespaces: string[] = [];
      await until(() => {
        namespaces = processesOf(vm.id).filter(sandboxed).map(userNamespaceOf).filter(Boolean);
        return namespaces.length > 0;
      }, 20_000);
      assert.ok(!namespaces.includes(userNamespaceOf(main)));
      for (const kind of ['net', 'pid', 'mnt', 'ipc', 'uts'])
        assert.notEqual(readlinkSync(`/proc/${main}/ns/${kind}`), readlinkSync(`/proc/self/ns/${kind}`), kind);
    });

    it('each machine of the process runtime has a user of its own', async () => {
      await withMachine(async (other) => {
        const uidOf = ({ id }: Vm): string =>
          /"uid":(\d+)/.exec(readFileSync(join(machinePath(dataDir, id), 'marker.json'), 'utf8'))?.[1] ?? '';
        assert.notEqual(uidOf(vm), uidOf(other));
      });
    });

    it('a machine of the process runtime carries messages of many megabytes over the DevTools pipe', async () => {
      const page = await cdp.openPage();
      assert.equal(String(await evaluate(cdp, page, `'x'.repeat(20_000_000)`)).length, 20_000_000);
    });

    it('a machine of the process runtime is ended before the service when memory runs out', async () => {
      await cdp.openPage();
      // Without CAP_SYS_RESOURCE of the service, Chromium's main process may lower its own score again.
      const endedOf = (pids: number[]): number[] =>
        pids.filter((pid) => pid === vm.pid || readOf(pid, 'cmdline').includes('--type=renderer'));
      // A renderer is forked before its command line says so.
      await until(() => endedOf(processesOf(vm.id)).length > 1, 30_000);
      const pids = processesOf(vm.id);
      const ended = endedOf(pids);
      assert.ok(pids.length > 3);
      for (const pid of ended) {
        const score = readOf(pid, 'oom_score_adj');
        assert.ok(score === '' || Number(score) >= 200, `${pid}: ${score}`);
      }
    });

    it('a machine of the process runtime has limits from its first instruction', async (t) => {
      if (!findCgroupTrees().get('memory')) return t.skip('this host has no control groups for memory');
      await cdp.openPage();
      const groups = processesOf(vm.id).map((pid) => {
        const group = readOf(pid, 'cgroup');
        // One that is ending leaves its group.
        return readProcess(pid)?.dead === false ? group : null;
      });
      const living = groups.filter((group) => group !== null);
      assert.ok(living.length > 3);
      for (const group of living) assert.match(group, new RegExp(`/berth-[0-9a-f]{16}/${vm.id}$`, 'm'));
    });

    it('a machine of the process runtime keeps its browser alive when a page has crashed', async () => {
      const page = await cdp.openPage();
      await cdp.call('Inspector.enable', {}, page);
      void cdp.send('Page.crash', {}, page);
      await until(() => cdp.events.some(({ method }) => method === 'Inspector.targetCrashed'), 30_000);
      assert.ok(await cdp.openPage());
    });
  });

  it('a machine of the process runtime has a lower priority in the background, and the normal one after', async (t) => {
    await withMachine(
      async (vm) => {
        const path = `/proc/${vm.pid}/autogroup`;
        if (!groupsSessions()) return t.skip('this kernel does not group tasks by session');
        assert.match(readFileSync(path, 'utf8'), /nice 19/);
        vm.prioritize();
        assert.match(readFileSync(path, 'utf8'), /nice 0/);
      },
      { priority: 'background' },
    );
  });

  it('a machine of the process runtime that takes more memory than its limit loses its page or ends, with the reason', async (t) => {
    const small = await createProcessRuntime(optionsFor(newDataDir(), { memoryMbMax: 300 }));
    try {
      if (!findCgroupTrees().get('memory')) return t.skip('this host has no control groups for memory');
      const vm = await small.boot(newVmSpec(), { signal: bootSignal() });
      const cdp = new CdpClient(vm.cdp);
      const page = await cdp.openPage();
      await cdp.call('Inspector.enable', {}, page);
      void cdp.send('Runtime.evaluate', { expression: 'for (window.all = [];;) all.push(new Uint8Array(1e7).fill(1))' }, page);
      const crashed = (): boolean => cdp.events.some(({ method }) => method === 'Inspector.targetCrashed');
      const exits: Awaited<Vm['exited']>[] = [];
      void vm.exited.then((exit) => exits.push(exit));
      await until(() => exits.length > 0 || crashed(), 60_000);
      for (const { reason } of exits) assert.equal(reason, 'out_of_memory');
      await vm.destroy();
    } finally {
      await small.close();
    }
  });

  it('another process that has reused the pid of a marker is not killed', async () => {
    const foreign = spawn('sleep', ['60'], { stdio: 'ignore' });
    const id = newVmSpec().id;
    await mkdir(machinePath(dataDir, id));
    const marker = {
      id,
      workerId: 'wrk_ended',
      bootId: readBootId(),
      uid: 1_900_000_000,
      pid: foreign.pid,
      startTime: '1',
      workPath: null,
    };
    await writeFile(join(machinePath(dataDir, id), 'marker.json'), JSON.stringify(marker));
    const artifact = (await runtime.list()).find((each) => each.id === id);
    assert.deepEqual(artifact?.pids, []);
    await runtime.destroy(artifact);
    assert.equal(existsSync(machinePath(dataDir, id)), false);
    assert.equal(readProcess(foreign.pid ?? 0)?.dead, false);
    foreign.kill();
    await once(foreign, 'exit');
  });

  it('a machine of the process runtime dies with a worker that is killed, frozen or not, and the next worker clears its folder', async () => {
    for (const frozen of [false, true]) {
      const { id, worker } = await bootInAnotherWorker(dataDir);
      const exit = once(worker, 'exit');
      if (frozen) processesOf(id).forEach((pid) => sendSignal(pid, 'SIGSTOP'));
      worker.kill('SIGKILL');
      await exit;
      await until(() => processesOf(id).length === 0, 30_000);
      const artifact = (await runtime.list()).find((each) => each.id === id);
      assert.ok(artifact);
      await runtime.destroy(artifact);
      assert.deepEqual(await runtime.list(), []);
    }
  });

  it('a destroyed machine of the process runtime leaves no handle in the worker', async () => {
    const handles = (): number => process.getActiveResourcesInfo().filter((name) => /TCP|Pipe|Process/.test(name)).length;
    // Pipes of processes that earlier tests ended may still be closing.
    const idle = handles();
    await withMachine(async () => assert.ok(handles() > idle));
    await until(() => handles() <= idle, 20_000);
  });
});
