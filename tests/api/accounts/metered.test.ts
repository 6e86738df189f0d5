/** The cost of each endpoint, refusals of exhausted owners, and failed calls, which cost nothing. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  closeTab,
  connectSession,
  createConnectToken,
  createKey,
  createOwnKey,
  createSession,
  createSignInLink,
  endSession,
  endpoints,
  fetchPage,
  getContent,
  getFetchJob,
  getSession,
  inspect,
  listSkills,
  listAllSessions,
  listProfiles,
  listSessions,
  listTabs,
  createCreditCodes,
  createPromoCodes,
  navigate,
  openTab,
  pdf,
  redeemSignInLink,
  rotateIp,
  runActions,
  screenshot,
  updateSession,
  uploadFile,
  type Endpoint,
  type ErrorCode,
} from '@berth/contract';
import { beat } from '../../../packages/server/testing/pool.ts';
import { newId } from '@berth/lib/ids.ts';
import { goodRequest, nameOf, overHttp } from '../../contract/contract-table.ts';
import { bytes, startSite, type Site } from '../../fetch-site.ts';
import { Client, eventually, jobIdOf, type Reply, type Request } from '../../harness.ts';
import { startMeteredApp, withoutTime, type MeteredApp, type Owner } from '../../prepare/metered-app.ts';
import { openSocket } from '../../raw-http.ts';
import { endRecorded, recordingSession } from '../../prepare/recorded-session.ts';
import { hangingUrl, machineOf, machinesLeft, nothingLeft, plantDownload, whileNoMachineStarts } from '../../contract/session-states.ts';
import { learnSkill } from '../../prepare/skills.ts';
import { ViewSocket, tokenFor } from '../../prepare/view-links.ts';

let served: MeteredApp;
/** The same without enforced credits. */
let paid: MeteredApp;
let site: Site;
before(async () => {
  [served, paid, site] = await Promise.all([
    startMeteredApp({ environment: { BERTH_CAPTCHA_HUMAN: 'true' } }),
    startMeteredApp({ environment: { BERTH_CREDITS_ENFORCED: 'true' } }),
    startSite(),
  ]);
});
after(() => Promise.all([served.close(), paid.close(), site.close()]));

/** The fake browser serves it immediately. */
const emptyPage = 'http://status-204.test/';
const unknownHost = 'http://fail-ERR_NAME_NOT_RESOLVED.test/';
const costing = endpoints.filter(({ cost }) => cost === 'action');

type Prepared = Request<Endpoint>;

/** Creates what a successful call of an endpoint requires. */
type Prepare = (request: Prepared, owner: Owner) => Promise<Prepared>;

const inParams =
  (make: (sessionId: string, owner: Owner) => Promise<Record<string, string>>): Prepare =>
  async (request, owner) => ({ ...request, params: { ...request.params, ...(await make(request.params?.['session_id'] ?? '', owner)) } });

const bySession =
  (scope: 'view' | 'control' | 'vnc'): Prepare =>
  async (request, { key }) => ({
    ...request,
    key: null,
    query: { ...request.query, token: await tokenFor(served, request.params?.['session_id'] ?? '', scope, key) },
  });

const aJob = inParams(async (_, { key }) => {
  const { body } = await served.call(fetchPage, { key, body: { url: emptyPage, async: true } });
  const job_id = jobIdOf(body);
  await served.call(getFetchJob, { key, params: { job_id }, query: { wait_seconds: '10' } });
  return { job_id };
});
const anOwnKey = inParams(async (_, { owner }) => {
  const { body } = await served.call(createOwnKey, { key: await served.login(owner), body: { name: 'second' } });
  return { key_id: body.key_id };
});
const anotherSession = inParams(async (_, { key }) => ({ session_id: (await served.create({}, { key })).session_id }));
const withBody =
  (make: () => Promise<Record<string, unknown>>): Prepare =>
  async (request) => ({ ...request, body: await make() });

const aConnectToken = inParams(async (_, { key }) => {
  const { token_id, token } = (await served.call(createConnectToken, { key })).body;
  return { token_id, token: token ?? '' };
});

