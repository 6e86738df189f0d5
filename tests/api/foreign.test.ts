/** What belongs to somebody else looks like what never was. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  createSession,
  endpoints,
  fetchPage,
  getFetchJob,
  getSession,
  listKeys,
  listOwnKeys,
  listSessions,
  listTabs,
  navigate,
  closeTab,
  openTab,
  connectSession,
  type Endpoint,
} from '@berth/contract';
import { goodRequest, nameOf } from '../contract-table.ts';
import { Client, comparable, pathOf, startApp, type Reply, type TestApp } from '../harness.ts';
import { refusedSocket } from '../raw-http.ts';
import { open, tokenFor } from '../view-links.ts';
import { newId } from '../../packages/server/src/lib/ids.ts';

let served: TestApp;
let victimKey = '';
let strangerKey = '';
let victim = '';
let victimTab = '';
let strangers = '';

before(async () => {
  served = await startApp();
  victimKey = await served.ownerKey('victim');
  strangerKey = await served.ownerKey('stranger');
  victim = (await served.create({ name: 'mine', metadata: { secret: 'plans' } }, { key: victimKey })).session_id;
  strangers = (await served.create({}, { key: strangerKey })).session_id;
  const { body } = await served.call(openTab, { key: victimKey, params: { session_id: victim }, body: { active: false } });
  victimTab = body.tab_id;
});
after(() => served.close());

/** Those that take an API key. To what takes links alone a stranger’s key is no credential at all. */
const bySession = endpoints.filter(({ path, auth }) => path.includes('{session_id}') && !['admin', 'view', 'vnc'].includes(auth));
const byLink = endpoints.filter(({ auth }) => auth === 'view' || auth === 'vnc' || auth === 'recording');

async function asStranger(endpoint: Endpoint, ids: { session_id: string; tab_id?: string }): Promise<Reply> {
  const request = goodRequest(endpoint, ids);
  if (endpoint.replyKind !== 'websocket') return new Client(served.url, strangerKey).call(endpoint, request);
  return refusedSocket(served.url.replace(/^http/, 'ws') + pathOf(endpoint, request), { authorization: `Bearer ${strangerKey}` });
}

const byJob = endpoints.filter(({ path, auth }) => path.includes('{job_id}') && auth !== 'admin');

const malformed = ['nothing', 'ses_', '..%2f..', 'ses_UPPER', "ses_' OR 1=1 --", 'ses_x.y', '💥', 'constructor', 'a'.repeat(200)];

describe('a session of somebody else', () => {
  for (const endpoint of bySession) {
    it(`is answered by ${nameOf(endpoint)} with the very bytes of one that never was`, async () => {
      const foreign = await asStranger(endpoint, { session_id: victim, tab_id: victimTab });
      const unknown = await asStranger(endpoint, { session_id: newId('ses'), tab_id: victimTab });
      assert.equal(foreign.status, 404);
      assert.equal(comparable(foreign), comparable(unknown));
    });

    it(`is answered by ${nameOf(endpoint)} like an id that is malformed`, async () => {
      const unknown = comparable(await asStranger(endpoint, { session_id: newId('ses') }));
      for (const id of malformed) assert.equal(comparable(await asStranger(endpoint, { session_id: id })), unknown, id);
    });
  }

  it('is untouched by all of that', async () => {
    const { body } = await served.call(getSession, { key: victimKey, params: { session_id: victim } });
    assert.deepEqual(
      [body.status, body.metadata, body.name, body.tabs.open, body.connections.cdp],
      ['ready', { secret: 'plans' }, 'mine', 2, 0],
    );
    assert.equal(body.usage.actions, 1, 'only its owner has driven it');
  });

  it('is in no list of anybody else, whatever is asked for', async () => {
    for (const query of [{}, { name: 'mine' }, { 'metadata.secret': 'plans' }, { status: 'ready' }]) {
      const { body } = await served.call(listSessions, { key: strangerKey, query });
      assert.deepEqual(
        body.filter(({ session_id }) => session_id !== strangers),
        [],
      );
    }
  });

  it('keeps its name from nobody else', async () => {
    const { status } = await served.call(createSession, { key: strangerKey, body: { name: 'mine' } });
    assert.equal(status, 201);
  });

  it('is not continued by a page of its owner’s list', async () => {
    await served.create({}, { key: victimKey });
    const page = await served.call(listSessions, { key: victimKey, query: { limit: '1' } });
    const cursor = page.headers.get('x-next-cursor') ?? assert.fail('no second page');
    const { body } = await served.call(listSessions, { key: strangerKey, query: { cursor } });
    assert.ok(body.every(({ session_id }) => session_id !== victim));
  });
});

