import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endSession, listSessions } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';

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
  await served.app.sessions.live.get(made[1] ?? '')?.gone;
  made = made.toReversed();
});
after(() => served.close());

const idsOf = async (query: Record<string, string>): Promise<string[]> =>
  (await served.call(listSessions, { query })).body.map(({ session_id }) => session_id);

describe('200', () => {
  it('lists live and ended sessions, newest first', async () => {
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

  it('narrows by status, and several statuses are one wish', async () => {
    assert.deepEqual(await idsOf({ status: 'ended' }), [made[2]]);
    assert.deepEqual(await idsOf({ status: 'ended,ready' }), made);
    assert.deepEqual(await idsOf({ status: 'failed,starting' }), []);
  });

  it('narrows by name and by metadata, all of which must match', async () => {
    assert.deepEqual(await idsOf({ name: 'oldest' }), [made[3]]);
    assert.deepEqual(await idsOf({ 'metadata.job': 'prices' }), [made[1], made[2]]);
    assert.deepEqual(await idsOf({ 'metadata.job': 'prices', 'metadata.run': '2' }), [made[1]]);
    assert.deepEqual(await idsOf({ 'metadata.job': 'prices', status: 'ready' }), [made[1]]);
    assert.deepEqual(await idsOf({ 'metadata.a.b': 'dot' }), [made[0]]);
    assert.deepEqual(await idsOf({ 'metadata.job': "prices' OR true --" }), []);
  });

  it('gives pages that link to the next', async () => {
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

  it('is empty for an owner without sessions', async () => {
    const key = await served.ownerKey('newcomer');
    assert.deepEqual((await served.call(listSessions, { key })).body, []);
  });
});

describe('422', () => {
  it('refuses a filter that is none and says which', async () => {
    const faults = await served.faults(listSessions, { query: { owner: 'local', metadata: 'x', 'metadata.': 'y' } });
    assert.deepEqual(faults.map(({ loc, type }) => `${loc.join('.')} ${type}`).toSorted(), [
      'query.metadata extra_forbidden',
      'query.metadata. extra_forbidden',
      'query.owner extra_forbidden',
    ]);
  });

  it('refuses a limit out of bounds', async () => {
    const [fault] = await served.faults(listSessions, { query: { limit: '501' } });
    assert.deepEqual([fault?.loc, fault?.type, fault?.ctx], [['query', 'limit'], 'less_than_equal', { le: 500 }]);
  });
});
