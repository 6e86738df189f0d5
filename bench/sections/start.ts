import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceScript, waitForAddress } from '../berth.ts';
import type { Bench } from '../context.ts';
import { type Section, summarize } from '../figures.ts';
import { waitForIdleCpu } from '../proc.ts';

const runsDefault = 10;

/** What is started, each on a data directory of its own: the build that people run, and the sources that `npm run dev` runs. */
const variants = ['build', 'sources'] as const;
type Variant = (typeof variants)[number];

interface Started {
  readyMs: number;
  restMb: number;
}

async function measureStart(bench: Bench, variant: Variant, dataFolder: string): Promise<Started> {
  const { PATH, HOME } = process.env;
  const service = {
    BERTH_PORT: '0',
    BERTH_DATA_DIR: dataFolder,
    BERTH_CHROMIUM: bench.chromium,
    BERTH_POOL_TARGET: '0',
    BERTH_LOG_LEVEL: 'warn',
  };
  const main = variant === 'sources' ? { SERVICE_MAIN: 'packages/server/src/main.ts' } : {};
  const beganMs = performance.now();
  const child = bench.stage.start('sh', [serviceScript], {
    env: { PATH, HOME, ...service, ...main },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await waitForAddress(child);
  const readyMs = performance.now() - beganMs;
  await waitForIdleCpu();
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  await bench.stage.stop(child, { graceMs: 20_000 });
  return { readyMs, restMb: Number(kilobytes) / 1024 };
}

/** A warm start with the embedded database and no machine, from the start of the shell until the service says that it is ready. */
export async function start(bench: Bench): Promise<Section> {
  const name = 'start: a warm start with the embedded database, and the worker at rest';
  const columns = ['', 'ready, ms: p50', 'p95', 'at rest, MB resident: p50', 'p95'];
  if (!bench.withBerth) return { name, columns, rows: [], checks: [], notes: [] };
  const runs = bench.runs ?? runsDefault;
  const started: Record<Variant, Started[]> = { build: [], sources: [] };
  const folders = { build: join(bench.stage.folder('build'), 'data'), sources: join(bench.stage.folder('sources'), 'data') };
  // The first start makes the database, the second has compiled code.
  for (const variant of [...variants, ...variants]) await measureStart(bench, variant, folders[variant]);
  for (let run = 1; run <= runs; run += 1) {
    bench.reportProgress(`start ${run} of ${runs}`);
    for (const variant of variants) started[variant].push(await measureStart(bench, variant, folders[variant]));
  }
  const figures = (variant: Variant) => ({
    ready: summarize(started[variant].map(({ readyMs }) => readyMs)),
    rest: summarize(started[variant].map(({ restMb }) => restMb)),
  });
  const rows = variants.map((variant) => {
    const { ready, rest } = figures(variant);
    return [`from the ${variant}`, ready.p50, ready.p95, rest.p50, rest.p95];
  });
  const { ready, rest } = figures('build');
  return {
    name,
    columns,
    rows,
    checks: [
      { what: 'ready, p50', measured: ready.p50, target: 2000, rule: 'at most', unit: 'ms' },
      { what: 'worker at rest, p50', measured: rest.p50, target: 130, rule: 'at most', unit: 'MB' },
    ],
    notes: [],
  };
}
