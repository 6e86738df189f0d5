/**
 * Runs the checks and the tests against one database server, and leaves nothing behind.
 *
 *     node scripts/test.ts check    what every change must pass: static checks, unit and API tests
 *     node scripts/test.ts all      what a change of an ordinary day can break: the same, and end-to-end tests of each capability
 *     node scripts/test.ts merge    what must hold for a merge: the same, and all other tests but those of the night
 *     node scripts/test.ts affected [BASE]  static checks, and the tests nearest to what differs from BASE (HEAD), for some minutes
 *     node scripts/test.ts microvm  virtual machines: builds the image where it is missing; emulated where KVM does not work
 *     node scripts/test.ts nightly  what `merge` and `microvm` leave out: files by name, and files with tests that are marked `nightly`
 *
 * A promise stands in `all` once, at the level that can break it. `merge` has what changes seldom break, or what takes minutes to
 * prove: faults, fuzz, hostile pages, operations, packages and clients, and every further story of the pages. The night has the same
 * promise once more: in other languages, sizes, repetitions, clients and hostile variants.
 */
import { resolve } from 'node:path';
import { createTemplate, startTestServer, testDatabaseVariable } from '../packages/server/testing/test-store.ts';
import { affectedTests, listChanges, readImportGraph } from './test/test-affected.ts';
import {
  all,
  apiTests,
  browserTests,
  browserUnitTests,
  countingBrowserTests,
  everyday,
  faultTests,
  fixtureTests,
  fleetFaultTests,
  fuzzTests,
  imageTests,
  isolatedApiTests,
  isolatedUnitTests,
  machineTests,
  nightlyBrowserTests,
  nightlyFleetTests,
  nightlyMachineTests,
  sampledFiles,
  serialUnitTests,
  startingUnitTests,
  turnTests,
  unitTests,
  type Picked,
} from './test/test-files.ts';
import { changedFixtures, recordFixtures } from './test/test-fixtures.ts';
import { TestRun, type Step } from './test/test-run.ts';
import { TestTimes } from './test/test-times.ts';
import { clockSlowness } from '../tests/yardstick.ts';

/** Variable with which tests that are marked `nightly` are skipped. */
const sampleVariable = 'BERTH_TEST_SAMPLE';
/** Variable that says how many times slower than usual this machine is. */
const slownessVariable = 'BERTH_TEST_SLOWNESS';
const root = resolve(import.meta.dirname, '..');
const bin = resolve(root, 'node_modules/.bin');
const node = resolve(bin, 'node');

/** Limits are for two cores of the usual speed. A slower machine gets as much more time, and no more than four times as much. */
const slowness = Math.min(4, clockSlowness());
/** A file whose tests take this long, together or one of them, waits for ever. The longest takes two minutes on two cores. */
const testTimeoutMs = 300_000 * slowness;
/** Files that one process runs: enough to share what they import, which takes as long as ten of them; few enough to be spread over lanes. */
const batchSize = 60;
/** Files that one process runs where they start browsers: end-to-end tests, and unit tests (also those with processes). */
const smallBatchSize = 3;
const browserBatchSize = 10;
/** A process takes two minutes at most; one that takes this long is held open by what a file left behind. */
const fileTimeoutMs = 600_000 * slowness;
/** Lanes for two cores, as every process waits at times: for files, for browsers, for the timeouts that a test proves. */
const lanes = 4;
/** Static checks compute with several threads, and take memory. */
const staticLanes = 3;
/** The longest start first, so that all lanes end at about the same time. */
const times = TestTimes.read(root);

const staticChecks: Step[] = [
  { name: 'types', commands: [[resolve(bin, 'tsc'), '-p', '.']] },
  { name: 'web types', commands: [[resolve(bin, 'tsc'), '-p', 'packages/web']] },
  { name: 'types of Node 20', commands: [[resolve(bin, 'tsc'), '-p', 'packages/cli']] },
  { name: 'lint', commands: [[resolve(bin, 'oxlint'), '--type-aware', '--deny-warnings']] },
  { name: 'format', commands: [[resolve(bin, 'oxfmt'), '--check']] },
  { name: 'boundaries', commands: [[node, 'scripts/boundaries.ts']] },
  { name: 'migrations', commands: [[node, 'scripts/checks/migrations.ts']] },
  { name: 'regexes', commands: [[node, 'scripts/checks/regexes.ts']] },
  {
    name: 'contract',
    commands: [
      [node, 'scripts/openapi.ts', '--check'],
      [node, 'scripts/checks/openapi-lint.ts'],
      [node, 'scripts/clients.ts', '--check'],
    ],
  },
  { name: 'configuration page', commands: [[node, 'scripts/configuration.ts', '--check']] },
  { name: 'errors page', commands: [[node, 'scripts/errors-page.ts', '--check']] },
  { name: 'commands page', commands: [[node, 'scripts/commands-page.ts', '--check']] },
];

