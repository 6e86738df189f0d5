import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SiteAttempt, Outcome } from './attempt.ts';
import { isCooling, newSite, updateSite, siteStateOf, windowOf, type Site } from './site.ts';
import { attemptOf, blockOf } from '../../../testing/selfheal.ts';

const minute = 60_000;
const at = (minutes: number): Date => new Date(Date.UTC(2026, 0, 1) + minutes * minute);

/** Attempts of no duration, one a minute from `start` on. */
const after = (site: Site, outcomes: (Outcome | Partial<SiteAttempt>)[], start = 0): Site =>
  outcomes.reduce<Site>((known, overrides, n) => {
    const partial = typeof overrides === 'string' ? { outcome: overrides } : overrides;
    return updateSite(known, attemptOf({ startedAt: at(start + n), durationMs: 0, ...partial }));
  }, site);
const fresh = newSite('anna', 'example.com');
const cooledUntil = (site: Site): number | null => site.cooldownUntil && (site.cooldownUntil.getTime() - at(0).getTime()) / minute;

describe('a cooldown', () => {
  it('a cooldown begins with the third certain block in a row, for two minutes', () => {
    assert.equal(after(fresh, ['blocked', 'blocked']).cooldownUntil, null);
    const site = after(fresh, ['blocked', 'blocked', 'blocked']);
    assert.equal(cooledUntil(site), 4);
    assert.ok(isCooling(site, at(3.9)) && !isCooling(site, at(4)));
  });

  it('a cooldown does not begin where a success came between', () => {
    assert.equal(after(fresh, ['blocked', 'blocked', 'ok', 'blocked', 'blocked']).cooldownUntil, null);
  });

  it('a cooldown does not begin for guesses, for errors, or for blocks of one page', () => {
    const guess = { outcome: 'blocked', block: blockOf('challenge', 'medium') } as const;
    const login = { outcome: 'blocked', block: blockOf('login_wall') } as const;
    assert.equal(after(fresh, [guess, guess, guess, guess, 'error', 'error', 'error', login, login, login]).cooldownUntil, null);
  });

  it('a cooldown is twice as long each time in a row, and six hours at most', () => {
    let site = after(fresh, ['blocked', 'blocked', 'blocked']);
    let minutes = 4;
    for (const length of [4, 8, 16, 32, 64, 128, 256, 360, 360]) {
      site = after(site, ['blocked'], minutes);
      minutes += length;
      assert.equal(cooledUntil(site), minutes);
    }
  });

  it('a cooldown is not made longer by attempts that began before it was over', () => {
    const site = after(fresh, ['blocked', 'blocked', 'blocked']);
    assert.equal(cooledUntil(after(site, ['blocked'], 3)), 4);
    const inProgress = { outcome: 'blocked', startedAt: at(3.9), durationMs: 5 * minute } as const;
    assert.equal(cooledUntil(after(site, [inProgress])), 4);
  });

  it('a cooldown ends with one success, and the next is a first one again', () => {
    const twice = after(after(fresh, ['blocked', 'blocked', 'blocked']), ['blocked'], 4);
    const open = after(twice, ['ok'], 5);
    assert.deepEqual([open.cooldownUntil, open.cooldowns, open.consecutiveBlocks], [null, 0, 0]);
    assert.equal(cooledUntil(after(open, ['blocked', 'blocked', 'blocked'], 10)), 14);
  });

  it('a cooldown is not ended by a success that is older than the last block', () => {
    const site = after(fresh, ['blocked', 'blocked', 'blocked']);
    assert.equal(cooledUntil(after(site, [{ outcome: 'ok', startedAt: at(1) }])), 4);
  });
});

describe('the window', () => {
  it('the window of a site holds the last 50 attempts by their start, also when recorded late', () => {
    const site = after(after(fresh, Array<Outcome>(60).fill('ok'), 100), ['blocked', 'error'], 0);
    const window = windowOf(site.recent);
    assert.deepEqual([window.attempts, window.ok, window.since?.getTime()], [50, 50, at(110).getTime()]);
  });

  it('the window of a site determines its state', () => {
    const of = (ok: number, attempts: number) => siteStateOf({ ok, attempts });
    assert.deepEqual([of(0, 0), of(4, 4), of(5, 5)], ['unknown', 'unknown', 'healthy']);
    assert.deepEqual([of(9, 10), of(89, 100), of(5, 10), of(49, 100), of(0, 5)], ['healthy', 'degraded', 'degraded', 'blocked', 'blocked']);
  });
});
