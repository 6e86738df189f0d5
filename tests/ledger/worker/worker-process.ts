/** The parent's handle of one process of the service under test. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { InjectedFault } from '../faults.ts';
import type { CreditsMethod, CallResult, CreditsMethods, WorkerCommand, WorkerMessage, StartOptions } from './protocol.ts';

/** What a fleet's history is made of. */
export type Report = Extract<WorkerMessage, { type: 'act' | 'machine' | 'taken' }>;

/** The connection was lost before the response: the outcome is unknown. */
export class ConnectionLostError extends Error {}

const entry = join(import.meta.dirname, 'worker.ts');
/** A start takes one second, and many on a busy machine. */
const startMsMax = 250_000;
const stopMsMax = 60_000;
const stderrCharsMax = 4000;

export class WorkerProcess {
  /** Base URL; empty until the service listens. */
  url = '';
  /** Resolves with the signal or exit code. */
  readonly exited: Promise<string>;
  hasExited = false;
  /** Whether it was killed or stopped on request. */
  isExpectedExit = false;
  stderrTail = '';
  onReport: (report: Report) => void = () => {};
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, (answer: CallResult) => void>();
  #log: (text: string) => void = () => {};
  #serving = Promise.withResolvers<void>();
  #isStopping = false;
  #lastId = 0;

  /**
   * Loads the code and waits for `start`. `cache` is the compile cache's folder where the tests have none: theirs is full by now.
   * `within`: a command that runs another one in its place.
   */
  constructor({ cache, within = [] }: { cache: string; within?: readonly string[] }) {
    const { PATH = '', NODE_COMPILE_CACHE = cache } = process.env;
    const environment = { PATH, NODE_COMPILE_CACHE };
    // It runs with the built service where this process does.
    const hooks = process.execArgv.filter((argument) => argument.startsWith('--import='));
    const [execPath, ...execArgv] = [...within, process.execPath, ...hooks];
    const child = fork(entry, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: environment, execPath, execArgv });
    this.#child = child;
    this.exited = once(child, 'close').then(([code, signal]) => this.#exit(code as number | null, signal as string | null));
    this.#serving.promise.catch(() => {});
    child.on('message', (message: WorkerMessage) => this.#receive(message));
    child.stderr?.on('data', (chunk: Buffer) => (this.stderrTail = (this.stderrTail + chunk.toString()).slice(-stderrCharsMax)));
    if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => this.#receive(JSON.parse(line) as WorkerMessage));
  }

  /** Resolves when it listens. Throws with the end of its stderr when it does not. */
  async start(options: StartOptions, log: (text: string) => void): Promise<void> {
    this.#log = log;
    const timer = setTimeout(
      () => this.#serving.reject(new Error(`the service did not start in ${startMsMax} ms: ${this.stderrTail}`)),
      startMsMax,
    );
    this.#send({ command: 'start', options });
    await this.#serving.promise.finally(() => clearTimeout(timer));
  }

  arm(faults: InjectedFault[]): void {
    this.#send({ command: 'arm', faults });
  }

  /** @throws ConnectionLostError */
  call<D extends CreditsMethod>(method: D, options: CreditsMethods[D]): Promise<CallResult> {
    return this.#request((id) => ({ command: 'call', id, method, options }) as WorkerCommand);
  }

  /** @throws ConnectionLostError */
  runLoops(loops: string[]): Promise<CallResult> {
    return this.#request((id) => ({ command: 'run_loops', id, loops }));
  }

  /** Stops gracefully, as on SIGTERM. After `stopMsMax` it is killed, which counts as an unexpected exit. */
  stop(): void {
    this.#isStopping = true;
    this.#send({ command: 'stop' });
    const timer = setTimeout(() => void this.kill(), stopMsMax);
    void this.exited.then(() => clearTimeout(timer));
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exited;
  }

  /** Stops it where it is, as a host that is out of memory or a suspended machine does. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  #request(toCommand: (id: number) => WorkerCommand): Promise<CallResult> {
    if (this.hasExited) return Promise.reject(new ConnectionLostError('the service exited before the call'));
    const id = (this.#lastId += 1);
    const { promise, resolve, reject } = Promise.withResolvers<CallResult>();
    this.#pending.set(id, resolve);
    this.#send(toCommand(id));
    void this.exited.then(() => reject(new ConnectionLostError('the service exited before it answered')));
    return promise;
  }

  #send(command: WorkerCommand): void {
    if (this.#child.connected) this.#child.send(command, () => {});
  }

  #receive(message: WorkerMessage): void {
    if (message.type === 'serving') {
      this.url = message.url;
      this.#serving.resolve();
    } else if (message.type === 'fault') this.#log(message.text);
    else if (message.type === 'act' || message.type === 'machine' || message.type === 'taken') this.onReport(message);
    else if (message.type === 'log') this.#log(`${message.level}: ${message.text}`);
    else {
      this.#pending.get(message.id)?.(message.answer);
      this.#pending.delete(message.id);
    }
  }

  #exit(code: number | null, signal: string | null): string {
    this.hasExited = true;
    // Injected kills and the parent's kills use the same signal.
    this.isExpectedExit = this.#isStopping ? code === 0 : signal === 'SIGKILL';
    const reason = signal ?? `code ${code}`;
    this.#serving.reject(new Error(`the service exited before it listened: ${reason}\n${this.stderrTail}`));
    return reason;
  }
}
