/** Rates belong to the owner's plan, and are told before they are felt. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createOwnKey, health, listOwnKeys, listRegions, listSessions, metrics } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';

const open = {
  concurrency_limit: null,
  creates_per_minute: null,
  requests_per_minute: null,
  max_session_seconds: 900,
  tab_limit: null,
  premium_egress: true,
};
const folder = mkdtempSync(join(tmpdir(), 'berth-tiers-'));
let served: TestApp;
before(async () => {
  writeFileSync(
    join(folder, 'tiers.json'),
    JSON.stringify({ default_tier: 'open', tiers: { open, slow: { ...open, requests_per_minute: 5, key_calls_per_minute: 3 } } }),
  );
  served = await startApp({ environment: { BERTH_TIERS_FILE: join(folder, 'tiers.json') } });
});
after(async () => {
  await served.close();
  rmSync(folder, { recursive: true });
});

describe('a plan with a rate', () => {
  it('is told with every answer how much is left, and rate_limited when nothing is', async () => {
    const key = await served.ownerKey('slow-one', 'slow');
    for (const left of [4, 3, 2, 1, 0]) {
      const { headers } = await served.call(listSessions, { key });
      assert.equal(headers.get('ratelimit-policy'), '"default";q=5;w=60');
      assert.match(headers.get('ratelimit') ?? '', new RegExp(`^"default";r=${left};t=\\d+$`));
      assert.deepEqual([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')], ['5', String(left)]);
      assert.ok(headers.has('x-ratelimit-reset'));
    }
    const { reply } = await served.refuse(listSessions, 'rate_limited', { key });
    const seconds = Number(reply.headers.get('retry-after'));
    assert.ok(seconds >= 1 && seconds <= 60);
    assert.equal(reply.headers.get('x-should-retry'), 'true');
    assert.equal(reply.headers.get('x-ratelimit-remaining'), '0');
  });

  it('counts for the owner and not for the key', async () => {
    const keys = await Promise.all([1, 2].map(() => served.ownerKey('two-keys', 'slow')));
    const replies = await Promise.all([0, 1, 0, 1, 0, 1].map((which) => served.call(listRegions, { key: keys[which] ?? '' })));
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((one, other) => one - other),
      [200, 200, 200, 200, 200, 429],
    );
  });

  it('takes nothing from other owners', async () => {
    const key = await served.ownerKey('fresh-one', 'slow');
    assert.equal((await served.call(listSessions, { key })).headers.get('x-ratelimit-remaining'), '4');
  });
});

describe('a plan with a rate of key calls', () => {
  it('counts for the organisation, whoever of it signs in, and tells how much is left', async () => {
    await served.ownerKey('few-calls', 'slow');
    const [ada, ben] = [await served.login('few-calls', 'ada@example.com'), await served.login('few-calls', 'ben@example.com')];
    for (const [key, left] of [
      [ada, 2],
      [ben, 1],
      [ada, 0],
    ] as const) {
      const { headers } = await served.call(listOwnKeys, { key });
      assert.deepEqual([headers.get('ratelimit-policy'), headers.get('x-ratelimit-remaining')], ['"default";q=3;w=60', String(left)]);
    }
    for (const key of [ada, ben]) {
      const { reply } = await served.refuse(createOwnKey, 'rate_limited', { key });
      assert.ok(Number(reply.headers.get('retry-after')) >= 1);
    }
    await served.call(listOwnKeys, { key: await served.login('others') });
  });

  it('takes nothing from what its keys may ask, and they nothing from it', async () => {
    const key = await served.ownerKey('both-ways', 'slow');
    for (let call = 0; call < 6; call += 1) await served.call(listSessions, { key });
    const login = await served.login('both-ways');
    for (let call = 0; call < 3; call += 1) assert.equal((await served.call(listOwnKeys, { key: login })).status, 200);
    await served.refuse(listOwnKeys, 'rate_limited', { key: login });
  });
});

describe('a plan without a rate', () => {
  it('is never told of one', async () => {
    for (let call = 0; call < 20; call += 1) {
      const { headers } = await served.call(listSessions);
      assert.equal(headers.get('x-ratelimit-limit'), null);
    }
  });
});

describe('an endpoint open to all', () => {
  it('has no rate', async () => {
    const { headers } = await served.call(health, { key: null });
    assert.equal(headers.get('ratelimit'), null);
  });
});

describe('the metrics', () => {
  it('have no rate for whoever may read them', async () => {
    for (let call = 0; call < 20; call += 1) {
      const { status, headers } = await served.call(metrics);
      assert.deepEqual([status, headers.get('ratelimit')], [200, null]);
    }
  });
});
