/** What owners use, and what it costs them: the one door through which anything is counted, limited and charged. */
import { ServiceError, type CreditsResponse, type UsageResponse } from '@berth/contract';
import { toCredits, type Credits } from '../credits/credits.ts';
import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { Loop } from '../lib/loop.ts';
import type { Owners, Standing, Tier } from '../owners/owners.ts';
import type { Store } from '../store/store.ts';
import { Accounts, type Account, type Others } from './account.ts';
import { costTable, microOf, prices } from './costs.ts';
import { noCounts, toTotals, type Totals } from './counts.ts';
import { Flushes } from './flushes.ts';
import { excessAt, isLimited, planLimitExceeded, type Need } from './limits.ts';
import { LiveMeter, type Meter, type MeterOrder } from './meter.ts';
import { monthFrom, monthOf } from './month.ts';
import { readMeter, readOthers } from './store.ts';
import { LiveTicket, type Ticket } from './ticket.ts';
import { toUsage } from './usage.ts';

export type { Totals } from './counts.ts';
export type { Exhaustion, Meter, MeterOrder } from './meter.ts';
export type { Ticket } from './ticket.ts';

export interface MeteringDeps {
  store: Store;
  owners: Pick<Owners, 'known' | 'standing'>;
  credits: Pick<Credits, 'reserve' | 'commit' | 'release' | 'wallet'>;
  clock: Clock;
  log: Log;
  /** Whether an empty wallet refuses calls. */
  creditsEnforced: boolean;
}

export interface Admission {
  axis: Need['axis'];
  /** One, where nothing is said. */
  count?: number | undefined;
  /** What the charge is known by in the journal, for what may be tried again; a new one where nothing is said. */
  opId?: string | undefined;
  /** How long the wallet keeps the price back at most. */
  ttlMs?: number | undefined;
}

/** What was used up to now in this process, and calls that were refused for want of it. */
export interface MeteringFacts {
  totals: Totals;
  refused: Record<'plan_limit_exceeded' | 'insufficient_credits', number>;
  meters: number;
}

/** What a crash may lose, and how old what other workers count may be when it is first seen here. */
const flushMs = 2000;
/** Longer than any call may take. */
const holdMs = 600_000;
/** Reads that a write has made unsure, before one is believed: a write takes no longer than a few of them. */
const readsMax = 10;

export class Metering {
  readonly flushing: Loop;
  readonly #deps: MeteringDeps;
  readonly #accounts = new Accounts();
  readonly #flushes: Flushes;
  readonly #counted = noCounts();
  readonly #refused = { plan_limit_exceeded: 0, insufficient_credits: 0 };

