import type { Bench } from '../../context.ts';
import { type Section, spread } from '../../figures.ts';
import { buildInProcess } from '../../in-process.ts';
import { waitForIdleCpu } from '../../proc.ts';
import { tier } from './tier.ts';

const meters = 200;
const owners = 20;
const turnsDefault = 50;
const bytesInTurn = 60_000;

/** One iteration of the metering loop with all meters in use. `--runs` is the number of iterations. */
export async function flush(bench: Bench): Promise<Section> {
  const service = await buildInProcess(bench.stage);
  const { metering } = service.app;
  let turn = 0;
  for (let n = 0; n < meters; n += 1) {
    const owner = `bench-${n % owners}`;
    const sample = () => ({ egressBytes: turn * bytesInTurn, browserMs: turn * 2000 });
    metering.open({ meterId: `ses_bench${n}`, owner, tier: { ...tier, name: 'bench' }, egressType: 'direct', sample });
  }
  const [ms, processorMs]: number[][] = [[], []];
  const turns = bench.runs ?? turnsDefault;
  for (turn = 1; turn <= turns; turn += 1) {
    if (turn % 10 === 1) bench.reportProgress(`turn ${turn} of ${turns}`);
    await waitForIdleCpu(500);
    const [started, cpu] = [performance.now(), process.cpuUsage()];
    metering.flushing.nudge();
    await metering.flushing.idle();
    const { user, system } = process.cpuUsage(cpu);
    ms?.push(performance.now() - started);
    processorMs?.push((user + system) / 1000);
  }
  const { lastError } = metering.flushing.status;
  await service.close();
  return {
    name: `money: an iteration of the metering loop, ${meters} open meters of ${owners} owners`,
    columns: ['p50 / p95 / p99', 'n', 'ms', 'processor ms of the service'],
    rows: [['flush', ms?.length ?? 0, spread(ms ?? []), spread(processorMs ?? [])]],
    checks: [{ what: 'failed iterations', measured: lastError === null ? 0 : 1, target: 0, rule: 'at most', unit: '' }],
    notes: ['it runs every 2 seconds'],
  };
}
