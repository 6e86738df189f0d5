/** One story in order: people sign in, pay, use up what they have paid for, and see that all numbers agree. */
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
  makeCreditCodes,
  makePromoCodes,
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
import type { Reply } from '../harness.ts';
import type { Account } from './money-books.ts';
import { killUnderWay, underWay, type Death } from './money-death.ts';
import { Owner } from './money-owner.ts';
import { lineOf, story } from './money-story.ts';
import { World, smallLimits } from './money-world.ts';
import { eventually } from './service.ts';
import type { Person } from './viewing.ts';

const prices = { action: 10_000, session: 1_000_000 };
const micro = (credits: number): number => Math.round(credits * 1_000_000);
/** Rounded down once for each session and each way out. */
const egressMicro = (bytes: number): number => Math.floor(bytes / 5);
const sum = (numbers: number[]): number => numbers.reduce((all, each) => all + each, 0);
const statusesOf = (replies: Reply[]): number[] => replies.map(({ status }) => status).toSorted((one, other) => one - other);
const assertWithin = (number: number, least: number, most: number): void =>
  assert.ok(number >= least && number <= most, `${number} is not within ${least} and ${most}`);

let world: World;
let ada: Person;
let acme: Owner;
let beta: Owner;
let gamma: Owner;
/** What a fetch without a browser said of itself. */
let plainly = { actions: 0, egress_bytes: 0, credits: 0 };
before(async () => {
  world = await World.open();
  ada = await world.person();
  acme = new Owner(world, 'acme', { 'source:codes': 8_123_456 });
  beta = new Owner(world, 'beta', { 'source:grants': 2_050_000 });
  gamma = new Owner(world, 'gamma', { 'source:grants': 3_000_000 });
});
after(() => world?.close());

