/** The service under test: consecutive runs on the same database. */
import { join } from 'node:path';
import type { RunPlan } from '../faults.ts';
import { WorkerProcess } from './worker-process.ts';

export interface ServiceRunsOptions {
  databaseUrl: string;
  adminKey: string;
  /** Holds one folder for each worker. */
  folder: string;
  environment: Record<string, string>;
  /** Receives injected faults, warnings, starts and exits, line by line. */
  log: (text: string) => void;
}

/** More than all backward jumps: a worker whose clock is behind the database's appears to have no heartbeat. */
const initialSkewMs = 6 * 3_600_000;
const noFaults: Omit<RunPlan, 'jumpMs'> = { faults: [], repliesMax: null, isNewWorker: false, workers: 1 };

export class ServiceRuns {
  readonly #options: ServiceRunsOptions;
  #plans: RunPlan[] = [];
  #skewMs = initialSkewMs;
  /** The number of folders so far, and those in use; the first one passes from run to run. */
  #folders = 0;
  #foldersInUse: number[] = [];
  #runCount = 0;
  /** The next process, with its code already loaded to make restarts fast. */
  #spare: WorkerProcess;
  #run: Promise<ServiceRun>;
  #isClosed = false;
  /** Exits that were neither injected nor requested. */
  readonly unexpectedExits: string[] = [];

  constructor(options: ServiceRunsOptions) {
    this.#options = options;
    this.#spare = this.#newProcess();
    this.#run = this.#begin({ ...noFaults, isNewWorker: true, jumpMs: 0 });
    this.#run.catch(() => {});
  }

