import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { Client } from 'pg';
import { strategyNames } from '@berth/contract';
import { ManualClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { openStore, type Store } from '../../store/store.ts';
import { testStore, type TestStore } from '../../../testing/test-store.ts';
import type { SiteAttempt } from './attempt.ts';
import { SelfHeal, type SelfHealDeps } from './selfheal.ts';
import { attemptOf, blockOf } from '../../../testing/selfheal.ts';

let database: TestStore;
/** The same database, as another worker has it. */
let second: Store;
let clock: ManualClock;
let owner: string;
let selfHeal: SelfHeal;
let owners = 0;
before(async () => {
  database = await testStore();
  second = await openStore({ databaseUrl: database.url, dataDir: import.meta.dirname, log: silentLog });
});
after(async () => {
  await second.close();
  await database.drop();
});
/** Each test has an owner of its own, and so sites of its own. */
beforeEach((context) => {
  clock = new ManualClock();
  owner = `owner-${(owners += 1)}`;
  selfHeal = open();
  (context as unknown as { after(undo: () => Promise<void>): void }).after(() => selfHeal.stop());
});

const minute = 60_000;
const domain = 'example.com';
const open = (deps: Partial<SelfHealDeps> = {}): SelfHeal =>
  new SelfHeal({
    store: database.store,
    clock,
    log: silentLog,
    secret: Buffer.from('secret'),
    enabled: strategyNames,
    random: () => 0.5,
    ...deps,
  });

/** An attempt that begins now and is over when it returns. */
function attempt(overrides: Partial<SiteAttempt> = {}): SiteAttempt {
  const made = attemptOf({ owner, startedAt: clock.now(), ...overrides });
  clock.advance(made.durationMs);
  return made;
}
const blocked = { outcome: 'blocked' } as const;
const record = (...works: Partial<SiteAttempt>[][]): void => {
  for (const work of works) selfHeal.record({ attempts: work.map((overrides, n) => attempt({ n: n + 1, ...overrides })) });
};
const begin = (ignoreCooldown = false) => selfHeal.begin(owner, domain, { enabled: strategyNames, ignoreCooldown });

describe('the events', () => {
  it('block events list each blocked attempt, newest first, and no other', async () => {
    record([blocked], [{}], [blocked, { outcome: 'error' }, { ...blocked, url: 'https://example.com/last' }]);
    const events = await selfHeal.blocks({ owner, limit: 10 });
    assert.deepEqual(
      events.map((event) => [event.attempt, event.url]),
      [
        [3, 'https://example.com/last'],
        [1, 'https://www.example.com/page'],
        [1, 'https://www.example.com/page'],
      ],
    );
    assert.equal(events[0]?.at.getTime(), clock.now().getTime());
  });

  it('block events say whether a later attempt of the same work succeeded, and which', async () => {
    record([blocked, { ...blocked, strategy: 'wait_retry' }, { strategy: 'rotate_egress' }], [blocked], [{}]);
    const events = await selfHeal.blocks({ owner, limit: 10 });
    assert.deepEqual(
      events.map(({ strategy, resolvedBy }) => [strategy, resolvedBy]),
      [
        ['direct', null],
        ['wait_retry', 'rotate_egress'],
        ['direct', 'rotate_egress'],
      ],
    );
  });

  it('block events hold no secret of a URL, and only a keyed hash of the egress address', async () => {
    const egress = { type: 'proxy', country: 'DE', ip: '203.0.113.7' };
    record([{ ...blocked, egress, url: 'https://anna:pw@example.com/a?token=t#f' }], [{ ...blocked, egress }]);
    const stranger = open({ secret: Buffer.from('another') });
    stranger.record({ attempts: [attempt({ ...blocked, egress })] });
    await stranger.stop();
    const events = await selfHeal.blocks({ owner, limit: 10 });
    const [other, second, first] = events.map(({ egress: { ipHash } }) => ipHash);
    assert.equal(events[2]?.url, 'https://example.com/a');
    assert.match(first ?? '', /^[0-9a-f]{16}$/);
    assert.equal(second, first);
    assert.notEqual(other, first);
    assert.ok(!JSON.stringify(events).includes('203.0.113.7'));
  });

  it('block events keep evidence that no database could: with a NUL, or half a letter', async () => {
    const evidence = [{ kind: 'title' as const, id: 'a-title', value_redacted: 'Just\0 a \ud83d moment' }];
    record([{ ...blocked, block: { ...blockOf('captcha'), evidence } }]);
    const [event] = await selfHeal.blocks({ owner, limit: 1 });
    assert.deepEqual(event?.evidence, [{ kind: 'title', id: 'a-title', value_redacted: 'Just\ufffd a \ufffd moment' }]);
  });

  it('block events are filtered by owner, site, type and time', async () => {
    record([blocked], [{ ...blocked, domain: 'other.example' }]);
    clock.advance(minute);
    const since = clock.now();
    record([{ ...blocked, block: blockOf('captcha') }]);
    const blocksWhere = async (filter: object) =>
      (await selfHeal.blocks({ owner, limit: 10, ...filter })).map((event) => `${event.domain} ${event.type}`);
    assert.deepEqual(await blocksWhere({ domain }), ['example.com captcha', 'example.com challenge']);
    assert.deepEqual(await blocksWhere({ type: 'challenge' }), ['other.example challenge', 'example.com challenge']);
    assert.deepEqual(await blocksWhere({ since }), ['example.com captcha']);
    assert.deepEqual(await blocksWhere({ limit: 1 }), ['example.com captcha']);
    assert.deepEqual(await blocksWhere({ owner: 'somebody' }), []);
  });

  it('an attempt that a cooldown refused is no block event, since the site was not asked', async () => {
    record([{ ...blocked, block: blockOf('cooldown') }]);
    assert.deepEqual(await selfHeal.blocks({ owner, limit: 1 }), []);
    assert.equal((await selfHeal.healthOf(owner, domain)).window.attempts, 0);
  });
});

describe('a page that robots.txt forbids', () => {
  it('a page that robots.txt forbids is recorded as a block, and does not affect the site', async () => {
    record(...Array.from({ length: 5 }, () => [{ ...blocked, block: blockOf('robots_disallowed') }]));
    assert.equal((await selfHeal.blocks({ owner, type: 'robots_disallowed', limit: 10 })).length, 5);
    const { state, window, cooldownUntil } = await selfHeal.healthOf(owner, domain);
    assert.deepEqual([state, window.attempts, cooldownUntil], ['unknown', 0, null]);
  });
});

describe('a retry plan', () => {
  it('a retry plan of an unknown site begins directly', async () => {
    const plan = await begin();
    assert.deepEqual([plan.cooldown, plan.firstAttempt], [null, { strategy: 'direct', waitMs: 0 }]);
  });

  it('a retry plan uses at once what this worker has recorded', async () => {
    record([blocked], [blocked], [blocked]);
    const { cooldown } = await begin();
    assert.deepEqual(cooldown, { until: new Date(clock.now().getTime() + 2 * minute), type: 'challenge', vendor: 'cloudflare' });
  });

  it('a retry plan has no cooldown with ignoreCooldown, for another owner, or when it is over', async () => {
    record([blocked], [blocked], [blocked]);
    assert.equal((await begin(true)).cooldown, null);
    assert.equal((await selfHeal.begin('somebody', domain, { enabled: [], ignoreCooldown: false })).cooldown, null);
    clock.advance(2 * minute);
    assert.equal((await begin()).cooldown, null);
  });

  it('a retry plan has no cooldown after one success, and the next is short again', async () => {
    record([blocked], [blocked], [blocked]);
    clock.advance(2 * minute);
    record([blocked]);
    assert.equal((await begin()).cooldown?.until.getTime(), clock.now().getTime() + 4 * minute);
    record([{}]);
    assert.equal((await begin()).cooldown, null);
    record([blocked], [blocked], [blocked]);
    assert.equal((await begin()).cooldown?.until.getTime(), clock.now().getTime() + 2 * minute);
  });

  it('a retry plan begins with what has worked, where the caller and this service allow it', async () => {
    for (let n = 0; n < 6; n += 1) record([blocked, { strategy: 'rotate_egress' }]);
    assert.equal((await begin()).firstAttempt.strategy, 'rotate_egress');
    assert.equal((await selfHeal.begin(owner, domain, { enabled: ['wait_retry'], ignoreCooldown: false })).firstAttempt.strategy, 'direct');
    const alone = open({ enabled: ['wait_retry'] });
    assert.equal((await alone.begin(owner, domain, { enabled: strategyNames, ignoreCooldown: false })).firstAttempt.strategy, 'direct');
    const curious = open({ random: () => 0.04 });
    assert.equal((await curious.begin(owner, domain, { enabled: strategyNames, ignoreCooldown: false })).firstAttempt.strategy, 'direct');
  });

  it('a retry plan goes on with what the caller allows', async () => {
    const { nextAttempt } = await selfHeal.begin(owner, domain, { enabled: ['wait_retry', 'fresh_context'], ignoreCooldown: false });
    const failed = { outcome: 'blocked', block: blockOf('bot_wall'), statusCode: 403 } as const;
    assert.deepEqual(nextAttempt({ strategy: 'direct', ...failed }, 10_000), { strategy: 'fresh_context', waitMs: 0 });
    assert.deepEqual(nextAttempt({ strategy: 'fresh_context', ...failed }, 10_000), { strategy: 'wait_retry', waitMs: 500 });
    assert.equal(nextAttempt({ strategy: 'wait_retry', ...failed }, 600), null);
  });

  it('a retry plan aborts with the caller’s signal', async () => {
    const reason = new Error('enough');
    await assert.rejects(selfHeal.begin(owner, domain, { enabled: [], ignoreCooldown: false, signal: AbortSignal.abort(reason) }), reason);
  });
});

describe('the health of a site', () => {
  it('the health of a site is unknown before the first attempt', async () => {
    const { state, successRate, window, updatedAt } = await selfHeal.healthOf(owner, domain);
    assert.deepEqual([state, successRate, window.attempts, window.since, updatedAt], ['unknown', null, 0, null, null]);
  });

  it('the health of a site is that of the last 50 attempts', async () => {
    record(...Array.from({ length: 30 }, () => [{ ...blocked, block: blockOf('captcha', 'low') }]));
    const since = clock.now();
    record(
      ...Array.from({ length: 48 }, () => [{ durationMs: 200 }]),
      [{ ...blocked, block: blockOf('captcha', 'medium') }],
      [{ outcome: 'error' }],
    );
    const health = await selfHeal.healthOf(owner, domain);
    assert.deepEqual(
      { ...health, lastOkAt: null, lastBlockAt: null },
      {
        owner,
        domain,
        state: 'healthy',
        successRate: 0.96,
        window: { attempts: 50, ok: 48, blocked: 1, error: 1, since, avgLatencyMs: 196 },
        consecutiveBlocks: 0,
        lastOkAt: null,
        lastBlockAt: null,
        lastBlockType: 'captcha',
        vendor: 'cloudflare',
        bestStrategy: 'direct',
        cooldownUntil: null,
        updatedAt: clock.now(),
      },
    );
    assert.deepEqual(
      [health.lastBlockAt?.getTime(), health.lastOkAt?.getTime()],
      [clock.now().getTime() - 100, clock.now().getTime() - 200],
    );
  });

  it('the health of sites is listed worst first', async () => {
    const of = (site: string, ...outcomes: SiteAttempt['outcome'][]) => record(...outcomes.map((outcome) => [{ domain: site, outcome }]));
    of('healthy.example', 'ok', 'ok', 'ok', 'ok', 'ok');
    of('degraded.example', 'ok', 'ok', 'ok', 'error', 'error');
    of('unknown.example', 'ok');
    of('blocked.example', 'error', 'error', 'error', 'error', 'error');
    of('cooldown.example', 'blocked', 'blocked', 'blocked');
    const states = (await selfHeal.health({ owner, limit: 1000 })).map(({ health }) => [health.domain, health.state]);
    assert.deepEqual(
      states,
      ['cooldown', 'blocked', 'degraded', 'unknown', 'healthy'].map((state) => [`${state}.example`, state]),
    );
    assert.ok((await selfHeal.health({ limit: 1000 })).length >= 5);
  });
});

describe('the strategies of a site', () => {
  it('the strategies of a site are all listed, gentlest first, with their results', async () => {
    record([blocked, { strategy: 'wait_retry', durationMs: 300 }], [{ outcome: 'error' }]);
    const lastUsedAt = clock.now();
    await selfHeal.stop();
    const { strategies, current, nextProbeAt } = await open({ enabled: ['wait_retry'] }).strategies(owner, domain);
    assert.deepEqual(
      strategies.map(({ strategy, enabled }) => [strategy, enabled]),
      strategyNames.map((name) => [name, name === 'direct' || name === 'wait_retry']),
    );
    const score = Number(strategies[1]?.score?.toFixed(4));
    const [direct, waited, paced] = strategies.map(({ strategy: _name, enabled: _enabled, ...overrides }) => overrides);
    assert.deepEqual(direct, {
      attempts: 2,
      successes: 0,
      blocks: 1,
      errors: 1,
      successRate: 0,
      score: 0,
      avgLatencyMs: 100,
      avgCostCredits: 0.01,
      lastUsedAt,
    });
    assert.deepEqual(
      { ...waited, score },
      {
        ...direct,
        attempts: 1,
        successes: 1,
        blocks: 0,
        errors: 0,
        successRate: 1,
        score: 0.2065,
        avgLatencyMs: 300,
        lastUsedAt: new Date(lastUsedAt.getTime() - 100),
      },
    );
    assert.deepEqual(paced, {
      attempts: 0,
      successes: 0,
      blocks: 0,
      errors: 0,
      successRate: null,
      score: null,
      avgLatencyMs: null,
      avgCostCredits: null,
      lastUsedAt: null,
    });
    assert.deepEqual([current, nextProbeAt], ['direct', null]);
  });

  it('the strategies of a site include the current one, and when a site in a cooldown is tried again', async () => {
    for (let n = 0; n < 6; n += 1) record([blocked, { strategy: 'rotate_egress' }]);
    assert.equal((await selfHeal.strategies(owner, domain)).current, 'rotate_egress');
    record([blocked], [blocked], [blocked]);
    assert.equal((await selfHeal.strategies(owner, domain)).nextProbeAt?.getTime(), clock.now().getTime() + 2 * minute);
  });
});

describe('several workers', () => {
  it('attempts of several workers are combined, and none is lost', async () => {
    const workers = [open(), open({ store: second })];
    const works = 60;
    const sites = ['a.example', 'b.example', 'c.example'];
    await Promise.all(
      workers.map(async (worker, index) => {
        for (let n = 0; n < works; n += 1) {
          // Each in another order, as locks would be taken if nobody took care.
          for (const site of index === 0 ? sites : sites.toReversed())
            worker.record({
              attempts: [attempt({ domain: site, ...(n % 3 === 0 ? blocked : {}) }), attempt({ domain: site, strategy: 'wait_retry' })],
            });
          if (n % 4 === 0) await worker.healthOf(owner, 'a.example');
        }
        await worker.stop();
      }),
    );
    for (const site of sites) {
      const { strategies } = await selfHeal.strategies(owner, site);
      const [direct, waited] = strategies;
      assert.deepEqual([direct?.attempts, direct?.blocks, direct?.successes, waited?.attempts], [120, 40, 80, 120]);
      assert.equal((await selfHeal.healthOf(owner, site)).window.attempts, 50);
    }
    assert.equal((await selfHeal.blocks({ owner, limit: 1000 })).length, 120);
  });
});

describe('the overview', () => {
  it('the overview counts what happened in the last day', async () => {
    // Far from the other tests, whose totals are everybody's.
    clock.advance(400 * 24 * 60 * minute);
    record(
      [blocked, { strategy: 'wait_retry' }],
      [blocked],
      [{ outcome: 'error' }],
      [{ ...blocked, domain: 'other.example', block: blockOf('captcha') }],
      [{}],
    );
    const overview = await selfHeal.overview();
    assert.deepEqual(
      { ...overview, since: null, cooldowns: 0 },
      {
        windowHours: 24,
        since: null,
        totals: { attempts: 6, ok: 2, blocked: 3, error: 1, healed: 1, unresolved: 2 },
        healRate: 1 / 3,
        byType: { challenge: 2, captcha: 1 },
        byVendor: { cloudflare: 3 },
        byStrategy: { wait_retry: 1 },
        topDomains: [
          { owner, domain, blocks: 2, state: 'blocked' },
          { owner, domain: 'other.example', blocks: 1, state: 'unknown' },
        ],
        cooldowns: 0,
      },
    );
    clock.advance(24 * 60 * minute);
    const { totals, topDomains, healRate } = await selfHeal.overview();
    assert.deepEqual([totals.attempts, totals.healed, topDomains, healRate], [0, 0, [], null]);
  });

  it('the overview counts the sites in a cooldown', async () => {
    clock.advance(800 * 24 * 60 * minute);
    record([blocked], [blocked], [blocked]);
    assert.equal((await selfHeal.overview()).cooldowns, 1);
    clock.advance(3 * minute);
    assert.equal((await selfHeal.overview()).cooldowns, 0);
  });
});

describe('pruning', () => {
  const prune = async ({ pruning }: SelfHeal): Promise<void> => {
    pruning.nudge();
    await pruning.idle();
    assert.equal(pruning.status.lastError, null);
  };
  const days = (count: number): number => count * 24 * 60 * minute;

  it('pruning deletes attempts after 30 days, and sites that nobody tried since', async () => {
    record([blocked], [{ ...blocked, domain: 'other.example' }]);
    clock.advance(days(20));
    record([{}]);
    await prune(selfHeal);
    assert.equal((await selfHeal.blocks({ owner, limit: 10 })).length, 2);
    clock.advance(days(11));
    await prune(selfHeal);
    assert.deepEqual(await selfHeal.blocks({ owner, limit: 10 }), []);
    assert.deepEqual(
      (await selfHeal.health({ owner, limit: 1000 })).map(({ health }) => health.domain),
      [domain],
    );
  });

  it('pruning keeps the newest attempts where there are too many', async () => {
    clock.advance(days(1200));
    record([blocked], [{ ...blocked, url: 'https://example.com/2' }], [{ ...blocked, url: 'https://example.com/3' }]);
    await selfHeal.stop();
    await prune(open({ eventsMax: 2 }));
    assert.deepEqual(
      (await selfHeal.blocks({ owner, limit: 10 })).map(({ url }) => url),
      ['https://example.com/3', 'https://example.com/2'],
    );
  });
});

describe('while the database is unavailable', () => {
  let operator: Client;
  before(async () => {
    const address = new URL(database.url);
    address.pathname = '/postgres';
    operator = new Client({ connectionString: address.href });
    await operator.connect();
  });
  after(() => operator.end());
  const allow = (answer: boolean) => operator.query(`alter database ${database.name} with allow_connections ${answer}`);

  it('while the database is unavailable, a retry plan is that of a new site, nothing throws, and all is written when it is back', async () => {
    const worker = open({ store: second });
    await allow(false);
    await operator.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database.name]);
    try {
      for (let n = 0; n < 4; n += 1) worker.record({ attempts: [attempt(blocked)] });
      const plan = await worker.begin(owner, domain, { enabled: strategyNames, ignoreCooldown: false });
      assert.deepEqual([plan.cooldown, plan.firstAttempt.strategy], [null, 'direct']);
      assert.equal(
        plan.nextAttempt({ strategy: 'direct', outcome: 'blocked', block: blockOf('captcha'), statusCode: 403 }, 10_000)?.strategy,
        'wait_retry',
      );
      await assert.rejects(worker.healthOf(owner, domain), { code: 'store_unavailable' });
    } finally {
      await allow(true);
    }
    assert.equal((await worker.healthOf(owner, domain)).consecutiveBlocks, 4);
    assert.equal(worker.dropped, 0);
    await worker.stop();
  });
});

