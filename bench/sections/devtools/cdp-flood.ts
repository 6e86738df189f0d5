import { once } from 'node:events';
import { join } from 'node:path';
import { Berth } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { DevTools } from '../../peers/devtools.ts';
import { type Section, spread, summarize } from '../../figures.ts';
import { waitForIdleCpu } from '../../proc.ts';

const callsDefault = 500;
const flooders = 2;
const flooder = join(import.meta.dirname, '../../peers/flooder.ts');

async function measure(client: DevTools, calls: number): Promise<number[]> {
  const samples: number[] = [];
  for (let n = 0; n < calls; n += 1) {
    const startedMs = performance.now();
    await client.evaluate('1 + 1');
    samples.push(performance.now() - startedMs);
  }
  return samples;
}

/** DevTools calls of one session while clients of other sessions send as fast as they can. */
export async function cdpFlood(bench: Bench): Promise<Section> {
  const name = 'cdp/flood: calls beside flooding clients';
  const columns = ['p50 / p95 / p99', 'n', 'evaluate ms'];
  if (!bench.withBerth) return { name, columns, rows: [], checks: [], notes: ['needs the service'] };
  const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address });
  const [own, ...others] = await Promise.all(Array.from({ length: 1 + flooders }, () => berth.create()));
  const client = await DevTools.connect(own?.cdp_url ?? '', berth.authorization);
  const calls = bench.runs ?? callsDefault;
  await waitForIdleCpu(3000);
  await measure(client, 50);
  const quiet = await measure(client, calls);
  bench.reportProgress('flooding');
  const processes = others.map(({ cdp_url }) =>
    bench.stage.start(process.execPath, [flooder, cdp_url, berth.authorization.authorization], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  await Promise.all(processes.map((process) => once(process.stdout ?? process, 'data')));
  await measure(client, 10);
  const flooded = await measure(client, calls);
  for (const process of processes) await bench.stage.stop(process, { graceMs: 0 });
  await client.close();
  await berth.stop();
  return {
    name,
    columns,
    rows: [
      ['alone', quiet.length, spread(quiet)],
      [`beside ${flooders} flooding clients`, flooded.length, spread(flooded)],
    ],
    checks: [{ what: 'p99 beside flooding clients', measured: summarize(flooded).p99, target: 100, rule: 'at most', unit: 'ms' }],
    notes: ['the flooding browsers and clients share the processors with the measured one'],
  };
}
