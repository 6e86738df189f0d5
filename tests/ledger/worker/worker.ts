/** The service under test in its own process: a real database with injected faults, simulated machines. Exits with its parent. */
import { mkdirSync, writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { ServiceError } from '@berth/contract';
import { buildApp, type App } from '../../../packages/server/src/boot/app.ts';
import { readConfig } from '../../../packages/server/src/config.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import { createFakeRuntime, type FakeRuntime } from '@berth/machines/testing/fake/fake.ts';
import type { Vm } from '@berth/machines';
import { openStore, readDatabaseTime, type Store } from '../../../packages/server/src/store/store.ts';
import { nowMs } from '../../fleet/history.ts';
import { FaultyDriver } from './faulty-driver.ts';
import type { CallResult, WorkerCommand, WorkerMessage, StartOptions } from './protocol.ts';

// A killed process writes no cache, so the compile cache is flushed now for the processes that follow.
flushCompileCache();

const stdoutFd = 1;
const bootsUntilFailure = 5;
const namedCall = /"method":"Page\.navigate".*[?&]call=([\w-]+)/;
const send = (message: WorkerMessage): void => void writeSync(stdoutFd, `${JSON.stringify(message)}\n`);

const note =
  (level: 'warn' | 'error') =>
  (fields: object, message: string): void =>
    send({ type: 'log', level, text: `${message} ${inspect(fields, { depth: 3, breakLength: Infinity }).slice(0, 600)}` });
const log: Log = { debug: () => {}, info: () => {}, warn: note('warn'), error: note('error'), child: () => log };

class Worker {
  readonly #driver: FaultyDriver;
  readonly #store: Store;
  readonly #app: App;

  constructor(deps: { driver: FaultyDriver; store: Store; app: App }) {
    this.#driver = deps.driver;
    this.#store = deps.store;
    this.#app = deps.app;
  }

  static async start({ environment, databaseUrl, adminKey, skewMs, faults, isReliable }: StartOptions): Promise<Worker> {
    const clock: Clock = { now: () => new Date(Date.now() + skewMs), monotonicMs: () => performance.now() };
    const config = readConfig(environment);
    mkdirSync(config.dataDir, { recursive: true });
    const store = await openStore({ databaseUrl, dataDir: config.dataDir, log });
    const app = await buildApp({
      config,
      store,
      clock,
      log,
      adminKey,
      runtime: () => Promise.resolve(createRuntime(isReliable === true)),
      encoders: null,
      // The load of the test machine must not affect the service.
      hostReader: () => ({ memoryAvailableBytes: null, memoryStallPercent: 0, cpuStallPercent: 0 }),
    });
    await app.keys.bootstrap({ file: join(config.dataDir, 'api-key'), configured: null });
    app.fleet.lease.onTaken((workers) => send({ type: 'taken', workers, atMs: nowMs() }));
    const driver = new FaultyDriver({ databaseUrl, report: (text) => send({ type: 'fault', text }) });
    driver.install();
    await readDatabaseTime(store);
    driver.assertUsed();
    driver.arm(faults);
    send({ type: 'serving', url: await app.listen() });
    return new Worker({ driver, store, app });
  }

  async execute(command: Exclude<WorkerCommand, { command: 'start' }>): Promise<void> {
    if (command.command === 'arm') this.#driver.arm(command.faults);
    else if (command.command === 'stop') await this.#stop();
    else {
      const answer = await toCallResult(command.command === 'run_loops' ? this.#runLoops(command.loops) : this.#call(command));
      process.send?.({ type: 'answer', id: command.id, answer } satisfies WorkerMessage);
    }
  }

  #call(call: WorkerCommand & { command: 'call' }): Promise<unknown> {
    const { credits } = this.#app;
    switch (call.method) {
      case 'reserve':
        return credits.reserve(call.options);
      case 'commit':
        return credits.commit(call.options);
      case 'release':
        return credits.release(call.options.opId, call.options.owner);
      case 'grant':
        return credits.grant(call.options);
      default:
        return call satisfies never;
    }
  }

  /** The current iteration may have read its input already, so this waits for the next one. */
  async #runLoops(names: string[]): Promise<void> {
    for (const name of names) {
      const loop = this.#app.loops.find((candidate) => candidate.name === name);
      if (!loop) throw new Error(`unknown loop ${name}`);
      loop.nudge();
      await loop.idle();
      if (loop.status.lastError !== null) throw new Error(`the loop ${name} failed: ${loop.status.lastError}`);
    }
  }

  async #stop(): Promise<void> {
    await this.#app.stop();
    await this.#store.close();
    process.exit(0);
  }
}

/** Every fifth boot fails, unless it is to be reliable. */
function createRuntime(isReliable: boolean): FakeRuntime {
  const runtime = createFakeRuntime();
  const boot = runtime.boot.bind(runtime);
  let boots = 0;
  runtime.boot = (request, options) => {
    boots += 1;
    if (!isReliable && boots % bootsUntilFailure === 0) runtime.failNextBoot(new Error('the machine failed to boot'));
    return boot(request, options).then(report);
  };
  return runtime;
}

/** Reports start and end, and each navigation to an address that names its call. */
function report(vm: Vm): Vm {
  const reportMachine = (isOver: boolean): void => send({ type: 'machine', browser: vm.id, isOver, atMs: nowMs() });
  reportMachine(false);
  void vm.exited.then(() => reportMachine(true));
  const write = vm.cdp.write.bind(vm.cdp) as (chunk: unknown, ...rest: unknown[]) => boolean;
  vm.cdp.write = (chunk: unknown, ...rest: unknown[]): boolean => {
    const callId = namedCall.exec(String(chunk))?.[1];
    if (callId !== undefined) send({ type: 'act', callId, browser: vm.id, atMs: nowMs() });
    return write(chunk, ...rest);
  };
  return vm;
}

async function toCallResult(work: Promise<unknown>): Promise<CallResult> {
  try {
    return { status: 200, value: await work };
  } catch (error) {
    if (error instanceof ServiceError)
      return { status: error.status, code: error.code, details: error.details, message: error.publicMessage };
    return { status: 500, code: 'internal_error', details: {}, message: inspect(error) };
  }
}

let worker: Promise<Worker> | undefined;
process.on('message', (command: WorkerCommand) => {
  if (command.command === 'start') worker = Worker.start(command.options);
  else void worker?.then((started) => started.execute(command));
});
// The parent has exited, so no more commands can arrive.
process.on('disconnect', () => process.exit(1));
