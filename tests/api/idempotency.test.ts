/** A repeated POST with an Idempotency-Key is executed once. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  createKey,
  createOwnKey,
  createSession,
  endSession,
  endpoints,
  getCredits,
  listAudit,
  listKeys,
  listSessions,
  createCreditCodes,
  createPromoCodes,
  navigate,
  type Endpoint,
} from '@berth/contract';
import { goodRequest, nameOf } from '../contract/contract-table.ts';
import { startApp, type Request, type TestApp } from '../harness.ts';
import { createUntil, drivingOf, hang, machinesLeft, whileNoMachineStarts } from '../contract/session-states.ts';

let served: TestApp;
let sessionId = '';
before(async () => {
  served = await startApp();
  // The session kind that every endpoint supports.
  sessionId = (await served.create({ kind: 'full_browser' })).session_id;
});
after(() => served.close());

let keys = 0;
const newKey = (): Record<string, string> => ({ 'idempotency-key': `test-${++keys}` });
/**
 * Endpoints without an owner take no Idempotency-Key. Checkouts use the payment
 * provider's own idempotency and are tested with a provider.
 */
const posts = endpoints.filter(
  ({ method, auth, errors }) => method === 'POST' && auth !== 'none' && !errors.includes('billing_not_configured'),
);

/** Requests that succeed only once. */
async function requestFor(endpoint: Endpoint): Promise<Request<Endpoint>> {
  const request = goodRequest(endpoint, { session_id: sessionId });
  if (endpoint.id === 'rotateOwnKey') {
    const { key_id } = (await served.call(createOwnKey)).body;
    return { ...request, params: { key_id } };
  }
  const { workerId: worker_id } = served.app.fleet.deps;
  if (endpoint.path.includes('{worker_id}')) return { ...request, params: { worker_id } };
  if (endpoint.id === 'pinOwner') return { params: { owner: 'local' }, body: { worker_id } };
  if (endpoint.id === 'unpinOwner') return { params: { owner: 'local' } };
  if (endpoint.id === 'redeemCredits')
    return { ...request, body: { code: (await served.call(createCreditCodes, { body: { amount: 1 } })).body.codes?.[0] } };
  if (endpoint.id !== 'redeemPromo') return request;
  const { codes } = (await served.call(createPromoCodes, { body: { tier: 'developer', trial_days: 1 } })).body;
  return { key: await served.login('trier'), body: { code: codes?.[0] } };
}

/** Everything that a second execution would add to. */
async function effects(): Promise<unknown[]> {
  // A machine that an inspection or a fetch has ended exits a moment after its reply.
  const { live } = await machinesLeft(served);
  const actions = served.app.sessions.live.get(sessionId)?.meter.totals().actions;
  const [keys, credits, audit] = await Promise.all([
    served.call(listKeys),
    served.call(getCredits),
    served.call(listAudit, { query: { limit: '500' } }),
  ]);
  return [live, actions, keys.body.length, credits.body.balance, audit.body.length];
}

