import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ValidationError } from '@berth/contract';
import { Audit } from '../audit/audit.ts';
import { ManualClock } from '@berth/lib/clock.ts';
import type { Store } from '../../store/store.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { Owners, loadTiers, type Tiers } from './owners.ts';

let opened: TestStore;
let store: Store;
before(async () => {
  opened = await testStore();
  ({ store } = opened);
});
after(() => opened.drop());

const builtin = loadTiers(null, { billing: true });
const byOperator = { actor: 'operator', why: 'assigned' };
const dayMs = 86_400_000;

/** The database, as it counts what it is asked. */
function counted(): { store: Store; asked: () => number } {
  let count = 0;
  const tables = <T>() => {
    count += 1;
    return store.tables<T>();
  };
  return { store: { ...store, tables, transaction: (work) => store.transaction(work) }, asked: () => count };
}

function makeOwners({
  tiers = builtin,
  clock = new ManualClock(),
  from = store,
}: { tiers?: Tiers; clock?: ManualClock; from?: Store } = {}) {
  const audit = new Audit({ store, clock });
  const owners = new Owners({ store: from, tiers, audit, clock });
  const setTier = async (owner: string, tier: string, by = byOperator): Promise<void> => {
    await store.transaction((tx) => owners.setTier(tx, owner, tier, by));
    owners.changed(owner);
  };
  const startTrial = async (owner: string, tier: string, days: number): Promise<Date> => {
    const endsAt = new Date(clock.now().getTime() + days * dayMs);
    await store.transaction((tx) => owners.startTrial(tx, owner, { tier, endsAt, actor: 'login:ada' }));
    owners.changed(owner);
    return endsAt;
  };
  const audited = async (owner: string): Promise<Record<string, unknown>[]> =>
    (await audit.list({ owner, limit: 10 })).toReversed().map(({ actor, action, details }) => ({ actor, action, ...details }));
  return { owners, clock, setTier, startTrial, audited };
}

const nameOf = async (owners: Owners, owner: string): Promise<string> => (await owners.getPlan(owner)).tier.name;

describe('an owner', () => {
  it('an unknown owner has the default tier', async () => {
    const { owners } = makeOwners();
    assert.deepEqual(await owners.getPlan('nobody-yet'), { tier: builtin.get('free'), trialEndsAt: null });
  });

  it('an owner is created once, and keeps its tier where none is given', async () => {
    const { owners, setTier, audited } = makeOwners();
    await setTier('kept', 'startup');
    await store.transaction((tx) => owners.ensure(tx, 'kept', undefined, 'operator'));
    assert.equal(await nameOf(owners, 'kept'), 'startup');
    assert.deepEqual(await audited('kept'), [{ actor: 'operator', action: 'tier.changed', from: 'free', to: 'startup', why: 'assigned' }]);
  });

  it('an owner is put on a tier that is given with it, which is logged only where it is another', async () => {
    const { owners, audited } = makeOwners();
    for (const tier of ['developer', 'developer', 'scale']) {
      await store.transaction((tx) => owners.ensure(tx, 'given', tier, 'operator'));
      owners.changed('given');
      assert.equal(await nameOf(owners, 'given'), tier);
    }
    assert.deepEqual(
      (await audited('given')).map(({ from, to }) => [from, to]),
      [
        ['free', 'developer'],
        ['developer', 'scale'],
      ],
    );
  });

  it('an owner is not created with an unknown tier', async () => {
    const { owners } = makeOwners();
    const made = store.transaction((tx) => owners.ensure(tx, 'phantom', 'platinum', 'operator'));
    await assert.rejects(made, (error) => error instanceof ValidationError && error.detail[0]?.loc.join('.') === 'body.tier');
    const rows = await store
      .tables<{ owners: { owner_id: string } }>()
      .selectFrom('owners')
      .selectAll()
      .where('owner_id', '=', 'phantom')
      .execute();
    assert.deepEqual(rows, []);
  });

  it('an owner whose tier has left the file has the default one', async () => {
    const before = makeOwners();
    await before.setTier('left', 'scale');
    const without: Tiers = { ...builtin, get: (name) => (name === 'scale' ? undefined : builtin.get(name)) };
    assert.equal(await nameOf(makeOwners({ tiers: without }).owners, 'left'), 'free');
  });

  it('an owner is changed by one at a time, and each change says what was before it', async () => {
    const { setTier, audited } = makeOwners();
    await Promise.all(['developer', 'startup', 'scale', 'developer', 'startup'].map((tier) => setTier('raced', tier)));
    const changes = await audited('raced');
    changes.reduce((before, change) => {
      assert.equal(change['from'], before);
      return String(change['to']);
    }, 'free');
  });
});

