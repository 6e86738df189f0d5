/** A page with 200 frames, each of another site and so with a process of its own. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createSession, getSession, listTabs, navigate } from '@berth/contract';
import { Service, eventually } from '../service.ts';

const frames = 200;

describe('a page with hundreds of frames of other sites', () => {
  const servers: Server[] = [];
  const hosts: string[] = [];
  let service: Service;

  before(async () => {
    for (let i = 0; i <= frames; i += 1) {
      const server = createServer(({ url }, response) => {
        const markup = hosts.slice(1).map((host) => `<iframe src="http://${host}/frame"></iframe>`);
        response.setHeader('content-type', 'text/html').end(url === '/' ? markup.join('') : '<p>A frame.</p>');
      });
      // An address of its own is a site of its own.
      server.listen(0, `127.0.5.${i + 1}`);
      await once(server, 'listening');
      const { address, port } = server.address() as AddressInfo;
      hosts.push(`${address}:${port}`);
      servers.push(server);
    }
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: '127.0.5.0/24' } });
  });
  after(async () => {
    await service.close();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  it('a page with hundreds of frames of other sites leaves its session usable, or ends it with the limit that it met, and leaves others alone', async () => {
    const { client } = service;
    const [busy, other] = await Promise.all([client.call(createSession, { body: {} }), client.call(createSession, { body: {} })]);
    const params = { session_id: busy.body.session_id };
    await client.call(navigate, { params, body: { url: `http://${hosts[0]}/`, timeout_ms: 60_000 } });
    const end = await eventually(
      'the session is usable or over',
      async () => {
        const { status, ended_reason: reason } = (await client.call(getSession, { params })).body;
        if (status !== 'ready') return { status, reason };
        return (await client.call(listTabs, { params })).status === 200 && { status, reason };
      },
      120_000,
    );
    assert.ok(end.status === 'ready' || ['out_of_memory', 'browser_unresponsive'].includes(end.reason ?? ''), JSON.stringify(end));
    const others = { session_id: other.body.session_id };
    const { status } = await client.call(navigate, { params: others, body: { url: `http://${hosts[1]}/frame` } });
    assert.equal(status, 200);
  });
});
