/** Prepaid wallets: grants, codes, holds and charges. See README.md. */
import { ServiceError } from '@berth/contract';
import type { Audit } from '../audit/audit.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { codeDigest, newCode } from '@berth/lib/code.ts';
import { newId } from '@berth/lib/ids.ts';
import type { Log } from '@berth/lib/log.ts';
import { Loop } from '@berth/lib/loop.ts';
import type { Owners } from '../owners/owners.ts';
import type { Rates } from '../../rates/rates.ts';
import type { Store } from '../../store/store.ts';
import { LedgerCheck, type CheckResult } from './check.ts';
import { GroupCommit } from './group-commit.ts';
import {
  availableIn,
  codeNotFound,
  toCredits,
  type Applied,
  type ChargeAxis,
  type Commit,
  type Grant,
  type LedgerOperation,
  type Outcome,
  type Redeem,
  type Release,
  type Reserve,
  type Wallet,
} from './ledger.ts';
import { RedeemRateLimiter } from './redeem-rate-limiter.ts';
import {
  findCode,
  insertCodes,
  readBalances,
  readFlows,
  readLedger,
  readTotals,
  readWallet,
  staleHolds,
  type CreditFlow,
  type LedgerEntry,
} from './store.ts';
import { writeOperations } from './write.ts';

export type { CheckResult } from './check.ts';
export { InsufficientCreditsError, toCredits, toMicro, type ChargeAxis } from './ledger.ts';
export { RedeemRateLimiter } from './redeem-rate-limiter.ts';
export type { CreditFlow } from './store.ts';

/** The balance that an owner reads, given the one of the wallet: less what is used and not charged yet. In millionths. */
export type ReadBalance = (owner: string, walletBalance: number) => Promise<number>;

const voidMs = 10_000;
const checkMs = 10 * 60_000;
const dayMs = 86_400_000;

export interface CreditsDeps {
  store: Store;
  owners: Owners;
  audit: Audit;
  rates: Rates;
  clock: Clock;
  log: Log;
  workerId: string;
}

/** All amounts are millionths of a credit. A resolved operation is durable, except for holds. */
export class Credits {
  readonly loops: readonly Loop[];
  /** Voids holds that will not be committed. */
  readonly voiding: Loop;
  readonly #deps: CreditsDeps;
  readonly #operations: GroupCommit<LedgerOperation, Outcome>;
  readonly #counts = new CreditCounts();
  readonly #redeemRateLimiter: RedeemRateLimiter;
  readonly #check: LedgerCheck;

