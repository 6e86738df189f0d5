/** What must hold at every moment, whatever is under way. */
import type { Entry, Ledger, MeterRow } from './books.ts';

/** What is wrong. `earlier` is the ledger of a moment before. */
export const faultsOf = (ledger: Ledger, earlier: Ledger | null): string[] => [
  ...wrongSums(ledger),
  ...overdrawn(ledger),
  ...wrongMonths(ledger),
  ...shrunkMonths(ledger, earlier),
];

/** What an entry does to the wallet of its owner. */
export const signed = (entry: Entry): number => (entry.to === `wallet:${entry.owner}` ? entry.amount : -entry.amount);

export const isEnforced = (owner: string): boolean => !owner.endsWith('-owing');

export function sumBy<T>(list: readonly T[], keyOf: (item: T) => string, valueOf: (item: T) => number): Map<string, number> {
  const sums = new Map<string, number>();
  for (const item of list) sums.set(keyOf(item), (sums.get(keyOf(item)) ?? 0) + valueOf(item));
  return sums;
}

/** A wallet is the sum of its journal, and what it keeps back is the sum of its holds. */
function* wrongSums({ journal, wallets, holds }: Ledger): Generator<string> {
  const balances = sumBy(journal, ({ owner }) => owner, signed);
  const held = sumBy(
    holds,
    ({ owner }) => owner,
    ({ amount }) => amount,
  );
  for (const { opId, owner, from, to } of journal)
    if ((from === `wallet:${owner}`) === (to === `wallet:${owner}`))
      yield `the entry ${opId} moves nothing in or out of its owner's wallet`;
  for (const owner of new Set([...balances.keys(), ...held.keys(), ...wallets.keys()])) {
    const [wallet, sum, kept] = [wallets.get(owner) ?? { balance: 0, held: 0 }, balances.get(owner) ?? 0, held.get(owner) ?? 0];
    if (wallet.balance !== sum || wallet.held !== kept)
      yield `${owner} has ${JSON.stringify(wallet)}, its journal sums up to ${sum}, its holds to ${kept}`;
  }
}

/** A wallet that is enforced has never less than nothing, and never keeps back what it does not have. */
function* overdrawn({ wallets, journal }: Ledger): Generator<string> {
  for (const [owner, { balance, held }] of wallets)
    if (isEnforced(owner) && (balance < 0 || balance < held)) yield `${owner} has a balance of ${balance}, and holds of ${held}`;
  const sums = new Map<string, number>();
  for (const entry of journal) {
    const sum = (sums.get(entry.owner) ?? 0) + signed(entry);
    sums.set(entry.owner, sum);
    if (sum < 0 && isEnforced(entry.owner)) yield `the wallet of ${entry.owner} was below zero after ${entry.opId}`;
  }
}

type Counted = Omit<MeterRow, 'meterId'>;
const monthKey = ({ owner, month }: Counted): string => `${owner} ${month}`;
const axes = ['actions', 'browserMs', 'sessions'] as const;

/** A month is the sum of its meters. */
function* wrongMonths({ meters, months }: Ledger): Generator<string> {
  for (const axis of axes) {
    const sums = sumBy(meters, monthKey, (meter) => meter[axis]);
    for (const month of months) {
      const sum = sums.get(monthKey(month)) ?? 0;
      if (month[axis] !== sum) yield `${monthKey(month)} ${axis}: ${month[axis]}, its meters ${sum}`;
    }
  }
  const known = new Set(months.map(monthKey));
  for (const meter of meters) if (!known.has(monthKey(meter))) yield `the meter ${meter.meterId} is in no month`;
}

/** What was used is never less than it was. */
function* shrunkMonths({ months }: Ledger, earlier: Ledger | null): Generator<string> {
  const now = new Map(months.map((month) => [monthKey(month), month]));
  for (const before of earlier?.months ?? []) {
    const after = now.get(monthKey(before));
    if (axes.some((axis) => before[axis] > (after?.[axis] ?? 0)))
      yield `${monthKey(before)} has fallen from ${JSON.stringify(before)} to ${JSON.stringify(after)}`;
  }
}
