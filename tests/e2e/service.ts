/** The service as its users run it: a process of its own, with real machines. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from '../harness.ts';

const serve = join(import.meta.dirname, '../../scripts/serve.sh');
/** Every service that a test file starts, so that a test that fails leaves none running. */
const running = new Set<Service>();
export const stopAll = (): Promise<unknown> => Promise.all([...running].map((service) => service.stop()));

/** How its machines run: `process`, or `qemu` in virtual machines of the image that lies in BERTH_IMAGES_DIR. */
export const testRuntime = process.env['BERTH_TEST_RUNTIME'] ?? 'process';
const imagesDir = process.env['BERTH_IMAGES_DIR'] ?? join(import.meta.dirname, '../../data/images');
const runtime = { BERTH_RUNTIME: testRuntime, ...(testRuntime === 'qemu' ? { BERTH_IMAGES_DIR: imagesDir } : {}) };

/** A time for a page, which may be one of an emulated machine. */
export const pageMs = (ms: number): number => (testRuntime === 'qemu' ? ms * 5 : ms);

/** A template that is not there yet is made first. */
const startMsMax = testRuntime === 'qemu' ? 180_000 : 60_000;
const stopMsMax = 30_000;

export interface ServiceOptions {
  environment?: Record<string, string>;
  /** A data folder that is there already: it is kept when the service stops. */
  dataDir?: string;
}

export class Service {
  readonly dataDir: string;
  readonly #child: ChildProcess;
  readonly #keepData: boolean;
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

  /** Starts the service and waits until it says that it is ready. */
  static async start({ environment = {}, dataDir }: ServiceOptions = {}): Promise<Service> {
    const folder = dataDir ?? mkdtempSync(join(tmpdir(), 'berth-e2e-'));
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('BERTH_')));
    const env = { ...inherited, BERTH_PORT: '0', BERTH_DATA_DIR: folder, BERTH_POOL_TARGET: '0', ...runtime, ...environment };
    const child = spawn('sh', [serve], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const service = new Service(child, folder, dataDir !== undefined);
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

  /** Its log. */
  get errors(): string {
    return this.#errors;
  }

  get key(): string {
    return readFileSync(join(this.dataDir, 'api-key'), 'utf8').trim();
  }

  get client(): Client {
    return new Client(this.#url, this.key, readFileSync(join(this.dataDir, 'admin-key'), 'utf8').trim());
  }

  /** Ends it with a signal and resolves with its exit code; null when the signal ended it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exited = new Promise((resolve) => this.#child.once('exit', resolve));
      this.#child.kill(signal);
      const late = AbortSignal.timeout(stopMsMax);
      late.addEventListener('abort', () => this.#child.kill('SIGKILL'));
      await exited;
      if (late.aborted) throw new Error(`the service did not stop in time:\n${this.#errors}`);
    }
    running.delete(this);
    return this.#child.exitCode;
  }

  /** Ends it for good, with its data. */
  async close(): Promise<void> {
    await this.stop();
    if (!this.#keepData) rmSync(this.dataDir, { recursive: true, force: true });
  }

  async #ready(): Promise<void> {
    for (const since = Date.now(); Date.now() - since < startMsMax; await wait(10)) {
      const [, url] = /^Berth is ready: (\S+)$/m.exec(this.#output) ?? [];
      if (url) {
        this.#url = url;
        return;
      }
      if (this.#child.exitCode !== null) break;
    }
    this.#child.kill('SIGKILL');
    throw new Error(`the service did not start:\n${this.#output}\n${this.#errors}`);
  }
}

/** Polls until `look` gives something, and fails with `what` when it does not in time. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 10_000,
): Promise<T> {
  for (const since = Date.now(); Date.now() - since < withinMs; await wait(25)) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error(`not within ${withinMs} ms: ${what}`);
}
