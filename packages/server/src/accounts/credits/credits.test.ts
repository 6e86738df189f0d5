import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { sql } from 'kysely';
import { Client } from 'pg';
import { ServiceError } from '@berth/contract';
import { silentLog } from '@berth/lib/log.ts';
import { openStore, type Store } from '../../store/store.ts';
import { insertLostWorker, testStore, type TestStore } from '../../../testing/test-store.ts';
import { clock, captureErrors, minuteMs, openCredits, refusedOf, refusedWith, turn } from '../../../testing/accounts/credits.ts';
import type { Credits } from './credits.ts';

let database: TestStore;
/** The same database, as another worker has it. */
let second: Store;
let books: Books;
let credits: Credits;
/** Each test has an owner of its own. */
let owner: string;
let owners = 0;
before(async () => {
  database = await testStore();
  second = await openStore({ databaseUrl: database.url, dataDir: import.meta.dirname, log: silentLog });
  books = new Books(database.url);
  await books.open();
});
after(async () => {
  await books.close();
  await second.close();
  await database.drop();
});
beforeEach((context) => {
  owner = `owner-${(owners += 1)}`;
  credits = openCredits(database.store);
  (context as unknown as { after(undo: () => Promise<void>): void }).after(() => credits.stop());
});

const give = (amount: number, to = owner): Promise<{ balance: number }> =>
  credits.grant({ opId: `grant:${to}`, owner: to, amount, note: null, actor: 'operator' });
const reserve = (name: string, amount: number, by = credits): Promise<void> =>
  by.reserve({ opId: `${owner}:${name}`, owner, amount, ttlMs: minuteMs });
const commit = (name: string, amount: number, stats: { allowOverdraft?: boolean; axis?: 'action' | 'session' } = {}, by = credits) =>
  by.commit({ opId: `${owner}:${name}`, owner, amount, axis: 'action', allowOverdraft: false, ...stats });
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

