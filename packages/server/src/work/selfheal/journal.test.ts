import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '@berth/contract';
import { silentLog } from '@berth/lib/log.ts';
import type { JournalEntry } from './attempt.ts';
import { Journal, keyOf } from './journal.ts';
import { attemptOf } from '../../../testing/selfheal.ts';

const makeEntry = (owner = 'anna'): JournalEntry => ({ attempts: [attemptOf({ owner })], events: [], healed: null });

/** A journal that collects its batches and fails on demand. */
function makeJournal({ failing = () => false }: { failing?: (batch: JournalEntry[]) => Error | false } = {}): {
  batches: JournalEntry[][];
  journal: Journal;
} {
  const batches: JournalEntry[][] = [];
  const write = (batch: JournalEntry[]): Promise<void> => {
    const error = failing(batch);
    if (error) return Promise.reject(error);
    batches.push(batch);
    return Promise.resolve();
  };
  return { batches, journal: new Journal(write, silentLog) };
}
const storeDown = new ServiceError('store_unavailable', 'unavailable');

describe('the journal', () => {
  it('the attempt journal writes many entries in few batches, in their order', async () => {
    const { batches, journal } = makeJournal();
    const entries = Array.from({ length: 1200 }, () => makeEntry());
    for (const each of entries) journal.add(each);
    await journal.flush();
    assert.deepEqual(
      batches.map((batch) => batch.length),
      [500, 500, 200],
    );
    assert.deepEqual(batches.flat(), entries);
    await journal.stop();
  });

  it('the attempt journal flushes all entries added before the call, also during another flush', async () => {
    const { batches, journal } = makeJournal();
    journal.add(makeEntry('anna'));
    const first = journal.flush();
    journal.add(makeEntry('ben'));
    await Promise.all([first, journal.flush(), journal.flush()]);
    assert.deepEqual(
      batches.flat().map(({ attempts: [attempt] }) => attempt?.owner),
      ['anna', 'ben'],
    );
    await journal.stop();
  });

  it('the attempt journal delays a reader for its own site only, and until its signal aborts', async () => {
    const writing = Promise.withResolvers<void>();
    const journal = new Journal(() => writing.promise, silentLog);
    journal.add(makeEntry('anna'));
    await journal.waitUntilWritten(keyOf('ben', 'example.com'), undefined);
    const caller = new AbortController();
    const waiting = journal.waitUntilWritten(keyOf('anna', 'example.com'), caller.signal);
    const reason = new Error('enough');
    caller.abort(reason);
    await assert.rejects(waiting, reason);
    writing.resolve();
    await journal.waitUntilWritten(keyOf('anna', 'example.com'), undefined);
    await journal.stop();
  });

  it('the attempt journal retries what could not be written while the database was unavailable', async () => {
    let error: Error | false = storeDown;
    const { batches, journal } = makeJournal({ failing: () => error });
    journal.add(makeEntry());
    await assert.rejects(journal.flush(), storeDown);
    await assert.rejects(journal.waitUntilWritten(keyOf('anna', 'example.com'), undefined), storeDown);
    error = false;
    await journal.flush();
    assert.equal(batches.flat().length, 1);
    assert.equal(journal.dropped, 0);
    await journal.stop();
  });

  it('the attempt journal keeps no more than 10 000 attempts, and counts what it drops', async () => {
    let error: Error | false = storeDown;
    const { batches, journal } = makeJournal({ failing: () => error });
    for (let n = 0; n < 10_050; n += 1) journal.add(makeEntry());
    assert.equal(journal.dropped, 50);
    error = false;
    await journal.flush();
    assert.equal(batches.flat().length, 10_000);
    journal.add(makeEntry());
    await journal.stop();
    assert.equal(batches.flat().length, 10_001);
    assert.equal(journal.dropped, 50);
  });

  it('the attempt journal drops only the entry that can never be written', async () => {
    const { batches, journal } = makeJournal({
      failing: (batch) => batch.some(({ attempts }) => attempts[0]?.owner === 'broken') && new RangeError('out of range'),
    });
    for (const owner of ['anna', 'broken', 'ben']) journal.add(makeEntry(owner));
    await journal.flush();
    assert.deepEqual(
      batches.flat().map(({ attempts: [attempt] }) => attempt?.owner),
      ['anna', 'ben'],
    );
    assert.equal(journal.dropped, 1);
    await journal.stop();
  });

  it('the attempt journal writes a moment after an entry, and the rest when it stops', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const written: JournalEntry[] = [];
    const journal = new Journal((batch) => {
      written.push(...batch);
      resolve();
      return Promise.resolve();
    }, silentLog);
    journal.add(makeEntry('anna'));
    // The timer alone would not keep the process here.
    const alive = setInterval(() => undefined, 1000);
    await promise;
    clearInterval(alive);
    journal.add(makeEntry('ben'));
    await journal.stop();
    assert.deepEqual(
      written.map(({ attempts: [attempt] }) => attempt?.owner),
      ['anna', 'ben'],
    );
  });
});
