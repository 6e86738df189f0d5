import type { SessionKind } from '@berth/contract';
import { Berth, machineProcs } from '../../berth.ts';
import type { Bench } from '../../context.ts';
import { type Section, spread, summarize } from '../../figures.ts';
import { waitForIdleCpu, memoryMb } from '../../proc.ts';
import { countsOf } from './counts.ts';

interface Line {
  kind: SessionKind;
  createMs: number[];
  /** Times from the create call until the first page has loaded. */
  pageMs: number[];
  megabytes: number[];
  processes: number[];
  failures: string[];
}

const pidsOfMachines = (berth: Berth): number[] => machineProcs(berth).map(({ pid }) => pid);

async function runOnce(bench: Bench, berth: Berth, line: Line): Promise<void> {
  const before = new Set(pidsOfMachines(berth));
  const started = performance.now();
  const { session_id: sessionId } = await berth.create({ kind: line.kind });
  line.createMs.push(performance.now() - started);
  await berth.navigate(sessionId, bench.site.url);
  line.pageMs.push(performance.now() - started);
  await waitForIdleCpu();
  const own = pidsOfMachines(berth).filter((pid) => !before.has(pid));
  line.megabytes.push(memoryMb(own));
  line.processes.push(own.length);
  await berth.delete(sessionId);
}

/** Cold sessions of both kinds in turn, beside one session of each kind, as browsers share program pages. */
export async function kinds(bench: Bench): Promise<Section> {
  const name = 'view: a full browser beside a headless one, cold';
  const columns = ['p50 / p95 / p99', 'n', 'ok %', 'create ms', 'to a first page ms', 'PSS MB p50', 'processes'];
  if (!bench.withBerth) return { name, columns, rows: [], checks: [], notes: ['needs the service'] };
  const berth = await Berth.start(bench.stage, { chromium: bench.chromium, poolTarget: 0, allow: bench.site.address });
  const lines = (['headless', 'full_browser'] as const).map((kind): Line => ({
    kind,
    createMs: [],
    pageMs: [],
    megabytes: [],
    processes: [],
    failures: [],
  }));
  for (const { kind } of lines) await berth.navigate((await berth.create({ kind })).session_id, bench.site.url);
  const { creates } = countsOf(bench.runs);
  for (let round = 0; round < creates; round += 1) {
    bench.reportProgress(`creations, round ${round + 1} of ${creates}`);
    for (const line of lines) {
      await waitForIdleCpu();
      await runOnce(bench, berth, line).catch((error: unknown) => line.failures.push(String(error)));
    }
  }
  await berth.stop();
  return {
    name,
    columns,
    rows: lines.map(({ kind, createMs, pageMs, megabytes, processes, failures }) => [
      kind,
      creates,
      (100 * (creates - failures.length)) / creates,
      spread(createMs),
      spread(pageMs),
      summarize(megabytes).p50,
      summarize(processes).p50,
    ]),
    checks: lines.map(({ kind, failures }) => ({
      what: `${kind}: failed`,
      measured: failures.length,
      target: 0,
      rule: 'at most',
      unit: '',
    })),
    notes: lines.flatMap(({ kind, failures }) => failures.map((failure) => `${kind}: ${failure}`)),
  };
}
