/** Counts, limits and charges the usage of owners. All usage passes through here. */
import type { CreditsResponse, UsageDay, UsageResponse } from '@berth/contract';
import { InsufficientCreditsError, toCredits, type Credits } from '../credits/credits.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { newId } from '@berth/lib/ids.ts';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import type { EffectivePlan, Owners, Tier } from '../owners/owners.ts';
import { isStoreUnavailable, type Store } from '../../store/store.ts';
import { Accounts, type Account, type RemoteUsage } from './account.ts';
import { costTable, microOf, noCounts, prices, toTotals, type Totals } from './counts.ts';
import { MeterFlusher } from './meter-flusher.ts';
import { excessAt, isLimited, planLimitExceeded, type Need } from './limits.ts';
import { LiveMeter, type Meter, type MeterOptions } from './meter.ts';
import { readDays, readMeter, readMonth, readRemoteCounts, type UsageByEgress } from './store.ts';
import { LiveTicket, type Ticket } from './ticket.ts';
import { dayFrom, dayOf, monthFrom, monthOf, toUsage, toUsageDays } from './usage.ts';

export type { Totals } from './counts.ts';
export type { Exhaustion, Meter, MeterOptions } from './meter.ts';
export type { UsageByEgress } from './store.ts';
export type { Ticket } from './ticket.ts';
export { monthFrom, monthOf } from './usage.ts';

export type Wallets = Pick<Credits, 'reserve' | 'commit' | 'release' | 'wallet' | 'balances' | 'totals'>;

interface MeteringDeps {
  store: Store;
  owners: Pick<Owners, 'getCachedPlan' | 'getPlan'>;
  credits: Wallets;
  clock: Clock;
  log: Log;
  /** Whether calls are refused when the wallet is empty. If not, wallets pay what they can, and nothing beyond it is owed. */
  creditsEnforced: boolean;
  /** Sessions that this worker runs at most: the concurrency limit of plans without one. */
  sessionsMax: number;
  /** Whether other workers count usage of the same owners. */
  hasPeers: () => boolean;
}

interface Admission {
  axis: Need['axis'];
  /** Default: 1. */
  count?: number | undefined;
  /** Journal id of the charge, for calls that may be retried, also by another worker: the hold is then its. Default: a new id. */
  opId?: string | undefined;
  /** Time to live of the hold. */
  ttlMs?: number | undefined;
}

/** Usage counted by this process, and refused calls. */
interface MeteringStats {
  totals: Totals;
  refused: Record<'plan_limit_exceeded' | 'insufficient_credits', number>;
  meters: number;
}

/** The usage that a crash may lose. */
const flushMs = 2000;
/**
 * In a fleet, usage that matters to a limit is written within this time and
 * read within this time: with the statements, less than a second in all.
 */
const exchangeMs = 400;
/** Duration of a hold, longer than any call. */
const holdMs = 600_000;
/** Repeats of a read that overlaps a write; a write takes no longer than a few reads. */
const readsMax = 10;

export const newAdmissionId = (): string => `call:${newId('opr')}`;

export class Metering {
  readonly flushing: Loop;
  /** Loop that exchanges usage in a fleet; without other workers it does nothing. */
  readonly exchange: Loop;
  readonly #deps: MeteringDeps;
  readonly #accounts = new Accounts();
  readonly #flusher: MeterFlusher;
  readonly #counted = noCounts();
  readonly #refused = { plan_limit_exceeded: 0, insufficient_credits: 0 };

