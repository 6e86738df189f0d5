import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { PathId, ServiceError, endpoint, queryInt } from '@berth/contract';
import { z } from 'zod';
import { auth, goodAdminKey, sendRaw, serve } from '../../../testing/server.ts';
import type { Http } from './server.ts';
import { defaultLimits } from './server.ts';

const common = { tag: 'Health', summary: 'A test.', status: 200, errors: [] } as const;
const thing = endpoint({
  ...common,
  id: 'thing',
  method: 'GET',
  path: '/things/{id}',
  auth: 'bearer',
  params: z.object({ id: PathId }),
  query: z.strictObject({ limit: queryInt(1, 10).default(5) }),
  reply: z.object({ id: z.string(), limit: z.int(), origin: z.string() }),
});
const make = endpoint({
  ...common,
  id: 'make',
  method: 'POST',
  path: '/things',
  auth: 'bearer',
  status: 201,
  query: z.strictObject({ wait: z.string().optional() }),
  body: z.strictObject({ name: z.string().max(5), size: z.int().min(1).max(9) }),
  reply: z.object({ name: z.string() }),
});
const touch = endpoint({
  ...common,
  id: 'touch',
  method: 'POST',
  path: '/things/{id}/touch',
  auth: 'bearer',
  params: z.object({ id: PathId }),
  status: 204,
  replyKind: 'empty',
});
const drop = endpoint({ ...touch, id: 'drop', method: 'DELETE', path: '/things/{id}' });
const rule = endpoint({ ...common, id: 'rule', method: 'GET', path: '/admin/rule', auth: 'admin', reply: z.object({ ok: z.boolean() }) });
const tool = endpoint({
  ...common,
  id: 'tool',
  method: 'GET',
  path: '/tool/json/version',
  auth: 'connect',
  query: z.object({ token: z.string().optional() }),
  reply: z.object({ ok: z.boolean() }),
});
const slow = endpoint({ ...common, id: 'slow', method: 'GET', path: '/slow', auth: 'none', deadlineMs: 50, reply: z.object({}) });
const fail = endpoint({
  ...common,
  id: 'fail',
  method: 'GET',
  path: '/fail/{how}',
  auth: 'none',
  params: z.object({ how: z.string() }),
  reply: z.object({}),
});

const failures: Record<string, () => Error> = {
  conflict: () => new ServiceError('session_ended', 'It is over.', { details: { reason: 'requested' } }),
  full: () => new ServiceError('no_capacity', 'Full.', { retryAfterSeconds: 2.2, internal: 'secret inside' }),
  broken: () => new Error('secret inside'),
};

const mountAll = (http: Http): void => {
  http.on(thing, ({ params, query, origin }) => ({ id: params.id, limit: query.limit, origin }));
  http.on(make, ({ body }) => ({ name: body.name }));
  http.on(touch, () => undefined);
  http.on(rule, () => ({ ok: true }));
  http.on(tool, () => ({ ok: true }));
  http.on(slow, () => new Promise(() => {}));
  http.on(fail, ({ params }) => {
    throw failures[params.how]?.() ?? new Error('no such failure');
  });
};

interface Body {
  code: string;
  detail: string & { loc: string[]; type: string }[];
  error: { code: string; message: string; retryable: boolean; request_id: string; details: object };
}
const bodyOf = async (response: Response): Promise<Body> => (await response.json()) as Body;
const json = { ...auth, 'content-type': 'application/json' };

