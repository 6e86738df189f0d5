import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { Client } from 'pg';
import { silentLog } from '@berth/lib/log.ts';
import { Rates } from '../../rates/rates.ts';
import { openStore, type Store } from '../../store/store.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { clock, openCredits, refusedOf, refusedWith, turn } from '../../../testing/accounts/credits.ts';
import type { Credits } from './credits.ts';

let database: TestStore;
let second: Store;
let client: Client;
let credits: Credits;
let owner: string;
let owners = 0;
before(async () => {
  database = await testStore();
  second = await openStore({ databaseUrl: database.url, dataDir: import.meta.dirname, log: silentLog });
  client = new Client({ connectionString: database.url });
  await client.connect();
  credits = openCredits(database.store);
});
after(async () => {
  await credits.stop();
  await client.end();
  await second.close();
  await database.drop();
});
beforeEach(() => {
  owner = `owner-${(owners += 1)}`;
});

const dayMs = 86_400_000;
const make = async (stats: { count?: number; expiresInDays?: number | null } = {}): Promise<string[]> =>
  credits.createCodes({ amount: 5_000_000, count: 1, expiresInDays: null, actor: 'operator', ...stats });
const redeem = (code: string | undefined, by = owner, at = credits) =>
  at.redeem({ owner: by, code: code ?? '', actor: `key:key_of_${by}` });

const ask = async <Row extends object>(statement: string, values: unknown[] = []): Promise<Row[]> =>
  (await client.query<Row>(statement, values)).rows;
async function assertSound(): Promise<void> {
  await turn(credits, 'credit-check');
  assert.equal(credits.check.wrong, 0);
}

describe('a credit code', () => {
  it('a credit code is worth its credits once, however it is typed', async () => {
    const [code = ''] = await make();
    assert.deepEqual(await redeem(code.toLowerCase().replaceAll('-', ' ')), { granted: 5_000_000, balance: 5_000_000 });
    await assert.rejects(redeem(code), refusedWith('code_already_redeemed'));
    await assertSound();
  });

  it('a credit code has one winner among fifty who come at once, of two owners and on two workers', async () => {
    const [code] = await make();
    const other = openCredits(second, { workerId: 'wrk_two' });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, n) => redeem(code, `${owner}-${n % 2}`, n % 4 < 2 ? credits : other)),
    );
    assert.equal(refusedOf(outcomes, 'code_already_redeemed'), 49);
    const wallets = await Promise.all([0, 1].map((n) => credits.wallet(`${owner}-${n}`)));
    assert.equal((wallets[0]?.balance ?? 0) + (wallets[1]?.balance ?? 0), 5_000_000);
    await assertSound();
  });

  it('a credit code is refused when its time is up', async () => {
    const [code] = await make({ expiresInDays: 2 });
    clock.advance(2 * dayMs);
    await assert.rejects(redeem(code), refusedWith('code_expired'));
  });

  it('an unknown credit code is refused as unknown twenty times a minute', async () => {
    for (let n = 0; n < 20; n += 1) await assert.rejects(redeem(`CREDIT-${n}`), refusedWith('code_not_found'));
    await assert.rejects(redeem('CREDIT-21'), refusedWith('rate_limited'));
    const [code] = await make();
    await assert.rejects(redeem(code), refusedWith('rate_limited'));
    assert.equal((await redeem(code, `${owner}-other`)).granted, 5_000_000);
  });

  it('an unknown credit code counts at all workers', async () => {
    const workers = ['wrk_a', 'wrk_b'].map((workerId) => {
      const rates = new Rates({ store: database.store, workerId, hasPeers: () => true });
      return { rates, credits: openCredits(database.store, { workerId, rates }) };
    });
    for (let n = 0; n < 20; n += 1)
      await assert.rejects(redeem(`CREDIT-${n}`, owner, workers[n % 2]?.credits), refusedWith('code_not_found'));
    for (const { rates } of [...workers, ...workers]) {
      rates.exchange.nudge();
      await rates.exchange.idle();
    }
    for (const { credits } of workers) await assert.rejects(redeem('CREDIT-21', owner, credits), refusedWith('rate_limited'));
  });

  it('a credit code is in the database as a digest only, and nowhere else', async () => {
    const codes = await make({ count: 3 });
    for (const code of codes) await redeem(code);
    const dump = await ask<{ row: string }>(
      `select credit_codes::text as row from credit_codes union all select credit_journal::text from credit_journal union all select audit_log::text from audit_log`,
    );
    const text = dump.map(({ row }) => row).join('\n');
    for (const code of codes)
      for (const form of [code, code.replaceAll('-', ''), code.slice('CREDIT-'.length)]) assert.ok(!text.includes(form));
  });

  it('credit codes are in the audit log with who made how many, and who redeemed which', async () => {
    const [{ entry_id: last } = { entry_id: 0 }] = await ask<{ entry_id: number }>(
      `select coalesce(max(entry_id), 0) as entry_id from audit_log`,
    );
    const [code] = await make({ count: 2 });
    await redeem(code);
    const [row] = await ask<{ code_id: string }>(`select code_id from credit_codes where redeemed_by = $1`, [owner]);
    assert.deepEqual(
      await ask(`select actor, action, owner_id, subject, details from audit_log where entry_id > $1 order by entry_id`, [last]),
      [
        {
          actor: 'operator',
          action: 'credit_codes.made',
          owner_id: null,
          subject: null,
          details: { count: 2, amount: 5, expires_at: null },
        },
        { actor: `key:key_of_${owner}`, action: 'credits.redeemed', owner_id: owner, subject: row?.code_id, details: { amount: 5 } },
      ],
    );
  });

  it('a credit code is counted with what was redeemed, not with what was granted', async () => {
    const counted = openCredits(database.store);
    const [code] = await make();
    await redeem(code, owner, counted);
    assert.deepEqual([counted.stats().granted, counted.stats().redeemed], [0, 5]);
  });
});
