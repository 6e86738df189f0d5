import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { PathId, ServiceError, endpoint } from '@berth/contract';
import { z } from 'zod';
import { ManualClock } from '@berth/lib/clock.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import { beginEffect } from '../effects.ts';
import { findLostClaims, pruneIdempotencyKeys, responseCharsMax } from './idempotency.ts';
import { claimKey, storeResponse, trimResponses, type KeyClaim } from './store.ts';
import { auth, serve } from '../../../testing/server.ts';
import type { Http } from '../server/server.ts';

const common = { tag: 'Health', summary: 'A test.', auth: 'bearer', errors: [] } as const;
const make = endpoint({
  ...common,
  id: 'make',
  method: 'POST',
  path: '/make',
  status: 201,
  body: z.strictObject({ how: z.string() }),
  reply: z.object({ n: z.int(), key: z.string().nullable() }),
  secretReplyFields: ['key'],
  deadlineMs: 20_000,
});
const other = endpoint({
  ...common,
  id: 'other',
  method: 'POST',
  path: '/other/{id}',
  params: z.object({ id: PathId }),
  status: 204,
  replyKind: 'empty',
});

const long = endpoint({
  ...common,
  id: 'long',
  method: 'POST',
  path: '/long',
  status: 201,
  body: z.strictObject({ how: z.string() }),
  reply: z.object({ text: z.string() }),
  deadlineMs: 20_000,
});

let database: TestStore;
before(async () => {
  database = await testStore();
});
after(() => database.drop());

/** A server whose POST counts how often it was really done. */
function counting(): {
  mount: (http: Http) => void;
  done: () => number;
  gate: PromiseWithResolvers<void>;
  entered: PromiseWithResolvers<void>;
} {
  let count = 0;
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const mount = (http: Http): void => {
    http.on(make, async (call) => {
      count += 1;
      const n = count;
      entered.resolve();
      if (call.body.how === 'charge and wait') await beginEffect({ job_id: 'job_1' });
      if (call.body.how.endsWith('wait')) await gate.promise;
      if (call.body.how === 'conflict') throw new ServiceError('name_taken', 'Taken.');
      if (call.body.how === 'full') throw new ServiceError('no_capacity', 'Full.');
      if (call.body.how === 'broken') throw new Error('broken');
      call.setHeader('location', `/things/${n}`);
      return { n, key: 'raw-secret' };
    });
    http.on(long, (call) => {
      count += 1;
      return Promise.resolve({ text: 'é"'.repeat(call.body.how === 'too long' ? responseCharsMax / 2 : 2_000_000) });
    });
    http.on(other, () => {
      count += 1;
      return undefined;
    });
  };
  return { mount, done: () => count, gate, entered };
}

const post = (origin: string, key: string, how: string, path = '/make'): Promise<Response> =>
  fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { ...auth, 'content-type': 'application/json', 'idempotency-key': key },
    ...(how === '' ? {} : { body: JSON.stringify({ how }) }),
  });

test('a repeated idempotency key returns the stored response without doing the work again, and stores no secret', async (t) => {
  const { mount, done } = counting();
  const { origin } = await serve(t, mount, { store: database.store });
  const first = await post(origin, 'k1', 'well');
  assert.deepEqual([first.status, await first.json()], [201, { n: 1, key: 'raw-secret' }]);
  assert.equal(first.headers.get('idempotent-replayed'), null);
  const second = await post(origin, 'k1', 'well');
  assert.deepEqual([second.status, await second.json()], [201, { n: 1, key: null }]);
  assert.equal(second.headers.get('idempotent-replayed'), 'true');
  assert.equal(second.headers.get('location'), '/things/1');
  assert.notEqual(second.headers.get('x-request-id'), first.headers.get('x-request-id'));
  assert.equal(done(), 1);
  const rows = await database.store.tables<{ idempotency_keys: { body: unknown } }>().selectFrom('idempotency_keys').selectAll().execute();
  assert.doesNotMatch(JSON.stringify(rows), /raw-secret/);
});

test('a repeated idempotency key returns a long response as it was, and says of one too long to be stored that it was done', async (t) => {
  const { mount, done } = counting();
  const { origin } = await serve(t, mount, { store: database.store });
  const first = await (await post(origin, 'long', 'long', '/long')).text();
  const second = await post(origin, 'long', 'long', '/long');
  assert.ok((await second.text()).trim() === first.trim());
  assert.equal((await post(origin, 'too-long', 'too long', '/long')).status, 201);
  const again = await post(origin, 'too-long', 'too long', '/long');
  const { code, error } = (await again.json()) as { code: string; error: { request_id: string } };
  assert.deepEqual([again.status, code, error.request_id], [409, 'answer_lost', again.headers.get('x-request-id')]);
  assert.equal(done(), 2);
});