/** A profile that a session has saved. */
const aProfile = inParams(async (_, { key }) => {
  const name = newId('pro').slice(4);
  const { session_id } = await served.create({ profile: { name, save_changes: true } }, { key });
  await served.call(endSession, { key, params: { session_id } });
  const isSaved = async () =>
    (await served.call(listProfiles, { key })).body.some((profile) => profile.name === name && profile.version === 1);
  await eventually('the profile is saved', isSaved);
  return { profile_id: name };
});

/** A worker of another region, so that nothing is placed on it. */
const anotherWorker = inParams(async () => {
  const workerId = newId('wrk');
  await beat(served.app.fleet.deps.store, { workerId, region: 'elsewhere' });
  return { worker_id: workerId };
});

const aTrial = { tier: 'open', trial_days: 1 };

const prepares: Record<string, Prepare> = {
  redeemSignInLink: async (request) => {
    const { url } = (await served.call(createSignInLink, { body: { owner: 'local' } })).body;
    return { ...request, body: { token: url?.split('#link=')[1] ?? '' } };
  },
  endLinkSignIn: async (request, { owner }) => {
    const { url } = (await served.call(createSignInLink, { body: { owner } })).body;
    const { key } = (await served.call(redeemSignInLink, { body: { token: url?.split('#link=')[1] ?? '' } })).body;
    return { ...request, key: key ?? '' };
  },
  cordonWorker: anotherWorker,
  uncordonWorker: anotherWorker,
  drainWorker: anotherWorker,
  endSession: anotherSession,
  endAnySession: anotherSession,
  closeTab: inParams(async (session_id, { key }) => ({
    tab_id: (await served.call(openTab, { key, params: { session_id }, body: {} })).body.tab_id,
  })),
  rotateIp: inParams(async (_, { key }) => ({
    session_id: (await served.create(withProxies(), { key })).session_id,
  })),
  getDownload: inParams(async (session_id) => ({ download_id: plantDownload(served, session_id, { data: Buffer.from('a file') }) })),
  openLiveView: bySession('view'),
  saveLiveViewDownload: async (request, owner) => {
    const { session_id = '' } = request.params ?? {};
    const download_id = plantDownload(served, session_id, { data: Buffer.from('a file') });
    return bySession('control')({ ...request, params: { session_id, download_id } }, owner);
  },
  openVnc: bySession('vnc'),
  readRecordingAsset: inParams(async (_, { key }) => {
    const recorded = await recordingSession(served, { key });
    await endRecorded(served, recorded, key);
    return { session_id: recorded.sessionId, rec_id: recorded.recId, asset_path: 'index.html' };
  }),
  getInspectReport: inParams(async (_, { key }) => ({
    job_id: (await served.call(inspect, { key, body: { url: 'http://site.test/', settle_ms: 0 } })).body.job_id,
  })),
  getInspectArtifact: inParams(async (_, { key }) => ({
    job_id: (await served.call(inspect, { key, body: { url: 'http://site.test/', settle_ms: 0 } })).body.job_id,
    name: 'openapi.json',
  })),
  getFetchJob: aJob,
  getJob: aJob,
  cancelJob: aJob,
  getOwner: inParams((_, { owner }) => Promise.resolve({ owner })),
  updateOwner: (_, { owner }) => Promise.resolve({ params: { owner }, body: { tier: 'open' } }),
  pinOwner: (_, { owner }) => Promise.resolve({ params: { owner }, body: { worker_id: served.app.fleet.deps.workerId } }),
  unpinOwner: inParams((_, { owner }) => Promise.resolve({ owner })),
  revokeOwnKey: anOwnKey,
  rotateOwnKey: anOwnKey,
  revokeKey: inParams(async () => ({ key_id: (await served.call(createKey, { body: { owner: 'somebody' } })).body.key_id })),
  deleteSkill: inParams(async (_, { key, owner }) => {
    await learnSkill(served, { owner, task: 'login', step: 'mail' });
    return { skill_id: (await served.call(listSkills, { key })).body[0]?.skill_id ?? '' };
  }),
  getProfile: aProfile,
  deleteProfile: aProfile,
  revokeConnectToken: aConnectToken,
  discoverVersionByPath: aConnectToken,
  discoverTargetsByPath: aConnectToken,
  redeemCredits: withBody(async () => ({ code: (await served.call(createCreditCodes, { body: { amount: 5 } })).body.codes?.[0] })),
  createPromoCodes: withBody(() => Promise.resolve(aTrial)),
  redeemPromo: withBody(async () => ({ code: (await served.call(createPromoCodes, { body: aTrial })).body.codes?.[0] })),
};

