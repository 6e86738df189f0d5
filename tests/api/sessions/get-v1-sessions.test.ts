import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, listSessions } from '@berth/contract';
import { startApp, type TestApp } from '../../harness.ts';

let served: TestApp;
let made: string[] = [];
before(async () => {
  served = await startApp();
  const bodies = [
    { name: 'oldest' },
    { metadata: { job: 'prices', run: '1' } },
    { metadata: { job: 'prices', run: '2' } },
    { metadata: { 'a.b': 'dot' } },
  ];
  for (const body of bodies) made.push((await served.create(body)).session_id);
  await served.call(endSession, { params: { session_id: made[1] ?? '' } });
  await served.app.sessions.live.get(made[1] ?? '')?.disposed;
  made = made.toReversed();
});
after(() => served.close());

const idsOf = async (query: Record<string, string>): Promise<string[]> =>
  (await served.call(listSessions, { query })).body.map(({ session_id }) => session_id);

describe('200', () => {
  it('GET /v1/sessions lists live and ended sessions, newest first', async () => {
    const { body, headers } = await served.call(listSessions);
    assert.deepEqual(
      body.map(({ session_id }) => session_id),
      made,
    );
    assert.deepEqual(
      body.map(({ status }) => status),
      ['ready', 'ready', 'ended', 'ready'],
    );
    assert.equal(headers.get('x-has-more'), 'false');
    assert.equal(headers.get('x-next-cursor'), null);
  });

  it('GET /v1/sessions filters by one or several statuses', async () => {
    assert.deepEqual(await idsOf({ status: 'ended' }), [made[2]]);
    assert.deepEqual(await idsOf({ status: 'ended,ready' }), made);
    assert.deepEqual(await idsOf({ status: 'failed,starting' }), []);
  });

  it('GET /v1/sessions filters by name and by all given metadata', async () => {
    assert.deepEqual(await idsOf({ name: 'oldest' }), [made[3]]);
    assert.deepEqual(await idsOf({ 'metadata.job': 'prices' }), [made[1], made[2]]);
    assert.deepEqual(await idsOf({ 'metadata.job': 'prices', 'metadata.run': '2' }), [made[1]]);
    assert.deepEqual(await idsOf({ 'metadata.job': 'prices', status: 'ready' }), [made[1]]);
    assert.deepEqual(await idsOf({ 'metadata.a.b': 'dot' }), [made[0]]);
    assert.deepEqual(await idsOf({ 'metadata.job': "prices' OR true --" }), []);
  });

  it('GET /v1/sessions returns pages that link to the next page', async () => {
    const seen: string[] = [];
    let next: string | null = `${served.url}/v1/sessions?limit=3&status=ready,ended`;
    for (let page = 0; next !== null; page += 1) {
      assert.ok(page < 3, 'there are two pages');
      const response: Response = await fetch(next, { headers: { authorization: `Bearer ${served.key}` } });
      const rows = (await response.json()) as { session_id: string }[];
      seen.push(...rows.map(({ session_id }) => session_id));
      const link: string | undefined = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
      assert.equal(response.headers.get('x-has-more'), String(link !== undefined));
      assert.equal(response.headers.get('x-next-cursor') === null, link === undefined);
      next = link ?? null;
    }
    assert.deepEqual(seen, made);
  });

  it('GET /v1/sessions is empty for an owner with no sessions', async () => {
    const key = await served.ownerKey('newcomer');
    assert.deepEqual((await served.call(listSessions, { key })).body, []);
  });
});

describe('422', () => {
  it('GET /v1/sessions refuses an unknown filter by name with 422', async () => {
    const issues = await served.issues(listSessions, { query: { owner: 'local', metadata: 'x', 'metadata.': 'y' } });
    assert.deepEqual(issues.map(({ loc, type }) => `${loc.join('.')} ${type}`).toSorted(), [
      'query.metadata extra_forbidden',
      'query.metadata. extra_forbidden',
      'query.owner extra_forbidden',
    ]);
  });

  it('GET /v1/sessions refuses a limit out of bounds with 422', async () => {
    const [issue] = await served.issues(listSessions, { query: { limit: '501' } });
    assert.deepEqual([issue?.loc, issue?.type, issue?.ctx], [['query', 'limit'], 'less_than_equal', { le: 500 }]);
  });
});
