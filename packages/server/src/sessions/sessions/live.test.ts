import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestDisk } from '../../../testing/disk.ts';
import type { EgressStats, EgressRoute } from '@berth/egress';
import { ManualClock } from '@berth/lib/clock.ts';
import type { Meter } from '../../accounts/metering/metering.ts';
import { LiveSession, type UsageSample } from './live.ts';
import type { SessionPurpose, SessionRecord } from './session.ts';

class FakeRoute {
  bytes = 0;
  isClosed = false;
  stats = (): EgressStats => ({ bytesIn: this.bytes, bytesOut: 1 }) as EgressStats;
  close = (): void => void (this.isClosed = true);
}

function makeSession(purpose: SessionPurpose = 'session') {
  const clock = new ManualClock();
  const record = { status: 'starting', settings: { purpose }, lastSeen: { tabs_open: 0 } } as SessionRecord;
  let sample: () => UsageSample = () => assert.fail('no meter was opened');
  const session = new LiveSession(record, { clock, disk: createTestDisk() }, (given) => {
    sample = given;
    return {
      totals: () => ({ actions: 2, browser_seconds: 3, egress_bytes: 4, sessions: 1, captcha_solves: 0 }),
      credits: () => 1.02,
    } as Meter;
  });
  const route = new FakeRoute();
  return { session, clock, route, sampled: () => sample(), attach: () => session.attachEgress(route as unknown as EgressRoute) };
}

describe('the usage of a session', () => {
  it('the usage of a session is the traffic of its egress from the start on, and browser time from when it is ready', () => {
    const { session, clock, route, sampled, attach } = makeSession();
    clock.advance(5000);
    assert.deepEqual(sampled(), { egressBytes: 0, browserMs: 0 });
    attach();
    route.bytes = 99;
    assert.deepEqual(sampled(), { egressBytes: 100, browserMs: 0 });
    session.startUsage();
    clock.advance(1500);
    assert.deepEqual(sampled(), { egressBytes: 100, browserMs: 1500 });
  });

  it('the usage of a session stops at its end, whatever the clock says', () => {
    const { session, clock, route, sampled, attach } = makeSession();
    attach();
    session.startUsage();
    clock.advance(2000);
    session.stopUsage();
    assert.ok(route.isClosed);
    clock.advance(3_600_000);
    session.stopUsage();
    assert.equal(sampled().browserMs, 2000);
  });

  it('the usage of a session has no traffic when the end came before the egress', () => {
    const { session, clock, route, sampled, attach } = makeSession();
    session.stopUsage();
    attach();
    assert.ok(route.isClosed);
    clock.advance(1000);
    session.startUsage();
    clock.advance(1000);
    assert.equal(sampled().browserMs, 0);
  });

  it('a session in a machine for fetches has no browser time of its own', () => {
    const { session, clock, sampled } = makeSession('fetch');
    session.startUsage();
    clock.advance(60_000);
    assert.equal(sampled().browserMs, 0);
  });

  it('the usage of a session comes from its meter, also before it has a machine', () => {
    const { session } = makeSession();
    assert.deepEqual(session.snapshot().usage, { actions: 2, browser_seconds: 3, egress_bytes: 4, captcha_solves: 0, credits: 1.02 });
  });
});
