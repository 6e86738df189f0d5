/** The program `berth`, built as it is published, as real processes against a real service and the shop. */
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { endSession, getSession, redeemSignInLink } from '@berth/contract';
import { programsOf, textOf } from '../../contract/documents.ts';
import { installRelease } from '../../prepare/packed.ts';
import { products } from '../../shop/data.ts';
import { startShop, type Shop } from '../../shop/shop.ts';
import { Service } from '../service.ts';

const lamp = products[0] ?? assert.fail('the shop has no products');

let shop: Shop;
let service: Service;
let home: string;
before(async () => {
  home = mkdtempSync(join(tmpdir(), 'berth-cli-'));
  shop = await startShop({ consent: false });
  const environment = { BERTH_EGRESS_ALLOW: `${shop.host},${shop.otherHost}`, BERTH_ALLOW_EVALUATE: '1' };
  [service] = await Promise.all([Service.start({ environment }), installRelease('cli', join(home, 'installed'))]);
});
after(async () => {
  await service.close();
  await shop.close();
  rmSync(home, { recursive: true, force: true });
});

const program = (): string => join(home, 'installed/node_modules/@berth/cli/dist/berth.js');

/** A Node of the PATH that is older than that of the tests, such as the system's; undefined where there is none. */
const olderNode = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'node'))
  .find((path) => existsSync(path) && majorOf(execFileSync(path, ['--version']).toString()) < majorOf(process.version));
function majorOf(version: string): number {
  return Number(/^v(\d+)/.exec(version)?.[1]);
}

interface Ran {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

interface RunOptions {
  /** The runtime. Default: that of the tests. */
  node?: string | undefined;
  env?: Record<string, string | undefined>;
  stdin?: string;
  folder?: string;
  /** Called with what the program has written so far. */
  onOutput?: (stdout: string, child: ReturnType<typeof spawn>) => void;
}

/** Runs the program in a folder of its own, with no settings of whoever runs the tests. */
function berth(
  words: readonly string[],
  { env = {}, stdin, folder = 'work', onOutput, node = process.execPath }: RunOptions = {},
): Promise<Ran> {
  const cwd = join(home, folder);
  mkdirSync(cwd, { recursive: true });
  const child = spawn(node, [program(), ...words], {
    cwd,
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      XDG_CONFIG_HOME: join(home, 'config'),
      XDG_STATE_HOME: join(home, 'state'),
      BERTH_URL: service.url,
      BERTH_API_KEY: service.key,
      ...env,
    },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    onOutput?.(stdout, child);
  });
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  return new Promise((resolve) => child.once('close', (exitCode) => resolve({ exitCode, stdout, stderr })));
}

