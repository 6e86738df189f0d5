/**
 * The model: one wallet whose operations run sequentially in the journal's order.
 * Every reported balance must have been correct at some moment between the request
 * and its response.
 */
import { isEnforced, signed } from './invariants.ts';
import type { Entry } from '../ledger-reader.ts';
import type { Charge, Operation, Grant, Hold, History, Redemption } from '../history.ts';
import type { CheckInput, EntryOrigins } from './check-input.ts';
import { prices } from './check-usage.ts';

export function* checkWallet(owner: string, { history, snapshot }: CheckInput, origins: EntryOrigins): Generator<string> {
  const entries = snapshot.journal.filter((entry) => entry.owner === owner);
  yield* checkEntryOrder(entries, origins);
  const wallet = new Wallet(entries, origins);
  for (const operation of history.operations.filter((operation) => operation.owner === owner))
    yield* checkReported(operation, wallet, history);
}

/** An operation that completed before another started has an earlier entry. */
function* checkEntryOrder(entries: Entry[], origins: EntryOrigins): Generator<string> {
  let latest: Operation | undefined;
  for (const entry of entries) {
    const operation = origins.get(entry);
    if (operation && latest && operation.completedAt < latest.startedAt)
      yield `${operation.id} completed before ${latest.id} started, and is entered after it`;
    if (operation && (!latest || operation.startedAt > latest.startedAt)) latest = operation;
  }
}

class Wallet {
  /** The balance before the first entry and after each entry. */
  readonly #balances = [0];
  readonly #operations: (Operation | undefined)[];

  constructor(entries: Entry[], origins: EntryOrigins) {
    for (const entry of entries) this.#balances.push((this.#balances.at(-1) ?? 0) + signed(entry));
    this.#operations = entries.map((entry) => origins.get(entry));
  }

  /** The balance after an operation's entry; undefined when the entry is unknown. */
  after(operation: Operation): number | undefined {
    const at = this.#operations.indexOf(operation);
    return at === -1 ? undefined : this.#balances[at + 1];
  }

  /** All balances that were possible during the operation. */
  during({ startedAt, completedAt }: Operation): number[] {
    const first = this.#operations.findLastIndex((operation) => operation !== undefined && operation.completedAt < startedAt) + 1;
    const last = this.#operations.findLastIndex((operation) => operation === undefined || operation.startedAt < completedAt) + 1;
    return this.#balances.slice(first, Math.max(first, last) + 1);
  }
}

function* checkReported(operation: Operation, wallet: Wallet, history: History): Generator<string> {
  if (operation.kind === 'charge') yield* checkPartialCharge(operation, wallet, history);
  if (operation.kind === 'hold') yield* checkRefusal(operation, wallet, history);
  // The reported balance of an owner with overdraft lacks usage that is not charged yet.
  if ((operation.kind === 'grant' || operation.kind === 'redemption') && isEnforced(operation.owner))
    yield* checkReportedBalance(operation, wallet);
  if (
    operation.kind === 'reading' &&
    operation.outcome === 'done' &&
    isEnforced(operation.owner) &&
    !wallet.during(operation).includes(operation.balance)
  )
    yield `${operation.id} read a balance of ${operation.balance}, and it was ${wallet.during(operation).join(' or ')}`;
}

/** A repeated request may report a later balance. */
function* checkReportedBalance(operation: Grant | Redemption, wallet: Wallet): Generator<string> {
  const after = wallet.after(operation);
  if (operation.outcome !== 'done' || after === undefined) return;
  const seen = wallet.during(operation);
  const possible = seen.slice(Math.max(0, seen.indexOf(after)));
  if (!possible.includes(operation.balance ?? 0))
    yield `${operation.kind} ${operation.id} reported a balance of ${operation.balance}, and it was ${possible.join(' or ')}`;
}

/** A charge is reduced only when the balance does not cover it. */
function* checkPartialCharge(operation: Charge, wallet: Wallet, history: History): Generator<string> {
  const after = wallet.after(operation);
  if (operation.charged === null || operation.charged === operation.amount || after === undefined) return;
  if (after > findHeldMax(operation, history)) yield `${operation.id} took ${operation.charged} of ${operation.amount}, and left ${after}`;
}

function* checkRefusal(operation: Hold, wallet: Wallet, history: History): Generator<string> {
  if (operation.outcome !== 'refused') return;
  if ((operation.available ?? 0) >= operation.amount)
    yield `${operation.id} was refused ${operation.amount} where ${operation.available} are available`;
  const availableMin = Math.min(...wallet.during(operation)) - findHeldMax(operation, history);
  if (availableMin >= operation.amount)
    yield `${operation.id} was refused ${operation.amount}, and there was never less than ${availableMin}`;
}

/** The highest amount that other operations may have held of the wallet meanwhile. */
function findHeldMax({ id, owner, startedAt, completedAt }: Operation, history: History): number {
  const others = history.operations.filter((other) => other.owner === owner && other.id !== id && other.startedAt < completedAt);
  return others.reduce((sum, other) => {
    const isOpen = other.completedAt > startedAt;
    switch (other.kind) {
      case 'hold':
        return other.outcome !== 'refused' && other.freedAt > startedAt ? sum + other.amount : sum;
      // Each create without a response may have left a hold.
      case 'session':
        return sum + prices.session * (other.unanswered + (isOpen ? 1 : 0));
      case 'action':
        return isOpen ? sum + prices.action : sum;
      default:
        return sum;
    }
  }, 0);
}