describe('a wallet', () => {
  it('the wallet of an unknown owner is empty', async () => {
    assert.deepEqual(await credits.wallet('nobody'), { balance: 0, held: 0 });
  });

  it('a wallet holds back what calls under way may cost, and pays what they did', async () => {
    await give(100);
    await reserve('a', 60);
    assert.deepEqual(await credits.wallet(owner), { balance: 100, held: 60 });
    await assert.rejects(reserve('b', 41), refusedWith('insufficient_credits'));
    assert.deepEqual(await commit('a', 50), { charged: 50, available: 50 });
    assert.deepEqual(await credits.wallet(owner), { balance: 50, held: 0 });
    await books.assertSound();
  });

  it('a wallet is charged once for a charge that comes twice, at once and after a restart', async () => {
    await give(100);
    await reserve('a', 30);
    const charges = await Promise.all([commit('a', 30), commit('a', 30)]);
    const restarted = openCredits(database.store);
    charges.push(await commit('a', 30, {}, restarted));
    await reserve('a', 30, restarted);
    assert.deepEqual(
      charges,
      [1, 2, 3].map(() => ({ charged: 30, available: 70 })),
    );
    assert.deepEqual(await credits.wallet(owner), { balance: 70, held: 0 });
  });

  it('a wallet refuses another charge under the same id', async () => {
    await give(100);
    await commit('a', 30);
    for (const operation of [commit('a', 31), commit('a', 30, { axis: 'session' }), reserve('a', 29)])
      await assert.rejects(operation, refusedWith('idempotency_conflict'));
    assert.equal((await credits.wallet(owner)).balance, 70);
  });

  it('a wallet remembers a charge that found nothing to take', async () => {
    assert.deepEqual(await commit('a', 30), { charged: 0, available: 0 });
    await give(100);
    assert.deepEqual(await commit('a', 30), { charged: 0, available: 100 });
    await assert.rejects(commit('a', 0), refusedWith('idempotency_conflict'));
  });

  it('a wallet goes below zero where an overdraft is allowed', async () => {
    await give(10);
    books.owing.push(owner);
    assert.deepEqual(await commit('a', 30, { allowOverdraft: true }), { charged: 30, available: -20 });
    await assert.rejects(reserve('b', 1), refusedWith('insufficient_credits'));
    await books.assertSound();
  });

  it('a wallet has its whole balance again when a call fails', async () => {
    await give(100);
    await reserve('a', 60);
    await credits.release(`${owner}:a`, owner);
    await credits.release(`${owner}:a`, owner);
    assert.deepEqual(await credits.wallet(owner), { balance: 100, held: 0 });
  });

  it('a wallet does not suffer from an operation of somebody else that cannot be written', async () => {
    await give(100);
    const broken = credits.commit({
      opId: `${owner}:broken`,
      owner: 'other',
      amount: 0,
      axis: 'action',
      allowOverdraft: false,
      details: { text: '\0' },
    });
    const [failed, charged] = await Promise.allSettled([broken, commit('a', 30)]);
    assert.equal(failed.status, 'rejected');
    assert.deepEqual(charged, { status: 'fulfilled', value: { charged: 30, available: 70 } });
  });

  it('a wallet is charged once for each call whose first try was cut off, whatever became of it', async () => {
    await give(100);
    for (const round of upTo(5)) {
      const calls = upTo(8).map((n) => `call-${round}-${n}`);
      const [outcomes] = await Promise.all([
        Promise.allSettled(calls.map((name) => commit(name, 1))),
        books.ask(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'berth'`,
        ),
      ]);
      refusedOf(outcomes, 'store_unavailable');
      const charges = await Promise.all(calls.map((name) => untilAnswered(() => commit(name, 1))));
      assert.ok(charges.every(({ charged }) => charged === 1));
    }
    assert.deepEqual(await credits.wallet(owner), { balance: 60, held: 0 });
    await books.assertSound();
  });
});

/** Repeats the work as a caller does: a connection that was cut off may be met once more. */
async function untilAnswered<T>(work: () => Promise<T>): Promise<T> {
  for (let triesLeft = 10; ; triesLeft -= 1)
    try {
      return await work();
    } catch (error) {
      if (triesLeft === 0 || !(error instanceof ServiceError && error.code === 'store_unavailable')) throw error;
    }
}

describe('operations by request', () => {
  /** Whether each transaction is on disk when its commit returns, as the database says at its end. */
  const watched = (initially = 'on'): { credits: Credits; settings: string[] } => {
    const settings: string[] = [];
    const transaction: Store['transaction'] = (work) =>
      database.store.transaction(async (tx) => {
        await sql`select set_config('synchronous_commit', ${initially}, true)`.execute(tx.tables());
        const result = await work(tx);
        const { rows } = await sql<{ synchronous_commit: string }>`show synchronous_commit`.execute(tx.tables());
        settings.push(...rows.map((row) => row.synchronous_commit));
        return result;
      });
    const store: Store = Object.assign(Object.create(database.store) as Store, { transaction });
    return { credits: openCredits(store), settings };
  };

  it('a charge is on disk by the time it returns, and a hold may be lost with its call', async () => {
    await give(100);
    const { credits, settings } = watched();
    await reserve('a', 10, credits);
    await credits.release(`${owner}:a`, owner);
    await reserve('b', 10, credits);
    await commit('b', 10, {}, credits);
    await Promise.all([reserve('c', 10, credits), commit('d', 10, {}, credits)]);
    await credits.grant({ opId: `${owner}:more`, owner, amount: 1, note: null, actor: 'operator' });
    assert.deepEqual(settings, ['off', 'off', 'off', 'on', 'on', 'on']);
  });

  it('a charge is on disk also where synchronous_commit is off', async () => {
    await give(100);
    const { credits, settings } = watched('off');
    await commit('a', 10, {}, credits);
    await reserve('b', 10, credits);
    assert.deepEqual(settings, ['on', 'off']);
  });

  it('a charge waits for replicas where the database is set to', async () => {
    await give(100);
    const { credits, settings } = watched('remote_apply');
    await commit('a', 10, {}, credits);
    assert.deepEqual(settings, ['remote_apply']);
  });
});

describe('the last credits', () => {
  it('the last credits are taken by as many as they are enough for, whoever of two workers asks', async () => {
    await give(37);
    const other = openCredits(second, { workerId: 'wrk_two' });
    const outcomes = await Promise.allSettled(
      upTo(100).map(async (n) => {
        const by = n % 2 === 0 ? credits : other;
        await reserve(`call-${n}`, 1, by);
        return commit(`call-${n}`, 1, {}, by);
      }),
    );
    assert.equal(refusedOf(outcomes, 'insufficient_credits'), 63);
    assert.deepEqual(await credits.wallet(owner), { balance: 0, held: 0 });
    await books.assertSound();
  });

  it('the last credits are never taken twice without reservations either', async () => {
    await give(37);
    const other = openCredits(second, { workerId: 'wrk_two' });
    const charges = await Promise.all(upTo(100).map((n) => commit(`call-${n}`, 1, {}, n % 2 === 0 ? credits : other)));
    assert.equal(
      charges.reduce((sum, { charged }) => sum + charged, 0),
      37,
    );
    await books.assertSound();
  });
});

describe('two workers', () => {
  it('two workers that are given the same operation carry it out once', async () => {
    await give(100);
    const other = openCredits(second, { workerId: 'wrk_two' });
    await Promise.all(upTo(20).flatMap((n) => [commit(`call-${n}`, 2), commit(`call-${n}`, 2, {}, other)]));
    assert.deepEqual(await credits.wallet(owner), { balance: 60, held: 0 });
  });

  it('two workers that use one operation id for two owners charge only one of them', async () => {
    const other = openCredits(second, { workerId: 'wrk_two' });
    const [one, another] = [`${owner}-one`, `${owner}-another`];
    books.owing.push(one, another);
    for (const n of upTo(10)) {
      const operation = { opId: `${owner}:both:${n}`, amount: 1, axis: 'action', allowOverdraft: true } as const;
      const outcomes = await Promise.allSettled([
        credits.commit({ ...operation, owner: one }),
        other.commit({ ...operation, owner: another }),
      ]);
      assert.equal(refusedOf(outcomes, 'idempotency_conflict'), 1);
    }
    await books.assertSound();
  });

  it('two workers that charge many owners at once do not deadlock', async () => {
    const many = upTo(20).map((n) => `${owner}-${n}`);
    await Promise.all(many.map((each) => give(100, each)));
    const other = openCredits(second, { workerId: 'wrk_two' });
    const operation = { amount: 1, axis: 'action', allowOverdraft: false } as const;
    await Promise.all(
      [credits, other].flatMap((by, worker) =>
        upTo(200).map((n) =>
          by.commit({ ...operation, opId: `${owner}:many:${worker}:${n}`, owner: many[(n * (worker === 0 ? 7 : 13)) % 20] ?? owner }),
        ),
      ),
    );
    await books.assertSound();
    assert.deepEqual(await books.ask(`select sum(balance)::int as left from wallets where owner_id = any($1)`, [many]), [{ left: 1600 }]);
  });
});

describe('a hold', () => {
  it('a hold is voided when its time is up, and its call still pays what it can', async () => {
    await give(100);
    await reserve('a', 60);
    clock.advance(minuteMs - 1);
    await turn(credits, 'credit-holds');
    assert.equal((await credits.wallet(owner)).held, 60);
    clock.advance(1);
    await turn(credits, 'credit-holds');
    assert.equal((await credits.wallet(owner)).held, 0);
    await reserve('b', 90);
    assert.deepEqual(await commit('a', 60), { charged: 10, available: 0 });
    await books.assertSound();
  });

  it('a hold of a worker that is lost is voided by another', async () => {
    await give(100);
    await reserve('a', 60, openCredits(second, { workerId: 'wrk_dead' }));
    await turn(credits, 'credit-holds');
    assert.equal((await credits.wallet(owner)).held, 60);
    await insertLostWorker(database, 'wrk_dead');
    const neighbour = openCredits(database.store);
    await turn(neighbour, 'credit-holds');
    assert.equal((await credits.wallet(owner)).held, 0);
  });

  it('a hold of this worker from before it was started again is voided, and a newer one is not', async () => {
    await give(100);
    await reserve('a', 60);
    clock.advance(1);
    const restarted = openCredits(database.store);
    await reserve('b', 30, restarted);
    await turn(restarted, 'credit-holds');
    assert.deepEqual(await credits.wallet(owner), { balance: 100, held: 30 });
  });

  it('a hold that is asked for again after a restart belongs to the new process', async () => {
    await give(100);
    await reserve('a', 60);
    clock.advance(1);
    const restarted = openCredits(database.store);
    await reserve('a', 60, restarted);
    await turn(restarted, 'credit-holds');
    assert.equal((await credits.wallet(owner)).held, 60);
  });

  it('a hold is not lost among thousands', async () => {
    await give(2000);
    await Promise.all(upTo(1200).map((n) => reserve(`call-${n}`, 1)));
    clock.advance(minuteMs);
    await turn(credits, 'credit-holds');
    assert.deepEqual(await credits.wallet(owner), { balance: 2000, held: 0 });
  });
});

describe('a grant', () => {
  it('a grant creates the owner, is given once, and is in the audit log', async () => {
    const operation = { opId: `grant:${owner}`, owner, amount: 2_500_000, note: 'welcome', actor: 'operator' };
    assert.deepEqual(await credits.grant(operation), { balance: 2_500_000 });
    assert.deepEqual(await credits.grant(operation), { balance: 2_500_000 });
    await assert.rejects(credits.grant({ ...operation, amount: 1 }), refusedWith('idempotency_conflict'));
    assert.equal((await books.ask(`select from owners where owner_id = $1`, [owner])).length, 1);
    assert.deepEqual(await books.ask(`select actor, action, subject, details from audit_log where owner_id = $1`, [owner]), [
      { actor: 'operator', action: 'credits.granted', subject: operation.opId, details: { amount: 2.5, note: 'welcome' } },
    ]);
  });
});

describe('the journal', () => {
  it('the credit journal cannot be changed, shortened or emptied', async () => {
    await give(100);
    for (const statement of ['update credit_journal set amount = 0', 'delete from credit_journal', 'truncate credit_journal'])
      await assert.rejects(books.ask(statement), { code: '23001' });
  });

  it('the credit journal has every amount go from one account to another', async () => {
    await give(100);
    await commit('a', 30);
    assert.deepEqual(
      await books.ask(`select from_account, to_account, amount::int from credit_journal where owner_id = $1 order by entry_id`, [owner]),
      [
        { from_account: 'source:grants', to_account: `wallet:${owner}`, amount: 100 },
        { from_account: `wallet:${owner}`, to_account: 'revenue:action', amount: 30 },
      ],
    );
  });
});

describe('the check', () => {
  it('the check of the journal finds nothing where nothing is wrong, and continues where it was', async () => {
    assert.deepEqual(credits.check, { at: null, wrong: 0 });
    await give(100);
    await turn(credits, 'credit-check');
    await reserve('a', 60);
    await commit('b', 20);
    await turn(credits, 'credit-check');
    assert.deepEqual(credits.check, { at: clock.now(), wrong: 0 });
  });

  it('the check of the journal reports a wallet that differs from it, and holds that differ from what is held', async () => {
    await give(100);
    await give(100, `${owner}-held`);
    const { log, errors } = captureErrors();
    const checked = openCredits(database.store, { log });
    await books.ask(`update wallets set balance = 101 where owner_id = $1`, [owner]);
    await books.ask(`update wallets set held = 7 where owner_id = $1`, [`${owner}-held`]);
    await turn(checked, 'credit-check');
    assert.equal(checked.check.wrong, 2);
    assert.deepEqual(
      new Set(errors),
      new Set([
        { owner, balance: 0.000101, journal: 0.0001, held: 0, holds: 0 },
        { owner: `${owner}-held`, balance: 0.0001, journal: 0.0001, held: 0.000007, holds: 0 },
      ]),
    );
    await books.ask(`update wallets set balance = 100, held = 0 where owner_id = any($1)`, [[owner, `${owner}-held`]]);
    await turn(checked, 'credit-check');
    assert.equal(checked.check.wrong, 0);
  });

  it('the check of the journal reads long journals, and those of many owners, in parts', async () => {
    await books.ask(
      `insert into credit_journal (op_id, at, owner_id, from_account, to_account, amount)
        select $1 || ':' || n, now(), $1, 'source:grants', 'wallet:' || $1, 2 from generate_series(1, 25000) n`,
      [owner],
    );
    await books.ask(`insert into wallets (owner_id, balance) values ($1, 50000)`, [owner]);
    await books.ask(`insert into wallets (owner_id) select $1 || '-' || n from generate_series(1, 250) n`, [owner]);
    await turn(credits, 'credit-check');
    assert.deepEqual(credits.check, { at: clock.now(), wrong: 0 });
    await commit('a', 1);
    await books.ask(`update wallets set balance = balance - 1 where owner_id = $1`, [owner]);
    await turn(credits, 'credit-check');
    assert.equal(credits.check.wrong, 1);
    await books.ask(`update wallets set balance = balance + 1 where owner_id = $1`, [owner]);
  });
});

describe('the metrics of credits', () => {
  it('the metrics of credits count what was moved, in credits, and repetitions not at all', async () => {
    await give(3_000_000);
    await give(3_000_000);
    await commit('a', 500_000);
    await commit('a', 500_000);
    await commit('b', 1_000_000, { axis: 'session' });
    await assert.rejects(reserve('c', 2_000_000), refusedWith('insufficient_credits'));
    assert.deepEqual(credits.stats(), { granted: 3, redeemed: 0, charged: { action: 0.5, session: 1, captcha: 0, egress: 0 }, refused: 1 });
  });
});

describe('a worker that stops', () => {
  it('a worker that stops writes the credit operations that are queued', async () => {
    await give(100);
    const charges = upTo(50).map((n) => commit(`call-${n}`, 1));
    await credits.stop();
    assert.deepEqual(await credits.wallet(owner), { balance: 50, held: 0 });
    await Promise.all(charges);
  });
});

/** The books as anybody with a connection sees them. */
class Books {
  readonly #client: Client;
  /** Owners that may have less than nothing. */
  readonly owing: string[] = [];

  constructor(url: string) {
    this.#client = new Client({ connectionString: url });
  }

  async open(): Promise<void> {
    await this.#client.connect();
  }

  close(): Promise<void> {
    return this.#client.end();
  }

  async ask<Row extends object>(statement: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.#client.query<Row>(statement, values)).rows;
  }

  /** All wallets are what the journal and the holds say, and none owes anything that may not. */
  async assertSound(): Promise<void> {
    const wrong = await this.ask(
      `select * from (
        select owner_id, balance, held,
          (select coalesce(sum(amount), 0) from credit_journal where to_account = 'wallet:' || wallets.owner_id)
          - (select coalesce(sum(amount), 0) from credit_journal where from_account = 'wallet:' || wallets.owner_id) as journal,
          (select coalesce(sum(amount), 0) from credit_holds where credit_holds.owner_id = wallets.owner_id) as holds
        from wallets
      ) as sums where balance <> journal or held <> holds or (balance < 0 and owner_id <> all($1))`,
      [this.owing],
    );
    assert.deepEqual(wrong, []);
  }
}
