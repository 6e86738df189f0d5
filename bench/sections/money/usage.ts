import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import type { Section } from '../../figures.ts';
import { pinApart, unpin, waitForIdleCpu } from '../../proc.ts';
import { type Line, lineOf, mean, sendLoad, startBare } from '../http.ts';

const roundsDefault = 3;
const secondsEach = 5;
/** The size of a response, without a service to copy one from. */
const sampleBody = JSON.stringify({ tier: 'self_hosted', filler: 'x'.repeat(600) });

/** An authenticated read of the monthly usage, compared with a bare node:http server that sends the same bytes, both on one processor. */
export async function usage(bench: Bench): Promise<Section> {
  const lines: Line[] = [];
  const pids: number[] = [];
  let body = sampleBody;
  const berth = bench.withBerth
    ? await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address })
    : null;
  if (berth) {
    body = await (await berth.get('/v1/usage')).text();
    pids.push(berth.pid);
    lines.push(lineOf({ name: 'berth', url: `${berth.url}/v1/usage`, headers: berth.authorization, pid: berth.pid }));
  }
  const bareServer = await startBare(bench.stage, body);
  lines.unshift(lineOf({ name: 'bare', headers: {}, ...bareServer }));
  const isPinned = pinApart([...pids, bareServer.pid]);
  bench.stage.onEnd(unpin);
  for (const line of lines) await sendLoad(lineOf(line), 2);
  const rounds = bench.runs ?? roundsDefault;
  for (let round = 1; round <= rounds; round += 1) {
    bench.reportProgress(`round ${round} of ${rounds}`);
    for (const line of lines) {
      await waitForIdleCpu();
      await sendLoad(line, secondsEach);
    }
  }
  unpin();
  await berth?.stop();
  const [bare, served] = lines;
  return {
    name: 'money: GET /v1/usage with a key, 32 connections, the server on one processor',
    columns: ['', 'requests/s', 'p99 ms', 'failed', '× bare'],
    rows: lines.map((line) => [
      line.name,
      Math.round(mean(line.rates)),
      Math.max(...line.p99),
      line.failed,
      mean(line.rates) / mean(bare?.rates ?? []),
    ]),
    checks: served
      ? [
          { what: 'requests a second', measured: mean(served.rates), target: 4000, rule: 'at least', unit: '' },
          { what: 'failed requests', measured: served.failed, target: 0, rule: 'at most', unit: '' },
        ]
      : [],
    notes: isPinned ? [] : ['the server could not be bound to one processor'],
  };
}
