import { once } from 'node:events';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { Berth } from '../berth.ts';
import type { Bench } from '../context.ts';
import type { Section } from '../figures.ts';
import { mainThreadUs, waitForIdleCpu } from '../proc.ts';
import type { Stage } from '../stage.ts';

const roundsDefault = 3;
const connections = 32;
const secondsEach = 5;
/** The size of a session response, without a service to copy one from. */
const sampleBody = JSON.stringify({ object: 'session', filler: 'x'.repeat(1200) });

export interface Line {
  name: string;
  url: string;
  headers: Record<string, string>;
  /** The server's. */
  pid: number;
  rates: number[];
  p99: number[];
  failed: number;
  /** Processor time of a request on the server's main thread. */
  cpuUs: number[];
  /** Share of the time in which that thread could have run and waited for a processor. */
  waitedPercent: number[];
}

type Subject = Pick<Line, 'name' | 'url' | 'headers' | 'pid'>;
export const lineOf = (subject: Subject): Line => ({ ...subject, rates: [], p99: [], failed: 0, cpuUs: [], waitedPercent: [] });

export async function startBare(stage: Stage, body: string): Promise<{ url: string; pid: number }> {
  const child = stage.start(process.execPath, [join(import.meta.dirname, '../peers/bare-server.ts')], {
    env: { BODY: body },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (!child.stdout || child.pid === undefined) throw new Error('the bare server was started without a pipe for its output');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  stage.onEnd(() => stage.stop(child, { graceMs: 2000 }));
  return { url: line.toString().trim(), pid: child.pid };
}

export async function sendLoad(line: Line, seconds: number): Promise<void> {
  const before = mainThreadUs(line.pid);
  const { requests, latency, errors, timeouts, non2xx } = await autocannon({
    url: line.url,
    headers: line.headers,
    connections,
    duration: seconds,
  });
  line.rates.push(requests.average);
  line.p99.push(latency.p99);
  line.failed += errors + timeouts + non2xx;
  const now = mainThreadUs(line.pid);
  line.cpuUs.push((now.ran - before.ran) / Math.max(1, requests.total));
  line.waitedPercent.push((now.waited - before.waited) / 10_000 / seconds);
}

export const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** An authenticated read of a session, compared with a bare node:http server that sends the same bytes. */
export async function http(bench: Bench): Promise<Section> {
  const lines: Line[] = [];
  let body = sampleBody;
  const berth = bench.withBerth
    ? await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 1, allow: bench.site.address })
    : null;
  if (berth) {
    const { session_id } = await berth.create();
    body = JSON.stringify(await berth.read(session_id));
    lines.push(lineOf({ name: 'berth', url: `${berth.url}/v1/session/${session_id}`, headers: berth.authorization, pid: berth.pid }));
  }
  lines.unshift(lineOf({ name: 'bare', headers: {}, ...(await startBare(bench.stage, body)) }));
  for (const line of lines) await sendLoad(lineOf(line), 1);
  const rounds = bench.runs ?? roundsDefault;
  for (let round = 1; round <= rounds; round += 1) {
    bench.reportProgress(`round ${round} of ${rounds}`);
    for (const line of lines) {
      await waitForIdleCpu();
      await sendLoad(line, secondsEach);
    }
  }
  await berth?.stop();
  const [bare, served] = lines;
  return {
    name: `http: GET /v1/session/{id}, ${connections} connections`,
    columns: ['', 'requests/s', 'p99 ms', 'failed', '× bare', 'µs of a request', 'waited, %'],
    rows: lines.map((line) => [
      line.name,
      Math.round(mean(line.rates)),
      Math.max(...line.p99),
      line.failed,
      mean(line.rates) / mean(bare?.rates ?? []),
      Math.round(mean(line.cpuUs)),
      Math.round(mean(line.waitedPercent)),
    ]),
    checks:
      bare && served
        ? [
            {
              what: "requests a second, of the bare server's",
              measured: mean(served.rates) / mean(bare.rates),
              target: 0.25,
              rule: 'at least',
              unit: '×',
            },
            { what: 'p99, the worst round', measured: Math.max(...served.p99), target: 10, rule: 'at most', unit: 'ms' },
            { what: 'failed requests', measured: served.failed, target: 0, rule: 'at most', unit: '' },
          ]
        : [],
    notes: [
      'the client runs on the same processors as the servers',
      'waited: share of the time in which the main thread could run and waited for a processor; the p99 is that of a quiet machine only where it is near 0',
    ],
  };
}