describe('pacing', () => {
  it('pacing lets one attempt at a time go to a site', async () => {
    const caller = new AbortController();
    const first = Promise.withResolvers<void>();
    const started: string[] = [];
    const pace = (site: string, name: string, work = () => Promise.resolve()) =>
      selfHeal.pace(owner, site, caller.signal, () => {
        started.push(name);
        return work();
      });
    const one = pace(domain, 'one', () => first.promise);
    const two = pace(domain, 'two');
    await pace('other.example', 'elsewhere');
    assert.deepEqual(started, ['one', 'elsewhere']);
    first.resolve();
    await one;
    caller.abort();
    await assert.rejects(two);
    assert.deepEqual(started, ['one', 'elsewhere']);
  });

  it('pacing lets a second pass between two attempts, and ends the wait with the caller’s signal', async () => {
    const caller = new AbortController();
    const reason = new Error('enough');
    let times = 0;
    const pace = () => selfHeal.pace(owner, domain, caller.signal, () => Promise.resolve((times += 1)));
    assert.equal(await pace(), 1);
    clock.advance(1000);
    assert.equal(await pace(), 2);
    clock.advance(999);
    const waiting = pace();
    caller.abort(reason);
    await assert.rejects(waiting, (error) => error === reason);
    assert.equal(times, 2);
  });
});
