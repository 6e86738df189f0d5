/** One scenario in order: users sign in, pay, use up their credits, and all accounts agree. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  billingPortal,
  checkout,
  createKey,
  createSession,
  fetchPage,
  getContent,
  getUsage,
  grantCredits,
  listAudit,
  listOwnKeys,
  createCreditCodes,
  createPromoCodes,
  metrics,
  navigate,
  redeemCredits,
  redeemPromo,
  revokeOwnKey,
  rotateOwnKey,
  runActions,
  screenshot,
  type SessionResponse,
  type UsageResponse,
} from '@berth/contract';
import type { Reply } from '../../harness.ts';
import type { Account } from './billing-database.ts';
import { killDuringCalls, unansweredMax, type CrashResult } from './billing-crash.ts';
import { Owner } from './billing-owner.ts';
import { formatEntry, expectedAudit } from './billing-scenario.ts';
import { BillingFixture, smallLimits } from './billing-fixture.ts';
import { eventually } from '../service.ts';
import type { Viewer } from '../watch/viewing.ts';
import { assertShort } from '../../yardstick.ts';
import { nightly } from '../../nightly.ts';

const prices = { action: 10_000, session: 1_000_000 };
const micro = (credits: number): number => Math.round(credits * 1_000_000);
/** Rounded down once per session and egress. */
const egressMicro = (bytes: number): number => Math.floor(bytes / 5);
const sum = (numbers: number[]): number => numbers.reduce((all, each) => all + each, 0);
const statusesOf = (replies: Reply[]): number[] => replies.map(({ status }) => status).toSorted((one, other) => one - other);
const assertWithin = (number: number, min: number, max: number): void =>
  assert.ok(number >= min && number <= max, `${number} is not within ${min} and ${max}`);

let fixture: BillingFixture;
let ada: Viewer;
let acme: Owner;
let beta: Owner;
let gamma: Owner;
/** The usage reported by a fetch without a browser. */
let httpUsage = { actions: 0, egress_bytes: 0, credits: 0 };
before(async () => {
  fixture = await BillingFixture.open();
  ada = await fixture.newViewer();
  acme = new Owner(fixture, 'acme', { 'source:codes': 8_123_456 });
  beta = new Owner(fixture, 'beta', { 'source:grants': 2_050_000 });
  gamma = new Owner(fixture, 'gamma', { 'source:grants': 3_000_000 });
});
after(() => fixture?.close());

