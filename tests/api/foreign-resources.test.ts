/** Foreign resources are indistinguishable from unknown ones. */
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
import { goodRequest, nameOf } from '../contract/contract-table.ts';
import { Client, comparable, jobIdOf, pathOf, startApp, type Reply, type TestApp } from '../harness.ts';
import { refusedSocket } from '../raw-http.ts';
import { open, tokenFor } from '../prepare/view-links.ts';
import { newId } from '@berth/lib/ids.ts';

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

/** Endpoints that accept an API key. */
const bySession = endpoints.filter(({ path, auth }) => path.includes('{session_id}') && !['admin', 'view', 'vnc'].includes(auth));
const byLink = endpoints.filter(({ auth }) => auth === 'view' || auth === 'vnc' || auth === 'recording');

async function asStranger(endpoint: Endpoint, ids: { session_id: string; tab_id?: string }): Promise<Reply> {
  const request = goodRequest(endpoint, ids);
  if (endpoint.replyKind !== 'websocket') return new Client(served.url, strangerKey).call(endpoint, request);
  return refusedSocket(served.url.replace(/^http/, 'ws') + pathOf(endpoint, request), { authorization: `Bearer ${strangerKey}` });
}

const byJob = endpoints.filter(({ path, auth }) => path.includes('{job_id}') && auth !== 'admin');

const malformed = ['nothing', 'ses_', '..%2f..', 'ses_UPPER', "ses_' OR 1=1 --", 'ses_x.y', '💥', 'constructor', 'a'.repeat(200)];

describe('a foreign session', () => {
  for (const endpoint of bySession) {
    it(`a foreign session is answered by ${nameOf(endpoint)} with the same bytes as an unknown id`, async () => {
      const foreign = await asStranger(endpoint, { session_id: victim, tab_id: victimTab });
      const unknown = await asStranger(endpoint, { session_id: newId('ses'), tab_id: victimTab });
      assert.equal(foreign.status, 404);
      assert.equal(comparable(foreign), comparable(unknown));
    });

    it(`a foreign session is answered by ${nameOf(endpoint)} like a malformed id`, async () => {
      const unknown = comparable(await asStranger(endpoint, { session_id: newId('ses') }));
      for (const id of malformed) assert.equal(comparable(await asStranger(endpoint, { session_id: id })), unknown, id);
    });
  }

  it('a foreign session is not changed by any call', async () => {
    const { body } = await served.call(getSession, { key: victimKey, params: { session_id: victim } });
    assert.deepEqual(
      [body.status, body.metadata, body.name, body.tabs.open, body.connections.cdp],
      ['ready', { secret: 'plans' }, 'mine', 2, 0],
    );
    assert.equal(body.usage.actions, 1, 'only its owner has driven it');
  });

  it('a foreign session is in no other owner’s list, whatever the filter', async () => {
    for (const query of [{}, { name: 'mine' }, { 'metadata.secret': 'plans' }, { status: 'ready' }]) {
      const { body } = await served.call(listSessions, { key: strangerKey, query });
      assert.deepEqual(
        body.filter(({ session_id }) => session_id !== strangers),
        [],
      );
    }
  });

  it('a foreign session does not reserve its name for other owners', async () => {
    const { status } = await served.call(createSession, { key: strangerKey, body: { name: 'mine' } });
    assert.equal(status, 201);
  });

  it('a foreign session cannot be listed with a cursor of its owner', async () => {
    await served.create({}, { key: victimKey });
    const page = await served.call(listSessions, { key: victimKey, query: { limit: '1' } });
    const cursor = page.headers.get('x-next-cursor') ?? assert.fail('no second page');
    const { body } = await served.call(listSessions, { key: strangerKey, query: { cursor } });
    assert.ok(body.every(({ session_id }) => session_id !== victim));
  });
});

