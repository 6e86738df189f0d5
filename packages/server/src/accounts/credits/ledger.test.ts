import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ServiceError, ValidationError, type ErrorCode } from '@berth/contract';
import {
  Ledger,
  type Commit,
  type CreditCode,
  type Entry,
  type Grant,
  type Hold,
  type LedgerState,
  type LedgerOperation,
  type Outcome,
  type Wallet,
} from './ledger.ts';

const at = new Date('2026-01-01T00:00:00.000Z');

/** What a database keeps between batches. */
class Books implements LedgerState {
  readonly wallets = new Map<string, Wallet>();
  readonly holds = new Map<string, Hold>();
  readonly journal = new Map<string, Entry>();
  readonly codes = new Map<string, CreditCode>();

  constructor(...owners: string[]) {
    for (const owner of owners) this.wallets.set(owner, { balance: 0, held: 0 });
  }

  /** One batch: what each order comes to, an error where it is refused. */
  take(operations: LedgerOperation[], workerId = 'wrk_one'): (Outcome | Error)[] {
    const ledger = new Ledger(this, { at, workerId });
    const outcomes = operations.map((operation) => {
      try {
        return ledger.apply(operation);
      } catch (error) {
        return error as Error;
      }
    });
    this.#keep(ledger);
    return outcomes;
  }

  one(operation: LedgerOperation): Outcome {
    const [outcome] = this.take([operation]);
    if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error('no outcome');
    return outcome;
  }

  refuse(code: ErrorCode, operation: LedgerOperation): Record<string, unknown> {
    const before = JSON.stringify([...this.wallets, ...this.holds, ...this.journal, ...this.codes]);
    const [outcome] = this.take([operation]);
    assert.ok(outcome instanceof ServiceError);
    assert.equal(outcome.code, code);
    assert.equal(JSON.stringify([...this.wallets, ...this.holds, ...this.journal, ...this.codes]), before);
    return outcome.details;
  }

  #keep(ledger: Ledger): void {
    const { wallets, applied, createdHolds, renewedHolds, freedHolds, redeemed } = ledger.writes();
    for (const [owner, wallet] of wallets) this.wallets.set(owner, wallet);
    for (const { entry } of applied) {
      assert.ok(!this.journal.has(entry.opId), 'the journal is only ever added to');
      this.journal.set(entry.opId, entry);
    }
    for (const hold of createdHolds) assert.ok(!this.holds.has(hold.opId));
    for (const hold of renewedHolds) assert.ok(this.holds.has(hold.opId));
    for (const hold of [...createdHolds, ...renewedHolds]) this.holds.set(hold.opId, hold);
    for (const opId of freedHolds) assert.ok(this.holds.delete(opId));
    for (const code of redeemed) this.codes.set(code.codeId, code);
  }

  /** Sum of an owner, added up from the journal. */
  sum(owner: string): number {
    const account = `wallet:${owner}`;
    return [...this.journal.values()].reduce(
      (sum, { from, to, amount }) => sum + (to === account ? amount : 0) - (from === account ? amount : 0),
      0,
    );
  }

  heldOf(owner: string): number {
    return [...this.holds.values()].reduce((sum, hold) => sum + (hold.owner === owner ? hold.amount : 0), 0);
  }
}

const give = (opId: string, amount: number, stats: Partial<Grant> = {}): Grant => ({
  kind: 'grant',
  opId,
  owner: 'anna',
  amount,
  note: null,
  actor: 'operator',
  ...stats,
});
const reserve = (opId: string, amount: number, owner = 'anna'): LedgerOperation => ({
  kind: 'reserve',
  opId,
  owner,
  amount,
  ttlMs: 60_000,
});
const commit = (opId: string, amount: number, stats: Partial<Commit> = {}): Commit => ({
  kind: 'commit',
  opId,
  owner: 'anna',
  amount,
  axis: 'action',
  allowOverdraft: false,
  ...stats,
});
const release = (opId: string, owner = 'anna'): LedgerOperation => ({ kind: 'release', opId, owner });
const redeem = (codeId: string, owner = 'anna'): LedgerOperation => ({
  kind: 'redeem',
  opId: `code:${codeId}`,
  owner,
  codeId,
  actor: 'key:key_1',
});

function booksWith(balance: number): Books {
  const books = new Books('anna', 'ben');
  books.one(give('start', balance));
  return books;
}

