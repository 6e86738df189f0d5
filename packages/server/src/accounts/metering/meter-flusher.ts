import { ServiceError } from '@berth/contract';
import type { Credits } from '../credits/credits.ts';
import type { Clock } from '@berth/lib/clock.ts';
import type { Log } from '@berth/lib/log.ts';
import type { Owners } from '../owners/owners.ts';
import type { Store } from '../../store/store.ts';
import type { Account, Accounts, RemoteUsage } from './account.ts';
import type { CommitRequest } from './accrued-charges.ts';
import { endsSessions, excessDuring, isLimited, isPressing } from './limits.ts';
import type { Exhaustion, LiveMeter } from './meter.ts';
import { dayFrom, dayOf, monthFrom, monthOf } from './usage.ts';
import { deleteDays, deleteMeters, writeMeters, type MeterRow } from './store.ts';

interface FlushDeps {
  store: Store;
  owners: Pick<Owners, 'getCachedPlan' | 'getPlan'>;
  credits: Pick<Credits, 'commit'>;
  accounts: Accounts;
  clock: Clock;
  log: Log;
  getRemoteUsage: (account: Account) => RemoteUsage | Promise<RemoteUsage>;
  /** Reads what is too old of these accounts, all in one statement. */
  refresh: (accounts: readonly Account[]) => Promise<void>;
  creditsEnforced: boolean;
  isWalletEnforced: (owner: string) => boolean | Promise<boolean>;
}

/** Rows in one transaction, which should hold its locks for milliseconds only. */
const rowsMax = 500;
/** Accrued charges of an open meter before it is charged, in millionths: a tenth of a credit, to limit journal entries. */
const accruedMax = 100_000;
/** Rows of meters are retained for these months; monthly sums of owners forever. */
const monthsRetained = 3;
/** More than a reply reports. */
const daysRetained = 200;
const pruneMs = 3_600_000;
const pruneBatchSize = 5000;

/**
 * Writes the counts of meters, charges the wallets, and notifies meters whose
 * plan or wallet is exhausted. Flushes run one at a time, so that no request or
 * row is created twice from an intermediate state.
 */
export class MeterFlusher {
  readonly #deps: FlushDeps;
  readonly #meters = new Map<string, LiveMeter>();
  #last: Promise<void> = Promise.resolve();
  #closed: LiveMeter[] = [];
  #closing: Promise<void> | null = null;
  #prunedMs = -Infinity;

  constructor(deps: FlushDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#meters.size;
  }

  track(meter: LiveMeter): void {
    const tracked = this.#meters.get(meter.meterId);
    if (tracked && tracked !== meter) throw new Error(`the meter ${meter.meterId} is already open`);
    this.#meters.set(meter.meterId, meter);
    const account = this.#deps.accounts.of(meter.owner);
    account.add(meter);
    this.#deps.accounts.reindex(account);
  }

  /** Flushes all meters. Nothing is lost when it fails: the next flush includes it. @throws ServiceError store_unavailable */
  turn({ isLast = false } = {}): Promise<void> {
    return this.#inTurn(async () => {
      const meters = [...this.#meters.values()];
      const month = monthOf(this.#deps.clock.now());
      for (const meter of meters) meter.sample(month);
      await this.#write(meters);
      await this.#enforceLimits(meters);
      await this.#chargeAll(meters, isLast ? 1 : accruedMax);
      this.#forget(meters);
      await this.#prune();
    });
  }

  /** Writes, between two turns, usage that other workers must know at once, and reads theirs of the same owners. */
  exchange(): Promise<void> {
    return this.#inTurn(async () => {
      const month = monthOf(this.#deps.clock.now());
      const pressing = [...Map.groupBy(this.#meters.values(), ({ owner }) => owner)].filter(
        ([owner, [meter]]) => meter && this.#isPressing(owner, meter, month),
      );
      if (pressing.length === 0) return;
      const meters = pressing.flatMap(([, meters]) => meters);
      await this.#write(meters);
      await this.#deps.refresh(pressing.map(([owner]) => this.#deps.accounts.of(owner)));
      await this.#enforceLimits(meters);
    });
  }