describe('a foreign job', () => {
  const unknownJob = (jobId: string): string => `${jobId.split('.')[0]}.00000000-0000-4000-8000-000000000000`;
  let victimJob = '';
  let strangersJob = '';
  before(async () => {
    const submit = async (key: string): Promise<string> => {
      const body = { url: 'http://10.0.0.1/', mode: 'http', async: true, metadata: { secret: 'plans' } };
      return jobIdOf((await served.call(fetchPage, { key, body })).body);
    };
    [victimJob, strangersJob] = await Promise.all([submit(victimKey), submit(strangerKey)]);
    await served.call(getFetchJob, { key: victimKey, params: { job_id: victimJob }, query: { wait_seconds: '25' } });
  });
  const read = async (endpoint: Endpoint, job_id: string): Promise<string> =>
    comparable(await new Client(served.url, strangerKey).call(endpoint, goodRequest(endpoint, { job_id })));

  for (const endpoint of byJob) {
    it(`a foreign job is answered by ${nameOf(endpoint)} with the same bytes as an unknown id`, async () => {
      const unknown = await read(endpoint, unknownJob(victimJob));
      const halfMine = `${strangersJob.split('.')[0]}.${victimJob.split('.')[1]}`;
      for (const id of [victimJob, halfMine, victim, ...malformed]) assert.equal(await read(endpoint, id), unknown, id);
    });
  }

  it('a foreign job is not changed by any call', async () => {
    const { body } = await served.call(getFetchJob, { key: victimKey, params: { job_id: victimJob } });
    assert.deepEqual([body.status, body.error?.code, body.metadata], ['error', 'navigation_failed', { secret: 'plans' }]);
  });
});

describe('a navigation', () => {
  it('a navigation refuses a foreign session id in the body', async () => {
    const issues = await served.issues(navigate, {
      key: strangerKey,
      params: { session_id: strangers },
      body: { url: 'about:blank', session_id: victim },
    });
    assert.deepEqual(
      issues.map(({ loc }) => loc),
      [['body', 'session_id']],
    );
    const { body } = await served.call(getSession, { key: victimKey, params: { session_id: victim } });
    assert.equal(body.usage.actions, 1);
  });

  it('a navigation accepts the session id of the path in the body', async () => {
    const reply = await served.call(navigate, {
      key: strangerKey,
      params: { session_id: strangers },
      body: { url: 'about:blank', session_id: strangers },
    });
    assert.equal(reply.status, 200);
  });
});

describe('a tab of another session', () => {
  it('a tab of another session is not found in an own or a foreign session', async () => {
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
  it('a connect token opens only its own session', async () => {
    const { token } = (await served.call(connectSession, { key: strangerKey, params: { session_id: strangers } })).body;
    const reply = await refusedSocket(`${served.url.replace(/^http/, 'ws')}/v1/session/${victim}/cdp?token=${token}`);
    assert.equal(reply.status, 403);
  });
});

describe('a link', () => {
  it('a link opens only its own session and does not reveal others', async () => {
    const own = (await served.create({ kind: 'full_browser' }, { key: strangerKey })).session_id;
    const tokens = { view: await tokenFor(served, own, 'control', strangerKey), vnc: await tokenFor(served, own, 'vnc', strangerKey) };
    for (const endpoint of byLink) {
      const token = endpoint.auth === 'vnc' ? tokens.vnc : tokens.view;
      const read = async (session_id: string): Promise<Reply> => {
        const address = pathOf(endpoint, { ...goodRequest(endpoint, { session_id }), query: { token } });
        return endpoint.replyKind === 'websocket' ? refusedSocket(served.url.replace(/^http/, 'ws') + address) : open(served.url + address);
      };
      const unknown = await read(newId('ses'));
      assert.equal(unknown.status, 403, nameOf(endpoint));
      for (const id of [victim, strangers, ...malformed.map(encodeURIComponent)])
        assert.equal(comparable(await read(id)), comparable(unknown), `${nameOf(endpoint)}: ${id}`);
    }
  });
});

describe('a foreign key', () => {
  const byKey = endpoints.filter(({ path, auth }) => path.includes('{key_id}') && auth === 'login');
  let victimKeyId = '';
  before(async () => {
    [victimKeyId = ''] = (await served.call(listOwnKeys, { key: await served.login('victim') })).body.map(({ key_id }) => key_id);
  });

  for (const endpoint of byKey)
    it(`a foreign key is answered by ${nameOf(endpoint)} with the same bytes as an unknown id`, async () => {
      const key = await served.login('stranger');
      const read = async (key_id: string): Promise<string> =>
        comparable(await served.call(endpoint, { ...goodRequest(endpoint, { key_id }), key }));
      const unknown = await read(newId('key'));
      for (const id of [victimKeyId, ...malformed]) assert.equal(await read(id), unknown, id);
    });

  it('a foreign key stays valid and is in no other owner’s list', async () => {
    assert.equal((await served.call(listSessions, { key: victimKey })).status, 200);
    const { body } = await served.call(listOwnKeys, { key: await served.login('stranger') });
    assert.deepEqual([...new Set(body.map(({ owner }) => owner))], ['stranger']);
  });
});

describe('a key', () => {
  it('a key is listed only for its owner', async () => {
    const { body } = await served.call(listKeys, { query: { owner: 'stranger' } });
    assert.deepEqual([...new Set(body.map(({ owner }) => owner))], ['stranger']);
  });
});
