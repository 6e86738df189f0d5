import { once } from 'node:events';
import { chromium } from 'playwright-core';
import { WebSocket } from 'ws';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { type Check, type Section, spread, summarize } from '../../figures.ts';
import { destroyRaw, launchRaw } from '../../peers/raw-browser.ts';

const runsDefault = 40;
const place = { x: 300, y: 200 };

type Times = Map<string, number[]>;

async function time(times: Times, name: string, call: () => Promise<unknown>): Promise<void> {
  const started = performance.now();
  await call();
  times.set(name, [...(times.get(name) ?? []), performance.now() - started]);
}

/** A click and a picture by Playwright in a plain browser: what the browser and the page take themselves. */
async function measurePlain(bench: Bench, times: Times, runs: number): Promise<void> {
  const raw = await launchRaw(bench.stage, bench.chromium);
  const browser = await chromium.connectOverCDP(raw.url);
  const page = await (browser.contexts()[0] ?? (await browser.newContext())).newPage();
  await page.goto(bench.site.longUrl);
  for (let run = 0; run < runs; run += 1)
    await time(times, 'plain browser: click and screenshot by Playwright', async () => {
      await page.mouse.click(place.x, place.y);
      await page.screenshot();
    });
  await browser.close();
  await destroyRaw(bench.stage, raw);
}

async function measureCalls(bench: Bench, berth: Berth, { times, runs }: { times: Times; runs: number }): Promise<void> {
  const { session_id: sessionId } = await berth.create();
  await berth.navigate(sessionId, bench.site.longUrl);
  const use = (body: object): Promise<unknown> => berth.post(`/v1/session/${sessionId}/computer`, body);
  const click = { type: 'click', ...place };
  for (let run = 0; run < runs; run += 1) {
    await time(times, 'click and screenshot', () => use({ actions: [click] }));
    await time(times, 'click and screenshot, 1024 px wide', () => use({ actions: [click], max_width: 1024 }));
    await time(times, 'click and screenshot, JPEG', () => use({ actions: [click], format: 'jpeg' }));
    await time(times, 'click alone', () => use({ actions: [click], screenshot: false }));
    await time(times, 'where the mouse is', () => use({ actions: [{ type: 'cursor' }], screenshot: false }));
  }
  await berth.delete(sessionId);
}

/** Opens the address and waits until the browser answers. */
async function handshake(address: string, headers: Record<string, string>): Promise<WebSocket> {
  const socket = new WebSocket(address, { headers });
  await once(socket, 'open');
  const answered = once(socket, 'message');
  socket.send(JSON.stringify({ id: 1, method: 'Browser.getVersion' }));
  await answered;
  return socket;
}

async function measureConnections(berth: Berth, { times, runs }: { times: Times; runs: number }): Promise<void> {
  const address = `${berth.url.replace('http', 'ws')}/v1/connect?reconnect_seconds=60`;
  for (let run = 0; run < runs; run += 1) {
    await time(times, 'discovery of an address', async () => (await berth.get('/json/version?reconnect_seconds=60')).arrayBuffer());
    await berth.waitForFullPool();
    const url = `${address}&metadata.run=${run}`;
    let socket = null as WebSocket | null;
    await time(times, 'handshake, a warm browser', async () => (socket = await handshake(url, berth.authorization)));
    socket?.terminate();
    await time(times, 'handshake, the browser again', async () => (socket = await handshake(url, berth.authorization)));
    socket?.send(JSON.stringify({ id: 2, method: 'Browser.close' }));
    if (socket) await once(socket, 'close');
  }
}

const p50Of = (times: Times, name: string): number => summarize(times.get(name) ?? []).p50;

function checksOf(times: Times): Check[] {
  const beside = p50Of(times, 'click and screenshot') - p50Of(times, 'plain browser: click and screenshot by Playwright');
  const atMost = { rule: 'at most', unit: 'ms' } as const;
  return [
    { what: 'click and screenshot, beside a plain browser: p50', measured: beside, target: 120, ...atMost },
    { what: 'discovery of an address: p50', measured: p50Of(times, 'discovery of an address'), target: 50, ...atMost },
    { what: 'handshake, a warm browser: p50', measured: p50Of(times, 'handshake, a warm browser'), target: 1500, ...atMost },
  ];
}

/** Use by coordinates, beside the same by Playwright in a plain browser; and connections to an address that finds its browser again. */
export async function computer(bench: Bench): Promise<Section> {
  const runs = bench.runs ?? runsDefault;
  const times: Times = new Map();
  bench.reportProgress('a plain browser');
  await measurePlain(bench, times, runs);
  if (bench.withBerth) {
    const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 1, allow: bench.site.address });
    bench.reportProgress('actions by coordinates');
    await measureCalls(bench, berth, { times, runs });
    bench.reportProgress('connections');
    await measureConnections(berth, { times, runs });
    await berth.stop();
  }
  return {
    name: 'agents/computer: use by coordinates, and addresses that find their browser again',
    columns: ['p50 / p95 / p99', 'n', 'ms'],
    rows: [...times].map(([name, samples]) => [name, samples.length, spread(samples)]),
    checks: bench.withBerth ? checksOf(times) : [],
    notes: [],
  };
}