describe('a request', () => {
  test('a request reaches its handler with what the schemas made of it', async (t) => {
    const { origin } = await serve(t, mountAll);
    const response = await fetch(`${origin}/things/a%20b?limit=7`, { headers: auth });
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { id: 'a b', limit: 7, origin });
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(response.headers.get('access-control-allow-origin'), null);
    assert.match(response.headers.get('x-request-id') ?? '', /^req_[0-9a-z]{24}$/);
  });

  test('a request is answered in the form of its endpoint, whatever it accepts', async (t) => {
    const { origin } = await serve(t, mountAll);
    for (const accept of ['application/xml', 'text/event-stream', 'image/*', 'application/json;q=0', 'text/html', 'no/such, ;;']) {
      const answers = await Promise.all(
        ['/things/a', '/fail/conflict'].map((path) => fetch(origin + path, { headers: { ...auth, accept } })),
      );
      assert.deepEqual(
        answers.map(({ status, headers }) => [status, headers.get('content-type')]),
        [200, 409].map((status) => [status, 'application/json; charset=utf-8']),
        accept,
      );
    }
  });

  test('a request keeps a valid id of its caller and loses an invalid one', async (t) => {
    const { origin } = await serve(t, mountAll);
    const sent = async (id: string): Promise<string | null> =>
      (await fetch(`${origin}/things/a`, { headers: { ...auth, 'x-request-id': id } })).headers.get('x-request-id');
    assert.equal(await sent('trace-1.2_A'), 'trace-1.2_A');
    assert.match((await sent('a b')) ?? '', /^req_/);
    assert.match((await sent('x'.repeat(129))) ?? '', /^req_/);
  });

  test('a request finds its path with a slash at the end, and by HEAD', async (t) => {
    const { origin } = await serve(t, mountAll);
    assert.equal((await fetch(`${origin}/tool/json/version/`, { headers: auth })).status, 200);
    const head = await fetch(`${origin}/things/a`, { method: 'HEAD', headers: auth });
    assert.equal(head.status, 200);
    assert.equal(await head.text(), '');
  });

  test('a request is answered 204 without a body where there is nothing to say', async (t) => {
    const { origin } = await serve(t, mountAll);
    const response = await fetch(`${origin}/things/a/touch`, { method: 'POST', headers: auth });
    assert.equal(response.status, 204);
    assert.equal(await response.text(), '');
    assert.equal((await fetch(`${origin}/things/a/touch`, { method: 'POST', headers: json, body: '{}' })).status, 204);
    const extra = await fetch(`${origin}/things/a/touch`, { method: 'POST', headers: json, body: '{"x":1}' });
    assert.equal(extra.status, 422);
  });

  test('a request is logged without what its address may hold', async (t) => {
    const lines: object[] = [];
    const note = (fields: object): void => void lines.push(fields);
    const log = { debug: note, info: note, warn: note, error: note, child: () => log };
    const { origin } = await serve(t, mountAll, { log });
    await fetch(`${origin}/tool/json/version?token=hunter2`, { headers: { 'x-request-id': 'r3' } });
    assert.deepEqual(
      lines.map((fields) => ({ ...fields, ms: 0 })),
      [{ request_id: 'r3', method: 'GET', path: '/tool/json/version', endpoint: 'tool', status: 403, ms: 0 }],
    );
  });

  test('a request to a worker that drains is asked to find another worker', async (t) => {
    const { origin } = await serve(t, mountAll, { isDraining: () => true });
    assert.equal((await fetch(`${origin}/things/a`, { headers: auth })).headers.get('connection'), 'close');
  });

  test('a request takes its origin only from a proxy that is trusted', async (t) => {
    const trusting = await serve(t, mountAll, { trustedProxies: ['127.0.0.0/8'] });
    const wary = await serve(t, mountAll);
    const headers = { ...auth, 'x-forwarded-proto': 'https', 'x-forwarded-host': 'berth.example' };
    const originOf = async (at: string): Promise<unknown> =>
      ((await (await fetch(`${at}/things/a`, { headers })).json()) as { origin: string }).origin;
    assert.equal(await originOf(trusting.origin), 'https://berth.example');
    assert.equal(await originOf(wary.origin), wary.origin);
  });
});

