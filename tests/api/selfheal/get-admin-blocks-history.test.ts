import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { blockHistory, listBlocks, type Block } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { attemptOf, blockOf } from '../../../packages/server/testing/selfheal.ts';
import { startApp, type TestApp } from '../../harness.ts';

const nowMs = Date.UTC(2026, 10, 21, 9, 30);
const hourMs = 3_600_000;
const clock = new ManualClock(new Date(nowMs));
const blocked = (vendor: Block['vendor']) => ({ outcome: 'blocked' as const, block: { ...blockOf('challenge'), vendor }, statusCode: 403 });
const ago = (ms: number) => ({ startedAt: new Date(nowMs - ms), durationMs: 0 });

let served: TestApp;
before(async () => {
  served = await startApp({ clock });
  const record = (...attempts: Parameters<typeof attemptOf>[0][]) =>
    served.app.selfHeal.record({ attempts: attempts.map((attempt) => attemptOf(attempt)) });
  record({ ...blocked('cloudflare'), ...ago(0) }, { ...ago(0), n: 2, strategy: 'wait_retry' });
  record({ ...blocked('cloudflare'), ...ago(hourMs), owner: 'ben', domain: 'other.example' });
  record({ ...blocked('datadome'), ...ago(hourMs), domain: 'other.example' });
  record({ ...blocked('datadome'), ...ago(30 * hourMs) });
  for (let n = 0; n < 12; n += 1) record({ ...blocked('akamai'), ...ago(20 * 24 * hourMs), owner: 'many', domain: `site${n}.example` });
});
after(() => served.close());

const read = async (query: Record<string, string> = {}) => (await served.call(blockHistory, { query })).body;
const named = ({ series }: Awaited<ReturnType<typeof read>>) =>
  series.map(({ name, blocks, resolved }) => [name, blocks, resolved] as const);

describe('200', () => {
  it('GET /admin/blocks/history counts the last day by the hour and vendor', async () => {
    const history = await read();
    assert.deepEqual(
      [history.since, history.until, history.interval_seconds, history.by],
      ['2026-11-20T10:00:00.000Z', '2026-11-21T09:30:00.000Z', 3600, 'vendor'],
    );
    assert.deepEqual(named(history), [
      ['cloudflare', 2, 1],
      ['datadome', 1, 0],
    ]);
    assert.deepEqual(history.total.counts, [...Array<number>(22).fill(0), 2, 1]);
    assert.deepEqual(history.series[0]?.counts.slice(-2), [1, 1]);
    assert.deepEqual(history.other, { blocks: 0, resolved: 0, counts: Array<number>(24).fill(0) });
  });

  it('GET /admin/blocks/history groups by site, type and owner', async () => {
    assert.deepEqual(named(await read({ by: 'site' })), [
      ['other.example', 2, 0],
      ['example.com', 1, 1],
    ]);
    assert.deepEqual(named(await read({ by: 'type' })), [['challenge', 3, 1]]);
    assert.deepEqual(named(await read({ by: 'owner' })), [
      ['anna', 2, 1],
      ['ben', 1, 0],
    ]);
  });

  it('GET /admin/blocks/history filters by owner, site, type and vendor', async () => {
    for (const [query, blocks] of [
      [{ owner: 'ben' }, 1],
      [{ domain: 'www.other.example' }, 2],
      [{ vendor: 'datadome' }, 1],
      [{ vendor: 'datadome', hours: '48' }, 2],
      [{ type: 'captcha' }, 0],
      [{ type: 'no-such-type' }, 0],
    ] as const)
      assert.equal((await read(query)).total.blocks, blocks, JSON.stringify(query));
  });

  it('GET /admin/blocks/history has longer intervals for a longer time, with as many blocks as the list has', async () => {
    for (const [hours, seconds, count] of [
      [48, 3600, 48],
      [49, 21_600, 9],
      [240, 21_600, 40],
      [720, 86_400, 30],
    ] as const) {
      const { since, interval_seconds, total } = await read({ hours: String(hours) });
      assert.deepEqual([interval_seconds, total.counts.length], [seconds, count]);
      const listed = await served.call(listBlocks, { query: { since: String(Date.parse(since) / 1000), limit: '1000' } });
      assert.equal(total.blocks, listed.body.length);
      assert.equal(
        total.counts.reduce((sum, blocks) => sum + blocks),
        total.blocks,
      );
    }
  });

  it('GET /admin/blocks/history adds up what is beyond the largest groups', async () => {
    const { series, other, total } = await read({ by: 'site', hours: '720', owner: 'many' });
    assert.deepEqual([series.length, other.blocks, total.blocks], [10, 2, 12]);
  });
});

describe('422', () => {
  it('GET /admin/blocks/history refuses invalid parameters with 422', async () => {
    for (const [name, value] of [
      ['hours', '0'],
      ['hours', '721'],
      ['by', 'colour'],
      ['owner', 'a'.repeat(300)],
      ['domain', 'a'.repeat(300)],
      ['vendor', 'acme'],
      ['since', '0'],
    ] as const) {
      const [issue] = await served.issues(blockHistory, { query: { [name]: value } });
      assert.deepEqual(issue?.loc, ['query', name], `${name}=${value}`);
    }
  });
});
