import { ServiceError } from '@berth/contract';
import type { Credits } from '../credits/credits.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Owners } from '../owners/owners.ts';
import type { Store } from '../store/store.ts';
import type { Account, Accounts, Others } from './account.ts';
import type { CommitOrder } from './debts.ts';
import { endsSessions, excessDuring } from './limits.ts';
import type { Exhaustion, LiveMeter } from './meter.ts';
import { monthFrom, monthOf } from './month.ts';
import { deleteMeters, writeMeters, type MeterRow } from './store.ts';

export interface FlushParts {
  store: Store;
  owners: Pick<Owners, 'known' | 'standing'>;
  credits: Pick<Credits, 'commit'>;
  accounts: Accounts;
  clock: Clock;
  log: Log;
  others: (account: Account) => Others | Promise<Others>;
  isWalletEnforced: (owner: string) => boolean | Promise<boolean>;
}

/** Rows in one transaction: few enough to hold its locks for milliseconds. */
const rowsMax = 300;
/** What an open meter may owe before it is settled: a tenth of a credit, so that the journal has no row for each packet. */
const owedMax = 100_000;
/** The sums of owners are kept for ever, what each meter has to do with them for these months. */
const monthsKept = 3;
const pruneMs = 3_600_000;
const prunedAtOnce = 5000;

/**
 * Writes what meters have counted, has what they owe taken from the wallets,
 * and tells those that have nothing left. One at a time: an order that is under
 * way, or a row, must not be made a second time from a state that is passing.
 */
export class Flushes {
  readonly #parts: FlushParts;
  readonly #meters = new Map<string, LiveMeter>();
  #last: Promise<void> = Promise.resolve();
  #closed: LiveMeter[] = [];
  #closing: Promise<void> | null = null;
  #prunedMs = -Infinity;

  constructor(parts: FlushParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#meters.size;
  }

  track(meter: LiveMeter): void {
    const known = this.#meters.get(meter.meterId);
    if (known && known !== meter) throw new Error(`the meter ${meter.meterId} is open already`);
    this.#meters.set(meter.meterId, meter);
    const account = this.#parts.accounts.of(meter.owner);
    account.add(meter);
    this.#parts.accounts.place(account);
  }

  /** All meters. Throws where the database is away: nothing is lost by that, the next one has it all. */
  turn({ isLast = false } = {}): Promise<void> {
    return this.#inTurn(async () => {
      const meters = [...this.#meters.values()];
      const month = monthOf(this.#parts.clock.now());
      for (const meter of meters) meter.sample(month);
      await this.#write(meters);
      await this.#judge(meters);
      await this.#settle(meters, isLast ? 1 : owedMax);
      this.#forget(meters);
      await this.#prune();
    });
  }