describe('somebody new', () => {
  it('signs in on a page, copies the token off it, and makes a key with it that is told once', async () => {
    await acme.signIn(ada, 'ada@example.com');
    assert.deepEqual((await world.operator.call(listOwnKeys, { key: acme.token })).body, []);
    const keyId = await acme.makeKey('mine');
    const { body, text } = await world.operator.call(listOwnKeys, { key: acme.token });
    const [key] = body;
    assert.deepEqual(
      [body.length, key?.key_id, key?.name, key?.created_by, key?.status],
      [1, keyId, 'mine', 'login:ada@example.com', 'active'],
    );
    assert.ok(!text.includes(acme.key));
    ada.assertCalm();
  });

  it('is refused a session while the wallet is empty, with the numbers, until a code is redeemed that works once', async () => {
    const { details } = await acme.client.refuse(createSession, 'insufficient_credits', { body: {} });
    assert.deepEqual(details, { balance: 0, required: 1 });
    const { body: made } = await world.operator.call(makeCreditCodes, {
      body: { amount: 8.123456 },
      headers: { 'idempotency-key': 'codes' },
    });
    const code = world.kept(made.codes?.[0]);
    assert.deepEqual((await acme.client.call(redeemCredits, { body: { code } })).body, { ok: true, granted: 8.123456, balance: 8.123456 });
    await acme.client.refuse(redeemCredits, 'code_already_redeemed', { body: { code: code.toLowerCase().replaceAll('-', ' ') } });
    assert.equal(await acme.balance(), 8.123456);
  });

  let sessionId = '';
  it('may then run two sessions at once, and no third', async () => {
    sessionId = await acme.begin();
    const replies = await Promise.all([1, 2].map(() => acme.client.send(createSession, { body: {} })));
    assert.deepEqual(statusesOf(replies), [201, 429]);
    const second = replies.find(({ status }) => status === 201)?.body as SessionResponse;
    await acme.end(second.session_id);
    assert.equal((await acme.usage()).usage.sessions, 2);
  });

  it('uses up the actions of the plan to the last one, has read that none remain, and is told when there are more', async () => {
    const { client } = acme;
    const params = { session_id: sessionId };
    await client.refuse(navigate, 'navigation_failed', { params, body: { url: 'http://127.0.0.1:81/' } });
    assert.equal((await acme.usage()).remaining.actions, smallLimits.actions);
    assert.equal((await client.call(navigate, { params, body: { url: world.site.page(50_000) } })).body.title, 'Page of 50000');
    await client.call(runActions, { params, body: { actions: [{ type: 'wait', ms: 1 }, { type: 'screenshot' }] } });
    assert.equal((await client.call(getContent, { params })).status, 200);
    assert.equal((await acme.usage()).remaining.actions, 2);

    const replies = await Promise.all([1, 2, 3, 4, 5].map(() => client.send(screenshot, { params, body: {} })));
    assert.deepEqual(statusesOf(replies), [200, 200, 402, 402, 402]);
    const { remaining, resets_at } = await acme.usage();
    assert.equal(remaining.actions, 0);
    const { details } = await client.refuse(navigate, 'plan_limit_exceeded', { params, body: { url: world.site.url } });
    assert.deepEqual(details, { axis: 'actions', limit: 6, used: 6, resets_at });
    assert.ok(Date.parse(resets_at) > Date.now());
    await client.refuse(fetchPage, 'plan_limit_exceeded', { body: { url: world.site.url } });
  });

  it('goes on over DevTools, which takes no actions', async () => {
    const { usage: before } = await acme.usage();
    assert.equal(await acme.browse(sessionId, world.site.page(100_000)), 'Page of 100000');
    const { usage: now } = await acme.usage();
    assert.equal(now.actions, 6);
    assert.ok(now.egress_bytes - before.egress_bytes > 100_000);
  });

  it('pays for a larger plan on the page of the payment provider, and the call that was refused passes', async () => {
    const { body } = await world.operator.call(checkout, {
      key: acme.token,
      body: { tier: 'pro', success_url: `${world.service.url}/docs` },
    });
    await ada.open(body.url);
    await ada.page.getByRole('button', { name: 'Pay' }).click();
    await ada.page.waitForURL('**/docs');
    assert.ok(world.stripe.deliveries.length >= 4);
    for (const { status, event } of world.stripe.deliveries) assert.equal(status, 200, event.type);
    const { tier, limits, remaining } = await acme.usage();
    assert.deepEqual([tier, limits.actions, remaining.actions, limits.egress_bytes], ['pro', 1000, 994, null]);
    const reply = await acme.client.call(navigate, { params: { session_id: sessionId }, body: { url: world.site.page(20_000) } });
    assert.equal(reply.status, 200, reply.text);
    await acme.end(sessionId);
  });

  it('fetches with a browser and without one', async () => {
    const url = world.site.page(30_000);
    const { body } = await acme.client.call(fetchPage, { body: { url, mode: 'browser' } });
    assert.deepEqual([body.status, body.usage.actions], ['ok', 1]);
    ({ usage: plainly } = (await acme.client.call(fetchPage, { body: { url, mode: 'http' } })).body);
    assert.equal(plainly.actions, 1);
    assert.ok(plainly.egress_bytes > 30_000);
  });

  let promo = '';
  it('cannot try a plan with a code while another one is paid for', async () => {
    const { body } = await world.operator.call(makePromoCodes, {
      body: { tier: 'pro', trial_days: 14 },
      headers: { 'idempotency-key': 'codes' },
    });
    promo = world.kept(body.codes?.[0]);
    await world.operator.refuse(redeemPromo, 'plan_active', { key: acme.token, body: { code: promo } });
  });

  it('cancels in the portal and is back on the small plan, while the session that runs goes on', async () => {
    const running = await acme.begin();
    await acme.browse(running, world.site.page(2_500_000));
    assert.ok((await acme.usage()).usage.egress_bytes > smallLimits.egress_bytes);
    const { socket, closed } = await acme.attach(running);

    const { body } = await world.operator.call(billingPortal, { key: acme.token });
    await ada.open(body.url);
    await ada.page.getByRole('button', { name: 'cancel' }).click();
    await ada.page.getByText('canceled').waitFor();
    const { tier, remaining } = await acme.usage();
    assert.deepEqual([tier, remaining.actions, remaining.egress_bytes], ['small', 0, 0]);
    const { details } = await acme.client.refuse(createSession, 'plan_limit_exceeded', { body: {} });
    assert.deepEqual([details['axis'], details['limit']], ['egress_bytes', smallLimits.egress_bytes]);

    const turns = 'berth_loop_turns_total{loop="metering"}';
    const before = await world.metric(turns);
    await eventually('limits are looked at twice', async () => (await world.metric(turns)) >= before + 2);
    assert.equal(socket.readyState, socket.OPEN);
    assert.equal(await acme.browse(running, world.site.page(40_000)), 'Page of 40000');
    await acme.end(running);
    assert.equal((await closed).code, 4000);
    // The payment provider is elsewhere, and its pages have no icon.
    ada.assertCalm({ except: new RegExp(`^asked ${world.stripe.url}|^console: .* 404 `) });
  });

  it('of another organisation tries the plan with the code, which then works for nobody else', async () => {
    const bob = await world.person();
    await beta.signIn(bob, 'bob@example.com');
    bob.assertCalm();
    await bob.leave();
    const { body } = await world.operator.call(redeemPromo, { key: beta.token, body: { code: promo } });
    await beta.makeKey('first');
    const { tier, trial_ends_at } = await beta.usage();
    assert.deepEqual([body.tier, tier, trial_ends_at], ['pro', 'pro', body.trial_ends_at]);
    const days = (Date.parse(body.trial_ends_at) - Date.now()) / 86_400_000;
    assert.ok(days > 13.9 && days <= 14, `${days} days`);
    await world.operator.refuse(redeemPromo, 'code_already_redeemed', { key: acme.token, body: { code: promo } });
  });
});

