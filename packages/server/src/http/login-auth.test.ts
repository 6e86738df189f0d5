import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { endpoint } from '@berth/contract';
import { z } from 'zod';
import type { Credentials, Principal } from '../accounts/principals/principals.ts';
import { actorOf } from '../accounts/principals/principals.ts';
import { auth, goodAdminKey, guards, sendRaw, serve } from '../../testing/server.ts';
import type { Http, HttpOptions } from './server/server.ts';

const common = { tag: 'Keys', summary: 'A test.', status: 200, errors: [] } as const;
const mine = endpoint({
  ...common,
  id: 'mine',
  method: 'GET',
  path: '/mine',
  auth: 'login',
  reply: z.object({ owner: z.string(), actor: z.string() }),
});
const change = endpoint({
  ...common,
  id: 'change',
  method: 'POST',
  path: '/mine',
  auth: 'login',
  body: z.strictObject({ name: z.string() }),
  reply: z.object({ owner: z.string().nullable() }),
});
const numbers = endpoint({
  ...common,
  id: 'numbers',
  method: 'GET',
  path: '/numbers',
  auth: 'metrics',
  replyKind: 'text',
  reply: z.string(),
});
const sheet = endpoint({ ...common, id: 'sheet', method: 'GET', path: '/sheet', auth: 'none', replyKind: 'text', reply: z.string() });
const event = endpoint({
  ...common,
  id: 'event',
  method: 'POST',
  path: '/event',
  auth: 'none',
  rawBody: 'json',
  bodyLimitBytes: 100,
  reply: z.object({ base64: z.string(), signature: z.string().nullable(), key: z.string().nullable() }),
});
const form = endpoint({
  ...common,
  id: 'form',
  method: 'POST',
  path: '/form',
  auth: 'none',
  rawBody: 'form',
  reply: z.object({ text: z.string() }),
});
const keyed = endpoint({
  ...common,
  id: 'keyed',
  method: 'GET',
  path: '/keyed',
  auth: 'bearer',
  reply: z.object({ key: z.string().nullable(), bytes: z.int() }),
});

const mount = (http: Http): void => {
  http.on(mine, ({ principal }) => ({ owner: principal.owner ?? '', actor: actorOf(principal) }));
  http.on(change, ({ principal }) => ({ owner: principal.owner }));
  http.on(numbers, () => 'up 1\n');
  http.on(sheet, (call) => {
    call.setHeader('content-type', 'text/css; charset=utf-8');
    return 'a{}';
  });
  http.on(event, (call) => ({
    base64: call.rawBody.toString('base64'),
    signature: call.header('stripe-signature') ?? null,
    key: call.header('idempotency-key') ?? null,
  }));
  http.on(form, ({ rawBody }) => ({ text: rawBody.toString('utf8') }));
  http.on(keyed, (call) => ({ key: call.header('idempotency-key') ?? null, bytes: call.rawBody.length }));
};
const start = async (t: TestContext, options: Partial<HttpOptions> = {}): Promise<{ origin: string; port: number }> =>
  serve(t, mount, options);

const login = { authorization: 'Bearer good' };
const summarize = async (response: Response): Promise<string> =>
  `${response.status} ${((await response.json()) as { code?: string }).code ?? ''}`;

