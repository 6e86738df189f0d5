/** Every endpoint that concerns a session answers the same at another worker as at its own. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { endpoints, getSession, listRecordings, type Endpoint } from '@berth/contract';
import { newId } from '@berth/lib/ids.ts';
import { goodRequest, nameOf } from '../contract/contract-table.ts';
import { adminKey, Client, comparable, eventually, pathOf, type Reply } from '../harness.ts';
import { openSocket, refusedSocket } from '../raw-http.ts';
import { endRecorded, recordingOf } from '../prepare/recorded-session.ts';
import { plantDownload } from '../contract/session-states.ts';
import { cookieOf, open, tokenFor, type LinkScope } from '../prepare/view-links.ts';
import { startFleet, type TestFleet } from './fleet.ts';

let fleet: TestFleet;
/** The worker that runs the sessions, and another one. */
let home = 0;
let away = 1;
/** Two sessions of one worker: each call is made of the first at home, and of the second at the other worker. */
let twins: [string, string] = ['', ''];
let strangerKey = '';

before(async () => {
  fleet = await startFleet({ workers: 2 });
  strangerKey = await fleet.worker(0).ownerKey('stranger');
  twins = await createTwins();
  // Only then do both list the same assets.
  for (const sessionId of twins) await hasFrame(sessionId);
});
after(() => fleet.close());

/** Returns two sessions of one worker: of three sessions, two run on the same. */
async function createTwins(): Promise<[string, string]> {
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) ids.push((await fleet.worker(0).create({ kind: 'full_browser', record: true })).session_id);
  const at = ids.map((id) => fleet.whereIs(id));
  home = at.filter((index) => index === 0).length >= 2 ? 0 : 1;
  away = 1 - home;
  const [first = '', second = ''] = ids.filter((_, index) => at[index] === home);
  return [first, second];
}

async function hasFrame(sessionId: string): Promise<void> {
  const recorded = { sessionId, recId: '', folder: '' };
  await eventually('there is a frame', async () => (await recordingOf(fleet.worker(home), recorded)).assets.includes('poster.jpg'));
}

const concernsSession = ({ path }: Endpoint): boolean => path.includes('{session_id}');
const ofSessions = endpoints.filter(concernsSession);
const byLink = new Set(['view', 'vnc']);
const overHttp = ofSessions.filter(({ replyKind, auth }) => replyKind !== 'websocket' && replyKind !== 'events' && !byLink.has(auth));
/** Endpoints that are called last, each for a session of its own. */
const ending = new Set(['endSession', 'endAnySession']);
const inBody: Endpoint[] = endpoints.filter(({ id }) => ['fetchPage', 'inspect', 'runAgent', 'runTemplate'].includes(id));

const credentialOf = ({ auth }: Endpoint, key = fleet.key): Record<string, string> =>
  auth === 'admin' ? { 'x-admin-key': adminKey } : { authorization: `Bearer ${key}` };

/** The part that is equal in responses that say the same of two sessions: their ids, times, tokens and amounts differ. */
const shapeOf = ({ status, headers, text }: Reply): unknown => [
  status,
  ['content-type', 'content-disposition', 'cache-control', 'content-security-policy', 'x-content-type-options'].map((name) =>
    headers.get(name)?.replace(/:\d+/g, ':0'),
  ),
  text
    .replaceAll(/eyJ[\w.-]+/g, 'TOKEN')
    .replaceAll(/\b([a-z]{3,4})_[0-9a-z]{24}\b/g, '$1_ID')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UUID')
    .replaceAll(/tab_\w+|[0-9A-F]{32}/g, 'TAB')
    .replaceAll(/\d+(\.\d+)?/g, '0'),
];

async function send(index: number, endpoint: Endpoint, sessionId: string, key = fleet.key): Promise<Reply> {
  const ids = { session_id: sessionId };
  const download = fleet.whereIs(sessionId) === home && endpoint.id === 'getDownload' ? await downloadOf(sessionId) : 'no-file';
  const request = goodRequest(endpoint, ids);
  const { recording } = (await fleet.call(home, getSession, { params: ids })).body;
  const params = { ...request.params, download_id: download, rec_id: recording.rec_id ?? '' };
  const response = await fetch(fleet.worker(index).url + pathOf(endpoint, { ...request, params }), {
    method: endpoint.method,
    headers: { ...credentialOf(endpoint, key), ...(request.body ? { 'content-type': 'application/json' } : {}) },
    ...(request.body ? { body: JSON.stringify(request.body) } : {}),
  });
  return { status: response.status, headers: response.headers, text: await response.text(), body: undefined };
}

