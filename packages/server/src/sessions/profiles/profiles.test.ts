/** Saves that are repeated, because the database did not answer. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { Audit } from '../../accounts/audit/audit.ts';
import { systemClock as clock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';
import { Owners, loadTiers } from '../../accounts/owners/owners.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { Profiles } from './profiles.ts';
import { insertProfile } from './store.ts';

let database: TestStore;
before(async () => {
  database = await testStore();
});
after(() => database.drop());

it('a save of a profile whose first answer was lost is stored once', async () => {
  const { store } = database;
  const audit = new Audit({ store, clock });
  const owners = new Owners({ store, tiers: loadTiers(null, { billing: false }), audit, clock });
  const profiles = new Profiles({ store, owners, audit, clock, secret: Buffer.alloc(32) });
  const key = { owner: 'local', profileId: newId('pro') };
  await store.transaction((tx) => owners.ensure(tx, key.owner, undefined, 'test'));
  await insertProfile(store, { ...key, name: 'answered', createdAt: clock.now() });
  const left = { cookies: [], origins: [], unread: [], omitted: { databases: 0, records: 0 } };
  let isLocked = true;
  const unlock = (): Promise<boolean> => {
    const was = isLocked;
    isLocked = false;
    return Promise.resolve(was);
  };
  const once = { savedAt: clock.now(), unlock };
  const first = await profiles.save(key, left, once);
  assert.deepEqual([await profiles.save(key, left, once), first?.cookies], [first, 0]);
  assert.equal((await profiles.get(key.owner, key.profileId)).version, 1);
  // Of a session that another one took the lock from.
  assert.equal(await profiles.save(key, left, { savedAt: new Date(0), unlock }), null);
});
