import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { listSiteHealth } from '@berth/contract';
import { attemptOf } from '../../../packages/server/testing/selfheal.ts';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
before(async () => {
  served = await startApp();
  const record = (owner: string, domain: string, outcomes: ('ok' | 'blocked' | 'error')[]) => {
    for (const outcome of outcomes)
      served.app.selfHeal.record({ attempts: [attemptOf({ owner, domain, outcome, startedAt: new Date() })] });
  };
  record('anna', 'fine.example', ['ok', 'ok', 'ok', 'ok', 'ok']);
  record('anna', 'closed.example', ['blocked', 'blocked', 'blocked']);
  record('ben', 'broken.example', ['error', 'error', 'error', 'error', 'error']);
  record('ben', 'new.example', ['ok']);
});
after(() => served.close());

const states = async (query: Record<string, string> = {}) =>
  (await served.call(listSiteHealth, { query })).body.map(({ owner, domain, state }) => `${owner} ${domain} ${state}`);

describe('200', () => {
  it('GET /admin/health lists the sites of all owners, worst first', async () => {
    assert.deepEqual(await states(), [
      'anna closed.example cooldown',
      'ben broken.example blocked',
      'ben new.example unknown',
      'anna fine.example healthy',
    ]);
  });

  it('GET /admin/health filters by owner', async () => {
    assert.deepEqual(await states({ owner: 'anna' }), ['anna closed.example cooldown', 'anna fine.example healthy']);
    for (const owner of ['nobody', 'No Such!', '']) assert.deepEqual(await states({ owner }), []);
  });

  it('GET /admin/health is read page by page in the same order', async () => {
    const whole = await states();
    const seen: string[] = [];
    let next: string | null = '';
    while (next !== null) {
      const query: Record<string, string> = { limit: '1', ...(next === '' ? {} : { cursor: next }) };
      const { body, headers } = await served.call(listSiteHealth, { query });
      seen.push(...body.map(({ owner, domain, state }) => `${owner} ${domain} ${state}`));
      next = headers.get('x-next-cursor');
      assert.equal(headers.get('x-has-more'), String(next !== null));
    }
    assert.deepEqual(seen, whole);
  });

  it('GET /admin/health reports the end of a cooldown', async () => {
    const [closed, , , fine] = (await served.call(listSiteHealth)).body;
    assert.ok(Date.parse(closed?.cooldown_until ?? '') > Date.now());
    assert.deepEqual([closed?.consecutive_blocks, closed?.success_rate, closed?.last_ok_at], [3, 0, null]);
    assert.deepEqual([fine?.consecutive_blocks, fine?.success_rate, fine?.cooldown_until], [0, 1, null]);
  });
});

describe('422', () => {
  it('GET /admin/health refuses an invalid limit and cursor with 422', async () => {
    for (const [name, value] of [
      ['limit', '1001'],
      ['cursor', 'nonsense'],
      ['cursor', Buffer.from('[0,1,3,"a","b"]').toString('base64url')],
    ] as const) {
      const [issue] = await served.issues(listSiteHealth, { query: { [name]: value } });
      assert.deepEqual(issue?.loc, ['query', name], value);
    }
  });
});
