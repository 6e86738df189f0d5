import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EgressFacts, EgressWay } from '../egress/egress.ts';
import { ManualClock } from '../lib/clock.ts';
import type { Meter } from '../metering/metering.ts';
import { LiveSession, type Sample } from './live.ts';
import type { SessionPurpose, SessionRecord } from './session.ts';

class FakeWay {
  bytes = 0;
  isClosed = false;
  facts = (): EgressFacts => ({ bytesIn: this.bytes, bytesOut: 1 }) as EgressFacts;
  close = (): void => void (this.isClosed = true);
}

function makeSession(purpose: SessionPurpose = 'session') {
  const clock = new ManualClock();
  const record = { status: 'starting', settings: { purpose }, lastSeen: { tabs_open: 0 } } as SessionRecord;
  let sample: () => Sample = () => assert.fail('no meter was opened');
  const session = new LiveSession(record, clock, (given) => {
    sample = given;
    return {
      totals: () => ({ actions: 2, browser_seconds: 3, egress_bytes: 4, sessions: 1, captcha_solves: 0 }),
      credits: () => 1.02,
    } as Meter;
  });
  const way = new FakeWay();
  return { session, clock, way, sampled: () => sample(), leave: () => session.leaveBy(way as unknown as EgressWay) };
}

describe('what a session has used', () => {
  it('is the traffic of its way from the lease on, and its time from when it is ready', () => {
    const { session, clock, way, sampled, leave } = makeSession();
    clock.advance(5000);
    assert.deepEqual(sampled(), { egressBytes: 0, browserMs: 0 });
    leave();
    way.bytes = 99;
    assert.deepEqual(sampled(), { egressBytes: 100, browserMs: 0 });
    session.begin();
    clock.advance(1500);
    assert.deepEqual(sampled(), { egressBytes: 100, browserMs: 1500 });
  });

  it('is no more after its end, whatever the clock says', () => {
    const { session, clock, way, sampled, leave } = makeSession();
    leave();
    session.begin();
    clock.advance(2000);
    session.stopUse();
    assert.ok(way.isClosed);
    clock.advance(3_600_000);
    session.stopUse();
    assert.equal(sampled().browserMs, 2000);
  });

  it('is no traffic where the end came before the way', () => {
    const { session, clock, way, sampled, leave } = makeSession();
    session.stopUse();
    leave();
    assert.ok(way.isClosed);
    clock.advance(1000);
    session.begin();
    clock.advance(1000);
    assert.equal(sampled().browserMs, 0);
  });

  it('is no time of its own where it is there for fetches: they tell theirs', () => {
    const { session, clock, sampled } = makeSession('fetch');
    session.begin();
    clock.advance(60_000);
    assert.equal(sampled().browserMs, 0);
  });

  it('is told by its meter, before there is a machine as well', () => {
    const { session } = makeSession();
    assert.deepEqual(session.look().usage, { actions: 2, browser_seconds: 3, egress_bytes: 4, captcha_solves: 0, credits: 1.02 });
  });
});