describe('a new user', () => {
  it('a new user signs in, copies the token and creates a key that is shown once', async () => {
    await acme.signIn(ada, 'ada@example.com');
    assert.deepEqual((await fixture.operator.call(listOwnKeys, { key: acme.token })).body, []);
    const keyId = await acme.createKey('mine');
    const { body, text } = await fixture.operator.call(listOwnKeys, { key: acme.token });
    const [key] = body;
    assert.deepEqual(
      [body.length, key?.key_id, key?.name, key?.created_by, key?.status],
      [1, keyId, 'mine', 'login:ada@example.com', 'active'],
    );
    assert.ok(!text.includes(acme.key));
    ada.assertNoIssues();
  });

  it('a new user is refused a session with an empty wallet until a single-use code is redeemed', async () => {
    const { details } = await acme.client.refuse(createSession, 'insufficient_credits', { body: {} });
    assert.deepEqual(details, { balance: 0, available: 0, required: 1 });
    const { body: made } = await fixture.operator.call(createCreditCodes, {
      body: { amount: 8.123456 },
      headers: { 'idempotency-key': 'codes' },
    });
    const code = fixture.recordSecret(made.codes?.[0]);
    assert.deepEqual((await acme.client.call(redeemCredits, { body: { code } })).body, { ok: true, granted: 8.123456, balance: 8.123456 });
    await acme.client.refuse(redeemCredits, 'code_already_redeemed', { body: { code: code.toLowerCase().replaceAll('-', ' ') } });
    assert.equal(await acme.balance(), 8.123456);
  });

  let sessionId = '';
  it('a new user can run two sessions at once and no third', async () => {
    sessionId = await acme.startSession();
    const replies = await Promise.all([1, 2].map(() => acme.client.send(createSession, { body: {} })));
    assert.deepEqual(statusesOf(replies), [201, 429]);
    const second = replies.find(({ status }) => status === 201)?.body as SessionResponse;
    await acme.end(second.session_id);
    assert.equal((await acme.usage()).usage.sessions, 2);
  });

  it('a new user can use exactly the plan’s actions and gets the reset time', async () => {
    const { client } = acme;
    const params = { session_id: sessionId };
    await client.refuse(navigate, 'navigation_failed', { params, body: { url: 'http://127.0.0.1:81/' } });
    assert.equal((await acme.usage()).remaining.actions, smallLimits.actions);
    assert.equal((await client.call(navigate, { params, body: { url: fixture.site.page(50_000) } })).body.title, 'Page of 50000');
    await client.call(runActions, { params, body: { actions: [{ type: 'wait', ms: 1 }, { type: 'screenshot' }] } });
    assert.equal((await client.call(getContent, { params })).status, 200);
    assert.equal((await acme.usage()).remaining.actions, 2);

    const replies = await Promise.all([1, 2, 3, 4, 5].map(() => client.send(screenshot, { params, body: {} })));
    assert.deepEqual(statusesOf(replies), [200, 200, 402, 402, 402]);
    const { remaining, resets_at } = await acme.usage();
    assert.equal(remaining.actions, 0);
    const { details } = await client.refuse(navigate, 'plan_limit_exceeded', { params, body: { url: fixture.site.url } });
    assert.deepEqual(details, { axis: 'actions', limit: 6, used: 6, required: 1, resets_at });
    assert.ok(Date.parse(resets_at) > Date.now());
    await client.refuse(fetchPage, 'plan_limit_exceeded', { body: { url: fixture.site.url } });
  });

  it('a new user without actions left can continue over DevTools, which counts no actions', async () => {
    const { usage: before } = await acme.usage();
    assert.equal(await acme.browse(sessionId, fixture.site.page(100_000)), 'Page of 100000');
    const { usage: now } = await acme.usage();
    assert.equal(now.actions, 6);
    assert.ok(now.egress_bytes - before.egress_bytes > 100_000);
  });

  it('a new user pays for a larger plan on the checkout page, and the refused call succeeds', async () => {
    const { body } = await fixture.operator.call(checkout, {
      key: acme.token,
      body: { tier: 'pro', success_url: `${fixture.service.url}/docs` },
    });
    await ada.open(body.url);
    await ada.page.getByRole('button', { name: 'Pay' }).click();
    await ada.page.waitForURL('**/docs');
    assert.ok(fixture.stripe.deliveries.length >= 4);
    for (const { status, event } of fixture.stripe.deliveries) assert.equal(status, 200, event.type);
    const { tier, limits, remaining } = await acme.usage();
    assert.deepEqual([tier, limits.actions, remaining.actions, limits.egress_bytes], ['pro', 1000, 994, null]);
    const reply = await acme.client.call(navigate, { params: { session_id: sessionId }, body: { url: fixture.site.page(20_000) } });
    assert.equal(reply.status, 200, reply.text);
    await acme.end(sessionId);
  });

  it('a new user fetches with a browser and without one', async () => {
    const url = fixture.site.page(30_000);
    const { body } = await acme.client.call(fetchPage, { body: { url, mode: 'browser' } });
    assert.deepEqual([body.status, body.usage.actions], ['ok', 1]);
    ({ usage: httpUsage } = (await acme.client.call(fetchPage, { body: { url, mode: 'http' } })).body);
    assert.equal(httpUsage.actions, 1);
    assert.ok(httpUsage.egress_bytes > 30_000);
  });

  let promo = '';
  it('a user with a paid plan cannot start a trial', async () => {
    const { body } = await fixture.operator.call(createPromoCodes, {
      body: { tier: 'pro', trial_days: 14 },
      headers: { 'idempotency-key': 'codes' },
    });
    promo = fixture.recordSecret(body.codes?.[0]);
    await fixture.operator.refuse(redeemPromo, 'plan_active', { key: acme.token, body: { code: promo } });
  });

  it('a user cancels in the portal and returns to the small plan while the session continues', async () => {
    const running = await acme.startSession();
    await acme.browse(running, fixture.site.page(2_500_000));
    assert.ok((await acme.usage()).usage.egress_bytes > smallLimits.egress_bytes);
    const { socket, closed } = await acme.attach(running);

    const { body } = await fixture.operator.call(billingPortal, { key: acme.token });
    await ada.open(body.url);
    await ada.page.getByRole('button', { name: 'cancel' }).click();
    await ada.page.getByText('canceled').waitFor();
    const { tier, remaining } = await acme.usage();
    assert.deepEqual([tier, remaining.actions, remaining.egress_bytes], ['small', 0, 0]);
    const { details } = await acme.client.refuse(createSession, 'plan_limit_exceeded', { body: {} });
    assert.deepEqual([details['axis'], details['limit']], ['egress_bytes', smallLimits.egress_bytes]);

    const turns = 'berth_loop_turns_total{loop="metering"}';
    const before = await fixture.metric(turns);
    await eventually('limits are checked twice', async () => (await fixture.metric(turns)) >= before + 2);
    assert.equal(socket.readyState, socket.OPEN);
    assert.equal(await acme.browse(running, fixture.site.page(40_000)), 'Page of 40000');
    await acme.end(running);
    assert.equal((await closed).code, 4000);
    // The payment provider has another origin, and its pages have no icon.
    ada.assertNoIssues({ except: new RegExp(`^requested ${fixture.stripe.url}|^console: .* 404 `) });
  });

  it('a new user of another organisation starts the trial, after which the code is used up', async () => {
    const bob = await fixture.newViewer();
    await beta.signIn(bob, 'bob@example.com');
    bob.assertNoIssues();
    await bob.close();
    const { body } = await fixture.operator.call(redeemPromo, { key: beta.token, body: { code: promo } });
    await beta.createKey('first');
    const { tier, trial_ends_at } = await beta.usage();
    assert.deepEqual([body.tier, tier, trial_ends_at], ['pro', 'pro', body.trial_ends_at]);
    const days = (Date.parse(body.trial_ends_at) - Date.now()) / 86_400_000;
    assert.ok(days > 13.9 && days <= 14, `${days} days`);
    await fixture.operator.refuse(redeemPromo, 'code_already_redeemed', { key: acme.token, body: { code: promo } });
  });
});

