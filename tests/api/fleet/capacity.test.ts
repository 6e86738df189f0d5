/** More creates at once than machine starts allowed: the others are queued or refused with retry_after. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createSession, endSession } from '@berth/contract';
import { type AppOptions, assertSoon, eventually, type Reply, startApp, type TestApp } from '../../harness.ts';

/** The maximum number of concurrent starts, whatever the number of processors. */
const bootsAtOnceMax = 16;
const bootMs = 50;

let served: TestApp;
let bootsAtOnce = 0;
/** Boots wait for it. */
let gate = Promise.resolve();

async function serve(options: AppOptions = {}): Promise<void> {
  served = await startApp(options);
  served.runtime.delayBoot(bootMs);
  const boot = served.runtime.boot.bind(served.runtime);
  let booting = 0;
  bootsAtOnce = 0;
  gate = Promise.resolve();
  served.runtime.boot = async (...args) => {
    booting += 1;
    bootsAtOnce = Math.max(bootsAtOnce, booting);
    try {
      await gate;
      return await boot(...args);
    } finally {
      booting -= 1;
    }
  };
}
afterEach(() => served.close());

const burst = (count: number, key: string): Promise<Reply>[] =>
  Array.from({ length: count }, () => served.call(createSession, { key, body: {} }));
const reasonOf = (reply: Reply): unknown => (reply.body as { error?: { details?: { reason?: unknown } } }).error?.details?.reason;

/** Expects a refusal with retry_after of at most a minute. */
function assertHonest(reply: Reply): void {
  assert.ok(reply.status === 503 || reply.status === 429, `${reply.status}: ${reply.text}`);
  const seconds = Number(reply.headers.get('retry-after'));
  assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60, `Retry-After: ${reply.headers.get('retry-after')}`);
  assert.equal(reply.headers.get('x-should-retry'), 'true');
}

describe('a burst of a hundred creates', () => {
  beforeEach(() => serve());

  it('a burst of a hundred creates starts a few machines at a time and gives every caller a session', async () => {
    const replies = await Promise.all(burst(100, served.key));
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [201]);
    assert.ok(bootsAtOnce >= 1 && bootsAtOnce <= bootsAtOnceMax, `${bootsAtOnce} at once`);
    assert.equal(served.runtime.counts.booted, 100);
    assert.equal(served.app.fleet.waiting, 0);
  });

  it('a burst of creates of one owner does not delay another owner’s create', async () => {
    const other = await served.ownerKey('other');
    const { promise, resolve: open } = Promise.withResolvers<void>();
    gate = promise;
    let done = 0;
    const greedy = burst(100, served.key).map(async (reply) => {
      await reply;
      done += 1;
    });
    const { fleet } = served.app;
    await eventually('all are queued or starting', () => fleet.waiting + fleet.count('warming') === 100);
    const { waiting } = fleet;
    const [modest] = burst(1, other);
    await eventually('the other owner is queued', () => fleet.waiting === waiting + 1);
    open();
    const reply = await modest;
    assert.equal(reply?.status, 201);
    assert.ok(done <= 2 * bootsAtOnceMax, `${done} others were served first`);
    assert.ok(done < 100);
    await Promise.all(greedy);
  });

  it('a burst of creates removes disconnected callers from the queue', async () => {
    // No create is served while the queue fills.
    served.runtime.delayBoot(25_000);
    const caller = new AbortController();
    const disconnected = Array.from({ length: 30 }, () =>
      served.call(createSession, { body: {}, signal: caller.signal }).catch(() => undefined),
    );
    await eventually('they are queued', () => served.app.fleet.waiting >= 10);
    caller.abort();
    await Promise.all(disconnected);
    await eventually('the queue is empty', () => served.app.fleet.waiting === 0);
    await eventually('no session is left', () => served.app.sessions.live.size === 0);
    assert.equal(served.runtime.machines.size, 0);
  });
});

describe('a burst that is more than the queue holds', () => {
  beforeEach(() => serve());

  it('a burst of more creates than the queue holds is refused with retry_after at once and leaves a slot for another owner', async () => {
    const other = await served.ownerKey('other');
    // No create is served while the queue fills.
    served.runtime.delayBoot(25_000);
    const caller = new AbortController();
    const refused: Reply[] = [];
    const create = async (key: string): Promise<void> => {
      const reply = await served.call(createSession, { key, body: {}, signal: caller.signal }).catch(() => undefined);
      if (reply) refused.push(reply);
    };
    const { fleet } = served.app;
    const greedy = Array.from({ length: 300 }, () => create(served.key));
    await eventually('all are queued, starting or refused', () => refused.length + fleet.waiting + fleet.count('warming') === 300, 20_000);
    assert.ok(refused.length > 0 && fleet.waiting > 100, `${refused.length} refused, ${fleet.waiting} wait`);
    refused.forEach(assertHonest);
    assert.ok(refused.every((reply) => ['too_many_starting', 'processors_busy'].includes(String(reasonOf(reply)))));
    assert.ok(
      refused.some((reply) => Number(reply.headers.get('retry-after')) > 10),
      'a long queue is reported as a long wait',
    );
    const waiting = fleet.waiting;
    const modest = create(other);
    await eventually('the other owner is queued', () => fleet.waiting === waiting + 1);
    caller.abort();
    await Promise.all([...greedy, modest]);
    assert.ok(bootsAtOnce <= bootsAtOnceMax, `${bootsAtOnce} at once`);
  });
});

describe('a host with too little memory for another browser', () => {
  // Less than a browser needs in addition to the reserve.
  beforeEach(() => serve({ hostReader: () => ({ memoryAvailableBytes: 600_000_000, memoryStallPercent: 0, cpuStallPercent: 0 }) }));

  it('a host with too little memory refuses a session after a short wait with the reason and starts nothing', async () => {
    const startMs = performance.now();
    const { reply, message, details } = await served.refuse(createSession, 'no_capacity', { body: {} });
    assertSoon(startMs);
    assertHonest(reply);
    assert.match(message, /memory/);
    assert.equal(details['reason'], 'memory_low');
    assert.deepEqual([served.runtime.counts.booted, served.app.sessions.live.size, served.app.fleet.waiting], [0, 0, 0]);
  });
});

describe('a slot that becomes free', () => {
  beforeEach(() => serve({ environment: { BERTH_MAX_SESSIONS: '5' } }));

  it('a slot that becomes free is used by the next create', async () => {
    const replies = await Promise.all(burst(20, served.key));
    const sessions = replies.filter(({ status }) => status === 201).map(({ body }) => body as { session_id: string });
    assert.equal(sessions.length, 5);
    replies.filter(({ status }) => status !== 201).forEach(assertHonest);
    await served.call(endSession, { params: { session_id: sessions[0]?.session_id ?? '' } });
    await eventually('there is capacity', () => served.app.sessions.live.size === 4);
    assert.equal((await served.create()).status, 'ready');
  });
});