/** Endpoints that answer billing_not_configured here. */
const withoutBilling = new Set(['checkout', 'billingPortal']);

describe('a successful call', () => {
  let owner: Owner;
  let sessionId = '';
  before(async () => {
    owner = await served.newOwner();
    ({ session_id: sessionId } = await served.create({ kind: 'full_browser', har: true }, { key: owner.key }));
  });

  const keyFor = async ({ auth }: Endpoint): Promise<Pick<Prepared, 'key'>> => {
    if (auth === 'login') return { key: await served.login(owner.owner) };
    return auth === 'admin' || auth === 'metrics' || auth === 'none' ? {} : { key: owner.key };
  };

  /** Calls an endpoint successfully and returns the additional usage. */
  async function counted(endpoint: Endpoint): Promise<{ reply: Reply; actions: number; sessions: number }> {
    const good: Prepared = { ...goodRequest(endpoint, { session_id: sessionId }), ...(await keyFor(endpoint)) };
    const request = (await prepares[endpoint.id]?.(good, owner)) ?? good;
    const before = await served.usage(owner.key);
    const reply = await (endpoint.replyKind === 'events'
      ? beginningOf(endpoint, request)
      : new Client(served.url, owner.key).send(endpoint, request));
    const { actions, sessions } = await served.usage(owner.key);
    return { reply, actions: actions - before.actions, sessions: sessions - before.sessions };
  }

  /** A stream does not end: its headers are enough. */
  async function beginningOf(endpoint: Endpoint, { params = {} }: Prepared): Promise<Reply> {
    const disconnected = new AbortController();
    const address = served.url + endpoint.path.replace('{session_id}', params['session_id'] ?? '');
    const { status, headers } = await fetch(address, { headers: { authorization: `Bearer ${owner.key}` }, signal: disconnected.signal });
    disconnected.abort();
    return { status, headers, text: '', body: undefined };
  }

  for (const endpoint of overHttp)
    it(`a successful call to ${nameOf(endpoint)} counts ${endpoint.cost === undefined ? 'nothing' : `one ${endpoint.cost}`}`, async () => {
      const { reply, actions, sessions } = await counted(endpoint);
      assert.equal(reply.status, withoutBilling.has(endpoint.id) ? 503 : endpoint.status, reply.text);
      assert.deepEqual([actions, sessions], [endpoint.cost === 'action' ? 1 : 0, endpoint.cost === 'session' ? 1 : 0]);
    });

  it('a successful call is counted in its session', async () => {
    const { session_id } = await served.create({}, { key: owner.key });
    const params = { session_id };
    await served.call(navigate, { key: owner.key, params, body: { url: 'http://site.test/' } });
    await served.call(uploadFile, { key: owner.key, params, body: { name: 'a.txt', data_base64: '' } });
    await served.call(fetchPage, { key: owner.key, body: { url: emptyPage, session_id } });
    const { usage } = (await served.call(getSession, { key: owner.key, params })).body;
    assert.deepEqual([usage.actions, usage.credits], [3, 1.03]);
    await served.call(endSession, { key: owner.key, params });
    const ended = (await served.call(getSession, { key: owner.key, params })).body;
    assert.deepEqual([ended.usage.actions, ended.usage.credits], [3, 1.03]);
    const { body } = await served.call(listAllSessions, { query: { owner: owner.owner } });
    assert.equal(body.find((session) => session.session_id === session_id)?.cost.credits, 1.03);
  });

  it('DevTools clients and live view users are not charged for calls', async () => {
    const { key } = await served.newOwner('no_actions');
    const session = await served.create({}, { key });
    const params = { session_id: session.session_id };
    const tabs = async () => (await served.call(listTabs, { key, params })).body.map(({ url }) => url);
    const { body } = await served.call(connectSession, { key, params });
    const client = await openSocket(body.cdp_url);
    await client.send('Target.createTarget', { url: 'http://one.test/' });
    client.socket.terminate();
    const token = await tokenFor(served, session.session_id, 'control', key);
    const viewer = await ViewSocket.open(
      `${served.url.replace('http', 'ws')}/v1/session/${session.session_id}/live-view/socket?token=${token}`,
    );
    viewer.send({ type: 'navigate', to: 'url', url: 'http://two.test/' });
    viewer.send({ type: 'tab', action: 'open' });
    await eventually(
      'everything has finished',
      async () => (await tabs()).toSorted().join() === 'about:blank,http://one.test/,http://two.test/',
    );
    viewer.socket.terminate();
    assert.equal((await served.usage(key)).actions, 0);
  });

  it('a call that rotates nothing, or closes a tab, is free', async () => {
    const params = { session_id: sessionId };
    const { tab_id } = (await served.call(openTab, { key: owner.key, params, body: {} })).body;
    const before = await served.account(owner);
    assert.equal((await served.call(rotateIp, { key: owner.key, params })).body.rotated, false);
    assert.equal((await served.call(closeTab, { key: owner.key, params: { ...params, tab_id } })).status, 204);
    assert.deepEqual(withoutTime(await served.account(owner)), withoutTime(before));
  });

  it('a call with steps counts an action for each executed step', async () => {
    const before = await served.usage(owner.key);
    const wait = { type: 'wait', ms: 1 };
    const actions = [wait, { type: 'repeat', max: 3, steps: [wait] }, { ...wait, if: { url_matches: 'nowhere' } }];
    await served.call(runActions, { key: owner.key, params: { session_id: sessionId }, body: { actions } });
    assert.equal((await served.usage(owner.key)).actions - before.actions, 5);
  });

  it('a fetch counts an action for each attempt and each step', async () => {
    const wait = { type: 'wait', ms: 1 };
    const count = async (body: Record<string, unknown>): Promise<[number, number]> => {
      const before = await served.usage(owner.key);
      const reply = await served.call(fetchPage, { key: owner.key, body });
      const { usage } = reply.body;
      assert.equal(usage.credits, (usage.actions * 10_000 + Math.floor(usage.egress_bytes / 5)) / 1e6, reply.text);
      return [(await served.usage(owner.key)).actions - before.actions, usage.actions];
    };
    assert.deepEqual(await count({ url: 'http://site.test/', formats: ['html'], actions: [wait, wait] }), [3, 3]);
    const failing = site.sequence('/failing', (response) => void response.writeHead(503).end());
    assert.deepEqual(await count({ url: failing, mode: 'http' }), [2, 2]);
    // robots.txt is requested, and the forbidden page is not.
    site.on('/robots.txt', bytes('User-agent: *\nDisallow: /', 'text/plain'));
    assert.deepEqual(await count({ url: `${site.url}/forbidden`, mode: 'http', respect_robots: true }), [0, 0]);
  });

  it('a fetch counts the steps that ran before its browser was lost', async () => {
    const { session_id } = await served.create({}, { key: owner.key });
    const before = await served.usage(owner.key);
    const urls = ['http://first.test/', 'http://second.test/'];
    const actions = [...urls.map((url) => ({ type: 'navigate', url })), { type: 'wait', ms: 20_000 }];
    const call = served.call(fetchPage, { key: owner.key, body: { url: 'http://site.test/', session_id, actions } });
    const { browser } = machineOf(served, session_id);
    await eventually('the second step runs', () => browser.pageUrls.includes('http://second.test/'));
    machineOf(served, session_id).crash();
    const { error, usage } = (await call).body;
    assert.equal(error?.code, 'session_lost');
    assert.ok(usage.actions >= 2, `${usage.actions}`);
    assert.equal((await served.usage(owner.key)).actions - before.actions, usage.actions);
  });

  it('a fetch counts no session for fetch machines', async () => {
    const { key } = await served.newOwner();
    await served.call(fetchPage, { key, body: { url: emptyPage } });
    const { sessions, browser_seconds } = await served.usage(key);
    assert.deepEqual([sessions, browser_seconds], [0, 0]);
    assert.deepEqual((await served.call(listSessions, { key })).body, []);
    assert.equal((await served.call(listSessions, { key, query: { purpose: 'fetch' } })).body.length, 1);
  });
});