describe('a trial', () => {
  it('a trial counts until it ends, which it does by itself', async () => {
    const { owners, clock, setTier, startTrial } = makeOwners();
    await setTier('trier', 'developer');
    const endsAt = await startTrial('trier', 'scale', 14);
    assert.deepEqual(await owners.getPlan('trier'), { tier: builtin.get('scale'), trialEndsAt: endsAt });
    clock.advance(14 * dayMs - 1);
    assert.equal(await nameOf(owners, 'trier'), 'scale');
    clock.advance(1);
    assert.deepEqual(await owners.getPlan('trier'), { tier: builtin.get('developer'), trialEndsAt: null });
    assert.equal((await owners.tierOf('trier')).name, 'developer');
  });

  it('a trial ends on the instant, also where its owner was read just before', async () => {
    const { owners, clock, startTrial } = makeOwners();
    await startTrial('instant', 'scale', 1);
    clock.advance(dayMs - 100);
    assert.equal(await nameOf(owners, 'instant'), 'scale');
    clock.advance(100);
    assert.equal(owners.getCachedPlan('instant')?.tier.name, 'free');
  });

  it('a trial is over once a tier is set, and the log says from what to what', async () => {
    const { owners, setTier, startTrial, audited } = makeOwners();
    const endsAt = await startTrial('buyer', 'scale', 14);
    await setTier('buyer', 'developer', { actor: 'payment_provider', why: 'subscription' });
    assert.deepEqual(await owners.getPlan('buyer'), { tier: builtin.get('developer'), trialEndsAt: null });
    assert.deepEqual(await audited('buyer'), [
      { actor: 'login:ada', action: 'tier.changed', from: 'free', to: 'scale', why: 'trial', until: endsAt.toISOString() },
      { actor: 'payment_provider', action: 'tier.changed', from: 'scale', to: 'developer', why: 'subscription' },
    ]);
  });

  it('a trial that was over already is no change', async () => {
    const { clock, setTier, startTrial, audited } = makeOwners();
    await startTrial('lapsed', 'scale', 1);
    clock.advance(2 * dayMs);
    await setTier('lapsed', 'free');
    assert.equal((await audited('lapsed')).length, 1);
  });
});

describe('what is known of an owner', () => {
  it('a cached owner is used for a second', async () => {
    const { store: from, asked } = counted();
    const { owners, clock } = makeOwners({ from });
    await owners.getPlan('cached');
    clock.advance(1000);
    await owners.getPlan('cached');
    assert.equal(asked(), 1);
    clock.advance(1);
    assert.equal(owners.getCachedPlan('cached'), null);
    await owners.getPlan('cached');
    assert.equal(asked(), 2);
  });

  it('an owner is read once for all who want it at the same time', async () => {
    const { store: from, asked } = counted();
    const { owners } = makeOwners({ from });
    await Promise.all(Array.from({ length: 50 }, () => owners.getPlan('crowd')));
    assert.equal(asked(), 1);
  });

  it('a cached owner is dropped at once after a change on this worker, and within a second after one elsewhere', async () => {
    const here = makeOwners();
    const there = makeOwners();
    for (const { owners } of [here, there]) assert.equal(await nameOf(owners, 'moved'), 'free');
    await here.setTier('moved', 'startup');
    assert.equal(await nameOf(here.owners, 'moved'), 'startup');
    there.clock.advance(1001);
    assert.equal(await nameOf(there.owners, 'moved'), 'startup');
  });

  it('a cached owner is not taken from an answer that is older than the change', async () => {
    const { owners, setTier } = makeOwners();
    const early = owners.getPlan('overtaken');
    await setTier('overtaken', 'startup');
    await early;
    assert.equal(await nameOf(owners, 'overtaken'), 'startup');
  });

  it('a cached plan is returned without waiting only where it is fresh', async () => {
    const { owners } = makeOwners();
    assert.equal(owners.getCachedPlan('unasked'), null);
    const plan = await owners.getPlan('unasked');
    assert.deepEqual(owners.getCachedPlan('unasked'), plan);
  });

  it('an owner is read again after the database was away', async () => {
    let away = true;
    const tables = <T>() => {
      if (away) throw new Error('away');
      return store.tables<T>();
    };
    const { owners } = makeOwners({ from: { ...store, tables } });
    await assert.rejects(owners.getPlan('patient'), /away/);
    away = false;
    assert.equal(await nameOf(owners, 'patient'), 'free');
  });

  it('a change of an owner notifies whoever caches something about that owner', async () => {
    const { owners, setTier } = makeOwners();
    const heard: string[] = [];
    owners.onChanged((owner) => heard.push(owner));
    await setTier('heard', 'scale');
    assert.deepEqual(heard, ['heard']);
  });
});
