import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { silentLog } from '../lib/log.ts';
import type { Noted } from './attempt.ts';
import { Journal, keyOf } from './journal.ts';
import { attemptOf } from './testing.ts';

const note = (owner = 'anna'): Noted => ({ attempts: [attemptOf({ owner })], events: [], healed: null });

/** Keeps what was written, and fails as it is told. */
function written({ failing = () => false }: { failing?: (batch: Noted[]) => Error | false } = {}): {
  batches: Noted[][];
  journal: Journal;
} {
  const batches: Noted[][] = [];
  const write = (batch: Noted[]): Promise<void> => {
    const error = failing(batch);
    if (error) return Promise.reject(error);
    batches.push(batch);
    return Promise.resolve();
  };
  return { batches, journal: new Journal(write, silentLog) };
}
const away = new ServiceError('store_unavailable', 'away');

describe('the journal', () => {
  it('writes many notes in few batches, in their order', async () => {
    const { batches, journal } = written();
    const notes = Array.from({ length: 1200 }, () => note());
    for (const each of notes) journal.add(each);
    await journal.flush();
    assert.deepEqual(
      batches.map((batch) => batch.length),
      [500, 500, 200],
    );
    assert.deepEqual(batches.flat(), notes);
    await journal.stop();
  });

  it('has written all that was noted before a flush when that is over, also during another', async () => {
    const { batches, journal } = written();
    journal.add(note('anna'));
    const first = journal.flush();
    journal.add(note('ben'));
    await Promise.all([first, journal.flush(), journal.flush()]);
    assert.deepEqual(
      batches.flat().map(({ attempts: [attempt] }) => attempt?.owner),
      ['anna', 'ben'],
    );
    await journal.stop();
  });

  it('keeps a reader waiting for its own site only, and no longer than its signal', async () => {
    const writing = Promise.withResolvers<void>();
    const journal = new Journal(() => writing.promise, silentLog);
    journal.add(note('anna'));
    await journal.settle(keyOf('ben', 'example.com'), undefined);
    const caller = new AbortController();
    const waiting = journal.settle(keyOf('anna', 'example.com'), caller.signal);
    const reason = new Error('enough');
    caller.abort(reason);
    await assert.rejects(waiting, reason);
    writing.resolve();
    await journal.settle(keyOf('anna', 'example.com'), AbortSignal.timeout(5000));
    await journal.stop();
  });

  it('keeps what could not be written while the database was away', async () => {
    let error: Error | false = away;
    const { batches, journal } = written({ failing: () => error });
    journal.add(note());
    await assert.rejects(journal.flush(), away);
    await assert.rejects(journal.settle(keyOf('anna', 'example.com'), undefined), away);
    error = false;
    await journal.flush();
    assert.equal(batches.flat().length, 1);
    assert.equal(journal.dropped, 0);
    await journal.stop();
  });

  it('keeps no more than 10 000 attempts, and counts what it drops', async () => {
    let error: Error | false = away;
    const { batches, journal } = written({ failing: () => error });
    for (let n = 0; n < 10_050; n += 1) journal.add(note());
    assert.equal(journal.dropped, 50);
    error = false;
    await journal.flush();
    assert.equal(batches.flat().length, 10_000);
    journal.add(note());
    await journal.stop();
    assert.equal(batches.flat().length, 10_001);
    assert.equal(journal.dropped, 50);
  });

  it('forgets only the note that can never be written', async () => {
    const { batches, journal } = written({
      failing: (batch) => batch.some(({ attempts }) => attempts[0]?.owner === 'broken') && new RangeError('out of range'),
    });
    for (const owner of ['anna', 'broken', 'ben']) journal.add(note(owner));
    await journal.flush();
    assert.deepEqual(
      batches.flat().map(({ attempts: [attempt] }) => attempt?.owner),
      ['anna', 'ben'],
    );
    assert.equal(journal.dropped, 1);
    await journal.stop();
  });

  it('writes by itself a moment after a note, and what is left when it stops', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const seen: Noted[] = [];
    const journal = new Journal((batch) => {
      seen.push(...batch);
      resolve();
      return Promise.resolve();
    }, silentLog);
    journal.add(note('anna'));
    // The timer alone would not keep the process here.
    const alive = setInterval(() => undefined, 1000);
    await promise;
    clearInterval(alive);
    journal.add(note('ben'));
    await journal.stop();
    assert.deepEqual(
      seen.map(({ attempts: [attempt] }) => attempt?.owner),
      ['anna', 'ben'],
    );
  });
});
