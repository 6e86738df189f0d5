import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { assertPrompt } from '../../../../tests/yardstick.ts';
import { childrenOf, readProcess, sendSignal } from '../host/processes.ts';
import { machinePath } from '../host/machine-folder.ts';
import { createProcessRuntime } from '../process/process.ts';
import { NoSuchFileError, type Vm, type VmSpec } from '../runtime.ts';
import { CdpClient, bootSignal, describeRuntime, newVmSpec } from '../../testing/runtime-suite.ts';
import { chromiumPath, evaluate, recordRequests, optionsFor, processesOf, until } from '../../testing/machines.ts';
import { agent, newLink, type StreamHandler, type LinkUnderTest } from '../../testing/guest/link.ts';
import { createHostedRuntime, type HostedRuntime } from '../../testing/hosted-runtime.ts';
import { QemuVm } from './qemu-vm.ts';

const newDataDir = (): string => mkdtempSync(join(tmpdir(), 'qemu-vm-test-'));
const browserOf = (vm: Vm): number => childrenOf(vm.pid ?? 0)[0] ?? 0;

describeRuntime('machine behind an agent', async () => {
  const dataDir = newDataDir();
  return {
    runtime: await createHostedRuntime(dataDir, chromiumPath),
    kill: (vm) => void sendSignal(browserOf(vm), 'SIGKILL'),
    freeze: (vm) => processesOf(vm.id).forEach((pid) => sendSignal(pid, 'SIGSTOP')),
    failing: () => createHostedRuntime(dataDir, '/usr/lib/chromium/resources.pak'),
    residue: (id) => [...processesOf(id).map((pid) => `process ${pid}`), ...(existsSync(machinePath(dataDir, id)) ? ['folder'] : [])],
    close: () => rm(dataDir, { recursive: true }),
  };
});

describe('a machine behind an agent', () => {
  const dataDir = newDataDir();
  let runtime: HostedRuntime;
  before(async () => {
    runtime = await createHostedRuntime(dataDir, chromiumPath);
  });
  after(() => rm(dataDir, { recursive: true }));

  const withMachine = async (work: (vm: QemuVm, cdp: CdpClient) => Promise<void>, overrides: Partial<VmSpec> = {}): Promise<void> => {
    const vm = await runtime.boot(newVmSpec(overrides), { signal: bootSignal() });
    try {
      await work(vm, new CdpClient(vm.cdp));
    } finally {
      await vm.destroy();
    }
  };

  it('a machine with an agent carries messages of many megabytes over the DevTools pipe', async () => {
    await withMachine(async (_vm, cdp) => {
      const page = await cdp.openPage();
      assert.equal(String(await evaluate(cdp, page, `'x'.repeat(5_000_000)`)).length, 5_000_000);
    });
  });

  it('a machine with an agent hands over each connection of its browser, and has no other egress', async () => {
    const asked: string[] = [];
    const acceptEgress = recordRequests(asked);
    await withMachine(
      async (_vm, cdp) => {
        const page = await cdp.openPage();
        await cdp.call('Page.navigate', { url: 'http://site.test/' }, page);
        await until(async () => (await evaluate(cdp, page, 'document.body?.innerText')) === 'hello', 20_000);
        assert.ok(asked.includes('GET http://site.test/ HTTP/1.1'), asked.join('\n'));
      },
      { acceptEgress },
    );
  });

  it('a machine with an agent stores uploads, and serves downloads until they are removed', async () => {
    await withMachine(async (vm, cdp) => {
      // The agent's folders lie elsewhere here than in a machine, and a link takes no other path for an answer.
      await assert.rejects(vm.files.put('file_1', 'a name.txt', Buffer.from('what is put in')), /stored at another path/);
      await assert.rejects(vm.files.put('file_1', 'a name.txt', Buffer.from('again')), /409/);
      await assert.rejects(vm.files.openDownload('none'), NoSuchFileError);
      const page = await cdp.openPage();
      await cdp.call('Browser.setDownloadBehavior', {
        behavior: 'allowAndName',
        downloadPath: join(runtime.insideOf(vm.id), 'downloads'),
        eventsEnabled: true,
      });
      await evaluate(
        cdp,
        page,
        `Object.assign(document.createElement('a'), {
          href: 'data:application/octet-stream,' + 'x'.repeat(1_000_000),
          download: 'a.bin',
        }).click()`,
      );
      const state = (): unknown => cdp.events.findLast(({ method }) => method === 'Browser.downloadProgress')?.params?.['state'];
      await until(() => state() === 'completed', 20_000);
      const guid = String(cdp.events.find(({ method }) => method === 'Browser.downloadWillBegin')?.params?.['guid']);
      const file = await vm.files.openDownload(guid);
      assert.equal(file.bytes, 1_000_000);
      assert.equal(await text(file.stream()), 'x'.repeat(1_000_000));
      await file.close();
    });
  });

  it('a machine with an agent ends within seconds when its browser is killed, and reports how', async () => {
    await withMachine(async (vm) => {
      const killedMs = performance.now();
      sendSignal(browserOf(vm), 'SIGKILL');
      const exit = await vm.exited;
      assertPrompt(killedMs, 20_000);
      assert.equal(exit.reason, 'exited');
      assert.match(exit.detail, /the browser ended: signal SIGKILL/);
      assert.deepEqual(processesOf(vm.id), []);
      assert.equal(vm.cdp.destroyed, true);
      assert.deepEqual(await vm.stats(), { memoryBytes: 0 });
    });
  });

  it('a machine with an agent is found by the process runtime, and destroyed as an orphan', async () => {
    await withMachine(async (vm) => {
      const other = await createProcessRuntime(optionsFor(dataDir));
      const artifact = (await other.list()).find(({ id }) => id === vm.id);
      assert.ok(artifact && artifact.pids.includes(vm.pid ?? 0));
      await other.destroy(artifact);
      await other.close();
      assert.equal((await vm.exited).reason, 'exited');
      assert.deepEqual(processesOf(vm.id), []);
      assert.equal(existsSync(machinePath(dataDir, vm.id)), false);
    });
  });

  it('a machine with an agent ends when it is killed from outside', async () => {
    await withMachine(async (vm) => {
      sendSignal(vm.pid ?? 0, 'SIGKILL');
      assert.deepEqual(await vm.exited, { reason: 'exited', detail: 'the machine ended' });
    });
  });
});

