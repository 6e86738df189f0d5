/** One worker of the fleet under test: its process, its data and its connection to the database, with faults. */
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabaseProxy } from '../services/database-proxy.ts';
import { createTcpProxy, type TcpProxy } from '../services/tcp-proxy.ts';
import { WorkerProcess, type Report } from '../ledger/worker/worker-process.ts';
import { slowMs, type PlannedFault } from './faults.ts';
import { nowMs, type Period } from './history.ts';

type Cut = Pick<TcpProxy, 'cut' | 'restore'>;

/** How a worker is connected, and what a test may do to it. */
export interface Links {
  databaseUrl: string;
  /** Environment of the worker, beside the address of the database. */
  environment: Record<string, string>;
  /** The command that starts the process in its network. */
  within: readonly string[];
  database: Cut & Pick<TcpProxy, 'silence' | 'delay'>;
  /** The link between the other workers and its listener for them. */
  fleet: Cut & Pick<TcpProxy, 'silence'>;
  /** null: nothing can be done to it. */
  clients: Cut | null;
  /** It notices a lost connection, and reaches the database again, within this time. */
  aftermathMs: number;
  close(): Promise<void>;
}

export interface FleetProcessOptions {
  index: number;
  databaseUrl: string;
  adminKey: string;
  /** Holds the folders of all workers. */
  folder: string;
  environment: Record<string, string>;
  log: (text: string) => void;
  /** `worker` names the process. */
  onReport: (report: ProcessReport) => void;
  /** Every boot of a machine succeeds. */
  isReliable?: boolean;
  /** Default: proxies on this host. */
  links?: Links;
}

/** The browsers of a process that has exited have ended, and one that is frozen does nothing. */
export type ProcessReport = (Report | { type: 'exited' } | ({ type: 'frozen' } & Period)) & { process: string; workerId: string };

const proxyAftermathMs = 3000;

async function openProxies(databaseUrl: string): Promise<Links> {
  const port = await freePort();
  const fleet = await createTcpProxy(() => connect(port, '127.0.0.1'));
  const database = await createDatabaseProxy(databaseUrl);
  return {
    databaseUrl: database.url,
    environment: { BERTH_FLEET_LISTEN: `127.0.0.1:${port}`, BERTH_FLEET_ADDRESS: `127.0.0.1:${fleet.port}` },
    within: [],
    database,
    fleet,
    clients: null,
    aftermathMs: proxyAftermathMs,
    close: () => Promise.all([database.close(), fleet.close()]).then(() => undefined),
  };
}

export class FleetProcess {
  readonly index: number;
  /** Periods in which it could not use the database as usual. */
  readonly databaseFaults: Period[] = [];
  /** Exits that were neither injected nor requested. */
  readonly unexpectedExits: string[] = [];
  readonly #options: FleetProcessOptions;
  readonly #links: Links;
  #process: WorkerProcess;
  #skewMs = 0;
  /** Faults that have cut the database off and are not over. */
  #cuts = 0;

  static async open(options: FleetProcessOptions): Promise<FleetProcess> {
    return new FleetProcess(options, options.links ?? (await openProxies(options.databaseUrl)));
  }

  private constructor(options: FleetProcessOptions, links: Links) {
    this.index = options.index;
    this.#options = options;
    this.#links = links;
    this.#process = this.#newProcess();
  }

  /** Base URL, also of a worker that no longer listens there. */
  get url(): string {
    return this.#process.url;
  }

  get process(): WorkerProcess {
    return this.#process;
  }