describe('a reservation', () => {
  it('a reservation holds back what is there and refuses what is not', () => {
    const books = booksWith(100);
    assert.deepEqual(books.one(reserve('a', 60)).wallet, { balance: 100, held: 60 });
    assert.deepEqual(books.refuse('insufficient_credits', reserve('b', 41)), { balance: 0.0001, available: 0.00004, required: 0.000041 });
    assert.deepEqual(books.one(reserve('b', 40)).wallet, { balance: 100, held: 100 });
  });

  it('a reservation is not made twice under one id', () => {
    const books = booksWith(100);
    books.one(reserve('a', 60));
    assert.deepEqual(books.one(reserve('a', 60)).wallet, { balance: 100, held: 60 });
    books.refuse('idempotency_conflict', reserve('a', 61));
    books.refuse('idempotency_conflict', reserve('a', 60, 'ben'));
  });

  it('a reservation belongs to the worker that asked last', () => {
    const books = booksWith(100);
    books.take([reserve('a', 60)], 'wrk_one');
    books.take([reserve('a', 60)], 'wrk_two');
    assert.deepEqual(
      [...books.holds.values()].map(({ workerId }) => workerId),
      ['wrk_two'],
    );
  });

  it('a reservation of what is charged already holds nothing, and is refused with other values', () => {
    const books = booksWith(100);
    books.take([reserve('a', 60), commit('a', 50)]);
    assert.deepEqual(books.one(reserve('a', 60)).wallet, { balance: 50, held: 0 });
    books.refuse('idempotency_conflict', reserve('a', 59));
    books.refuse('idempotency_conflict', reserve('a', 60, 'ben'));
    books.refuse('idempotency_conflict', reserve('start', 99));
  });

  it('a reservation may be made again once it was voided', () => {
    const books = booksWith(100);
    books.take([reserve('a', 60), release('a'), reserve('a', 100)]);
    assert.deepEqual(books.wallets.get('anna'), { balance: 100, held: 100 });
  });

  it('a reservation of nothing leaves nothing behind', () => {
    const books = booksWith(0);
    books.take([reserve('a', 0)]);
    assert.equal(books.holds.size, 0);
  });
});

describe('a charge', () => {
  it('a charge takes less than was held, and frees the rest', () => {
    const books = booksWith(100);
    books.one(reserve('a', 60));
    assert.deepEqual(books.one(commit('a', 10)), { amount: 10, wallet: { balance: 90, held: 0 } });
    assert.deepEqual(books.journal.get('a')?.details, { held: 60 });
  });

  it('a charge takes more than was held, as far as it is available', () => {
    const books = booksWith(100);
    books.take([reserve('a', 60), reserve('b', 30)]);
    assert.deepEqual(books.one(commit('a', 80)), { amount: 70, wallet: { balance: 30, held: 30 } });
    assert.deepEqual(books.journal.get('a')?.details, { asked: 80, held: 60 });
  });

  it('a charge takes what is available where its hold was voided', () => {
    const books = booksWith(100);
    books.take([reserve('a', 60), release('a'), reserve('b', 90)]);
    assert.deepEqual(books.one(commit('a', 60)), { amount: 10, wallet: { balance: 90, held: 90 } });
  });

  it('a charge takes all of it, below zero, only where an overdraft is allowed', () => {
    const books = booksWith(100);
    assert.deepEqual(books.one(commit('a', 150, { allowOverdraft: true })), { amount: 150, wallet: { balance: -50, held: 0 } });
    assert.deepEqual(books.one(commit('b', 10)), { amount: 0, wallet: { balance: -50, held: 0 } });
  });

  it('a charge is remembered even where nothing was there to take', () => {
    const books = booksWith(0);
    assert.equal(books.one(commit('a', 30)).amount, 0);
    books.one(give('later', 100));
    assert.deepEqual(books.one(commit('a', 30)), { amount: 0, wallet: { balance: 100, held: 0 } });
  });

  it('a charge is taken once, in one batch and in several', () => {
    const books = booksWith(100);
    const outcomes = [...books.take([commit('a', 30), commit('a', 30)]), ...books.take([commit('a', 30)])];
    assert.deepEqual(
      outcomes,
      [1, 2, 3].map(() => ({ amount: 30, wallet: { balance: 70, held: 0 } })),
    );
    assert.equal(books.journal.size, 2);
  });

  it('a repeated charge is recognized by what was asked for, not by what was taken', () => {
    const books = booksWith(20);
    books.one(commit('a', 30));
    assert.equal(books.one(commit('a', 30)).amount, 20);
    books.refuse('idempotency_conflict', commit('a', 20));
  });

  it('a charge is refused under the id of another operation', () => {
    const books = booksWith(100);
    books.take([commit('a', 30), reserve('b', 10)]);
    books.refuse('idempotency_conflict', commit('a', 31));
    books.refuse('idempotency_conflict', commit('a', 30, { axis: 'session' }));
    books.refuse('idempotency_conflict', commit('a', 30, { owner: 'ben' }));
    books.refuse('idempotency_conflict', commit('b', 10, { owner: 'ben' }));
    books.refuse('idempotency_conflict', commit('start', 100));
  });

  it('a charge stores its details', () => {
    const books = booksWith(100);
    books.one(commit('a', 30, { axis: 'egress', details: { bytes: 150 } }));
    assert.deepEqual(books.journal.get('a'), {
      opId: 'a',
      owner: 'anna',
      from: 'wallet:anna',
      to: 'revenue:egress',
      amount: 30,
      details: { bytes: 150 },
    });
  });
});