/** The JSON of a command that must succeed. */
async function json<T = Record<string, unknown>>(words: readonly string[], options?: RunOptions): Promise<T> {
  const { exitCode, stdout, stderr } = await berth(words, options);
  assert.equal(exitCode, 0, `berth ${words.join(' ')}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

async function failure(
  words: readonly string[],
  options?: RunOptions,
): Promise<{ exitCode: number | null; code: string; hint?: string; message: string }> {
  const { exitCode, stderr } = await berth(words, options);
  const { error } = JSON.parse(stderr) as { error: { code: string; hint?: string; message: string } };
  return { exitCode, ...error };
}

describe('the browser half of the command line', () => {
  it('opens a page in a session of the folder, reads it, and ends it', async () => {
    const opened = await json<{ session_id: string; is_new: boolean; status_code: number; url: string }>(['open', shop.url]);
    assert.match(opened.session_id, /^ses_/);
    assert.deepEqual([opened.is_new, opened.status_code], [true, 200]);
    const again = await json<{ session_id: string; is_new: boolean }>(['open', `${shop.url}/products/${lamp.slug}`]);
    assert.deepEqual([again.session_id, again.is_new], [opened.session_id, false]);
    const { content } = await json<{ content: string }>(['read']);
    assert.ok(content.includes(lamp.name), content.slice(0, 200));
    const elsewhere = await failure(['read'], { folder: 'elsewhere' });
    assert.deepEqual([elsewhere.exitCode, elsewhere.code], [4, 'no_session']);
    assert.match(elsewhere.hint ?? '', /berth open/);
    assert.equal((await json<{ status: string }>(['end'])).status, 'ended');
    const read = await service.client.call(getSession, { params: { session_id: opened.session_id } });
    assert.match(read.body.status, /^(ending|ended)$/);
    assert.equal((await failure(['read'])).exitCode, 4);
  });

  it('drives a page by locators: fill, press, wait, find, get', async () => {
    await json(['open', shop.url]);
    await json(['fill', 'input[name=q]', 'lamp']);
    assert.deepEqual(await json(['get', 'value', 'input[name=q]']), { value: 'lamp' });
    await json(['press', 'Enter', '--on', 'input[name=q]']);
    await json(['wait', '--url', '*q=lamp*']);
    const { url } = await json<{ url: string }>(['get', 'url']);
    assert.match(url, /q=lamp/);
    await json(['find', 'text', lamp.name]);
    assert.match((await json<{ url: string }>(['get', 'url'])).url, new RegExp(lamp.slug));
    assert.deepEqual(await json(['is', 'visible', 'h1']), { visible: true });
    assert.deepEqual(await json(['is', 'visible', '#there-is-none']), { visible: false });
    assert.equal(await json(['eval', '6 * 7']), 42);
  });

  it('acts on the refs of a snapshot, and shows what has changed since', async () => {
    await json(['open', shop.url]);
    const { snapshot } = await json<{ snapshot: string }>(['snapshot', '-i']);
    const ref = /(?:searchbox|textbox|combobox) "Search[^\n]*\[ref=(\w+)\]/.exec(snapshot)?.[1] ?? assert.fail(snapshot);
    await json(['fill', `@${ref}`, 'lamp']);
    assert.deepEqual(await json(['get', 'value', `@${ref}`]), { value: 'lamp' });
    const changed = await berth(['diff', '--plain']);
    assert.match(changed.stdout, new RegExp(`ref=${ref}\\]: "?lamp`));
    const scoped = await json<{ snapshot: string }>(['snapshot', '-s', `@${ref}`]);
    assert.ok(scoped.snapshot.length < snapshot.length);
    const unknown = await failure(['click', '@e99999', '--timeout', '300']);
    assert.deepEqual([unknown.exitCode, unknown.code], [5, 'ref_not_found']);
    assert.match(unknown.hint ?? '', /berth snapshot/);
  });

  it('says with exit code 5 that the page did not let a step happen', async () => {
    const { exitCode, code, hint } = await failure(['click', '#there-is-none', '--timeout', '300']);
    assert.deepEqual([exitCode, ['not_found', 'timeout'].includes(code)], [5, true], code);
    assert.ok(code !== 'not_found' || hint?.includes('snapshot'));
  });

  it('keeps sessions of names apart from that of the folder, in any folder', async () => {
    const [own, named] = [await json<{ session_id: string }>(['open']), await json<{ session_id: string }>(['open', '-s', 'second'])];
    assert.notEqual(own.session_id, named.session_id);
    const elsewhere = await json<{ session_id: string; is_new: boolean }>(['-s', 'second', 'open'], { folder: 'elsewhere' });
    assert.deepEqual([elsewhere.session_id, elsewhere.is_new], [named.session_id, false]);
    const byId = await json<{ session_id: string }>(['open', '-s', own.session_id], { folder: 'elsewhere' });
    assert.equal(byId.session_id, own.session_id);
    await json(['end', '-s', 'second'], { folder: 'elsewhere' });
  });

  it('starts another session where the stored one has ended by itself', async () => {
    const first = await json<{ session_id: string }>(['open'], { folder: 'ended' });
    await service.client.call(endSession, { params: { session_id: first.session_id } });
    const ended = await failure(['read'], { folder: 'ended' });
    assert.equal(ended.exitCode, 4, JSON.stringify(ended));
    const second = await json<{ session_id: string; is_new: boolean }>(['open'], { folder: 'ended' });
    assert.equal(second.is_new, true);
    await json(['end'], { folder: 'ended' });
  });

  it('opens, selects and closes tabs, and drives the one that was selected', async () => {
    await json(['open', shop.url]);
    const opened = await json<{ tab_id: string }>(['tab', 'new', `${shop.url}/products/${lamp.slug}`]);
    assert.match((await json<{ title: string }>(['get', 'title'])).title, new RegExp(lamp.name));
    const tabs = await json<{ index: number; selected: boolean; tab_id: string }[]>(['tab']);
    assert.deepEqual(
      tabs.map(({ selected }) => selected),
      [false, true],
    );
    await json(['tab', '1']);
    assert.doesNotMatch((await json<{ url: string }>(['get', 'url'])).url, new RegExp(lamp.slug));
    await json(['tab', 'close', opened.tab_id]);
    assert.equal((await json<unknown[]>(['tab'])).length, 1);
    assert.equal((await failure(['tab', '7'])).exitCode, 2);
  });

  it('writes pictures and documents to files, or to standard output', async () => {
    const { path } = await json<{ path: string }>(['screenshot', 'page.png']);
    assert.equal(
      readFileSync(join(home, 'work', path))
        .subarray(1, 4)
        .toString(),
      'PNG',
    );
    const { stdout } = await berth(['pdf', '-']);
    assert.ok(stdout.startsWith('%PDF-'));
    const jpeg = await json<{ content_type: string }>(['screenshot', 'page.jpg']);
    assert.equal(jpeg.content_type, 'image/jpeg');
    const { annotations } = await json<{ annotations: unknown[] }>(['screenshot', 'marked.png', '--annotate']);
    assert.ok(annotations.length > 0);
  });

  it('shows cookies without their values unless they are asked for', async () => {
    await json(['cookies', 'set', 'theme', 'very-dark', '--url', shop.url]);
    const shown = await berth(['cookies']);
    assert.match(shown.stdout, /"theme"/);
    assert.doesNotMatch(shown.stdout, /very-dark/);
    assert.match((await berth(['cookies', '--values'])).stdout, /very-dark/);
    await json(['cookies', 'export', 'state.json']);
    assert.equal(statSync(join(home, 'work/state.json')).mode & 0o777, 0o600);
  });

  it('lists traffic and console', async () => {
    await json(['network']);
    await json(['console']);
    await json(['open', `${shop.url}/products/${lamp.slug}`]);
    const requests = await json<{ url: string; status: number }[]>(['network', '--filter', lamp.slug]);
    assert.ok(requests.some(({ url, status }) => url.includes(lamp.slug) && status === 200));
    await json(['eval', 'console.error("from the page")']);
    const lines = await json<{ text: string }[]>(['console', '--errors']);
    assert.ok(lines.some(({ text }) => text.includes('from the page')));
    await json(['har', 'traffic.har']);
    assert.ok(existsSync(join(home, 'work/traffic.har')));
  });

  it('uploads files to a field', async () => {
    writeFileSync(join(home, 'work/photo.txt'), 'a photo');
    await json(['eval', 'document.body.innerHTML = "<input type=file id=up>"']);
    await json(['upload', '#up', 'photo.txt']);
    assert.equal(await json(['eval', 'document.querySelector("#up").files[0].name']), 'photo.txt');
    assert.equal((await failure(['upload', '#up', 'none.txt'])).exitCode, 2);
  });

  it('runs a batch from arguments and from standard input, one JSON value a line', async () => {
    const fromWords = await berth(['batch', `open ${shop.url}`, 'get title']);
    assert.equal(fromWords.exitCode, 0, fromWords.stderr);
    assert.equal(
      fromWords.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown).length,
      2,
    );
    const stdin = JSON.stringify([
      ['open', shop.url],
      ['click', '#there-is-none', '--timeout', '300'],
      ['get', 'url'],
    ]);
    const goesOn = await berth(['batch'], { stdin });
    assert.deepEqual([goesOn.exitCode, goesOn.stdout.trim().split('\n').length], [5, 2]);
    const bails = await berth(['batch', '--bail'], { stdin });
    assert.deepEqual([bails.exitCode, bails.stdout.trim().split('\n').length], [5, 1]);
  });

  it('streams events as NDJSON, and ends when its reader has gone or it is interrupted', async () => {
    const { exitCode, stdout } = await berth(['logs', '--follow'], {
      // Once: a second interruption ends the program at once, and more output may come before the first has.
      onOutput: (text, child) => text.includes('session.ready') && !child.killed && child.kill('SIGINT'),
    });
    assert.equal(exitCode, 130);
    const [first = ''] = stdout.split('\n');
    assert.equal((JSON.parse(first) as { type: string }).type, 'session.ready');
  });

  it('gives out links to watch and to take over, and waits until that is done', async () => {
    const { url, scope } = await json<{ url: string; scope: string }>(['watch']);
    assert.deepEqual([scope, (await fetch(url, { redirect: 'manual' })).status < 400], ['view', true]);
    await json(['open', `${shop.url}/products/${lamp.slug}`]);
    const done = await berth(['hand-over', 'please look', '--until-url', `*${lamp.slug}*`]);
    assert.match(done.stderr, /please look: http/);
    assert.equal((JSON.parse(done.stdout) as { status: string }).status, 'done');
    assert.equal((await json<{ status: string }>(['hand-over', 'later'])).status, 'waiting');
  });
});