  /** Those that close while a flush is under way share the next one, and wait for no open meter. Never throws. */
  close(meter: LiveMeter): Promise<void> {
    this.#closed.push(meter);
    this.#closing ??= this.#inTurn(async () => {
      const meters = this.#closed;
      this.#closed = [];
      this.#closing = null;
      await this.#write(meters);
      await this.#settle(meters, 1);
      this.#forget(meters);
    }).catch((error: unknown) => this.#parts.log.warn({ error }, 'closed meters are left to the next turn'));
    return this.#closing;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #write(meters: readonly LiveMeter[]): Promise<void> {
    const unwritten = meters.flatMap((meter) => meter.unwritten().map((written) => ({ meter, written })));
    for (let n = 0; n < unwritten.length; n += rowsMax) {
      const chunk = unwritten.slice(n, n + rowsMax);
      for (const { meter } of chunk) this.#parts.accounts.of(meter.owner).writes += 1;
      const rows = chunk.map(({ meter: { meterId, owner }, written }): MeterRow => ({ meterId, owner, ...written }));
      await this.#parts.store.transaction((tx) => writeMeters(tx, rows, this.#parts.clock.now()));
      for (const { meter, written } of chunk) meter.written(written);
    }
  }

  /** A session ends where the plan that it was started under and the plan of now both say so: a lesser plan lets it finish. */
  async #judge(meters: readonly LiveMeter[]): Promise<void> {
    const limited = meters.filter((meter) => !meter.isClosed && endsSessions(meter.tier));
    await Promise.all([...Map.groupBy(limited, ({ owner }) => owner)].map(([owner, meters]) => this.#judgeOwner(owner, meters)));
  }

  async #judgeOwner(owner: string, meters: readonly LiveMeter[]): Promise<void> {
    const { accounts, owners, others } = this.#parts;
    const account = accounts.of(owner);
    const used = account.used(await others(account));
    const exhausted = meters.filter(({ tier }) => excessDuring(tier, used));
    if (exhausted.length === 0) return;
    const { tier } = owners.known(owner) ?? (await owners.standing(owner));
    if (excessDuring(tier, used)) for (const meter of exhausted) this.#tell(meter, 'plan_limit');
  }

  /** Each by itself, so that one wallet that fails holds up no other. */
  async #settle(meters: readonly LiveMeter[], least: number): Promise<void> {
    const outcomes = await Promise.allSettled(meters.map((meter) => this.#settleMeter(meter, least)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  async #settleMeter(meter: LiveMeter, ofOpen: number): Promise<void> {
    const mayOwe = !(await this.#parts.isWalletEnforced(meter.owner));
    const least = meter.isClosed ? 1 : Math.min(ofOpen, mayOwe ? ofOpen : this.#left(meter));
    // The order of an earlier turn comes alone; what was owed since comes after it.
    for (let n = 0; n < 2 && meter.debts.isDue(least); n += 1) {
      for (const order of meter.debts.orders({ least, mayOwe })) await this.#settleOrder(meter, order);
    }
  }

  /** Nobody draws on when the wallet is as good as empty. */
  #left({ owner }: LiveMeter): number {
    return Math.max(1, this.#parts.accounts.of(owner).available ?? Infinity);
  }

  async #settleOrder(meter: LiveMeter, order: CommitOrder): Promise<void> {
    const account = this.#parts.accounts.of(meter.owner);
    const settling = this.#charge(meter, order);
    account.settling.add(settling);
    try {
      await settling;
    } finally {
      account.settling.delete(settling);
      account.settled += 1;
    }
  }

  async #charge(meter: LiveMeter, order: CommitOrder): Promise<void> {
    const { credits, log } = this.#parts;
    let charged = order.amount;
    try {
      const paid = await credits.commit(order);
      charged = paid.charged;
      this.#parts.accounts.of(meter.owner).available = paid.available;
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'idempotency_conflict')) throw error;
      // It would be refused for ever: the id was used by somebody else.
      log.error({ error, ...order }, 'what a meter owes can never be charged');
    }
    meter.debts.settle(order);
    if (charged < order.amount) this.#tell(meter, 'credits_exhausted');
  }

  #tell(meter: LiveMeter, reason: Exhaustion): void {
    try {
      meter.tell(reason);
    } catch (error) {
      this.#parts.log.error({ error, meterId: meter.meterId, reason }, 'a meter could not be told that nothing is left');
    }
  }

  #forget(meters: readonly LiveMeter[]): void {
    for (const meter of meters) {
      if (!meter.isDone) continue;
      this.#meters.delete(meter.meterId);
      const account = this.#parts.accounts.of(meter.owner);
      account.remove(meter);
      this.#parts.accounts.place(account);
    }
  }

  async #prune(): Promise<void> {
    const { store, clock } = this.#parts;
    if (clock.monotonicMs() - this.#prunedMs < pruneMs) return;
    while (await deleteMeters(store, monthOf(monthFrom(clock.now(), 1 - monthsKept)), prunedAtOnce));
    this.#prunedMs = clock.monotonicMs();
  }
}