describe('a key that is taken back', () => {
  let sessionId = '';
  before(async () => {
    // What is sent twice with one key is given once.
    const order = { body: { owner: beta.name, amount: 2.05, note: null }, headers: { 'idempotency-key': 'gift' } };
    for (const _ of [1, 2]) assert.equal((await world.operator.call(grantCredits, order)).body.balance, 2.05);
    sessionId = await beta.begin();
  });
  after(async () => {
    await beta.makeKey('third');
    assert.equal((await beta.look(sessionId)).status, 'ready');
    await beta.end(sessionId);
    assert.equal(await beta.balance(), 1.05);
  });

  const theKey = async (): Promise<string> =>
    (await world.operator.call(listOwnKeys, { key: beta.token })).body.find(({ status }) => status === 'active')?.key_id ?? '';
  async function isShutOut(work: () => Promise<void>): Promise<void> {
    const { client } = beta;
    const { closed } = await beta.attach(sessionId);
    const sinceMs = performance.now();
    await work();
    await client.refuse(getUsage, 'invalid_api_key');
    const { code, reason, atMs } = await closed;
    assert.deepEqual([code, reason], [4003, 'unauthorized']);
    assert.ok(atMs - sinceMs < 1000, `${atMs - sinceMs} ms`);
  }

  it('for another one is refused at the very next request, and its open socket is closed within a second', () =>
    isShutOut(async () => {
      const { body } = await world.operator.call(rotateOwnKey, { key: beta.token, params: { key_id: await theKey() } });
      beta.key = world.kept(body.key);
    }));

  it('for good is, too, while its session goes on', () =>
    isShutOut(async () => {
      await world.operator.call(revokeOwnKey, { key: beta.token, params: { key_id: await theKey() } });
    }));
});

describe('a session', () => {
  /** Begins one that is sent to a page which goes on for longer than its owner can pay or may have. */
  async function runsDry(owner: Owner, bytes: number): Promise<{ code: number; reason: string; session: SessionResponse }> {
    const sessionId = await owner.begin();
    const { closed } = await owner.attach(sessionId);
    const page = owner.browse(sessionId, world.site.page(bytes, { isHeld: true }));
    const { code, reason } = await closed;
    assert.equal(await page, undefined, 'the page was there');
    return { code, reason, session: await owner.ended(sessionId) };
  }

  it('ends with credits_exhausted when the wallet runs dry under a page, and the balance is zero and not below', async () => {
    const { code, reason, session } = await runsDry(beta, heldBytes.beta);
    assert.deepEqual([code, reason, session.ended_reason], [4010, 'credits_exhausted', 'credits_exhausted']);
    const { details } = await beta.client.refuse(createSession, 'insufficient_credits', { body: {} });
    assert.deepEqual(details, { balance: 0, required: 1 });
    const { balance, held } = await world.books.account(beta.name);
    assert.deepEqual([await beta.balance(), balance, held], [0, 0, 0]);
  });

  it('ends with plan_limit when the traffic of the plan is used up under a page', async () => {
    gamma.key = world.kept((await world.operator.call(createKey, { body: { owner: gamma.name } })).body.key);
    await world.operator.call(grantCredits, { body: { owner: gamma.name, amount: 3, note: 'a start' } });
    const { code, reason, session } = await runsDry(gamma, heldBytes.gamma);
    assert.deepEqual([code, reason, session.ended_reason], [4009, 'limit', 'plan_limit']);
    const { usage, remaining } = await gamma.usage();
    assert.equal(remaining.egress_bytes, 0);
    const { details } = await gamma.client.refuse(createSession, 'plan_limit_exceeded', { body: {} });
    assert.deepEqual([details['axis'], details['limit'], details['used']], ['egress_bytes', smallLimits.egress_bytes, usage.egress_bytes]);
  });
});

/** A little beyond what their owners have: traffic is settled by the tenth of a credit, which are 500 000 bytes. */
const heldBytes = { beta: 520_000, gamma: 2_010_000 };
/** So little may be on its way when such a page is cut off. */
const cutOffMax = heldBytes.beta - 500_000 + heldBytes.gamma - smallLimits.egress_bytes + 2 * 1000;

