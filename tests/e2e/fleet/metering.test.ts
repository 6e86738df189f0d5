import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  createKey,
  createSession,
  endSession,
  fetchPage,
  getContent,
  getCredits,
  getSession,
  getUsage,
  grantCredits,
  metrics,
  navigate,
  runActions,
  type Endpoint,
} from '@berth/contract';
import type { Client, Request } from '../../harness.ts';
import { bytesIn } from '../../prepare/metered-app.ts';
import { nightly } from '../../nightly.ts';
import { Service, eventually, stopAll } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

const scriptBytes = 300_000;
/** A script is read completely; an image request stops when the response is not an image. */
const scripts = page('Scripts', '<script src="/script?1"></script><script src="/script?2"></script><script src="/script?3"></script>');
const drip = Buffer.alloc(20_000, 0x20);

/** Sends bytes until the client disconnects. */
function dripping(_: unknown, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/html' }).write(page('Dripping', ''));
  const timer = setInterval(() => response.write(drip), 20);
  response.once('close', () => clearInterval(timer));
}

describe('metered usage', () => {
  let site: Site;
  const folder = mkdtempSync(join(tmpdir(), 'berth-metering-'));
  before(async () => {
    const script = (_: unknown, response: ServerResponse): void =>
      void response.writeHead(200, { 'content-type': 'text/javascript', 'cache-control': 'no-store' }).end(' '.repeat(scriptBytes));
    site = await startSite({ pages: { '/scripts': scripts, '/script': script, '/dripping': dripping } });
  });
  after(async () => {
    await stopAll();
    await site.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = (): Promise<Service> =>
    Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host, BERTH_CREDITS_ENFORCED: 'true' }, dataDir: folder });
  async function newOwner(client: Client, owner: string, amount: number): Promise<string> {
    const { body } = await client.call(createKey, { body: { owner } });
    await client.call(grantCredits, { body: { owner, amount } });
    return body.key ?? assert.fail('the response contains no key');
  }
  const gateBytes = async (client: Client): Promise<number> => bytesIn((await client.call(metrics)).text);
  const done = async <E extends Endpoint>(client: Client, endpoint: E, request: Request<E>) => {
    const reply = await client.call(endpoint, request);
    assert.equal(reply.status, endpoint.status, reply.text);
    return reply.body;
  };

  it('metered traffic equals the bytes on the site’s connections and is charged exactly', async () => {
    const service = await start();
    const { client } = service;
    const key = await newOwner(client, 'reader', 50);
    const { session_id } = await done(client, createSession, { key, body: {} });
    const params = { session_id };
    await done(client, navigate, { key, params, body: { url: `${site.url}/scripts` } });
    await done(client, runActions, {
      key,
      params,
      body: {
        actions: [
          { type: 'navigate', url: `${site.url}/second` },
          { type: 'wait', ms: 1 },
        ],
      },
    });
    await done(client, getContent, { key, params });
    const fetches = [];
    for (const mode of ['browser', 'http', 'auto'])
      fetches.push(await done(client, fetchPage, { key, body: { url: `${site.url}/scripts?${mode}`, mode } }));
    // Read before anything ends: fetch machines and their connections are kept for the next fetch.
    const gate = await eventually('all bytes are counted', async () => {
      const counted = await gateBytes(client);
      return counted === site.bytes() && counted;
    });
    await done(client, endSession, { key, params });
    assert.deepEqual([await gateBytes(client), site.bytes()], [gate, gate]);
    assert.ok(gate > 6 * scriptBytes, `${gate} bytes`);
    const { usage } = await done(client, getUsage, { key });
    assert.equal(usage.egress_bytes, gate);
    const { usage: own } = await done(client, getSession, { key, params });
    assert.ok(own.egress_bytes > 3 * scriptBytes && own.egress_bytes < 3 * scriptBytes + 20_000, `${own.egress_bytes} bytes`);
    const ofFetches = fetches.reduce((sum, fetched) => sum + fetched.usage.actions, 0);
    assert.deepEqual([own.actions, usage.actions, usage.sessions], [4, 4 + ofFetches, 1]);
    assert.ok(own.browser_seconds <= usage.browser_seconds);

    await service.stop();
    const again = await start();
    const later = (await done(again.client, getUsage, { key })).usage;
    assert.deepEqual(later, { ...usage, browser_seconds: later.browser_seconds });
    const { balance } = await done(again.client, getCredits, { key });
    // Each meter is rounded down separately: the session's, the machine's and both egress meters.
    const price = 1 + 0.01 * usage.actions + gate / 5e6;
    assert.ok(50 - balance <= price + 1e-9 && 50 - balance > price - 4e-6, `${50 - balance} of ${price}`);
    await again.stop();
  });

  it('metered usage never exceeds the real usage and leaves no hold when the service is killed', nightly, async () => {
    const service = await start();
    const { client } = service;
    const [rich, poor] = [await newOwner(client, 'rich', 50), await newOwner(client, 'poor', 1.01)];
    const before = site.bytes();
    const sessions = await Promise.all([rich, poor].map(async (key) => (await done(client, createSession, { key, body: {} })).session_id));
    const [streaming = '', hanging = ''] = sessions;
    const turns = async (): Promise<number> =>
      Number(/^berth_loop_turns_total\{loop="metering"\} (\d+)$/m.exec((await client.call(metrics)).text)?.[1]);
    // Both calls still run when the service is killed.
    const timeout_ms = 120_000;
    const drives = [
      client.call(navigate, { key: rich, params: { session_id: streaming }, body: { url: `${site.url}/dripping`, timeout_ms } }),
      client.call(navigate, { key: poor, params: { session_id: hanging }, body: { url: `${site.url}/hang`, timeout_ms } }),
    ].map((call) => call.catch(() => null));
    await eventually('both pages are requested', () => ['/dripping', '/hang'].every((path) => site.hits.includes(path)));
    // The remaining balance is held for the hanging call.
    await client.refuse(fetchPage, 'insufficient_credits', { key: poor, body: { url: `${site.url}/second`, mode: 'http' } });
    const turnsBefore = await turns();
    await eventually('some of the traffic is stored', async () => (await turns()) >= turnsBefore + 2);
    process.kill(service.pid, 'SIGKILL');
    await Promise.all(drives);
    await service.stop();

    const again = await start();
    const { usage } = await done(again.client, getUsage, { key: rich });
    assert.ok(
      usage.egress_bytes > drip.length && usage.egress_bytes <= site.bytes() - before,
      `${usage.egress_bytes} of ${site.bytes() - before} bytes`,
    );
    assert.deepEqual([usage.actions, usage.sessions], [0, 1]);
    for (const [session_id, key] of [
      [streaming, rich],
      [hanging, poor],
    ] as const) {
      const { ended_reason } = await eventually('the session is reported as ended', async () => {
        const { body } = await again.client.call(getSession, { key, params: { session_id } });
        return body.status === 'ended' && body;
      });
      assert.equal(ended_reason, 'worker_lost');
    }
    await eventually('the hold is released', async () => {
      const { status } = await again.client.call(fetchPage, { key: poor, body: { url: `${site.url}/second`, mode: 'http' } });
      return status === 200;
    });
    assert.equal((await done(again.client, getUsage, { key: poor })).usage.actions, 1);
    await again.stop();
  });
});