test('another request under the same idempotency key is a conflict', async (t) => {
  const { mount, done } = counting();
  const { origin } = await serve(t, mount, { store: database.store });
  await post(origin, 'k2', 'well');
  const conflict = await post(origin, 'k2', 'otherwise');
  assert.equal(conflict.status, 409);
  assert.equal(((await conflict.json()) as { code: string }).code, 'idempotency_conflict');
  assert.equal((await post(origin, 'k2', '', '/other/a')).status, 204);
  assert.equal((await post(origin, 'k2', '', '/other/a')).headers.get('idempotent-replayed'), 'true');
  assert.equal((await post(origin, 'k2', '', '/other/b')).headers.get('idempotent-replayed'), null);
  assert.equal(done(), 3);
});

test('one of many equal requests at once with one idempotency key does the work', async (t) => {
  const { mount, done, gate, entered } = counting();
  const { origin } = await serve(t, mount, { store: database.store });
  const all = Array.from({ length: 10 }, () => post(origin, 'k3', 'wait'));
  await entered.promise;
  const running = await post(origin, 'k3', 'wait');
  assert.equal(running.status, 409);
  assert.equal(running.headers.get('retry-after'), '1');
  assert.equal(((await running.json()) as { code: string }).code, 'idempotency_in_progress');
  gate.resolve();
  const statuses = (await Promise.all(all)).map(({ status }) => status);
  assert.ok(statuses.every((status) => status === 201 || status === 409));
  assert.equal((await post(origin, 'k3', 'wait')).status, 201);
  assert.equal(done(), 1);
});

test('a permanent refusal is stored under its idempotency key, and a temporary one is tried again', async (t) => {
  const { mount, done } = counting();
  const { origin } = await serve(t, mount, { store: database.store });
  const first = await post(origin, 'k4', 'conflict');
  const second = await post(origin, 'k4', 'conflict');
  assert.deepEqual([first.status, second.status, done()], [409, 409, 1]);
  const body = (await second.json()) as { code: string; error: { request_id: string } };
  assert.equal(body.code, 'name_taken');
  assert.equal(body.error.request_id, second.headers.get('x-request-id'));
  for (const [how, status] of [
    ['full', 503],
    ['broken', 500],
  ] as const) {
    const before = done();
    assert.equal((await post(origin, `k4-${how}`, how)).status, status);
    assert.equal((await post(origin, `k4-${how}`, how)).status, status);
    assert.equal(done(), before + 2);
  }
});

test('an idempotency key of a dead worker is taken over, and forgotten after a day', async (t) => {
  const clock = new ManualClock();
  const { mount, done, gate, entered } = counting();
  const { origin } = await serve(t, mount, { store: database.store, clock });
  const abandoned = post(origin, 'k5', 'wait');
  await entered.promise;
  assert.equal((await post(origin, 'k5', 'wait')).status, 409);
  clock.advance(make.deadlineMs! + 31_000);
  const takenOver = post(origin, 'k5', 'wait');
  while (done() < 2) await new Promise(setImmediate);
  gate.resolve();
  assert.deepEqual([(await abandoned).status, (await takenOver).status], [201, 201]);
  const replayed = (await (await post(origin, 'k5', 'wait')).json()) as { n: number };
  assert.equal(replayed.n, 2);
  clock.advance(24 * 3600 * 1000 + 1);
  assert.ok((await pruneIdempotencyKeys(database.store, clock)) >= 1);
  assert.equal((await post(origin, 'k5', 'well')).headers.get('idempotent-replayed'), null);
});

test('a process that is gone leaves no idempotency keys except those of completed effects', async (t) => {
  const clock = new ManualClock();
  const { mount, done, gate, entered } = counting();
  const options = { store: database.store, clock };
  const { origin: before } = await serve(t, mount, { ...options, claimant: { workerId: 'wrk_a', holder: 'before' } });
  const { origin } = await serve(t, mount, { ...options, claimant: { workerId: 'wrk_a', holder: 'after' } });
  const abandoned = [post(before, 'k6', 'wait'), post(before, 'k7', 'charge and wait')];
  await entered.promise;
  while (done() < 2) await new Promise(setImmediate);
  const rows = database.store.tables<{ idempotency_keys: { key: string; effect: unknown } }>().selectFrom('idempotency_keys');
  while ((await rows.select('key').where('effect', 'is not', null).execute()).length === 0);
  const others = await findLostClaims(database.store, { workerId: 'wrk_b', holder: 'other' });
  assert.equal(await others(), 0, 'the worker is not lost');
  for (const [key, how] of [['k6', 'wait'] as const, ['k7', 'charge and wait'] as const])
    assert.equal((await post(origin, key, how)).status, 409);

  assert.equal(await (await findLostClaims(database.store, { workerId: 'wrk_a', holder: 'after' }))(), 2);
  const anew = post(origin, 'k6', 'wait');
  while (done() < 3) await new Promise(setImmediate);
  const lost = await post(origin, 'k7', 'charge and wait');
  const { error } = (await lost.json()) as { error: { code: string; details: unknown; request_id: string } };
  assert.deepEqual([lost.status, error.code, error.details], [409, 'answer_lost', { job_id: 'job_1' }]);
  assert.deepEqual([error.request_id, lost.headers.get('x-should-retry')], [lost.headers.get('x-request-id'), 'false']);

  // The process before was only frozen: what it answers itself is better than what was supposed.
  gate.resolve();
  assert.deepEqual(
    (await Promise.all([...abandoned, anew])).map(({ status }) => status),
    [201, 201, 201],
  );
  assert.equal((await post(origin, 'k7', 'charge and wait')).status, 201);
  assert.equal(((await (await post(origin, 'k6', 'wait')).json()) as { n: number }).n, 3);
});