/** The third that takes longest has a process for each file, so that none waits behind another. */
const longBrowserTests = [
  ...new Set([...times.longestFirst(browserTests).slice(0, Math.ceil(browserTests.length / 3)), ...countingBrowserTests]),
];
const shortBrowserTests = browserTests.filter((file) => !longBrowserTests.includes(file));

const runner = (testMs: number, files: readonly string[]): string[] => [
  node,
  // Tests of a package import what the build has inside; the others need a third of the time to load it from there.
  ...(files.every((file) => file.startsWith('tests/')) ? ['--import=./tests/built.ts'] : []),
  // Tests leave much behind that is dead at once: the default of 16 MiB takes a tenth more of the processor for all of a run.
  '--max-semi-space-size=64',
  `--test-timeout=${testMs}`,
  '--test-reporter=spec',
  '--test-reporter-destination=stdout',
];

const quickTests = (pick: Picked): Step[] => [
  isolated('of their own process', times.longestFirst(pick([...isolatedUnitTests, ...isolatedApiTests])), lanes),
  batched('with processes', pick(startingUnitTests), lanes, browserBatchSize),
  batched('with browsers', browserUnitTests, lanes, browserBatchSize),
  batched('API tests', pick(apiTests), lanes),
  batched('without processes', unitTests, lanes),
];
const slowTests = (pick: Picked): Step[] => [
  isolated('ledger under faults', pick(faultTests), 1),
  isolated('browsers and fuzz', times.longestFirst(pick([...longBrowserTests, ...fuzzTests])), lanes),
  batched('browsers', [...pick(shortBrowserTests), ...changedFixtures(root, fixtureTests)], lanes, smallBatchSize),
];
const serialStep = (pick: Picked): Step => isolated('unit tests, one at a time', pick(serialUnitTests), 1);
/** Steps of a check. Tests that wait run beside tests that compute, and the lanes are idle once, at the end. */
const checkSteps = (): Step[] => [together('unit and API tests', ...quickTests(everyday)), serialStep(everyday)];
const everydaySteps = (): Step[] => [
  together('unit, API and end-to-end tests, and changed fixtures', ...quickTests(everyday), ...slowTests(everyday)),
  serialStep(everyday),
];
const mergeSteps = (): Step[] => [
  together('unit, API and end-to-end tests, ledger under faults, fuzz and changed fixtures', ...quickTests(all), ...slowTests(all)),
  serialStep(all),
  isolated('fleets under faults, and turns of the event loop', times.longestFirst([...fleetFaultTests, ...turnTests]), 3),
];

