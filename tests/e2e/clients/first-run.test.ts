/** What a newcomer meets: the start, the front page, the guides, the API reference and the README. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Health, getCredits } from '@berth/contract';
import { Service, eventually, stopAll } from '../service.ts';
import { examplesOf, paste, programsOf } from '../../contract/documents.ts';
import { nightly } from '../../nightly.ts';
import { startSite, type Site } from '../site.ts';
import { ViewerBrowser, type Viewer } from '../watch/viewing.ts';

const root = join(import.meta.dirname, '../../..');
const serve = join(root, 'scripts/serve.sh');
/** The environment without what configures another service, or this test. */
const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('BERTH_')));

/** A start with a new database, on a busy machine. */
const startMsMax = 60_000;

interface Exit {
  code: number | null;
  output: string;
  errors: string;
}

/** Runs a command that is to end by itself. */
async function run(command: readonly string[], environment: Record<string, string> = {}, cwd = root): Promise<Exit> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { cwd, env: { ...inherited, ...environment }, stdio: ['ignore', 'pipe', 'pipe'], timeout: 120_000 });
  const exit: Exit = { code: null, output: '', errors: '' };
  child.stdout.on('data', (chunk: Buffer) => (exit.output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (exit.errors += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { ...exit, code };
}

/** The whole lines of its log. */
const linesOf = ({ errors }: Service): { msg: string; steps_ms?: object }[] =>
  errors
    .split('\n')
    .slice(0, -1)
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { msg: string; steps_ms?: object });

describe('a start', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-first-run-'));
  after(async () => {
    await stopAll();
    rmSync(folder, { recursive: true, force: true });
  });
  const refused = (environment: Record<string, string>): Promise<Exit> =>
    run(['sh', serve], { BERTH_PORT: '0', BERTH_DATA_DIR: join(folder, 'refused'), BERTH_POOL_TARGET: '0', ...environment });

  it('a start that fails shows no key; the first that succeeds shows both, the next none', async () => {
    const dataDir = join(folder, 'keys');
    const failed = await refused({ BERTH_DATA_DIR: dataDir, BERTH_BOOTSTRAP_API_KEY: 'malformed' });
    assert.equal(failed.code, 1);
    assert.match(failed.errors, /BERTH_BOOTSTRAP_API_KEY is malformed/);
    assert.doesNotMatch(failed.output, /brt_/);
    const first = await Service.start({ dataDir });
    assert.match(first.output, /brt_live_\w+/);
    assert.match(first.output, /brt_admin_\w+/);
    assert.doesNotMatch(first.errors, /billing/i);
    assert.equal(await first.stop(), 0);
    // What it wrote last may be read after its exit.
    await eventually('it has said that it stopped', () => /^Berth is stopping: .*\nBerth has stopped\.$/m.test(first.output));
    // Clients on the same machine have these.
    const second = await Service.start({ dataDir, environment: { BERTH_API_KEY: first.key, BERTH_URL: first.url } });
    assert.doesNotMatch(second.output, /brt_/);
    assert.equal(await second.stop(), 0);
  });

  it('a start answers from its beginning, and says that it is starting', async () => {
    const port = await freePort();
    const starting = Service.start({ dataDir: join(folder, 'early'), environment: { BERTH_PORT: String(port) } });
    const seen = new Set<string>();
    const read = async (): Promise<string> => {
      const reply = await fetch(`http://127.0.0.1:${port}/health`).catch(() => null);
      if (!reply) return 'refused';
      const { status } = Health.parse(await reply.json());
      if (status === 'starting') assert.deepEqual([reply.status, reply.headers.get('retry-after')], [503, '1']);
      return status;
    };
    const isWell = async (): Promise<boolean> => {
      const status = await read();
      seen.add(status);
      return status === 'ok' || status === 'degraded';
    };
    await eventually('it is well', isWell, startMsMax);
    assert.ok(seen.has('starting'), [...seen].join());
    const service = await starting;
    // Its log and its output are read apart: either may be behind.
    const started = await eventually('its log has the start', () => linesOf(service).find(({ msg }) => msg === 'started'));
    const messages = linesOf(service).map(({ msg }) => msg);
    assert.ok(messages.indexOf('port bound') < messages.indexOf('opening the database'), messages.join('\n'));
    assert.ok(started.steps_ms, messages.join('\n'));
    await service.stop();
  });

  it('a start that is refused says why in one line that names the variable', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    for (const [environment, reason] of [
      [{ BERTH_PORT: String(port) }, `BERTH_PORT: port ${port} of 127.0.0.1 is in use`],
      [{ BERTH_DATA_DIR: file }, 'BERTH_DATA_DIR: '],
      [{ BERTH_DATA_DIR: '/proc/berth' }, 'BERTH_DATA_DIR: /proc/berth cannot be the data directory'],
      [{ BERTH_PROT: '1' }, 'BERTH_PROT: unknown variable'],
    ] as const) {
      const { code, output, errors } = await refused(environment);
      const [line = '', ...others] = errors.split('\n').filter((each) => each !== '' && !each.startsWith('{'));
      assert.deepEqual([code, output, others], [1, '', []], errors);
      assert.ok(line.startsWith(`Berth cannot start: ${reason}`), line);
    }
    taken.close();
  });

  it('a start takes a port from the command line, and explains itself', async () => {
    const help = await run(['npm', 'start', '--', '--help']);
    assert.equal(help.code, 0, help.errors);
    assert.match(help.output, /Usage: npm start[^]*--port PORT/);
    const wrong = await run(['sh', serve, '--port', 'http']);
    assert.deepEqual([wrong.code, wrong.output], [1, '']);
    assert.match(wrong.errors, /^Berth cannot start: BERTH_PORT: must be an integer from 0 to 65535/);
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** What docs/steps.md fills in and reads. */
const shop = (request: IncomingMessage, response: ServerResponse): void => {
  const sought = new URL(request.url ?? '/', 'http://shop.example').searchParams.get('q');
  const results = sought === null ? '' : '<p>1 results</p><div class="product"><h3>Desk lamp</h3><span class="price">€ 49</span></div>';
  response.setHeader('content-type', 'text/html; charset=utf-8').end(`<form><input name="q" placeholder="Search"></form>${results}`);
};

describe('a newcomer', () => {
  let service: Service;
  let site: Site;
  let browser: ViewerBrowser;
  let viewer: Viewer;
  before(async () => {
    site = await startSite({ pages: { '/shop/': shop } });
    [service, browser] = await Promise.all([Service.start({ environment: { BERTH_EGRESS_ALLOW: site.host } }), ViewerBrowser.launch()]);
    viewer = await browser.newViewer({ origin: service.url });
  });
  after(async () => {
    await browser?.close();
    await service?.close();
    await site?.close();
  });

  it('a newcomer pastes the programs of README and docs/connect.md, and they run', async () => {
    const programs = [...programsOf('README.md'), ...programsOf('docs/connect.md')];
    assert.equal(programs.length, 5);
    // In the repository, as the README says.
    const folder = join(root, 'node_modules/.berth-first-run');
    mkdirSync(folder, { recursive: true });
    try {
      for (const program of programs) {
        const file = join(folder, 'first.mjs');
        writeFileSync(file, program.replaceAll('https://example.com/', site.url).replaceAll('127.0.0.1:8080', new URL(service.url).host));
        const { code, output, errors } = await run(['node', file], { BERTH_URL: service.url, BERTH_API_KEY: service.key });
        assert.deepEqual([code, output, errors], [0, 'Home\n', ''], program);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  for (const [file, path] of [
    ['docs/steps.md', '/shop/'],
    ['docs/flows.md', '/'],
  ] as const)
    it(`a newcomer pastes the commands of ${file}, and they run`, async () => {
      const target = { url: service.url, apiKey: service.key, adminKey: '', loginToken: '', site: site.url + path };
      assert.deepEqual(await paste(examplesOf(file), target), []);
    });

  it('a newcomer has a balance of zero, and not below it, after using the service without credits', async () => {
    assert.equal((await service.client.call(getCredits)).body.balance, 0);
  });

  for (const [path, name, title] of [
    ['/', 'home', 'Berth'],
    ['/docs/quickstart', 'guide', 'Quickstart'],
    ['/docs/configuration', 'tables', 'Configuration'],
  ] as const)
    it(`a newcomer reads ${path} in light and dark, on a wide screen and on a phone`, path === '/' ? {} : nightly, async () => {
      const { page } = viewer;
      for (const [width, kind] of [
        [1360, 'wide'],
        [390, 'phone'],
      ] as const) {
        await page.setViewportSize({ width, height: 860 });
        await viewer.open(service.url + path);
        assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), title);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.equal(overflow, 0, `${path} is wider than a screen of ${width}`);
        await viewer.inspect(`${name}-${kind}`);
      }
      viewer.assertNoIssues();
    });

  it('a newcomer creates a session from the API reference with what stands there', async () => {
    const { page } = viewer;
    await page.setViewportSize({ width: 1360, height: 860 });
    // A link that the reference of an earlier version gave out.
    await viewer.open(`${service.url}/docs#/Sessions/createSession`);
    await page.waitForURL(`${service.url}/docs/reference/createSession`);
    const command = (await page.locator('.samples [data-language="curl"] pre').textContent()) ?? '';
    const { code, output, errors } = await run(['bash', '-c', `${command} -sS -w '%{http_code}'`], { BERTH_API_KEY: service.key });
    assert.equal(code, 0, errors);
    assert.match(output, /"session_id":"ses_[^]*201$/);
    viewer.assertNoIssues();
  });
});
