import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { DevTools } from '../../peers/devtools.ts';
import { type Check, type Section, spread, summarize } from '../../figures.ts';
import { mainThreadUs, waitForIdleCpu } from '../../proc.ts';
import { destroyRaw, launchRaw, rawFlags } from '../../peers/raw-browser.ts';

const blocksDefault = 10;
const callsInBlock = 1000;
const callsInFlight = 16;
const largeReplies = 5;
const largeExpression = `'x'.repeat(${2 * 1024 * 1024})`;

interface Line {
  name: string;
  client: DevTools;
  /** The process between the client and the browser; null without one. */
  pid: number | null;
  evaluateMs: number[];
  largeMs: number[];
  /** Block by block. */
  evaluateP50s: number[];
  largeP50s: number[];
  /** Calls a second with sixteen in flight. */
  rates: number[];
  /** Processor time of a call in the process between, one at a time and with sixteen in flight, block by block. */
  oneUs: number[];
  manyUs: number[];
}

const lineOf = (name: string, client: DevTools, pid: number | null): Line => ({
  name,
  client,
  pid,
  evaluateMs: [],
  largeMs: [],
  evaluateP50s: [],
  largeP50s: [],
  rates: [],
  oneUs: [],
  manyUs: [],
});

const samplesOf = ({ evaluateMs, largeMs, evaluateP50s, largeP50s, rates, oneUs, manyUs }: Line): number[][] => [
  ...[evaluateMs, largeMs, evaluateP50s, largeP50s, rates, oneUs, manyUs],
];

async function timesOf(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const started = performance.now();
    await work();
    samples.push(performance.now() - started);
  }
  return samples;
}

async function measureBlock({ client, pid, evaluateMs, evaluateP50s, rates, largeMs, largeP50s, oneUs, manyUs }: Line): Promise<void> {
  const spentUs = (): number => (pid === null ? 0 : mainThreadUs(pid).ran);
  let before = spentUs();
  const evaluated = await timesOf(callsInBlock, () => client.evaluate('1 + 1'));
  oneUs.push((spentUs() - before) / callsInBlock);
  evaluateMs.push(...evaluated);
  evaluateP50s.push(summarize(evaluated).p50);
  before = spentUs();
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
  manyUs.push((spentUs() - before) / callsInBlock);
  const large = await timesOf(largeReplies, () => client.evaluate(largeExpression));
  largeMs.push(...large);
  largeP50s.push(summarize(large).p50);
}

function checksOf(relay: Line, through: Line): Check[] {
  // Block by block, as both depend on the host's current load.
  const ratio = (of: (line: Line) => readonly number[]): number =>
    summarize(of(through).map((value, block) => value / (of(relay)[block] ?? Number.NaN))).p50;
  return [
    { what: 'evaluate p50 of the relay', measured: ratio(({ evaluateP50s }) => evaluateP50s), target: 1.05, rule: 'at most', unit: '×' },
    {
      what: `rate with ${callsInFlight} in flight, of the relay`,
      measured: 100 * ratio(({ rates }) => rates),
      target: 97,
      rule: 'at least',
      unit: '%',
    },
    { what: '2 MB reply p50 of the relay', measured: ratio(({ largeP50s }) => largeP50s), target: 1.05, rule: 'at most', unit: '×' },
  ];
}

/** One WebSocket in front of a browser's pipe: what any service costs that is not the browser itself. */
async function startRelay({ stage, chromium }: Bench): Promise<Line> {
  const script = join(import.meta.dirname, '../../peers/bare-relay.ts');
  const browser = [chromium, ...rawFlags, '--remote-debugging-pipe', `--user-data-dir=${stage.folder('relay')}`, 'about:blank'];
  const child = stage.start(process.execPath, [script, ...browser], { stdio: ['ignore', 'pipe', 'inherit'] });
  if (!child.stdout) throw new Error('the relay was started without a pipe for its address');
  for await (const url of createInterface({ input: child.stdout })) return lineOf('relay', await DevTools.connect(url), child.pid ?? null);
  throw new Error('the relay has ended');
}

/** DevTools calls through the service, through a bare relay and to a Chromium's own port, in alternating blocks. */
export async function cdp(bench: Bench): Promise<Section> {
  const raw = await launchRaw(bench.stage, bench.chromium);
  const lines = [lineOf('direct', await DevTools.connect(raw.url), null), await startRelay(bench)];
  const berth = bench.withBerth
    ? await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address })
    : null;
  if (berth) {
    const session = await berth.create();
    lines.push(lineOf('through', await DevTools.connect(session.cdp_url, berth.authorization), berth.pid));
  }
  const blocks = bench.runs ?? blocksDefault;
  // The first block is a warm-up and is discarded.
  for (let block = 0; block <= blocks; block += 1) {
    bench.reportProgress(`block ${block} of ${blocks}`);
    await waitForIdleCpu(3000);
    // The order alternates, as the first one runs on a rested machine.
    for (const line of block % 2 === 0 ? lines : lines.toReversed()) {
      if (block === 1) for (const samples of samplesOf(line)) samples.length = 0;
      await measureBlock(line);
    }
  }
  for (const { client } of lines) await client.close();
  await berth?.stop();
  await destroyRaw(bench.stage, raw);
  const [, relay, through] = lines;
  return {
    name: 'cdp: DevTools calls through the service',
    columns: [
      ...['p50 / p95 / p99', 'n', 'evaluate ms', `calls/s, ${callsInFlight} in flight`, '2 MB reply ms'],
      ...['µs of a call', `µs of a call, ${callsInFlight} in flight`],
    ],
    rows: lines.map(({ name, pid, evaluateMs, rates, largeMs, oneUs, manyUs }) => [
      name,
      evaluateMs.length,
      spread(evaluateMs),
      Math.round(summarize(rates).p50),
      spread(largeMs),
      ...[oneUs, manyUs].map((samples) => (pid === null ? '' : Math.round(summarize(samples).p50))),
    ]),
    checks: relay && through ? checksOf(relay, through) : [],
    notes: ['µs of a call: processor time of the main thread between client and browser, median of the blocks.'],
  };
}