  get workerId(): string | null {
    const file = join(this.#dataDir, 'worker-id');
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : null;
  }

  /** Resolves when it listens. Where the database is out of reach, it is started again and again, as a supervisor does. */
  async start(): Promise<void> {
    for (;;) {
      const startedMs = nowMs();
      try {
        return await this.#launch();
      } catch (error) {
        const isDisturbed = this.databaseFaults.some(({ toMs }) => toMs > startedMs);
        if (!isDisturbed) throw error;
        this.unexpectedExits.length = 0;
        this.#process = this.#newProcess(this.url);
      }
    }
  }

  async #launch(): Promise<void> {
    const { index } = this.#options;
    const process = this.#process;
    void process.exited.then((reason) => {
      if (!process.isExpectedExit) this.unexpectedExits.push(`worker ${index} exited unexpectedly: ${reason}\n${process.stderrTail}`);
    });
    await this.#run(process, `worker ${index}`, {
      BERTH_DATA_DIR: this.#dataDir,
      BERTH_DATABASE_URL: this.#links.databaseUrl,
      ...this.#links.environment,
    });
  }

  /** Resolves when it serves. */
  async #run(process: WorkerProcess, name: string, own: Record<'BERTH_DATABASE_URL', string> & Record<string, string>): Promise<void> {
    const { environment, adminKey, log, isReliable = false } = this.#options;
    process.onReport = (report) => this.#report(name, report);
    void process.exited.then((reason) => {
      log(`${name} exited: ${reason}`);
      this.#report(name, { type: 'exited' });
    });
    const databaseUrl = own.BERTH_DATABASE_URL;
    const options = { environment: { ...environment, ...own }, databaseUrl, adminKey, skewMs: this.#skewMs, faults: [], isReliable };
    await process.start(options, (text) => log(`${name}: ${text}`));
    log(`${name} serves at ${process.url}`);
  }

  #report(process: string, report: Report | { type: 'exited' } | ({ type: 'frozen' } & Period)): void {
    this.#options.onReport({ ...report, process, workerId: this.workerId ?? '' });
  }

  /** Lasts until the worker serves again. `everywhere` cuts the database off for all workers. */
  async suffer({ what, forMs, skewMs }: PlannedFault, everywhere: (work: () => Promise<void>) => Promise<void>): Promise<void> {
    this.#options.log(`worker ${this.index}: ${what} for ${forMs} ms`);
    if (what === 'freeze') return this.#freeze(forMs);
    if (what === 'copy') return this.#copy(() => sleep(forMs));
    if (what === 'copy of frozen') return this.#copy(() => this.#freeze(forMs));
    if (what === 'copy of cut') return this.#copy(() => this.disturbDatabase('cut', () => sleep(forMs)));
    if (what === 'cut clients') return this.#disturbClients(forMs);
    if (what === 'cut link' || what === 'silent link') return this.#disturbLink(what === 'cut link', forMs);
    if (what === 'restart') return everywhere(() => sleep(forMs));
    if (what === 'cut' || what === 'silence' || what === 'slow') return this.disturbDatabase(what, () => sleep(forMs));
    if (what === 'skew') this.#skewMs = skewMs;
    if (what !== 'kill') return this.restart();
    const killed = this.#process;
    await killed.kill();
    // Its code is loaded meanwhile.
    this.#process = this.#newProcess(killed.url);
    await sleep(forMs);
    await this.start();
  }

  /** A graceful stop and start. */
  async restart(): Promise<void> {
    const stopped = this.#process;
    stopped.stop();
    await stopped.exited;
    this.#process = this.#newProcess(stopped.url);
    await this.start();
  }

  /** The database is out of reach while `work` runs. */
  async disturbDatabase(how: 'cut' | 'silence' | 'slow', work: () => Promise<void>): Promise<void> {
    const fault = { fromMs: nowMs(), toMs: Number.POSITIVE_INFINITY };
    this.databaseFaults.push(fault);
    let end: () => unknown = () => this.#links.database.delay(0);
    if (how === 'silence') end = this.#links.database.silence();
    else if (how === 'slow') this.#links.database.delay(slowMs);
    else {
      this.#cuts += 1;
      await this.#links.database.cut();
      end = () => ((this.#cuts -= 1) === 0 ? this.#links.database.restore() : undefined);
    }
    await work();
    await end();
    fault.toMs = nowMs() + this.#links.aftermathMs;
  }

  async close(): Promise<void> {
    await this.#process.kill();
    await this.#links.close();
  }

  async #disturbClients(forMs: number): Promise<void> {
    await this.#links.clients?.cut();
    await sleep(forMs);
    await this.#links.clients?.restore();
  }

  async #disturbLink(isCut: boolean, forMs: number): Promise<void> {
    if (!isCut) {
      const end = this.#links.fleet.silence();
      await sleep(forMs);
      return end();
    }
    await this.#links.fleet.cut();
    await sleep(forMs);
    await this.#links.fleet.restore();
  }

  async #freeze(forMs: number): Promise<void> {
    const frozen = this.#process;
    const fromMs = nowMs();
    frozen.freeze();
    await sleep(forMs);
    frozen.thaw();
    this.#report(`worker ${this.index}`, { type: 'frozen', fromMs, toMs: nowMs() + this.#links.aftermathMs });
  }

  /** Meanwhile a process starts with a copy of the data directory. It serves where the original has lost its lease. */
  async #copy(meanwhile: () => Promise<void>): Promise<void> {
    const { log, databaseUrl, folder } = this.#options;
    const [name, startedMs] = [`copy of worker ${this.index}`, nowMs()];
    const dataDir = join(folder, `copy-${this.index}`);
    cpSync(this.#dataDir, dataDir, { recursive: true });
    const copy = this.#newProcess();
    const own = { BERTH_DATA_DIR: dataDir, BERTH_DATABASE_URL: databaseUrl, BERTH_FLEET_LISTEN: '127.0.0.1:0' };
    const serves = this.#run(copy, name, own).catch((error: unknown) => {
      const isDisturbed = this.databaseFaults.some(({ toMs }) => toMs > startedMs);
      if (!isDisturbed && !/its data directory was copied/.test(String(error)))
        this.unexpectedExits.push(`${name} exited unexpectedly: ${String(error)}`);
    });
    await meanwhile();
    await serves;
    copy.stop();
    log(`${name} is stopped`);
    await copy.exited;
    rmSync(dataDir, { recursive: true });
  }

  get #dataDir(): string {
    return join(this.#options.folder, `worker-${this.index}`);
  }

  /** Creates a process. Until it listens, clients connect to the address of the one before. */
  #newProcess(url = ''): WorkerProcess {
    const process = new WorkerProcess({ cache: join(this.#options.folder, 'compiled'), within: this.#links.within });
    process.url = url;
    return process;
  }
}

/** A restarted worker listens where the one before did. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