  constructor(deps: MeteringDeps) {
    this.#deps = deps;
    this.#flushes = new Flushes({
      ...deps,
      accounts: this.#accounts,
      others: (account) => this.#others(account),
      isWalletEnforced: (owner) => this.#isWalletEnforced(owner),
    });
    this.flushing = new Loop('metering', flushMs, () => this.#flushes.turn());
  }

  open(order: MeterOrder): Meter {
    const meter = new LiveMeter(order, {
      month: () => this.#month(),
      counted: this.#counted,
      close: (closed) => this.#flushes.close(closed),
      reopen: (closed) => this.#flushes.track(closed),
    });
    this.#flushes.track(meter);
    return meter;
  }

  /**
   * The right to do something that costs, once. It counts as used until its
   * ticket is charged or dropped. Throws plan_limit_exceeded, insufficient_credits
   * and, where it must ask for either, store_unavailable.
   */
  async admit(owner: string, { axis, count = 1, opId = `call:${newId('opr')}`, ttlMs = holdMs }: Admission): Promise<Ticket> {
    const need = { axis, count };
    const account = this.#accounts.of(owner);
    const { tier } = this.#deps.owners.known(owner) ?? (await this.#deps.owners.standing(owner));
    if (isLimited(tier)) this.#check(tier, need, account, await this.#others(account));
    // No wait between what was checked and this.
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
      paid: (available) => (account.available = available),
      leave: () => this.#leave(account, need),
    });
  }

  /** All that this worker has counted, and what others have within the last seconds. Waits only where that is not known. */
  usage(owner: string): UsageResponse | Promise<UsageResponse> {
    const account = this.#accounts.of(owner);
    const standing = this.#deps.owners.known(owner);
    const now = this.#deps.clock.now();
    const others = this.#others(account, monthOf(now));
    if (standing && !(others instanceof Promise)) return this.#report(account, standing, others, now);
    return Promise.all([standing ?? this.#deps.owners.standing(owner), others]).then(([standing, others]) =>
      this.#report(account, standing, others, now),
    );
  }

  async credits(owner: string): Promise<CreditsResponse> {
    const enforced = await this.#isWalletEnforced(owner);
    const { balance, owed } = await this.#wallet(this.#accounts.of(owner));
    // What is owed takes no more than there is.
    const left = enforced ? Math.max(Math.min(balance, 0), balance - owed) : balance - owed;
    return { owner, balance: toCredits(left), enforced, cost: costTable };
  }

  /** What a meter has used as far as it is written, whoever opened it; within the months that are kept. */
  async written(meterId: string): Promise<Totals & { credits: number }> {
    const counts = await readMeter(this.#deps.store, meterId);
    return { ...toTotals(counts), credits: toCredits(microOf(counts)) };
  }

  /** In credits. */
  costOf({
    actions = 0,
    sessions = 0,
    captcha_solves: captchaSolves = 0,
    egress_bytes: egressBytes = 0,
  }: Partial<Omit<Totals, 'browser_seconds'>>): number {
    return toCredits(microOf({ actions, sessions, captchaSolves, egressBytes }));
  }

  facts(): MeteringFacts {
    return { totals: toTotals(this.#counted), refused: { ...this.#refused }, meters: this.#flushes.size };
  }

  start(): void {
    this.flushing.start();
  }

  /** Writes and settles all that is left. Throws where the database is away: that is lost. */
  async stop(): Promise<void> {
    await this.flushing.stop();
    await this.#flushes.turn({ isLast: true });
  }

  #month(): string {
    return monthOf(this.#deps.clock.now());
  }

  #check(tier: Tier, need: Need, account: Account, others: Others): void {
    account.sample(this.#month());
    const excess = excessAt(tier, account.used(others), need);
    if (!excess) return;
    this.#refused.plan_limit_exceeded += 1;
    throw planLimitExceeded(tier, excess, monthFrom(this.#deps.clock.now(), 1));
  }

  async #reserve(order: Parameters<Credits['reserve']>[0], undo: () => void): Promise<void> {
    try {
      await this.#deps.credits.reserve(order);
    } catch (error) {
      undo();
      if (error instanceof ServiceError && error.code === 'insufficient_credits') this.#refused.insufficient_credits += 1;
      throw error;
    }
  }

  #enter(account: Account, need: Need): void {
    account.enter(need);
    this.#accounts.place(account);
  }

  #leave(account: Account, need: Need): void {
    account.leave(need);
    this.#accounts.place(account);
  }

  #report(account: Account, standing: Standing, others: Others, now: Date): UsageResponse {
    account.sample(this.#month());
    return toUsage(standing, toTotals(account.counts(others)), now);
  }

  /** A wallet is spared where its owner's plan allows to owe. */
  #isWalletEnforced(owner: string): boolean | Promise<boolean> {
    const { creditsEnforced, owners } = this.#deps;
    if (!creditsEnforced) return false;
    const known = owners.known(owner);
    return known ? !known.tier.overage_allowed : owners.standing(owner).then(({ tier }) => !tier.overage_allowed);
  }

  /** The balance, and what is owed and not yet taken from it. Read again where something may have been taken meanwhile. */
  async #wallet(account: Account): Promise<{ balance: number; owed: number }> {
    for (let reads = 1; ; reads += 1) {
      await Promise.allSettled(account.settling);
      const { settled } = account;
      const { balance } = await this.#deps.credits.wallet(account.owner);
      account.sample(this.#month());
      const isSure = settled === account.settled && account.settling.size === 0;
      if (isSure || reads === readsMax) return { balance, owed: account.unsettled };
    }
  }

  #others(account: Account, month = this.#month()): Others | Promise<Others> {
    const { others } = account;
    if (others?.month === month && this.#deps.clock.monotonicMs() - others.readMs < flushMs) return others;
    if (account.reading?.month === month) return account.reading.answer;
    const answer = this.#readOthers(account, month).finally(() => {
      if (account.reading?.answer === answer) account.reading = null;
    });
    account.reading = { month, answer };
    return answer;
  }

  async #readOthers(account: Account, month: string): Promise<Others> {
    const { owner } = account;
    for (let reads = 1; ; reads += 1) {
      const { writes } = account;
      const readMs = this.#deps.clock.monotonicMs();
      const meterIds = [...account.meters].map(({ meterId }) => meterId);
      const counts = await readOthers(this.#deps.store, { owner, month }, meterIds);
      if (writes !== account.writes && reads < readsMax) continue;
      account.others = { month, counts, readMs };
      return account.others;
    }
  }
}
