/**
 * The rules of the wallets, without a database: what orders come to, one after
 * the other, and what is to be written for them.
 *
 * A wallet's balance is the sum of the journal for its owner. Of the balance a
 * part is held back for calls under way: the sum of the owner's holds. What is
 * not held back is available. All amounts are whole millionths of a credit.
 */
import { ServiceError, ValidationError } from '@berth/contract';
import { toCredits } from './amounts.ts';

export type ChargeAxis = 'action' | 'session' | 'captcha' | 'egress';

/** Holds an amount back. */
export interface Reserve {
  kind: 'reserve';
  opId: string;
  owner: string;
  amount: number;
  ttlMs: number;
}

/** Charges. The hold of that id is freed; what is taken may be less or more than it held. */
export interface Commit {
  kind: 'commit';
  opId: string;
  owner: string;
  amount: number;
  axis: ChargeAxis;
  /** Whether all of it is taken, and the balance may go below zero. */
  mayOwe: boolean;
  details?: Record<string, unknown> | undefined;
}

/** Voids a hold. */
export interface Release {
  kind: 'release';
  opId: string;
  owner: string;
  /** Only the hold that was made then: it may have been voided and made anew since it was looked at. */
  createdAt?: Date;
}

export interface Grant {
  kind: 'grant';
  opId: string;
  owner: string;
  amount: number;
  note: string | null;
  actor: string;
}

export interface Redeem {
  kind: 'redeem';
  opId: string;
  owner: string;
  codeId: string;
  actor: string;
}

export type Order = Reserve | Commit | Release | Grant | Redeem;

export interface Wallet {
  balance: number;
  /** Of the balance. */
  held: number;
}

export interface Hold {
  opId: string;
  owner: string;
  amount: number;
  workerId: string;
  createdAt: Date;
  expiresAt: Date;
}

/** A row of the journal: an amount that goes from one account to another. */
export interface Entry {
  opId: string;
  owner: string;
  from: string;
  to: string;
  amount: number;
  /** Of a charge: `asked` where less was taken, `held` where another amount was held back for it. */
  details: Record<string, unknown>;
}

export interface CreditCode {
  codeId: string;
  amount: number;
  expiresAt: Date | null;
  redeemedBy: string | null;
}

/** What there is: the wallets of all owners of the orders, and of holds, entries and codes those that the orders name. */
export interface LedgerState {
  wallets: ReadonlyMap<string, Wallet>;
  /** By op id. */
  holds: ReadonlyMap<string, Hold>;
  /** By op id. */
  journal: ReadonlyMap<string, Entry>;
  /** By code id. */
  codes: ReadonlyMap<string, CreditCode>;
}

export interface Outcome {
  /** What this order has moved, now or when it came first: charged, granted or held. */
  amount: number;
  /** After it. */
  wallet: Wallet;
}

/** An order that has moved something, and its row. */
export interface Applied {
  order: Commit | Grant | Redeem;
  entry: Entry;
}

/** What the orders have changed. Nothing is named twice. */
export interface Writes {
  wallets: Map<string, Wallet>;
  applied: Applied[];
  madeHolds: Hold[];
  /** Standing ones that another process has taken over. */
  renewedHolds: Hold[];
  /** Op ids. */
  freedHolds: string[];
  redeemed: CreditCode[];
}

/** Nine thousand million credits. Past this a sum would no longer be exact. */
const balanceMax = 9_000_000_000_000_000;

const walletOf = (owner: string): string => `wallet:${owner}`;
const revenueOf = (axis: ChargeAxis): string => `revenue:${axis}`;
const grantsAccount = 'source:grants';
const codesAccount = 'source:codes';

export const availableIn = ({ balance, held }: Wallet): number => balance - held;

export class Ledger {
  readonly #before: LedgerState;
  readonly #at: Date;
  readonly #workerId: string;
  readonly #wallets: Map<string, Wallet>;
  readonly #holds: Map<string, Hold>;
  readonly #journal: Map<string, Entry>;
  readonly #codes: Map<string, CreditCode>;
  readonly #applied: Applied[] = [];