  constructor(deps: MeteringDeps) {
    this.#deps = deps;
    this.#flusher = new MeterFlusher({
      ...deps,
      accounts: this.#accounts,
      getRemoteUsage: (account) => this.#getRemoteUsage(account),
      refresh: (accounts) => this.#refresh(accounts),
      isWalletEnforced: (owner) => this.#isWalletEnforced(owner),
    });
    this.flushing = new Loop('metering', flushMs, () => this.#flusher.turn());
    this.exchange = new Loop('usage-exchange', exchangeMs, async () => {
      if (deps.hasPeers()) await this.#flusher.exchange();
    });
  }

  open(options: MeterOptions): Meter {
    const meter = new LiveMeter(options, {
      month: () => this.#month(),
      counted: this.#counted,
      close: (closed) => this.#flusher.close(closed),
      reopen: (closed) => this.#flusher.track(closed),
    });
    this.#flusher.track(meter);
    return meter;
  }

  /**
   * Admits one priced operation. It counts as used until its ticket is charged or
   * dropped.
   *
   * @throws ServiceError plan_limit_exceeded, insufficient_credits, store_unavailable
   */
  async admit(owner: string, { axis, count = 1, opId = newAdmissionId(), ttlMs = holdMs }: Admission): Promise<Ticket> {
    const need = { axis, count };
    const account = this.#accounts.of(owner);
    const { tier } = this.#deps.owners.getCachedPlan(owner) ?? (await this.#deps.owners.getPlan(owner));
    if (isLimited(tier)) this.#check(tier, need, account, await this.#getRemoteUsage(account));
    // Must follow the check synchronously.
    this.#enter(account, need);
    const isHeld = this.#deps.creditsEnforced && !tier.overage_allowed;
    if (isHeld) await this.#reserve({ opId, owner, amount: count * prices[axis], ttlMs }, () => this.#leave(account, need));
    return new LiveTicket({
      owner,
      need,
      opId,
      isHeld,
      credits: this.#deps.credits,
      log: this.#deps.log,
      isEnforced: () => this.#isWalletEnforced(owner),
      allowsOverdraft: this.#deps.creditsEnforced,
      onCharged: (available) => (account.available = available),
      leave: () => this.#leave(account, need),
    });
  }

  /** Charges calls that opened no route, such as those that timed out in a queue, to a meter of their own. */
  async chargeWithoutRoute({ owner, tier }: { owner: string; tier: Tier }, ticket: Ticket, actions: number): Promise<void> {
    if (actions === 0) return ticket.drop();
    const sample = () => ({ egressBytes: 0, browserMs: 0 });
    const meter = this.open({ meterId: newId('rte'), owner, tier, egressType: 'direct', sample });
    await ticket.charge(meter, actions);
    await meter.close();
  }

  /** Current usage of this worker, and that of others as of the last seconds. A promise only if a query is needed. */
  usage(owner: string): UsageResponse | Promise<UsageResponse> {
    const account = this.#accounts.of(owner);
    const plan = this.#deps.owners.getCachedPlan(owner);
    const now = this.#deps.clock.now();
    const remoteUsage = this.#getRemoteUsage(account, monthOf(now));
    if (plan && !(remoteUsage instanceof Promise)) return this.#report(account, plan, remoteUsage, now);
    return Promise.all([plan ?? this.#deps.owners.getPlan(owner), remoteUsage]).then(([plan, remoteUsage]) =>
      this.#report(account, plan, remoteUsage, now),
    );
  }

  /** The written usage of each of the last `count` days, oldest first. @throws ServiceError store_unavailable */
  async usageByDay(owner: string, count: number): Promise<UsageDay[]> {
    const now = this.#deps.clock.now();
    return toUsageDays(await readDays(this.#deps.store, owner, dayOf(dayFrom(now, 1 - count))), now, count);
  }

  async credits(owner: string): Promise<CreditsResponse> {
    const enforced = await this.#isWalletEnforced(owner);
    const { balance, accrued } = await this.#wallet(this.#accounts.of(owner));
    return { owner, balance: toCredits(this.#leftOf(balance, accrued, enforced)), enforced, cost: costTable };
  }

  /**
   * The balance that `credits` reports, in millionths. After a change of the wallet, which has happened: where the store
   * cannot be read any more, it is `walletBalance` less what this worker has counted since the last charge.
   */
  async readBalance(owner: string, walletBalance: number): Promise<number> {
    const account = this.#accounts.of(owner);
    try {
      const enforced = await this.#isWalletEnforced(owner);
      const { balance, accrued } = await this.#wallet(account);
      return this.#leftOf(balance, accrued, enforced);
    } catch (error) {
      if (!isStoreUnavailable(error)) throw error;
      return this.#leftOf(walletBalance, account.uncharged, true);
    }
  }

  /** The balances that `credits` reports, in credits; owners without a wallet are absent. @throws ServiceError store_unavailable */
  async balances(owners: readonly string[]): Promise<Map<string, number>> {
    const balances = await this.#deps.credits.balances(owners);
    const left = await Promise.all([...balances].map(async ([owner, balance]) => [owner, await this.#left(owner, balance)] as const));
    return new Map(left.map(([owner, micro]) => [owner, toCredits(micro)]));
  }

  /** Credits of all owners since the service exists: what is not left any more is spent. @throws ServiceError store_unavailable */
  async creditTotals(): Promise<{ granted: number; spent: number; balance: number }> {
    const { credits } = this.#deps;
    const owing = this.#accounts.busyOwners().filter((owner) => this.#accounts.of(owner).uncharged > 0);
    const [{ granted, balance }, wallets] = await Promise.all([credits.totals(), credits.balances(owing)]);
    let left = balance;
    for (const [owner, walletBalance] of wallets) left += (await this.#left(owner, walletBalance)) - walletBalance;
    return { granted: toCredits(granted), spent: toCredits(granted - left), balance: toCredits(left) };
  }

  async #left(owner: string, balance: number): Promise<number> {
    const { uncharged } = this.#accounts.of(owner);
    return uncharged === 0 ? balance : this.#leftOf(balance, uncharged, await this.#isWalletEnforced(owner));
  }

  /** Credits left after accrued charges. Without an overdraft, charges never take more than the balance. */
  #leftOf(balance: number, accrued: number, isEnforced: boolean): number {
    const allowsOverdraft = this.#deps.creditsEnforced && !isEnforced;
    return allowsOverdraft ? balance - accrued : Math.max(Math.min(balance, 0), balance - accrued);
  }

  /** The written usage of a meter of any worker, within the retained months. */
  async readWrittenUsage(meterId: string): Promise<Totals & { credits: number }> {
    const counts = await readMeter(this.#deps.store, meterId);
    return { ...toTotals(counts), credits: toCredits(microOf(counts)) };
  }

  /** The written usage of a month, of all owners and workers: two seconds old at most. @throws ServiceError store_unavailable */
  readMonth(month: string): Promise<UsageByEgress[]> {
    return readMonth(this.#deps.store, month);
  }

  /** Cost in credits. */
  costOf({
    actions = 0,
    sessions = 0,
    captcha_solves: captchaSolves = 0,
    egress_bytes: egressBytes = 0,
  }: Partial<Omit<Totals, 'browser_seconds'>>): number {
    return toCredits(microOf({ actions, sessions, captchaSolves, egressBytes }));
  }

  stats(): MeteringStats {
    return { totals: toTotals(this.#counted), refused: { ...this.#refused }, meters: this.#flusher.size };
  }

  start(): void {
    this.flushing.start();
    this.exchange.start();
  }

  /** Writes and charges everything. @throws ServiceError store_unavailable: then the rest is lost */
  async stop(): Promise<void> {
    await this.exchange.stop();
    await this.flushing.stop();
    await this.#flusher.turn({ isLast: true });
  }

  #month(): string {
    return monthOf(this.#deps.clock.now());
  }

  #check(tier: Tier, need: Need, account: Account, remoteUsage: RemoteUsage): void {
    account.sample(this.#month());
    const excess = excessAt(tier, account.used(remoteUsage), need);
    if (!excess) return;
    this.#refused.plan_limit_exceeded += 1;
    throw planLimitExceeded(tier, excess, monthFrom(this.#deps.clock.now(), 1));
  }

  async #reserve(options: Parameters<Credits['reserve']>[0], undo: () => void): Promise<void> {
    try {
      await this.#deps.credits.reserve(options);
    } catch (error) {
      undo();
      if (!(error instanceof InsufficientCreditsError)) throw error;
      this.#refused.insufficient_credits += 1;
      const account = this.#accounts.of(options.owner);
      account.sample(this.#month());
      // The details are of the moment of the refusal: a later balance might cover what was refused.
      throw error.withBalance(this.#leftOf(error.balance, account.uncharged, true));
    }
  }

  #enter(account: Account, need: Need): void {
    account.enter(need);
    this.#accounts.reindex(account);
  }

  #leave(account: Account, need: Need): void {
    account.leave(need);
    this.#accounts.reindex(account);
  }

  #report(account: Account, plan: EffectivePlan, remoteUsage: RemoteUsage, now: Date): UsageResponse {
    account.sample(this.#month());
    return toUsage(plan, toTotals(account.counts(remoteUsage)), { now, sessionsMax: this.#deps.sessionsMax });
  }

  /** Whether the wallet limits the owner. It does not where the owner's plan allows overage. */
  #isWalletEnforced(owner: string): boolean | Promise<boolean> {
    const { creditsEnforced, owners } = this.#deps;
    if (!creditsEnforced) return false;
    const cached = owners.getCachedPlan(owner);
    return cached ? !cached.tier.overage_allowed : owners.getPlan(owner).then(({ tier }) => !tier.overage_allowed);
  }

  /** The balance and the accrued, uncharged amount. Repeats the read if a charge ran meanwhile. */
  async #wallet(account: Account): Promise<{ balance: number; accrued: number }> {
    for (let reads = 1; ; reads += 1) {
      await Promise.allSettled(account.charging);
      const { chargesCompleted } = account;
      const { balance } = await this.#deps.credits.wallet(account.owner);
      account.sample(this.#month());
      const isSure = chargesCompleted === account.chargesCompleted && account.charging.size === 0;
      if (isSure || reads === readsMax) return { balance, accrued: account.uncharged };
    }
  }

  #getRemoteUsage(account: Account, month = this.#month()): RemoteUsage | Promise<RemoteUsage> {
    const { remoteUsage, reading } = account;
    if (remoteUsage && this.#isFresh(remoteUsage, month)) return remoteUsage;
    return reading?.month === month ? reading.answer : this.#read([account], month).then((read) => usageIn(read, account));
  }

  async #refresh(accounts: readonly Account[]): Promise<void> {
    const month = this.#month();
    const stale = accounts.filter(({ remoteUsage }) => !remoteUsage || !this.#isFresh(remoteUsage, month));
    const unread = stale.filter(({ reading }) => reading?.month !== month);
    if (unread.length > 0) await this.#read(unread, month);
  }

  #isFresh({ month: read, readMs }: RemoteUsage, month: string): boolean {
    return read === month && this.#deps.clock.monotonicMs() - readMs < (this.#deps.hasPeers() ? exchangeMs : flushMs);
  }

  /** Reads the usage of all accounts in one statement. Concurrent callers share the answer. */
  #read(accounts: readonly Account[], month: string): Promise<ReadonlyMap<Account, RemoteUsage>> {
    const answers = this.#readRemoteUsage(accounts, month).finally(() => {
      for (const account of accounts) if (account.reading === readings.get(account)) account.reading = null;
    });
    const readings = new Map(
      accounts.map((account) => [account, { month, answer: answers.then((read) => usageIn(read, account)) }] as const),
    );
    for (const [account, reading] of readings) {
      // Whoever waits for it sees its failure.
      reading.answer.catch(() => undefined);
      account.reading = reading;
    }
    return answers;
  }

  /** Repeats the read for accounts that were written meanwhile. */
  async #readRemoteUsage(accounts: readonly Account[], month: string): Promise<ReadonlyMap<Account, RemoteUsage>> {
    const read = new Map<Account, RemoteUsage>();
    for (let reads = 1, left = accounts; left.length > 0; reads += 1) {
      const writes = new Map(left.map((account) => [account, account.writes]));
      const readMs = this.#deps.clock.monotonicMs();
      const meterIds = left.flatMap(({ meters }) => [...meters].map(({ meterId }) => meterId));
      const owners = left.map(({ owner }) => owner);
      const counts = await readRemoteCounts(this.#deps.store, { owners, month }, meterIds);
      for (const account of left)
        if (account.writes === writes.get(account) || reads === readsMax) {
          account.remoteUsage = { month, counts: counts.get(account.owner) ?? noCounts(), readMs };
          read.set(account, account.remoteUsage);
        }
      left = left.filter((account) => !read.has(account));
    }
    return read;
  }
}

function usageIn(read: ReadonlyMap<Account, RemoteUsage>, account: Account): RemoteUsage {
  const usage = read.get(account);
  if (!usage) throw new Error(`the usage of ${account.owner} was not read`);
  return usage;
}
