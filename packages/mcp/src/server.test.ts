import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Berth } from '@berth/sdk';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { createServer, type ServerOptions } from './server.ts';

/** They are part of every conversation. */
const definitionTokensMax = 2000;

async function listTools(options: ServerOptions = {}) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const server = createServer(new Berth({ baseUrl: 'http://127.0.0.1:9', apiKey: 'none' }), options);
  const client = new Client({ name: 'test', version: '1' });
  await Promise.all([server.connect(ours), client.connect(theirs)]);
  const { tools } = await client.listTools();
  await client.close();
  return tools;
}

describe('the tools of the MCP server', () => {
  it('the definitions of all tools together are at most 2,000 tokens', async () => {
    const tools = await listTools();
    const tokens = encode(JSON.stringify(tools)).length;
    assert.equal(tools.length, 14);
    assert.ok(tokens <= definitionTokensMax, `${tokens} tokens`);
  });

  it('a tool says whether it only reads, and none that acts says so', async () => {
    const tools = await listTools();
    const readers = tools.filter(({ annotations }) => annotations?.readOnlyHint === true).map(({ name }) => name);
    assert.deepEqual(readers.toSorted(), ['extract', 'fetch', 'inspect', 'network', 'screenshot', 'snapshot']);
  });

  it('families of tools that are not chosen are not listed', async () => {
    const tools = await listTools({ families: ['web', 'files'] });
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['files', 'fetch', 'inspect'],
    );
  });
});