describe('an error', () => {
  test('every error has one form, with the retry advice of its status', async (t) => {
    const { origin } = await serve(t, mountAll);
    const conflict = await fetch(`${origin}/fail/conflict`, { headers: { 'x-request-id': 'r1' } });
    assert.equal(conflict.status, 409);
    assert.equal(conflict.headers.get('x-should-retry'), 'false');
    assert.deepEqual(await conflict.json(), {
      error: { code: 'session_ended', message: 'It is over.', retryable: false, request_id: 'r1', details: { reason: 'requested' } },
      code: 'session_ended',
      detail: 'It is over.',
    });
    const full = await fetch(`${origin}/fail/full`);
    assert.equal(full.status, 503);
    assert.equal(full.headers.get('retry-after'), '3');
    assert.equal(full.headers.get('x-should-retry'), 'true');
    assert.doesNotMatch(await full.text(), /secret/);
  });

  test('an unexpected error says nothing of itself to the caller and everything to the log', async (t) => {
    const logged: { fields: object; message: string }[] = [];
    const note = (fields: object, message: string): void => void logged.push({ fields, message });
    const log = { debug: () => {}, info: () => {}, warn: note, error: note, child: () => log };
    const { origin } = await serve(t, mountAll, { log });
    const response = await fetch(`${origin}/fail/broken`, { headers: { 'x-request-id': 'r2' } });
    assert.equal(response.status, 500);
    const text = await response.text();
    assert.ok(text.includes('internal_error'));
    assert.doesNotMatch(text, /secret|stack/);
    assert.match(String(logged[0]?.fields && 'err' in logged[0].fields ? logged[0].fields.err : ''), /secret inside/);
    assert.equal(logged[0]?.fields && 'request_id' in logged[0].fields ? logged[0].fields.request_id : '', 'r2');
  });

  test('an unknown address is 404 and a wrong method 405 with what is allowed', async (t) => {
    const { origin } = await serve(t, mountAll);
    const nowhere = await fetch(`${origin}/nowhere`, { method: 'POST', headers: { 'content-type': 'x/\ty' } });
    assert.equal(nowhere.status, 404);
    assert.equal((await bodyOf(nowhere)).code, 'route_not_found');
    const wrong = await fetch(`${origin}/things/a`, { method: 'DELETE' });
    assert.equal(wrong.status, 405);
    assert.equal(wrong.headers.get('allow'), 'GET, HEAD');
    assert.equal((await bodyOf(wrong)).code, 'method_not_allowed');
    assert.equal((await fetch(`${origin}/things`, { method: 'OPTIONS' })).status, 405);
    const malformed = await fetch(`${origin}/things/%ff`, { headers: auth });
    assert.equal(malformed.status, 400);
    assert.equal((await bodyOf(malformed)).code, 'bad_request');
  });

  test('405 says what the most exact path allows, however the path is written, with every method', async (t) => {
    const { port } = await serve(t, (http) => {
      mountAll(http);
      http.asset('/things/latest', { contentType: 'text/plain', headers: {}, load: () => 'the latest' });
      http.asset('/things/latest/*', { contentType: 'text/plain', headers: {}, load: () => 'more of it' });
      http.on(drop, () => undefined);
    });
    const ask = async (method: string, target: string): Promise<string> => {
      const headers = `Host: x\r\nAuthorization: Bearer brt_live_good\r\nConnection: close\r\n`;
      const { status, headers: replied } = await sendRaw(port, `${method} ${target} HTTP/1.1\r\n${headers}\r\n`);
      return `${status} ${/^allow: (.*)$/im.exec(replied)?.[1]?.toUpperCase() ?? ''}`.trim();
    };
    const exact = '405 GET, HEAD';
    for (const method of ['DELETE', 'POST', 'PUT', 'OPTIONS', 'QUERY'])
      for (const target of ['/things/latest', '/things/latest/', '/things/%6Catest?a=/b', 'http://x/things/latest', '/things/latest/a/b'])
        assert.equal(await ask(method, target), exact, `${method} ${target}`);
    assert.equal(await ask('DELETE', '/things/late'), '204');
    for (const target of ['/things/late', '/things/late/', '/things/%2F', '/things//'])
      assert.equal(await ask('PATCH', target), '405 GET, DELETE, HEAD', target);
    assert.equal(await ask('GET', '/things/late/touch'), '405 POST');
    for (const target of ['/thing', '/things/late/touch/more', '/Things']) assert.equal(await ask('PUT', target), '404', target);
    for (const method of ['GET', 'PUT', 'OPTIONS']) assert.equal(await ask(method, '/things/%zz'), '400', method);
    assert.equal(await ask('TRACE', '/things/late'), '404');
  });

  test('404 names the address that was probably meant: with its version, or in the other number', async (t) => {
    const { origin } = await serve(t, (http) => {
      http.on(endpoint({ ...thing, path: '/v1/things/{id}' }), ({ params }) => ({ id: params.id, limit: 1, origin: '' }));
      http.asset('/v1/files/*', { contentType: 'text/plain', headers: {}, load: () => 'a file' });
    });
    const hint = async (target: string, method = 'GET'): Promise<string> => {
      const response = await fetch(origin + target, { method });
      assert.equal(response.status, 404, target);
      return String((await bodyOf(response)).detail).split('. ')[1] ?? '';
    };
    const meant = 'Did you mean GET /v1/things/{id}?';
    for (const target of ['/things/a', '/v1/thing/a', '/thing/a?x=/', '/api/v1/things/a', '/v1//things/a', '/thing/%2F'])
      assert.equal(await hint(target), meant, target);
    for (const target of ['/file/a', '/other', `/thing${'/a'.repeat(20)}`]) assert.equal(await hint(target), 'See /docs.', target);
    assert.equal(await hint('/things/a', 'DELETE'), 'See /docs.');
  });

  test('two handlers of one method and path are refused when they are mounted', async (t) => {
    await assert.rejects(
      serve(t, (http) => {
        http.on(rule, () => ({ ok: true }));
        http.on(endpoint({ ...rule, id: 'other' }), () => ({ ok: true }));
      }),
      /GET \/admin\/rule is mounted already/,
    );
  });

  test('a handler that passes its deadline is answered with an error', async (t) => {
    const { origin } = await serve(t, mountAll);
    const response = await fetch(`${origin}/slow`);
    assert.equal(response.status, 504);
    assert.equal((await bodyOf(response)).code, 'deadline_exceeded');
  });
});

