import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Berth as BerthClient } from '@berth/sdk';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { Agent, tasks } from '../../../tests/e2e/mcp/mcp-tasks.ts';
import { startShop, type Shop } from '../../../tests/shop/shop.ts';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { summarize, type Check, type Section } from '../../figures.ts';
import { peerTasks } from '../../peers/mcp-peer.ts';

/** The peer is installed with the examples. */
const peerProgram = join(import.meta.dirname, '../../../examples/node_modules/@playwright/mcp/cli.js');
const runsDefault = 40;
const tokensOf = (text: string): number => encode(text).length;

/** A client that counts what a model is given to read: definitions once, and texts of replies. */
class CountingClient extends Client {
  replies = 0;
  calls = 0;

  async definitions(): Promise<number> {
    return tokensOf(JSON.stringify((await this.listTools()).tools));
  }

  override callTool: Client['callTool'] = async (...args) => {
    const result = await super.callTool(...args);
    const parts = (result as { content: { text?: string }[] }).content;
    this.calls += 1;
    this.replies += tokensOf(parts.map(({ text = '' }) => text).join('\n'));
    return result;
  };
}

interface Counted {
  name: string;
  definitions: number;
  calls: number;
  /** Tokens of the replies of each task. */
  replies: number[];
}

async function count(name: string, client: CountingClient, run: readonly (() => Promise<void>)[]): Promise<Counted> {
  const definitions = await client.definitions();
  const replies: number[] = [];
  for (const task of run) {
    const before = client.replies;
    await task();
    replies.push(client.replies - before);
  }
  return { name, definitions, calls: client.calls, replies };
}

async function countOurs(berth: Berth, shop: Shop): Promise<Counted> {
  const client = await connect(berth);
  try {
    return await count(
      'berth',
      client,
      tasks.map(
        ({ run }) =>
          () =>
            run(new Agent(client), shop),
      ),
    );
  } finally {
    await client.close();
  }
}

async function connect(berth: Berth): Promise<CountingClient> {
  const client = new CountingClient({ name: 'bench', version: '1' });
  const requestInit = { headers: { ...berth.authorization } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${berth.url}/mcp`), { requestInit }));
  return client;
}

async function countPeer(bench: Bench, shop: Shop): Promise<Counted> {
  const folder = bench.stage.folder('mcp');
  const args = [peerProgram, '--executable-path', bench.chromium, '--headless', '--isolated', '--no-sandbox'];
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
  const client = new CountingClient({ name: 'bench', version: '1' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd: folder, stderr: 'ignore' }));
  try {
    return await count('@playwright/mcp', client, peerTasks(client, shop, folder));
  } finally {
    await client.close();
  }
}

/** The same snapshot by a tool and by the client, in turn. */
async function measureCalls(berth: Berth, shop: Shop, runs: number): Promise<{ tool: number[]; client: number[] }> {
  const mcp = await connect(berth);
  const agent = new Agent(mcp);
  const sdk = new BerthClient({ baseUrl: berth.url, apiKey: berth.key });
  const session = await agent.open(shop.url);
  const times = { tool: [] as number[], client: [] as number[] };
  const time = async (samples: number[], call: () => Promise<unknown>): Promise<void> => {
    const started = performance.now();
    await call();
    samples.push(performance.now() - started);
  };
  for (let run = 0; run < runs; run += 1) {
    await time(times.tool, () => agent.ok('snapshot', { session }));
    await time(times.client, async () => sdk.sessions.snapshot(session, { mode: 'interactive', max_tokens: 2000 }));
  }
  await agent.ok('end', { session });
  await mcp.close();
  return times;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const totalOf = ({ definitions, replies }: Counted): number => definitions + sum(replies);

/** Ten tasks in the shop by scripted clients: tokens of definitions and replies, beside @playwright/mcp; and the time of a tool's call. */
export async function mcp(bench: Bench): Promise<Section> {
  const shop = await startShop({ consent: false });
  bench.stage.onEnd(() => shop.close());
  const counted: Counted[] = [];
  const checks: Check[] = [];
  const notes: string[] = [];
  if (existsSync(peerProgram)) counted.push(await countPeer(bench, shop));
  else notes.push('@playwright/mcp is not installed: npm ci --prefix examples');
  if (bench.withBerth) {
    const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 1, allow: shop.host });
    bench.reportProgress('ten tasks');
    const ours = await countOurs(berth, shop);
    const [peer] = counted;
    counted.unshift(ours);
    const least = { rule: 'at most', unit: '×' } as const;
    if (peer)
      checks.push({ what: 'tokens of ten tasks, beside @playwright/mcp', measured: totalOf(ours) / totalOf(peer), target: 0.6, ...least });
    checks.push({ what: 'tokens of the definitions', measured: ours.definitions, target: 2000, rule: 'at most', unit: '' });
    bench.reportProgress('calls');
    const { tool, client } = await measureCalls(berth, shop, bench.runs ?? runsDefault);
    const [toolMs, clientMs] = [summarize(tool).p50, summarize(client).p50];
    notes.push(`a snapshot, p50: ${toolMs.toFixed(1)} ms by a tool, ${clientMs.toFixed(1)} ms by the client`);
    checks.push({ what: 'a tool beside the client: p50', measured: toolMs - clientMs, target: 15, rule: 'at most', unit: 'ms' });
    await berth.stop();
  }
  return {
    name: 'agents/mcp: tokens that ten tasks in the shop take',
    columns: ['server', 'calls', 'definitions', 'replies', 'total', 'replies of each task'],
    rows: counted.map((one) => [one.name, one.calls, one.definitions, sum(one.replies), totalOf(one), one.replies.join(' ')]),
    checks,
    notes: [...notes, 'Pictures are not counted.'],
  };
}