async function downloadOf(sessionId: string): Promise<string> {
  const id = plantDownload(fleet.worker(home), sessionId, { data: Buffer.from('file'), name: 'file.txt' });
  const { app } = fleet.worker(home);
  await eventually(
    'the download is known',
    () =>
      app.sessions.live
        .get(sessionId)
        ?.machine?.browser.downloads()
        .some((each) => each.id === id) === true,
  );
  return id;
}

describe('at another worker', () => {
  for (const endpoint of overHttp.filter(({ id }) => !ending.has(id)))
    it(`${nameOf(endpoint)} answers the same at another worker`, async () => {
      const [own, other] = [await send(home, endpoint, twins[0]), await send(away, endpoint, twins[1])];
      assert.deepEqual(shapeOf(other), shapeOf(own));
      assert.equal(other.headers.get('x-berth-worker'), fleet.workerId(home));
    });

  for (const endpoint of inBody)
    it(`${nameOf(endpoint)} of a session at another worker runs in it`, async () => {
      const call = async (index: number, session_id: string): Promise<Reply> => {
        const { body } = goodRequest(endpoint, {});
        return fleet.worker(index).call(endpoint, { body: { ...body, session_id } });
      };
      const [own, other] = [await call(home, twins[0]), await call(away, twins[1])];
      assert.deepEqual([other.status, (other.body as { status?: string }).status], [own.status, (own.body as { status?: string }).status]);
      assert.equal(other.headers.get('x-berth-worker'), fleet.workerId(home), other.text);
    });
});

const links: Record<string, LinkScope> = { openLiveView: 'view', saveLiveViewDownload: 'control', openVnc: 'vnc' };

describe('a link at another worker', () => {
  for (const endpoint of ofSessions.filter(({ auth, replyKind }) => byLink.has(auth) && replyKind !== 'websocket'))
    it(`a link at another worker opens ${nameOf(endpoint)} as at its own, and so does its cookie`, async () => {
      const opened = async (index: number, sessionId: string): Promise<unknown[]> => {
        const token = await tokenFor(fleet.worker(away), sessionId, links[endpoint.id]);
        const download_id = endpoint.id === 'saveLiveViewDownload' ? await downloadOf(sessionId) : '';
        const path = pathOf(endpoint, { params: { session_id: sessionId, path: 'vnc.html', download_id } });
        const first = await open(`${fleet.worker(index).url}${path}?token=${token}`);
        const cookies = first.headers.getSetCookie();
        if (cookies.length === 0) return [shapeOf(first)];
        const again = await open(fleet.worker(1 - index).url + path, { cookie: cookieOf(first) });
        return [shapeOf(first), shapeOf(again), cookies.length];
      };
      assert.deepEqual(await opened(away, twins[1]), await opened(home, twins[0]));
    });
});

describe('a WebSocket at another worker', () => {
  const address = (index: number, endpoint: Endpoint, session_id: string): string =>
    fleet.worker(index).url.replace('http', 'ws') + pathOf(endpoint, { params: { session_id } });

  it('a WebSocket at another worker drives the browser', async () => {
    const { socket, send: command } = await openSocket(address(away, ofId('openCdp'), twins[1]), { authorization: `Bearer ${fleet.key}` });
    const { targetInfos } = await command('Target.getTargets');
    assert.ok(Array.isArray(targetInfos));
    const { body } = await fleet.call(home, getSession, { params: { session_id: twins[1] } });
    assert.equal(body.connections.cdp, 1);
    socket.close();
    await eventually('the connection is closed at both', async () => {
      const session = await fleet.call(away, getSession, { params: { session_id: twins[1] } });
      return session.body.connections.cdp === 0;
    });
  });

  for (const [id, scope] of [
    ['watchLiveView', 'view'],
    ['watchVnc', 'vnc'],
  ] as const)
    it(`a WebSocket at another worker opens ${id} by a link`, async () => {
      const token = await tokenFor(fleet.worker(away), twins[1], scope);
      const { socket, closed } = await openSocket(`${address(away, ofId(id), twins[1])}?token=${token}`).catch((error: unknown) =>
        assert.fail(String(error)),
      );
      socket.terminate();
      await closed;
    });

  it('a WebSocket at another worker opens a tunnel to the session at its own', async () => {
    const tunnel = (index: number) =>
      openSocket(`${address(index, ofId('openTunnel'), twins[1])}?port=3000`, { authorization: `Bearer ${fleet.key}` });
    const first = await tunnel(away);
    const second = await tunnel(home);
    assert.deepEqual(await first.closed, { code: 4012, reason: 'replaced' });
    second.socket.terminate();
  });

  it('a WebSocket at another worker is refused like at its own worker', async () => {
    const refused = async (index: number, sessionId: string): Promise<unknown> =>
      shapeOf(await refusedSocket(address(index, ofId('watchLiveView'), sessionId), { authorization: `Bearer ${fleet.key}` }));
    assert.deepEqual(await refused(away, twins[1]), await refused(home, twins[0]));
    const lost = async (index: number): Promise<unknown> =>
      shapeOf(
        await refusedSocket(`${address(index, ofId('openCdp'), twins[1])}?token=nothing`, {
          authorization: `Bearer ${fleet.key}`,
          origin: 'https://evil.test',
        }),
      );
    assert.deepEqual(await lost(away), await lost(home));
  });
});

