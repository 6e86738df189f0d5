import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ServiceError } from '@berth/contract';
import { GroupCommit } from './group-commit.ts';

const away = new ServiceError('store_unavailable', 'away');

/** Keeps what was written; each batch waits for its gate, and fails on demand. */
function open({
  gate = () => Promise.resolve(),
  failing = () => false,
}: { gate?: () => Promise<void>; failing?: (batch: number[]) => Error | false } = {}) {
  const batches: number[][] = [];
  const attempted: number[][] = [];
  const queue = new GroupCommit<number, string>(async (batch) => {
    attempted.push(batch);
    await gate();
    const error = failing(batch);
    if (error) throw error;
    batches.push(batch);
    return batch.map((item) => (item < 0 ? new RangeError(`no ${item}`) : `done ${item}`));
  });
  return { batches, attempted, queue };
}
const upTo = (count: number): number[] => Array.from({ length: count }, (_, item) => item);

describe('orders that come together', () => {
  it('credit operations that come together share a transaction, five hundred at most, in the order in which they came', async () => {
    const { batches, queue } = open();
    const outcomes = await Promise.all(upTo(1200).map((item) => queue.submit(item)));
    assert.deepEqual(
      batches.map(({ length }) => length),
      [500, 500, 200],
    );
    assert.deepEqual(batches.flat(), upTo(1200));
    assert.equal(outcomes[777], 'done 777');
  });

  it('credit operations that come while a transaction is under way share the next one', async () => {
    const first = Promise.withResolvers<void>();
    const { batches, attempted, queue } = open({ gate: () => (attempted.length === 1 ? first.promise : Promise.resolve()) });
    const answers = [queue.submit(1)];
    while (attempted.length === 0) await nextTurn();
    answers.push(queue.submit(2), queue.submit(3));
    first.resolve();
    await Promise.all(answers);
    assert.deepEqual(batches, [[1], [2, 3]]);
  });

  it('credit operations that come together each get their own refusal', async () => {
    const { queue } = open();
    const [one, other] = await Promise.allSettled([queue.submit(1), queue.submit(-1)]);
    assert.equal(one?.status, 'fulfilled');
    assert.ok(other?.status === 'rejected' && other.reason instanceof RangeError);
  });
});

describe('a transaction that fails', () => {
  it('a transaction that fails because of one operation fails that one alone', async () => {
    const { batches, queue } = open({ failing: (batch) => batch.includes(13) && new Error('thirteen') });
    const outcomes = await Promise.allSettled(upTo(40).map((item) => queue.submit(item)));
    assert.deepEqual(
      outcomes.flatMap(({ status }, item) => (status === 'rejected' ? [item] : [])),
      [13],
    );
    assert.deepEqual(
      batches.flat().sort((one, other) => one - other),
      upTo(40).filter((item) => item !== 13),
    );
  });

  it('a transaction that fails because of what another worker did at that moment is tried again', async () => {
    let failures = 0;
    const { queue } = open({ failing: () => (failures += 1) === 1 && new Error('deadlock') });
    assert.equal(await queue.submit(1), 'done 1');
  });

  it('a transaction that fails without a database fails all operations that wait, once, and later ones are tried anew', async () => {
    let isAway = true;
    const { attempted, queue } = open({ failing: () => isAway && away });
    const outcomes = await Promise.allSettled(upTo(600).map((item) => queue.submit(item)));
    assert.ok(outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason === away));
    assert.equal(attempted.length, 1);
    isAway = false;
    assert.equal(await queue.submit(7), 'done 7');
  });
});

describe('too many orders', () => {
  it('too many credit operations are asked to retry, and the others are carried out', async () => {
    const { queue } = open();
    const outcomes = await Promise.allSettled(upTo(5010).map((item) => queue.submit(item)));
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as ServiceError] : []));
    assert.deepEqual([refused.length, refused[0]?.code, refused[0]?.retryAfterSeconds], [10, 'store_unavailable', 2]);
  });
});

describe('an idle queue', () => {
  it('an idle credit queue has carried out all that was submitted', async () => {
    const { batches, queue } = open();
    const answers = upTo(3).map((item) => queue.submit(item));
    await queue.idle();
    assert.deepEqual(batches, [[0, 1, 2]]);
    await Promise.all(answers);
    await queue.idle();
  });
});
