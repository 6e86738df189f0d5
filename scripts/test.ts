/**
 * Runs the checks and the tests against one database server, and leaves nothing behind.
 *
 *     node scripts/test.ts check    what every change must pass: static checks, unit and API tests
 *     node scripts/test.ts microvm  virtual machines: builds the image where it is missing; emulated where KVM does not work
 *     node scripts/test.ts all      both, and the end-to-end tests with real browsers
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { makeTemplate, startTestServer, testDatabaseVariable } from '../packages/server/src/store/test-store.ts';

interface Step {
  name: string;
  command: string[];
  /** undefined takes a variable away. */
  env?: Record<string, string | undefined>;
  /** After that the step is ended and has failed. */
  timeoutMs?: number;
  /** How long one of its tests may wait. */
  testMs?: number;
  /** A failing file of tests is run once more, alone: see `#again`. */
  files?: string[];
}

interface Outcome {
  code: number | null;
  output: string;
}

/** A test that waits this long waits for ever. */
const testTimeoutMs = 120_000;
/** The longest step takes ten minutes on two cores; a file of tests that never exits must not hold it for ever. */
const stepTimeoutMs = 1_800_000;
/** Enough for a test process to end its browsers; then it is killed. */
const graceMs = 10_000;
/** More failing files than this are a fault, not a machine that stood still. */
const unsteadyFilesMax = 4;

const bin = resolve(import.meta.dirname, '../node_modules/.bin');
const node = resolve(bin, 'node');

const staticChecks: Step[] = [
  { name: 'types', command: [resolve(bin, 'tsc'), '-p', '.'] },
  { name: 'web types', command: [resolve(bin, 'tsc'), '-p', 'packages/web'] },
  { name: 'lint', command: [resolve(bin, 'oxlint'), '--type-aware', '--deny-warnings'] },
  { name: 'format', command: [resolve(bin, 'oxfmt'), '--check'] },
  { name: 'boundaries', command: [node, 'scripts/boundaries.ts'] },
  { name: 'contract', command: [node, 'scripts/openapi.ts', '--check'] },
  { name: 'readme', command: [node, 'scripts/readme.ts', '--check'] },
];

/** Browsers measure and wait in real time, so end-to-end files do not share the machine. */
const quickTests = [
  tests('unit tests', '{packages/*/src/**,images,tests,tests/corpus}/*.test.ts', 2),
  tests('API tests', 'tests/{api/**/*,shop/api}.test.ts', 2),
];
const browserTests = [
  tests('money under faults', 'tests/ledger/*.test.ts', 1),
  tests('end-to-end tests', 'tests/{e2e/**/*,shop/shop}.test.ts', 1),
];

/** Emulated machines are some thirty times slower than real ones: few tests, each with time. */
const machineTimeouts = { testMs: 600_000, stepMs: 1_500_000 };
const imagesDir = process.env['BERTH_IMAGES_DIR'] ?? resolve(import.meta.dirname, '../data/images');
const machineTests: Step[] = [
  {
    name: 'machine image',
    command: [node, 'images/image.ts'],
    // The service and its tools know no variables of tests.
    env: { BERTH_IMAGES_DIR: imagesDir, BERTH_TEST_RUNTIME: undefined, [testDatabaseVariable]: undefined },
  },
  onMachines('virtual machines', '{images,packages/*/src/**,tests/microvm}/*.microvm.ts'),
  // The same tests as of processes. All of them run so; these are what two processors emulate in six minutes.
  onMachines('sessions in virtual machines', 'tests/e2e/{connect,egress,vnc}.test.ts'),
];

function onMachines(name: string, pattern: string): Step {
  const env = { BERTH_IMAGES_DIR: imagesDir, BERTH_TEST_RUNTIME: 'qemu' };
  return { ...tests(name, pattern, 1, machineTimeouts.testMs), env, timeoutMs: machineTimeouts.stepMs };
}

function tests(name: string, pattern: string, concurrency: number, testMs = testTimeoutMs): Step {
  const files = globSync(pattern, { cwd: resolve(import.meta.dirname, '..') }).sort();
  return { name, command: files.length === 0 ? [] : testCommand(files, concurrency, testMs), files, testMs };
}

function testCommand(files: string[], concurrency: number, testMs = testTimeoutMs): string[] {
  return [node, '--test', '--test-reporter=spec', `--test-timeout=${testMs}`, `--test-concurrency=${concurrency}`, ...files];
}

class Run {
  #children = new Set<ChildProcess>();
  #failed: string[] = [];
  #unsteady: string[] = [];
  #counts = { pass: 0, fail: 0 };
  #interrupted = false;

