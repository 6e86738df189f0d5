/** Prepaid wallets: what fills them, what is held back for calls under way, and what is charged. See README.md. */
import { ServiceError } from '@berth/contract';
import type { Audit } from '../audit/audit.ts';
import type { Clock } from '../lib/clock.ts';
import { codeDigest, newCode } from '../lib/code.ts';
import { newId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { Loop } from '../lib/loop.ts';
import type { Owners } from '../owners/owners.ts';
import type { Store } from '../store/store.ts';
import { toCredits } from './amounts.ts';
import { Check, type CheckResult } from './check.ts';
import { Counts, type CreditFacts } from './counts.ts';
import { GroupCommit } from './group-commit.ts';
import { voidStaleHolds } from './holds.ts';
import {
  availableIn,
  codeNotFound,
  type Commit,
  type Grant,
  type Order,
  type Outcome,
  type Redeem,
  type Release,
  type Reserve,
  type Wallet,
} from './ledger.ts';
import { Misses } from './misses.ts';
import { findCode, insertCodes, readWallet } from './store.ts';
import { writeOrders } from './write.ts';

export { toCredits, toMicro } from './amounts.ts';
export type { CheckResult } from './check.ts';
export type { CreditFacts } from './counts.ts';
export type { ChargeAxis } from './ledger.ts';
export { Misses } from './misses.ts';

const voidMs = 10_000;
const checkMs = 10 * 60_000;
const dayMs = 86_400_000;

export interface CreditsDeps {
  store: Store;
  owners: Owners;
  audit: Audit;
  clock: Clock;
  log: Log;
  workerId: string;
  /** Workers that no longer tell that they live. */
  silentWorkers: () => Promise<string[]>;
}

/** All amounts are millionths of a credit. Whatever is told to be done is on disk, but for holds. */
export class Credits {
  readonly loops: readonly Loop[];
  readonly #deps: CreditsDeps;
  readonly #orders: GroupCommit<Order, Outcome>;
  readonly #counts = new Counts();
  readonly #misses = new Misses();
  readonly #check: Check;

  constructor(deps: CreditsDeps) {
    this.#deps = deps;
    this.#orders = new GroupCommit((orders) => this.#write(orders));
    this.#check = new Check(deps);
    const { store, clock, log, workerId, silentWorkers } = deps;
    const voiding = {
      store,
      clock,
      log,
      workerId,
      silentWorkers,
      startedAt: clock.now(),
      release: (order: Release) => this.#orders.submit(order),
    };
    this.loops = [
      new Loop('credit-holds', voidMs, (signal) => voidStaleHolds(voiding, signal)),
      new Loop('credit-check', checkMs, (signal) => this.#check.run(signal)),
    ];
  }

  /** How the last comparison of all wallets with the journal came out. */
  get check(): CheckResult {
    return this.#check.result;
  }

  /** What this process has done, in credits. */
  facts(): CreditFacts {
    return this.#counts.facts();
  }

  /**
   * Holds an amount back until it is committed or released, or its time is up.
   * The same order again holds nothing more, and nothing at all once it was
   * committed. Throws insufficient_credits, store_unavailable, and
   * idempotency_conflict for another order under the same id.
   */
  async reserve(order: Omit<Reserve, 'kind'>): Promise<void> {
    await this.#orders.submit({ kind: 'reserve', ...order });
  }

  /**
   * Charges, and frees the hold of that id where there still is one. Takes what
   * is available, or all of it with `mayOwe`. The same order again takes nothing
   * and tells what the first one took. Throws store_unavailable, and
   * idempotency_conflict for another order under the same id.
   */
  async commit(order: Omit<Commit, 'kind'>): Promise<{ charged: number; available: number }> {
    const { amount, wallet } = await this.#orders.submit({ kind: 'commit', ...order });
    return { charged: amount, available: availableIn(wallet) };
  }

  /** Voids a hold; nothing happens where there is none. Throws store_unavailable. */
  async release(opId: string, owner: string): Promise<void> {
    await this.#orders.submit({ kind: 'release', opId, owner });
  }

  /** Makes the owner when it is new. Throws like `commit`, and ValidationError where the wallet would be too full. */
  async grant(order: Omit<Grant, 'kind'>): Promise<{ balance: number }> {
    const { wallet } = await this.#orders.submit({ kind: 'grant', ...order });
    return { balance: wallet.balance };
  }

  /**
   * Each code once, whoever comes first. Throws code_not_found, code_expired,
   * code_already_redeemed, store_unavailable, rate_limited for who was wrong too
   * often, and ValidationError where the wallet would be too full.
   */
  async redeem({ owner, code, actor }: { owner: string; code: string; actor: string }): Promise<{ granted: number; balance: number }> {
    await this.#misses.check(owner);
    const codeId = await findCode(this.#deps.store, codeDigest(code));
    if (codeId === undefined) {
      await this.#misses.count(owner);
      throw codeNotFound();
    }
    const order: Redeem = { kind: 'redeem', opId: `code:${codeId}`, owner, codeId, actor };
    const { amount, wallet } = await this.#orders.submit(order);
    return { granted: amount, balance: wallet.balance };
  }

  /** Only their digests are kept. Throws store_unavailable. */
  async makeCodes({
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

  /** Empty for an owner that was never given anything. Throws store_unavailable. */
  async wallet(owner: string): Promise<Wallet> {
    return (await readWallet(this.#deps.store, owner)) ?? { balance: 0, held: 0 };
  }

  /** Writes what is queued. */
  async stop(): Promise<void> {
    for (const loop of this.loops) await loop.stop();
    await this.#orders.idle();
  }

  async #write(orders: Order[]): Promise<(Outcome | Error)[]> {
    const { outcomes, applied } = await writeOrders(this.#deps, orders);
    this.#counts.add(
      applied,
      outcomes.filter((outcome) => outcome instanceof ServiceError && outcome.code === 'insufficient_credits').length,
    );
    return outcomes;
  }
}
