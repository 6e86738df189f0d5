/**
 * The rules of the wallets, without a database: applies operations one after
 * the other and collects what must be written.
 *
 * A wallet's balance is the sum of its owner's journal entries. Part of it is
 * held for running calls: the sum of the owner's holds. The rest is available.
 * All amounts are integers in millionths of a credit.
 */
import { microPerCredit, ServiceError, ValidationError } from '@berth/contract';

export type ChargeAxis = 'action' | 'session' | 'captcha' | 'egress';

/** Holds an amount. */
export interface Reserve {
  kind: 'reserve';
  opId: string;
  owner: string;
  amount: number;
  ttlMs: number;
}

/** Charges an amount and frees the hold with that id; the amounts may differ. */
export interface Commit {
  kind: 'commit';
  opId: string;
  owner: string;
  amount: number;
  axis: ChargeAxis;
  /** Whether the balance may become negative. */
  allowOverdraft: boolean;
  details?: Record<string, unknown> | undefined;
}

/** Voids a hold. */
export interface Release {
  kind: 'release';
  opId: string;
  owner: string;
  /** Restricts it to the hold created then: it may have been voided and created again. Absent: to one of this worker. */
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

/** Takes granted credits back. */
export interface Correction {
  kind: 'correct';
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

export type LedgerOperation = Reserve | Commit | Release | Grant | Correction | Redeem;

export interface Wallet {
  balance: number;
  /** Part of the balance. */
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

/** A journal entry: an amount moved from one account to another. */
export interface Entry {
  opId: string;
  owner: string;
  from: string;
  to: string;
  amount: number;
  /** Details. Those of a charge have `asked` where less was charged, and `held` where a different amount was held. */
  details: Record<string, unknown>;
}

export interface CreditCode {
  codeId: string;
  amount: number;
  expiresAt: Date | null;
  redeemedBy: string | null;
}

/** The wallets of all owners of the operations, and the holds, entries and codes that the operations name. */
export interface LedgerState {
  wallets: ReadonlyMap<string, Wallet>;
  /** Holds by op id. */
  holds: ReadonlyMap<string, Hold>;
  /** Entries by op id. */
  journal: ReadonlyMap<string, Entry>;
  /** Codes by code id. */
  codes: ReadonlyMap<string, CreditCode>;
}

export interface Outcome {
  /** Amount charged, granted or held, now or by the first operation with this id. */
  amount: number;
  /** Wallet after the operation. */
  wallet: Wallet;
}

/** An applied operation and its journal entry. */
export interface Applied {
  operation: Commit | Grant | Correction | Redeem;
  entry: Entry;
}

/** All changes, each once. */
export interface Writes {
  wallets: Map<string, Wallet>;
  applied: Applied[];
  createdHolds: Hold[];
  /** Existing holds whose worker or expiry changed. */
  renewedHolds: Hold[];
  /** Op ids. */
  freedHolds: string[];
  redeemed: CreditCode[];
}

/** Nine billion credits. Above it, sums would no longer be exact. */
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
   * Applies one operation. Has no effect when it throws.
   *
   * @throws ServiceError insufficient_credits, idempotency_conflict, code_not_found, code_expired, code_already_redeemed
   * @throws ValidationError when the balance would exceed its maximum
   * @throws RangeError for an invalid amount
   */
  apply(operation: LedgerOperation): Outcome {
    if ('amount' in operation) checkAmount(operation.amount);
    switch (operation.kind) {
      case 'reserve':
        return this.#reserve(operation);
      case 'commit':
        return this.#commit(operation);
      case 'release':
        return this.#release(operation);
      case 'grant':
        return this.#grant(operation);
      case 'correct':
        return this.#correct(operation);
      case 'redeem':
        return this.#redeem(operation);
    }
  }

