import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createConnectToken, endpoints, listAudit, listConnectTokens, revokeConnectToken } from '@berth/contract';
import { goodRequest, nameOf } from '../../contract/contract-table.ts';
import { Client, pathOf, startApp, type TestApp } from '../../harness.ts';
import { refusedSocket } from '../../raw-http.ts';
import { ManualClock } from '@berth/lib/clock.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

const dayMs = 86_400_000;

describe('201', () => {
  it('POST /v1/connect-tokens creates a token that never expires, with the addresses for clients', async () => {
    const { body } = await served.call(createConnectToken);
    assert.match(body.token_id, /^tok_[0-9a-z]{24}$/);
    assert.match(body.token ?? '', /^brt_connect_[0-9A-Za-z]{49}$/);
    assert.deepEqual([body.name, body.expires_at, body.last_used_at, body.status], [null, null, null, 'active']);
    assert.deepEqual([body.prefix, body.last4], ['brt_connect_', body.token?.slice(-4)]);
    assert.equal(body.cdp_url, `${served.url.replace('http', 'ws')}/v1/connect?token=${body.token}`);
    assert.equal(body.cdp_http_url, `${served.url}/c/${body.token}`);
  });

  it('POST /v1/connect-tokens names the token, lets it expire and records who created it, without the secret', async () => {
    const { body } = await served.call(createConnectToken, { body: { name: 'an agent', expires_in_days: 7 } });
    assert.deepEqual([body.name, body.expires_at], ['an agent', new Date(clock.now().getTime() + 7 * dayMs).toISOString()]);
    const { body: entries, text } = await served.call(listAudit, { query: { action: 'connect_token.created', limit: '1' } });
    assert.deepEqual(
      entries.map(({ actor, owner, subject }) => [actor, owner, subject]),
      [[`key:${body.key_id}`, 'local', body.token_id]],
    );
    assert.ok(body.token !== null && !text.includes(body.token));
  });

  it('POST /v1/connect-tokens returns the secret once, also to a repeated request', async () => {
    const request = { body: {}, headers: { 'idempotency-key': 'token-once' } };
    const first = (await served.call(createConnectToken, request)).body;
    const { body: second, text } = await served.call(createConnectToken, request);
    assert.deepEqual([second.token_id, second.token, second.cdp_url, second.cdp_http_url], [first.token_id, null, null, null]);
    assert.ok(first.token !== null && !text.includes(first.token));
  });

  it('POST /v1/connect-tokens creates a token that every endpoint outside of connecting refuses', async () => {
    const { token } = (await served.call(createConnectToken)).body;
    const { session_id } = await served.create();
    for (const endpoint of endpoints.filter(({ auth }) => !['none', 'connect', 'connectPath'].includes(auth))) {
      const request = goodRequest(endpoint, { session_id });
      for (const credential of [{ headers: { authorization: `Bearer ${token}` } }, { query: { token: token ?? '' } }]) {
        const sent = { ...request, query: { ...request.query, ...credential.query }, headers: credential.headers ?? {}, key: null };
        const reply =
          endpoint.replyKind === 'websocket'
            ? await refusedSocket(served.url.replace('http', 'ws') + pathOf(endpoint, sent), sent.headers)
            : await new Client(served.url, served.key).send(endpoint, sent);
        assert.ok([401, 403].includes(reply.status), `${nameOf(endpoint)}: ${reply.status}`);
      }
    }
  });
});

describe('409 connect_token_limit_reached', () => {
  it('POST /v1/connect-tokens allows an owner a hundred tokens, also when they are requested at once, and then answers 409 connect_token_limit_reached', async () => {
    const key = await served.ownerKey('hoarder');
    const replies = await Promise.all(Array.from({ length: 105 }, () => served.call(createConnectToken, { key })));
    assert.equal(replies.filter(({ status }) => status === 201).length, 100);
    const { details } = await served.refuse(createConnectToken, 'connect_token_limit_reached', { key });
    assert.deepEqual(details, { limit: 100 });
    const [first] = (await served.call(listConnectTokens, { key })).body;
    await served.call(revokeConnectToken, { key, params: { token_id: first?.token_id ?? '' } });
    assert.equal((await served.call(createConnectToken, { key })).status, 201);
    assert.equal((await served.call(createConnectToken)).status, 201);
  });

  it('POST /v1/connect-tokens counts no expired tokens for 409 connect_token_limit_reached', async () => {
    const key = await served.ownerKey('forgetful');
    const expiring = { key, body: { expires_in_days: 1 } };
    await Promise.all(Array.from({ length: 100 }, () => served.call(createConnectToken, expiring)));
    clock.advance(dayMs);
    assert.equal((await served.call(createConnectToken, { key })).status, 201);
    assert.equal((await served.call(listConnectTokens, { key })).body.length, 1);
  });
});

describe('422', () => {
  it('POST /v1/connect-tokens refuses a lifetime of no days or of more than ten years with 422', async () => {
    for (const days of [0, 3651]) {
      const [issue] = await served.issues(createConnectToken, { body: { expires_in_days: days } });
      assert.deepEqual(issue?.loc, ['body', 'expires_in_days']);
    }
  });
});
