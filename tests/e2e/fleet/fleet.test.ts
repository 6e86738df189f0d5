/** Two workers with real browsers on one database, used through the one that does not run the session. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { createSession, endSession, getSession, listDownloads } from '@berth/contract';
import { Client as McpClient, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import { chromium } from 'playwright-core';
import { sharedDatabase, startTestServer } from '../../../packages/server/testing/test-store.ts';
import { Client } from '../../client.ts';
import { tokenFor, ViewSocket } from '../../prepare/view-links.ts';
import { eventually, Service, stopAll } from '../service.ts';
import { startSite, type Site } from '../site.ts';

let site: Site;
let workers: Service[] = [];
let dropDatabase = (): Promise<void> => Promise.resolve();
before(async () => {
  site = await startSite();
  const shared = await sharedDatabase();
  const server = shared ? null : await startTestServer();
  const url = shared?.url ?? server?.url ?? '';
  dropDatabase = async () => {
    await shared?.drop();
    await server?.stop();
  };
  const environment = { BERTH_DATABASE_URL: url, BERTH_FLEET_LISTEN: '127.0.0.1:0', BERTH_EGRESS_ALLOW: site.host };
  workers = [await Service.start({ environment }), await Service.start({ environment })];
});
after(async () => {
  for (const worker of workers) await worker.close();
  await stopAll();
  await dropDatabase();
  await site.close();
});

it('a session is driven, watched, uploaded to and downloaded from through another worker than its own', async () => {
  const [first] = workers;
  assert.ok(first);
  const { session_id } = (await first.client.call(createSession, { body: {} })).body;
  const params = { session_id };
  const homeId = (await first.client.call(getSession, { params })).headers.get('x-berth-worker');
  const idOf = ({ dataDir }: Service): string => readFileSync(join(dataDir, 'worker-id'), 'utf8').trim();
  const away = workers.find((worker) => idOf(worker) !== homeId) ?? assert.fail('one worker runs all sessions');
  const key = first.key;
  const client = new Client(away.url, key);
  // A worker that has just started is known after its first heartbeat.
  const reached = await eventually('the session is reached', async () => {
    const { status, headers } = await client.call(getSession, { params });
    return status === 200 && headers.get('x-berth-worker') === homeId;
  });
  assert.ok(reached);

  const token = await tokenFor({ call: (endpoint, request) => client.call(endpoint, request), key }, session_id);
  const viewer = await ViewSocket.open(`${away.url.replace('http', 'ws')}/v1/session/${session_id}/live-view/socket?token=${token}`);
  const headers = { authorization: `Bearer ${key}` };
  const browser = await chromium.connectOverCDP(`${away.url.replace('http', 'ws')}/v1/session/${session_id}/cdp`, { headers });
  const page = browser.contexts()[0]?.pages()[0] ?? assert.fail('there is no page');
  await page.goto(`${site.url}/form`);
  await page.getByLabel('Name').fill('Fleet');
  await page.locator('#greet').click();
  assert.equal(await page.title(), 'Hello Fleet');
  await eventually('the live view has a picture', () => viewer.bytes.length > 0);

  const form = new FormData();
  form.set('file', new Blob([Buffer.alloc(3_000_000, 7)]), 'large.bin');
  const uploaded = await fetch(`${away.url}/v1/session/${session_id}/uploads`, { method: 'POST', headers, body: form });
  assert.equal(uploaded.status, 201, await uploaded.text());

  await page.locator('#file').click();
  const download = await eventually('the download is complete', async () =>
    (await client.call(listDownloads, { params })).body.find(({ status }) => status === 'completed'),
  );
  const read = async ({ url }: Service): Promise<Buffer> => {
    const response = await fetch(`${url}/v1/session/${session_id}/downloads/${download.download_id}`, { headers });
    assert.equal(response.status, 200);
    return Buffer.from(await response.arrayBuffer());
  };
  const [one, other] = await Promise.all(workers.map(read));
  assert.ok(one && one.length > 0 && other?.equals(one));

  await browser.close();
  viewer.socket.terminate();
  await client.call(endSession, { params });
  await eventually('it has ended', async () => (await client.call(getSession, { params })).body.status === 'ended');
});

for (const [era, mode] of [
  ['of 2025', 'legacy'],
  ['of 2026', { pin: '2026-07-28' }],
] as const satisfies [string, VersionNegotiationMode][])
  it(`an agent goes on at another worker with the session that one opened, by MCP ${era}`, async () => {
    const key = workers[0]?.key ?? '';
    const agents = await Promise.all(
      workers.map(async ({ url }) => {
        const agent = new McpClient({ name: 'scripted', version: '1' }, { versionNegotiation: { mode } });
        const requestInit = { headers: { authorization: `Bearer ${key}` } };
        await agent.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
        return agent;
      }),
    );
    let turn = 0;
    /** Each call goes to the next worker, as a balancer would send it. */
    const call = async (name: string, args: Record<string, unknown>): Promise<string> => {
      const agent = agents[turn++ % agents.length] ?? assert.fail('there is no worker');
      const { content, isError } = (await agent.callTool({ name, arguments: args })) as { content: { text: string }[]; isError?: boolean };
      const text = content.map((part) => part.text).join('\n');
      assert.notEqual(isError, true, text);
      return text;
    };
    const opened = await call('open', { url: `${site.url}/form` });
    const [session = ''] = /ses_\w+/.exec(opened) ?? assert.fail(opened);
    const [, field] = /textbox "Name".*\[ref=(e\d+)\]/.exec(await call('snapshot', { session })) ?? [];
    await call('act', { session, steps: [{ type: 'fill', ref: field, value: 'Fleet' }] });
    await call('act', { session, steps: [{ type: 'click', selectors: ['#greet'] }] });
    assert.match(await call('tabs', { session }), /Hello Fleet/);
    await call('end', { session });
    for (const agent of agents) await agent.close();
  });
