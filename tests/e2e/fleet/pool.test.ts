/** The warm pool with real machines matches the operator's view. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSession, endSession, getPool, getSession, resizePool, type PoolResponse } from '@berth/contract';
import { nightly } from '../../nightly.ts';
import { Service, eventually, lastingState, stopAll, testRuntime } from '../service.ts';

/** Emulated machines are slow. */
const withinMs = testRuntime === 'qemu' ? 300_000 : 60_000;
/** Slow enough for the operator's rate limit. */
const paceMs = 200;
let state: Awaited<ReturnType<typeof lastingState>>;
before(async () => {
  state = await lastingState();
});
afterEach(() => stopAll());
after(() => state.remove());

const onHost = (): string[] => readdirSync(join(state.dataDir, 'machines')).toSorted();
async function pool({ client }: Service): Promise<PoolResponse> {
  const { status, body, text } = await client.call(getPool);
  assert.equal(status, 200, text);
  return body;
}

async function resize({ client }: Service, target: number): Promise<void> {
  const { status, text } = await client.call(resizePool, { body: { target } });
  assert.equal(status, 200, text);
}

const settled = (service: Service, ready: number, assigned = 0): Promise<PoolResponse> =>
  eventually(
    `${ready} machines are warm and nothing else is under way`,
    async () => {
      await sleep(paceMs);
      const reported = await pool(service);
      const { counts } = reported;
      const idle = counts.warming + counts.draining + counts.failed === 0;
      return idle && counts.ready === ready && counts.assigned === assigned && reported;
    },
    withinMs,
  );

describe('the pool of real machines', () => {
  // `tests/api/fleet/pool.test.ts` changes the target a hundred times, with machines that are not real.
  it(
    'the pool of real machines follows its target while sessions start and end, and loses none',
    { ...nightly, timeout: 3 * withinMs },
    async () => {
      const service = await Service.start(state);
      const { client } = service;
      await resize(service, 1);
      await settled(service, 1);
      const survivor = (await client.call(createSession, { body: {} })).body;
      assert.equal(survivor.warm, true);
      for (const target of [2, 0, 1, 0, 2]) {
        await resize(service, target);
        const { status, body } = await client.call(createSession, { body: {} });
        assert.equal(status, 201);
        await client.call(endSession, { params: { session_id: body.session_id } });
      }
      const { vms } = await settled(service, 2, 1);
      assert.deepEqual(vms.map(({ vm_id }) => vm_id).toSorted(), onHost());
      for (const vm of vms) assert.ok((vm.memory_bytes ?? 0) > 50e6, `${vm.vm_id} reports its memory: ${vm.memory_bytes}`);
      assert.equal((await client.call(getSession, { params: { session_id: survivor.session_id } })).body.status, 'ready');
      await client.call(endSession, { params: { session_id: survivor.session_id } });
      await resize(service, 0);
      await settled(service, 0);
      assert.deepEqual(onHost(), []);
      assert.equal(await service.stop(), 0);
    },
  );

  it('the pool of real machines is refilled to the operator’s target after a kill', { timeout: 3 * withinMs }, async () => {
    const service = await Service.start(state);
    await resize(service, 1);
    const [before] = (await settled(service, 1)).vms;
    process.kill(service.pid, 'SIGKILL');
    const again = await Service.start(state);
    const { vms, target } = await settled(again, 1);
    assert.equal(target, 1);
    assert.notEqual(vms[0]?.vm_id, before?.vm_id);
    await eventually('the earlier machine is removed', () => onHost().length === 1);
    assert.equal(await again.stop(), 0);
    assert.deepEqual(onHost(), []);
  });
});
