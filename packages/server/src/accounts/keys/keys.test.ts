import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ServiceError, type ErrorCode } from '@berth/contract';
import { Audit } from '../audit/audit.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';
import { Owners, loadTiers } from '../owners/owners.ts';
import type { Store } from '../../store/store.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { keyStatus } from './api-key.ts';
import { Keys, newRawKey, type ApiKey, type CreatedKey } from './keys.ts';

let opened: TestStore;
let store: Store;
before(async () => {
  opened = await testStore();
  ({ store } = opened);
});
after(() => opened.drop());

const dayMs = 86_400_000;
const tiers = loadTiers(null, { billing: true });

/** One worker of the service. */
function makeWorker(clock = new ManualClock()) {
  const audit = new Audit({ store, clock });
  const owners = new Owners({ store, tiers, audit, clock });
  const keys = new Keys({ store, owners, audit, clock });
  const revoked: string[] = [];
  keys.onRevoked((keyId) => revoked.push(keyId));
  const own = (owner: string, expiresInDays: number | null = null, name: string | null = null): Promise<CreatedKey> =>
    keys.createOwn({ owner, actor: 'login:ada', name, expiresInDays });
  const enter = async ({ raw }: Pick<CreatedKey, 'raw'>) =>
    keys.authenticate({ authorization: `Bearer ${raw}`, adminKey: undefined, token: undefined, viewCookies: [], params: {} });
  const auditTrail = async (owner: string) =>
    (await audit.list({ owner, limit: 500 }))
      .toReversed()
      .map(({ actor, action, subject, details }) => ({ actor, action, subject, ...details }));
  const statuses = async (owner: string) => (await keys.list({ owner, limit: 100 })).map((key: ApiKey) => keyStatus(key, clock.now()));
  return { keys, owners, clock, revoked, own, enter, auditTrail, statuses };
}

const refused = (promise: Promise<unknown>, code: ErrorCode): Promise<void> =>
  assert.rejects(promise, (error) => error instanceof ServiceError && error.code === code);

describe('a minted key', () => {
  it('a created key lets its owner in, and is in the audit log with who created it and without its secret', async () => {
    const { own, enter, auditTrail } = makeWorker();
    const created = await own('minted', 30, 'ci');
    assert.deepEqual(await enter(created), { owner: 'minted', keyId: created.key.keyId, requestsPerMinute: 600, scope: 'owner:minted' });
    assert.deepEqual([created.key.createdBy, created.key.name], ['login:ada', 'ci']);
    const entries = await auditTrail('minted');
    assert.deepEqual(entries, [{ actor: 'login:ada', action: 'key.created', subject: created.key.keyId }]);
    assert.ok(!JSON.stringify(entries).includes(created.raw));
  });

  it('a key of an unknown plan is not created, and neither is its owner nor an audit entry', async () => {
    const { keys, auditTrail } = makeWorker();
    const minting = keys.create({
      owner: 'nothing',
      name: null,
      tier: 'platinum',
      expiresInDays: null,
      createdBy: 'admin',
      actor: 'operator',
    });
    await assert.rejects(minting, /should be one of/);
    assert.deepEqual([await keys.list({ owner: 'nothing', limit: 100 }), await auditTrail('nothing')], [[], []]);
  });

  it('a key that the operator gave is created once, whoever starts at the same time', async () => {
    const raw = newRawKey();
    const workers = [makeWorker(), makeWorker(), makeWorker()];
    await Promise.all(workers.map(({ keys }) => keys.bootstrap({ file: '', configured: raw })));
    const [{ enter, auditTrail, keys }] = workers as [ReturnType<typeof makeWorker>];
    assert.equal((await enter({ raw })).owner, 'local');
    assert.deepEqual(
      [(await keys.list({ owner: 'local', limit: 100 })).length, (await auditTrail('local')).map(({ actor }) => actor)],
      [1, ['service']],
    );
  });
});

