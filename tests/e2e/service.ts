/**
 * The service in its own process with real machines, as users run it. In a run of all tests those that keep no data
 * share a database server; to start and stop one for each takes longer than the rest of their start.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { sharedDatabase } from '../../packages/server/testing/test-store.ts';
import { Client } from '../client.ts';
import { nightly } from '../nightly.ts';

const serve = join(import.meta.dirname, '../../scripts/serve.sh');
/** All services of a test file, stopped even when a test fails. */
const running = new Set<Service>();
export const stopAll = (): Promise<unknown> => Promise.all([...running].map((service) => service.stop()));

/** The runtime of its machines: `process`, or `qemu` with the image in BERTH_IMAGES_DIR. */
export const testRuntime = process.env['BERTH_TEST_RUNTIME'] ?? 'process';
const imagesDir = process.env['BERTH_IMAGES_DIR'] ?? join(import.meta.dirname, '../../data/images');
const runtime = { BERTH_RUNTIME: testRuntime, ...(testRuntime === 'qemu' ? { BERTH_IMAGES_DIR: imagesDir } : {}) };

/** Options of a test that is run on processes always, and on virtual machines, which are emulated, in the nightly run alone. */
export const nightlyOnMachines = testRuntime === 'qemu' ? nightly : {};

/** Scales a page timeout for emulated machines. */
export const pageMs = (ms: number): number => (testRuntime === 'qemu' ? ms * 5 : ms);

/** Includes the time to create a missing template. */
const startMsMax = testRuntime === 'qemu' ? 180_000 : 60_000;
const stopMsMax = 30_000;

export interface ServiceOptions {
  environment?: Record<string, string>;
  /** An existing data folder, which is kept when the service stops. */
  dataDir?: string;
}

/** A data folder and a database for services that run one after another. Where a file runs alone, the database is in the folder. */
export async function lastingState(): Promise<{ dataDir: string; environment: Record<string, string>; remove(): Promise<void> }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-e2e-'));
  const database = await sharedDatabase();
  const remove = async (): Promise<void> => {
    await database?.drop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { dataDir, environment: database ? { BERTH_DATABASE_URL: database.url } : {}, remove };
}

export class Service {
  readonly dataDir: string;
  readonly #child: ChildProcess;
  readonly #keepData: boolean;
  #dropDatabase: (() => Promise<void>) | undefined;
  #output = '';
  #errors = '';
  #url = '';

  private constructor(child: ChildProcess, dataDir: string, keepData: boolean) {
    this.#child = child;
    this.dataDir = dataDir;
    this.#keepData = keepData;
    child.stdout?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.#errors += chunk.toString()));
  }

  /** Starts the service and waits until it is ready. */
  static async start({ environment = {}, dataDir }: ServiceOptions = {}): Promise<Service> {
    const folder = dataDir ?? mkdtempSync(join(tmpdir(), 'berth-e2e-'));
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('BERTH_')));
    const database = dataDir === undefined && environment['BERTH_DATABASE_URL'] === undefined ? await sharedDatabase() : undefined;
    const shared = database && { BERTH_DATABASE_URL: database.url };
    const env = { ...inherited, BERTH_PORT: '0', BERTH_DATA_DIR: folder, BERTH_POOL_TARGET: '0', ...runtime, ...shared, ...environment };
    const child = spawn('sh', [serve], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const service = new Service(child, folder, dataDir !== undefined);
    service.#dropDatabase = database?.drop;
    running.add(service);
    await service.#ready();
    return service;
  }

  get url(): string {
    return this.#url;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** All of its standard output so far. */
  get output(): string {
    return this.#output;
  }

  /** Its log on stderr. */
  get errors(): string {
    return this.#errors;
  }

  get key(): string {
    return readFileSync(join(this.dataDir, 'api-key'), 'utf8').trim();
  }

  get adminKey(): string {
    return readFileSync(join(this.dataDir, 'admin-key'), 'utf8').trim();
  }

  get client(): Client {
    return new Client(this.#url, this.key, this.adminKey);
  }

  /** Sends a signal and resolves with the exit code; null when the signal killed it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exited = new Promise((resolve) => this.#child.once('exit', resolve));
      this.#child.kill(signal);
      const timeout = AbortSignal.timeout(stopMsMax);
      timeout.addEventListener('abort', () => this.#child.kill('SIGKILL'));
      await exited;
      if (timeout.aborted) throw new Error(`the service did not stop in time:\n${this.#errors}`);
    }
    running.delete(this);
    return this.#child.exitCode;
  }

  /** Stops it and deletes its data. */
  async close(): Promise<void> {
    await this.stop();
    await this.#dropDatabase?.();
    this.#dropDatabase = undefined;
    if (!this.#keepData) rmSync(this.dataDir, { recursive: true, force: true });
  }

  async #ready(): Promise<void> {
    const readUrl = (): string | undefined => /^Berth is ready: (\S+)$/m.exec(this.#output)?.[1];
    await eventually('the service is ready, or has ended', () => readUrl() ?? this.#child.exitCode !== null, startMsMax).catch(() => {});
    this.#url = readUrl() ?? '';
    if (this.#url) return;
    this.#child.kill('SIGKILL');
    throw new Error(`the service did not start:\n${this.#output}\n${this.#errors}`);
  }
}

export { eventually };