describe('a replaced or revoked key', () => {
  let sessionId = '';
  before(async () => {
    // A repeated idempotency key grants once.
    const grant = { body: { owner: beta.name, amount: 2.05, note: null }, headers: { 'idempotency-key': 'gift' } };
    for (const _ of [1, 2]) assert.equal((await fixture.operator.call(grantCredits, grant)).body.balance, 2.05);
    sessionId = await beta.startSession();
  });
  after(async () => {
    await beta.createKey('third');
    assert.equal((await beta.readSession(sessionId)).status, 'ready');
    await beta.end(sessionId);
    assert.equal(await beta.balance(), 1.05);
  });

  const theKey = async (): Promise<string> =>
    (await fixture.operator.call(listOwnKeys, { key: beta.token })).body.find(({ status }) => status === 'active')?.key_id ?? '';
  async function isShutOut(work: () => Promise<void>): Promise<void> {
    const { client } = beta;
    const { closed } = await beta.attach(sessionId);
    await work();
    const sinceMs = performance.now();
    await client.refuse(getUsage, 'invalid_api_key');
    const { code, reason, atMs } = await closed;
    assert.deepEqual([code, reason], [4003, 'unauthorized']);
    // A socket that is not closed for its key stays open until its session ends.
    assertShort(atMs - sinceMs, 10_000, 'it stayed open');
  }

  it('a key that is rotated is refused at the next request, and its socket is closed within a second', () =>
    isShutOut(async () => {
      const { body } = await fixture.operator.call(rotateOwnKey, { key: beta.token, params: { key_id: await theKey() } });
      beta.key = fixture.recordSecret(body.key);
    }));

  it('a key that is revoked is refused, while its session continues', () =>
    isShutOut(async () => {
      await fixture.operator.call(revokeOwnKey, { key: beta.token, params: { key_id: await theKey() } });
    }));
});