describe('what the command line prints', () => {
  it('removes terminal escapes from the text of pages, and escapes them in JSON', async () => {
    await json(['open', shop.url]);
    const script = '"a\\u001b]0;owned\\u0007\\u009b31mb\\u202ec"';
    const plain = await berth(['eval', script, '--plain']);
    assert.equal(plain.stdout, 'a]0;owned31mbc\n');
    const { stdout } = await berth(['eval', script]);
    assert.doesNotMatch(stdout.trim(), /[\p{Cc}\u202e]/u);
    assert.equal(JSON.parse(stdout), 'a\u001b]0;owned\u0007\u009b31mb\u202ec');
  });

  it('prints text where it is asked to, and one line of error with what to do', async () => {
    const { stdout, stderr, exitCode } = await berth(['read', '--plain'], { folder: 'nothing-here' });
    assert.deepEqual([stdout, exitCode], ['', 4]);
    assert.equal(stderr, 'berth: There is no session in this folder.\n  Run `berth open URL` to start one.\n');
    assert.match((await berth(['read'], { env: { BERTH_OUTPUT: 'text' } })).stdout, /^[^{]/);
  });

  it('answers --help of each command with an example, and suggests for a misspelt one', async () => {
    const { stdout } = await berth(['click', '--help']);
    assert.match(stdout, /Examples:\n {2}berth click @e3/);
    const { exitCode, stderr } = await berth(['clik']);
    assert.equal(exitCode, 2);
    assert.match(stderr, /Did you mean click\?/);
  });
});

describe('the package of the command line', () => {
  it('depends on nothing, and says its version and completes its commands without a service', async () => {
    assert.deepEqual(
      readdirSync(join(home, 'installed/node_modules')).filter((name) => !name.startsWith('.')),
      ['@berth'],
    );
    assert.match((await berth(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/);
    const { stdout } = await berth(['complete', '--', 'sn']);
    assert.match(stdout, /^snapshot\t/m);
    assert.match((await berth(['completion', 'bash'])).stdout, /berth/);
  });
});

describe('the Node that people have', olderNode === undefined ? { skip: 'no Node of an older line is in the PATH' } : {}, () => {
  const old = (words: readonly string[], options: RunOptions = {}) => json(words, { ...options, folder: 'older', node: olderNode });

  it('an older line of Node opens, reads, drives and ends a session', async () => {
    await old(['open', shop.url]);
    const { snapshot } = await old(['snapshot']);
    assert.match(String(snapshot), /\[ref=e\d+\]/);
    await old(['find', 'role', 'combobox', 'fill', 'lamp']);
    await old(['press', 'Enter']);
    await old(['wait', '--url', '*q=lamp*']);
    assert.ok(String((await old(['read', '--main']))['content']).includes(lamp.name));
    await old(['screenshot', 'page.png']);
    await old(['end']);
  });

  it('an older line of Node serves an agent', async () => {
    const transport = new StdioClientTransport({
      command: olderNode ?? '',
      args: [program(), 'mcp'],
      env: { PATH: process.env['PATH'] ?? '', HOME: home, BERTH_URL: service.url, BERTH_API_KEY: service.key },
      stderr: 'ignore',
    });
    const client = new Client({ name: 'scripted', version: '1' });
    await client.connect(transport);
    const { content } = await client.callTool({ name: 'open', arguments: { url: shop.url } });
    assert.match(JSON.stringify(content), /session ses_/);
    await client.close();
  });
});

describe('the guide to the command line', () => {
  it('begins with commands that a newcomer pastes into a shell, and they work', async () => {
    const commands = programsOf('docs/command-line.md', 'sh')[0] ?? assert.fail('the guide has no commands');
    const cwd = join(home, 'newcomer');
    mkdirSync(join(cwd, 'data'), { recursive: true });
    writeFileSync(join(cwd, 'data/api-key'), `${service.key}\n`);
    const path = [join(home, 'installed/node_modules/.bin'), dirname(process.execPath), process.env['PATH']].join(delimiter);
    const env = { PATH: path, HOME: cwd, BERTH_URL: service.url };
    await json(['open', shop.url], { folder: 'before' });
    const { stdout: lines } = await berth(['snapshot', '--plain'], { folder: 'before' });
    await json(['end'], { folder: 'before' });
    // On another page another line is the search.
    const [, ref = ''] = /- (?:searchbox|combobox) .*\[ref=(e\d+)\]/.exec(lines) ?? assert.fail(lines);
    const script = commands.replaceAll('shop.example', shop.url).replaceAll('@e1', `@${ref}`);
    const { stdout } = await promisify(execFile)('bash', ['-ec', script], { cwd, env });
    assert.match(stdout, /\/search\?q=lamp/);
  });
});

describe('berth skills', () => {
  it('shows what coding agents read, and writes it where an agent looks for it', async () => {
    const folder = 'skilled';
    const { content } = await json<{ content: string }>(['skills', 'get'], { folder });
    assert.match(content, /^---\nname: berth\n/);
    const install = (...words: string[]) => json<Record<string, string>>(['skills', 'install', ...words], { folder });
    const { status, path = '' } = await install('--target', 'claude-code');
    assert.deepEqual([status, path], ['installed', join(home, folder, '.claude/skills/berth/SKILL.md')]);
    assert.equal(readFileSync(path, 'utf8'), content);
    assert.equal((await install('--target', 'claude-code'))['status'], 'unchanged');
    writeFileSync(path, 'changed by hand');
    const { backup = '' } = await install('--target', 'claude-code');
    assert.deepEqual([readFileSync(path, 'utf8'), readFileSync(backup, 'utf8')], [content, 'changed by hand']);
    assert.equal((await install('--target', 'codex', '--global'))['path'], join(home, '.agents/skills/berth/SKILL.md'));
    assert.equal((await failure(['skills', 'install', '--target', 'toString'])).exitCode, 2);
    assert.equal((await failure(['skills', 'list'])).exitCode, 2);
  });
});

/** Agents with their folders, from the table of the guide. */
const skilled = Array.from(
  textOf('docs/command-line.md').matchAll(/^\| `([a-z-]+)` \| `([^`]+)` \| `([^`]+)` \|$/gm),
  ([, ...cells]) => cells,
);

describe('berth skills of each agent', () => {
  it('are in the guide to the command line', async () => {
    const { hint, message } = await failure(['skills', 'install']);
    assert.deepEqual(
      skilled.map(([name]) => name),
      namesIn(message),
    );
    assert.match(hint ?? '', /--target/);
  });

  for (const [target = '', local = '', global = ''] of skilled)
    it(`are written where ${target} reads them, for a folder and for all`, async () => {
      const folder = `skilled-${target}`;
      const install = (...words: string[]) => json<Record<string, string>>(['skills', 'install', '--target', target, ...words], { folder });
      for (const [path, expected] of [
        [(await install())['path'], join(home, folder, local)],
        [(await install('--global'))['path'], join(home, global.slice('~/'.length))],
      ]) {
        assert.equal(path, join(expected ?? '', 'berth/SKILL.md'));
        assert.match(readFileSync(path ?? '', 'utf8'), /^---\nname: berth\n/);
      }
    });
});

/** Agents that take MCP servers. */
const agents = ['claude-code', 'claude', 'cursor', 'vscode', 'codex', 'gemini', 'windsurf'];

/** The agents that a refusal of another one names. */
const namesIn = (message: string): string[] => (/ is one of (.*)\.$/.exec(message)?.[1] ?? '').split(', ');

describe('berth mcp', () => {
  it('starts the server with which an agent works that was set up by berth mcp install, without a key in its settings', async () => {
    // Settings of its own: other tests begin without any.
    const env = { BERTH_API_KEY: undefined, XDG_CONFIG_HOME: join(home, 'agent-config') };
    await berth(['login', '--url', service.url], { env, stdin: `${service.key}\n` });
    const folder = 'agent';
    mkdirSync(join(home, folder), { recursive: true });
    const file = join(home, folder, '.mcp.json');
    writeFileSync(file, '{\n  // ours\n  "mcpServers": {}\n}\n', { mode: 0o600 });
    const shown = await json<{ content: string }>(['mcp', 'install', '--target', 'claude-code', '--print'], { folder, env });
    const { status, path, backup, warnings } = await json<Record<string, string>>(['mcp', 'install', '--target', 'claude-code'], {
      folder,
      env,
    });
    assert.deepEqual([status, path, backup, warnings], ['installed', file, `${file}.before-berth`, []]);
    const text = readFileSync(file, 'utf8');
    assert.deepEqual([text, statSync(file).mode & 0o777], [shown.content, 0o600]);
    assert.match(text, /\/\/ ours/);
    assert.doesNotMatch(text, new RegExp(service.key));

    const { mcpServers } = JSON.parse(text.replace('// ours', '')) as {
      mcpServers: { berth: { command: string; args: string[]; env: Record<string, string> } };
    };
    const inherited = { PATH: process.env['PATH'] ?? '', HOME: home, XDG_CONFIG_HOME: env.XDG_CONFIG_HOME };
    const { command, args, env: settings } = mcpServers.berth;
    const client = new Client({ name: 'scripted', version: '1' });
    await client.connect(new StdioClientTransport({ command, args, env: { ...inherited, ...settings }, stderr: 'ignore' }));
    const { content } = (await client.callTool({ name: 'fetch', arguments: { url: `${shop.url}/products/${lamp.slug}` } })) as {
      content: { text: string }[];
    };
    await client.close();
    assert.ok(content[0]?.text.includes(lamp.name), JSON.stringify(content).slice(0, 500));

    assert.equal((await json(['mcp', 'install', '--target', 'claude-code', '--uninstall'], { folder, env }))['status'], 'removed');
    assert.doesNotMatch(readFileSync(file, 'utf8'), /berth/);
  });

  for (const target of agents)
    it(`is set up for ${target}, where that looks for its servers, and removed again`, async () => {
      const folder = `agent-${target}`;
      const install = (...words: string[]) => json<Record<string, string>>(['mcp', 'install', '--target', target, ...words], { folder });
      const { status, path = '' } = await install();
      assert.equal(status, 'installed');
      assert.ok(path.startsWith(home), path);
      const text = readFileSync(path, 'utf8');
      assert.match(text, /mcp_?servers.*berth|"servers": \{\s*"berth"/is);
      assert.match(text, /"args": \[[^\]]*"mcp"|args = \[[^\]]*"mcp"/);
      assert.doesNotMatch(text, new RegExp(service.key));
      assert.equal((await install())['status'], 'unchanged');
      assert.equal((await install('--uninstall'))['status'], 'removed');
      assert.doesNotMatch(readFileSync(path, 'utf8'), /berth/);
    });

  it('answers what was asked before standard input ended', async () => {
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'piped', version: '1' } };
    const messages = [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: hello },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
    ];
    const { stdout, exitCode } = await berth(['mcp', '--tools', 'web'], {
      stdin: messages.map((each) => `${JSON.stringify(each)}\n`).join(''),
    });
    assert.equal(exitCode, 0);
    const replies = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: number; result: { tools?: { name: string }[] } });
    assert.deepEqual(
      replies.find(({ id }) => id === 2)?.result.tools?.map(({ name }) => name),
      ['fetch', 'inspect'],
    );
  });

  it('refuses agents that it does not know, families that there are not, and settings that it cannot read', async () => {
    const { exitCode, message } = await failure(['mcp', 'install']);
    assert.deepEqual([exitCode, namesIn(message)], [2, agents]);
    assert.equal((await failure(['mcp', 'install', '--target', 'vscode', '--global'])).exitCode, 2);
    assert.equal((await failure(['mcp', '--tools', 'none'])).exitCode, 2);
    mkdirSync(join(home, 'broken'), { recursive: true });
    writeFileSync(join(home, 'broken/.mcp.json'), '{');
    const { code } = await failure(['mcp', 'install', '--target', 'claude-code'], { folder: 'broken' });
    assert.deepEqual([code, readFileSync(join(home, 'broken/.mcp.json'), 'utf8')], ['file_unusable', '{']);
    const { warnings } = await json<{ warnings: string[] }>(['mcp', 'install', '--target', 'codex', '--print']);
    assert.match(warnings[0] ?? '', /berth login/);
  });
});

