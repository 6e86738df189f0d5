/** The MCP server as a coding agent starts it, with a scripted client in place of a model. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { getSession, listSessions } from '@berth/contract';
import { publint } from 'publint';
import { sampleOf } from '../../nightly.ts';
import { installRelease } from '../../prepare/packed.ts';
import { startShop, type Shop } from '../../shop/shop.ts';
import { Agent, tasks } from './mcp-tasks.ts';
import { Service } from '../service.ts';

/** Killed clients whose sessions run at the same time. */
const atATime = 10;

describe('agents drive Berth over MCP', () => {
  let shop: Shop;
  let service: Service;
  let client: Client;
  let agent: Agent;
  let home: string;
  /** The installed package, and the program in it. */
  let installed: string;
  let program: string;
  const errors: string[] = [];
  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'berth-mcp-'));
    installed = await installRelease('mcp', join(home, 'installed'));
    program = join(installed, 'dist/berth-mcp.js');
    shop = await startShop({ consent: false });
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: shop.host } });
    const env = { PATH: process.env['PATH'] ?? '', BERTH_URL: service.url, BERTH_API_KEY: service.key };
    const transport = new StdioClientTransport({ command: process.execPath, args: [program], env, stderr: 'pipe' });
    transport.stderr?.on('data', (chunk: Buffer) => errors.push(chunk.toString()));
    client = new Client({ name: 'scripted', version: '1' });
    await client.connect(transport);
    agent = new Agent(client);
  });
  after(async () => {
    await client?.close();
    await service.close();
    await shop.close();
    rmSync(home, { recursive: true, force: true });
  });

  for (const { title, run } of tasks) it(`an agent over stdio ${title}`, () => run(agent, shop));

  it('the package has one program, depends on nothing, and publint finds nothing in it', async () => {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Record<string, unknown>;
    assert.deepEqual([manifest['bin'], manifest['dependencies']], [{ 'berth-mcp': 'dist/berth-mcp.js' }, undefined]);
    assert.deepEqual((await publint({ pkgDir: installed, pack: false })).messages, []);
  });

  it('text of a page stands between markers that no page can know', async () => {
    const first = await agent.ok('read', { url: `${shop.url}/help` });
    const second = await agent.ok('read', { url: `${shop.url}/help` });
    const markerOf = (text: string): string => /^<(page-[0-9a-f]{8})>/m.exec(text)?.[1] ?? '';
    assert.match(first, /^<(page-[0-9a-f]{8})>\n[^]*\n<\/\1>/m);
    assert.notEqual(markerOf(first), markerOf(second));
  });

  it('a call that fails says what to change, and the conversation goes on', async () => {
    const unknown = await agent.call('read', { session: 'ses_unknown' });
    assert.equal(unknown.isError, true);
    assert.match(unknown.text, /^session_not_found: /);
    const session = await agent.open(shop.url);
    const failed = await agent.call('act', { session, steps: [{ type: 'click', ref: '#nowhere', timeout_ms: 500 }] });
    assert.equal(failed.isError, true);
    assert.match(failed.text, /1 click error not_found/);
    const invalid = await agent.call('act', { session, steps: [{ type: 'click', ref: 'foo/bar' }] });
    assert.equal(invalid.isError, true);
    assert.match(invalid.text, /validation_error: /);
    await agent.ok('end', { session });
    assert.match((await agent.call('read', { session })).text, /^session_ended: /);
  });

  it('an agent acts by the references of a snapshot, and hears of one that is gone', async () => {
    const session = await agent.open(shop.url);
    const seen = await agent.ok('snapshot', { session, find: 'Search' });
    const [, ref = ''] = /(?:searchbox|combobox|textbox) .*\[ref=(\w+)\]/.exec(seen) ?? [];
    assert.notEqual(ref, '', seen);
    const steps = [
      { type: 'fill', ref, value: 'amber' },
      { type: 'press', ref, value: 'Enter' },
      { type: 'wait', value: 'Results for' },
    ];
    assert.match(await agent.ok('act', { session, steps }), /search\?q=amber/);
    const stale = await agent.call('act', { session, steps: [{ type: 'click', ref }] });
    assert.equal(stale.isError, true);
    assert.match(stale.text, /stale_ref|ref_not_found/);
    await agent.ok('end', { session });
  });

  it('a person who is handed a session opens its link', async () => {
    const session = await agent.open(shop.url);
    const text = await agent.ok('hand_over', { session, reason: 'Please sign in.' });
    const [, link = ''] = /link: (\S+)/.exec(text) ?? [];
    const [, since = ''] = /after "([^"]+)"/.exec(text) ?? [];
    const page = await fetch(link, { redirect: 'manual' });
    assert.ok(page.status < 400, String(page.status));
    await page.body?.cancel();
    assert.match(await agent.ok('hand_over', { session, after: since, timeout: 1 }), /Nobody has opened the link/);
    await agent.ok('end', { session });
  });

  it('sessions whose clients were killed end by their idle time, and none is left', async () => {
    const env = { PATH: process.env['PATH'] ?? '', BERTH_URL: service.url, BERTH_API_KEY: service.key };
    const openAndDie = async (): Promise<string> => {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [program, '--idle-seconds', '10'],
        env,
        stderr: 'ignore',
      });
      const killed = new Client({ name: 'killed', version: '1' });
      await killed.connect(transport);
      const session = await new Agent(killed).open(shop.url);
      process.kill(transport.pid ?? 0, 'SIGKILL');
      return session;
    };
    // As many at a time as the machine has browsers for: a hundred each night, three otherwise.
    const clients = sampleOf(
      Array.from({ length: 100 }, (_, index) => index),
      34,
    );
    const live = async (): Promise<string[]> =>
      (await service.client.call(listSessions, { query: { status: 'starting,ready' } })).body.map(({ session_id }) => session_id);
    const before = await live();
    const left: string[] = [];
    for (let at = 0; at < clients.length; at += atATime) {
      const batch = await Promise.all(clients.slice(at, at + atATime).map(openAndDie));
      for (const session of batch) {
        for await (const event of eventsOf(service, session)) if (event.includes('session.ended')) break;
        const { body } = await service.client.call(getSession, { params: { session_id: session } });
        assert.ok(['ending', 'ended'].includes(body.status), body.status);
        assert.equal(body.idle_timeout_seconds, 10);
      }
      left.push(...batch);
    }
    assert.equal(new Set(left).size, clients.length);
    assert.deepEqual(
      (await live()).filter((id) => !before.includes(id)),
      [],
    );
  });

  it('nothing but the protocol is on standard output, and no warning beside it', () => {
    assert.deepEqual(errors, []);
  });
});

/** The stream of a session's events, as text; it ends with the session. */
async function* eventsOf({ url, key }: Service, session: string): AsyncGenerator<string> {
  const headers = { authorization: `Bearer ${key}`, 'last-event-id': '0' };
  const response = await fetch(`${url}/v1/session/${session}/events`, { headers });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) yield decoder.decode(chunk);
}