describe('a credential', () => {
  test('a missing credential is answered 401 with a challenge', async (t) => {
    const { origin } = await serve(t, mountAll);
    for (const headers of [{}, { authorization: '' }, { authorization: 'Bearer ' }, { cookie: 'token=good' }] as Record<string, string>[]) {
      const response = await fetch(`${origin}/things/a?token=good&api_key=good`, { headers });
      assert.equal(response.status, 401, JSON.stringify(headers));
      assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer/);
      assert.equal((await bodyOf(response)).code, 'missing_api_key');
    }
  });

  test('a credential that is no single bearer key is answered 403, with the form that it should have', async (t) => {
    const { origin, port } = await serve(t, mountAll);
    for (const authorization of ['Basic eDp5', 'good', 'Bearer good good', 'Bearer, good']) {
      const response = await fetch(`${origin}/things/a`, { headers: { authorization } });
      assert.equal(response.status, 403, authorization);
      assert.equal(response.headers.get('www-authenticate'), null);
      const { code, detail } = await bodyOf(response);
      assert.equal(code, 'invalid_api_key');
      assert.match(String(detail), /`Authorization: Bearer KEY`/);
    }
    const twice = await sendRaw(
      port,
      `GET /things/a HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\nauthorization: ${auth.authorization}\r\nConnection: close\r\n\r\n`,
    );
    assert.equal(twice.status, 403);
  });

  test("the operator's credential is 401 when missing and 403 when wrong, doubled or long", async (t) => {
    const { origin, port } = await serve(t, mountAll);
    const status = async (headers: Record<string, string>): Promise<number> => (await fetch(`${origin}/admin/rule`, { headers })).status;
    assert.equal(await status({ 'x-admin-key': goodAdminKey }), 200);
    assert.equal(await status({}), 401);
    assert.equal(await status({ 'x-admin-key': '' }), 401);
    assert.equal(await status(auth), 401);
    assert.equal(await status({ 'x-admin-key': 'wrong' }), 403);
    assert.equal(await status({ 'x-admin-key': goodAdminKey.repeat(100) }), 403);
    const twice = await sendRaw(
      port,
      `GET /admin/rule HTTP/1.1\r\nHost: x\r\nx-admin-key: ${goodAdminKey}\r\nX-Admin-Key: ${goodAdminKey}\r\nConnection: close\r\n\r\n`,
    );
    assert.equal(twice.status, 403);
  });

  test('a token in the address is accepted only where a session is connected to', async (t) => {
    const { origin } = await serve(t, mountAll);
    assert.equal((await fetch(`${origin}/tool/json/version?token=good`)).status, 200);
    assert.equal((await fetch(`${origin}/tool/json/version?token=bad`)).status, 403);
    assert.equal((await fetch(`${origin}/things/a?token=good`)).status, 401);
  });

  test('a credential is asked for before the body is looked at', async (t) => {
    const { port } = await serve(t, mountAll);
    const reply = await sendRaw(
      port,
      'POST /things HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: nonsense\r\nContent-Length: 1000\r\n\r\n{',
    );
    assert.equal(reply.status, 401);
  });

  test('a credential that fails too often is refused early, and a right one is not', async (t) => {
    const { origin } = await serve(t, mountAll, { authFailuresPerMinuteMax: 3 });
    const status = async (key: string): Promise<Response> => fetch(`${origin}/things/a`, { headers: { authorization: `Bearer ${key}` } });
    const seen: number[] = [];
    for (let attempt = 0; attempt < 5; attempt++) seen.push((await status('wrong')).status);
    assert.deepEqual(seen, [403, 403, 403, 429, 429]);
    assert.ok(Number((await status('wrong')).headers.get('retry-after')) >= 1);
    assert.equal((await status('brt_live_good')).status, 200);
  });

  test('a credential with a rate gets headers with what is left of it, and 429 when nothing is', async (t) => {
    const { origin } = await serve(t, mountAll);
    const ask = (): Promise<Response> => fetch(`${origin}/things/a`, { headers: { authorization: 'Bearer limited' } });
    const first = await ask();
    assert.equal(first.headers.get('ratelimit-policy'), '"default";q=3;w=60');
    assert.match(first.headers.get('ratelimit') ?? '', /^"default";r=2;t=\d+$/);
    assert.equal(first.headers.get('x-ratelimit-limit'), '3');
    await ask();
    await ask();
    const refused = await ask();
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('x-ratelimit-remaining'), '0');
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.equal((await fetch(`${origin}/things/a`, { headers: auth })).headers.get('ratelimit'), null);
  });
});