/** The session fields that change with use. */
async function traces(app: MeteredApp, { key }: Owner, sessionId: string): Promise<unknown> {
  const { body } = await app.call(getSession, { key, params: { session_id: sessionId } });
  const { current_url, tabs, usage, egress } = body;
  // Sessions of earlier tests may be ending.
  const { onHost } = await machinesLeft(app);
  return [
    current_url,
    tabs,
    egress,
    { ...usage, browser_seconds: 0 },
    machineOf(app, sessionId).files.uploads.size,
    app.runtime.counts.booted,
    onHost,
  ];
}

async function refusedBy(app: MeteredApp, endpoint: Endpoint, code: ErrorCode, request: Prepared): Promise<Record<string, unknown>> {
  const { details } = await app.refuse(endpoint, code, request);
  return details;
}

const sessionOf = async (app: MeteredApp, { key }: Owner, body = {}): Promise<string> => (await app.create(body, { key })).session_id;

/** Options of a session in which every call can cost something, a rotation too. */
const withProxies = () => ({ proxy: { type: 'rotating', servers: [site.url, site.url] } });

const nextMonth = (): string => {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString();
};

describe('an owner with an exhausted plan', () => {
  let owner: Owner;
  let sessionId = '';
  before(async () => {
    owner = await served.newOwner('no_actions');
    sessionId = await sessionOf(served, owner, withProxies());
  });

  for (const endpoint of costing)
    it(`an owner with an exhausted plan is refused by ${nameOf(endpoint)} without any effect`, async () => {
      const request = { ...goodRequest(endpoint, { session_id: sessionId }), key: owner.key };
      const before = await traces(served, owner, sessionId);
      const details = await refusedBy(served, endpoint, 'plan_limit_exceeded', request);
      assert.deepEqual(details, { axis: 'actions', limit: 0, used: 0, required: 1, resets_at: nextMonth() });
      assert.deepEqual(await traces(served, owner, sessionId), before);
    });

  it('an owner with an exhausted plan is refused an asynchronous fetch before a job is created', async () => {
    const { reply } = await served.refuse(fetchPage, 'plan_limit_exceeded', { key: owner.key, body: { url: emptyPage, async: true } });
    assert.equal(reply.headers.get('location'), null);
    assert.equal(served.app.jobs.load.pending, 0);
  });

  it('an owner with an exhausted plan gets session errors first', async () => {
    await served.refuse(navigate, 'session_not_found', { key: owner.key, params: { session_id: 'ses_none' }, body: { url: emptyPage } });
    const over = await sessionOf(served, owner);
    await served.call(endSession, { key: owner.key, params: { session_id: over } });
    await served.refuse(navigate, 'session_ended', { key: owner.key, params: { session_id: over }, body: { url: emptyPage } });
  });

  for (const [tier, axis] of [
    ['no_egress', 'egress_bytes'],
    ['no_time', 'browser_seconds'],
  ] as const)
    it(`an owner with an exhausted plan gets no session without ${axis}, and none is stored`, async () => {
      const { key } = await served.newOwner(tier);
      const { booted } = served.runtime.counts;
      const details = await refusedBy(served, createSession, 'plan_limit_exceeded', { key, body: {} });
      assert.deepEqual(details, { axis, limit: 0, used: 0, required: 1, resets_at: nextMonth() });
      assert.deepEqual([(await served.call(listSessions, { key })).body, served.runtime.counts.booted], [[], booted]);
      await served.refuse(fetchPage, 'plan_limit_exceeded', { key, body: { url: emptyPage } });
      assert.equal(served.runtime.counts.booted, booted);
    });

  it('an owner without captcha solves left gets no session with captcha solving, but any other session', async () => {
    const { key } = await served.newOwner('no_captchas');
    const details = await refusedBy(served, createSession, 'plan_limit_exceeded', { key, body: { captcha: { mode: 'solve' } } });
    assert.deepEqual(details, { axis: 'captcha_solves', limit: 0, used: 0, required: 1, resets_at: nextMonth() });
    assert.equal((await served.create({}, { key })).status, 'ready');
    assert.equal((await served.usage(key)).sessions, 1);
  });

  it('an owner with an exhausted plan is refused all concurrent calls', async () => {
    const { key } = await served.newOwner('few_actions');
    const { session_id } = await served.create({}, { key });
    const wait = { type: 'wait', ms: 1 };
    const actions = [wait, { type: 'if', if: { url_matches: 'nowhere' }, steps: [wait], else: [wait] }];
    const details = await refusedBy(served, runActions, 'plan_limit_exceeded', { key, params: { session_id }, body: { actions } });
    assert.deepEqual([details['limit'], details['used'], details['required']], [3, 0, 4]);
    await served.call(runActions, { key, params: { session_id }, body: { actions: [wait, wait, wait] } });
    assert.equal((await served.usage(key)).actions, 3);
    await served.refuse(screenshot, 'plan_limit_exceeded', { key, params: { session_id }, body: {} });
  });

  for (const tier of ['overdrawn', 'unenforced'] as const)
    it(`an owner with an exhausted plan continues on the plan ${tier}`, async () => {
      const { key } = await served.newOwner(tier);
      const { session_id } = await served.create({}, { key });
      await served.call(navigate, { key, params: { session_id }, body: { url: emptyPage } });
      await served.flush();
      assert.equal((await served.call(getSession, { key, params: { session_id } })).body.status, 'ready');
      assert.equal((await served.usage(key)).actions, 1);
    });
});