const ofId = (id: string): Endpoint => endpoints.find((endpoint) => endpoint.id === id) ?? assert.fail(`no endpoint ${id}`);

describe('a foreign session', () => {
  for (const endpoint of ofSessions.filter(({ auth }) => !byLink.has(auth) && auth !== 'admin'))
    it(`a foreign session of another worker is unknown to ${nameOf(endpoint)}, which asks no other worker`, async () => {
      const ask = async (session_id: string): Promise<Reply> => {
        const request = goodRequest(endpoint, { session_id });
        if (endpoint.replyKind !== 'websocket') return new Client(fleet.worker(away).url, strangerKey).call(endpoint, request);
        return refusedSocket(fleet.worker(away).url.replace(/^http/, 'ws') + pathOf(endpoint, request), {
          authorization: `Bearer ${strangerKey}`,
        });
      };
      const foreign = await ask(twins[0]);
      assert.equal(foreign.status, 404);
      assert.equal(comparable(foreign), comparable(await ask(newId('ses'))));
      assert.equal(foreign.headers.get('x-berth-worker'), fleet.workerId(away));
    });

  it('a foreign session is unknown in a body, too', async () => {
    for (const endpoint of inBody) {
      const { body } = goodRequest(endpoint, {});
      const ask = (session_id: string): Promise<Reply> =>
        new Client(fleet.worker(away).url, strangerKey).call(endpoint, { body: { ...body, session_id } });
      const foreign = await ask(twins[0]);
      assert.equal(comparable(foreign), comparable(await ask(newId('ses'))), nameOf(endpoint));
      assert.equal(foreign.headers.get('x-berth-worker'), fleet.workerId(away));
    }
  });
});

describe('the end of a session', () => {
  for (const id of ending)
    it(`${id} at another worker ends the session at its own worker`, async () => {
      const { session_id } = await fleet.worker(home).create();
      const other = 1 - fleet.whereIs(session_id);
      const endpoint = ofId(id);
      const response = await fetch(fleet.worker(other).url + pathOf(endpoint, { params: { session_id } }), {
        method: 'DELETE',
        headers: credentialOf(endpoint),
      });
      assert.equal(response.status, 204);
      await eventually('it is over', async () => (await fleet.call(other, getSession, { params: { session_id } })).body.status === 'ended');
    });

  it('the end of a session leaves recordings that any worker plays', async () => {
    const [sessionId] = twins;
    const served = fleet.worker(home);
    const recorded = { sessionId, recId: '', folder: '' };
    await endRecorded(served, recorded);
    const params = { session_id: sessionId };
    const [own, other] = [await fleet.call(home, listRecordings, { params }), await fleet.call(away, listRecordings, { params })];
    assert.deepEqual(
      other.body.map(({ url, ...rest }) => ({ ...rest, path: new URL(url).pathname })),
      own.body.map(({ url, ...rest }) => ({ ...rest, path: new URL(url).pathname })),
    );
    const [recording] = own.body;
    const path = `/v1/session/${sessionId}/recordings/${recording?.rec_id}/poster.jpg`;
    const bytes = await Promise.all(
      fleet.workers.map(async ({ url }) => {
        const response = await fetch(url + path, { headers: { authorization: `Bearer ${fleet.key}` } });
        assert.equal(response.status, 200);
        return Buffer.from(await response.arrayBuffer());
      }),
    );
    assert.ok(bytes[0]?.equals(bytes[1] ?? Buffer.alloc(0)));
    const part = await fetch(fleet.worker(away).url + path, { headers: { authorization: `Bearer ${fleet.key}`, range: 'bytes=1-3' } });
    assert.deepEqual([part.status, part.headers.get('content-range')], [206, `bytes 1-3/${bytes[0]?.length}`]);
    assert.equal((await part.arrayBuffer()).byteLength, 3);
  });
});

it('the tests of sessions at another worker cover every endpoint that names a session', () => {
  const named = endpoints.filter(({ body }) =>
    JSON.stringify(body?.toJSONSchema?.({ io: 'input', unrepresentable: 'any' }) ?? {}).includes('"session_id"'),
  );
  const covered = new Set([...ofSessions, ...inBody].map(({ id }) => id));
  assert.deepEqual(
    named.map(({ id }) => id).filter((id) => !covered.has(id)),
    [],
  );
});