/** Emulated machines are some thirty times slower than real ones: few tests, each with time. */
const machineTimeouts = { testMs: 600_000 * slowness, stepMs: 1_500_000 * slowness };
const imagesDir = process.env['BERTH_IMAGES_DIR'] ?? resolve(root, 'data/images');
const onImages = { ...withoutTestVariables(), BERTH_IMAGES_DIR: imagesDir };
const machineImage: Step = { name: 'machine image', commands: [[node, 'images/image.ts']], env: onImages };
/** Services that start at the same time would build the same templates. */
const machineTemplates: Step = {
  name: 'machine templates',
  commands: [[node, 'packages/server/src/boot/template-main.ts']],
  env: onImages,
};
const nightlySteps = (): Step[] => [
  isolated(
    'more tests',
    [...nightlyBrowserTests, ...nightlyFleetTests, ...sampledFiles.filter((file) => !serialUnitTests.includes(file))],
    lanes,
  ),
  isolated(
    'more tests, one at a time',
    sampledFiles.filter((file) => serialUnitTests.includes(file)),
    1,
  ),
];
/** The service and its tools know no variables of tests, and refuse to start with one. */
function withoutTestVariables(): Record<string, undefined> {
  const names = [testDatabaseVariable, sampleVariable, slownessVariable, ...Object.keys(process.env)].filter((name) =>
    name.startsWith('BERTH_TEST_'),
  );
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

/** Runs files on machines in this order, the longest first. An emulated machine mostly uses one processor: two files at once. */
function onMachines(name: string, files: string[], atOnce: number): Step {
  const env = { BERTH_IMAGES_DIR: imagesDir, BERTH_TEST_RUNTIME: 'qemu' };
  return { ...isolated(name, [...new Set(files)], atOnce, machineTimeouts.testMs), env, timeoutMs: machineTimeouts.stepMs };
}

/** Runs each file in a process of its own. */
function isolated(name: string, files: string[], atOnce: number, testMs = testTimeoutMs): Step {
  const commands = files.map((file) => [...runner(testMs, [file]), 'scripts/test/test-batch.ts', file]);
  const rerun = (some: string[]): string[] => [...runner(testMs, some), '--test', '--test-concurrency=1', ...some];
  return { name, files, commands, lanes: atOnce, timeoutMs: fileTimeoutMs, rerun };
}

/**
 * One step of several: at the end of each, lanes are idle. What waits runs beside what computes, so each step's commands
 * are spread over the whole; of few and long ones the last begins well before the end. As many lanes as the widest has.
 */
function together(name: string, ...steps: readonly Step[]): Step {
  const [first] = steps;
  const placed = steps.flatMap(({ commands }) => commands.map((command, i) => ({ command, at: i / (commands.length + 2) })));
  return {
    name,
    files: steps.flatMap(({ files = [] }) => files),
    commands: placed.toSorted((one, other) => one.at - other.at).map(({ command }) => command),
    lanes: Math.max(...steps.map((step) => step.lanes ?? 1)),
    timeoutMs: fileTimeoutMs,
    ...(first?.rerun ? { rerun: first.rerun } : {}),
  };
}

/** Runs many files in one process, several such processes side by side. */
function batched(name: string, files: string[], atOnce: number, size = batchSize): Step {
  const count = atOnce * Math.ceil(files.length / size / atOnce);
  const ordered = times.longestFirst(files);
  // Dealt like cards, so that neither long files nor neighbours by name, which are alike, all fall to one process.
  const batches = Array.from({ length: count }, (_, i) => ordered.filter((_file, at) => at % count === i));
  const commands = batches.map((batch) => [...runner(testTimeoutMs, batch), 'scripts/test/test-batch.ts', ...batch]);
  return { ...isolated(name, files, 1), commands, lanes: atOnce };
}

/** Tests of an `affected` run are over after this, as far as is known of how long they take: with the static checks and the graph of imports, three to five minutes. */
const affectedMsMax = 120_000 * slowness;

/** Runs the tests nearest to the changed files, as many as there is time for, and those that have changed themselves in any case. */
async function affectedStep(base: string): Promise<Step> {
  const changed = listChanges(root, base);
  const files = affectedTests(root, changed, await readImportGraph(root));
  const estimates = times.estimates(files);
  const fits = (command: readonly string[], sinceMs: number): boolean => {
    const file = command.at(-1) ?? '';
    return changed.includes(file) || sinceMs + (estimates.get(file) ?? 0) <= affectedMsMax;
  };
  return { ...isolated('affected tests', files, lanes), fits };
}

const scopes = ['affected', 'check', 'all', 'merge', 'microvm', 'nightly'] as const;

async function main([name, base = 'HEAD']: readonly string[]): Promise<number> {
  const scope = scopes.find((each) => each === name);
  if (!scope) {
    console.error(`usage: node scripts/test.ts ${scopes.join('|')} [BASE]`);
    return 2;
  }
  if (scope !== 'nightly') process.env[sampleVariable] = '1';
  process.env[slownessVariable] = slowness.toFixed(2);
  const run = new TestRun(root);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => run.interrupt());
  await run.begin();
  const server = process.env[testDatabaseVariable] ? undefined : await startTestServer();
  try {
    if (server) process.env[testDatabaseVariable] = server.url;
    await createTemplate(process.env[testDatabaseVariable] ?? '');
    if (scope === 'affected') {
      await run.steps(staticChecks, staticLanes);
      await run.steps([await affectedStep(base)], 1);
    }
    const steps: Partial<Record<typeof scope, () => Step[]>> = { check: checkSteps, all: everydaySteps, merge: mergeSteps };
    if (steps[scope]) {
      await run.steps(staticChecks, staticLanes);
      await run.steps(steps[scope](), 1);
    }
    if ((scope === 'all' || scope === 'merge') && run.exitCode === 0) recordFixtures(root, fixtureTests);
    if (scope === 'nightly') await run.steps(nightlySteps(), 1);
    if (scope === 'microvm' || scope === 'nightly') {
      await run.steps([machineImage], 1);
      // Each of these two computes with one processor.
      await run.steps([machineTemplates, onMachines('images of virtual machines', imageTests, 1)], 2);
      const more = scope === 'nightly' ? nightlyMachineTests : [];
      await run.steps([onMachines('virtual machines', [...machineTests, ...more], 2)], 1);
    }
  } finally {
    await server?.stop();
  }
  times.write(run.durationsMs);
  return run.finish();
}

process.chdir(root);
process.exitCode = await main(process.argv.slice(2));
