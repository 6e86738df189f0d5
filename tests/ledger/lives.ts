/** The service under test as seen from outside: one life after the other on the same database. */
import { join } from 'node:path';
import type { LifePlan } from './faults.ts';
import { WorkerProcess } from './worker-process.ts';

export interface LivesOptions {
  databaseUrl: string;
  adminKey: string;
  /** Each worker has a folder of its own in it. */
  folder: string;
  environment: Record<string, string>;
  /** What it says, line by line: faults that came true, warnings, starts and deaths. */
  tell: (text: string) => void;
}

/** Past all that clocks jump back: to the database a worker that is behind it is one that nothing was heard of. */
const firstSkewMs = 6 * 3_600_000;
const undisturbed: Omit<LifePlan, 'jumpMs'> = { faults: [], repliesMax: null, isOther: false, workers: 1 };

export class Lives {
  readonly #options: LivesOptions;
  #plans: LifePlan[] = [];
  #skewMs = firstSkewMs;
  /** Folders that were used, by their numbers, and those in use: the first of them is kept from one life to the next. */
  #folders = 0;
  #inUse: number[] = [];
  #lives = 0;
  /** The next process, with all its code loaded: a restart need not wait for that. */
  #spare: WorkerProcess;
  #life: Promise<Life>;
  #isClosed = false;
  /** Ends that nobody meant. */
  readonly accidents: string[] = [];

  constructor(options: LivesOptions) {
    this.#options = options;
    this.#spare = this.#newProcess();
    this.#life = this.#begin({ ...undisturbed, isOther: true, jumpMs: 0 });
    this.#life.catch(() => {});
  }

  /** The one that serves now, or the next one as soon as it does. */
  async current(): Promise<Life> {
    for (;;) {
      if (this.#isClosed) throw new Error('the service is closed');
      const life = await this.#life;
      if (!life.isOver) return life;
      await life.succeeded;
    }
  }

  /** The life under way goes on by the first plan, each one after it by the next, and those after all plans undisturbed. */
  async follow([first, ...later]: LifePlan[]): Promise<void> {
    const life = await this.current();
    this.#plans = later;
    if (first) life.follow(first);
  }

  /** From now on nothing happens to it that is not asked for; what was to happen may still come before it hears of that. */
  async leaveInPeace(): Promise<void> {
    this.#plans = [];
    (await this.current()).follow(undisturbed);
  }

  /** It is asked to stop, and begins anew, `jumpMs` later. Tells which life was ended. */
  async restart(jumpMs: number): Promise<number> {
    this.#plans = [{ ...undisturbed, jumpMs }];
    const life = await this.current();
    life.stop();
    await life.succeeded;
    await this.#life;
    return life.number;
  }

  /** Of workers that were given up. */
  get abandonedFolders(): string[] {
    const all = Array.from({ length: this.#folders }, (_, index) => index + 1);
    return all.filter((number) => !this.#inUse.includes(number)).map((number) => this.#folder(number));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const life = await this.#life.catch(() => null);
    await Promise.all([life?.kill(), this.#spare.kill()]);
  }

  #newProcess(): WorkerProcess {
    return new WorkerProcess({ cache: join(this.#options.folder, 'compiled') });
  }

  #folder(number: number): string {
    return join(this.#options.folder, `worker-${number}`);
  }

  async #begin(plan: LifePlan): Promise<Life> {
    const { databaseUrl, adminKey, environment, tell } = this.#options;
    this.#lives += 1;
    this.#skewMs += plan.jumpMs;
    this.#inUse = this.#foldersOf(plan);
    const folders = this.#inUse.map((number) => this.#folder(number));
    const processes = folders.map((_, index) => (index === 0 ? this.#spare : this.#newProcess()));
    this.#spare = this.#newProcess();
    const life = new Life({ number: this.#lives, skewMs: this.#skewMs, processes, tell });
    life.succeeded = life.gone.then((how) => this.#succeed(life, how));
    const starts = processes.map((process, index) => {
      const all = { ...environment, BERTH_DATA_DIR: folders[index] ?? '' };
      const order = { environment: all, databaseUrl, adminKey, skewMs: this.#skewMs, faults: index === 0 ? plan.faults : [] };
      return process.start(order, (text) => tell(`life ${life.number}${index === 0 ? '' : ', second worker'}: ${text}`));
    });
    await Promise.all(starts).catch((error: unknown) => {
      // A kill may come before it serves. What dies of itself then would do so again and again.
      if (!life.isOver || life.accidents.length > 0) throw error;
    });
    if (life.isOver) return life;
    tell(`life ${life.number} serves, worker ${this.#inUse.join(' and ')}, its clock at ${life.now().toISOString()}`);
    life.begin(plan);
    return life;
  }

  /** A second worker is a new one each time. */
  #foldersOf({ workers, isOther }: LifePlan): number[] {
    const [first] = this.#inUse;
    return Array.from({ length: workers }, (_, index) => (index === 0 && !isOther && first !== undefined ? first : (this.#folders += 1)));
  }

  async #succeed(life: Life, how: string): Promise<void> {
    this.#options.tell(`life ${life.number} is over: ${how}`);
    this.accidents.push(...life.accidents);
    if (this.#isClosed || (life.accidents.length > 0 && !life.hasServed)) return;
    this.#life = this.#begin(this.#plans.shift() ?? { ...undisturbed, jumpMs: 0 });
    await this.#life.catch(() => undefined);
  }
}

/** From a start to a death: of one worker, or of several that serve and die together. */
export class Life {
  readonly number: number;
  readonly workers: readonly WorkerProcess[];
  /** Resolves with how the first of them ended, when all are gone. */
  readonly gone: Promise<string>;
  /** Resolves when the next life serves. */
  succeeded: Promise<void> = Promise.resolve();
  hasServed = false;
  readonly #skewMs: number;
  readonly #tell: (text: string) => void;
  #isStopping = false;
  #replies = 0;
  #repliesMax: number | null = null;

  constructor({
    number,
    skewMs,
    processes,
    tell,
  }: {
    number: number;
    skewMs: number;
    processes: WorkerProcess[];
    tell: (text: string) => void;
  }) {
    this.number = number;
    this.workers = processes;
    this.#skewMs = skewMs;
    this.#tell = tell;
    this.gone = Promise.race(processes.map(({ gone }) => gone)).then(async (how) => {
      await Promise.all(processes.map((process) => (this.#isStopping ? process.gone : process.kill())));
      return how;
    });
  }

  get isOver(): boolean {
    return this.workers.some(({ isGone }) => isGone);
  }

  /** Ends that nobody meant. */
  get accidents(): string[] {
    return this.workers
      .filter(({ isGone, endedAsMeant }) => isGone && !endedAsMeant)
      .map(({ lastWords }) => `life ${this.number} ended by itself\n${lastWords}`);
  }

  /** By its own clock. */
  now(): Date {
    return new Date(Date.now() + this.#skewMs);
  }

  /** It serves, by the plan that it was started with. */
  begin({ repliesMax }: Pick<LifePlan, 'repliesMax'>): void {
    this.hasServed = true;
    this.#repliesMax = repliesMax;
  }

  /** Goes on by another plan. */
  follow({ faults, repliesMax }: Pick<LifePlan, 'faults' | 'repliesMax'>): void {
    this.#replies = 0;
    this.#repliesMax = repliesMax;
    this.workers[0]?.arm(faults);
  }

  /** Somebody was answered. */
  noteReply(): void {
    this.#replies += 1;
    if (this.#replies !== this.#repliesMax) return;
    this.#tell(`life ${this.number} is killed from outside after ${this.#replies} replies`);
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