describe('a release', () => {
  it('a release frees a hold, and nothing that is not there or is somebody else’s', () => {
    const books = booksWith(100);
    books.one(reserve('a', 60));
    assert.equal(books.one(release('a', 'ben')).amount, 0);
    assert.equal(books.one(release('never')).amount, 0);
    assert.deepEqual(books.one(release('a')).wallet, { balance: 100, held: 0 });
    assert.deepEqual(books.one(release('a')).wallet, { balance: 100, held: 0 });
  });

  it('a release of an older hold leaves a newer one alone', () => {
    const books = booksWith(100);
    books.one(reserve('a', 60));
    assert.equal(books.one({ kind: 'release', opId: 'a', owner: 'anna', createdAt: new Date(at.getTime() - 1) }).amount, 0);
    assert.equal(books.one({ kind: 'release', opId: 'a', owner: 'anna', createdAt: at }).amount, 60);
  });
});

describe('a grant', () => {
  it('a grant is given once under one id, and refused with other values', () => {
    const books = booksWith(100);
    assert.deepEqual(books.one(give('g', 50, { note: 'sorry' })).wallet, { balance: 150, held: 0 });
    assert.deepEqual(books.one(give('g', 50)).wallet, { balance: 150, held: 0 });
    books.refuse('idempotency_conflict', give('g', 51));
    books.refuse('idempotency_conflict', give('g', 50, { owner: 'ben' }));
    assert.deepEqual(books.journal.get('g')?.details, { actor: 'operator', note: 'sorry' });
  });

  it('a grant is refused where sums would no longer be exact', () => {
    const books = booksWith(8_999_999_999_999_999);
    const [outcome] = books.take([give('g', 2)]);
    assert.ok(outcome instanceof ValidationError);
    assert.deepEqual(books.one(give('g', 1)).wallet, { balance: 9_000_000_000_000_000, held: 0 });
  });
});

describe('a code', () => {
  const code = (stats: Partial<CreditCode> = {}): CreditCode => ({
    codeId: 'cod_1',
    amount: 25,
    expiresAt: null,
    redeemedBy: null,
    ...stats,
  });

  it('a credit code is worth its credits to the first, and nothing to anybody after', () => {
    const books = booksWith(0);
    books.codes.set('cod_1', code());
    const outcomes = books.take([redeem('cod_1'), redeem('cod_1', 'ben'), redeem('cod_1')]);
    assert.deepEqual(outcomes[0], { amount: 25, wallet: { balance: 25, held: 0 } });
    books.refuse('code_already_redeemed', redeem('cod_1', 'ben'));
    assert.deepEqual(
      outcomes.slice(1).map((outcome) => outcome instanceof ServiceError && outcome.code),
      ['code_already_redeemed', 'code_already_redeemed'],
    );
    assert.equal(books.codes.get('cod_1')?.redeemedBy, 'anna');
  });

  it('a credit code is refused from the moment on at which it expires', () => {
    const books = booksWith(0);
    books.codes.set('cod_1', code({ expiresAt: at }));
    books.refuse('code_expired', redeem('cod_1'));
    books.codes.set('cod_1', code({ expiresAt: new Date(at.getTime() + 1) }));
    assert.equal(books.one(redeem('cod_1')).amount, 25);
  });

  it('a credit code that nobody made is unknown', () => {
    booksWith(0).refuse('code_not_found', redeem('cod_2'));
  });
});

