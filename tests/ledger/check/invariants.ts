/** Invariants that hold at every moment. */
import type { Entry, Ledger, MeterRow } from '../ledger-reader.ts';

/** Returns all violations. `earlier` is a previous snapshot of the ledger. */
export const findViolations = (ledger: Ledger, earlier: Ledger | null): string[] => [
  ...checkSums(ledger),
  ...checkOverdraft(ledger),
  ...checkMonths(ledger),
  ...checkMonthsGrow(ledger, earlier),
];

/** The change of the owner's balance by an entry. */
export const signed = (entry: Entry): number => (entry.to === `wallet:${entry.owner}` ? entry.amount : -entry.amount);

export const isEnforced = (owner: string): boolean => !owner.endsWith('-owing');

export function sumBy<T>(list: readonly T[], keyOf: (item: T) => string, valueOf: (item: T) => number): Map<string, number> {
  const sums = new Map<string, number>();
  for (const item of list) sums.set(keyOf(item), (sums.get(keyOf(item)) ?? 0) + valueOf(item));
  return sums;
}

/** A balance is the sum of the journal; the held amount is the sum of the holds. */
function* checkSums({ journal, wallets, holds }: Ledger): Generator<string> {
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
    const [wallet, sum, heldSum] = [wallets.get(owner) ?? { balance: 0, held: 0 }, balances.get(owner) ?? 0, held.get(owner) ?? 0];
    if (wallet.balance !== sum || wallet.held !== heldSum)
      yield `${owner} has ${JSON.stringify(wallet)}, its journal sums to ${sum}, its holds to ${heldSum}`;
  }
}

/** An enforced wallet is never below zero and never holds more than its balance. */
function* checkOverdraft({ wallets, journal }: Ledger): Generator<string> {
  for (const [owner, { balance, held }] of wallets)
    if (isEnforced(owner) && (balance < 0 || balance < held)) yield `${owner} has a balance of ${balance}, and holds of ${held}`;
  const sums = new Map<string, number>();
  for (const entry of journal) {
    const sum = (sums.get(entry.owner) ?? 0) + signed(entry);
    sums.set(entry.owner, sum);
    if (sum < 0 && isEnforced(entry.owner)) yield `the wallet of ${entry.owner} was below zero after ${entry.opId}`;
  }
}

type MonthRow = Omit<MeterRow, 'meterId'>;
const monthKey = ({ owner, month }: MonthRow): string => `${owner} ${month}`;
const axes = ['actions', 'browserMs', 'sessions'] as const;

/** A month's usage is the sum of its meters. */
function* checkMonths({ meters, months }: Ledger): Generator<string> {
  for (const axis of axes) {
    const sums = sumBy(meters, monthKey, (meter) => meter[axis]);
    for (const month of months) {
      const sum = sums.get(monthKey(month)) ?? 0;
      if (month[axis] !== sum) yield `${monthKey(month)} ${axis}: ${month[axis]}, its meters ${sum}`;
    }
  }
  const counted = new Set(months.map(monthKey));
  for (const meter of meters) if (!counted.has(monthKey(meter))) yield `the meter ${meter.meterId} is in no month`;
}

/** Usage never decreases. */
function* checkMonthsGrow({ months }: Ledger, earlier: Ledger | null): Generator<string> {
  const now = new Map(months.map((month) => [monthKey(month), month]));
  for (const before of earlier?.months ?? []) {
    const after = now.get(monthKey(before));
    if (axes.some((axis) => before[axis] > (after?.[axis] ?? 0)))
      yield `${monthKey(before)} has fallen from ${JSON.stringify(before)} to ${JSON.stringify(after)}`;
  }
}