describe('exit codes of the command line', () => {
  it('3 where the key is missing or wrong', async () => {
    const missing = await failure(['usage'], { env: { BERTH_API_KEY: undefined } });
    assert.deepEqual([missing.exitCode, missing.code], [3, 'no_key']);
    const wrong = await failure(['usage'], { env: { BERTH_API_KEY: 'brt_live_wrong' } });
    assert.equal(wrong.exitCode, 3);
    assert.match(wrong.hint ?? '', /berth login/);
  });

  it('4 for what is not there', async () => {
    assert.equal((await failure(['job', 'job_none'])).exitCode, 4);
  });

  it('6 where no service answers', async () => {
    const { exitCode, hint } = await failure(['usage'], { env: { BERTH_URL: 'http://127.0.0.1:1' } });
    assert.equal(exitCode, 6);
    assert.match(hint ?? '', /berth doctor/);
  });

  it('2 for arguments that make no sense', async () => {
    for (const words of [['click'], ['scroll', 'down', 'far'], ['find', 'colour', 'red'], ['wait'], ['open', '--viewport', 'big', '--new']])
      assert.equal((await berth(words)).exitCode, 2, words.join(' '));
  });
});

describe('the service half of the command line', () => {
  it('berth login --link prints a link that signs in once, with the admin key alone', async () => {
    const { exitCode, code } = await failure(['login', '--link'], { env: { BERTH_ADMIN_KEY: undefined } });
    assert.deepEqual([exitCode, code], [3, 'no_key']);
    const env = { BERTH_ADMIN_KEY: service.adminKey };
    const { url, owner } = await json<{ url: string; owner: string }>(['login', '--link', '--ttl', '60'], { env });
    assert.equal(owner, 'local');
    const [address, token] = url.split('#link=');
    assert.equal(address, `${service.url}/dashboard/sign-in`);
    const redeem = async () => (await service.client.send(redeemSignInLink, { body: { token }, key: null })).status;
    assert.deepEqual([await redeem(), await redeem()], [201, 403]);
  });

  it('stores a key that works in a file for this user alone, and uses it from then on', async () => {
    const env = { BERTH_URL: undefined, BERTH_API_KEY: undefined };
    const refused = await berth(['login', '--url', service.url], { env, stdin: 'brt_live_wrong\n' });
    assert.equal(refused.exitCode, 3);
    const file = join(home, 'config/berth/config.json');
    assert.ok(!existsSync(file));
    const { stdout } = await berth(['login', '--url', service.url], { env, stdin: `${service.key}\n` });
    assert.doesNotMatch(stdout, new RegExp(service.key));
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal((await json<{ tier: string }>(['usage'], { env })).tier.length > 0, true);
    assert.doesNotMatch((await berth(['config'], { env })).stdout, new RegExp(service.key));
    // The key of a profile goes to its own address alone.
    const elsewhere = await failure(['usage'], { env: { ...env, BERTH_URL: 'http://127.0.0.1:1' } });
    assert.deepEqual([elsewhere.exitCode, elsewhere.code], [3, 'no_key']);
    await json(['logout'], { env });
    assert.equal((await failure(['usage'], { env })).exitCode, 3);
  });

  it('says what is wrong between here and the service', async () => {
    const findings = await json<{ check: string; status: string }[]>(['doctor']);
    assert.deepEqual(
      findings.map(({ check, status }) => `${check} ${status}`),
      ['node ok', 'configuration ok', 'service ok', 'clock ok', 'version ok', 'key ok'],
    );
    assert.equal((await berth(['doctor'], { env: { BERTH_URL: 'http://127.0.0.1:1' } })).exitCode, 6);
    assert.equal((await berth(['doctor'], { env: { BERTH_API_KEY: 'brt_live_wrong' } })).exitCode, 3);
  });

  it('calls any path of the API', async () => {
    const sessions = await json<unknown[]>(['api', 'GET', '/v1/sessions', '-F', 'limit=1']);
    assert.ok(sessions.length <= 1);
    const { markdown } = await json<{ markdown: string }>([
      'api',
      'POST',
      '/v1/fetch',
      '--data',
      JSON.stringify({ url: shop.url, formats: ['markdown'] }),
    ]);
    assert.ok(markdown.length > 0);
    assert.equal((await berth(['api', 'GET', '/v1/nothing'])).exitCode, 4);
  });

  it('creates, lists and revokes keys, and shows what operators look at', async () => {
    const env = { BERTH_ADMIN_KEY: service.adminKey };
    const { key_id } = await json<{ key_id: string }>(['keys', 'create', '--name', 'ci', '--owner', 'acme'], { env });
    assert.ok((await json<{ key_id: string }[]>(['keys'], { env })).some((key) => key.key_id === key_id));
    await json(['keys', 'revoke', key_id], { env });
    await json(['credits']);
    assert.equal((await json<{ object: string }>(['pool'], { env })).object, 'pool');
    assert.equal((await json<unknown[]>(['workers'], { env })).length, 1);
    assert.equal((await berth(['workers'])).exitCode === 0, false);
  });

  it('fetches, inspects and runs flows without a session', async () => {
    const plain = await berth(['fetch', `${shop.url}/products/${lamp.slug}`, '--plain']);
    assert.ok(plain.stdout.includes(lamp.name));
    const flows = await json<{ name: string }[]>(['run']);
    assert.ok(flows.length > 0);
    const { status } = await json<{ status: string }>(['inspect', shop.url]);
    assert.equal(status, 'ok');
    const inspected = (await json<Record<string, string>[]>(['jobs', '--kind', 'inspect', '--limit', '1']))[0];
    assert.deepEqual([inspected?.['kind'], inspected?.['target']], ['inspect', `${shop.url}/`]);
    // The id is whole, however long: other commands take it.
    const listed = (await berth(['jobs', '--status', 'ok', '--plain'])).stdout;
    const [, id = ''] = /^job .*\n(\S+) +inspect +ok /.exec(listed) ?? assert.fail(listed);
    assert.deepEqual([id, (await json(['job', id]))['job_id']], [inspected?.['job_id'], id]);
    assert.equal((await failure(['jobs', '--kind', 'crawl'])).exitCode, 2);
    assert.equal((await failure(['run', 'no-such-flow'])).exitCode, 4);
  });
});
