/** Runs steps, each a list of commands, and reports what passed, what failed and what took longest. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { cutOutput, describeFailures } from './test-failures.ts';
import type { FileResult } from './test-results.ts';

export interface Step {
  name: string;
  commands: string[][];
  /** How many of the commands run side by side. Default: 1. */
  lanes?: number;
  /** Undefined takes a variable away. */
  env?: Record<string, string | undefined>;
  /** Time after which a command is ended and has failed. */
  timeoutMs?: number;
  /** The test files that the commands run. */
  files?: string[];
  /** Whether there is still time for a command, so long after the first. Those that are left out are counted. */
  fits?: (command: readonly string[], sinceMs: number) => boolean;
  /** The command that runs some of them once more, one after another. */
  rerun?: (files: string[]) => string[];
}

interface Outcome {
  code: number | null;
  output: string;
  results: FileResult[];
}

/** The longest step takes six minutes on two cores; a test file that never exits must not hold the run for ever. */
const commandTimeoutMs = 1_200_000;
/** Enough for a test process to end its browsers; then it is killed. */
const graceMs = 10_000;
/** More failing files than this are a fault and not an unsteady test: they are not run once more. */
const rerunFilesMax = 4;
const slowestShown = 10;

export class TestRun {
  readonly #root: string;
  readonly #startedMs = performance.now();
  readonly #resultsDir = mkdtempSync(join(tmpdir(), 'berth-results-'));
  readonly #durationsMs = new Map<string, number>();
  readonly #children = new Set<ChildProcess>();
  readonly #failed: string[] = [];
  readonly #counts = { pass: 0, fail: 0 };
  #treeBefore: string | undefined;
  #commands = 0;
  #interrupted = false;

  constructor(root: string) {
    this.#root = root;
  }

  async begin(): Promise<void> {
    this.#treeBefore = await readTree();
  }

