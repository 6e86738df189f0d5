/** What a request costs that reaches another worker than its session's: two workers with real browsers on one database. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTestServer } from '../../../packages/server/testing/test-store.ts';
import { Berth } from '../../berth.ts';
import { Connection } from '../../peers/connection.ts';
import type { Bench } from '../../context.ts';
import { DevTools } from '../../peers/devtools.ts';
import { spread, summarize, type Section } from '../../figures.ts';
import { waitForIdleCpu } from '../../proc.ts';

const blocksDefault = 10;
const callsInBlock = 300;

interface Line {
  name: string;
  http: Connection;
  devtools: DevTools;
  getMs: number[];
  evaluateMs: number[];
}

export async function fleetForwarded(bench: Bench): Promise<Section> {
  const { lines, path, close } = await open(bench);
  const blocks = bench.runs ?? blocksDefault;
  // The first block is a warm-up and is discarded.
  for (let block = 0; block <= blocks; block += 1) {
    bench.reportProgress(`block ${block} of ${blocks}`);
    await waitForIdleCpu(3000);
    for (const line of block % 2 === 0 ? lines : lines.toReversed()) {
      if (block === 1) line.getMs.length = line.evaluateMs.length = 0;
      await measureBlock(line, path);
    }
  }
  for (const { devtools, http } of lines) {
    await devtools.close();
    http.close();
  }
  await close();
  const [direct, forwarded] = lines;
  const more = (of: (line: Line) => number[]): number =>
    direct && forwarded ? summarize(of(forwarded)).p50 - summarize(of(direct)).p50 : Number.NaN;
  return {
    name: 'a session of another worker',
    columns: ['p50 / p95 / p99 ms', 'n', 'GET /v1/session/{id}', 'evaluate over /cdp'],
    rows: lines.map(({ name, getMs, evaluateMs }) => [name, getMs.length, spread(getMs), spread(evaluateMs)]),
    checks: [
      { what: 'forwarded GET, p50 more', measured: more((line) => line.getMs), target: 1.5, rule: 'at most', unit: 'ms' },
      { what: 'forwarded evaluate, p50 more', measured: more((line) => line.evaluateMs), target: 0.4, rule: 'at most', unit: 'ms' },
    ],
    notes: [],
  };
}

async function open(bench: Bench): Promise<{ lines: Line[]; path: string; close: () => Promise<void> }> {
  const database = await startTestServer();
  bench.stage.onEnd(() => database.stop());
  const environment = { BERTH_DATABASE_URL: database.url, BERTH_FLEET_LISTEN: '127.0.0.1:0' };
  const options = { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address, environment };
  const workers = [await Berth.start(bench.stage, options), await Berth.start(bench.stage, options)];
  const [first] = workers;
  if (!first) throw new Error('there is no worker');
  const { session_id } = await first.create();
  const path = `/v1/session/${session_id}`;
  const { headers } = await fetch(first.url + path, { headers: first.authorization });
  const homeId = headers.get('x-berth-worker');
  const isHome = ({ dataFolder }: Berth): boolean => readFileSync(join(dataFolder, 'worker-id'), 'utf8').trim() === homeId;
  const close = async (): Promise<void> => {
    for (const worker of workers) await worker.stop();
  };
  const lines = workers.map(async (worker): Promise<Line> => {
    const address = `${worker.url.replace('http', 'ws')}${path}/cdp`;
    const devtools = await DevTools.connect(address, first.authorization);
    const http = new Connection(worker.url, first.authorization);
    return { name: isHome(worker) ? 'direct' : 'forwarded', http, devtools, getMs: [], evaluateMs: [] };
  });
  return { lines: (await Promise.all(lines)).toSorted((one, other) => one.name.localeCompare(other.name)), path, close };
}

async function measureBlock({ http, devtools, getMs, evaluateMs }: Line, path: string): Promise<void> {
  for (let i = 0; i < callsInBlock; i += 1) await timed(getMs, () => http.requestJson('GET', path));
  for (let i = 0; i < callsInBlock; i += 1) await timed(evaluateMs, () => devtools.evaluate('1 + 1'));
}

async function timed(samples: number[], work: () => Promise<unknown>): Promise<void> {
  const started = performance.now();
  await work();
  samples.push(performance.now() - started);
}
