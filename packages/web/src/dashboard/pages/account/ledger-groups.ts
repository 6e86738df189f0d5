/** The ledger of credits added up, and as a table for other programs. */
import type { CreditEntry } from '@berth/contract';

export type Grouping = 'day' | 'session';

export interface LedgerGroup {
  /** A day in UTC as `YYYY-MM-DD`, or the id of a session. Empty: entries of no session. */
  key: string;
  /** Credits that were added, and that were taken, both positive. */
  added: number;
  taken: number;
  entries: number;
}

/** Amounts are exact to the millionth: they are added up as whole numbers. */
const unit = 1_000_000;
const inUnits = (credits: number): number => Math.round(credits * unit);

/** Sums by day or session, in the order of the entries. */
export function groupEntries(entries: readonly CreditEntry[], by: Grouping): readonly LedgerGroup[] {
  const groups = new Map<string, LedgerGroup>();
  for (const { at, session_id: sessionId, amount } of entries) {
    const key = by === 'day' ? at.slice(0, 10) : (sessionId ?? '');
    const group = groups.get(key) ?? { key, added: 0, taken: 0, entries: 0 };
    const units = inUnits(amount);
    groups.set(key, {
      ...group,
      added: group.added + Math.max(0, units),
      taken: group.taken + Math.max(0, -units),
      entries: group.entries + 1,
    });
  }
  return [...groups.values()].map((group) => ({ ...group, added: group.added / unit, taken: group.taken / unit }));
}

const fields = ['at', 'type', 'session_id', 'amount', 'balance', 'entry_id'] as const;

/** The entries as CSV (RFC 4180), with the exact amounts. */
export function toCsv(entries: readonly CreditEntry[]): string {
  const lines = entries.map((entry) => fields.map((field) => csvField(entry[field])).join(','));
  return `${[fields.join(','), ...lines].join('\r\n')}\r\n`;
}

function csvField(value: string | number | null): string {
  const text = value === null ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
