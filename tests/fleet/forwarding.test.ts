/** How requests pass from the worker that a client reached to the one that can answer. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { sql } from 'kysely';
import {
  CreateSessionRequest,
  createSession,
  discoverTargets,
  endSession,
  getSession,
  grantCredits,
  listAudit,
  listSessions,
  navigate,
  openTab,
  revokeKey,
  screenshot,
  uploadFile,
} from '@berth/contract';
import { Client, eventually, pathOf, type TestApp } from '../harness.ts';
import { openEvents } from '../event-stream.ts';
import { openSocket, sendAsIs } from '../raw-http.ts';
import { assertError, drivingOf, hangingUrl, plantDownload } from '../contract/session-states.ts';
import { startFleet, type TestFleet } from './fleet.ts';

let fleet: TestFleet;
before(async () => {
  fleet = await startFleet({ workers: 2 });
});
after(() => fleet.close());

interface Elsewhere {
  session_id: string;
  /** The worker that runs it. */
  home: TestApp;
  homeId: string;
  /** Another one. */
  away: TestApp;
}

async function sessionElsewhere(body: object = {}, key = fleet.key): Promise<Elsewhere> {
  const { session_id } = await fleet.worker(0).create({ ...body }, { key });
  const index = fleet.whereIs(session_id);
  return { session_id, home: fleet.worker(index), homeId: fleet.workerId(index), away: fleet.worker(1 - index) };
}

const withKey = (key = fleet.key) => ({ authorization: `Bearer ${key}` });

describe('a request for a session of another worker', () => {
  it('a request for a session of another worker is answered by that worker, whose id the response has', async () => {
    const { session_id, away, homeId } = await sessionElsewhere();
    const { status, headers } = await away.call(navigate, { params: { session_id }, body: { url: 'http://site.test/' } });
    assert.equal(status, 200);
    assert.deepEqual(
      ['x-berth-worker', 'x-berth-code', 'x-berth-identity'].map((name) => headers.get(name)),
      [homeId, null, null],
    );
  });

  it('a forwarded request keeps the request id of the client, and is authenticated and counted where the client is', async () => {
    const key = await fleet.worker(0).ownerKey('counted', 'developer');
    const { session_id, away } = await sessionElsewhere({}, key);
    const read = () => away.call(getSession, { params: { session_id }, key, headers: { 'x-request-id': 'mine.1' } });
    await read();
    // Where the session was created may be the other worker: from here on its count is known, and does not come between the two.
    for (const { app } of [...fleet.workers, ...fleet.workers]) {
      app.rates.exchange.nudge();
      await app.rates.exchange.idle();
    }
    const [first, second] = [await read(), await read()];
    assert.equal(first.headers.get('x-request-id'), 'mine.1');
    const [left, then] = [first, second].map(({ headers }) => Number(headers.get('x-ratelimit-remaining')));
    assert.equal(then, (left ?? 0) - 1);
  });

  it('a forwarded request finds a session by its name', async () => {
    const { session_id, away, homeId } = await sessionElsewhere({ name: 'by name' });
    const { body, headers } = await away.call(getSession, { params: { session_id: 'by name' } });
    assert.deepEqual([body.session_id, headers.get('x-berth-worker')], [session_id, homeId]);
  });

  it("headers that only workers send are ignored in a client's request", async () => {
    const { session_id, away, homeId } = await sessionElsewhere();
    const stranger = await fleet.worker(0).ownerKey('forger');
    const headers = {
      'x-berth-identity': 'e30.e30.e30',
      'x-berth-worker': homeId,
      'x-berth-code': 'draining',
      'x-forwarded-for': '10.0.0.1',
    };
    assert.equal((await away.call(getSession, { params: { session_id }, headers })).status, 200);
    assertError(await away.call(getSession, { params: { session_id }, headers, key: stranger }), 404, 'session_not_found');
  });

  it('a forwarded request cannot drop its headers by naming them in Connection', async () => {
    const { session_id, away } = await sessionElsewhere();
    const body = JSON.stringify({ url: 'http://site.test/' });
    const headers: [string, string][] = [
      ['authorization', withKey().authorization],
      ['content-type', 'application/json'],
      ['connection', 'close, content-type, content-length, x-berth-identity, authorization'],
    ];
    const reply = await sendAsIs(away.url, { method: 'POST', path: `/v1/session/${session_id}/navigate`, headers, body });
    assert.equal(reply.status, 200, reply.text);
  });

  it('a request is forwarded once, whatever the workers believe', async () => {
    const { session_id, home, homeId, away } = await sessionElsewhere();
    const params = { session_id };
    await away.call(getSession, { params });
    await home.call(endSession, { params });
    await eventually('it has ended', () => !home.app.sessions.live.has(session_id));
    const { store, workerId } = away.app.fleet.deps;
    // The other one still takes it for that of the first, whose row now names the other one.
    const write = (status: string) =>
      sql`update sessions set status = ${status}, worker_id = ${workerId} where session_id = ${session_id}`.execute(store.tables());
    await write('ready');
    const { status, headers } = await away.call(getSession, { params });
    await write('ended');
    assert.deepEqual([status, headers.get('x-berth-worker')], [200, homeId]);
  });

  it('a forwarded request is refused with the other worker’s error', async () => {
    const { session_id, away, home } = await sessionElsewhere();
    const wrong = { params: { session_id }, body: { url: 'file:///etc/passwd' } };
    const [own, other] = [await home.call(navigate, wrong), await away.call(navigate, wrong)];
    assert.deepEqual(
      [other.status, other.body],
      [own.status, { ...(other.body as object), detail: (own.body as { detail?: unknown }).detail }],
    );
  });

  it('a forwarded request is run once for its Idempotency-Key, whichever worker it reaches', async () => {
    const { session_id, home, away } = await sessionElsewhere();
    const request = { params: { session_id }, body: {}, headers: { 'idempotency-key': randomBytes(8).toString('hex') } };
    const [first, again] = [await away.call(openTab, request), await home.call(openTab, request)];
    assert.deepEqual([first.body.tab_id, again.headers.get('idempotent-replayed')], [again.body.tab_id, 'true']);
    // Also where each worker answers itself.
    const { headers } = request;
    const grant = { body: { owner: 'local', amount: 1 }, headers };
    await home.call(grantCredits, grant);
    assert.equal((await away.call(grantCredits, grant)).headers.get('idempotent-replayed'), 'true');
  });

  it('a forwarded request ends when its client leaves', async () => {
    const { session_id, home, away } = await sessionElsewhere();
    const controller = new AbortController();
    const request = { params: { session_id }, body: { url: hangingUrl, timeout_ms: 120_000 }, signal: controller.signal };
    const left = assert.rejects(away.call(navigate, request));
    await eventually('it is driven', () => drivingOf(home, session_id) === 1);
    controller.abort();
    await left;
    await eventually('it is not driven any more', () => drivingOf(home, session_id) === 0);
  });

  it('a forwarded request is refused from the moment its key is revoked', async () => {
    const key = await fleet.worker(0).ownerKey('revoked');
    const { session_id, home, away } = await sessionElsewhere({}, key);
    const { closed } = await openSocket(`${away.url.replace('http', 'ws')}/v1/session/${session_id}/cdp`, withKey(key));
    const { body: audit } = await home.call(listAudit, { query: { limit: '50' } });
    const keyId = audit.find(({ action, owner }) => action === 'key.created' && owner === 'revoked')?.subject ?? '';
    assert.equal((await home.call(revokeKey, { params: { key_id: keyId } })).status, 204);
    assert.equal((await closed).code, 4003);
    await eventually('the key is refused', async () => (await away.call(getSession, { params: { session_id }, key })).status === 403);
  });
});