describe('a body', () => {
  const post = (origin: string, body: string, headers: Record<string, string> = json): Promise<Response> =>
    fetch(`${origin}/things`, { method: 'POST', headers, body });

  test('a body is taken as JSON in UTF-8 and as nothing else', async (t) => {
    const { origin, port } = await serve(t, mountAll);
    const good = '{"name":"a","size":1}';
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])
      assert.equal((await post(origin, good, { ...auth, 'content-type': type })).status, 201, type);
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'application/jsonx',
      'text/json',
    ])
      assert.equal((await post(origin, good, { ...auth, 'content-type': type })).status, 415, type);
    assert.equal((await post(origin, good, { ...json, 'content-encoding': 'gzip' })).status, 415);
    const tab = await sendRaw(
      port,
      `POST /things HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${auth.authorization}\r\nContent-Type: application/json\tx\r\nContent-Length: 2\r\n\r\n{}`,
    );
    assert.equal(tab.status, 415);
    assert.match(tab.body, /unsupported_media_type/);
  });

  test('body, query and path report all their issues in one response', async (t) => {
    const { origin } = await serve(t, mountAll);
    const response = await fetch(`${origin}/things?wait=1&wait=2&also=3`, {
      method: 'POST',
      headers: json,
      body: '{"name":"too long","extra":true}',
    });
    assert.equal(response.status, 422);
    assert.equal(response.headers.get('x-should-retry'), 'false');
    const { detail } = await bodyOf(response);
    assert.deepEqual(
      new Set(detail.map(({ loc, type }) => `${loc.join('.')} ${type}`)),
      new Set([
        'query.wait string_type',
        'query.also extra_forbidden',
        'body.name string_too_long',
        'body.size missing',
        'body.extra extra_forbidden',
      ]),
    );
  });

  test('a missing or broken body is 422', async (t) => {
    const { origin } = await serve(t, mountAll);
    const first = async (body: string): Promise<string> => {
      const response = await post(origin, body);
      assert.equal(response.status, 422, body.slice(0, 40));
      const [fault] = (await bodyOf(response)).detail;
      return `${fault?.loc.join('.')} ${fault?.type}`;
    };
    assert.equal(await first(''), 'body missing');
    assert.equal(await first('{"name":'), 'body json_invalid');
    assert.equal(await first('null'), 'body dict_type');
    assert.equal(await first('[]'), 'body dict_type');
    assert.equal(await first('{"name":"a","name":"b","size":1}'), 'body json_invalid');
    assert.equal(await first('{"__proto__":{"x":1},"name":"a","size":1}'), 'body.__proto__ extra_forbidden');
    assert.equal(await first('{"\\u005f_proto__":{"x":1},"name":"a","size":1}'), 'body.__proto__ extra_forbidden');
    assert.equal(await first('{"constructor":{"prototype":{"x":1}},"name":"a","size":1}'), 'body.constructor extra_forbidden');
    assert.equal(await first('['.repeat(100_000) + ']'.repeat(100_000)), 'body json_invalid');
    assert.equal(await first('{"name":"\\u0000","size":1}'), 'body json_invalid');
  });

  test('a body over the limit is 413, announced or not, and costs no memory', async (t) => {
    const { origin } = await serve(t, mountAll);
    assert.equal((await post(origin, `"${'x'.repeat(defaultLimits.bodyBytesMax)}"`)).status, 413);
    const before = process.memoryUsage.rss();
    const piece = new Uint8Array(64 * 1024).fill(32);
    let left = 100 * 16;
    const stream = new ReadableStream<Uint8Array>({ pull: (controller) => (left-- > 0 ? controller.enqueue(piece) : controller.close()) });
    const streaming = { method: 'POST', headers: json, body: stream, duplex: 'half' as const };
    const response = await fetch(`${origin}/things`, streaming);
    assert.equal(response.status, 413);
    assert.equal((await bodyOf(response)).code, 'body_too_large');
    assert.ok(process.memoryUsage.rss() - before < 50 * 1024 * 1024);
  });

  test('a client whose body is refused gets the reply although it asked for the connection to be closed', async (t) => {
    const { port } = await serve(t, mountAll);
    const left = 2 * defaultLimits.bodyBytesMax;
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST /things HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${auth.authorization}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${left}\r\n\r\n`,
    );
    const [reply] = (await once(socket, 'data')) as [Buffer];
    assert.match(reply.toString(), /^HTTP\/1\.1 413 /);
    const closed = once(socket, 'close');
    socket.end(Buffer.alloc(left, ' '));
    // A connection that was destroyed meanwhile would be reset: an error of the client, which then shows no reply.
    assert.deepEqual(await closed, [false]);
    assert.equal(socket.bytesWritten > left, true);
  });

  test('a body that drips in is 408', async (t) => {
    const { port } = await serve(t, mountAll, { limits: { ...defaultLimits, requestTimeoutMs: 200 } });
    const reply = await sendRaw(
      port,
      `POST /things HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{`,
    );
    assert.equal(reply.status, 408);
    assert.match(reply.body, /request_timeout/);
  });

  test('a body is waited for with 100 Continue only after the guard', async (t) => {
    const { port } = await serve(t, mountAll);
    const head =
      'POST /things HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 21\r\nExpect: 100-continue\r\n';
    const refused = await sendRaw(port, `${head}\r\n`);
    assert.equal(refused.status, 401);
    const socket = connect(port, '127.0.0.1');
    socket.write(`${head}Authorization: ${auth.authorization}\r\n\r\n`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    assert.match(first.toString(), /^HTTP\/1\.1 100 /);
    socket.end('{"name":"a","size":1}');
    const [second] = (await once(socket, 'data')) as [Buffer];
    assert.match(second.toString(), /^HTTP\/1\.1 201 /);
    socket.destroy();
  });
});

describe('rude HTTP', () => {
  const start = `GET /things/a HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\n`;
  const cases: Record<string, [string, number]> = {
    'two lengths': [`POST /things HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx`, 400],
    'length and chunks': [`POST /things HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    'unknown transfer encoding': [`POST /things HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, 501],
    'space before colon': [`${start}X : y\r\n\r\n`, 400],
    'folded header': [`${start}X: y\r\n z\r\n\r\n`, 400],
    'bare carriage return': [`${start}X: y\rZ: z\r\n\r\n`, 400],
    'no host': [`GET /things/a HTTP/1.1\r\nConnection: close\r\n\r\n`, 400],
    'two hosts': [`${start}Host: y\r\nConnection: close\r\n\r\n`, 400],
    'unknown expectation': [`${start}Connection: close\r\nExpect: the-unexpected\r\n\r\n`, 400],
    'no HTTP at all': ['\x16\x03\x01\x02\x00\x01\r\n\r\n', 400],
    'headers of a megabyte': [`${start}X: ${'y'.repeat(1024 * 1024)}\r\n\r\n`, 431],
    'a long address': [`GET /${'x'.repeat(9000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, 414],
    'an endless address': [`GET /${'x'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
  };
  for (const [name, [text, status]] of Object.entries(cases))
    test(`rude HTTP is refused with an error in the form of the API: ${name}`, async (t) => {
      const { port } = await serve(t, mountAll);
      const reply = await sendRaw(port, text);
      assert.equal(reply.status, status, reply.headers);
      assert.match(reply.headers, /x-request-id: req_/);
      assert.match(reply.headers, /connection: close/);
      const { error, code } = JSON.parse(reply.body) as Body;
      assert.equal(error.code, code);
    });

  test('headers that drip in are cut off with 408', async (t) => {
    const { port } = await serve(t, mountAll, { limits: { ...defaultLimits, requestTimeoutMs: 200 } });
    const reply = await sendRaw(port, 'GET /things/a HTTP/1.1\r\nHos');
    assert.equal(reply.status, 408);
  });
});

describe('closing', () => {
  const waiting = endpoint({ ...common, id: 'wait', method: 'GET', path: '/wait', auth: 'none', reply: z.object({ done: z.boolean() }) });

  test('closing the server lets requests under way finish', async (t) => {
    const begun = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const { http, origin } = await serve(t, (routes) =>
      routes.on(waiting, async () => {
        begun.resolve();
        await finish.promise;
        return { done: true };
      }),
    );
    const response = fetch(`${origin}/wait`);
    await begun.promise;
    const closed = http.close(30_000);
    finish.resolve();
    assert.equal((await response).status, 200);
    await closed;
    await assert.rejects(fetch(`${origin}/wait`));
  });

  test('closing the server aborts a request that takes longer than the grace, and answers it', async (t) => {
    const begun = Promise.withResolvers<AbortSignal>();
    const { http, origin } = await serve(t, (routes) =>
      routes.on(waiting, ({ signal }) => {
        begun.resolve(signal);
        return new Promise(() => {});
      }),
    );
    const response = fetch(`${origin}/wait`);
    const signal = await begun.promise;
    await http.close(20);
    assert.ok(signal.aborted);
    assert.equal((await response).status, 503);
    assert.equal((await bodyOf(await response)).code, 'draining');
  });

  test('a caller that closes its connection aborts the work', async (t) => {
    const begun = Promise.withResolvers<AbortSignal>();
    const { origin } = await serve(t, (routes) =>
      routes.on(waiting, ({ signal }) => {
        begun.resolve(signal);
        return new Promise(() => {});
      }),
    );
    const leaving = new AbortController();
    const response = fetch(`${origin}/wait`, { signal: leaving.signal });
    response.catch(() => {});
    const signal = await begun.promise;
    leaving.abort();
    if (!signal.aborted) await once(signal, 'abort');
    assert.match(String(signal.reason), /client closed/);
  });
});