  /** Runs `lanes` steps side by side, in the order of the list. Later steps run also when earlier ones failed: one run shows all faults. */
  async steps(list: readonly Step[], lanes: number): Promise<void> {
    await inLanes(list, lanes, async (step) => {
      if (!this.#interrupted) await this.#step(step);
    });
  }

  /** Ends what runs: each command is a process group of its own, browsers included. */
  interrupt(): void {
    this.#interrupted = true;
    for (const child of this.#children) end(child);
  }

  /** Duration of each file that has run. */
  get durationsMs(): ReadonlyMap<string, number> {
    return this.#durationsMs;
  }

  get exitCode(): number {
    if (this.#interrupted) return 130;
    return this.#failed.length > 0 ? 1 : 0;
  }

  async finish(): Promise<number> {
    this.#note('clean tree', compareTrees(this.#treeBefore, await readTree()));
    rmSync(this.#resultsDir, { recursive: true, force: true });
    const slowest = [...this.#durationsMs].toSorted(([, a], [, b]) => b - a).slice(0, slowestShown);
    if (slowest.length > 0) console.log('Slowest files:');
    for (const [file, ms] of slowest) console.log(`  ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}`);
    console.log(`${this.#counts.pass} passed, ${this.#counts.fail} failed`);
    const result = this.#failed.length > 0 ? `FAILED: ${this.#failed.join(', ')}` : 'All passed';
    console.log(`${this.#interrupted ? 'Interrupted' : result} (${seconds(this.#startedMs)})`);
    return this.exitCode;
  }

  #note(name: string, fault: string | undefined, details = ''): void {
    console.log(`${fault === undefined ? 'ok  ' : 'FAIL'} ${name}${details}`);
    if (fault === undefined) return;
    this.#failed.push(name);
    console.log(fault);
  }

  async #step(step: Step): Promise<void> {
    const { name, commands, lanes = 1, fits = () => true } = step;
    if (commands.length === 0) return console.log(`--   ${name}: none`);
    // A log needs only the line of its end.
    if (process.stdout.isTTY) console.log(`...  ${name}`);
    const startedMs = performance.now();
    const outcomes: Outcome[] = [];
    let left = 0;
    await inLanes(commands, lanes, async (command) => {
      if (!fits(command, performance.now() - startedMs)) left += 1;
      else if (!this.#interrupted) outcomes.push(await this.#run(step, command));
    });
    const output = outcomes.map((outcome) => outcome.output).join('\n');
    const failed = outcomes.some(({ code }) => code !== 0);
    const details = ` (${seconds(startedMs)})${this.#count(output)}${left > 0 ? `; no time for ${left} of ${commands.length} files, left to npm test` : ''}`;
    this.#note(
      name,
      failed ? `${step.files ? describeFailures(outcomes) : cutOutput(output)}${await this.#rerun(step, outcomes)}` : undefined,
      details,
    );
  }

  /** Adds the counts of a step's output to those of the run, and returns them as text. */
  #count(output: string): string {
    const counts = new Map<string, number>();
    for (const [, kind = '', count] of output.matchAll(/^ℹ (tests|pass|fail|skipped|todo) (\d+)$/gm))
      counts.set(kind, (counts.get(kind) ?? 0) + Number(count));
    this.#counts.pass += counts.get('pass') ?? 0;
    this.#counts.fail += counts.get('fail') ?? 0;
    return counts.size === 0 ? '' : `: ${[...counts].map(([kind, count]) => `${kind} ${count}`).join(', ')}`;
  }

  /**
   * The few files that failed run once more, alone, to distinguish a fault
   * from an unsteady test. Both fail the run: an unsteady test proves nothing.
   */
  async #rerun(step: Step, outcomes: readonly Outcome[]): Promise<string> {
    const { rerun } = step;
    const again = outcomes.flatMap(({ results }) => results.filter(({ passed }) => !passed).map(({ file }) => file));
    if (this.#interrupted || !rerun || again.length === 0 || again.length > rerunFilesMax) return '';
    const second = await this.#run(step, rerun(again));
    const unsteady = second.results.filter(({ passed }) => passed).map(({ file }) => file);
    const faults = second.code === 0 ? '' : `Alone:\n${describeFailures([second])}\n`;
    return `${faults}${unsteady.length > 0 ? `UNSTEADY, passed when run alone: ${unsteady.join(', ')}` : ''}`;
  }

  async #run({ env, files, timeoutMs = commandTimeoutMs }: Step, command: readonly string[]): Promise<Outcome> {
    const resultsFile = join(this.#resultsDir, `${++this.#commands}.jsonl`);
    const [program = '', ...args] = files ? withResults(command, resultsFile) : command;
    const child = spawn(program, args, {
      cwd: this.#root,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Each test file and each service that one starts is a process; reading its modules from source takes it a second.
      env: { NODE_COMPILE_CACHE: join(this.#resultsDir, 'code'), ...process.env, ...env },
    });
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
      // A process that it left behind may hold its output open.
      child.once('exit', () => setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()), graceMs).unref());
    });
    clearTimeout(limit);
    this.#children.delete(child);
    return { code, output, results: this.#readResults(resultsFile) };
  }

  #readResults(file: string): FileResult[] {
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
    const results = lines.filter(Boolean).map((line) => JSON.parse(line) as FileResult);
    for (const { file: name, ms } of results) this.#durationsMs.set(name, Math.max(ms, this.#durationsMs.get(name) ?? 0));
    return results;
  }
}

/** The program and its options come first, so a second reporter goes right after the program. */
const withResults = ([program = '', ...args]: readonly string[], destination: string): string[] => [
  program,
  `--test-reporter=${resolve(import.meta.dirname, 'test-results.ts')}`,
  `--test-reporter-destination=${destination}`,
  ...args,
];

async function inLanes<T>(list: readonly T[], lanes: number, work: (each: T) => Promise<void>): Promise<void> {
  const waiting = [...list];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

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