/** A machine whose process does nothing, with an agent in this process. */
async function machineWith(handle: StreamHandler, outOfMemoryKills = 0): Promise<{ vm: QemuVm; guest: LinkUnderTest }> {
  const guest = await newLink();
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  const exited = once(child, 'exit').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
    detail: 'asleep',
  }));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  agent(guest.control, (stream, headers) => {
    if (headers[':path'] === '/devtools') return stream.respond({ ':status': 200 });
    if (headers[':path'] !== '/browser') return handle(stream, headers);
    stream.respond({ ':status': 200 });
    stream.end(JSON.stringify({ product: 'Chrome/1' }));
  });
  await guest.link.start('headless', { signal: bootSignal() });
  const cdp = await guest.link.openDevtools();
  const machine = { pid: child.pid ?? null, exited, kill };
  const deps = {
    spec: newVmSpec(),
    generation: 'test',
    runtime: 'qemu-tcg',
    outOfMemoryKills: () => Promise.resolve(outOfMemoryKills),
    findProcesses: () => [],
    forget: () => Promise.resolve(),
    prioritize: () => {},
  } as const;
  return { vm: new QemuVm({ ...deps, machine, link: guest.link, cdp }), guest };
}

interface Ending {
  handle?: StreamHandler;
  act?: (guest: LinkUnderTest, vm: QemuVm) => void;
  outOfMemoryKills?: number;
  exit: { reason: string; detail: RegExp };
}

describe('a machine whose agent', () => {
  const endings: Record<string, Ending> = {
    'reports that the browser ran out of memory': {
      handle: (stream) => {
        stream.respond({ ':status': 200 });
        stream.end(JSON.stringify({ code: null, signal: 'SIGKILL', out_of_memory: true, log: 'V8 javascript OOM' }));
      },
      exit: { reason: 'out_of_memory', detail: /signal SIGKILL\nV8 javascript OOM/ },
    },
    'sends an invalid exit report': {
      handle: (stream) => {
        stream.respond({ ':status': 200 });
        stream.end('{}');
      },
      exit: { reason: 'exited', detail: /the link was lost: \/exit: no such answer/ },
    },
    'is killed by the kernel for lack of memory': {
      act: (_guest, vm) => void sendSignal(vm.pid ?? 0, 'SIGKILL'),
      outOfMemoryKills: 1,
      exit: { reason: 'out_of_memory', detail: /asleep/ },
    },
    'is killed by somebody else': {
      act: (_guest, vm) => void sendSignal(vm.pid ?? 0, 'SIGKILL'),
      exit: { reason: 'exited', detail: /asleep/ },
    },
    disconnects: {
      act: ({ control }) => void control.destroy(),
      exit: { reason: 'exited', detail: /the link was lost: the connection closed/ },
    },
    'sends something other than HTTP/2': {
      act: ({ control }) => void control.write('HTTP/1.1 200 OK\r\n\r\n'.repeat(10)),
      exit: { reason: 'exited', detail: /the link was lost: Protocol error/ },
    },
    'closes the DevTools pipe without an exit report': {
      act: (_guest, vm) => void vm.cdp.destroy(),
      exit: { reason: 'exited', detail: /the DevTools pipe closed/ },
    },
  };
  for (const [what, { handle, act, outOfMemoryKills, exit }] of Object.entries(endings)) {
    it(`a machine whose agent ${what} has ended, and so has its process`, async () => {
      const { vm, guest } = await machineWith(handle ?? (() => {}), outOfMemoryKills);
      act?.(guest, vm);
      const { reason, detail } = await vm.exited;
      assert.equal(reason, exit.reason);
      assert.match(detail, exit.detail);
      assert.equal(readProcess(vm.pid ?? 0), undefined);
      await vm.destroy();
      guest.close();
    });
  }
});
