import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NetworkTally } from './network.ts';
import { entryOf } from './recordings.fixture.ts';

describe('what went over the network', () => {
  it('is told once, when it is over', () => {
    const tally = new NetworkTally();
    const [page, late] = [entryOf(), entryOf({ wireBytes: 50 })];
    const pending = { ...late, error: 'unfinished' };
    assert.deepEqual(tally.look({ entries: [page, pending], dropped: 0 })?.summary, { requests: 1, failed: 0, bytes: 900 });
    assert.equal(tally.look({ entries: [page, { ...pending }], dropped: 0 }), null);
    assert.deepEqual(tally.look({ entries: [page, late], dropped: 0 })?.summary, { requests: 1, failed: 0, bytes: 50 });
  });

  it('names what failed, by the network and by the site, and not all of very many', () => {
    const failed = [entryOf({ status: 0, error: 'net::ERR_FAILED' }), entryOf({ status: 503, method: 'POST' })];
    const look = new NetworkTally().look({
      entries: [...failed, entryOf(), ...Array.from({ length: 20 }, () => entryOf({ status: 404 }))],
      dropped: 0,
    });
    assert.equal(look?.summary.failed, 22);
    assert.equal(look?.failures.length, 10);
    assert.deepEqual(look?.failures.slice(0, 2), [
      { method: 'GET', url: 'https://shop.test/a?b=c', status: null, error: 'net::ERR_FAILED' },
      { method: 'POST', url: 'https://shop.test/a?b=c', status: 503, error: null },
    ]);
  });

  it('takes an answer that the page did not read to its end for what it was', () => {
    const unread = entryOf({ status: 204, error: 'net::ERR_ABORTED' });
    const brokenOff = entryOf({ status: 0, error: 'net::ERR_ABORTED' });
    assert.equal(new NetworkTally().look({ entries: [unread, brokenOff], dropped: 0 })?.summary.failed, 1);
  });

  it('counts what the log had no room for', () => {
    const tally = new NetworkTally();
    assert.equal(tally.look({ entries: [], dropped: 3 })?.summary.requests, 3);
    assert.equal(tally.look({ entries: [], dropped: 3 }), null);
    assert.equal(tally.look({ entries: [], dropped: 4 })?.summary.requests, 1);
  });
});