describe('a session', () => {
  /** Starts a session with a page that exceeds the owner's credits or limits. */
  async function runsDry(owner: Owner, bytes: number): Promise<{ code: number; reason: string; session: SessionResponse }> {
    const sessionId = await owner.startSession();
    const { closed } = await owner.attach(sessionId);
    const page = owner.browse(sessionId, fixture.site.page(bytes, { isEndless: true }));
    const { code, reason } = await closed;
    assert.equal(await page, undefined, 'the page was there');
    return { code, reason, session: await owner.waitForEnd(sessionId) };
  }

  it('a session ends with credits_exhausted during a page load at a balance of exactly zero', async () => {
    const { code, reason, session } = await runsDry(beta, endlessBytes.beta);
    assert.deepEqual([code, reason, session.ended_reason], [4010, 'credits_exhausted', 'credits_exhausted']);
    const { details } = await beta.client.refuse(createSession, 'insufficient_credits', { body: {} });
    assert.deepEqual(details, { balance: 0, available: 0, required: 1 });
    const { balance, held } = await fixture.database.account(beta.name);
    assert.deepEqual([await beta.balance(), balance, held], [0, 0, 0]);
  });

  it('a session ends with plan_limit when a page uses up the plan’s traffic', async () => {
    gamma.key = fixture.recordSecret((await fixture.operator.call(createKey, { body: { owner: gamma.name } })).body.key);
    await fixture.operator.call(grantCredits, { body: { owner: gamma.name, amount: 3, note: 'a start' } });
    const { code, reason, session } = await runsDry(gamma, endlessBytes.gamma);
    assert.deepEqual([code, reason, session.ended_reason], [4009, 'limit', 'plan_limit']);
    const { usage, remaining } = await gamma.usage();
    assert.equal(remaining.egress_bytes, 0);
    const { details } = await gamma.client.refuse(createSession, 'plan_limit_exceeded', { body: {} });
    assert.deepEqual([details['axis'], details['limit'], details['used']], ['egress_bytes', smallLimits.egress_bytes, usage.egress_bytes]);
  });
});

/** Slightly beyond the owners' limits: traffic is charged per tenth of a credit, which is 500 000 bytes. */
const endlessBytes = { beta: 520_000, gamma: 2_010_000 };
/** The maximum traffic in flight when the page is cut off. */
const cutOffMax = endlessBytes.beta - 500_000 + endlessBytes.gamma - smallLimits.egress_bytes + 2 * 1000;