  /** `atOnce` steps side by side, in the order of the list. Later steps run also when earlier ones failed: all faults are told. */
  async steps(list: Step[], atOnce: number): Promise<void> {
    const waiting = [...list];
    const lane = async () => {
      for (let step = waiting.shift(); step && !this.#interrupted; step = waiting.shift()) await this.#step(step);
    };
    await Promise.all(Array.from({ length: atOnce }, lane));
  }

  note(name: string, fault: string | undefined): void {
    console.log(`${fault === undefined ? 'ok  ' : 'FAIL'} ${name}`);
    if (fault === undefined) return;
    this.#failed.push(name);
    console.log(fault);
  }

  /** Ends what runs: each step is a process group of its own, browsers and all. */
  interrupt(): void {
    this.#interrupted = true;
    for (const child of this.#children) end(child);
  }

  get exitCode(): number {
    if (this.#interrupted) return 130;
    return this.#failed.length > 0 ? 1 : 0;
  }

  finish(startedMs: number): void {
    const verdict = this.#failed.length > 0 ? `FAILED: ${this.#failed.join(', ')}` : 'All passed';
    console.log(`${this.#counts.pass} passed, ${this.#counts.fail} failed`);
    if (this.#unsteady.length > 0) console.log(`UNSTEADY, passed when run once more: ${this.#unsteady.join(', ')}`);
    console.log(`${this.#interrupted ? 'Interrupted' : verdict} (${seconds(startedMs)})`);
  }

  async #step(step: Step): Promise<void> {
    const { name, command } = step;
    if (command.length === 0) return console.log(`--   ${name}: there are none`);
    const startedMs = performance.now();
    const { code, output } = await this.#command(step, command);
    const summary = output.match(/^ℹ (tests|pass|fail|skipped|todo) \d+$/gm)?.map((line) => line.slice(2));
    for (const [, kind, count] of output.matchAll(/^ℹ (pass|fail) (\d+)$/gm)) this.#counts[kind as 'pass' | 'fail'] += Number(count);
    const title = `${name} (${seconds(startedMs)})${summary ? `: ${summary.join(', ')}` : ''}`;
    const unsteady = code !== 0 && step.files ? await this.#again(step, step.files, output) : false;
    if (unsteady) {
      this.#unsteady.push(...unsteady);
      console.log(`${title}\n${failuresIn(output)}`);
    }
    this.note(title, code === 0 || unsteady ? undefined : output);
  }

  /**
   * Browsers and clocks are real, and a machine that others share may stand still for a second at the wrong moment: the
   * few files that failed are run once more, alone. What passes then is told, with how it failed, and does not fail the run.
   */
  async #again(step: Step, all: string[], output: string): Promise<string[] | false> {
    const failed = new Set([...output.matchAll(/^test at (\S+?):\d+:\d+$/gm)].map(([, file = '']) => file));
    const files = all.filter((file) => failed.has(file));
    if (this.#interrupted || files.length === 0 || files.length !== failed.size || files.length > unsteadyFilesMax) return false;
    const second = await this.#command(step, testCommand(files, 1, step.testMs));
    if (second.code !== 0) console.log(`again:\n${failuresIn(second.output)}`);
    return second.code === 0 && files;
  }

  async #command({ env, timeoutMs = stepTimeoutMs }: Step, [program = '', ...args]: string[]): Promise<Outcome> {
    const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
    this.#children.add(child);
    const limit = setTimeout(() => end(child), timeoutMs);
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise<number | null>((done) => {
      child.once('error', (error) => {
        output += String(error);
        done(null);
      });
      child.once('close', done);
      // What it has left behind may hold its output open.
      child.once('exit', () => setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()), graceMs).unref());
    });
    clearTimeout(limit);
    this.#children.delete(child);
    return { code, output };
  }
}

/** The part of a report that tells what failed, and how. */
const failuresIn = (output: string): string => output.slice(Math.max(0, output.indexOf('✖ failing tests:')));

function end(child: ChildProcess): void {
  signalGroup(child, 'SIGTERM');
  setTimeout(() => signalGroup(child, 'SIGKILL'), graceMs).unref();
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  process.kill(-child.pid, signal);
}

const seconds = (sinceMs: number): string => `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;

/** What git sees in the working tree; `undefined` where there is no repository. */
async function readTree(): Promise<string | undefined> {
  const git = spawn('git', ['status', '--porcelain'], { stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  git.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((done) => git.once('error', () => done(null)).once('close', done));
  return code === 0 ? output : undefined;
}

/** Checks and tests must write nothing into the tree. A clone that is only tested, as in CI, must be clean to the last file. */
function compareTrees(before: string | undefined, after: string | undefined): string | undefined {
  const expected = process.env['CI'] ? '' : before;
  return before === undefined || after === expected ? undefined : `before:\n${before}after:\n${after}`;
}

async function main(scope: string | undefined): Promise<number> {
  if (scope !== 'check' && scope !== 'microvm' && scope !== 'all') {
    console.error('usage: node scripts/test.ts check|microvm|all');
    return 2;
  }
  const startedMs = performance.now();
  const run = new Run();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => run.interrupt());
  const treeBefore = await readTree();
  const server = process.env[testDatabaseVariable] ? undefined : await startTestServer();
  try {
    if (server) process.env[testDatabaseVariable] = server.url;
    await makeTemplate(process.env[testDatabaseVariable] ?? '');
    if (scope !== 'microvm') await run.steps(staticChecks, 2);
    if (scope !== 'microvm') await run.steps(quickTests, 1);
    if (scope === 'all') await run.steps(browserTests, 1);
    if (scope !== 'check') await run.steps(machineTests, 1);
  } finally {
    await server?.stop();
  }
  run.note('clean tree', compareTrees(treeBefore, await readTree()));
  run.finish(startedMs);
  return run.exitCode;
}

process.chdir(resolve(import.meta.dirname, '..'));
process.exitCode = await main(process.argv[2]);
