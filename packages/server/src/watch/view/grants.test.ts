import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '@berth/lib/clock.ts';
import { Grants, type Link } from './grants.ts';

const hourMs = 3_600_000;
const linkOf = (over: Partial<Link> = {}): Link => ({
  owner: 'anna',
  keyId: 'key_1',
  grantId: 'lnk_1',
  sessionId: 'ses_1',
  scope: 'view',
  issuedAtMs: 0,
  ...over,
});

describe('a cookie', () => {
  it('a view cookie stands for its link, has a value of its own, and is one of many', () => {
    const grants = new Grants(new ManualClock());
    const link = linkOf();
    const values = Array.from({ length: 10 }, () => grants.issue(link));
    assert.equal(new Set(values).size, 10);
    for (const value of values) {
      assert.match(value, /^[\w-]{43}$/);
      assert.deepEqual(grants.find([value]), [link]);
    }
  });

  it('view cookies are found among others that are none, and each of several is', () => {
    const grants = new Grants(new ManualClock());
    const [one, other] = [linkOf(), linkOf({ grantId: 'lnk_2', sessionId: 'ses_2' })];
    const values = ['planted', grants.issue(one), '', 'x'.repeat(5000), grants.issue(other)];
    assert.deepEqual(grants.find(values), [one, other]);
    assert.deepEqual(grants.find([]), []);
  });

  it('a view cookie is valid for an hour since its last use', () => {
    const clock = new ManualClock();
    const grants = new Grants(clock);
    const value = grants.issue(linkOf());
    for (let uses = 0; uses < 3; uses += 1) {
      clock.advance(hourMs - 1);
      assert.equal(grants.find([value]).length, 1);
    }
    clock.advance(hourMs + 1);
    assert.deepEqual(grants.find([value]), []);
    clock.advance(-hourMs);
    assert.deepEqual(grants.find([value]), [], 'what was forgotten does not come back');
  });

  it('the least lately used view cookie is dropped when its link is opened very often', () => {
    const grants = new Grants(new ManualClock());
    const first = grants.issue(linkOf());
    const second = grants.issue(linkOf());
    const elsewhere = grants.issue(linkOf({ grantId: 'lnk_2' }));
    for (let n = 0; n < 30; n += 1) grants.issue(linkOf());
    assert.equal(grants.find([first]).length, 1);
    grants.issue(linkOf());
    assert.equal(grants.find([second]).length, 0);
    assert.equal(grants.find([first, elsewhere]).length, 2, 'other cookies are as they were');
  });

  it('a view cookie is not dropped by what other owners open, however much that is', () => {
    const grants = new Grants(new ManualClock());
    const mine = grants.issue(linkOf());
    for (let n = 0; n < 3000; n += 1) grants.issue(linkOf({ owner: 'mallory', grantId: `lnk_${n}` }));
    assert.equal(grants.find([mine]).length, 1);
  });

  it('a view cookie is one of ten thousand at most', () => {
    const grants = new Grants(new ManualClock());
    const values = Array.from({ length: 10_001 }, (_, n) => grants.issue(linkOf({ owner: `owner ${n % 11}`, grantId: `lnk_${n}` })));
    assert.equal(grants.find(values.slice(0, 1)).length, 0);
    assert.equal(grants.find(values).length, 10_000);
  });

  it('a view cookie is forgotten by a purge only when its time is over', () => {
    const clock = new ManualClock();
    const grants = new Grants(clock);
    const value = grants.issue(linkOf());
    grants.purge();
    assert.equal(grants.find([value]).length, 1);
    clock.advance(hourMs + 1);
    grants.purge();
    assert.deepEqual(grants.find([value]), []);
  });
});