describe('a repeated POST', () => {
  for (const endpoint of posts)
    it(`a repeated POST to ${nameOf(endpoint)} is answered again without being executed again`, async () => {
      const request = { ...(await requestFor(endpoint)), headers: newKey() };
      const first = await served.call(endpoint, request);
      assert.equal(first.status, endpoint.status, first.text);
      const before = await effects();
      const second = await served.call(endpoint, request);
      assert.equal(first.headers.get('idempotent-replayed'), null);
      assert.equal(second.headers.get('idempotent-replayed'), 'true');
      assert.deepEqual([second.status, withoutSecrets(endpoint, second.body)], [first.status, withoutSecrets(endpoint, first.body)]);
      assert.notEqual(second.headers.get('x-request-id'), first.headers.get('x-request-id'));
      assert.deepEqual(await effects(), before);
    });

  it('a repeated POST never returns a raw key twice', async () => {
    const request = { body: { owner: 'once' }, headers: newKey() };
    const first = await served.call(createKey, request);
    const second = await served.call(createKey, request);
    assert.ok(first.body.key);
    assert.equal(second.body.key, null);
    assert.ok(!second.text.includes(first.body.key.slice(9, -4)));
  });

  it('a repeated POST replays a permanent refusal with the new request id', async () => {
    const request = { params: { session_id: sessionId }, body: { url: 'http://fail-x.test/', tab_id: 'NONE' }, headers: newKey() };
    const first = await served.refuse(navigate, 'tab_not_found', request);
    const second = await served.refuse(navigate, 'tab_not_found', request);
    assert.equal(second.reply.headers.get('idempotent-replayed'), 'true');
    const idIn = ({ text, headers }: typeof first.reply) => [/"request_id":"([^"]+)"/.exec(text)?.[1], headers.get('x-request-id')];
    const [reported, sent] = idIn(second.reply);
    assert.equal(reported, sent);
  });

  it('a repeated POST is executed again after a temporary failure', async () => {
    const request = { body: {}, headers: newKey() };
    await whileNoMachineStarts(served, () => served.refuse(createSession, 'no_capacity', request));
    const second = await served.call(createSession, request);
    assert.deepEqual([second.status, second.headers.get('idempotent-replayed')], [201, null]);
  });

  it('a repeated POST is executed again after a rate limit', async () => {
    const key = await served.ownerKey('impatient', 'free');
    await createUntil(served, key, 'create_rate_limit', 6);
    const request = { key, body: {}, headers: newKey() };
    for (const _ of [1, 2])
      assert.equal((await served.refuse(createSession, 'create_rate_limit', request)).reply.headers.get('idempotent-replayed'), null);
  });
});

describe('a key', () => {
  it('an Idempotency-Key that was used with another body is answered idempotency_conflict', async () => {
    const headers = newKey();
    await served.call(createSession, { body: { metadata: { n: '1' } }, headers });
    const { reply } = await served.refuse(createSession, 'idempotency_conflict', { body: { metadata: { n: '2' } }, headers });
    assert.equal(reply.headers.get('x-should-retry'), 'false');
    await served.refuse(createSession, 'idempotency_conflict', { body: { metadata: { n: '1' } }, query: { wait: 'false' }, headers });
  });

  it('an Idempotency-Key whose request still runs is answered idempotency_in_progress', async () => {
    const { session_id } = await served.create();
    const [hanging] = await hang(served, session_id);
    const headers = newKey();
    const request = { params: { session_id }, body: { url: 'http://site.test/' }, headers };
    const first = served.call(navigate, request);
    while (drivingOf(served, session_id) < 2) await new Promise(setImmediate);
    const { reply } = await served.refuse(navigate, 'idempotency_in_progress', request);
    assert.equal(reply.headers.get('retry-after'), '1');
    await served.call(endSession, { params: { session_id } });
    await Promise.all([first, hanging]);
  });

  it('an Idempotency-Key is scoped to its owner', async () => {
    const headers = newKey();
    const mine = await served.call(createSession, { body: {}, headers });
    const theirs = await served.call(createSession, { key: await served.ownerKey('neighbour'), body: {}, headers });
    assert.equal(theirs.headers.get('idempotent-replayed'), null);
    assert.notEqual(mine.body.session_id, theirs.body.session_id);
  });

  it('a malformed Idempotency-Key is refused', async () => {
    for (const text of ['', 'with space', 'ümlaut', 'x'.repeat(256)]) {
      const issues = await served.issues(createSession, { body: {}, headers: { 'idempotency-key': text } });
      assert.deepEqual(issues[0]?.loc, ['header', 'idempotency-key'], text);
    }
  });

  it('an Idempotency-Key sent ten times at once creates one session', async () => {
    const headers = newKey();
    const before = (await machinesLeft(served)).onHost;
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => served.call(createSession, { body: { name: 'one of ten' }, headers })),
    );
    assert.ok(
      replies.every(({ status }) => status === 201 || status === 409),
      replies.map(({ text }) => text).join(),
    );
    assert.ok(replies.filter(({ status }) => status === 201).length >= 1);
    assert.equal((await served.call(listSessions, { query: { name: 'one of ten' } })).body.length, 1);
    assert.equal((await machinesLeft(served)).onHost, before + 1);
  });
});

/** Replaces by null the secrets that only the first response contains. */
const withoutSecrets = ({ secretReplyFields = [] }: Endpoint, body: unknown): unknown =>
  typeof body === 'object' && body !== null ? { ...body, ...Object.fromEntries(secretReplyFields.map((name) => [name, null])) } : body;