describe('a login token', () => {
  test('a login token opens endpoints for people who sign in, in the name of their organisation', async (t) => {
    const { origin } = await start(t);
    const reply = await fetch(`${origin}/mine`, { headers: login });
    assert.deepEqual([reply.status, await reply.json()], [200, { owner: 'acme', actor: 'login:ada' }]);
  });

  test('a login token is one bearer credential in the header, and 401 says so where it is missing', async (t) => {
    const { origin, port } = await start(t);
    const without: Record<string, string>[] = [
      {},
      { authorization: 'Bearer ' },
      { authorization: 'Basic YTpi' },
      { authorization: 'good' },
      { cookie: 'token=good' },
    ];
    for (const headers of without) {
      const reply = await fetch(`${origin}/mine?token=good`, { headers });
      assert.equal(reply.headers.get('www-authenticate'), 'Bearer realm="berth login"');
      assert.equal(await summarize(reply), '401 missing_login_token', JSON.stringify(headers));
    }
    const twice = await sendRaw(
      port,
      'GET /mine HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nAuthorization: Bearer good\r\nConnection: close\r\n\r\n',
    );
    assert.equal(twice.status, 401);
    assert.match(twice.body, /missing_login_token/);
  });

  test('an invalid login token is 401 with the word of the standard, and API and admin keys do not replace it', async (t) => {
    const { origin } = await start(t);
    const bad: Record<string, string>[] = [auth, { authorization: 'Bearer bad' }, { authorization: `Bearer ${goodAdminKey}` }];
    for (const headers of bad) {
      const reply = await fetch(`${origin}/mine`, { headers });
      assert.equal(reply.headers.get('www-authenticate'), 'Bearer realm="berth login", error="invalid_token"');
      assert.equal(await summarize(reply), '401 invalid_login_token');
    }
    assert.equal(await summarize(await fetch(`${origin}/mine`, { headers: { 'x-admin-key': goodAdminKey } })), '401 missing_login_token');
    assert.equal(await summarize(await fetch(`${origin}/keyed`, { headers: login })), '403 invalid_api_key');
  });

  test('the owner of a change is that of the login token, whatever owner the request names', async (t) => {
    const { origin } = await start(t);
    const send = (path: string, body: object): Promise<Response> =>
      fetch(origin + path, { method: 'POST', headers: { ...login, 'content-type': 'application/json' }, body: JSON.stringify(body) });
    assert.deepEqual(await (await send('/mine', { name: 'a' })).json(), { owner: 'acme' });
    assert.equal((await send('/mine?owner=victim', { name: 'a' })).status, 422);
    assert.equal((await send('/mine', { name: 'a', owner: 'victim' })).status, 422);
  });

  test('a login token has the rate of its organisation, and invalid ones are counted for their address', async (t) => {
    const limited = {
      ...guards,
      login: (credentials: Credentials): Principal => ({ ...(guards.login(credentials) as Principal), requestsPerMinute: 2 }),
    };
    const { origin } = await start(t, { guards: limited, authFailuresPerMinuteMax: 3 });
    const codes = async (headers: Record<string, string>, times: number): Promise<string[]> => {
      const all: string[] = [];
      for (let n = 0; n < times; n += 1) all.push(await summarize(await fetch(`${origin}/mine`, { headers })));
      return all;
    };
    assert.deepEqual(await codes({ authorization: 'Bearer bad' }, 4), [
      ...Array.from({ length: 3 }, () => '401 invalid_login_token'),
      '429 rate_limited',
    ]);
    assert.deepEqual(await codes(login, 3), ['200 ', '200 ', '429 rate_limited']);
  });
});

describe('the credential of the metrics', () => {
  test('the metrics guard gets either credential, and never one in the address', async (t) => {
    const seen: Pick<Credentials, 'authorization' | 'adminKey' | 'token'>[] = [];
    const metrics = ({ authorization, adminKey, token }: Credentials): Principal => {
      seen.push({ authorization, adminKey, token });
      return { owner: null, keyId: null, requestsPerMinute: null, scope: 'metrics' };
    };
    const { origin } = await start(t, { guards: { ...guards, metrics } });
    const sent: Record<string, string>[] = [
      { authorization: 'Bearer m' },
      { 'x-admin-key': 'a' },
      { 'x-admin-key': '' },
      { authorization: 'Basic YTpi' },
      {},
    ];
    for (const headers of sent) await (await fetch(`${origin}/numbers?token=t`, { headers })).body?.cancel();
    const none = { authorization: undefined, adminKey: undefined, token: undefined };
    assert.deepEqual(seen, [{ ...none, authorization: 'Bearer m' }, { ...none, adminKey: 'a' }, none, none, none]);
  });

  test('the metrics credential opens metrics as plain text, and nothing is answered without it', async (t) => {
    const { origin } = await start(t);
    const reply = await fetch(`${origin}/numbers`, { headers: { 'x-admin-key': goodAdminKey } });
    assert.deepEqual([reply.status, reply.headers.get('content-type'), await reply.text()], [200, 'text/plain; charset=utf-8', 'up 1\n']);
    assert.equal(await summarize(await fetch(`${origin}/numbers`)), '401 missing_admin_key');
    assert.equal(await summarize(await fetch(`${origin}/numbers`, { headers: { 'x-admin-key': 'wrong' } })), '403 invalid_admin_key');
  });
});

