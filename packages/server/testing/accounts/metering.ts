/** Metering on a real store, with real owners and wallets, and fake browsers. */
import { ServiceError } from '@berth/contract';
import { Audit } from '../../src/accounts/audit/audit.ts';
import { Credits } from '../../src/accounts/credits/credits.ts';
import { ManualClock, type Clock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { Owners, type Tier, type Tiers } from '../../src/accounts/owners/owners.ts';
import { Rates } from '../../src/rates/rates.ts';
import type { Store, Tables } from '../../src/store/store.ts';
import { Metering, type Exhaustion, type Meter, type Totals, type Wallets } from '../../src/accounts/metering/metering.ts';

export const megabyte = 1_000_000;
export const micro = 1_000_000;

/** A clock whose wall time can jump while the monotonic time goes on. */
export class JumpyClock implements Clock {
  readonly #steady: ManualClock;
  #jumpedMs = 0;

  constructor(start = new Date('2026-01-15T12:00:00.000Z')) {
    this.#steady = new ManualClock(start);
  }

  now(): Date {
    return new Date(this.#steady.now().getTime() + this.#jumpedMs);
  }

  monotonicMs(): number {
    return this.#steady.monotonicMs();
  }

  advance(ms: number): void {
    this.#steady.advance(ms);
  }

  jump(ms: number): void {
    this.#jumpedMs += ms;
  }

  /** Advances to that time. */
  reach(at: string): void {
    this.advance(new Date(at).getTime() - this.now().getTime());
  }
}

/** A plan without limits, except the given ones. */
export const tierOf = (name: string, limits: Partial<Tier['limits']> = {}, rest: Partial<Tier> = {}): Tier => ({
  name,
  concurrency_limit: 3,
  creates_per_minute: null,
  requests_per_minute: null,
  key_calls_per_minute: null,
  max_session_seconds: 900,
  tab_limit: null,
  premium_egress: false,
  recording_retention_days: 30,
  job_weight: 1,
  limits: { actions: null, egress_bytes: null, browser_seconds: null, captcha_solves: null, ...limits },
  overage_allowed: false,
  enforced: true,
  ...rest,
});

const tiersOf = (tiers: readonly Tier[]): Tiers => ({
  default: tiers[0]?.name ?? '',
  names: tiers.map(({ name }) => name),
  get: (name) => tiers.find((tier) => tier.name === name),
  prices: new Map(),
  priceOf: () => undefined,
});

export const unavailableError = (): ServiceError => new ServiceError('store_unavailable', 'Unavailable.');

/** A store whose transactions fail on demand: `refused` before they begin, `unanswered` after the commit. */
export class FaultyStore implements Store {
  readonly #store: Store;
  fault: 'refused' | 'unanswered' | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  tables: Store['tables'] = () => this.#store.tables();
  ping: Store['ping'] = (options) => this.#store.ping(options);
  observe: Store['observe'] = (observer) => this.#store.observe(observer);
  close: Store['close'] = () => this.#store.close();

  get urgent(): Tables {
    return this.#store.urgent;
  }

  get connections(): Store['connections'] {
    return this.#store.connections;
  }

  async transaction<R>(work: (tx: Tables) => Promise<R>): Promise<R> {
    if (this.fault === 'refused') throw unavailableError();
    const result = await this.#store.transaction(work);
    if (this.fault === 'unanswered') throw unavailableError();
    return result;
  }
}

/** A browser whose usage a test sets. */
export class FakeBrowser {
  egressBytes = 0;
  browserMs = 0;
  readonly exhausted: Exhaustion[] = [];
  sample = (): { egressBytes: number; browserMs: number } => ({ egressBytes: this.egressBytes, browserMs: this.browserMs });
  onExhausted = (reason: Exhaustion): void => void this.exhausted.push(reason);
}

export interface WorkerOptions {
  clock: JumpyClock;
  tiers?: readonly Tier[];
  creditsEnforced?: boolean;
  log?: Log;
  hasPeers?: boolean;
  /** Wraps the wallets. */
  wrap?: (credits: Credits) => Wallets;
}

/** One worker; several of them on one store are a fleet. */
export class Worker {
  readonly clock: JumpyClock;
  readonly store: FaultyStore;
  readonly owners: Owners;
  readonly credits: Credits;
  readonly metering: Metering;
  readonly #store: Store;

  constructor(
    store: Store,
    {
      clock,
      tiers = [tierOf('plain')],
      creditsEnforced = false,
      log = silentLog,
      hasPeers = false,
      wrap = (credits) => credits,
    }: WorkerOptions,
  ) {
    this.clock = clock;
    this.#store = store;
    this.store = new FaultyStore(store);
    const audit = new Audit({ store, clock });
    this.owners = new Owners({ store, tiers: tiersOf(tiers), audit, clock });
    const workerId = newId('wrk');
    const rates = new Rates({ store, workerId, hasPeers: () => false });
    this.credits = new Credits({ store, owners: this.owners, audit, rates, clock, log, workerId });
    this.metering = new Metering({
      store: this.store,
      owners: this.owners,
      credits: wrap(this.credits),
      clock,
      log,
      creditsEnforced,
      sessionsMax: 50,
      hasPeers: () => hasPeers,
    });
  }

  /** A meter of `browser`, of a session that was started under the owner's plan. */
  async open(owner: string, browser = new FakeBrowser(), meterId = newId('ses')): Promise<{ meter: Meter; browser: FakeBrowser }> {
    const tier = await this.owners.tierOf(owner);
    return {
      meter: this.metering.open({ meterId, owner, tier, egressType: 'direct', sample: browser.sample, onExhausted: browser.onExhausted }),
      browser,
    };
  }

  /** Admits and charges, as a successful call does. */
  async act(owner: string, meter: Meter, count = 1): Promise<void> {
    await (await this.metering.admit(owner, { axis: 'action', count })).charge(meter);
  }

  /** Two seconds later. */
  async turn(): Promise<void> {
    this.clock.advance(2000);
    this.metering.flushing.nudge();
    await this.metering.flushing.idle();
  }

  /** Runs the exchange of a worker of a fleet between two turns. */
  async exchange(): Promise<void> {
    this.clock.advance(400);
    this.metering.exchange.nudge();
    await this.metering.exchange.idle();
  }

  async totals(owner: string): Promise<Totals> {
    return (await this.metering.usage(owner)).usage;
  }

  async setTier(owner: string, tier: string): Promise<void> {
    await this.#store.transaction((tx) => this.owners.setTier(tx, owner, tier, { actor: 'operator', why: 'assigned' }));
    this.owners.changed(owner);
  }

  /** Grants an amount in credits. */
  async grant(owner: string, amount: number): Promise<void> {
    await this.credits.grant({ opId: newId('opr'), owner, amount: amount * micro, note: null, actor: 'operator' });
  }
}

interface Written {
  usage_months: {
    owner_id: string;
    month: string;
    actions: number;
    egress_bytes: number;
    browser_ms: number;
    sessions: number;
    captcha_solves: number;
  };
  usage_meters: { meter_id: string; month: string; egress_bytes: number };
  credit_journal: { op_id: string; owner_id: string; to_account: string; amount: number };
}

/** Rows of an owner in the database, by month. */
export async function monthsOf(store: Tables, owner: string): Promise<Record<string, Written['usage_months']>> {
  const rows = await store.tables<Written>().selectFrom('usage_months').selectAll().where('owner_id', '=', owner).execute();
  return Object.fromEntries(rows.map((row) => [row.month, row]));
}

export const metersIn = (store: Tables, month: string): Promise<Written['usage_meters'][]> =>
  store.tables<Written>().selectFrom('usage_meters').select(['meter_id', 'month', 'egress_bytes']).where('month', '=', month).execute();

/** Charges in an owner's journal, in millionths, by axis. */
export async function chargesOf(store: Tables, owner: string): Promise<Record<string, number>> {
  const rows = await store
    .tables<Written>()
    .selectFrom('credit_journal')
    .select(['to_account', (select) => select.fn.sum<string>('amount').as('sum')])
    .where('owner_id', '=', owner)
    .where('to_account', 'like', 'revenue:%')
    .groupBy('to_account')
    .execute();
  return Object.fromEntries(rows.map(({ to_account, sum }) => [to_account.replace('revenue:', ''), Number(sum)]));
}

/** Matches a ServiceError by code and details. */
export const failsWith =
  (code: string, details?: Record<string, unknown>) =>
  (error: unknown): boolean => {
    if (!(error instanceof ServiceError) || error.code !== code) return false;
    return Object.entries(details ?? {}).every(([name, value]) => error.details[name] === value);
  };
