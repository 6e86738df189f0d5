/** A session that is refused leaves nothing: no profile, name, hold, reservation or folder. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { createSession, getProfile, listProfiles, type ErrorCode } from '@berth/contract';
import { sql } from 'kysely';
import { startMeteredApp, type MeteredApp, type Owner } from '../../prepare/metered-app.ts';
import { machinesLeft, nothingLeft } from '../../contract/session-states.ts';
import { eventually } from '../../harness.ts';

let served: MeteredApp;
let small: MeteredApp;
before(async () => {
  const environment = { BERTH_CREDITS_ENFORCED: 'true' };
  [served, small] = await Promise.all([
    startMeteredApp({ environment }),
    startMeteredApp({ environment: { ...environment, BERTH_MAX_SESSIONS: '1' } }),
  ]);
});
after(() => Promise.all([served.close(), small.close()]));

const named = { name: 'mine', profile: { name: 'kept', save_changes: true } };

async function rowsOf(app: MeteredApp, owner: string): Promise<unknown> {
  const { rows } = await sql`select
      (select count(*)::int from profiles where owner_id = ${owner}) as profiles,
      (select count(*)::int from credit_holds where owner_id = ${owner}) as holds,
      (select count(*)::int from sessions where owner_id = ${owner} and status not in ('ended', 'failed')) as live,
      (select count(*)::int from sessions where owner_id = ${owner} and name is not null and status not in ('ended', 'failed')) as names
    `.execute(app.app.fleet.deps.store.tables());
  return rows[0];
}
const traces = async (app: MeteredApp, { owner }: Owner) => ({
  rows: await rowsOf(app, owner),
  machines: await machinesLeft(app),
  files: readdirSync(app.dataDir, { recursive: true }).map(String).toSorted(),
});

/** The create is refused with this code, and all is as it was before. */
async function leavesNothing(app: MeteredApp, owner: Owner, { code, body }: { code: ErrorCode; body: object }): Promise<void> {
  const before = await traces(app, owner);
  await app.refuse(createSession, code, { key: owner.key, body: { ...body } });
  await eventually('nothing is left', async () => JSON.stringify(await traces(app, owner)) === JSON.stringify(before));
}

describe('a create that is refused leaves nothing behind', () => {
  it('a create refused with 402 for want of credits leaves nothing, and the next one creates the profile', async () => {
    const owner = await served.newOwner('open');
    await leavesNothing(served, owner, { code: 'insufficient_credits', body: named });
    const { owner: rich, key } = await served.newOwner('open', 5);
    const { profile, session_id } = await served.create(named, { key });
    assert.equal(profile?.name, 'kept', rich);
    assert.equal((await served.call(getProfile, { key, params: { profile_id: 'kept' } })).body.writer_session_id, session_id);
  });

  it('a create refused with 402 for a plan that is used up leaves nothing', async () => {
    await leavesNothing(served, await served.newOwner('no_time', 5), { code: 'plan_limit_exceeded', body: named });
  });

  it('a create refused with 409 for a name that is taken leaves nothing', async () => {
    const owner = await served.newOwner('open', 5);
    await served.create({ name: 'mine' }, { key: owner.key });
    await leavesNothing(served, owner, { code: 'name_taken', body: named });
  });

  it('a create refused with 409 for a profile that another session saves leaves nothing', async () => {
    const owner = await served.newOwner('open', 5);
    await served.create({ profile: named.profile }, { key: owner.key });
    await leavesNothing(served, owner, { code: 'profile_locked', body: named });
  });

  it('a create refused with 422 for a region that does not exist leaves nothing', async () => {
    const owner = await served.newOwner('open', 5);
    const before = await traces(served, owner);
    await served.issues(createSession, { key: owner.key, body: { ...named, region: 'nowhere' } });
    assert.deepEqual(await traces(served, owner), before);
  });

  it('a create refused with 429 for a session more than the plan allows leaves nothing', async () => {
    const owner = await served.newOwner('single', 5);
    await served.create({}, { key: owner.key });
    await leavesNothing(served, owner, { code: 'concurrency_limit', body: named });
  });

  it('a create refused with 503 at a worker that is full leaves nothing', async () => {
    const { key } = await small.newOwner('open', 5);
    await small.create({}, { key });
    await leavesNothing(small, await small.newOwner('open', 5), { code: 'no_capacity', body: named });
  });

  it('a create refused with 503 where the browser does not start leaves nothing', async () => {
    const owner = await served.newOwner('open', 5);
    served.runtime.failNextBoot(new Error('no browser'));
    await leavesNothing(served, owner, { code: 'no_capacity', body: named });
    assert.equal(await served.balance(owner.key), 5);
    await served.create(named, { key: owner.key });
  });
});

describe('a profile that a failed create has named', () => {
  it('a profile that a failed create has named stays where it was saved before', async () => {
    const owner = await served.newOwner('open', 5);
    const { key } = owner;
    const { session_id } = await served.create(named, { key });
    await served.app.sessions.end(owner.owner, session_id, { reason: 'requested', actor: 'test' });
    await eventually('it is saved', async () => (await served.call(listProfiles, { key })).body[0]?.version === 1);
    served.runtime.failNextBoot(new Error('no browser'));
    await leavesNothing(served, owner, { code: 'no_capacity', body: named });
    assert.equal((await served.call(listProfiles, { key })).body[0]?.version, 1);
  });

  it('a profile that a failed create has named stays where another session has begun to read it', async () => {
    const { owner, key } = await served.newOwner('open', 10);
    const boot = served.runtime.boot.bind(served.runtime);
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    served.runtime.boot = () => promise;
    const failing = served.call(createSession, { key, body: named });
    await eventually('the profile is created', async () => (await served.call(listProfiles, { key })).body.length === 1);
    served.runtime.boot = boot;
    await served.create({ profile: { name: 'kept' } }, { key });
    reject(new Error('no browser'));
    assert.equal((await failing).status, 503);
    assert.equal((await served.call(listProfiles, { key })).body.length, 1, owner);
  });
});

describe('the machines of refused creates', () => {
  it('the machines of refused creates are given back', async () => {
    for (const session of served.app.sessions.live.values())
      await served.app.sessions.end(null, session.record.sessionId, { reason: 'requested', actor: 'test' });
    await eventually('all are', async () => JSON.stringify(await machinesLeft(served)) === JSON.stringify(nothingLeft));
  });
});
