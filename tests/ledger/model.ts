/**
 * The model: one wallet, to which one thing after the other happens, in the
 * journal's order. What anybody was told of it must be what it was between the
 * moment when they asked and the moment when they were told.
 */
import { isEnforced, signed } from './always.ts';
import type { Entry } from './books.ts';
import type { Charge, Deed, Grant, Hold, History, Redemption } from './history.ts';
import type { Case, Origins } from './case.ts';
import { prices } from './judge-use.ts';

export function* orderFaults(owner: string, { history, books }: Case, origins: Origins): Generator<string> {
  const entries = books.journal.filter((entry) => entry.owner === owner);
  yield* wrongOrder(entries, origins);
  const wallet = new Wallet(entries, origins);
  for (const deed of history.deeds.filter((deed) => deed.owner === owner)) yield* wrongWord(deed, wallet, history);
}

/** What was told before another thing was asked for is entered before it. */
function* wrongOrder(entries: Entry[], origins: Origins): Generator<string> {
  let latest: Deed | undefined;
  for (const entry of entries) {
    const deed = origins.get(entry);
    if (deed && latest && deed.settledAt < latest.startedAt)
      yield `${deed.id} was told before ${latest.id} was asked for, and is entered after it`;
    if (deed && (!latest || deed.startedAt > latest.startedAt)) latest = deed;
  }
}

class Wallet {
  /** Before the first entry, and after each. */
  readonly #balances = [0];
  readonly #deeds: (Deed | undefined)[];

  constructor(entries: Entry[], origins: Origins) {
    for (const entry of entries) this.#balances.push((this.#balances.at(-1) ?? 0) + signed(entry));
    this.#deeds = entries.map((entry) => origins.get(entry));
  }

  /** Just after a thing was entered; undefined where nothing is known of its entry. */
  after(deed: Deed): number | undefined {
    const at = this.#deeds.indexOf(deed);
    return at === -1 ? undefined : this.#balances[at + 1];
  }

  /** All balances that there may have been while it was done. */
  during({ startedAt, settledAt }: Deed): number[] {
    const first = this.#deeds.findLastIndex((deed) => deed !== undefined && deed.settledAt < startedAt) + 1;
    const last = this.#deeds.findLastIndex((deed) => deed === undefined || deed.startedAt < settledAt) + 1;
    return this.#balances.slice(first, Math.max(first, last) + 1);
  }
}

function* wrongWord(deed: Deed, wallet: Wallet, history: History): Generator<string> {
  if (deed.kind === 'grant' || deed.kind === 'redemption') yield* wrongBalance(deed, wallet);
  if (deed.kind === 'charge') yield* shortCharge(deed, wallet, history);
  if (deed.kind === 'hold') yield* wrongRefusal(deed, wallet, history);
  // Who may owe is told a balance less what meters have not taken yet.
  if (deed.kind === 'reading' && deed.outcome === 'done' && isEnforced(deed.owner) && !wallet.during(deed).includes(deed.balance))
    yield `${deed.id} read a balance of ${deed.balance}, and it was ${wallet.during(deed).join(' or ')}`;
}

/** What is told for a repetition may be the balance of a later moment. */
function* wrongBalance(deed: Grant | Redemption, wallet: Wallet): Generator<string> {
  const after = wallet.after(deed);
  if (deed.outcome !== 'done' || after === undefined) return;
  const seen = wallet.during(deed);
  const possible = seen.slice(Math.max(0, seen.indexOf(after)));
  if (!possible.includes(deed.balance ?? 0))
    yield `${deed.kind} ${deed.id} was told a balance of ${deed.balance}, and it was ${possible.join(' or ')}`;
}

/** Less is charged only where no more is left. */
function* shortCharge(deed: Charge, wallet: Wallet, history: History): Generator<string> {
  const after = wallet.after(deed);
  if (deed.charged === null || deed.charged === deed.amount || after === undefined) return;
  if (after > heldAtMost(deed, history)) yield `${deed.id} took ${deed.charged} of ${deed.amount}, and left ${after}`;
}

function* wrongRefusal(deed: Hold, wallet: Wallet, history: History): Generator<string> {
  if (deed.outcome !== 'refused') return;
  if ((deed.available ?? 0) >= deed.amount) yield `${deed.id} was refused ${deed.amount} where ${deed.available} are available`;
  const least = Math.min(...wallet.during(deed)) - heldAtMost(deed, history);
  if (least >= deed.amount) yield `${deed.id} was refused ${deed.amount}, and there was never less than ${least}`;
}

/** What may have been kept back of its owner's wallet for others while it was done. */
function heldAtMost({ id, owner, startedAt, settledAt }: Deed, history: History): number {
  const others = history.deeds.filter((other) => other.owner === owner && other.id !== id && other.startedAt < settledAt);
  return others.reduce((sum, other) => {
    const isOpen = other.settledAt > startedAt;
    switch (other.kind) {
      case 'hold':
        return other.outcome !== 'refused' && other.freedAt > startedAt ? sum + other.amount : sum;
      // Of each create without an answer a hold may be left.
      case 'session':
        return sum + prices.session * (other.lost + (isOpen ? 1 : 0));
      case 'action':
        return isOpen ? sum + prices.action : sum;
      default:
        return sum;
    }
  }, 0);
}
