/** The contract of every runtime, as one test suite. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { after, before, describe, it, type TestOptions } from 'node:test';
import { newId } from '@berth/lib/ids.ts';
import { NoDisplayError, type Runtime, type Vm, type VmSpec } from '../src/runtime.ts';

export interface RuntimeUnderTest {
  runtime: Runtime;
  /** Kills the browser of a machine, as a crash does. */
  kill: (vm: Vm) => void;
  /** Stops every process of a machine with SIGSTOP. */
  freeze: (vm: Vm) => void;
  /** A runtime of the same kind on the same host, whose next boot fails. */
  failing: () => Promise<Runtime>;
  /** Names of everything left of a machine on the host. */
  residue: (id: string) => string[];
  close: () => Promise<void>;
}

/** Aborts after the time limit of a boot without emulation: it takes two seconds of a processor, of which a busy machine may give it a fiftieth. */
export const bootSignal = (msMax = 100_000): AbortSignal => AbortSignal.timeout(msMax);

export const newVmSpec = (overrides: Partial<VmSpec> = {}): VmSpec => ({
  id: newId('vm'),
  kind: 'headless',
  priority: 'normal',
  acceptEgress: (connection) => void connection.on('error', () => {}).destroy(),
  ...overrides,
});

export interface CdpMessage {
  id?: number;
  method?: string;
  sessionId?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

/** A minimal DevTools client. */
export class CdpClient {
  readonly events: CdpMessage[] = [];
  readonly #pipe: Duplex;
  readonly #waiting = new Map<number, (message: CdpMessage) => void>();
  #lastId = 0;

  constructor(pipe: Duplex) {
    this.#pipe = pipe;
    let unread: Buffer[] = [];
    pipe.on('data', (bytes: Buffer) => {
      let rest = bytes;
      for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
        this.#read(JSON.parse(Buffer.concat([...unread, rest.subarray(0, end)]).toString()) as CdpMessage);
        unread = [];
        rest = rest.subarray(end + 1);
      }
      unread.push(rest);
    });
  }

  async call(method: string, params: Record<string, unknown> = {}, sessionId?: string): Promise<Record<string, unknown>> {
    const { result, error } = await this.send(method, params, sessionId);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  }

