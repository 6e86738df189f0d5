/**
 * A service under test as a process of its own: the real one, on a real database, with machines that are simulated and a
 * database driver that fails where it is told to. Started by its parent, and gone when that is.
 */
import { mkdirSync, writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { ServiceError } from '@berth/contract';
import { buildApp, type App } from '../../packages/server/src/app.ts';
import { readConfig } from '../../packages/server/src/config.ts';
import type { Clock } from '../../packages/server/src/lib/clock.ts';
import type { Log } from '../../packages/server/src/lib/log.ts';
import { createFakeRuntime, type FakeRuntime } from '../../packages/server/src/runtime/fake/fake.ts';
import { openStore, type Store } from '../../packages/server/src/store/store.ts';
import { FaultyDriver } from './driver.ts';
import type { DoorAnswer, Order, Report, StartOrder } from './protocol.ts';

// Whoever is killed keeps nothing: what was compiled is kept now, for the processes that come after.
flushCompileCache();

const standardOutput = 1;
const bootsUntilFailure = 5;
const tell = (report: Report): void => void writeSync(standardOutput, `${JSON.stringify(report)}\n`);

const note =
  (level: 'warn' | 'error') =>
  (facts: object, message: string): void =>
    tell({ told: 'log', level, text: `${message} ${inspect(facts, { depth: 3, breakLength: Infinity }).slice(0, 600)}` });
const log: Log = { debug: () => {}, info: () => {}, warn: note('warn'), error: note('error'), child: () => log };

class Worker {
  readonly #driver: FaultyDriver;
  readonly #store: Store;
  readonly #app: App;

  constructor(parts: { driver: FaultyDriver; store: Store; app: App }) {
    this.#driver = parts.driver;
    this.#store = parts.store;
    this.#app = parts.app;
  }

  static async start({ environment, databaseUrl, adminKey, skewMs, faults }: StartOrder): Promise<Worker> {
    const clock: Clock = { now: () => new Date(Date.now() + skewMs), monotonicMs: () => performance.now() };
    const config = readConfig(environment);
    mkdirSync(config.dataDir, { recursive: true });
    const store = await openStore({ databaseUrl, dataDir: config.dataDir, log });
    const app = await buildApp({ config, store, clock, log, adminKey, runtime: () => Promise.resolve(unsteadyRuntime()), encoders: null });
    await app.keys.bootstrap({ file: join(config.dataDir, 'api-key'), given: null });
    const driver = new FaultyDriver({ databaseUrl, tell: (text) => tell({ told: 'fault', text }) });
    driver.install();
    driver.arm(faults);
    tell({ told: 'serving', url: await app.listen() });
    return new Worker({ driver, store, app });
  }

  async take(order: Exclude<Order, { ask: 'start' }>): Promise<void> {
    if (order.ask === 'arm') this.#driver.arm(order.faults);
    else if (order.ask === 'stop') await this.#stop();
    else {
      const answer = await answerOf(order.ask === 'turn' ? this.#turn(order.loops) : this.#open(order));
      process.send?.({ told: 'answer', id: order.id, answer } satisfies Report);
    }
  }

  #open(call: Order & { ask: 'door' }): Promise<unknown> {
    const { credits } = this.#app;
    switch (call.door) {
      case 'reserve':
        return credits.reserve(call.order);
      case 'commit':
        return credits.commit(call.order);
      case 'release':
        return credits.release(call.order.opId, call.order.owner);
      case 'grant':
        return credits.grant(call.order);
      default:
        return call satisfies never;
    }
  }

  /** A turn under way may have looked already at what it should see: the one after it has not. */
  async #turn(names: string[]): Promise<void> {
    for (const name of names) {
      const loop = this.#app.loops.find((known) => known.name === name);
      if (!loop) throw new Error(`there is no loop ${name}`);
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

/** Every so often a machine does not come up. */
function unsteadyRuntime(): FakeRuntime {
  const runtime = createFakeRuntime();
  const boot = runtime.boot.bind(runtime);
  let boots = 0;
  runtime.boot = (order, options) => {
    boots += 1;
    if (boots % bootsUntilFailure === 0) runtime.failNextBoot(new Error('the machine did not come up'));
    return boot(order, options);
  };
  return runtime;
}

async function answerOf(work: Promise<unknown>): Promise<DoorAnswer> {
  try {
    return { status: 200, value: await work };
  } catch (error) {
    if (error instanceof ServiceError)
      return { status: error.status, code: error.code, details: error.details, message: error.publicMessage };
    return { status: 500, code: 'internal_error', details: {}, message: inspect(error) };
  }
}

let worker: Promise<Worker> | undefined;
process.on('message', (order: Order) => {
  if (order.ask === 'start') worker = Worker.start(order.order);
  else void worker?.then((started) => started.take(order));
});
// Its parent is gone: so is everybody who could have asked it anything.
process.on('disconnect', () => process.exit(1));
