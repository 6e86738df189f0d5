import { z } from 'zod';
import { decodeCursor, pageHeaders } from '../http/cursor.ts';
import type { ListFilter, SessionView } from './sessions.ts';

type PageCall = Parameters<typeof pageHeaders>[0];

/** The last millisecond of the year 9999, the latest that the database reads. */
const timestampMsMax = 253_402_300_799_999;
/** Cursors come from callers, so values that the database would reject are rejected here. */
const Position = z.tuple([z.int().min(0).max(timestampMsMax), z.string().regex(/^ses_[0-9a-z]+$/)]);

/** The position that a cursor encodes. @throws ValidationError for an invalid cursor */
export function parseListCursor(cursor: string | undefined): ListFilter['after'] {
  if (cursor === undefined) return undefined;
  const [createdMs, sessionId] = decodeCursor(cursor, Position);
  return { createdAt: new Date(createdMs), sessionId };
}

/** Drops the extra row and sets the headers that say whether another page follows. */
export const toPage = (call: PageCall, views: SessionView[], limit: number): SessionView[] =>
  pageHeaders(call, views, limit, ({ record }) => [record.createdAt.getTime(), record.sessionId]);
