import { Berth } from '../berth.ts';
import type { Bench } from '../context.ts';
import { DevTools } from '../devtools.ts';
import { type Check, type Section, spread, summarize } from '../figures.ts';
import { waitForIdleCpu } from '../proc.ts';
import { destroyRaw, launchRaw } from '../raw-browser.ts';

const blocksDefault = 10;
const callsInBlock = 1000;
const callsInFlight = 16;
const largeReplies = 5;
const largeExpression = `'x'.repeat(${2 * 1024 * 1024})`;

interface Line {
  name: string;
  client: DevTools;
  evaluateMs: number[];
  /** Calls a second with sixteen in flight, block by block. */
  rates: number[];
  largeMs: number[];
}

const lineOf = (name: string, client: DevTools): Line => ({ name, client, evaluateMs: [], rates: [], largeMs: [] });

async function timed(samples: number[], work: () => Promise<unknown>): Promise<void> {
  const started = performance.now();
  await work();
  samples.push(performance.now() - started);
}

async function measureBlock({ client, evaluateMs, rates, largeMs }: Line): Promise<void> {
  for (let i = 0; i < callsInBlock; i += 1) await timed(evaluateMs, () => client.evaluate('1 + 1'));
  const started = performance.now();
  let left = callsInBlock;
  const caller = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await client.evaluate('1 + 1');
    }
  };
  await Promise.all(Array.from({ length: callsInFlight }, caller));
  rates.push(callsInBlock / ((performance.now() - started) / 1000));
  for (let i = 0; i < largeReplies; i += 1) await timed(largeMs, () => client.evaluate(largeExpression));
}

function checksOf(direct: Line, through: Line): Check[] {
  const ratio = (of: (line: Line) => number[]): number => summarize(of(through)).p50 / summarize(of(direct)).p50;
  // Per block, as the rate depends on the host's current load.
  const rateRatios = through.rates.map((rate, block) => rate / (direct.rates[block] ?? Number.NaN));
  return [
    { what: 'evaluate p50 of direct', measured: ratio((line) => line.evaluateMs), target: 1.2, rule: 'at most', unit: '×' },
    {
      what: `rate with ${callsInFlight} in flight, of direct`,
      measured: 100 * summarize(rateRatios).p50,
      target: 75,
      rule: 'at least',
      unit: '%',
    },
    { what: '2 MB reply p50 of direct', measured: ratio((line) => line.largeMs), target: 1.1, rule: 'at most', unit: '×' },
  ];
}

/** DevTools calls through the service and to a Chromium's own port, in alternating blocks. */
export async function cdp(bench: Bench): Promise<Section> {
  const raw = await launchRaw(bench.stage, bench.chromium);
  const lines = [lineOf('direct', await DevTools.connect(raw.url))];
  const berth = bench.withBerth
    ? await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address })
    : null;
  if (berth) {
    const session = await berth.create();
    lines.push(lineOf('through', await DevTools.connect(session.cdp_url, berth.authorization)));
  }
  const blocks = bench.runs ?? blocksDefault;
  // The first block is a warm-up and is discarded.
  for (let block = 0; block <= blocks; block += 1) {
    bench.reportProgress(`block ${block} of ${blocks}`);
    await waitForIdleCpu(3000);
    // The order alternates, as the first one runs on a rested machine.
    for (const line of block % 2 === 0 ? lines : lines.toReversed()) {
      if (block === 1) line.evaluateMs.length = line.rates.length = line.largeMs.length = 0;
      await measureBlock(line);
    }
  }
  for (const { client } of lines) await client.close();
  await berth?.stop();
  await destroyRaw(bench.stage, raw);
  const [direct, through] = lines;
  return {
    name: 'cdp: DevTools calls through the service',
    columns: ['p50 / p95 / p99', 'n', 'evaluate ms', `calls/s, ${callsInFlight} in flight`, '2 MB reply ms'],
    rows: lines.map(({ name, evaluateMs, rates, largeMs }) => [
      name,
      evaluateMs.length,
      spread(evaluateMs),
      Math.round(summarize(rates).p50),
      spread(largeMs),
    ]),
    checks: direct && through ? checksOf(direct, through) : [],
    notes: [],
  };
}