  writes(): Writes {
    const { wallets, holds, codes } = this.#before;
    const current = [...this.#holds.values()];
    return {
      wallets: new Map([...this.#wallets].filter(([owner, wallet]) => wallet !== wallets.get(owner))),
      applied: this.#applied,
      createdHolds: current.filter(({ opId }) => !holds.has(opId)),
      renewedHolds: current.filter((hold) => holds.has(hold.opId) && holds.get(hold.opId) !== hold),
      freedHolds: [...holds.keys()].filter((opId) => !this.#holds.has(opId)),
      redeemed: [...this.#codes.values()].filter((code) => code !== codes.get(code.codeId)),
    };
  }

  #reserve({ opId, owner, amount, ttlMs }: Reserve): Outcome {
    const posted = this.#journal.get(opId);
    // Already charged, so nothing needs to be held.
    if (posted) return posted.owner === owner && heldAmount(posted) === amount ? this.#outcome(owner, 0) : refuseConflict();
    const current = this.#holds.get(opId);
    if (current && (current.owner !== owner || current.amount !== amount)) refuseConflict();
    const wallet = this.#wallet(owner);
    if (!current) {
      if (availableIn(wallet) < amount) throw new InsufficientCreditsError(wallet, amount);
      if (amount === 0) return this.#outcome(owner, 0);
      this.#wallets.set(owner, { ...wallet, held: wallet.held + amount });
    }
    // The last reservation owns the hold, with its full time to live.
    const expiresAt = new Date(this.#at.getTime() + ttlMs);
    this.#holds.set(opId, { opId, owner, amount, workerId: this.#workerId, createdAt: this.#at, expiresAt });
    return this.#outcome(owner, amount);
  }

  #commit(operation: Commit): Outcome {
    const { opId, owner, amount, axis, allowOverdraft, details } = operation;
    const to = revenueOf(axis);
    const posted = this.#journal.get(opId);
    if (posted)
      return posted.owner === owner && posted.to === to && requestedAmount(posted) === amount
        ? this.#outcome(owner, posted.amount)
        : refuseConflict();
    const hold = this.#holds.get(opId);
    if (hold && hold.owner !== owner) refuseConflict();
    const { balance, held } = this.#wallet(owner);
    const stillHeld = held - (hold?.amount ?? 0);
    const charged = allowOverdraft ? amount : Math.max(0, Math.min(amount, balance - stillHeld));
    checkAmount(Math.abs(balance - charged));
    const recordedDetails = {
      ...details,
      ...(charged < amount ? { asked: amount } : {}),
      ...(hold && hold.amount !== amount ? { held: hold.amount } : {}),
    };
    this.#holds.delete(opId);
    this.#wallets.set(owner, { balance: balance - charged, held: stillHeld });
    return this.#enter(operation, { opId, owner, from: walletOf(owner), to, amount: charged, details: recordedDetails });
  }

  #release({ opId, owner, createdAt }: Release): Outcome {
    const hold = this.#holds.get(opId);
    if (!hold || hold.owner !== owner) return this.#outcome(owner, 0);
    // One that another worker has reserved since is the hold of its call.
    const isMatch = createdAt === undefined ? hold.workerId === this.#workerId : hold.createdAt.getTime() === createdAt.getTime();
    if (!isMatch) return this.#outcome(owner, 0);
    const wallet = this.#wallet(owner);
    this.#holds.delete(opId);
    this.#wallets.set(owner, { ...wallet, held: wallet.held - hold.amount });
    return this.#outcome(owner, hold.amount);
  }

  #grant(operation: Grant): Outcome {
    const { opId, owner, amount, note, actor } = operation;
    const to = walletOf(owner);
    const posted = this.#journal.get(opId);
    if (posted)
      return posted.from === grantsAccount && posted.to === to && posted.amount === amount
        ? this.#outcome(owner, amount)
        : refuseConflict();
    this.#fill(owner, amount, 'amount');
    return this.#enter(operation, { opId, owner, from: grantsAccount, to, amount, details: { actor, ...(note === null ? {} : { note }) } });
  }

  /** Takes credits back. It cannot take more than is available: credits that are held for running calls stay. */
  #correct(operation: Correction): Outcome {
    const { opId, owner, amount, note, actor } = operation;
    const from = walletOf(owner);
    const posted = this.#journal.get(opId);
    if (posted)
      return posted.from === from && posted.to === grantsAccount && posted.amount === amount
        ? this.#outcome(owner, amount)
        : refuseConflict();
    const wallet = this.#wallet(owner);
    if (availableIn(wallet) < amount) throw new InsufficientCreditsError(wallet, amount, describeCorrection);
    this.#wallets.set(owner, { ...wallet, balance: wallet.balance - amount });
    return this.#enter(operation, { opId, owner, from, to: grantsAccount, amount, details: { actor, ...(note === null ? {} : { note }) } });
  }

  #redeem(operation: Redeem): Outcome {
    const { opId, owner, codeId, actor } = operation;
    const code = this.#codes.get(codeId);
    if (!code) throw codeNotFound();
    if (code.redeemedBy !== null)
      throw new ServiceError('code_already_redeemed', 'This code has already been redeemed. Each code works once.');
    if (code.expiresAt && code.expiresAt <= this.#at) throw new ServiceError('code_expired', 'This code has expired. Ask for a new one.');
    this.#fill(owner, code.amount, 'code');
    this.#codes.set(codeId, { ...code, redeemedBy: owner });
    return this.#enter(operation, { opId, owner, from: codesAccount, to: walletOf(owner), amount: code.amount, details: { actor } });
  }

  #fill(owner: string, amount: number, field: 'amount' | 'code'): void {
    const wallet = this.#wallet(owner);
    const balance = wallet.balance + amount;
    if (balance > balanceMax) throw tooFull(field);
    this.#wallets.set(owner, { ...wallet, balance });
  }

