import assert from 'node:assert/strict';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { describe, it, type TestContext } from 'node:test';
import { ServiceError } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import type { HostReading } from '@berth/machines';
import { BootQueue, type BootQueueOptions } from './boot-queue.ts';
import { Pressure } from './pressure.ts';

const gigabyte = 1024 ** 3;
const never = new AbortController().signal;

/** Boots that end when the test says so, on a simulated host and clock. */
function makeQueue(
  test: TestContext,
  options: Partial<BootQueueOptions> = {},
  { timers }: { timers: 'moved' | 'real' } = { timers: 'moved' },
) {
  if (timers === 'moved') test.mock.timers.enable({ apis: ['setInterval'] });
  const clock = new ManualClock();
  const host: HostReading = { memoryAvailableBytes: 100 * gigabyte, memoryStallPercent: 0, cpuStallPercent: 0 };
  const pressure = new Pressure({ freeBytesMin: gigabyte, machineBytes: () => gigabyte, clock, read: () => ({ ...host }) });
  const queue = new BootQueue({ width: 2, waitingMax: 16, waitMsMax: 60_000, pressure, clock, ...options });
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const starts: Promise<unknown>[] = [];
  let peak = 0;
  const ask = (owner: string, signal = never): Promise<string> => {
    const start = queue.run(owner, signal, async () => {
      started.push(owner);
      peak = Math.max(peak, queue.running);
      await new Promise<void>((resolve) => ends.push(resolve));
      return owner;
    });
    starts.push(start.catch(() => undefined));
    return start;
  };
  const flush = async () => {
    for (let turn = 0; turn < 5; turn += 1) await turnOfTheLoop();
  };
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 250) {
      clock.advance(250);
      test.mock.timers.tick(250);
    }
    await flush();
  };
  /** Finishes the oldest boot. */
  const finish = async () => {
    ends.shift()?.();
    await flush();
  };
  const drain = async () => {
    await flush();
    while (ends.length > 0) await finish();
    await Promise.all(starts);
  };
  return { queue, host, begun: started, ask, pass, finish, drain, flush, peak: () => peak };
}

const rejection = async (start: Promise<unknown>): Promise<ServiceError> => {
  const error = await start.then(
    () => assert.fail('it was not rejected'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ServiceError && error.code === 'no_capacity', String(error));
  return error;
};

describe('a burst of starts', () => {
  it('a burst of starts is served a few at a time, however many ask', async (test) => {
    const { ask, flush, finish, drain, begun: started, peak, queue } = makeQueue(test, { width: 3, waitingMax: 200 });
    for (let caller = 0; caller < 100; caller += 1) void ask('a');
    await flush();
    assert.deepEqual([started.length, queue.waiting, queue.running], [3, 97, 3]);
    await finish();
    assert.deepEqual([started.length, queue.waiting, queue.running], [4, 96, 3]);
    await drain();
    assert.deepEqual([started.length, peak(), queue.waiting, queue.running], [100, 3, 0, 0]);
  });

  it('a burst of starts does not delay the single boot of another owner', async (test) => {
    const { ask, flush, finish, drain, begun: started } = makeQueue(test, { waitingMax: 200 });
    for (let caller = 0; caller < 100; caller += 1) void ask('greedy');
    void ask('modest');
    await flush();
    await finish();
    assert.deepEqual(started, ['greedy', 'greedy', 'modest']);
    await drain();
  });

  it('a burst of starts of one owner leaves others a place in the queue', async (test) => {
    const { ask, drain, queue } = makeQueue(test);
    for (let caller = 0; caller < 16; caller += 1) void ask('greedy');
    const { details, retryAfterSeconds } = await rejection(ask('greedy'));
    assert.deepEqual([details['reason'], queue.waiting], ['too_many_starting', 14]);
    assert.ok((retryAfterSeconds ?? 0) >= 1);
    for (const owner of ['b', 'c']) void ask(owner);
    assert.equal(queue.waiting, 16);
    await rejection(ask('d'));
    await drain();
  });

  it('a burst of starts goes on after a start that failed', async (test) => {
    const { queue, ask, drain } = makeQueue(test, { width: 1 });
    const broken = queue.run('a', never, () => Promise.reject(new Error('no browser')));
    const next = ask('a');
    await assert.rejects(broken, /no browser/);
    await drain();
    assert.equal(await next, 'a');
  });
});

describe('a caller who waits for a start', () => {
  it('a caller who waits for a start leaves at once when it disconnects, and its work never starts', async (test) => {
    const { ask, drain, begun: started, queue } = makeQueue(test, { width: 1 });
    void ask('a');
    const caller = new AbortController();
    const waiting = ask('b', caller.signal);
    caller.abort(new Error('disconnected'));
    await assert.rejects(waiting, /disconnected/);
    assert.equal(queue.waiting, 0);
    await assert.rejects(ask('b', caller.signal), /disconnected/);
    await drain();
    assert.deepEqual(started, ['a']);
  });

  it('a caller who waits for a start is rejected when its turn does not come in time', async (test) => {
    const { ask, pass, drain, queue } = makeQueue(test, { width: 1, waitMsMax: 5000 });
    void ask('a');
    const waitingStart = ask('b');
    await pass(4750);
    assert.equal(queue.waiting, 1);
    const rejected = rejection(waitingStart);
    await pass(250);
    assert.equal((await rejected).details['reason'], 'too_many_starting');
    await drain();
  });

  it('a caller who waits for a start gets a Retry-After from the rate of boots and the length of the queue', async (test) => {
    const { ask, pass, flush, finish, drain, queue } = makeQueue(test, { width: 1, waitingMax: 200, waitMsMax: 600_000 });
    for (let caller = 0; caller < 60; caller += 1) void ask('a');
    await flush();
    for (let turn = 0; turn < 40; turn += 1) {
      await pass(2000);
      await finish();
    }
    assert.equal(queue.waiting, 19);
    const seconds = queue.retryAfterSeconds();
    assert.ok(seconds >= 38 && seconds <= 42, `${seconds} s for 20 turns of two seconds`);
    for (let caller = 0; caller < 100; caller += 1) void ask('a');
    assert.equal(queue.retryAfterSeconds(), 60);
    await drain();
    assert.ok(queue.retryAfterSeconds() <= 2);
  });

  it('a caller who waits for a start leaves no timer behind', async (test) => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const { ask, drain } = makeQueue(test, { width: 1 }, { timers: 'real' });
    for (let caller = 0; caller < 3; caller += 1) void ask('a');
    assert.equal(timers(), before + 1);
    await drain();
    assert.equal(timers(), before);
  });
});

