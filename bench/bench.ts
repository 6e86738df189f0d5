/**
 * Measures the service beside a raw browser and a bare server in the same run,
 * because a host's speed drifts and only ratios keep.
 *
 *   npm run bench                       every section
 *   npm run bench -- lifecycle cdp      some of them
 *   npm run bench -- memory --runs 50   repeated so many times
 *   npm run bench -- view/recording     one part of a section that has parts
 *   npm run bench -- --raw              only the yardsticks, without the service
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { inspect, parseArgs } from 'node:util';
import { isBerthThere } from './berth.ts';
import type { Bench } from './context.ts';
import { type Check, type Section, passes, printSection } from './figures.ts';
import { cdp } from './sections/cdp.ts';
import { cold } from './sections/cold.ts';
import { fetches } from './sections/fetch.ts';
import { gone } from './sections/gone.ts';
import { http } from './sections/http.ts';
import { lifecycle } from './sections/lifecycle.ts';
import { machines } from './sections/machines.ts';
import { memory } from './sections/memory.ts';
import { money } from './sections/money.ts';
import { view } from './sections/view.ts';
import { serveSite } from './site.ts';
import { Stage } from './stage.ts';

type Measure = (bench: Bench) => Promise<Section>;

/** Where a section has parts, each fails by itself. */
const sections: Record<string, Measure | Record<string, Measure>> = {
  lifecycle,
  cold,
  cdp,
  http,
  fetch: fetches,
  memory,
  gone,
  view,
  money,
  machines,
};

/** By what each is asked for: `view` for all of its parts, `view/recording` for one. */
function measuresOf(wish: string): [name: string, measure: Measure][] {
  const [name = '', part] = wish.split('/');
  const section = sections[name] ?? {};
  const all: [string, Measure][] =
    typeof section === 'function' ? [[name, section]] : Object.entries(section).map(([key, measure]) => [`${name}/${key}`, measure]);
  return part === undefined ? all : all.filter(([each]) => each === wish);
}

interface Wish {
  names: string[];
  runs: number | null;
  chromium: string;
  rawOnly: boolean;
}

function readWish(): Wish {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runs: { type: 'string' },
      chromium: { type: 'string', default: '/usr/lib/chromium/chromium' },
      raw: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.filter((name) => measuresOf(name).length === 0);
  if (unknown.length > 0) throw new Error(`no section ${unknown.join(', ')}; there are ${Object.keys(sections).join(', ')}`);
  const runs = values.runs === undefined ? null : Number(values.runs);
  if (runs !== null && (!Number.isInteger(runs) || runs < 1)) throw new Error('--runs takes a whole number from 1');
  return { names: positionals.length > 0 ? positionals : Object.keys(sections), runs, chromium: values.chromium, rawOnly: values.raw };
}

/** On a terminal each line of progress takes the place of the last. */
function sayProgress(section: string, progress: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${section}: ${progress}` : `${section}: ${progress}\n`);
}

function keep(results: readonly Section[]): string {
  const folder = join(import.meta.dirname, 'results');
  mkdirSync(folder, { recursive: true });
  const takenAt = new Date().toISOString();
  const path = join(folder, `${takenAt.replaceAll(':', '-')}.json`);
  const host = { processors: cpus().length, model: cpus()[0]?.model ?? '', node: process.version };
  writeFileSync(path, `${JSON.stringify({ taken_at: takenAt, host, sections: results }, null, 2)}\n`);
  return path;
}

/** A section that fails is a miss and takes nothing with it: the others still run. */
async function runSection(
  stage: Stage,
  [name, measure]: [name: string, measure: Measure],
  of: Omit<Bench, 'stage' | 'say'>,
): Promise<Section> {
  const own = stage.inner();
  try {
    return await measure({ ...of, stage: own, say: (progress) => sayProgress(name, progress) });
  } catch (error) {
    const check: Check = { what: `${name} could be measured`, measured: 0, target: 1, rule: 'at least', unit: '' };
    return { name, columns: ['failed'], rows: [], checks: [check], notes: [inspect(error)] };
  } finally {
    await own.end();
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  }
}

async function runSections(stage: Stage, wish: Wish): Promise<Section[]> {
  const site = await serveSite(stage);
  const withBerth = !wish.rawOnly && isBerthThere();
  const results: Section[] = [];
  for (const name of wish.names) {
    for (const measure of measuresOf(name)) {
      const result = await runSection(stage, measure, { site, chromium: wish.chromium, runs: wish.runs, withBerth });
      printSection(result);
      results.push(result);
    }
  }
  return results;
}

async function main(): Promise<void> {
  const wish = readWish();
  const stage = new Stage();
  process.once('exit', () => stage.killAtOnce());
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      void stage.end().finally(() => process.exit(130));
    });
  }
  try {
    const results = await runSections(stage, wish);
    const checks = results.flatMap((result) => result.checks);
    const met = checks.length === 0 ? 'the yardsticks alone' : `${checks.filter(passes).length} of ${checks.length} targets met`;
    console.log(`\n${met}; figures in ${keep(results)}`);
  } finally {
    await stage.end();
  }
}

await main();