describe('an answer of text', () => {
  test('a text response may have another text type', async (t) => {
    const { origin } = await start(t);
    const reply = await fetch(`${origin}/sheet`);
    assert.deepEqual([reply.headers.get('content-type'), await reply.text()], ['text/css; charset=utf-8', 'a{}\n']);
  });
});

describe('a body whose bytes matter', () => {
  const post = (
    url: string,
    type: string,
    body: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
  ): Promise<Response> => fetch(url, { method: 'POST', headers: { 'content-type': type, ...headers }, body });

  test('a raw body arrives byte for byte, well-formed or not', async (t) => {
    const { origin } = await start(t);
    for (const bytes of [
      Buffer.from('{ "b":1,\n"a" : 1.0 }'),
      Buffer.from('{'),
      Buffer.from([0xff, 0x00, 0xfe]),
      Buffer.from('{"__proto__":{}}'),
    ]) {
      const reply = await post(`${origin}/event`, 'application/json; charset=utf-8', new Uint8Array(bytes), {
        'stripe-signature': 't=1,v1=ab',
      });
      assert.deepEqual(await reply.json(), { base64: bytes.toString('base64'), signature: 't=1,v1=ab', key: null });
    }
  });

  test('a raw body is refused where it is too long, missing, compressed, or of another type', async (t) => {
    const { origin } = await start(t);
    assert.equal(await summarize(await post(`${origin}/event`, 'application/json', 'x'.repeat(101))), '413 body_too_large');
    assert.equal(await summarize(await post(`${origin}/event`, 'text/plain', '{}')), '415 unsupported_media_type');
    assert.equal(await summarize(await post(`${origin}/event`, 'application/x-www-form-urlencoded', 'a=1')), '415 unsupported_media_type');
    assert.equal(
      await summarize(await post(`${origin}/event`, 'application/json', '{}', { 'content-encoding': 'gzip' })),
      '415 unsupported_media_type',
    );
    const missing = await fetch(`${origin}/event`, { method: 'POST' });
    assert.equal(missing.status, 422);
    assert.deepEqual(
      ((await missing.json()) as { detail: { type: string }[] }).detail.map(({ type }) => type),
      ['missing'],
    );
  });

  test('a raw body may be a form', async (t) => {
    const { origin } = await start(t);
    for (const type of ['application/x-www-form-urlencoded', 'Application/X-WWW-Form-Urlencoded;charset=UTF-8'])
      assert.deepEqual(await (await post(`${origin}/form`, type, 'a=1&b=%C3%A9')).json(), { text: 'a=1&b=%C3%A9' });
    for (const type of ['application/json', 'application/x-www-form-urlencoded; charset=utf-16', 'multipart/form-data; boundary=x', ''])
      assert.equal(await summarize(await post(`${origin}/form`, type, 'a=1')), '415 unsupported_media_type', type);
  });
});

describe('the idempotency key', () => {
  test('a handler can read the idempotency key', async (t) => {
    const { origin } = await start(t);
    const reply = await fetch(`${origin}/keyed`, { headers: { ...auth, 'idempotency-key': 'k-1' } });
    assert.deepEqual(await reply.json(), { key: 'k-1', bytes: 0 });
  });

  test('an idempotency key without a caller is not stored', async (t) => {
    // The server of this test has no store, so that keeping anything would fail.
    const { origin } = await start(t);
    for (const body of ['{}', '{"other":1}']) {
      const reply = await fetch(`${origin}/event`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'k-1' },
        body,
      });
      assert.deepEqual([reply.status, reply.headers.get('idempotent-replayed')], [200, null]);
    }
  });
});