describe('bodies of another worker’s session', () => {
  it('bodies for another worker’s session are uploaded as they come', async () => {
    const { session_id, away } = await sessionElsewhere();
    const data = randomBytes(9 * 1024 * 1024);
    const form = new FormData();
    form.set('file', new Blob([data]), 'large.bin');
    const response = await fetch(away.url + pathOf(uploadFile, { params: { session_id } }), {
      method: 'POST',
      headers: withKey(),
      body: form,
    });
    const body = (await response.json()) as { sha256?: string; size_bytes?: number };
    assert.equal(response.status, 201, JSON.stringify(body));
    assert.ok(
      JSON.stringify(body).includes(createHash('sha256').update(data).digest('hex')) || JSON.stringify(body).includes(String(data.length)),
    );
  });

  it('bodies for another worker’s session are refused when they are too large, and the connection says so', async () => {
    const { session_id, away } = await sessionElsewhere();
    const reply = await away.call(screenshot, { params: { session_id }, rawBody: JSON.stringify({ x: 'x'.repeat(2 * 1024 * 1024) }) });
    assertError(reply, 413, 'body_too_large');
  });

  it('bodies of another worker’s session are downloaded whole, and by their head alone', async () => {
    const { session_id, home, away } = await sessionElsewhere();
    const data = randomBytes(3 * 1024 * 1024);
    const id = plantDownload(home, session_id, { data, name: 'data.bin' });
    const url = `${away.url}/v1/session/${session_id}/downloads/${id}`;
    await eventually('the download is known', async () => (await fetch(url, { method: 'HEAD', headers: withKey() })).status === 200);
    const whole = await fetch(url, { headers: withKey() });
    assert.ok(Buffer.from(await whole.arrayBuffer()).equals(data));
    const head = await fetch(url, { method: 'HEAD', headers: withKey() });
    assert.deepEqual([head.headers.get('content-length'), await head.text()], [String(data.length), '']);
  });

  it('events of another worker’s session are sent as they happen, until the client leaves', async () => {
    const { session_id, home, away } = await sessionElsewhere();
    const events = await openEvents(away.url, session_id, { key: fleet.key });
    await home.call(navigate, { params: { session_id }, body: { url: 'http://site.test/' } });
    await events.nextOf('navigation');
    const listeners = (): number => home.app.sessions.live.get(session_id)?.events.listenerCount ?? 0;
    assert.equal(listeners(), 1);
    events.close();
    await eventually('nobody listens at its worker', () => listeners() === 0);
  });
});

