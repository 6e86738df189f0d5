import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { endpoint, ServiceError } from '@berth/contract';
import { z } from 'zod';
import { serve } from '../../testing/server.ts';
import type { Principal } from '../accounts/principals/principals.ts';
import type { Http } from './server/server.ts';

const common = { tag: 'Keys', summary: 'A test.', status: 200, errors: [] } as const;
const echo = endpoint({
  ...common,
  id: 'echo',
  method: 'POST',
  path: '/echo/{name}',
  auth: 'bearer',
  params: z.object({ name: z.string() }),
  query: z.strictObject({ q: z.string().optional() }),
  body: z.strictObject({ text: z.string() }),
  reply: z.record(z.string(), z.string()),
});
const drop = endpoint({ ...common, id: 'drop', method: 'DELETE', path: '/echo', auth: 'bearer', status: 204, replyKind: 'empty' });
const wait = endpoint({ ...common, id: 'wait', method: 'GET', path: '/wait', auth: 'bearer', reply: z.object({}) });
const stream = endpoint({ ...common, id: 'stream', method: 'POST', path: '/stream', auth: 'bearer', rawBody: 'json' });
const operator = endpoint({ ...common, id: 'operator', method: 'GET', path: '/operator', auth: 'admin', reply: z.object({}) });

const owner = (name: string, requestsPerMinute: number | null = null): Principal => ({
  owner: name,
  keyId: null,
  requestsPerMinute,
  scope: `owner:${name}`,
});
const as = (principal: Principal) => ({ principal, origin: 'https://berth.example' });
const json = { 'content-type': 'application/json' };

const mount = (http: Http): void => {
  http.on(echo, ({ principal, origin, params, query, body }) => ({
    owner: principal.owner ?? '',
    origin,
    name: params.name,
    q: query.q ?? '',
    text: body.text,
  }));
  http.on(drop, () => undefined);
  http.on(operator, () => ({}));
  http.onResponse(
    stream,
    ({ rawBody }) =>
      new Response(new Blob([`${rawBody.toString()}${rawBody.toString()}`]).stream(), { status: 202, headers: { 'x-made': 'here' } }),
  );
};

describe('requests of the service to itself', () => {
  test('a request within the process has its caller, its body and the origin of its caller', async (t) => {
    const { http } = await serve(t, mount);
    const text = 'x'.repeat(500_000);
    const reply = await http.fetchAs(as(owner('acme')))('http://anywhere/echo/n%C3%A4me?q=1', {
      method: 'POST',
      headers: { ...json, authorization: 'Bearer unknown', 'x-forwarded-host': 'evil.example' },
      body: JSON.stringify({ text }),
    });
    assert.deepEqual(await reply.json(), { owner: 'acme', origin: 'https://berth.example', name: 'näme', q: '1', text });
    assert.match(reply.headers.get('x-request-id') ?? '', /^req_/);
  });

  test('a reply without a body, an error and a response that is made whole come as they are', async (t) => {
    const { http } = await serve(t, mount);
    const fetch = http.fetchAs(as(owner('acme')));
    const dropped = await fetch('http://anywhere/echo', { method: 'DELETE' });
    assert.deepEqual([dropped.status, await dropped.text()], [204, '']);
    assert.equal((await fetch('http://anywhere/nothing')).status, 404);
    assert.equal((await fetch('http://anywhere/echo/a', { method: 'POST', headers: json, body: '{}' })).status, 422);
    const streamed = await fetch('http://anywhere/stream', { method: 'POST', headers: json, body: '[1]' });
    assert.deepEqual([streamed.status, streamed.headers.get('x-made'), await streamed.text()], [202, 'here', '[1][1]']);
  });

  test('a request within the process counts against the limit of its caller', async (t) => {
    const { http } = await serve(t, mount);
    const statusOf = async (principal: Principal): Promise<number> =>
      (await http.fetchAs(as(principal))('http://anywhere/echo', { method: 'DELETE' })).status;
    assert.deepEqual([await statusOf(owner('few', 2)), await statusOf(owner('few', 2)), await statusOf(owner('few', 2))], [204, 204, 429]);
    assert.equal(await statusOf(owner('other', 2)), 204);
  });

  test('a request within the process opens nothing that an API key does not open, and nothing that its caller may not', async (t) => {
    const refuse = (): Promise<void> => Promise.reject(new ServiceError('invalid_connect_token', 'Not with this.'));
    const { http } = await serve(t, mount, { checkInner: ({ owner: name }) => (name === 'bound' ? refuse() : Promise.resolve()) });
    const statusOf = async (name: string, path: string): Promise<number> =>
      (await http.fetchAs(as(owner(name)))(`http://anywhere${path}`, { headers: { 'x-admin-key': 'admin-key-of-the-test' } })).status;
    assert.equal(await statusOf('free', '/operator'), 500);
    const dropped = await http.fetchAs(as(owner('bound')))('http://anywhere/echo', { method: 'DELETE' });
    assert.equal(dropped.status, 403);
  });

  test('a caller that gives up ends the request, and its handler is told', async (t) => {
    const seen = new EventTarget();
    const { http } = await serve(t, (routes) =>
      routes.on(wait, async ({ signal }) => {
        seen.dispatchEvent(new Event('begun'));
        await once(signal, 'abort');
        seen.dispatchEvent(new Event('aborted'));
        return {};
      }),
    );
    const gone = new AbortController();
    const begun = once(seen, 'begun');
    const aborted = once(seen, 'aborted');
    const waiting = http.fetchAs(as(owner('acme')))('http://anywhere/wait', { signal: gone.signal });
    await begun;
    gone.abort();
    await assert.rejects(waiting, { name: 'AbortError' });
    await aborted;
  });
});
