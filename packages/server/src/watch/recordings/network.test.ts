import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NetworkTally } from './network.ts';
import { entryOf } from '../../../testing/recordings.ts';

describe('what went over the network', () => {
  it('network activity is reported once, when it has finished', () => {
    const tally = new NetworkTally();
    const [page, late] = [entryOf(), entryOf({ wireBytes: 50 })];
    const pending = { ...late, error: 'unfinished' };
    assert.deepEqual(tally.snapshot({ entries: [page, pending], dropped: 0 })?.summary, { requests: 1, failed: 0, bytes: 900 });
    assert.equal(tally.snapshot({ entries: [page, { ...pending }], dropped: 0 }), null);
    assert.deepEqual(tally.snapshot({ entries: [page, late], dropped: 0 })?.summary, { requests: 1, failed: 0, bytes: 50 });
  });

  it('network activity names what failed, by the network and by the site, and not all of very many', () => {
    const failed = [entryOf({ status: 0, error: 'net::ERR_FAILED' }), entryOf({ status: 503, method: 'POST' })];
    const snapshot = new NetworkTally().snapshot({
      entries: [...failed, entryOf(), ...Array.from({ length: 20 }, () => entryOf({ status: 404 }))],
      dropped: 0,
    });
    assert.equal(snapshot?.summary.failed, 22);
    assert.equal(snapshot?.failures.length, 10);
    assert.deepEqual(snapshot?.failures.slice(0, 2), [
      { method: 'GET', url: 'https://shop.test/a?b=c', status: null, error: 'net::ERR_FAILED' },
      { method: 'POST', url: 'https://shop.test/a?b=c', status: 503, error: null },
    ]);
  });

  it('a response that the page did not read to its end does not count as failed', () => {
    const unread = entryOf({ status: 204, error: 'net::ERR_ABORTED' });
    const brokenOff = entryOf({ status: 0, error: 'net::ERR_ABORTED' });
    assert.equal(new NetworkTally().snapshot({ entries: [unread, brokenOff], dropped: 0 })?.summary.failed, 1);
  });

  it('network activity counts what the log had no room for', () => {
    const tally = new NetworkTally();
    assert.equal(tally.snapshot({ entries: [], dropped: 3 })?.summary.requests, 3);
    assert.equal(tally.snapshot({ entries: [], dropped: 3 }), null);
    assert.equal(tally.snapshot({ entries: [], dropped: 4 })?.summary.requests, 1);
  });
});