describe('the pages of all sessions', () => {
  it('the pages of all sessions are listed by any worker', async () => {
    const key = await fleet.worker(0).ownerKey('lists');
    const own: string[] = [];
    for (const { app } of fleet.workers) {
      const principal = { owner: 'lists', keyId: null, requestsPerMinute: null, scope: 'owner:lists' };
      const options = { wait: true, signal: AbortSignal.timeout(30_000) };
      own.push((await app.sessions.create(principal, CreateSessionRequest.parse({}), options)).record.sessionId);
    }
    for (const worker of fleet.workers) {
      const { body } = await worker.call(discoverTargets, { key });
      for (const id of own) assert.equal(body.filter(({ webSocketDebuggerUrl }) => webSocketDebuggerUrl?.includes(id)).length, 1);
      assert.ok(body.every(({ webSocketDebuggerUrl }) => webSocketDebuggerUrl?.startsWith(worker.url.replace('http', 'ws'))));
    }
  });
});

describe('a new session', () => {
  it('a new session is created by another worker where this one is full', async () => {
    const full = fleet.worker(0);
    full.runtime.failBoots(new Error('no memory'));
    const created = [];
    for (let count = 0; count < 3; count += 1) created.push(await full.call(createSession, { body: {} }));
    full.runtime.failBoots(null);
    // Placement sees the other worker from its first heartbeat on; before, this one answers for itself.
    for (const { status, headers } of created)
      assert.ok(status === 503 || headers.get('x-berth-worker') === fleet.workerId(1), String(status));
    await eventually(
      'another worker takes it',
      async () => {
        full.runtime.failBoots(new Error('no memory'));
        const { status, headers } = await full.call(createSession, { body: {} });
        full.runtime.failBoots(null);
        return status === 201 && headers.get('x-berth-worker') === fleet.workerId(1);
      },
      30_000,
    );
  });

  it('a new session by connecting is created where there is room, and ends with its connection', async () => {
    const key = await fleet.worker(0).ownerKey('connects');
    const { socket, send } = await openSocket(`${fleet.worker(0).url.replace('http', 'ws')}/v1/connect`, withKey(key));
    assert.ok(await send('Browser.getVersion'));
    socket.close();
    const client = new Client(fleet.worker(1).url, key);
    await eventually('it has ended', async () => (await client.call(listSessions, {})).body.every(({ status }) => status === 'ended'));
  });

  it('an address with reconnect_seconds leads to its browser from every worker', async () => {
    const key = await fleet.worker(0).ownerKey('comes-back');
    const client = new Client(fleet.worker(0).url, key);
    const live = async () => (await client.call(listSessions, { query: { status: 'starting,ready' } })).body;
    const addressAt = (worker: number): string => `${fleet.worker(worker).url.replace('http', 'ws')}/v1/connect?reconnect_seconds=600`;
    const together = await Promise.all([0, 1, 0, 1].map((worker) => openSocket(addressAt(worker), withKey(key))));
    const [session, ...more] = await live();
    assert.equal(more.length, 0);
    for (const { socket } of together) socket.terminate();
    for (const worker of [0, 1]) {
      const { socket, send } = await openSocket(addressAt(worker), withKey(key));
      assert.ok(await send('Browser.getVersion'));
      socket.terminate();
      assert.deepEqual(
        (await live()).map(({ session_id }) => session_id),
        [session?.session_id],
      );
    }
    await client.call(endSession, { params: { session_id: session?.session_id ?? '' } });
  });
});

describe('a worker that cannot be reached', () => {
  it('a worker that cannot be reached is reported as such, and its sessions as ended once it has stopped', async () => {
    const third = await fleet.add();
    const index = fleet.workers.indexOf(third);
    const { session_id } = await third.app.sessions
      .create({ owner: 'local', keyId: null, requestsPerMinute: null, scope: 'owner:local' }, CreateSessionRequest.parse({}), {
        wait: true,
        signal: AbortSignal.timeout(20_000),
      })
      .then(({ record }) => ({ session_id: record.sessionId }));
    const params = { session_id };
    assert.equal((await fleet.call(0, getSession, { params })).status, 200);
    await third.app.forwarding?.close();
    const reply = await fleet.call(0, getSession, { params });
    const details = assertError(reply, 504, 'worker_unreachable');
    assert.deepEqual([details['worker_id'], reply.headers.get('retry-after')], [fleet.workerId(index), '1']);
    await fleet.stop(index);
    assert.equal((await fleet.call(0, getSession, { params })).body.status, 'ended');
    assert.equal((await fleet.call(0, endSession, { params })).status, 204);
  });
});