describe('an owner with an empty wallet', () => {
  let owner: Owner;
  let sessionId = '';
  let unproxied = '';
  before(async () => {
    // The price of two sessions without actions.
    owner = await paid.newOwner('open', 2);
    sessionId = await sessionOf(paid, owner, withProxies());
    unproxied = await sessionOf(paid, owner);
    assert.equal(await paid.balance(owner.key), 0);
  });

  for (const endpoint of costing)
    it(`an owner with an empty wallet is refused by ${nameOf(endpoint)} with the price and without any effect`, async () => {
      const request = { ...goodRequest(endpoint, { session_id: sessionId }), key: owner.key };
      const before = await traces(paid, owner, sessionId);
      assert.deepEqual(await refusedBy(paid, endpoint, 'insufficient_credits', request), { balance: 0, available: 0, required: 0.01 });
      assert.deepEqual(await traces(paid, owner, sessionId), before);
    });

  it('an owner with an empty wallet may ask for a rotation that cannot change anything', async () => {
    const before = await paid.account(owner);
    const { status, body } = await paid.call(rotateIp, { key: owner.key, params: { session_id: unproxied } });
    assert.deepEqual([status, body.rotated], [200, false]);
    assert.deepEqual(withoutTime(await paid.account(owner)), withoutTime(before));
  });

  it('an owner with an empty wallet gets no session, and none is stored', async () => {
    const { booted } = paid.runtime.counts;
    assert.deepEqual(await refusedBy(paid, createSession, 'insufficient_credits', { key: owner.key, body: {} }), {
      balance: 0,
      available: 0,
      required: 1,
    });
    assert.deepEqual([(await paid.call(listSessions, { key: owner.key })).body.length, paid.runtime.counts.booted], [2, booted]);
  });

  it('an owner with an empty wallet continues on a plan with overdraft', async () => {
    const { owner: name, key } = await paid.newOwner('overdrawn');
    await paid.create({}, { key });
    await paid.flush();
    assert.equal(await paid.balance(key), -1);
    assert.equal((await paid.app.credits.wallet(name)).balance, -1_000_000);
  });
});

