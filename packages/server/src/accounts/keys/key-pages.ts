/** Pages of the lists of keys. */
import type { Key } from '@berth/contract';
import { z } from 'zod';
import { decodeCursor, pageHeaders } from '../../http/cursor.ts';
import { isId } from '@berth/lib/ids.ts';
import { toKey, type ApiKey } from './api-key.ts';
import type { KeyFilter } from './store.ts';

/** The last millisecond of the year 9999, the latest that the database reads. */
const timestampMsMax = 253_402_300_799_999;
const Position = z.tuple([z.int().min(0).max(timestampMsMax), z.string().refine((text) => isId('key', text))]);

interface PageQuery {
  limit: number;
  cursor?: string | undefined;
}

/** One more than `limit`, which shows that another page follows. @throws ValidationError for an invalid cursor */
export function toKeyFilter(owner: string | undefined, { limit, cursor }: PageQuery): KeyFilter {
  if (cursor === undefined) return { owner, limit: limit + 1 };
  const [createdMs, keyId] = decodeCursor(cursor, Position);
  return { owner, limit: limit + 1, after: { createdAt: new Date(createdMs), keyId } };
}

export const toKeyPage = (call: Parameters<typeof pageHeaders>[0], keys: readonly ApiKey[], limit: number, now: Date): Key[] =>
  pageHeaders(call, keys, limit, ({ createdAt, keyId }) => [createdAt.getTime(), keyId]).map((key) => toKey(key, now));