describe('an owner’s people', () => {
  it('people of an owner may have a hundred valid keys, and one more when one of them is revoked or expired', async () => {
    const { keys, own, clock } = makeWorker();
    const [first, ...others] = await Promise.all(Array.from({ length: 100 }, (_, at) => own('hoarder', at === 50 ? 1 : null)));
    assert.ok(first && others.length === 99);
    await refused(own('hoarder'), 'key_limit_reached');
    await keys.revoke({ keyId: first.key.keyId, owner: 'hoarder', actor: 'login:ada' });
    await own('hoarder');
    await refused(own('hoarder'), 'key_limit_reached');
    clock.advance(dayMs);
    await own('hoarder');
  });

  it('people of an owner get no more keys by asking at the same time, or by leaving replaced keys their grace', async () => {
    const { keys, own } = makeWorker();
    const made = await Promise.allSettled(Array.from({ length: 110 }, () => own('crowd')));
    assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 100);
    const [key] = await keys.list({ owner: 'crowd', limit: 100 });
    const rotate = (graceSeconds: number) => keys.rotate({ keyId: key?.keyId ?? '', owner: 'crowd', actor: 'login:ada', graceSeconds });
    await refused(rotate(60), 'key_limit_reached');
    await rotate(0);
  });

  it("the key limit of an owner's people does not keep the operator from creating more", async () => {
    const { keys, own } = makeWorker();
    await Promise.all(Array.from({ length: 100 }, () => own('full')));
    await keys.create({ owner: 'full', name: null, expiresInDays: null, createdBy: 'admin', actor: 'operator' });
  });
});

describe('a revoked key', () => {
  it('a revoked key is refused from then on, and listeners are notified', async () => {
    const { keys, own, enter, revoked, clock } = makeWorker();
    const created = await own('revoker');
    await enter(created);
    const at = await keys.revoke({ keyId: created.key.keyId, owner: 'revoker', actor: 'login:ada' });
    assert.deepEqual(at, clock.now());
    await refused(enter(created), 'invalid_api_key');
    assert.deepEqual(revoked, [created.key.keyId]);
  });

  it('a revoked key keeps its first time and its one audit entry, however often and by whomever it is revoked', async () => {
    const { keys, own, auditTrail, clock } = makeWorker();
    const { key } = await own('twice');
    const first = await keys.revoke({ keyId: key.keyId, owner: null, actor: 'operator' });
    clock.advance(1000);
    const again = await Promise.all([1, 2, 3].map(() => keys.revoke({ keyId: key.keyId, owner: 'twice', actor: 'login:ada' })));
    assert.deepEqual(again, [first, first, first]);
    const revocations = (await auditTrail('twice')).filter(({ action }) => action === 'key.revoked');
    assert.deepEqual(revocations, [{ actor: 'operator', action: 'key.revoked', subject: key.keyId }]);
  });

  it('a revoked key has one audit entry when two revoke it at the same time', async () => {
    const { keys, own, auditTrail } = makeWorker();
    const { key } = await own('both');
    await Promise.all(['login:ada', 'login:ben', 'login:eve'].map((actor) => keys.revoke({ keyId: key.keyId, owner: 'both', actor })));
    assert.equal((await auditTrail('both')).filter(({ action }) => action === 'key.revoked').length, 1);
  });

  it('a key to revoke must be one’s own: unknown, malformed and foreign are the same', async () => {
    const { keys, own, enter } = makeWorker();
    const foreign = await own('victim');
    const errors = await Promise.all(
      [foreign.key.keyId, newId('key'), 'nothing', '', '../keys', "x' OR 1=1"].flatMap((keyId) => [
        keys.revoke({ keyId, owner: 'stranger', actor: 'login:eve' }).catch((error: unknown) => error),
        keys.rotate({ keyId, owner: 'stranger', actor: 'login:eve', graceSeconds: 0 }).catch((error: unknown) => error),
      ]),
    );
    for (const error of errors) assert.ok(error instanceof ServiceError && error.code === 'key_not_found');
    assert.equal(new Set(errors.map((error) => (error as Error).message)).size, 1);
    assert.equal((await enter(foreign)).owner, 'victim');
  });
});

