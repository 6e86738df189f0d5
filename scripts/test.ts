/**
 * Runs the checks and the tests against one database server, and leaves nothing behind.
 *
 *     node scripts/test.ts check    what every change must pass: static checks, unit and API tests
 *     node scripts/test.ts all      the same, the ledger under faults, and the end-to-end tests with real browsers
 *     node scripts/test.ts microvm  virtual machines: builds the image where it is missing; emulated where KVM does not work
 */
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { createTemplate, startTestServer, testDatabaseVariable } from '../packages/server/src/store/test-store.ts';
import { changedFixtures, recordFixtures } from './test-fixtures.ts';
import { TestRun, type Step } from './test-run.ts';

const root = resolve(import.meta.dirname, '..');
const bin = resolve(root, 'node_modules/.bin');
const node = resolve(bin, 'node');

/** A test that waits this long waits for ever. */
const testTimeoutMs = 120_000;
/** Files that one process runs: enough to share what they import, few enough that a fault is found soon. */
const batchSize = 16;
/** A batch takes half a minute; one that takes this long is held open by what a file left behind. */
const batchTimeoutMs = 300_000;
/** Two cores: side by side what waits, one after another what measures. */
const lanes = 2;
/** What starts browsers waits for them most of the time. */
const waitingLanes = 3;

const staticChecks: Step[] = [
  { name: 'types', commands: [[resolve(bin, 'tsc'), '-p', '.']] },
  { name: 'web types', commands: [[resolve(bin, 'tsc'), '-p', 'packages/web']] },
  { name: 'lint', commands: [[resolve(bin, 'oxlint'), '--type-aware', '--deny-warnings']] },
  { name: 'format', commands: [[resolve(bin, 'oxfmt'), '--check']] },
  { name: 'boundaries', commands: [[node, 'scripts/boundaries.ts']] },
  { name: 'words', commands: [[node, 'scripts/words.ts']] },
  { name: 'regexes', commands: [[node, 'scripts/regexes.ts']] },
  { name: 'contract', commands: [[node, 'scripts/openapi.ts', '--check']] },
  { name: 'configuration page', commands: [[node, 'scripts/configuration.ts', '--check']] },
  { name: 'errors page', commands: [[node, 'scripts/errors-page.ts', '--check']] },
];

const filesOf = (...patterns: string[]): string[] => globSync(patterns, { cwd: root }).toSorted();

/** Unit tests that compare times or shares of the processor: they have the machine to themselves. */
const serialUnitTests = filesOf(
  'packages/server/src/runtime/{encoder,process}/*.test.ts',
  'packages/server/src/runtime/host/cgroup.test.ts',
  'packages/server/src/browser/screencast/*.test.ts',
  'packages/server/src/ops/stall-watch.test.ts',
);
/** Of folders whose other tests need a process of their own: these only calculate. */
const plainUnitTests = filesOf(
  'packages/server/src/browser/cdp/{client-message,client-rules,message-head,net-errors,resumption,turns}.test.ts',
  'packages/server/src/browser/input/{input-lane,remote-keys}.test.ts',
  'packages/server/src/content/{convert,decode-body,extract,kind-of,main-content,markdown}.test.ts',
  'packages/server/src/runtime/host/{cgroup-tree,pressure}.test.ts',
  'packages/server/src/runtime/qemu/{breaker,image,qmp}.test.ts',
  'packages/server/src/steps/{recorder,schema,run/*}.test.ts',
  'images/{apt-sources,command,digest,imports,packages}.test.ts',
);
/** Unit tests that start browsers, processes or database servers, or read figures of their own process. */
const isolatedUnitTests = filesOf(
  'packages/server/src/{browser,runtime,page-scripts,steps,captcha}/**/*.test.ts',
  'packages/server/src/{content,recordings,store}/*.test.ts',
  'packages/server/src/{hostile-text,data-dir}.test.ts',
  'packages/guest/src/*.test.ts',
  'tests/hostile-text/*.test.ts',
  'images/*.test.ts',
).filter((file) => !serialUnitTests.includes(file) && !plainUnitTests.includes(file));
const unitTests = filesOf('packages/*/src/**/*.test.ts', 'tests/{,corpus/}*.test.ts').filter(
  (file) => !isolatedUnitTests.includes(file) && !serialUnitTests.includes(file),
);
/** API tests that read the memory, handles or timers of their own process, or end processes. */
const isolatedApiTests = filesOf('tests/api/{crashes,leaks,store-down,timers}.test.ts');
const apiTests = filesOf('tests/api/**/*.test.ts').filter((file) => !isolatedApiTests.includes(file));
/** End-to-end tests that compare times, or whose pages must answer in time: they have the machine to themselves. */
const serialTests = filesOf('tests/e2e/{block-detection,hostile,live-view,settings,view-safety,vnc}.test.ts');
const browserTests = filesOf('tests/e2e/**/*.test.ts').filter((file) => !serialTests.includes(file));
/** Seeded requests, connections and messages: each file is capped at a few seconds and reads its own memory. */
const fuzzTests = filesOf('tests/fuzz/*.test.ts');
const fixtureTests = filesOf('tests/shop/*.test.ts');

