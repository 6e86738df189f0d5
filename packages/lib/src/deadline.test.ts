import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ManualClock } from './clock.ts';
import { Deadline, abortAfter, orAfter } from './deadline.ts';
import { orAbort } from './or-abort.ts';

const { signal } = new AbortController();

it('a deadline counts what is spent and what is left, in whole milliseconds, from its creation', () => {
  const clock = new ManualClock();
  clock.advance(5000);
  const deadline = new Deadline({ signal, timeoutMs: 1000, clock });
  assert.deepEqual([deadline.spentMs, deadline.leftMs], [0, 1000]);
  clock.advance(400.4);
  assert.deepEqual([deadline.spentMs, deadline.leftMs], [400, 600]);
});

it('a deadline has nothing left once its time is over, and never less', () => {
  const clock = new ManualClock();
  const deadline = new Deadline({ signal, timeoutMs: 1000, clock });
  clock.advance(1000);
  assert.equal(deadline.leftMs, 0);
  clock.advance(60_000);
  assert.deepEqual([deadline.spentMs, deadline.leftMs], [61_000, 0]);
});

it('a deadline gives a part of the call no more than what is left', () => {
  const clock = new ManualClock();
  const deadline = new Deadline({ signal, timeoutMs: 1000, clock });
  clock.advance(600);
  assert.deepEqual([deadline.within(300).leftMs, deadline.within(5000).leftMs], [300, 400]);
});

it('what is left of a deadline is never less than a millisecond for a call, nor more than the call may take', () => {
  const clock = new ManualClock();
  const deadline = new Deadline({ signal, timeoutMs: 1000, clock });
  assert.deepEqual(deadline.rest(), { signal, timeoutMs: 1000 });
  assert.equal(deadline.rest(300).timeoutMs, 300);
  clock.advance(1000);
  assert.equal(deadline.rest().timeoutMs, 1);
});

it('a deadline without a reason is over, and aborts nothing', () => {
  const clock = new ManualClock();
  const deadline = new Deadline({ signal, timeoutMs: 1000, clock });
  assert.equal(deadline.isOver, false);
  clock.advance(1000);
  assert.deepEqual([deadline.isOver, deadline.signal.aborted], [true, false]);
});

it('work under a deadline is aborted with its reason when the time is over, and not after its end', async () => {
  const reason = (): Error => new Error('too late');
  const late = Deadline.run({ signal, timeoutMs: 5, reason }, (deadline) => orAbort(new Promise(() => {}), deadline.signal));
  await assert.rejects(late, /too late/);
  const early = await Deadline.run({ signal, timeoutMs: 5, reason }, (deadline) => Promise.resolve(deadline));
  await sleep(20);
  assert.equal(early.signal.aborted, false);
});

it('work under a deadline ends with its caller, and its time is not over', async () => {
  const caller = new AbortController();
  const begun = Promise.withResolvers<Deadline>();
  const work = Deadline.run({ signal: caller.signal, timeoutMs: 60_000, reason: () => new Error('too late') }, (deadline) => {
    begun.resolve(deadline);
    return orAbort(new Promise(() => {}), deadline.signal);
  });
  const deadline = await begun.promise;
  caller.abort(new Error('left'));
  await assert.rejects(work, /left/);
  assert.equal(deadline.isOver, false);
});

it('a deadline that runs work without a reason aborts it with a TimeoutError, and not after the work', { timeout: 10_000 }, async () => {
  const late = Deadline.run({ signal, timeoutMs: 5 }, (deadline) => orAbort(new Promise(() => {}), deadline.signal));
  await assert.rejects(late, { name: 'TimeoutError' });
  const kept = await Deadline.run({ signal, timeoutMs: 5 }, async (deadline) => deadline.signal);
  await sleep(20);
  assert.equal(kept.aborted, false);
});

it('orAfter gives what the work gives, what it throws, or the other value when the time is over', { timeout: 10_000 }, async () => {
  assert.equal(await orAfter(Promise.resolve('done'), 60_000, 'late'), 'done');
  await assert.rejects(orAfter(Promise.reject(new Error('failed')), 60_000), { message: 'failed' });
  assert.equal(await orAfter(new Promise(() => {}), 5, 'late'), 'late');
  assert.equal(await orAfter(new Promise(() => {}), 5), undefined);
});

it('abortAfter aborts with a TimeoutError after the time, also the signals that it is a part of', { timeout: 10_000 }, async () => {
  const either = AbortSignal.any([signal, abortAfter(5)]);
  await new Promise<void>((resolve) => either.addEventListener('abort', () => resolve()));
  assert.equal((either.reason as Error).name, 'TimeoutError');
  assert.equal(signal.aborted, false);
});

it(
  'a signal of abortAfter is freed when its time is over, though it was part of others that never aborted',
  { timeout: 30_000 },
  async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const closed = new AbortController();
    const made = Array.from({ length: 100 }, () => {
      const within = AbortSignal.any([new AbortController().signal, abortAfter(1)]);
      AbortSignal.any([within, closed.signal]);
      return new WeakRef(within);
    });
    const left = (): number => made.filter((each) => each.deref() !== undefined).length;
    // References are released with the turn of the loop in which they were read.
    while (left() > 0) {
      await sleep(5);
      collect();
    }
  },
);