  constructor(deps: CreditsDeps) {
    this.#deps = deps;
    this.#operations = new GroupCommit((operations) => this.#write(operations));
    this.#redeemRateLimiter = new RedeemRateLimiter(deps.rates, 'credit-codes');
    this.#check = new LedgerCheck(deps);
    const { store, clock, log, workerId } = deps;
    const voiding = {
      store,
      clock,
      log,
      workerId,
      startedAt: clock.now(),
      release: (operation: Release) => this.#operations.submit(operation),
    };
    this.voiding = new Loop('credit-holds', voidMs, (signal) => voidStaleHolds(voiding, signal));
    this.loops = [this.voiding, new Loop('credit-check', checkMs, (signal) => this.#check.run(signal))];
  }

  /** Result of the last check of all wallets against the journal. */
  get check(): CheckResult {
    return this.#check.result;
  }

  /** Totals of this process, in credits. */
  stats(): CreditStats {
    return this.#counts.stats();
  }

  /**
   * Holds an amount until it is committed, released or expired. Idempotent by
   * operation id; has no effect after the commit.
   *
   * @throws ServiceError insufficient_credits, store_unavailable, and
   * idempotency_conflict for a different operation with the same id
   */
  async reserve(operation: Omit<Reserve, 'kind'>): Promise<void> {
    await this.#operations.submit({ kind: 'reserve', ...operation });
  }

  /**
   * Charges an amount and frees the hold with that id. Charges at most what is
   * available, or all of it with `allowOverdraft`. A repeated operation charges
   * nothing and returns what the first one charged.
   *
   * @throws ServiceError store_unavailable, and idempotency_conflict for a
   * different operation with the same id
   */
  async commit(operation: Omit<Commit, 'kind'>): Promise<{ charged: number; available: number }> {
    const { amount, wallet } = await this.#operations.submit({ kind: 'commit', ...operation });
    return { charged: amount, available: availableIn(wallet) };
  }

  /** Voids a hold; has no effect where there is none. @throws ServiceError store_unavailable */
  async release(opId: string, owner: string): Promise<void> {
    await this.#operations.submit({ kind: 'release', opId, owner });
  }

  /**
   * Creates the owner if it is new. A negative amount takes credits back.
   * @throws like `commit`, insufficient_credits, and ValidationError when the balance would exceed its maximum
   */
  async grant({ amount, ...operation }: Omit<Grant, 'kind'>): Promise<{ balance: number }> {
    const kind = amount < 0 ? ('correct' as const) : ('grant' as const);
    const { wallet } = await this.#operations.submit({ kind, amount: Math.abs(amount), ...operation });
    return { balance: wallet.balance };
  }

  /**
   * Redeems a code, which works once.
   *
   * @throws ServiceError code_not_found, code_expired, code_already_redeemed,
   * store_unavailable, rate_limited after too many unknown codes
   * @throws ValidationError when the balance would exceed its maximum
   */
  async redeem({ owner, code, actor }: { owner: string; code: string; actor: string }): Promise<{ granted: number; balance: number }> {
    await this.#redeemRateLimiter.check(owner);
    const codeId = await findCode(this.#deps.store, codeDigest(code));
    if (codeId === undefined) {
      await this.#redeemRateLimiter.recordFailure(owner);
      throw codeNotFound();
    }
    const operation: Redeem = { kind: 'redeem', opId: `code:${codeId}`, owner, codeId, actor };
    const { amount, wallet } = await this.#operations.submit(operation);
    return { granted: amount, balance: wallet.balance };
  }

  /** Returns the codes; only their digests are stored. @throws ServiceError store_unavailable */
  async createCodes({
    amount,
    count,
    expiresInDays,
    actor,
  }: {
    amount: number;
    count: number;
    expiresInDays: number | null;
    actor: string;
  }): Promise<string[]> {
    const { store, audit, clock } = this.#deps;
    const codes = Array.from({ length: count }, () => newCode('CREDIT'));
    const createdAt = clock.now();
    const expiresAt = expiresInDays === null ? null : new Date(createdAt.getTime() + expiresInDays * dayMs);
    await store.transaction(async (tx) => {
      await insertCodes(tx, { codeIds: codes.map(() => newId('cod')), digests: codes.map(codeDigest), amount, createdAt, expiresAt });
      const details = { count, amount: toCredits(amount), expires_at: expiresAt?.toISOString() ?? null };
      await audit.record(tx, { actor, action: 'credit_codes.made', owner: null, subject: null, details });
    });
    return codes;
  }

  /** Empty for an unknown owner. @throws ServiceError store_unavailable */
  async wallet(owner: string): Promise<Wallet> {
    return (await readWallet(this.#deps.store, owner)) ?? { balance: 0, held: 0 };
  }

  /** Entries of the owner's journal, newest first. @throws ServiceError store_unavailable */
  ledger(filter: Parameters<typeof readLedger>[1]): Promise<LedgerEntry[]> {
    return readLedger(this.#deps.store, filter);
  }

  /** Owners without a wallet are absent. @throws ServiceError store_unavailable */
  balances(owners: readonly string[]): Promise<Map<string, number>> {
    return readBalances(this.#deps.store, owners);
  }

  /** What all owners were given since the service exists, and what is in their wallets. @throws ServiceError store_unavailable */
  totals(): Promise<{ granted: number; balance: number }> {
    return readTotals(this.#deps.store);
  }

  /** What each owner was given and charged from `since` on. @throws ServiceError store_unavailable */
  flows(since: Date): Promise<CreditFlow[]> {
    return readFlows(this.#deps.store, since);
  }

  /** Stops the loops and writes all queued operations. */
  async stop(): Promise<void> {
    for (const loop of this.loops) await loop.stop();
    await this.#operations.idle();
  }

  async #write(operations: LedgerOperation[]): Promise<(Outcome | Error)[]> {
    const { outcomes, applied } = await writeOperations(this.#deps, operations);
    this.#counts.add(
      applied,
      outcomes.filter((outcome) => outcome instanceof ServiceError && outcome.code === 'insufficient_credits').length,
    );
    return outcomes;
  }
}

/** Sums in credits, except `refused`: operations refused for insufficient credits. */
interface CreditStats {
  granted: number;
  redeemed: number;
  charged: Record<ChargeAxis, number>;
  refused: number;
}

/** Credits moved by this process. Repeated operations do not count. */
class CreditCounts {
  #granted = 0;
  #redeemed = 0;
  readonly #charged: Record<ChargeAxis, number> = { action: 0, session: 0, captcha: 0, egress: 0 };
  #refused = 0;

  add(applied: readonly Applied[], refused: number): void {
    this.#refused += refused;
    for (const { operation, entry } of applied) {
      if (operation.kind === 'grant') this.#granted += entry.amount;
      else if (operation.kind === 'correct') this.#granted -= entry.amount;
      else if (operation.kind === 'redeem') this.#redeemed += entry.amount;
      else this.#charged[operation.axis] += entry.amount;
    }
  }

  stats(): CreditStats {
    const { action, session, captcha, egress } = this.#charged;
    return {
      granted: toCredits(this.#granted),
      redeemed: toCredits(this.#redeemed),
      charged: { action: toCredits(action), session: toCredits(session), captcha: toCredits(captcha), egress: toCredits(egress) },
      refused: this.#refused,
    };
  }
}

interface VoidDeps {
  store: Store;
  clock: Clock;
  log: Log;
  workerId: string;
  /** Start of this process: older holds of its worker belong to calls that no longer run. */
  startedAt: Date;
  release(operation: Release): Promise<Outcome>;
}

/** Few enough to share the ledger with calls. */
const voidedAtOnce = 500;

/** Voids expired holds, and those of lost or restarted workers. */
async function voidStaleHolds(deps: VoidDeps, signal: AbortSignal): Promise<void> {
  const { store, clock, log, workerId, startedAt, release } = deps;
  const restarted = { workerId, startedAt };
  for (let hasMore = true; hasMore && !signal.aborted;) {
    const stale = await staleHolds(store, { now: clock.now(), restarted, limit: voidedAtOnce });
    // `createdAt` protects a hold that was renewed since it was read.
    const outcomes = await Promise.all(stale.map(({ opId, owner, createdAt }) => release({ kind: 'release', opId, owner, createdAt })));
    const voided = outcomes.filter(({ amount }) => amount > 0).length;
    if (voided > 0) log.info({ holds: voided }, 'expired holds voided');
    hasMore = stale.length === voidedAtOnce && voided > 0;
  }
}
