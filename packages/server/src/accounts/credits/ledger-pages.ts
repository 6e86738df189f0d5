/** Pages of an owner's ledger. */
import type { CreditEntry } from '@berth/contract';
import { z } from 'zod';
import { decodeCursor, pageHeaders } from '../../http/cursor.ts';
import { isId } from '@berth/lib/ids.ts';
import { toCredits, type ChargeAxis } from './ledger.ts';
import type { LedgerEntry, LedgerPosition } from './store.ts';

/** The last entry of a page, and the balance before it. */
const Position = z.tuple([z.int().min(0), z.int()]);

interface PageQuery {
  limit: number;
  cursor?: string | undefined;
}

/** One more than `limit`, which shows that another page follows. @throws ValidationError for an invalid cursor */
export function toLedgerFilter(owner: string, { limit, cursor }: PageQuery): { owner: string; limit: number; after?: LedgerPosition } {
  if (cursor === undefined) return { owner, limit: limit + 1 };
  const [entryId, balance] = decodeCursor(cursor, Position);
  return { owner, limit: limit + 1, after: { entryId, balance } };
}

export const toLedgerPage = (call: Parameters<typeof pageHeaders>[0], entries: readonly LedgerEntry[], limit: number): CreditEntry[] =>
  pageHeaders(call, entries, limit, ({ entryId, balance, amount }) => [entryId, balance - amount]).map((entry) => ({
    entry_id: String(entry.entryId),
    at: entry.at.toISOString(),
    type: typeOf(entry),
    amount: toCredits(entry.amount),
    balance: toCredits(entry.balance),
    session_id: entry.meterId !== null && isId('ses', entry.meterId) ? entry.meterId : null,
  }));

function typeOf({ from, to }: LedgerEntry): CreditEntry['type'] {
  if (from === 'source:codes') return 'code';
  if (from === 'source:grants') return 'grant';
  if (to === 'source:grants') return 'correction';
  return to.slice('revenue:'.length) as ChargeAxis;
}