  constructor(state: LedgerState, { at, workerId }: { at: Date; workerId: string }) {
    this.#before = state;
    this.#at = at;
    this.#workerId = workerId;
    this.#wallets = new Map(state.wallets);
    this.#holds = new Map(state.holds);
    this.#journal = new Map(state.journal);
    this.#codes = new Map(state.codes);
  }

  /**
   * Throws insufficient_credits, idempotency_conflict, code_not_found,
   * code_expired, code_already_redeemed, a ValidationError where a wallet would
   * be too full, or a RangeError for what is no amount. What throws has changed
   * nothing.
   */
  apply(order: Order): Outcome {
    if ('amount' in order) checkAmount(order.amount);
    switch (order.kind) {
      case 'reserve':
        return this.#reserve(order);
      case 'commit':
        return this.#commit(order);
      case 'release':
        return this.#release(order);
      case 'grant':
        return this.#grant(order);
      case 'redeem':
        return this.#redeem(order);
    }
  }

  writes(): Writes {
    const { wallets, holds, codes } = this.#before;
    const standing = [...this.#holds.values()];
    return {
      wallets: new Map([...this.#wallets].filter(([owner, wallet]) => wallet !== wallets.get(owner))),
      applied: this.#applied,
      madeHolds: standing.filter(({ opId }) => !holds.has(opId)),
      renewedHolds: standing.filter((hold) => holds.has(hold.opId) && holds.get(hold.opId) !== hold),
      freedHolds: [...holds.keys()].filter((opId) => !this.#holds.has(opId)),
      redeemed: [...this.#codes.values()].filter((code) => code !== codes.get(code.codeId)),
    };
  }

  #reserve({ opId, owner, amount, ttlMs }: Reserve): Outcome {
    const done = this.#journal.get(opId);
    // It was charged already, so there is nothing to hold back for it.
    if (done) return done.owner === owner && heldFor(done) === amount ? this.#outcome(owner, 0) : refuseConflict();
    const standing = this.#holds.get(opId);
    if (standing && (standing.owner !== owner || standing.amount !== amount)) refuseConflict();
    const wallet = this.#wallet(owner);
    if (!standing) {
      if (availableIn(wallet) < amount) throw insufficient(wallet, amount);
      if (amount === 0) return this.#outcome(owner, 0);
      this.#wallets.set(owner, { ...wallet, held: wallet.held + amount });
    }
    // Whoever asked last has it, and the whole time that it asked for.
    const expiresAt = new Date(this.#at.getTime() + ttlMs);
    this.#holds.set(opId, { opId, owner, amount, workerId: this.#workerId, createdAt: this.#at, expiresAt });
    return this.#outcome(owner, amount);
  }

  #commit(order: Commit): Outcome {
    const { opId, owner, amount, axis, mayOwe, details } = order;
    const to = revenueOf(axis);
    const done = this.#journal.get(opId);
    if (done)
      return done.owner === owner && done.to === to && askedFor(done) === amount ? this.#outcome(owner, done.amount) : refuseConflict();
    const hold = this.#holds.get(opId);
    if (hold && hold.owner !== owner) refuseConflict();
    const { balance, held } = this.#wallet(owner);
    const stillHeld = held - (hold?.amount ?? 0);
    const charged = mayOwe ? amount : Math.max(0, Math.min(amount, balance - stillHeld));
    checkAmount(Math.abs(balance - charged));
    const kept = {
      ...details,
      ...(charged < amount ? { asked: amount } : {}),
      ...(hold && hold.amount !== amount ? { held: hold.amount } : {}),
    };
    this.#holds.delete(opId);
    this.#wallets.set(owner, { balance: balance - charged, held: stillHeld });
    return this.#enter(order, { opId, owner, from: walletOf(owner), to, amount: charged, details: kept });
  }

  #release({ opId, owner, createdAt }: Release): Outcome {
    const hold = this.#holds.get(opId);
    const isMeant = hold?.owner === owner && (createdAt === undefined || hold.createdAt.getTime() === createdAt.getTime());
    if (!hold || !isMeant) return this.#outcome(owner, 0);
    const wallet = this.#wallet(owner);
    this.#holds.delete(opId);
    this.#wallets.set(owner, { ...wallet, held: wallet.held - hold.amount });
    return this.#outcome(owner, hold.amount);
  }

  #grant(order: Grant): Outcome {
    const { opId, owner, amount, note, actor } = order;
    const to = walletOf(owner);
    const done = this.#journal.get(opId);
    if (done)
      return done.from === grantsAccount && done.to === to && done.amount === amount ? this.#outcome(owner, amount) : refuseConflict();
    this.#fill(owner, amount, 'amount');
    return this.#enter(order, { opId, owner, from: grantsAccount, to, amount, details: { actor, ...(note === null ? {} : { note }) } });
  }

  #redeem(order: Redeem): Outcome {
    const { opId, owner, codeId, actor } = order;
    const code = this.#codes.get(codeId);
    if (!code) throw codeNotFound();
    if (code.redeemedBy !== null) throw new ServiceError('code_already_redeemed', 'This code was redeemed before. Each code works once.');
    if (code.expiresAt && code.expiresAt <= this.#at) throw new ServiceError('code_expired', 'This code has expired.');
    this.#fill(owner, code.amount, 'code');
    this.#codes.set(codeId, { ...code, redeemedBy: owner });
    return this.#enter(order, { opId, owner, from: codesAccount, to: walletOf(owner), amount: code.amount, details: { actor } });
  }

  #fill(owner: string, amount: number, field: 'amount' | 'code'): void {
    const wallet = this.#wallet(owner);
    const balance = wallet.balance + amount;
    if (balance > balanceMax) throw tooFull(field);
    this.#wallets.set(owner, { ...wallet, balance });
  }

  #enter(order: Applied['order'], entry: Entry): Outcome {
    this.#journal.set(entry.opId, entry);
    this.#applied.push({ order, entry });
    return this.#outcome(entry.owner, entry.amount);
  }