describe('every number', () => {
  const owners = (): Owner[] => [acme, beta, gamma];
  const ofAll = <T>(look: (owner: Owner) => Promise<T>): Promise<T[]> => Promise.all(owners().map(look));
  const sumOfMetrics = async (name: string, label: string, values: string[]): Promise<number> =>
    sum(await Promise.all(values.map((value) => world.metric(`${name}{${label}="${value}"}`))));

  it('of traffic is the same for the site, the gate, the owners and their sessions', async () => {
    const gate = await sumOfMetrics('berth_egress_bytes_total', 'direction', ['in', 'out']);
    const onTheWire = world.site.wireBytes();
    assert.ok(gate <= onTheWire && onTheWire - gate <= cutOffMax, `${gate} bytes at the gate, ${onTheWire} at the site`);
    assert.equal(await world.metric('berth_usage_total{axis="egress_bytes"}'), gate);
    assert.equal(sum(await ofAll(async (owner) => (await owner.usage()).usage.egress_bytes)), gate);
    for (const owner of owners()) {
      const { usage } = await owner.usage();
      const sessions = await owner.sessions();
      const parts = [...sessions.map((session) => session.usage), ...(owner === acme ? [plainly] : [])];
      assert.equal(usage.egress_bytes, sum(parts.map(({ egress_bytes }) => egress_bytes)), owner.name);
      assert.equal(usage.actions, sum(parts.map(({ actions }) => actions)), owner.name);
      assert.equal(usage.sessions, sessions.filter(({ purpose }) => purpose === 'session').length, owner.name);
    }
  });

  it('of the wallets is what was given less what was used, to the last millionth', async () => {
    const used = async (owner: Owner): Promise<number> => sum((await owner.sessions()).map(({ usage }) => micro(usage.credits)));
    assert.equal(micro(await acme.balance()), acme.givenInAll - (await used(acme)) - micro(plainly.credits));
    assert.equal(micro(await gamma.balance()), gamma.givenInAll - (await used(gamma)));
    // It used more than it had.
    assert.equal(await beta.balance(), 0);
    assert.ok((await used(beta)) > beta.givenInAll);

    const told = await Promise.all(['redeemed', 'granted'].map((how) => world.metric(`berth_credits_${how}_total`)));
    assert.deepEqual(told.map(micro), [acme.givenInAll, beta.givenInAll + gamma.givenInAll]);
    let charged = 0;
    for (const { name } of owners()) charged += sum(Object.values((await world.books.account(name)).charged));
    assert.equal(micro(await sumOfMetrics('berth_credits_total', 'axis', ['action', 'session', 'egress'])), charged);
  });

  it('is the same after a restart, and what the journal sums up to', async () => {
    const tell = (owner: Owner) =>
      Promise.all([owner.usage(), owner.balance(), owner.sessions().then((all) => all.map(({ usage }) => usage))]);
    const before = await ofAll(tell);
    await world.stop();
    await world.start();
    assert.deepEqual(await ofAll(tell), before);
    for (const owner of owners()) {
      const { usage } = await owner.usage();
      const { balance, held, holds, given, charged, meters } = await world.books.account(owner.name);
      assert.deepEqual([given, held, holds], [owner.given, 0, 0]);
      const used = {
        'revenue:action': usage.actions * prices.action,
        'revenue:session': usage.sessions * prices.session,
        'revenue:egress': sum(meters.map(({ egressBytes }) => egressMicro(egressBytes))),
      };
      if (owner === beta) used['revenue:egress'] = owner.givenInAll - used['revenue:session'];
      assert.deepEqual({ 'revenue:action': 0, ...charged }, used, owner.name);
      assert.equal(balance, owner.givenInAll - sum(Object.values(used)), owner.name);
      assert.equal(micro(await owner.balance()), balance, owner.name);
    }
  });

  it('has its entry in the audit log, which tells who did what, in order', async () => {
    const { body } = await world.operator.call(listAudit, { query: { limit: '500' } });
    assert.deepEqual(body.toReversed().map(lineOf), story);
  });
});