  #isPressing(owner: string, meter: LiveMeter, month: string): boolean {
    const account = this.#deps.accounts.of(owner);
    const tier = this.#deps.owners.getCachedPlan(owner)?.tier ?? meter.tier;
    if (!isLimited(tier)) return false;
    account.sample(month);
    const { remoteUsage } = account;
    return remoteUsage?.month !== month || isPressing(tier, account.used(remoteUsage), account.unwritten(month));
  }

  /** Meters that close during a flush share the next one, without open meters. Never throws. */
  close(meter: LiveMeter): Promise<void> {
    this.#closed.push(meter);
    this.#closing ??= this.#inTurn(async () => {
      const meters = this.#closed;
      this.#closed = [];
      this.#closing = null;
      await this.#write(meters);
      await this.#chargeAll(meters, 1);
      this.#forget(meters);
    }).catch((err: unknown) => this.#deps.log.warn({ err }, 'meter flush failed'));
    return this.#closing;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #write(meters: readonly LiveMeter[]): Promise<void> {
    const pending = meters.flatMap((meter) => meter.pendingWrites().map((pendingWrite) => ({ meter, pendingWrite })));
    for (let n = 0; n < pending.length; n += rowsMax) {
      const chunk = pending.slice(n, n + rowsMax);
      for (const { meter } of chunk) this.#deps.accounts.of(meter.owner).writes += 1;
      const rows = chunk.map(({ meter: { meterId, owner, egressType }, pendingWrite }): MeterRow => ({
        meterId,
        owner,
        egressType,
        ...pendingWrite,
      }));
      await this.#deps.store.transaction((tx) => writeMeters(tx, rows, this.#deps.clock.now()));
      for (const { meter, pendingWrite } of chunk) meter.markWritten(pendingWrite);
    }
  }

  /** A session ends only if both its original plan and the current one are exceeded: a downgrade does not end it. */
  async #enforceLimits(meters: readonly LiveMeter[]): Promise<void> {
    const limited = meters.filter((meter) => !meter.isClosed && endsSessions(meter.tier));
    const byOwner = [...Map.groupBy(limited, ({ owner }) => owner)];
    await this.#deps.refresh(byOwner.map(([owner]) => this.#deps.accounts.of(owner)));
    await Promise.all(byOwner.map(([owner, meters]) => this.#enforceOwnerLimits(owner, meters)));
  }

  async #enforceOwnerLimits(owner: string, meters: readonly LiveMeter[]): Promise<void> {
    const { accounts, owners, getRemoteUsage: remoteUsage } = this.#deps;
    const account = accounts.of(owner);
    const used = account.used(await remoteUsage(account));
    const exhausted = meters.filter(({ tier }) => excessDuring(tier, used));
    if (exhausted.length === 0) return;
    const { tier } = owners.getCachedPlan(owner) ?? (await owners.getPlan(owner));
    if (excessDuring(tier, used)) for (const meter of exhausted) this.#notify(meter, 'plan_limit');
  }

  /** Independently, so that a failing wallet delays no other. */
  async #chargeAll(meters: readonly LiveMeter[], amountMin: number): Promise<void> {
    const outcomes = await Promise.allSettled(meters.map((meter) => this.#chargeMeter(meter, amountMin)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  async #chargeMeter(meter: LiveMeter, openAmountMin: number): Promise<void> {
    const isEnforced = await this.#deps.isWalletEnforced(meter.owner);
    const allowOverdraft = this.#deps.creditsEnforced && !isEnforced;
    const amountMin = meter.isClosed ? 1 : Math.min(openAmountMin, isEnforced ? this.#remaining(meter) : openAmountMin);
    // A pending request of an earlier flush comes first, then what accrued since.
    for (let n = 0; n < 2 && meter.accruedCharges.isDue(amountMin); n += 1) {
      for (const request of meter.accruedCharges.collectRequests({ amountMin, allowOverdraft })) await this.#trackCharge(meter, request);
    }
  }

  /** Charges earlier when the wallet is nearly empty. */
  #remaining({ owner }: LiveMeter): number {
    return Math.max(1, this.#deps.accounts.of(owner).available ?? Infinity);
  }

  async #trackCharge(meter: LiveMeter, request: CommitRequest): Promise<void> {
    const account = this.#deps.accounts.of(meter.owner);
    const charging = this.#charge(meter, request);
    account.charging.add(charging);
    try {
      await charging;
    } finally {
      account.charging.delete(charging);
      account.chargesCompleted += 1;
    }
  }

  async #charge(meter: LiveMeter, request: CommitRequest): Promise<void> {
    const { credits, log } = this.#deps;
    let charged = request.amount;
    try {
      const paid = await credits.commit(request);
      charged = paid.charged;
      this.#deps.accounts.of(meter.owner).available = paid.available;
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'idempotency_conflict')) throw error;
      // A retry would always fail: the id was used for something else.
      log.error({ err: error, ...request }, 'meter charge rejected');
    }
    meter.accruedCharges.markCharged(request);
    if (charged < request.amount && this.#deps.creditsEnforced) this.#notify(meter, 'credits_exhausted');
  }

  #notify(meter: LiveMeter, reason: Exhaustion): void {
    try {
      meter.notifyExhausted(reason);
    } catch (error) {
      this.#deps.log.error({ err: error, meterId: meter.meterId, reason }, 'meter notification failed');
    }
  }

  #forget(meters: readonly LiveMeter[]): void {
    for (const meter of meters) {
      if (!meter.isDone) continue;
      this.#meters.delete(meter.meterId);
      const account = this.#deps.accounts.of(meter.owner);
      account.remove(meter);
      this.#deps.accounts.reindex(account);
    }
  }

  async #prune(): Promise<void> {
    const { store, clock } = this.#deps;
    if (clock.monotonicMs() - this.#prunedMs < pruneMs) return;
    while (await deleteMeters(store, monthOf(monthFrom(clock.now(), 1 - monthsRetained)), pruneBatchSize));
    while (await deleteDays(store, dayOf(dayFrom(clock.now(), -daysRetained)), pruneBatchSize));
    this.#prunedMs = clock.monotonicMs();
  }
}