describe('what is no amount', () => {
  for (const amount of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
    it(`an amount such as ${amount} is refused by every operation`, () => {
      const books = booksWith(100);
      for (const operation of [give('g', amount), reserve('a', amount), commit('a', amount), commit('a', amount, { allowOverdraft: true })])
        assert.ok(books.take([operation])[0] instanceof RangeError);
      assert.deepEqual(books.wallets.get('anna'), { balance: 100, held: 0 });
    });
});

describe('any sequence of orders', () => {
  const owner = fc.constantFrom('anna', 'ben');
  const opId = fc.constantFrom(...'abcdefgh');
  const amount = fc.integer({ min: 0, max: 50 });
  const axis = fc.constantFrom('action', 'session', 'captcha', 'egress');
  const codeId = fc.constantFrom('cod_1', 'cod_2', 'cod_3');
  const anyOperation = (allowOverdraft: fc.Arbitrary<boolean>): fc.Arbitrary<LedgerOperation> =>
    fc.oneof(
      fc.record({ kind: fc.constant('reserve'), opId, owner, amount, ttlMs: fc.constant(1000) }),
      fc.record({ kind: fc.constant('commit'), opId, owner, amount, axis, allowOverdraft }),
      fc.record({ kind: fc.constant('release'), opId, owner }),
      fc.record({ kind: fc.constant('grant'), opId, owner, amount, note: fc.constant(null), actor: fc.constant('operator') }),
      fc.record({ kind: fc.constant('correct'), opId, owner, amount, note: fc.constant(null), actor: fc.constant('operator') }),
      fc.record({ owner, codeId }).map(({ owner, codeId }) => redeem(codeId, owner)),
    ) as fc.Arbitrary<LedgerOperation>;
  const batches = (allowOverdraft: fc.Arbitrary<boolean>) =>
    fc.array(fc.array(anyOperation(allowOverdraft), { minLength: 1, maxLength: 8 }), { maxLength: 20 });
  const open = (): Books => {
    const books = new Books('anna', 'ben');
    for (const id of ['cod_1', 'cod_2']) books.codes.set(id, { codeId: id, amount: 20, expiresAt: null, redeemedBy: null });
    return books;
  };
  const assertSound = (books: Books): void => {
    for (const [owner, { balance, held }] of books.wallets) {
      assert.equal(balance, books.sum(owner));
      assert.equal(held, books.heldOf(owner));
    }
  };

  it('any sequence of operations keeps balances the sum of the journal, and what is held the sum of the holds', () => {
    fc.assert(
      fc.property(batches(fc.boolean()), (batches) => {
        const books = open();
        for (const batch of batches) {
          books.take(batch);
          assertSound(books);
        }
      }),
    );
  });

  it('no sequence of operations takes a wallet below zero, nor below what is held, where no overdraft is allowed', () => {
    fc.assert(
      fc.property(batches(fc.constant(false)), (batches) => {
        const books = open();
        for (const batch of batches) {
          books.take(batch);
          for (const { balance, held } of books.wallets.values()) assert.ok(held >= 0 && balance >= held);
        }
      }),
    );
  });

  it('a sequence of operations has the same result however it is cut into batches', () => {
    fc.assert(
      fc.property(batches(fc.boolean()), (batches) => {
        const [cut, whole] = [open(), open()];
        const outcomes = batches.flatMap((batch) => cut.take(batch));
        assert.deepEqual(whole.take(batches.flat()).map(String), outcomes.map(String));
        for (const part of ['wallets', 'holds', 'journal', 'codes'] as const) assert.deepEqual(whole[part], cut[part]);
      }),
    );
  });

  it('a sequence of operations that comes again moves nothing', () => {
    fc.assert(
      fc.property(fc.array(anyOperation(fc.boolean()), { maxLength: 40 }), (operations) => {
        const books = open();
        const outcomes = books.take(operations);
        const taken = operations.filter(
          (operation, index) => operation.kind !== 'release' && operation.kind !== 'reserve' && !(outcomes[index] instanceof Error),
        );
        const before = [new Map(books.wallets), books.journal.size];
        books.take(taken);
        assert.deepEqual([books.wallets, books.journal.size], before);
      }),
    );
  });
});