describe('a service that is killed with calls under way', () => {
  const gift = { body: { owner: 'beta', amount: 10, note: null }, headers: { 'idempotency-key': 'second-gift' } };
  let sessionIds: string[] = [];
  /** As it is in the database before the calls that are under way at the end, and was told. */
  let written: Account;
  let told: UsageResponse['usage'];
  let others: unknown;
  let death: Death;
  before(async () => {
    assert.equal((await world.operator.call(grantCredits, gift)).body.balance, 10);
    sessionIds = await Promise.all([beta.begin(), beta.begin()]);
    for (const session_id of sessionIds)
      await beta.client.call(navigate, { params: { session_id }, body: { url: world.site.page(60_000) } });
    written = await eventually('what was done is written', async () => {
      const account = await world.books.account(beta.name);
      const now = account.meters.filter(
        ({ meterId, actions, egressBytes }) => sessionIds.includes(meterId) && actions === 1 && egressBytes > 60_000,
      );
      return now.length === 2 && account;
    });
    told = (await beta.usage()).usage;
    others = await tellOthers();
    assert.ok(world.processes.includes('chromium'));
    death = await killUnderWay(world, beta, sessionIds);
    await world.start();
  });

  const tellOthers = () =>
    Promise.all(
      [acme, gamma].map(async (owner) => [await owner.usage(), await owner.balance(), (await owner.sessions()).map(({ usage }) => usage)]),
    );

  it('leaves no browser, and says what became of its sessions', async () => {
    await eventually('no browser is left', () => world.processes.every((name) => name === 'postgres'));
    for (const id of sessionIds) {
      const { status, ended_reason, usage } = await beta.ended(id);
      assert.deepEqual([status, ended_reason], ['ended', 'worker_lost']);
      assert.ok(usage.actions >= 1 && usage.credits > 1, `what it had used is told: ${JSON.stringify(usage)}`);
    }
    await eventually('no machine is left', () => world.machines.length === 0);
  });

  it('counts no more than was asked of it, and no less than it had written', async () => {
    const { actions, sessions, egress_bytes } = (await beta.usage()).usage;
    const { meters } = await world.books.account(beta.name);
    assertWithin(actions, told.actions, told.actions + death.answered + underWay.actions);
    assertWithin(sessions, told.sessions, told.sessions + underWay.sessions);
    assertWithin(egress_bytes, told.egress_bytes, told.egress_bytes + underWay.bytes);
    assert.deepEqual(
      [actions, egress_bytes],
      [sum(meters.map((meter) => meter.actions)), sum(meters.map(({ egressBytes }) => egressBytes))],
    );
  });

  it('has charged once for what it answered, and keeps nothing back for what died with it', async () => {
    assert.ok(death.books.holds > 0 && death.books.held > 0);
    await eventually('nothing is kept back', async () => (await world.books.account(beta.name)).holds === 0, 15_000);
    const now = await world.books.account(beta.name);
    const more = (account: string): number => (now.charged[account] ?? 0) - (written.charged[account] ?? 0);
    assertWithin(more('revenue:action') / prices.action, death.answered, death.answered + underWay.actions);
    assertWithin(more('revenue:session') / prices.session, 0, underWay.sessions);
    assertWithin(more('revenue:egress'), 0, egressMicro(underWay.bytes));
    assert.deepEqual([now.balance, now.held], [sum(Object.values(now.given)) - sum(Object.values(now.charged)), 0]);
    assert.equal(micro(await beta.balance()), now.balance);
  });

  it('gives nothing a second time that it is asked for again', async () => {
    const balance = await beta.balance();
    assert.equal((await world.operator.call(grantCredits, gift)).body.granted, 10);
    assert.equal(await beta.balance(), balance);
  });

  it('has not touched the numbers of others, and takes the keys of before', async () => {
    assert.deepEqual(await tellOthers(), others);
    const session_id = await beta.begin();
    const { body } = await beta.client.call(navigate, { params: { session_id }, body: { url: world.site.page(1000) } });
    assert.equal(body.title, 'Page of 1000');
    await beta.end(session_id);
  });
});

describe('all of that', () => {
  it('leaves no key, code or token in the log, the metrics, the audit log or the database', async () => {
    const places = {
      log: world.log,
      metrics: (await world.operator.call(metrics)).text,
      audit: (await world.operator.call(listAudit, { query: { limit: '500' } })).text,
      database: await world.books.everything(),
    };
    assert.match(places.log, /"endpoint":"redeemCredits"/);
    assert.match(places.database, /^credit_journal: /m);
    assert.ok(world.secrets.length > 20);
    for (const [place, text] of Object.entries(places))
      // Less what may be told of a key: how all of them begin, and its last four letters.
      for (const secret of world.secrets)
        for (const form of [secret, secret.replaceAll('-', '')]) assert.ok(!text.includes(form.slice(9, -4)), `${place}: ${secret}`);
  });

  it('leaves nothing behind when the service stops', async () => {
    await world.stop();
    assert.deepEqual([world.machines, world.processes], [[], []]);
    assert.doesNotMatch(world.log, /"level":"error"/);
  });
});