const runner = (testMs: number): string[] => [
  node,
  `--test-timeout=${testMs}`,
  '--test-reporter=spec',
  '--test-reporter-destination=stdout',
];

const quickSteps = (): Step[] => [
  batched('unit tests', unitTests),
  isolated('unit tests with processes', isolatedUnitTests, waitingLanes),
  isolated('unit tests, one at a time', serialUnitTests, 1),
  batched('API tests', apiTests),
  isolated('API tests of the process', isolatedApiTests, lanes),
];

const slowSteps = (): Step[] => [
  isolated('ledger under faults', filesOf('tests/ledger/*.test.ts'), 1),
  isolated('fuzz', fuzzTests, lanes),
  isolated('end-to-end tests', browserTests, waitingLanes),
  isolated('end-to-end tests, one at a time', serialTests, 1),
];

/** Emulated machines are some thirty times slower than real ones: few tests, each with time. */
const machineTimeouts = { testMs: 600_000, stepMs: 1_500_000 };
const imagesDir = process.env['BERTH_IMAGES_DIR'] ?? resolve(root, 'data/images');
const machineSteps: Step[] = [
  {
    name: 'machine image',
    commands: [[node, 'images/image.ts']],
    env: { ...withoutTestVariables(), BERTH_IMAGES_DIR: imagesDir },
  },
  onMachines('virtual machines', '{images,packages/*/src/**,tests/microvm}/*.microvm.ts'),
  // The same tests as of processes. All of them run so; these are what two processors emulate in six minutes.
  onMachines('sessions in virtual machines', 'tests/e2e/{connect,egress,vnc}.test.ts'),
];

/** The service and its tools know no variables of tests, and refuse to start with one. */
function withoutTestVariables(): Record<string, undefined> {
  const names = [testDatabaseVariable, ...Object.keys(process.env)].filter((name) => name.startsWith('BERTH_TEST_'));
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

function onMachines(name: string, pattern: string): Step {
  const env = { BERTH_IMAGES_DIR: imagesDir, BERTH_TEST_RUNTIME: 'qemu' };
  return { ...isolated(name, filesOf(pattern), 1, machineTimeouts.testMs), env, timeoutMs: machineTimeouts.stepMs };
}

/** Each file in a process of its own. */
function isolated(name: string, files: string[], concurrency: number, testMs = testTimeoutMs): Step {
  const alone = (some: string[], atOnce: number): string[] => [...runner(testMs), '--test', `--test-concurrency=${atOnce}`, ...some];
  return { name, files, commands: files.length === 0 ? [] : [alone(files, concurrency)], rerun: (some) => alone(some, 1) };
}

/** Many files in one process, several such processes side by side. */
function batched(name: string, files: string[]): Step {
  const count = Math.ceil(files.length / batchSize);
  // Dealt like cards, so that neighbours by name, which are alike, do not all fall to one process.
  const batches = Array.from({ length: count }, (_, i) => files.filter((_file, at) => at % count === i));
  const commands = batches.map((batch) => [...runner(testTimeoutMs), 'scripts/test-batch.ts', ...batch]);
  return { ...isolated(name, files, 1), commands, lanes, timeoutMs: batchTimeoutMs };
}

async function main(scope: string | undefined): Promise<number> {
  if (scope !== 'check' && scope !== 'microvm' && scope !== 'all') {
    console.error('usage: node scripts/test.ts check|all|microvm');
    return 2;
  }
  const run = new TestRun(root);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => run.interrupt());
  await run.begin();
  const server = process.env[testDatabaseVariable] ? undefined : await startTestServer();
  try {
    if (server) process.env[testDatabaseVariable] = server.url;
    await createTemplate(process.env[testDatabaseVariable] ?? '');
    if (scope !== 'microvm') {
      await run.steps(staticChecks, lanes);
      await run.steps(quickSteps(), 1);
    }
    if (scope === 'all') {
      await run.steps(slowSteps(), 1);
      const changed = changedFixtures(root, fixtureTests);
      await run.steps([isolated('fixtures that changed', changed, lanes)], 1);
      if (run.exitCode === 0) recordFixtures(root, fixtureTests);
    }
    if (scope === 'microvm') await run.steps(machineSteps, 1);
  } finally {
    await server?.stop();
  }
  return run.finish();
}

process.chdir(root);
process.exitCode = await main(process.argv[2]);