describe('where memory is short', () => {
  it('a caller is rejected after a short wait where memory is short, with the reason', async (test) => {
    const { host, ask, pass, begun: started, queue } = makeQueue(test);
    host.memoryAvailableBytes = 1.5 * gigabyte;
    const rejected = rejection(ask('a'));
    await pass(2750);
    assert.equal(queue.waiting, 1);
    await pass(250);
    const { details, publicMessage, retryAfterSeconds } = await rejected;
    assert.equal(details['reason'], 'memory_low');
    assert.match(publicMessage, /memory/);
    assert.ok((retryAfterSeconds ?? 0) >= 10);
    assert.deepEqual(started, []);
  });

  it('a caller is served as soon as there is enough memory again', async (test) => {
    const { host, ask, pass, drain, begun: started } = makeQueue(test);
    host.memoryAvailableBytes = 1.5 * gigabyte;
    void ask('a');
    await pass(1000);
    host.memoryAvailableBytes = 2.5 * gigabyte;
    await pass(250);
    assert.deepEqual(started, ['a']);
    await drain();
  });

  it('as many machines are started as fit into memory, counting those that are starting, and the rest wait for what they leave', async (test) => {
    const { host, ask, pass, flush, finish, drain, begun: started, queue } = makeQueue(test, { width: 10 });
    host.memoryAvailableBytes = 4.2 * gigabyte;
    for (let caller = 0; caller < 5; caller += 1) void ask('a');
    await flush();
    assert.equal(started.length, 3);
    await pass(10_000);
    assert.deepEqual([started.length, queue.waiting], [3, 2], 'those who start may take less than they were promised');
    await finish();
    await pass(5000);
    assert.equal(started.length, 4, 'what it took is in the host reading');
    host.memoryAvailableBytes = 100 * gigabyte;
    await pass(250);
    await drain();
  });
});

describe('where processors are busy', () => {
  it('where processors are busy, a quarter as many machines start at once, one at least, and all again when that is over', async (test) => {
    for (const [width, busyWidth] of [
      [2, 1],
      [4, 1],
      [8, 2],
    ] as const) {
      const { host, ask, pass, flush, finish, drain, begun: started } = makeQueue(test, { width });
      host.cpuStallPercent = 95;
      for (let caller = 0; caller < 12; caller += 1) void ask('a');
      await flush();
      assert.equal(started.length, busyWidth);
      await finish();
      assert.equal(started.length, busyWidth + 1);
      host.cpuStallPercent = 20;
      await pass(250);
      assert.equal(started.length, width + 1);
      await drain();
      test.mock.timers.reset();
    }
  });

  it('a caller who waits too long for busy processors gets that reason', async (test) => {
    const { host, ask, pass, drain } = makeQueue(test, { waitMsMax: 1000 });
    host.cpuStallPercent = 95;
    void ask('a');
    const rejected = rejection(ask('a'));
    await pass(1000);
    assert.equal((await rejected).details['reason'], 'processors_busy');
    await drain();
  });
});
