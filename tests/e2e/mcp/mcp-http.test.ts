/** MCP at the service, over HTTP: the tools of the program, for clients that are configured with an address. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import { createConnectToken, createKey, createSession, endSession, getSession, getUsage, revokeKey } from '@berth/contract';
import { Client as ApiClient } from '../../client.ts';
import { programsOf } from '../../contract/documents.ts';
import { nightly } from '../../nightly.ts';
import { startShop, type Shop } from '../../shop/shop.ts';
import { Agent, tasks } from './mcp-tasks.ts';
import { eventually, Service } from '../service.ts';

const eras: readonly { era: string; mode: VersionNegotiationMode; some: RegExp }[] = [
  { era: 'of 2025', mode: 'legacy', some: /searches|downloads/ },
  { era: 'of 2026', mode: { pin: '2026-07-28' }, some: /searches|sees the page|by its name/ },
];

describe('agents reach Berth over HTTP', () => {
  let shop: Shop;
  let service: Service;
  /** A site that takes requests and never answers. */
  let silent: { server: Server; url: string };
  const open: Client[] = [];
  before(async () => {
    shop = await startShop({ consent: false });
    const server = createServer(() => {}).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    silent = { server, url: `http://${host}` };
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: `${shop.host},${host}` } });
  });
  after(async () => {
    for (const client of open) await client.close();
    await service.close();
    silent.server.closeAllConnections();
    silent.server.close();
    await shop.close();
  });

  async function connect({
    path = '/mcp',
    headers = {},
    mode = 'legacy',
  }: {
    path?: string;
    headers?: Record<string, string>;
    mode?: VersionNegotiationMode;
  }): Promise<Client> {
    const client = new Client({ name: 'scripted', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(service.url + path), { requestInit: { headers } }));
    open.push(client);
    return client;
  }
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  /** A message as it is sent by a client that has no memory, too. */
  const post = (path: string, headers: Record<string, string>, message: unknown = listTools, signal?: AbortSignal): Promise<Response> =>
    fetch(service.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      ...(signal ? { signal } : {}),
      body: typeof message === 'string' ? message : JSON.stringify(message),
    });
  const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const codeOf = async (response: Response): Promise<string> => {
    const { error } = (await response.json()) as { error?: { code?: string | number } };
    return `${response.status} ${error?.code ?? ''}`;
  };

  it('the program of docs/mcp.md prints what a page says', async () => {
    const [program] = programsOf('docs/mcp.md');
    const here = program?.replaceAll('https://example.com/', `${shop.url}/`) ?? assert.fail('the guide has no program');
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', here], {
      cwd: resolve(import.meta.dirname, '../../..'),
      env: { PATH: process.env['PATH'], BERTH_URL: service.url, BERTH_API_KEY: service.key },
    });
    assert.match(stdout, /Quayside Goods/);
  });

  for (const { era, mode, some } of eras)
    describe(`a client ${era}`, () => {
      for (const task of tasks.filter(({ title }) => some.test(title)))
        // Every run has a task for each era here, and all of them over stdio.
        it(`${task.title} over HTTP`, /searches/.test(task.title) ? {} : nightly, async () =>
          task.run(new Agent(await connect({ headers: bearer(service.key), mode })), shop),
        );

      it('has the fourteen tools, and of the families in its address only those', async () => {
        const all = await (await connect({ headers: bearer(service.key), mode })).listTools();
        assert.equal(all.tools.length, 14);
        const chosen = await (await connect({ path: '/mcp?tools=web,files', headers: bearer(service.key), mode })).listTools();
        assert.deepEqual(
          chosen.tools.map(({ name }) => name),
          ['files', 'fetch', 'inspect'],
        );
      });

      it('goes on with a session after the connection of the client that opened it is gone', async () => {
        const first = await connect({ headers: bearer(service.key), mode });
        const session = await new Agent(first).open(shop.url);
        await first.close();
        const second = new Agent(await connect({ headers: { 'x-api-key': service.key }, mode }));
        assert.match(await second.ok('read', { session }), /<page-/);
        assert.match(await second.ok('end', { session }), /^ended: /);
      });
    });

  it('a call without a key, with an unknown one and with one of another kind is refused before it is read', async () => {
    assert.equal(await codeOf(await post('/mcp', {})), '401 missing_api_key');
    assert.equal(await codeOf(await post('/mcp', bearer(`${service.key.slice(0, -1)}x`))), '403 invalid_api_key');
    assert.equal(await codeOf(await post('/mcp', { 'x-api-key': 'brt_live_x y' })), '403 invalid_api_key');
    assert.equal(await codeOf(await post('/mcp', bearer(service.adminKey))), '403 invalid_api_key');
    assert.equal(await codeOf(await post('/mcp/brt_connect_unknown', {})), '403 invalid_connect_token');
    assert.equal(await codeOf(await post(`/mcp/${service.key}`, {})), '403 invalid_connect_token');
  });

  it('a revoked key is refused from its next message on', async () => {
    const { body: key } = await service.client.call(createKey, { body: { owner: 'revoked' } });
    const agent = new Agent(await connect({ headers: bearer(key.key ?? '') }));
    const session = await agent.open(shop.url);
    await agent.ok('end', { session });
    await service.client.call(revokeKey, { params: { key_id: key.key_id ?? '' } });
    await eventually('the key is refused', async () => (await post('/mcp', bearer(key.key ?? ''))).status === 403);
  });

  it('a session of another owner is one that does not exist', async () => {
    const { body: session } = await service.client.call(createSession, { body: {} });
    const { body: key } = await service.client.call(createKey, { body: { owner: 'stranger' } });
    const stranger = new Agent(await connect({ headers: bearer(key.key ?? '') }));
    for (const [tool, args] of Object.entries({ read: {}, snapshot: {}, act: { steps: [{ type: 'reload' }] }, end: {} })) {
      const { text } = await stranger.call(tool, { session: session.session_id, ...args });
      assert.match(text, /^session_not_found: /m, tool);
    }
    const { body } = await service.client.call(getSession, { params: { session_id: session.session_id } });
    assert.equal(body.status, 'ready');
    await service.client.call(endSession, { params: { session_id: session.session_id } });
  });

  it('what a tool does is charged to the owner of the key, as one of the API is', async () => {
    const { body: key } = await service.client.call(createKey, { body: { owner: 'charged' } });
    const agent = new Agent(await connect({ headers: bearer(key.key ?? '') }));
    const session = await agent.open(shop.url);
    await agent.ok('act', { session, steps: [{ type: 'reload' }] });
    await agent.ok('end', { session });
    const owner = new ApiClient(service.url, key.key ?? '', service.adminKey);
    const { body: usage } = await owner.call(getUsage, {});
    assert.ok(usage.usage.sessions >= 1 && usage.usage.actions >= 1, JSON.stringify(usage.usage));
  });

  it('a connect token in the address opens sessions and drives those, and nothing else of its owner', async () => {
    const { body: token } = await service.client.call(createConnectToken, { body: { name: 'agent' } });
    const { body: foreign } = await service.client.call(createSession, { body: {} });
    const raw = new URL(token.cdp_url ?? '').searchParams.get('token') ?? '';
    const path = `/mcp/${raw}`;
    const agent = new Agent(await connect({ path }));
    const session = await agent.open(shop.url);
    assert.match(await agent.ok('act', { session, steps: [{ type: 'fill', ref: '#q', value: 'amber' }] }), /1 fill ok/);
    assert.match(await agent.ok('read', { session }), /<page-/);
    assert.ok((await agent.call('screenshot', { session })).image);
    for (const [tool, args] of Object.entries({
      open: { profile: 'shop' },
      fetch: { url: shop.url },
      inspect: { url: shop.url },
      run: {},
      hand_over: { session },
    })) {
      const { text, isError } = await agent.call(tool, args);
      assert.deepEqual([isError, text.startsWith('invalid_connect_token: ')], [true, true], `${tool}: ${text}`);
    }
    assert.match((await agent.call('read', { session: foreign.session_id })).text, /^session_not_found: /);
    assert.match((await agent.call('end', { session: foreign.session_id })).text, /^session_not_found: /);
    await agent.ok('end', { session });
    assert.ok(!service.errors.includes(raw), 'the token is in the log');
    await service.client.call(endSession, { params: { session_id: foreign.session_id } });
  });

  it('pages of other origins are refused, with a key, too; programs and pages of this host are not', async () => {
    for (const origin of ['https://evil.example', 'http://localhost.evil.example', 'null'])
      assert.equal(await codeOf(await post('/mcp', { ...bearer(service.key), origin })), '403 origin_not_allowed', origin);
    const own = await post('/mcp', { ...bearer(service.key), origin: 'http://localhost:6274' });
    assert.equal(own.status, 200);
    await own.body?.cancel();
  });

  it('a body that is no message says so, and one that is too large or of too many messages is refused', async () => {
    const headers = bearer(service.key);
    assert.equal(await codeOf(await post('/mcp', headers, '{"jsonrpc":')), '400 -32700');
    assert.equal(
      await codeOf(
        await post(
          '/mcp',
          headers,
          Array.from({ length: 21 }, () => listTools),
        ),
      ),
      '400 -32600',
    );
    assert.equal(await codeOf(await post('/mcp', headers, `"${'x'.repeat(1024 * 1024)}"`)), '413 body_too_large');
    assert.equal(await codeOf(await post('/mcp', { ...headers, 'content-type': 'text/plain' })), '415 unsupported_media_type');
    assert.equal((await post('/mcp?tools=everything', headers)).status, 422);
    const stream = await fetch(`${service.url}/mcp`, { headers: { ...headers, accept: 'text/event-stream' } });
    assert.equal(await codeOf(stream), '405 method_not_allowed');
  });

  it('a client that goes away during a call takes the call along', async () => {
    const agent = new Agent(await connect({ headers: bearer(service.key) }));
    const session = await agent.open(shop.url);
    const gone = new AbortController();
    const steps = [{ type: 'navigate', value: `${silent.url}/` }];
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'act', arguments: { session, steps } } };
    const asked = once(silent.server, 'request');
    const waiting = post('/mcp', bearer(service.key), call, gone.signal).then((response) => response.text());
    await asked;
    gone.abort();
    await assert.rejects(waiting);
    await eventually('the call of the API ends', () => /"endpoint":"runActions","status":499/.test(service.errors));
    await agent.ok('end', { session });
  });
});