describe('the accounting', () => {
  const owners = (): Owner[] => [acme, beta, gamma];
  const ofAll = <T>(read: (owner: Owner) => Promise<T>): Promise<T[]> => Promise.all(owners().map(read));
  const sumOfMetrics = async (name: string, label: string, values: string[]): Promise<number> =>
    sum(await Promise.all(values.map((value) => fixture.metric(`${name}{${label}="${value}"}`))));

  it('the traffic is equal at the site, the gate, the owners and their sessions', async () => {
    const gate = await sumOfMetrics('berth_egress_bytes_total', 'direction', ['in', 'out']);
    const onTheWire = fixture.site.wireBytes();
    assert.ok(gate <= onTheWire && onTheWire - gate <= cutOffMax, `${gate} bytes at the gate, ${onTheWire} at the site`);
    assert.equal(await fixture.metric('berth_usage_total{axis="egress_bytes"}'), gate);
    assert.equal(sum(await ofAll(async (owner) => (await owner.usage()).usage.egress_bytes)), gate);
    for (const owner of owners()) {
      const { usage } = await owner.usage();
      const sessions = await owner.sessions();
      const usages = [...sessions.map((session) => session.usage), ...(owner === acme ? [httpUsage] : [])];
      assert.equal(usage.egress_bytes, sum(usages.map(({ egress_bytes }) => egress_bytes)), owner.name);
      assert.equal(usage.actions, sum(usages.map(({ actions }) => actions)), owner.name);
      assert.equal(usage.sessions, sessions.filter(({ purpose }) => purpose === 'session').length, owner.name);
    }
  });

  it('the balance of each wallet equals grants minus usage exactly', async () => {
    const used = async (owner: Owner): Promise<number> => sum((await owner.sessions()).map(({ usage }) => micro(usage.credits)));
    assert.equal(micro(await acme.balance()), acme.grantedTotal - (await used(acme)) - micro(httpUsage.credits));
    assert.equal(micro(await gamma.balance()), gamma.grantedTotal - (await used(gamma)));
    // It used more than its balance.
    assert.equal(await beta.balance(), 0);
    assert.ok((await used(beta)) > beta.grantedTotal);

    const reported = await Promise.all(['redeemed', 'granted'].map((how) => fixture.metric(`berth_credits_${how}_total`)));
    assert.deepEqual(reported.map(micro), [acme.grantedTotal, beta.grantedTotal + gamma.grantedTotal]);
    let charged = 0;
    for (const { name } of owners()) charged += sum(Object.values((await fixture.database.account(name)).charged));
    assert.equal(micro(await sumOfMetrics('berth_credits_total', 'axis', ['action', 'session', 'egress'])), charged);
  });

  it('the accounting is unchanged after a restart and equals the sum of the journal', async () => {
    const readAccount = (owner: Owner) =>
      Promise.all([owner.usage(), owner.balance(), owner.sessions().then((all) => all.map(({ usage }) => usage))]);
    const before = await ofAll(readAccount);
    await fixture.stop();
    await fixture.start();
    assert.deepEqual(await ofAll(readAccount), before);
    for (const owner of owners()) {
      const { usage } = await owner.usage();
      const { balance, held, holds, given, charged, meters } = await fixture.database.account(owner.name);
      assert.deepEqual([given, held, holds], [owner.given, 0, 0]);
      const used = {
        'revenue:action': usage.actions * prices.action,
        'revenue:session': usage.sessions * prices.session,
        'revenue:egress': sum(meters.map(({ egressBytes }) => egressMicro(egressBytes))),
      };
      if (owner === beta) used['revenue:egress'] = owner.grantedTotal - used['revenue:session'];
      assert.deepEqual({ 'revenue:action': 0, ...charged }, used, owner.name);
      assert.equal(balance, owner.grantedTotal - sum(Object.values(used)), owner.name);
      assert.equal(micro(await owner.balance()), balance, owner.name);
    }
  });

  it('the accounting has an audit entry for each change, in order', async () => {
    const { body } = await fixture.operator.call(listAudit, { query: { limit: '500' } });
    assert.deepEqual(body.toReversed().map(formatEntry), expectedAudit);
  });
});

