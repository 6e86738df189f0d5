/** Two processes with the id of one worker, as when its data directory was copied. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { getCredits, getSession, listAllSessions, navigate } from '@berth/contract';
import { createFakeRuntime } from '@berth/machines/testing/fake/fake.ts';
import { eventually, startApp, type TestApp } from '../harness.ts';
import { startFleet, type TestFleet } from './fleet.ts';

describe('a second process with the id of a worker', () => {
  let fleet: TestFleet;
  let copies: string;
  before(async () => {
    fleet = await startFleet({ workers: 2 });
    copies = mkdtempSync(join(tmpdir(), 'berth-copies-'));
  });
  after(async () => {
    await fleet.close();
    rmSync(copies, { recursive: true });
  });

  const copyOf = (worker: TestApp, name: string): string => {
    const dataDir = join(copies, name);
    cpSync(worker.dataDir, dataDir, { recursive: true });
    return dataDir;
  };
  /** Returns why it does not serve; null where it does. */
  const startOn = async (dataDir: string): Promise<unknown> => {
    const previous = { dataDir, databaseUrl: fleet.databaseUrl, runtime: createFakeRuntime() };
    try {
      const copy = await startApp({ isInFleet: true, previous });
      await copy.close();
      return null;
    } catch (error) {
      return error;
    }
  };
  const state = async (session_id: string) => {
    const [session, credits] = [await fleet.call(0, getSession, { params: { session_id } }), await fleet.call(0, getCredits)];
    return { status: session.body.status, ended: session.body.ended_reason, credits: credits.body };
  };

  it('a second process with the id of a worker refuses to serve, and says what to do, while the first one keeps its sessions and what they cost', async () => {
    for (const index of [0, 1]) {
      const original = fleet.worker(index);
      const { session_id } = await original.create();
      const at = fleet.whereIs(session_id);
      const before = await state(session_id);
      assert.equal(before.status, 'ready');
      const refused = await startOn(copyOf(fleet.worker(at), `copy-${index}`));
      assert.match(String(refused), /another process serves as worker .*Delete the file worker-id/);
      assert.deepEqual(await state(session_id), before);
      const reached = await fleet.call(1 - at, navigate, { params: { session_id }, body: { url: 'http://site.test/' } });
      assert.equal(reached.status, 200, reached.text);
      const listed = (await fleet.call(at, listAllSessions, { query: { limit: '100' } })).body;
      assert.equal(listed.filter((each) => each.session_id === session_id).length, 1);
    }
  });

  it('a second process with the id of a worker serves as that worker after the first one has stopped', async () => {
    const dataDir = copyOf(fleet.worker(1), 'later');
    await fleet.stop(1);
    assert.equal(await startOn(dataDir), null);
    await eventually('the other one still serves', async () => (await fleet.worker(0).create()).status === 'ready');
  });
});
