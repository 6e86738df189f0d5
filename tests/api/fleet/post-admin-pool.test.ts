import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getPool, getSession, listAudit, resizePool } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { eventually, startApp, type TestApp } from '../../harness.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

const resize = async (body: { target: number; kind?: 'headless' | 'full_browser' }) => (await served.call(resizePool, { body })).body;
const ready = () => served.app.fleet.count('ready');

describe('200', () => {
  it('POST /admin/pool returns the new target with its time and actor', async () => {
    clock.advance(1000);
    const body = await resize({ target: 2 });
    assert.deepEqual([body.target, body.updated_at, body.updated_by], [2, '2026-01-01T00:00:01.000Z', 'operator']);
    assert.deepEqual(body.targets.headless, { target: 2, updated_at: '2026-01-01T00:00:01.000Z', updated_by: 'operator' });
    assert.equal((await served.call(getPool)).body.target, 2);
  });

  it('POST /admin/pool starts missing machines and removes excess machines before it answers', async () => {
    await eventually('both are warm', () => ready() === 2);
    const { counts } = await resize({ target: 0 });
    assert.deepEqual([counts.ready, ready()], [0, 0]);
    await eventually('they have ended', () => served.runtime.machines.size === 0);
  });

  it('POST /admin/pool cancels a start that is no longer needed', async () => {
    served.runtime.delayBoot(60_000);
    await resize({ target: 1 });
    await eventually('one is starting', () => served.app.fleet.count('warming') === 1);
    await resize({ target: 0 });
    await eventually('it is cancelled', () => served.app.fleet.slots.size === 0);
    served.runtime.delayBoot(0);
    const { worker } = await resize({ target: 0 });
    assert.deepEqual(
      worker.templates.map(({ failures }) => failures),
      [0, 0],
      'nothing has failed',
    );
  });

  it('POST /admin/pool changes one kind and keeps the other', async () => {
    const { target, targets } = await resize({ target: 1, kind: 'full_browser' });
    assert.deepEqual([target, targets.headless.target, targets.full_browser.target], [0, 0, 1]);
    await eventually('it is warm', () => served.app.fleet.count('ready', 'full_browser') === 1);
    await resize({ target: 0, kind: 'full_browser' });
  });

  it('POST /admin/pool ends no machine in use', async () => {
    await resize({ target: 1 });
    await eventually('one is warm', () => ready() === 1);
    const { session_id, warm } = await served.create();
    assert.equal(warm, true);
    await resize({ target: 0 });
    await eventually('the pool is empty', () => served.app.fleet.slots.size === 1);
    assert.equal((await served.call(getSession, { params: { session_id } })).body.status, 'ready');
  });

  it('POST /admin/pool adds an audit entry', async () => {
    await resize({ target: 3, kind: 'full_browser' });
    await resize({ target: 0, kind: 'full_browser' });
    const { body } = await served.call(listAudit, { query: { action: 'pool.resized', limit: '2' } });
    assert.deepEqual(
      body.map(({ actor, owner, subject, details }) => [actor, owner, subject, details]),
      [0, 3].map((target) => ['operator', null, 'local', { kind: 'full_browser', target }]),
    );
  });
});

describe('422', () => {
  const wrong: Record<string, [field: string, body: Record<string, unknown>]> = {
    'a target below nothing': ['target', { target: -1 }],
    'a target beyond a thousand': ['target', { target: 1001 }],
    'half a machine': ['target', { target: 0.5 }],
    'no target': ['target', { kind: 'headless' }],
    'a kind that is not kept warm': ['kind', { target: 1, kind: 'shell' }],
    'a field that there is not': ['size', { target: 1, size: 2 }],
  };
  for (const [what, [field, body]] of Object.entries(wrong))
    it(`POST /admin/pool refuses ${what} with 422, and changes nothing`, async () => {
      const before = (await served.call(getPool)).body.targets;
      const [issue] = await served.issues(resizePool, { body });
      assert.deepEqual(issue?.loc, ['body', field]);
      assert.deepEqual((await served.call(getPool)).body.targets, before);
    });
});