describe('a service that is killed during calls', nightly, () => {
  const gift = { body: { owner: 'beta', amount: 10, note: null }, headers: { 'idempotency-key': 'second-gift' } };
  let sessionIds: string[] = [];
  /** The stored and reported account before the final calls. */
  let written: Account;
  let reported: UsageResponse['usage'];
  let others: unknown;
  let crash: CrashResult;
  before(async () => {
    assert.equal((await fixture.operator.call(grantCredits, gift)).body.balance, 10);
    sessionIds = await Promise.all([beta.startSession(), beta.startSession()]);
    for (const session_id of sessionIds)
      await beta.client.call(navigate, { params: { session_id }, body: { url: fixture.site.page(60_000) } });
    written = await eventually('the usage is stored', async () => {
      const account = await fixture.database.account(beta.name);
      const now = account.meters.filter(
        ({ meterId, actions, egressBytes }) => sessionIds.includes(meterId) && actions === 1 && egressBytes > 60_000,
      );
      return now.length === 2 && account;
    });
    reported = (await beta.usage()).usage;
    others = await readOthers();
    assert.ok(fixture.processes.includes('chromium'));
    crash = await killDuringCalls(fixture, beta, sessionIds);
    await fixture.start();
  });

  const readOthers = () =>
    Promise.all(
      [acme, gamma].map(async (owner) => [await owner.usage(), await owner.balance(), (await owner.sessions()).map(({ usage }) => usage)]),
    );

  it('a service that is killed during calls leaves no browser and reports how its sessions ended', async () => {
    await eventually('no browser is left', () => fixture.processes.every((name) => name === 'postgres'));
    for (const id of sessionIds) {
      const { status, ended_reason, usage } = await beta.waitForEnd(id);
      assert.deepEqual([status, ended_reason], ['ended', 'worker_lost']);
      assert.ok(usage.actions >= 1 && usage.credits > 1, `its usage is reported: ${JSON.stringify(usage)}`);
    }
    await eventually('no machine is left', () => fixture.machines.length === 0);
  });

  it('a service that is killed during calls counts at most what was requested and at least what it had stored', async () => {
    const { actions, sessions, egress_bytes } = (await beta.usage()).usage;
    const { meters } = await fixture.database.account(beta.name);
    assertWithin(actions, reported.actions, reported.actions + crash.answered + unansweredMax.actions);
    assertWithin(sessions, reported.sessions, reported.sessions + unansweredMax.sessions);
    assertWithin(egress_bytes, reported.egress_bytes, reported.egress_bytes + unansweredMax.bytes);
    assert.deepEqual(
      [actions, egress_bytes],
      [sum(meters.map((meter) => meter.actions)), sum(meters.map(({ egressBytes }) => egressBytes))],
    );
  });

  it('a service that is killed during calls charges answered calls once and leaves no hold for interrupted ones', async () => {
    assert.ok(crash.account.holds > 0 && crash.account.held > 0);
    await eventually('no hold is left', async () => (await fixture.database.account(beta.name)).holds === 0);
    const now = await fixture.database.account(beta.name);
    const more = (account: string): number => (now.charged[account] ?? 0) - (written.charged[account] ?? 0);
    assertWithin(more('revenue:action') / prices.action, crash.answered, crash.answered + unansweredMax.actions);
    assertWithin(more('revenue:session') / prices.session, 0, unansweredMax.sessions);
    assertWithin(more('revenue:egress'), 0, egressMicro(unansweredMax.bytes));
    assert.deepEqual([now.balance, now.held], [sum(Object.values(now.given)) - sum(Object.values(now.charged)), 0]);
    assert.equal(micro(await beta.balance()), now.balance);
  });

  it('a service that is killed during calls grants nothing twice on repeated requests', async () => {
    const balance = await beta.balance();
    assert.equal((await fixture.operator.call(grantCredits, gift)).body.granted, 10);
    assert.equal(await beta.balance(), balance);
  });

  it('a service that is killed during calls keeps other owners’ accounts and existing keys', async () => {
    assert.deepEqual(await readOthers(), others);
    const session_id = await beta.startSession();
    const { body } = await beta.client.call(navigate, { params: { session_id }, body: { url: fixture.site.page(1000) } });
    assert.equal(body.title, 'Page of 1000');
    await beta.end(session_id);
  });
});

describe('the complete scenario', () => {
  it('the complete scenario of billing writes no key, code or token to the log, the metrics, the audit log or the database', async () => {
    const stores = {
      log: fixture.log,
      metrics: (await fixture.operator.call(metrics)).text,
      audit: (await fixture.operator.call(listAudit, { query: { limit: '500' } })).text,
      database: await fixture.database.everything(),
    };
    assert.match(stores.log, /"endpoint":"redeemCredits"/);
    assert.match(stores.database, /^credit_journal: /m);
    assert.ok(fixture.secrets.length > 20);
    for (const [store, text] of Object.entries(stores))
      // Except the public parts of a key: its prefix and its last four characters.
      for (const secret of fixture.secrets)
        for (const form of [secret, secret.replaceAll('-', '')]) assert.ok(!text.includes(form.slice(9, -4)), `${store}: ${secret}`);
  });

  it('the complete scenario of billing leaves nothing behind when the service stops', async () => {
    await fixture.stop();
    assert.deepEqual([fixture.machines, fixture.processes], [[], []]);
    assert.doesNotMatch(fixture.log, /"level":"error"/);
  });
});