describe('a call that fails', () => {
  let owner: Owner;
  let sessionId = '';
  before(async () => {
    owner = await paid.newOwner('open', 5);
    sessionId = await sessionOf(paid, owner);
  });

  const params = (): { session_id: string } => ({ session_id: sessionId });
  const noTab = { tab_id: 'no-tab' };
  const failing: [what: string, call: () => Promise<Reply>][] = [
    ['a navigation to nowhere', () => paid.call(navigate, { key: owner.key, params: params(), body: { url: unknownHost } })],
    [
      'a navigation in a tab that is not there',
      () => paid.call(navigate, { key: owner.key, params: params(), body: { url: emptyPage, ...noTab } }),
    ],
    ['a tab at an address that is nowhere', () => paid.call(openTab, { key: owner.key, params: params(), body: { url: unknownHost } })],
    ['closing a tab that is not there', () => paid.call(closeTab, { key: owner.key, params: { ...params(), ...noTab } })],
    [
      'steps in a tab that is not there',
      () => paid.call(runActions, { key: owner.key, params: params(), body: { actions: [{ type: 'wait', ms: 1 }], ...noTab } }),
    ],
    ['a picture of a tab that is not there', () => paid.call(screenshot, { key: owner.key, params: params(), body: noTab })],
    ['a document of a tab that is not there', () => paid.call(pdf, { key: owner.key, params: params(), body: noTab })],
    ['the content of a tab that is not there', () => paid.call(getContent, { key: owner.key, params: params(), query: noTab })],
    ['a fetch that is none', () => paid.call(fetchPage, { key: owner.key, body: { url: emptyPage, include_selectors: ['div['] } })],
    [
      'a fetch in a session that is not there',
      () => paid.call(fetchPage, { key: owner.key, body: { url: emptyPage, session_id: 'ses_none' } }),
    ],
    [
      'a fetch that no machine is started for',
      () => whileNoMachineStarts(paid, () => paid.call(fetchPage, { key: owner.key, body: { url: emptyPage } })),
    ],
    [
      'a session that no machine is started for',
      () => whileNoMachineStarts(paid, () => paid.call(createSession, { key: owner.key, body: {} })),
    ],
    ['a session of a region that is not there', () => paid.call(createSession, { key: owner.key, body: { region: 'nowhere' } })],
    [
      'a session of a name that is taken',
      async () => {
        await paid.call(updateSession, { key: owner.key, params: params(), body: { name: 'mine' } });
        return paid.call(createSession, { key: owner.key, body: { name: 'mine' } });
      },
    ],
    [
      'a fetch in a session that is asked to do what a page cannot',
      () => paid.call(fetchPage, { key: owner.key, body: { url: emptyPage, mode: 'http', actions: [{ type: 'wait', ms: 1 }] } }),
    ],
  ];

  for (const [what, call] of failing)
    it(`a call that fails costs nothing: ${what}`, async () => {
      const before = await paid.account(owner);
      const { status, text } = await call();
      assert.ok(status >= 400, text);
      assert.deepEqual(withoutTime(await paid.account(owner)), withoutTime(before));
      assert.equal(before.held, 0);
    });

  it('a call costs nothing when the caller disconnects', async () => {
    const before = await paid.account(owner);
    const disconnected = new AbortController();
    const calls = [
      new Client(paid.url, owner.key).send(navigate, {
        params: params(),
        body: { url: hangingUrl, timeout_ms: 120_000 },
        signal: disconnected.signal,
      }),
      new Client(paid.url, owner.key).send(fetchPage, { body: { url: hangingUrl, timeout_ms: 120_000 }, signal: disconnected.signal }),
    ];
    await eventually('both are running', async () => (await paid.held(owner.owner)) === 20_000);
    disconnected.abort();
    await Promise.allSettled(calls);
    await eventually('no hold is left', async () => (await paid.held(owner.owner)) === 0);
    assert.deepEqual(withoutTime(await paid.account(owner)), withoutTime(before));
  });

  it('a call costs nothing when its session ends meanwhile', async () => {
    const session = await sessionOf(paid, owner);
    const before = await paid.account(owner);
    const call = paid.call(navigate, { key: owner.key, params: { session_id: session }, body: { url: hangingUrl, timeout_ms: 120_000 } });
    await eventually('it is running', async () => (await paid.held(owner.owner)) === 10_000);
    await paid.call(endSession, { key: owner.key, params: { session_id: session } });
    assert.equal((await call).status, 409);
    assert.deepEqual(withoutTime(await paid.account(owner)), withoutTime(before));
  });
});

it('a call that fails leaves no hold', async () => {
  for (const app of [served, paid]) {
    const { body } = await app.call(listAllSessions, { query: { limit: '500', status: 'starting,ready,ending' } });
    await Promise.all(body.map(({ session_id }) => app.app.sessions.end(null, session_id, { reason: 'admin', actor: 'operator' })));
    await eventually('nothing is left', async () => JSON.stringify(await machinesLeft(app)) === JSON.stringify(nothingLeft));
  }
});