  #outcome(owner: string, amount: number): Outcome {
    return { amount, wallet: this.#wallet(owner) };
  }

  #wallet(owner: string): Wallet {
    const wallet = this.#wallets.get(owner);
    if (!wallet) throw new Error(`the wallet of ${owner} was not read`);
    return wallet;
  }
}

function checkAmount(amount: number): void {
  if (!Number.isInteger(amount) || amount < 0 || amount > balanceMax)
    throw new RangeError(`${amount} is no amount of millionths of a credit`);
}

/** What a charge was asked for: all of it, though less may have been there. */
const askedFor = ({ amount, details }: Entry): unknown => details['asked'] ?? amount;
/** What was held back for a charge. Of a hold that was voided before, nothing is known: then what was asked for counts. */
const heldFor = (entry: Entry): unknown => entry.details['held'] ?? askedFor(entry);

export const codeNotFound = (): ServiceError => new ServiceError('code_not_found', 'There is no such code. Check it for typing mistakes.');

function insufficient(wallet: Wallet, amount: number): ServiceError {
  const [available, required] = [toCredits(availableIn(wallet)), toCredits(amount)];
  return new ServiceError('insufficient_credits', `Credits needed: ${required}; available: ${available}. Redeem a code or ask for more.`, {
    details: { balance: available, required },
  });
}

function refuseConflict(): never {
  throw new ServiceError('idempotency_conflict', 'Something else was done under this id before. Use a new one for a new operation.');
}

/** A code stands for itself and is not repeated: what answers are made of may be kept. */
function tooFull(field: 'amount' | 'code'): ValidationError {
  const limit = toCredits(balanceMax);
  const msg = `The wallet would hold more than ${limit} credits`;
  return new ValidationError([{ loc: ['body', field], msg, type: 'less_than_equal', input: null, ctx: { le: limit } }]);
}