test('a process whose idempotency claim was taken over does nothing, and completed effects are not repeated', async (t) => {
  const clock = new ManualClock();
  const begun: (boolean | null)[] = [];
  const claimed = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const mount = (http: Http): void =>
    http.on(make, async (call) => {
      claimed.resolve();
      if (begun.length === 0 && call.body.how === 'late') await over.promise;
      begun.push(await beginEffect({}));
      if (call.body.how === 'silent') await new Promise(() => undefined);
      return { n: 1, key: null };
    });
  const { origin: frozen } = await serve(t, mount, { store: database.store, clock, claimant: { workerId: 'wrk_c', holder: 'before' } });
  const { origin } = await serve(t, mount, { store: database.store, clock });
  const late = post(frozen, 'k8', 'late');
  await claimed.promise;
  await (
    await findLostClaims(database.store, { workerId: 'wrk_c', holder: 'after' })
  )();
  begun.push(null);
  assert.equal((await post(origin, 'k8', 'late')).status, 201);
  over.resolve();
  await late;
  assert.deepEqual(begun, [null, true, false]);

  const silent = post(origin, 'k9', 'silent').catch(() => undefined);
  while (begun.length < 4) await new Promise(setImmediate);
  clock.advance(make.deadlineMs! + 31_000);
  assert.equal(((await (await post(origin, 'k9', 'silent')).json()) as { code: string }).code, 'answer_lost');
  assert.equal(begun.length, 4);
  void silent;
});

test('an idempotency key is 1 to 255 visible ASCII characters', async (t) => {
  const { mount, done } = counting();
  const { origin } = await serve(t, mount, { store: database.store });
  for (const key of ['', 'a b', 'x'.repeat(256), 'ü']) {
    const response = await post(origin, key, 'well');
    assert.equal(response.status, 422, key);
    const { detail } = (await response.json()) as { detail: { loc: string[] }[] };
    assert.deepEqual(detail[0]?.loc, ['header', 'idempotency-key']);
  }
  assert.equal(done(), 0);
});

test('stored responses of an owner make room for new ones by dropping the oldest', async () => {
  const { store } = database;
  const dates = { staleBefore: new Date(0), expiredBefore: new Date(0) };
  const claimOf = (scope: string, key: string, atMs: number): KeyClaim => ({
    scope: `${scope} POST /make`,
    key,
    requestHash: Buffer.alloc(32),
    claimedAt: new Date(atMs),
    claimant: { workerId: 'wrk_a', holder: 'process-1' },
  });
  const claims = [1, 2, 3].map((at) => claimOf('owner:large', `k${at}`, at * 1000));
  const others = [claimOf('owner:larger', 'k1', 0), claimOf('owner:large', 'running', 0)];
  for (const claim of [...claims, ...others]) await claimKey(store, claim, dates);
  const body = JSON.stringify(randomBytes(75_000).toString('base64'));
  for (const claim of [...claims, ...others.slice(0, 1)]) await storeResponse(store, claim, { status: 201, headers: {}, body });
  await trimResponses(store, 'owner:large', 250_000);
  const left = await Promise.all([...claims, ...others].map(async (claim) => (await claimKey(store, claim, dates)) !== null));
  assert.deepEqual(left, [false, true, true, true, true]);
});

test('a process whose idempotency claim another one has stores nothing, also with a claim of the same millisecond', async () => {
  const { store } = database;
  const at = new Date(0);
  const dates = { staleBefore: at, expiredBefore: at };
  const claimOf = (holder: string): KeyClaim => ({
    scope: 'owner:twice',
    key: 'k1',
    requestHash: Buffer.alloc(32),
    claimedAt: new Date(1000),
    claimant: { workerId: 'wrk_a', holder },
  });
  assert.equal(await claimKey(store, claimOf('frozen'), dates), null);
  await (
    await findLostClaims(store, claimOf('new').claimant)
  )();
  assert.equal(await claimKey(store, claimOf('new'), dates), null);
  await storeResponse(store, claimOf('frozen'), { status: 201, headers: {}, body: '1' });
  assert.equal((await claimKey(store, claimOf('next'), dates))?.stored, null);
  await storeResponse(store, claimOf('new'), { status: 201, headers: {}, body: '2' });
  assert.equal((await claimKey(store, claimOf('next'), dates))?.stored?.body, '2');
});
