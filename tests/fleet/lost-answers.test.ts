/** Requests with an `Idempotency-Key` whose worker is killed before it answers, and what their repetitions get. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createKey, createSession, getCredits, getSession, grantCredits, listSessions, pinOwner, unpinOwner } from '@berth/contract';
import { testStore, type TestStore } from '../../packages/server/testing/test-store.ts';
import { adminKey, Client, eventually, type Request } from '../harness.ts';
import type { InjectedFault } from '../ledger/faults.ts';
import type { PlannedFault } from './faults.ts';
import { FleetProcess } from './fleet-process.ts';
/** The lease is taken after eight seconds. The deadline of a create is much later. */
const lostMsMax = 40_000;

const beforeItIsCharged: InjectedFault = { what: 'kill', at: 'commit', table: 'sessions', moment: 'after', nth: 1 };
const onceItIsCharged: InjectedFault = { what: 'kill', at: 'commit', table: 'credit_journal', moment: 'after', nth: 2 };

describe('a create whose worker is killed', () => {
  let store: TestStore | undefined;
  let folder = '';
  const workers: FleetProcess[] = [];
  const worker = (index: number): FleetProcess => workers[index] ?? assert.fail();
  const client = (index: number, ownKey = ''): Client => new Client(worker(index).url, ownKey, adminKey);

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-fleet-'));
    const { url } = (store = await testStore());
    const environment = {
      BERTH_PORT: '0',
      BERTH_POOL_TARGET: '0',
      BERTH_DRAIN_SECONDS: '1',
      BERTH_DEV_IDP: 'true',
      BERTH_CREDITS_ENFORCED: 'true',
    };
    const common = { databaseUrl: url, adminKey, folder, environment, log: () => undefined, onReport: () => undefined, isReliable: true };
    for (const index of [0, 1]) {
      workers.push(await FleetProcess.open({ ...common, index }));
      await worker(index).start();
    }
  });

  after(async () => {
    await Promise.all(workers.map((each) => each.close()));
    await store?.drop();
    rmSync(folder, { recursive: true });
  });

  /** An owner with credits, and its create at worker 0, which is killed meanwhile. */
  async function lose(owner: string, fault: InjectedFault): Promise<Lost> {
    const { body } = await client(1).call(createKey, { body: { owner } });
    const own = body.key ?? assert.fail();
    await client(1).call(grantCredits, { body: { owner, amount: 100 } });
    const params = { owner };
    const { workerId, process } = worker(0);
    await client(0).call(pinOwner, { params, body: { worker_id: workerId ?? assert.fail() } });
    const request = { key: own, body: { name: 'wanted' }, headers: { 'idempotency-key': randomUUID() } };
    process.arm([fault]);
    await assert.rejects(client(0).call(createSession, request));
    await process.exited;
    await client(1).call(unpinOwner, { params });
    return {
      request,
      sessionsPaid: async () => {
        const { balance, cost } = (await client(1).call(getCredits, { key: own })).body;
        return (100 - balance) / cost.session;
      },
      reasons: async () =>
        (await client(1).call(listSessions, { key: own, query: { limit: '10' } })).body.map((session) => session.ended_reason),
    };
  }

  const startAgain = (): Promise<void> => worker(0).suffer({ what: 'kill', forMs: 0 } as PlannedFault, (work) => work());

  it('a create whose worker is killed is done again by the worker that starts again, where nothing was charged', async () => {
    const { request, sessionsPaid, reasons } = await lose('again', beforeItIsCharged);
    await startAgain();
    const { status, body, headers, text } = await client(0).call(createSession, request);
    assert.deepEqual([status, body.status, headers.get('idempotent-replayed')], [201, 'ready', null], text);
    assert.deepEqual(await reasons(), [null, 'worker_lost']);
    assert.equal(await sessionsPaid(), 1);
  });

  it('a create whose worker is killed is done again by another worker as soon as the first is found lost', async () => {
    const { request, sessionsPaid, reasons } = await lose('elsewhere', beforeItIsCharged);
    await client(1).refuse(createSession, 'idempotency_in_progress', request);
    await eventually('its session is lost', async () => (await reasons())[0] === 'worker_lost', lostMsMax);
    const answers: unknown[] = [];
    await eventually('it is done anew', async () => {
      const { status, text } = await client(1).call(createSession, request);
      if (status !== 201) answers.push(JSON.parse(text).error.code);
      return status === 201;
    });
    assert.deepEqual(new Set(answers), new Set(answers.length === 0 ? [] : ['idempotency_in_progress']));
    assert.deepEqual(await reasons(), [null, 'worker_lost']);
    assert.equal(await sessionsPaid(), 1);
    await startAgain();
  });

  it('a create whose worker is killed is not done again where it was charged: the answer names the session', async () => {
    const { request, sessionsPaid, reasons } = await lose('charged', onceItIsCharged);
    await startAgain();
    for (const index of [0, 1]) {
      const { details } = await client(index).refuse(createSession, 'answer_lost', request);
      const { body } = await client(index).call(getSession, { key: request.key, params: { session_id: String(details['session_id']) } });
      assert.deepEqual([body.status, body.ended_reason], ['ended', 'worker_lost']);
    }
    assert.deepEqual(await reasons(), ['worker_lost']);
    assert.equal(await sessionsPaid(), 1);
  });
});

interface Lost {
  request: Request<typeof createSession> & { key: string };
  sessionsPaid: () => Promise<number>;
  /** Why the owner's sessions have ended, newest first. */
  reasons: () => Promise<(string | null)[]>;
}