describe('a job of somebody else', () => {
  const unknownJob = (jobId: string): string => `${jobId.split('.')[0]}.00000000-0000-4000-8000-000000000000`;
  let victimJob = '';
  let strangersJob = '';
  before(async () => {
    const submit = async (key: string): Promise<string> =>
      (await served.call(fetchPage, { key, body: { url: 'http://10.0.0.1/', mode: 'http', async: true, metadata: { secret: 'plans' } } }))
        .body.job_id;
    [victimJob, strangersJob] = await Promise.all([submit(victimKey), submit(strangerKey)]);
    await served.call(getFetchJob, { key: victimKey, params: { job_id: victimJob }, query: { wait_seconds: '25' } });
  });
  const asked = async (endpoint: Endpoint, job_id: string): Promise<string> =>
    comparable(await new Client(served.url, strangerKey).call(endpoint, goodRequest(endpoint, { job_id })));

  for (const endpoint of byJob) {
    it(`is answered by ${nameOf(endpoint)} with the very bytes of one that never was`, async () => {
      const unknown = await asked(endpoint, unknownJob(victimJob));
      const halfMine = `${strangersJob.split('.')[0]}.${victimJob.split('.')[1]}`;
      for (const id of [victimJob, halfMine, victim, ...malformed]) assert.equal(await asked(endpoint, id), unknown, id);
    });
  }

  it('is as it was after all of that', async () => {
    const { body } = await served.call(getFetchJob, { key: victimKey, params: { job_id: victimJob } });
    assert.deepEqual([body.status, body.error?.code, body.metadata], ['error', 'navigation_failed', { secret: 'plans' }]);
  });
});

describe('a navigation', () => {
  it('never acts on a session that only its body names', async () => {
    const faults = await served.faults(navigate, {
      key: strangerKey,
      params: { session_id: strangers },
      body: { url: 'about:blank', session_id: victim },
    });
    assert.deepEqual(
      faults.map(({ loc }) => loc),
      [['body', 'session_id']],
    );
    const { body } = await served.call(getSession, { key: victimKey, params: { session_id: victim } });
    assert.equal(body.usage.actions, 1);
  });

  it('takes the session of its path in the body too', async () => {
    const reply = await served.call(navigate, {
      key: strangerKey,
      params: { session_id: strangers },
      body: { url: 'about:blank', session_id: strangers },
    });
    assert.equal(reply.status, 200);
  });
});

describe('a tab of another session', () => {
  it('is not found, whether the session is one’s own or somebody else’s', async () => {
    const second = (await served.create({}, { key: victimKey })).session_id;
    for (const [key, session_id] of [
      [victimKey, second],
      [strangerKey, strangers],
    ] as const) {
      await served.refuse(closeTab, 'tab_not_found', { key, params: { session_id, tab_id: victimTab } });
      await served.refuse(navigate, 'tab_not_found', { key, params: { session_id }, body: { url: 'about:blank', tab_id: victimTab } });
    }
    const { body } = await served.call(listTabs, { key: victimKey, params: { session_id: victim } });
    assert.ok(body.some(({ tab_id }) => tab_id === victimTab));
  });
});

describe('a connect token', () => {
  it('opens no session but the one that it was made for', async () => {
    const { token } = (await served.call(connectSession, { key: strangerKey, params: { session_id: strangers } })).body;
    const reply = await refusedSocket(`${served.url.replace(/^http/, 'ws')}/v1/session/${victim}/cdp?token=${token}`);
    assert.equal(reply.status, 403);
  });
});

describe('a link', () => {
  it('opens no session but the one that it was made for, and tells not whether there is another', async () => {
    const own = (await served.create({ kind: 'full_browser' }, { key: strangerKey })).session_id;
    const tokens = { view: await tokenFor(served, own, 'control', strangerKey), vnc: await tokenFor(served, own, 'vnc', strangerKey) };
    for (const endpoint of byLink) {
      const token = endpoint.auth === 'vnc' ? tokens.vnc : tokens.view;
      const asked = async (session_id: string): Promise<Reply> => {
        const address = pathOf(endpoint, { ...goodRequest(endpoint, { session_id }), query: { token } });
        return endpoint.replyKind === 'websocket' ? refusedSocket(served.url.replace(/^http/, 'ws') + address) : open(served.url + address);
      };
      const unknown = await asked(newId('ses'));
      assert.equal(unknown.status, 403, nameOf(endpoint));
      for (const id of [victim, strangers, ...malformed.map(encodeURIComponent)])
        assert.equal(comparable(await asked(id)), comparable(unknown), `${nameOf(endpoint)}: ${id}`);
    }
  });
});

describe('a key of somebody else', () => {
  const byKey = endpoints.filter(({ path, auth }) => path.includes('{key_id}') && auth === 'login');
  let victimKeyId = '';
  before(async () => {
    [victimKeyId = ''] = (await served.call(listOwnKeys, { key: await served.login('victim') })).body.map(({ key_id }) => key_id);
  });

  for (const endpoint of byKey)
    it(`is answered by ${nameOf(endpoint)} with the very bytes of one that never was`, async () => {
      const key = await served.login('stranger');
      const asked = async (key_id: string): Promise<string> =>
        comparable(await served.call(endpoint, { ...goodRequest(endpoint, { key_id }), key }));
      const unknown = await asked(newId('key'));
      for (const id of [victimKeyId, ...malformed]) assert.equal(await asked(id), unknown, id);
    });

  it('is good after all of that, and in no list of anybody else', async () => {
    assert.equal((await served.call(listSessions, { key: victimKey })).status, 200);
    const { body } = await served.call(listOwnKeys, { key: await served.login('stranger') });
    assert.deepEqual([...new Set(body.map(({ owner }) => owner))], ['stranger']);
  });
});

describe('a key', () => {
  it('is listed for its owner alone', async () => {
    const { body } = await served.call(listKeys, { query: { owner: 'stranger' } });
    assert.deepEqual([...new Set(body.map(({ owner }) => owner))], ['stranger']);
  });
});
