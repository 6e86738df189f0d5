/** One process of the service under test, as its parent sees it. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Fault } from './faults.ts';
import type { Door, DoorAnswer, Doors, Order, Report, StartOrder } from './protocol.ts';

/** Whoever asked will never know what came of it. */
export class Lost extends Error {}

const entry = join(import.meta.dirname, 'worker.ts');
/** A start takes a second; on a machine that others share it may take many. */
const startMsMax = 60_000;
const stopMsMax = 60_000;
const wordsMax = 4000;

export class WorkerProcess {
  /** Where it serves; empty before it does. */
  url = '';
  /** Resolves with how it ended. */
  readonly gone: Promise<string>;
  isGone = false;
  /** Whether its end was a kill, or was asked for. */
  endedAsMeant = false;
  lastWords = '';
  readonly #child: ChildProcess;
  readonly #asked = new Map<number, (answer: DoorAnswer) => void>();
  #tell: (text: string) => void = () => {};
  #serving = Promise.withResolvers<void>();
  #isStopping = false;
  #lastId = 0;

  /** It loads its code, and then waits to be told to start. `cache` keeps what is compiled of it. */
  constructor({ cache }: { cache: string }) {
    const environment = { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: cache };
    const child = fork(entry, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: environment });
    this.#child = child;
    this.gone = once(child, 'close').then(([code, signal]) => this.#over(code as number | null, signal as string | null));
    this.#serving.promise.catch(() => {});
    child.on('message', (report: Report) => this.#hear(report));
    child.stderr?.on('data', (chunk: Buffer) => (this.lastWords = (this.lastWords + chunk.toString()).slice(-wordsMax)));
    if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => this.#hear(JSON.parse(line) as Report));
  }

  /** Resolves when it serves. Throws what it said last where it never does. */
  async start(order: StartOrder, tell: (text: string) => void): Promise<void> {
    this.#tell = tell;
    const timer = setTimeout(
      () => this.#serving.reject(new Error(`the service did not start in ${startMsMax} ms: ${this.lastWords}`)),
      startMsMax,
    );
    this.#send({ ask: 'start', order });
    await this.#serving.promise.finally(() => clearTimeout(timer));
  }

  arm(faults: Fault[]): void {
    this.#send({ ask: 'arm', faults });
  }

  /** @throws Lost */
  open<D extends Door>(door: D, order: Doors[D]): Promise<DoorAnswer> {
    return this.#ask((id) => ({ ask: 'door', id, door, order }) as Order);
  }

  /** @throws Lost */
  turn(loops: string[]): Promise<DoorAnswer> {
    return this.#ask((id) => ({ ask: 'turn', id, loops }));
  }

  /** In its own time, as at a signal. One that takes too long is killed, which is then not what was meant. */
  stop(): void {
    this.#isStopping = true;
    this.#send({ ask: 'stop' });
    const timer = setTimeout(() => void this.kill(), stopMsMax);
    void this.gone.then(() => clearTimeout(timer));
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.gone;
  }

  #ask(orderOf: (id: number) => Order): Promise<DoorAnswer> {
    if (this.isGone) return Promise.reject(new Lost('the service was gone before it was asked'));
    const id = (this.#lastId += 1);
    const { promise, resolve, reject } = Promise.withResolvers<DoorAnswer>();
    this.#asked.set(id, resolve);
    this.#send(orderOf(id));
    void this.gone.then(() => reject(new Lost('the service died before it answered')));
    return promise;
  }

  #send(order: Order): void {
    if (this.#child.connected) this.#child.send(order, () => {});
  }

  #hear(report: Report): void {
    if (report.told === 'serving') {
      this.url = report.url;
      this.#serving.resolve();
    } else if (report.told === 'fault') this.#tell(report.text);
    else if (report.told === 'log') this.#tell(`${report.level}: ${report.text}`);
    else {
      this.#asked.get(report.id)?.(report.answer);
      this.#asked.delete(report.id);
    }
  }

  #over(code: number | null, signal: string | null): string {
    this.isGone = true;
    // Its own kills and ours are of one signal.
    this.endedAsMeant = this.#isStopping ? code === 0 : signal === 'SIGKILL';
    const how = signal ?? `code ${code}`;
    this.#serving.reject(new Error(`the service died before it served: ${how}\n${this.lastWords}`));
    return how;
  }
}
