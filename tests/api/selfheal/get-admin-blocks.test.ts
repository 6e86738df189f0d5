import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { listBlocks, type Block } from '@berth/contract';
import { attemptOf, blockOf } from '../../../packages/server/testing/selfheal.ts';
import { startApp, type TestApp } from '../../harness.ts';

const startMs = Date.UTC(2026, 10, 21, 9, 30);
const at = (seconds: number) => ({ startedAt: new Date(startMs + seconds * 1000), durationMs: 250 });
const blocked = (block: Block = blockOf('challenge')) => ({ outcome: 'blocked' as const, block, statusCode: 403 });

let served: TestApp;
before(async () => {
  served = await startApp();
  const egress = { type: 'proxy', country: 'DE', ip: '203.0.113.7' };
  const url = 'https://anna:pw@www.example.com/a?token=secret#part';
  const work = { egress, url, jobId: 'job_1', sessionId: 'ses_1' };
  served.app.selfHeal.record({
    attempts: [attemptOf({ ...work, ...blocked(), ...at(0) }), attemptOf({ ...work, ...at(1), n: 2, strategy: 'wait_retry' })],
  });
  served.app.selfHeal.record({ attempts: [attemptOf({ ...blocked(blockOf('captcha', 'medium')), ...at(2), task: 'navigate' })] });
  served.app.selfHeal.record({ attempts: [attemptOf({ ...blocked(), ...at(3), owner: 'ben', domain: 'other.example' })] });
});
after(() => served.close());

const listed = async (query: Record<string, string>) =>
  (await served.call(listBlocks, { query })).body.map(({ owner, domain, type }) => `${owner} ${domain} ${type}`);

describe('200', () => {
  it('GET /admin/blocks returns all details of a block without secrets', async () => {
    const { body, text } = await served.call(listBlocks);
    const { event_id, egress, ...event } = body[2] ?? assert.fail();
    assert.match(event_id, /^evt_/);
    assert.match(egress.ip_hash ?? '', /^[0-9a-f]{16}$/);
    assert.deepEqual({ ...egress, ip_hash: null }, { type: 'proxy', country: 'DE', ip_hash: null });
    assert.deepEqual(event, {
      ts: startMs / 1000 + 0.25,
      created_at: '2026-11-21T09:30:00.250Z',
      owner: 'anna',
      domain: 'example.com',
      url: 'https://www.example.com/a',
      type: 'challenge',
      vendor: 'cloudflare',
      confidence: 'high',
      evidence: [{ kind: 'header', id: 'cf-mitigated', value_redacted: 'challenge' }],
      status_code: 403,
      job_id: 'job_1',
      session_id: 'ses_1',
      task: 'fetch',
      region: 'local',
      kind: 'chromium',
      attempt: 1,
      strategy: 'direct',
      resolved: true,
      resolved_by: 'wait_retry',
      duration_ms: 250,
    });
    assert.ok(!/203\.0\.113\.7|secret|pw@/.test(text));
  });

  it('GET /admin/blocks lists resolved and unresolved blocks, newest first', async () => {
    const { body } = await served.call(listBlocks);
    assert.deepEqual(
      body.map(({ owner, resolved, resolved_by }) => [owner, resolved, resolved_by]),
      [
        ['ben', false, null],
        ['anna', false, null],
        ['anna', true, 'wait_retry'],
      ],
    );
  });

  it('GET /admin/blocks filters by owner, site and type, and limits the number', async () => {
    assert.deepEqual(await listed({ owner: 'anna' }), ['anna example.com captcha', 'anna example.com challenge']);
    assert.deepEqual(await listed({ domain: 'other.example' }), ['ben other.example challenge']);
    assert.deepEqual(await listed({ type: 'captcha' }), ['anna example.com captcha']);
    assert.deepEqual(await listed({ type: 'bad luck' }), []);
    assert.deepEqual(await listed({ owner: 'anna', type: 'challenge', domain: 'example.com' }), ['anna example.com challenge']);
    assert.deepEqual(await listed({ owner: 'ben', domain: 'example.com' }), []);
    assert.deepEqual(await listed({ limit: '1' }), ['ben other.example challenge']);
    assert.equal((await listed({ limit: '1000' })).length, 3);
  });

  it('GET /admin/blocks is empty for an owner or a site that cannot exist', async () => {
    for (const query of [{ owner: 'No Such!' }, { owner: '' }, { domain: 'no host' }, { domain: 'example.com/b' }, { domain: '' }])
      assert.deepEqual(await listed(query as Record<string, string>), [], JSON.stringify(query));
  });

  it('GET /admin/blocks maps a host to its registrable domain', async () => {
    assert.equal((await listed({ domain: 'www.Example.com' })).length, 2);
  });

  it('GET /admin/blocks filters by time in epoch seconds', async () => {
    const { body } = await served.call(listBlocks, { query: { owner: 'anna' } });
    for (const since of ['0', '1.5e9', '1E+3']) assert.equal((await listed({ since })).length, 3, since);
    assert.equal((await listed({ since: String(body[0]?.ts) })).length, 2);
    assert.equal((await listed({ since: String((body[0]?.ts ?? 0) + 0.001) })).length, 1);
    assert.deepEqual(await listed({ since: '253402300799' }), []);
  });

  it('GET /admin/blocks is read page by page, also over blocks of one moment', async () => {
    const owner = 'pages';
    const work = Array.from({ length: 5 }, (_, n) => ({ ...blocked(), ...at(n < 3 ? 10 : 11), owner, domain: `site-${n}.example` }));
    for (const attempt of work) served.app.selfHeal.record({ attempts: [attemptOf(attempt)] });
    const whole = (await served.call(listBlocks, { query: { owner } })).body.map(({ event_id: id }) => id);
    assert.equal(whole.length, 5);
    const seen: string[] = [];
    let next: string | null = '';
    while (next !== null) {
      const query: Record<string, string> = { owner, limit: '2', ...(next === '' ? {} : { cursor: next }) };
      const { body, headers } = await served.call(listBlocks, { query });
      seen.push(...body.map(({ event_id: id }) => id));
      next = headers.get('x-next-cursor');
      assert.equal(headers.get('x-has-more'), String(next !== null));
      assert.equal(headers.get('link') !== null, next !== null);
    }
    assert.deepEqual(seen, whole);
  });
});

describe('422', () => {
  it('GET /admin/blocks refuses an invalid limit with 422', async () => {
    for (const limit of ['0', '-1', '1001', '1e9', 'abc', '1.5', '']) {
      const [issue] = await served.issues(listBlocks, { query: { limit } });
      assert.deepEqual(issue?.loc, ['query', 'limit'], limit);
    }
  });

  it('GET /admin/blocks refuses an invalid time with 422', async () => {
    for (const since of ['NaN', '1e400', '-1', 'Infinity', '999999999999999', 'yesterday', '']) {
      const [issue] = await served.issues(listBlocks, { query: { since } });
      assert.deepEqual(issue?.loc, ['query', 'since'], since);
    }
  });

  it('GET /admin/blocks refuses texts that are too long or hold a NUL, unknown vendors and foreign cursors with 422', async () => {
    for (const [name, value] of [
      ['owner', 'a'.repeat(300)],
      ['domain', 'a\0b'],
      ['domain', 'a'.repeat(300)],
      ['cursor', 'nonsense'],
      ['cursor', Buffer.from('["x",1]').toString('base64url')],
      ['vendor', 'acme'],
      ['colour', 'red'],
    ] as const) {
      const [issue] = await served.issues(listBlocks, { query: { [name]: value } });
      assert.deepEqual(issue?.loc, ['query', name], value);
    }
  });
});