describe('a replaced key', () => {
  it('a replaced key is revoked at once without a grace, and the new one has its name', async () => {
    const { keys, own, enter, revoked, auditTrail } = makeWorker();
    const old = await own('rotator', null, 'ci');
    await enter(old);
    const fresh = await keys.rotate({ keyId: old.key.keyId, owner: 'rotator', actor: 'login:ben', graceSeconds: 0 });
    assert.deepEqual([fresh.key.name, fresh.key.createdBy, fresh.key.expiresAt], ['ci', 'login:ben', null]);
    await refused(enter(old), 'invalid_api_key');
    assert.equal((await enter(fresh)).keyId, fresh.key.keyId);
    assert.deepEqual(revoked, [old.key.keyId]);
    const [, entry] = await auditTrail('rotator');
    assert.deepEqual(entry, {
      actor: 'login:ben',
      action: 'key.rotated',
      subject: fresh.key.keyId,
      replaces: old.key.keyId,
      grace_seconds: 0,
    });
  });

  it('a replaced key is valid for its grace and not longer, also where it is cached', async () => {
    const { keys, own, enter, revoked, clock } = makeWorker();
    const old = await own('graceful');
    await enter(old);
    const fresh = await keys.rotate({ keyId: old.key.keyId, owner: 'graceful', actor: 'login:ada', graceSeconds: 60 });
    clock.advance(59_999);
    await Promise.all([enter(old), enter(fresh)]);
    assert.deepEqual(await keys.findInactive([old.key.keyId]), []);
    clock.advance(1);
    await refused(enter(old), 'invalid_api_key');
    assert.deepEqual(await keys.findInactive([old.key.keyId, fresh.key.keyId]), [old.key.keyId]);
    await enter(fresh);
    assert.deepEqual(revoked, []);
  });

  it('a replaced key never lives longer by its grace, and the new one lives as long as the old one was to', async () => {
    const { keys, own, clock } = makeWorker();
    const old = await own('mortal', 30);
    clock.advance(30 * dayMs - 10_000);
    const fresh = await keys.rotate({ keyId: old.key.keyId, owner: 'mortal', actor: 'login:ada', graceSeconds: 60 });
    assert.deepEqual(fresh.key.expiresAt, new Date(clock.now().getTime() + 30 * dayMs));
    const match = (await keys.list({ owner: 'mortal', limit: 100 })).find(({ keyId }) => keyId === old.key.keyId);
    assert.deepEqual(match?.expiresAt, old.key.expiresAt);
  });

  it('a key that is revoked or expired cannot be replaced', async () => {
    const { keys, own, clock, auditTrail } = makeWorker();
    const [revoked, expired] = [await own('late'), await own('late', 1)];
    await keys.revoke({ keyId: revoked.key.keyId, owner: 'late', actor: 'login:ada' });
    clock.advance(dayMs);
    const before = await auditTrail('late');
    for (const { key } of [revoked, expired])
      await refused(keys.rotate({ keyId: key.keyId, owner: 'late', actor: 'login:ada', graceSeconds: 60 }), 'key_revoked');
    assert.deepEqual(await auditTrail('late'), before);
  });

  it('a key is replaced by one key when two ask at the same time', async () => {
    const { keys, own, statuses } = makeWorker();
    const { key } = await own('hasty');
    const asked = await Promise.allSettled(
      [1, 2].map(() => keys.rotate({ keyId: key.keyId, owner: 'hasty', actor: 'login:ada', graceSeconds: 0 })),
    );
    assert.deepEqual(asked.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
    assert.deepEqual((await statuses('hasty')).toSorted(), ['active', 'revoked']);
  });
});

describe('a plan that changes', () => {
  it('a plan that changes applies to cached keys from the next request on', async () => {
    const { owners, own, enter } = makeWorker();
    const created = await own('mover');
    assert.equal((await enter(created)).requestsPerMinute, 600);
    await store.transaction((tx) => owners.setTier(tx, 'mover', 'self_hosted', { actor: 'operator', why: 'assigned' }));
    owners.changed('mover');
    assert.equal((await enter(created)).requestsPerMinute, null);
  });

  it('a key has the plan of a trial while it runs', async () => {
    const { owners, own, enter, clock } = makeWorker();
    const created = await own('trier');
    await store.transaction((tx) =>
      owners.startTrial(tx, 'trier', { tier: 'self_hosted', endsAt: new Date(clock.now().getTime() + dayMs), actor: 'login:ada' }),
    );
    owners.changed('trier');
    assert.equal((await enter(created)).requestsPerMinute, null);
  });
});
