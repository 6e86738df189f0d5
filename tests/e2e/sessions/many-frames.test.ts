/** Pages with many frames, each of another site and so with a process of its own. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, describe, it } from 'node:test';
import { createSession, getContent, getSession, getSnapshot, navigate, screenshot } from '@berth/contract';
import { Service } from '../service.ts';

const frames = 200;

describe('a page with hundreds of frames of other sites', () => {
  const servers: Server[] = [];
  const hosts: string[] = [];
  const services: Service[] = [];

  before(async () => {
    for (let i = 0; i <= frames; i += 1) {
      const server = createServer(({ url }, response) => {
        const markup = hosts.slice(1).map((host) => `<iframe src="http://${host}/frame"></iframe>`);
        response.setHeader('content-type', 'text/html').end(url === '/' ? `<h1>All</h1>${markup.join('')}` : '<button>One</button>');
      });
      // An address of its own is a site of its own.
      server.listen(0, `127.0.5.${i + 1}`);
      await once(server, 'listening');
      const { address, port } = server.address() as AddressInfo;
      hosts.push(`${address}:${port}`);
      servers.push(server);
    }
  });
  afterEach(async () => {
    for (const service of services.splice(0)) await service.close();
  });
  after(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function start(memoryMb: number): Promise<Service['client']> {
    const environment = { BERTH_EGRESS_ALLOW: '127.0.5.0/24', BERTH_BROWSER_MEMORY_MB_MAX: String(memoryMb) };
    const service = await Service.start({ environment });
    services.push(service);
    return service.client;
  }

  it('a page with hundreds of frames of other sites is loaded, read and captured where its browser has the memory', async () => {
    const client = await start(10_240);
    const params = { session_id: (await client.call(createSession, { body: {} })).body.session_id };
    const loaded = await client.call(navigate, { params, body: { url: `http://${hosts[0]}/`, timeout_ms: 120_000 } });
    assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
    const content = await client.call(getContent, { params, query: { format: 'text' } });
    assert.match(String(content.body.content), /All/);
    const { snapshot } = (await client.call(getSnapshot, { params })).body;
    for (const line of [/heading "All"/, /button "One"/]) assert.match(String(snapshot), line);
    assert.equal((await client.call(screenshot, { params, body: {} })).status, 200);
    assert.equal((await client.call(getSession, { params })).body.status, 'ready');
  });

  it('a page with more frames of other sites than its browser has memory for ends with that reason, and leaves other sessions alone', async () => {
    const client = await start(1024);
    const [busy, other] = await Promise.all([client.call(createSession, { body: {} }), client.call(createSession, { body: {} })]);
    const params = { session_id: busy.body.session_id };
    const loaded = await client.call(navigate, { params, body: { url: `http://${hosts[0]}/`, timeout_ms: 120_000 } });
    const { status, ended_reason: reason } = (await client.call(getSession, { params })).body;
    if (status === 'ready') {
      // With control groups of version 1 the system ends one process, and the browser stays.
      const replies = [loaded, await client.call(getContent, { params }), await client.call(screenshot, { params, body: {} })];
      for (const reply of replies) {
        assert.equal(reply.status, 502);
        assert.match(JSON.stringify(reply.body), /more memory than it may/);
      }
      const lighter = await client.call(navigate, { params, body: { url: `http://${hosts[1]}/frame` } });
      assert.equal(lighter.status, 200, 'the session goes on with a lighter page');
    } else assert.equal(reason, 'out_of_memory');
    const others = { session_id: other.body.session_id };
    assert.equal((await client.call(navigate, { params: others, body: { url: `http://${hosts[1]}/frame` } })).status, 200);
  });
});