  send(method: string, params: Record<string, unknown> = {}, sessionId?: string): Promise<CdpMessage> {
    const id = (this.#lastId += 1);
    const answer = new Promise<CdpMessage>((resolve) => this.#waiting.set(id, resolve));
    this.#pipe.write(`${JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) })}\0`);
    return answer;
  }

  /** Opens a page and attaches to it. Returns the session id. */
  async openPage(): Promise<string> {
    const { targetId } = await this.call('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.call('Target.attachToTarget', { targetId, flatten: true });
    return String(sessionId);
  }

  #read(message: CdpMessage): void {
    if (message.id === undefined) this.events.push(message);
    else this.#waiting.get(message.id)?.(message);
  }
}

const targetIds = async (vm: Vm): Promise<string[]> => {
  const { targetInfos } = await new CdpClient(vm.cdp).call('Target.getTargets');
  return (targetInfos as { targetId: string }[]).map(({ targetId }) => targetId);
};

export function describeRuntime(name: string, create: () => Promise<RuntimeUnderTest>, options: TestOptions = {}): void {
  describe(`the ${name} runtime`, options, () => {
    let under: RuntimeUnderTest;
    before(async () => {
      under = await create();
    });
    after(() => under.close());
    const boot = (overrides: Partial<VmSpec> = {}): Promise<Vm> =>
      under.runtime.boot(newVmSpec(overrides), { signal: bootSignal(under.runtime.bootMsMax) });

    describe('whose machine runs', () => {
      let vm: Vm;
      before(async () => {
        vm = await boot({ priority: 'background' });
      });
      after(() => vm.destroy());

      it(`the ${name} runtime boots a browser that answers on its DevTools pipe`, async () => {
        const version = await new CdpClient(vm.cdp).call('Browser.getVersion');
        assert.match(String(version.product), /Chrome\/\d+/);
      });

      it(`the ${name} runtime leaves a machine alone when the artifact has another process identity`, async () => {
        await under.runtime.destroy({ id: vm.id, processIdentity: 'another', pids: [] });
        assert.deepEqual(
          (await under.runtime.list()).map(({ id }) => id),
          [vm.id],
        );
      });

      it(`the ${name} runtime ends the background priority of a machine`, async () => {
        vm.prioritize();
        assert.ok((await vm.stats()).memoryBytes > 0);
      });

      it(`the ${name} runtime gives a machine without windows no display`, async () => {
        await assert.rejects(vm.openVnc(), NoDisplayError);
        await assert.rejects(vm.resizeDisplay({ width: 800, height: 600 }), NoDisplayError);
      });
    });

    it(`the ${name} runtime holds several machines at once, keeps them apart, and lists those that run`, async () => {
      const machines = await Promise.all([boot(), boot(), boot()]);
      const ids = machines.map(({ id }) => id).toSorted();
      assert.equal(new Set(ids).size, machines.length);
      assert.deepEqual((await under.runtime.list()).map(({ id }) => id).toSorted(), ids);
      await Promise.all(machines.map((vm) => new CdpClient(vm.cdp).openPage()));
      const seen = (await Promise.all(machines.map(targetIds))).flat();
      assert.ok(seen.length >= machines.length);
      assert.equal(new Set(seen).size, seen.length);
      await Promise.all(machines.map((vm) => vm.destroy()));
      assert.deepEqual(await under.runtime.list(), []);
    });

    it(`the ${name} runtime leaves nothing behind when a machine is destroyed, even more than once`, async () => {
      const vm = await boot();
      const closed = once(vm.cdp, 'close');
      await Promise.all([vm.destroy(), vm.destroy()]);
      await vm.destroy();
      await closed;
      assert.deepEqual(under.residue(vm.id), []);
      assert.equal((await vm.exited).reason, 'destroyed');
    });

    it(`the ${name} runtime reports that a browser exited on its own, and still cleans up`, async () => {
      const vm = await boot();
      under.kill(vm);
      assert.equal((await vm.exited).reason, 'exited');
      await vm.destroy();
      assert.deepEqual(under.residue(vm.id), []);
    });

    it(`the ${name} runtime destroys a machine that is frozen`, async () => {
      const vm = await boot();
      under.freeze(vm);
      await vm.destroy();
      assert.deepEqual(under.residue(vm.id), []);
    });

    it(`the ${name} runtime destroys what an artifact refers to, and is idempotent`, async () => {
      const vm = await boot();
      const [artifact] = await under.runtime.list();
      assert.ok(artifact);
      await under.runtime.destroy(artifact);
      await under.runtime.destroy(artifact);
      assert.equal((await vm.exited).reason, 'destroyed');
      assert.deepEqual(under.residue(vm.id), []);
    });

    it(`the ${name} runtime leaves nothing of a boot that is aborted`, async () => {
      for (const afterMs of [0, 5, 40]) {
        const spec = newVmSpec();
        const reason = new Error('called off');
        const abort = new AbortController();
        const timer = setTimeout(() => abort.abort(reason), afterMs);
        if (afterMs === 0) abort.abort(reason);
        await under.runtime.boot(spec, { signal: abort.signal }).then(
          (vm) => vm.destroy(),
          (error: unknown) => assert.equal(error, reason),
        );
        clearTimeout(timer);
        assert.deepEqual(under.residue(spec.id), []);
      }
    });

    it(`the ${name} runtime leaves nothing of a boot that fails`, async () => {
      const spec = newVmSpec();
      const failing = await under.failing();
      await assert.rejects(failing.boot(spec, { signal: bootSignal(failing.bootMsMax) }));
      assert.deepEqual(under.residue(spec.id), []);
      assert.deepEqual(await under.runtime.list(), []);
      await failing.close();
    });

    it(`the ${name} runtime shows the display of a machine with windows to several at once, until its end`, async () => {
      const vm = await boot({ kind: 'full_browser' });
      assert.match(String((await new CdpClient(vm.cdp).call('Browser.getVersion')).product), /Chrome\/\d+/);
      const viewers = await Promise.all([vm.openVnc(), vm.openVnc()]);
      for (const viewer of viewers) {
        const [greeting] = (await once(viewer, 'data')) as [Buffer];
        assert.equal(greeting.toString('latin1'), 'RFB 003.008\n');
      }
      await vm.resizeDisplay({ width: 800, height: 600 });
      const closed = viewers.map((viewer) => once(viewer, 'close'));
      await vm.destroy();
      await Promise.all(closed);
      await assert.rejects(vm.openVnc(), NoDisplayError);
      await assert.rejects(vm.resizeDisplay({ width: 800, height: 600 }), NoDisplayError);
      assert.deepEqual(under.residue(vm.id), []);
    });
  });
}