  /** Resolves with the current run, or with the next one once it serves. */
  async current(): Promise<ServiceRun> {
    for (;;) {
      if (this.#isClosed) throw new Error('the service is closed');
      const run = await this.#run;
      if (!run.isOver) return run;
      await run.replaced;
    }
  }

  /** The first plan applies to the current run, the others to the runs after it. Later runs have no faults. */
  async applyPlans([first, ...later]: RunPlan[]): Promise<void> {
    const run = await this.current();
    this.#plans = later;
    if (first) run.applyPlan(first);
  }

  /** Stops injecting faults. A pending fault may still occur before the worker receives this. */
  async stopFaults(): Promise<void> {
    this.#plans = [];
    (await this.current()).applyPlan(noFaults);
  }

  /** Stops gracefully and starts again with the clock `jumpMs` later. Returns the number of the stopped run. */
  async restart(jumpMs: number): Promise<number> {
    this.#plans = [{ ...noFaults, jumpMs }];
    const run = await this.current();
    run.stop();
    await run.replaced;
    await this.#run;
    return run.number;
  }

  /** Folders of workers that never return. */
  get abandonedFolders(): string[] {
    const all = Array.from({ length: this.#folders }, (_, index) => index + 1);
    return all.filter((number) => !this.#foldersInUse.includes(number)).map((number) => this.#folder(number));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const run = await this.#run.catch(() => null);
    await Promise.all([run?.kill(), this.#spare.kill()]);
  }

  #newProcess(): WorkerProcess {
    return new WorkerProcess({ cache: join(this.#options.folder, 'compiled') });
  }

  #folder(number: number): string {
    return join(this.#options.folder, `worker-${number}`);
  }

  async #begin(plan: RunPlan): Promise<ServiceRun> {
    const { databaseUrl, adminKey, environment, log } = this.#options;
    this.#runCount += 1;
    this.#skewMs += plan.jumpMs;
    this.#foldersInUse = this.#foldersOf(plan);
    const folders = this.#foldersInUse.map((number) => this.#folder(number));
    const processes = folders.map((_, index) => (index === 0 ? this.#spare : this.#newProcess()));
    this.#spare = this.#newProcess();
    const run = new ServiceRun({ number: this.#runCount, skewMs: this.#skewMs, processes, log });
    run.replaced = run.exited.then((reason) => this.#replace(run, reason));
    const starts = processes.map((process, index) => {
      const variables = { ...environment, BERTH_DATA_DIR: folders[index] ?? '' };
      const options = { environment: variables, databaseUrl, adminKey, skewMs: this.#skewMs, faults: index === 0 ? plan.faults : [] };
      return process.start(options, (text) => log(`run ${run.number}${index === 0 ? '' : ', second worker'}: ${text}`));
    });
    await Promise.all(starts).catch((error: unknown) => {
      // A kill may come before it serves. An unexpected exit would repeat forever.
      if (!run.isOver || run.unexpectedExits.length > 0) throw error;
    });
    if (run.isOver) return run;
    log(`run ${run.number} serves, worker ${this.#foldersInUse.join(' and ')}, its clock at ${run.now().toISOString()}`);
    run.begin(plan);
    return run;
  }

  /** A second worker is always a new one. */
  #foldersOf({ workers, isNewWorker }: RunPlan): number[] {
    const [first] = this.#foldersInUse;
    return Array.from({ length: workers }, (_, index) =>
      index === 0 && !isNewWorker && first !== undefined ? first : (this.#folders += 1),
    );
  }

  async #replace(run: ServiceRun, reason: string): Promise<void> {
    this.#options.log(`run ${run.number} is over: ${reason}`);
    this.unexpectedExits.push(...run.unexpectedExits);
    if (this.#isClosed || (run.unexpectedExits.length > 0 && !run.hasServed)) return;
    this.#run = this.#begin(this.#plans.shift() ?? { ...noFaults, jumpMs: 0 });
    await this.#run.catch(() => undefined);
  }
}

/** One run of the service: one worker, or several that start and exit together. */
export class ServiceRun {
  readonly number: number;
  readonly workers: readonly WorkerProcess[];
  /** Resolves when all have exited, with the first one's exit reason. */
  readonly exited: Promise<string>;
  /** Resolves when the next run serves. */
  replaced: Promise<void> = Promise.resolve();
  hasServed = false;
  readonly #skewMs: number;
  readonly #log: (text: string) => void;
  #isStopping = false;
  #replies = 0;
  #repliesMax: number | null = null;

  constructor({
    number,
    skewMs,
    processes,
    log,
  }: {
    number: number;
    skewMs: number;
    processes: WorkerProcess[];
    log: (text: string) => void;
  }) {
    this.number = number;
    this.workers = processes;
    this.#skewMs = skewMs;
    this.#log = log;
    this.exited = Promise.race(processes.map(({ exited }) => exited)).then(async (reason) => {
      await Promise.all(processes.map((process) => (this.#isStopping ? process.exited : process.kill())));
      return reason;
    });
  }

  get isOver(): boolean {
    return this.workers.some(({ hasExited }) => hasExited);
  }

  /** Exits that were neither injected nor requested. */
  get unexpectedExits(): string[] {
    return this.workers
      .filter(({ hasExited, isExpectedExit }) => hasExited && !isExpectedExit)
      .map(({ stderrTail }) => `run ${this.number} exited unexpectedly\n${stderrTail}`);
  }

  now(): Date {
    return new Date(Date.now() + this.#skewMs);
  }

  /** Called when it serves with the plan that it was started with. */
  begin({ repliesMax }: Pick<RunPlan, 'repliesMax'>): void {
    this.hasServed = true;
    this.#repliesMax = repliesMax;
  }

  /** Replaces the plan. */
  applyPlan({ faults, repliesMax }: Pick<RunPlan, 'faults' | 'repliesMax'>): void {
    this.#replies = 0;
    this.#repliesMax = repliesMax;
    this.workers[0]?.arm(faults);
  }

  /** Counts a reply, and kills the run after the last one of its plan. */
  noteReply(): void {
    this.#replies += 1;
    if (this.#replies !== this.#repliesMax) return;
    this.#log(`run ${this.number} is killed by its parent after ${this.#replies} replies`);
    void this.kill();
  }

  stop(): void {
    this.#isStopping = true;
    for (const worker of this.workers) worker.stop();
  }

  async kill(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.kill()));
  }
}
