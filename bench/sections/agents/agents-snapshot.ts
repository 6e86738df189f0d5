import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium, type Page } from 'playwright-core';
import { buildCommandLine } from '../../../scripts/pack/cli.ts';
import { startShop } from '../../../tests/shop/shop.ts';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { type Check, type Section, spread, summarize } from '../../figures.ts';
import { destroyRaw, launchRaw } from '../../peers/raw-browser.ts';

const runsDefault = 20;
/** Nodes of the full tree of a page: four for each row, and the page around them. */
const nodeCounts = [200, 5000, 20_000] as const;

interface Target {
  name: string;
  url: string;
}

class Times {
  readonly rows = new Map<string, number[]>();

  async time<T>(name: string, call: () => Promise<T>): Promise<T> {
    const started = performance.now();
    const result = await call();
    this.rows.set(name, [...(this.rows.get(name) ?? []), performance.now() - started]);
    return result;
  }

  p50(name: string): number {
    return summarize(this.rows.get(name) ?? []).p50;
  }
}

function pageOf(nodes: number): string {
  const row = (_: unknown, at: number): string =>
    `<li><a href="/p/${at}">Product number ${at}</a> <span>${at},00 €</span><button>Add to basket</button></li>`;
  const rows = Array.from({ length: nodes / 4 }, row).join('');
  return `<!doctype html><meta charset=utf-8><title>Products</title><main><h1>Products</h1><ul>${rows}</ul></main>`;
}

async function servePages(bench: Bench): Promise<{ targets: Target[]; hosts: string }> {
  const pages = new Map(nodeCounts.map((count) => [`/${count}`, pageOf(count)]));
  const server = createServer((request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(pages.get(request.url ?? '') ?? ''),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const shop = await startShop({ consent: false });
  bench.stage.onEnd(async () => {
    await shop.close();
    server.close();
    server.closeAllConnections();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const large = nodeCounts.map((count) => ({ name: `${count} nodes`, url: `http://${host}/${count}` }));
  return { targets: [{ name: 'the shop', url: shop.url }, ...large], hosts: `${host},${shop.host},${shop.otherHost}` };
}

/** The accessibility tree of Playwright, whose references its own MCP server gives to models. */
async function measurePlain(bench: Bench, targets: readonly Target[], { times, runs }: { times: Times; runs: number }): Promise<void> {
  const raw = await launchRaw(bench.stage, bench.chromium);
  const browser = await chromium.connectOverCDP(raw.url);
  const page: Page = await (browser.contexts()[0] ?? (await browser.newContext())).newPage();
  for (const { name, url } of targets) {
    await page.goto(url);
    for (let run = 0; run < runs; run += 1)
      await times.time(`${name}: ariaSnapshot() of Playwright, a plain browser`, () => page.locator('body').ariaSnapshot());
  }
  await browser.close();
  await destroyRaw(bench.stage, raw);
}

async function measureSnapshots(berth: Berth, targets: readonly Target[], { times, runs }: { times: Times; runs: number }): Promise<void> {
  const { session_id: sessionId } = await berth.create();
  const read = async (query: string): Promise<unknown> => (await berth.get(`/v1/session/${sessionId}/snapshot?${query}`)).json();
  for (const { name, url } of targets) {
    await berth.navigate(sessionId, url);
    for (let run = 0; run < runs; run += 1) {
      await times.time(`${name}: snapshot`, () => read('mode=interactive'));
      await times.time(`${name}: full snapshot`, () => read('mode=full&max_tokens=32000'));
    }
  }
  await berth.delete(sessionId);
}

/** The command line as it is published: each call is a process. */
async function measureCommands(
  bench: Bench,
  berth: Berth,
  { url, times, runs }: { url: string; times: Times; runs: number },
): Promise<void> {
  const folder = bench.stage.folder('cli');
  await buildCommandLine(join(folder, 'dist'));
  const env = { PATH: process.env.PATH, HOME: folder, BERTH_URL: berth.url, BERTH_API_KEY: berth.key };
  const command = (...words: string[]) =>
    promisify(execFile)(process.execPath, [join(folder, 'dist/berth.js'), ...words], { cwd: folder, env });
  await command('open', url);
  for (let run = 0; run < runs; run += 1) {
    await times.time('node --eval 0', () => promisify(execFile)(process.execPath, ['--eval', '0']));
    await times.time('berth --help', () => command('--help'));
    await times.time('berth snapshot of the shop', () => command('snapshot'));
  }
  await command('end');
}

function checksOf(times: Times): Check[] {
  const atMost = (name: string, target: number): Check => ({
    what: `${name}: p50`,
    measured: times.p50(name),
    target,
    rule: 'at most',
    unit: 'ms',
  });
  return [
    atMost('the shop: snapshot', 60),
    atMost('20000 nodes: snapshot', 400),
    atMost('berth --help', 150),
    atMost('berth snapshot of the shop', 250),
  ];
}

/** Snapshots of small and large pages beside Playwright's in a plain browser, and the start of the command line. */
export async function snapshots(bench: Bench): Promise<Section> {
  const runs = bench.runs ?? runsDefault;
  const times = new Times();
  const { targets, hosts } = await servePages(bench);
  bench.reportProgress('a plain browser');
  await measurePlain(bench, targets, { times, runs });
  if (bench.withBerth) {
    const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 1, allow: hosts });
    bench.reportProgress('snapshots');
    await measureSnapshots(berth, targets, { times, runs });
    bench.reportProgress('the command line');
    await measureCommands(bench, berth, { url: targets[0]?.url ?? '', times, runs });
    await berth.stop();
  }
  return {
    name: 'agents/snapshots: pages as accessibility trees, and the command line',
    columns: ['p50 / p95 / p99', 'n', 'ms'],
    rows: [...times.rows].map(([name, samples]) => [name, samples.length, spread(samples)]),
    checks: bench.withBerth ? checksOf(times) : [],
    notes: [],
  };
}
