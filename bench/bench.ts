/**
 * Measures the service against a raw browser and a bare server in the same run,
 * because a host's speed drifts and only ratios are comparable.
 *
 *   npm run bench                       all sections but the soak
 *   npm run bench -- soak --runs 30     half an hour of ordinary owners beside a hostile one
 *   npm run bench -- soak --runs 2 --only downloads    only the attacks with this in their names
 *   npm run bench -- lifecycle cdp      some sections
 *   npm run bench -- memory --runs 50   with this many runs
 *   npm run bench -- view/recording     one part of a section
 *   npm run bench -- --raw              baselines only, without the service
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { inspect, parseArgs } from 'node:util';
import { hasBerth } from './berth.ts';
import type { Bench } from './context.ts';
import { type Check, type Section, passes, printSection } from './figures.ts';
import { computer } from './sections/agents/agents-computer.ts';
import { mcp } from './sections/agents/agents-mcp.ts';
import { snapshots } from './sections/agents/agents-snapshot.ts';
import { cdp } from './sections/devtools/cdp.ts';
import { cdpFlood } from './sections/devtools/cdp-flood.ts';
import { clicks } from './sections/devtools/clicks.ts';
import { cold } from './sections/cold.ts';
import { covered } from './sections/devtools/covered.ts';
import { content } from './sections/fetch/content.ts';
import { conversions } from './sections/fetch/conversions.ts';
import { fetches } from './sections/fetch/fetch.ts';
import { fleetForwarded } from './sections/fleet/forwarded.ts';
import { fleetIdle } from './sections/fleet/idle.ts';
import { teardown } from './sections/teardown.ts';
import { http } from './sections/http.ts';
import { hostileText } from './sections/fetch/hostile-text.ts';
import { inspections } from './sections/fetch/inspect.ts';
import { lifecycle } from './sections/lifecycle.ts';
import { machines } from './sections/machines.ts';
import { memory } from './sections/memory.ts';
import { money } from './sections/money.ts';
import { lists } from './sections/lists.ts';
import { overview } from './sections/overview.ts';
import { placement } from './sections/placement.ts';
import { soak } from './sections/soak.ts';
import { start } from './sections/start.ts';
import { view } from './sections/view.ts';
import { serveSite } from './site.ts';
import { Stage } from './stage.ts';

type Measure = (bench: Bench) => Promise<Section>;

/** The parts of a section fail independently. */
const sections: Record<string, Measure | Record<string, Measure>> = {
  agents: { computer, mcp, snapshots },
  lifecycle,
  clicks,
  cold,
  covered,
  cdp: { calls: cdp, flood: cdpFlood },
  http,
  fetch: { pages: fetches, conversions },
  fleet: { idle: fleetIdle, forwarded: fleetForwarded },
  content,
  inspect: inspections,
  'hostile-text': hostileText,
  start,
  memory,
  teardown,
  view,
  money,
  lists,
  overview,
  placement,
  machines,
  soak,
};

/** Takes half an hour, so it runs only where it is named. */
const named = new Set(['soak']);

/** Returns the measurements of a selector: `view` for all parts of a section, `view/recording` for one. */
function selectMeasures(selector: string): [name: string, measure: Measure][] {
  const [name = '', part] = selector.split('/');
  const section = sections[name] ?? {};
  const all: [string, Measure][] =
    typeof section === 'function' ? [[name, section]] : Object.entries(section).map(([key, measure]) => [`${name}/${key}`, measure]);
  return part === undefined ? all : all.filter(([each]) => each === selector);
}

interface BenchOptions {
  names: string[];
  runs: number | null;
  only: readonly string[];
  chromium: string;
  rawOnly: boolean;
}

function parseOptions(): BenchOptions {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runs: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      chromium: { type: 'string', default: '/usr/lib/chromium/chromium' },
      raw: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.filter((name) => selectMeasures(name).length === 0);
  if (unknown.length > 0) throw new Error(`unknown section: ${unknown.join(', ')}. Sections: ${Object.keys(sections).join(', ')}`);
  const runs = values.runs === undefined ? null : Number(values.runs);
  if (runs !== null && (!Number.isInteger(runs) || runs < 1)) throw new Error('--runs must be a whole number of at least 1');
  return {
    names: positionals.length > 0 ? positionals : Object.keys(sections).filter((name) => !named.has(name)),
    runs,
    only: values.only,
    chromium: values.chromium,
    rawOnly: values.raw,
  };
}

/** Writes a progress line. On a terminal, each replaces the previous one. */
function printProgress(section: string, progress: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${section}: ${progress}` : `${section}: ${progress}\n`);
}

function saveResults(results: readonly Section[]): string {
  const folder = join(import.meta.dirname, 'results');
  mkdirSync(folder, { recursive: true });
  const measuredAt = new Date().toISOString();
  const path = join(folder, `${measuredAt.replaceAll(':', '-')}.json`);
  const host = { processors: cpus().length, model: cpus()[0]?.model ?? '', node: process.version };
  writeFileSync(path, `${JSON.stringify({ taken_at: measuredAt, host, sections: results }, null, 2)}\n`);
  return path;
}

/** A section that fails counts as a miss; the others still run. */
async function runSection(
  stage: Stage,
  [name, measure]: [name: string, measure: Measure],
  context: Omit<Bench, 'stage' | 'reportProgress'>,
): Promise<Section> {
  const child = stage.createChild();
  try {
    return await measure({ ...context, stage: child, reportProgress: (progress) => printProgress(name, progress) });
  } catch (error) {
    const check: Check = { what: `${name} could be measured`, measured: 0, target: 1, rule: 'at least', unit: '' };
    return { name, columns: ['failed'], rows: [], checks: [check], notes: [inspect(error)] };
  } finally {
    await child.end();
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  }
}

async function runSections(stage: Stage, options: BenchOptions): Promise<Section[]> {
  const site = await serveSite(stage);
  const withBerth = !options.rawOnly && hasBerth();
  const results: Section[] = [];
  for (const name of options.names) {
    for (const measure of selectMeasures(name)) {
      const result = await runSection(stage, measure, { ...options, site, withBerth });
      printSection(result);
      results.push(result);
    }
  }
  return results;
}

async function main(): Promise<void> {
  const options = parseOptions();
  const stage = new Stage();
  process.once('exit', () => stage.killAll());
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      void stage.end().finally(() => process.exit(130));
    });
  }
  try {
    const results = await runSections(stage, options);
    const checks = results.flatMap((result) => result.checks);
    const summary = checks.length === 0 ? 'baselines only' : `${checks.filter(passes).length} of ${checks.length} targets met`;
    console.log(`\n${summary}; figures in ${saveResults(results)}`);
  } finally {
    await stage.end();
  }
}

await main();