  #enter(operation: Applied['operation'], entry: Entry): Outcome {
    this.#journal.set(entry.opId, entry);
    this.#applied.push({ operation, entry });
    return this.#outcome(entry.owner, entry.amount);
  }

  #outcome(owner: string, amount: number): Outcome {
    return { amount, wallet: this.#wallet(owner) };
  }

  #wallet(owner: string): Wallet {
    const wallet = this.#wallets.get(owner);
    if (!wallet) throw new Error(`the wallet of ${owner} was not loaded`);
    return wallet;
  }
}

function checkAmount(amount: number): void {
  if (!Number.isInteger(amount) || amount < 0 || amount > balanceMax)
    throw new RangeError(`${amount} is not a valid amount in millionths of a credit`);
}

/** The requested amount of a charge, of which less may have been available. */
const requestedAmount = ({ amount, details }: Entry): unknown => details['asked'] ?? amount;
/** The amount held for a charge. Unknown for a hold that was voided before; then the requested amount counts. */
const heldAmount = (entry: Entry): unknown => entry.details['held'] ?? requestedAmount(entry);

export const codeNotFound = (): ServiceError => new ServiceError('code_not_found', 'Unknown code. Check it for typing mistakes.');

/** A wallet that does not cover an amount. */
export class InsufficientCreditsError extends ServiceError {
  readonly #wallet: Wallet;
  readonly #amount: number;
  readonly #describe: typeof describeCall;

  constructor(wallet: Wallet, amount: number, describe = describeCall) {
    // What is used and not charged yet may be more than is not held.
    const available = Math.max(availableIn(wallet), Math.min(wallet.balance, 0));
    const figures = { balance: toCredits(wallet.balance), available: toCredits(available), required: toCredits(amount) };
    super('insufficient_credits', describe(figures), { details: figures });
    this.#wallet = wallet;
    this.#amount = amount;
    this.#describe = describe;
  }

  /** This error with the balance that the owner reads, which lacks what is used and not charged yet. */
  withBalance(balance: number): InsufficientCreditsError {
    return new InsufficientCreditsError({ ...this.#wallet, balance }, this.#amount, this.#describe);
  }

  get balance(): number {
    return this.#wallet.balance;
  }
}

interface Figures {
  available: number;
  required: number;
}

const describeCall = ({ available, required }: Figures): string =>
  `Insufficient credits: ${required} required, ${available} available. Redeem a code, or ask the operator for more.`;

const describeCorrection = ({ available, required }: Figures): string =>
  `Only ${available} credits of the wallet are available, so ${required} cannot be taken back. Take back at most those.`;

function refuseConflict(): never {
  throw new ServiceError('idempotency_conflict', 'This id was already used for a different operation. Use a new id for each operation.');
}

/** The input is not repeated: a code is a secret, and responses may be stored. */
function tooFull(field: 'amount' | 'code'): ValidationError {
  const limit = toCredits(balanceMax);
  const msg = `The balance would exceed ${limit} credits`;
  return new ValidationError([{ loc: ['body', field], msg, type: 'less_than_equal', input: null, ctx: { le: limit } }]);
}

/** Internal amounts are integers in millionths of a credit; the API uses credits. */
export const toCredits = (amount: number): number => amount / microPerCredit;

/** Exact for up to six decimals, which the contract enforces. */
export const toMicro = (credits: number): number => Math.round(credits * microPerCredit);
