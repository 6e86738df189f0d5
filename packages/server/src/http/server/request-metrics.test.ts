import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, test, type TestContext } from 'node:test';
import { ServiceError, endpoint } from '@berth/contract';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { assertPrompt } from '../../../../../tests/yardstick.ts';
import { auth, sendRaw, serve } from '../../../testing/server.ts';
import type { CompletedRequest, Http } from './server.ts';

const common = { tag: 'Health', summary: 'A test.', status: 200, errors: [] } as const;
const thing = endpoint({
  ...common,
  id: 'thing',
  method: 'GET',
  path: '/things',
  auth: 'bearer',
  query: z.strictObject({}),
  reply: z.object({}),
});
const full = endpoint({ ...common, id: 'full', method: 'GET', path: '/full', auth: 'none', reply: z.object({}) });
const slow = endpoint({ ...common, id: 'slow', method: 'GET', path: '/slow', auth: 'none', reply: z.object({}) });
const socket = endpoint({ ...common, id: 'socket', method: 'GET', path: '/socket', auth: 'bearer', status: 101, replyKind: 'websocket' });

const mount = (http: Http, onSlow: () => void): void => {
  http.on(thing, () => ({}));
  http.on(full, () => {
    throw new ServiceError('no_capacity', 'Full.');
  });
  http.on(slow, () => {
    onSlow();
    return new Promise(() => {});
  });
  http.onSocket(socket, async (_call, { accept }) => void (await accept()));
};

async function serveCounted(t: TestContext) {
  const completed: CompletedRequest[] = [];
  const slowCall = Promise.withResolvers<void>();
  const { origin, port } = await serve(t, (http) => mount(http, slowCall.resolve), { onCompleted: (each) => completed.push(each) });
  /** The next one, without its time. An answer is counted when it was sent, which its caller may know first. */
  const next = async (): Promise<Omit<CompletedRequest, 'ms'>> => {
    for (const start = performance.now(); completed.length === 0; await sleep(2)) assertPrompt(start, 20_000, 'nothing was counted');
    const { ms, ...rest } = completed.shift() as CompletedRequest;
    assert.ok(ms >= 0 && ms < 10_000, `${ms} ms`);
    return rest;
  };
  return { origin, port, completed, next, slowCalled: slowCall.promise };
}

describe('completed requests are reported', () => {
  test('a completed request is reported with its endpoint, its status and the code of its error', async (t) => {
    const { origin, completed, next } = await serveCounted(t);
    await fetch(`${origin}/things`, { headers: auth });
    assert.deepEqual(await next(), { endpointId: 'thing', status: 200, code: null });
    await fetch(`${origin}/things`);
    assert.deepEqual(await next(), { endpointId: 'thing', status: 401, code: 'missing_api_key' });
    await fetch(`${origin}/things?x=1`, { headers: auth });
    assert.deepEqual(await next(), { endpointId: 'thing', status: 422, code: null });
    await fetch(`${origin}/full`);
    assert.deepEqual(await next(), { endpointId: 'full', status: 503, code: 'no_capacity' });
    assert.deepEqual(completed, [], 'each is reported once');
  });

  test('a completed request to an unknown path is reported without an endpoint', async (t) => {
    const { origin, port, next } = await serveCounted(t);
    await fetch(`${origin}/nowhere`);
    assert.deepEqual(await next(), { endpointId: '', status: 404, code: 'route_not_found' });
    await fetch(`${origin}/things`, { method: 'DELETE', headers: auth });
    assert.deepEqual(await next(), { endpointId: '', status: 405, code: 'method_not_allowed' });
    await sendRaw(port, 'GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.deepEqual(await next(), { endpointId: '', status: 400, code: 'bad_request' });
  });

  test('a request whose caller did not wait is reported as 499', async (t) => {
    const { origin, next, slowCalled } = await serveCounted(t);
    const caller = new AbortController();
    const left = assert.rejects(fetch(`${origin}/slow`, { signal: caller.signal }));
    await slowCalled;
    caller.abort();
    await left;
    assert.deepEqual(await next(), { endpointId: 'slow', status: 499, code: null });
  });

  test('a WebSocket is reported when it is opened or refused, and not again at its end', async (t) => {
    const { origin, completed, next } = await serveCounted(t);
    const url = `${origin.replace('http', 'ws')}/socket`;
    const opened = new WebSocket(url, { headers: auth });
    await once(opened, 'open');
    assert.deepEqual(await next(), { endpointId: 'socket', status: 101, code: null });
    const closed = once(opened, 'close');
    opened.terminate();
    await closed;
    const refused = new WebSocket(url);
    refused.on('error', () => {});
    await once(refused, 'unexpected-response');
    assert.deepEqual(await next(), { endpointId: 'socket', status: 401, code: 'missing_api_key' });
    refused.terminate();
    assert.deepEqual(completed, []);
  });
});

describe('each request', () => {
  test('each request and socket is reported before anything of it is handled', async (t) => {
    const seen: string[] = [];
    const mountSeen = (http: Http): void => {
      http.on(full, () => {
        seen.push('handled');
        return {};
      });
      http.onSocket(socket, async (_call, { accept }) => {
        seen.push('opened');
        await accept();
      });
    };
    const { origin } = await serve(t, mountSeen, { onRequest: () => seen.push('request') });
    await fetch(`${origin}/full`);
    const client = new WebSocket(`${origin.replace('http', 'ws')}/socket`, { headers: auth });
    await once(client, 'open');
    client.terminate();
    assert.deepEqual(seen, ['request', 'handled', 'request', 'opened']);
  });
});
