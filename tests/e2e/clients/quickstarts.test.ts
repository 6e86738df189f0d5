/** The quickstarts of docs/quickstart.md, each from what is released, in an empty folder. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { listSessions } from '@berth/contract';
import { textOf } from '../../contract/documents.ts';
import { nightly } from '../../nightly.ts';
import { installRelease } from '../../prepare/packed.ts';
import { environment, installing, withPython } from '../../services/python.ts';
import { Service, stopAll } from '../service.ts';
import { page, startSite, type Site } from '../site.ts';

const linesMax = 10;
const bunVersion = '1.4.5';

/** The block below the heading of a client. */
function quickstartOf(client: string): string {
  const [, block = ''] = new RegExp(`^### ${client}\n[^#]*?^\`\`\`\\w+\\n([^]*?)^\`\`\``, 'm').exec(textOf('docs/quickstart.md')) ?? [];
  assert.ok(block !== '', `there is no quickstart of ${client}`);
  return block;
}

describe('the quickstart of each client', () => {
  let home: string;
  let site: Site;
  let service: Service;
  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'berth-quickstart-'));
    site = await startSite({ pages: { '/': page('Home', '<main><h1>Welcome</h1><p>The page of a newcomer.</p></main>') } });
    service = await Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } });
  });
  after(async () => {
    await stopAll();
    await site.close();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });

  const environmentOf = (...bin: string[]): Record<string, string> => ({
    PATH: [...bin, dirname(process.execPath), process.env['PATH']].join(delimiter),
    HOME: home,
    BERTH_URL: service.url,
    BERTH_API_KEY: service.key,
  });

  const emptyFolder = (name: string): string => {
    const folder = join(home, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  };

  /** Runs a program on the block of a client, with the test's site in place of the example's. Returns what it prints. */
  async function run(client: string, cwd: string, [command, ...args]: readonly [string, ...string[]]): Promise<string> {
    const block = quickstartOf(client);
    assert.ok(block.trim().split('\n').length <= linesMax, block);
    const file = join(cwd, 'first');
    const path = client === 'TypeScript' ? `${file}.mjs` : file;
    writeFileSync(path, block.replaceAll('https://example.com/', `${site.url}/`));
    const env = environmentOf(join(cwd, 'node_modules/.bin'));
    const { stdout } = await promisify(execFile)(command, [...args, path], { cwd, env, timeout: 120_000 });
    return stdout;
  }

  const proves = async (printed: string): Promise<void> => {
    assert.match(printed, /# Welcome[^]*The page of a newcomer\./);
    const { body } = await service.client.call(listSessions, { query: { status: 'starting,ready' } });
    assert.deepEqual(body, [], 'a session is left');
  };

  it('curl opens a page, prints what it says, and ends the session', async () => {
    await proves(await run('curl', emptyFolder('curl'), ['bash', '-eu']));
  });

  describe('TypeScript', () => {
    const folder = (): string => join(home, 'typescript');
    before(() => installRelease('sdk', folder()));

    it('on Node opens a page, prints what it says, and ends the session', async () => {
      await proves(await run('TypeScript', folder(), [process.execPath]));
    });

    it('on Bun opens a page, prints what it says, and ends the session', { ...nightly, ...installing }, async () => {
      await proves(await run('TypeScript', folder(), [await installBun(), 'run']));
    });
  });

  it('Python opens a page, prints what it says, and ends the session', { ...withPython, ...installing }, async () => {
    const python = await environment('quickstart', { packages: ['httpx==0.28.1'], client: 'wheel' });
    await proves(await run('Python', emptyFolder('python'), [python]));
  });

  it('the command line opens a page, prints what it says, and ends the session', async () => {
    const folder = emptyFolder('command-line');
    await installRelease('cli', folder);
    await proves(await run('Command line', folder, ['bash', '-eu']));
  });

  it('an agent with the settings of MCP opens a page, reads what it says, and ends the session', async () => {
    const folder = emptyFolder('mcp');
    await installRelease('mcp', folder);
    const { mcpServers } = JSON.parse(quickstartOf('MCP')) as { mcpServers: { berth: { command: string; args: string[] } } };
    const client = new Client({ name: 'newcomer', version: '1' });
    await client.connect(new StdioClientTransport({ ...mcpServers.berth, cwd: folder, env: environmentOf(), stderr: 'inherit' }));
    const call = async (name: string, args: Record<string, unknown>): Promise<string> => {
      const { content } = (await client.callTool({ name, arguments: args })) as { content: { text: string }[] };
      return content.map(({ text }) => text).join('\n');
    };
    const [session = ''] = /ses_\w+/.exec(await call('open', { url: `${site.url}/` })) ?? [];
    const text = await call('read', { session });
    await call('end', { session });
    await client.close();
    await proves(text);
  });
});

/** Installs Bun as npm has it, once. Nothing else here needs it, so it is no dependency. */
async function installBun(): Promise<string> {
  const folder = join(import.meta.dirname, '../../../node_modules/.cache', `bun-${bunVersion}`);
  const name = `@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}`;
  const program = join(folder, 'node_modules', name, 'bin/bun');
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  await promisify(execFile)('npm', ['install', `${name}@${bunVersion}`, '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
  return program;
}
