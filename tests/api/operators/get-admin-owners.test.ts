import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPromoCodes, grantCredits, listOwners, redeemPromo } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
  await served.ownerKey('acme', 'free');
  await served.ownerKey('Acme-labs', 'scale');
  await served.call(grantCredits, { body: { owner: 'acme', amount: 12.5 } });
});
after(() => served.close());

const ids = async (query: Record<string, string>) => (await served.call(listOwners, { query })).body.map(({ owner }) => owner);

describe('200', () => {
  it('GET /admin/owners lists each owner with plan and balance, sorted by id', async () => {
    const { body, headers } = await served.call(listOwners);
    assert.deepEqual(
      body.map(({ created_at, ...owner }) => ({ ...owner, isDated: Date.parse(created_at) <= Date.now() })),
      [
        ['Acme-labs', 'scale', 0],
        ['acme', 'free', 12.5],
        ['local', 'self_hosted', 0],
      ].map(([owner, tier, balance]) => ({
        owner,
        tier,
        plan: { tier, trial_tier: null, trial_ends_at: null },
        pinned_worker_id: null,
        balance,
        isDated: true,
      })),
    );
    assert.equal(headers.get('x-has-more'), 'false');
  });

  it('GET /admin/owners lists the plan of a running trial as the one in effect', async () => {
    const { codes } = (await served.call(createPromoCodes, { body: { tier: 'scale', trial_days: 7 } })).body;
    await served.call(redeemPromo, { key: await served.login('trying'), body: { code: codes?.[0] } });
    const [owner] = (await served.call(listOwners, { query: { search: 'trying' } })).body;
    assert.deepEqual([owner?.tier, owner?.plan.tier, owner?.plan.trial_tier], ['scale', 'self_hosted', 'scale']);
  });

  it('GET /admin/owners finds owners by a part of their id and by their plan, and takes no text for a pattern', async () => {
    assert.deepEqual(await ids({ search: 'CME' }), ['Acme-labs', 'acme']);
    assert.deepEqual(await ids({ search: 'acme', tier: 'free' }), ['acme']);
    for (const search of ['%', '_', '\\', "' OR 1=1 --"]) assert.deepEqual(await ids({ search }), [], search);
    assert.deepEqual(await ids({ tier: 'no-such-plan' }), []);
  });

  it('GET /admin/owners pages without gaps or repeats while owners are added', async () => {
    for (let n = 0; n < 5; n += 1) await served.ownerKey(`paged-${n}`);
    const seen: string[] = [];
    let query: Record<string, string> | null = { search: 'paged', limit: '2' };
    while (query) {
      const page: Awaited<ReturnType<typeof served.call<typeof listOwners>>> = await served.call(listOwners, { query });
      seen.push(...page.body.map(({ owner }) => owner));
      await served.ownerKey(`a-${seen.length}-paged`);
      const cursor: string | null = page.headers.get('x-next-cursor');
      query = cursor === null ? null : { search: 'paged', limit: '2', cursor };
    }
    assert.deepEqual(seen, ['paged-0', 'paged-1', 'paged-2', 'paged-3', 'paged-4']);
  });
});

describe('422', () => {
  it('GET /admin/owners refuses invalid filters with 422', async () => {
    for (const [name, value] of [
      ['limit', '0'],
      ['limit', '501'],
      ['search', ''],
      ['search', 'a'.repeat(65)],
      ['search', 'a\0b'],
      ['tier', 'a\0b'],
      ['tier', ''],
      ['cursor', 'nonsense'],
      ['cursor', Buffer.from('[1]').toString('base64url')],
      ['cursor', Buffer.from(JSON.stringify(['a'.repeat(65)])).toString('base64url')],
      ['colour', 'red'],
    ] as const) {
      const [issue] = await served.issues(listOwners, { query: { [name]: value } });
      assert.deepEqual(issue?.loc, ['query', name], `${name}=${value}`);
    }
  });

  it('GET /admin/owners refuses a cursor with a text that the database cannot store with 422', async () => {
    const cursor = Buffer.from(JSON.stringify(['a\0b'])).toString('base64url');
    const [issue] = await served.issues(listOwners, { query: { cursor } });
    assert.deepEqual(issue?.loc, ['query', 'cursor']);
  });
});
