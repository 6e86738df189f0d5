/** What an agent is given to read of pages that are made to end its conversation. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { fetchHostilePages } from '../fetch/fetch-hostile-pages.ts';
import { sampleOf } from '../../nightly.ts';
import { Agent } from './mcp-tasks.ts';
import { Service } from '../service.ts';
import { startSite, type Site } from '../site.ts';

/** Long, or odd, in each of the ways that a page can be. */
const paths = ['/title-1mb', '/links', '/wide-table', '/clobbered', '/half-characters'];
/** What a model asks for that wants all at once. */
const most = { max_tokens: 8000 };

describe('hostile pages by the tools of agents', () => {
  let site: Site;
  let service: Service;
  let client: Client;
  /** Fails where a reply has more than 8,000 tokens. */
  let agent: Agent;
  before(async () => {
    site = await startSite({ pages: fetchHostilePages });
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } });
    client = new Client({ name: 'scripted', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${service.key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit }));
    agent = new Agent(client);
  });
  after(async () => {
    await client?.close();
    await service?.close();
    await site?.close();
  });

  for (const path of sampleOf(paths, 2))
    it(`no reply of a tool about ${path} has more than 8,000 tokens`, async () => {
      const session = await agent.open(`${site.url}${path}`);
      const seen = await agent.call('snapshot', { session, mode: 'full', ...most });
      await agent.call('read', { session, ...most });
      await agent.call('network', { session });
      await agent.call('tabs', { session });
      await agent.call('extract', { session, rows: 'a, td, p', fields: { text: { attribute: 'text' } } });
      await agent.call('fetch', { url: `${site.url}${path}`, formats: ['markdown', 'text', 'html', 'links'] });
      await agent.ok('end', { session });
      assert.match(seen.text, /<page-|error|timed/);
    });
});
