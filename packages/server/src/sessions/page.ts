import { z } from 'zod';
import { decodeCursor, pageHeaders } from '../http/cursor.ts';
import type { ListFilter, SessionView } from './sessions.ts';

type PageCall = Parameters<typeof pageHeaders>[0];

/** The last millisecond of the year 9999: what is later, the database cannot read. */
const latestMs = 253_402_300_799_999;
/** A cursor comes from outside, so that it is checked as far as the database would choke on it. */
const Place = z.tuple([z.int().min(0).max(latestMs), z.string().regex(/^ses_[0-9a-z]+$/)]);

/** Where a page of a list of sessions starts, from its cursor. Throws ValidationError for a cursor that is none of ours. */
export function placeAfter(cursor: string | undefined): ListFilter['after'] {
  if (cursor === undefined) return undefined;
  const [createdMs, sessionId] = decodeCursor(cursor, Place);
  return { createdAt: new Date(createdMs), sessionId };
}

/** Cuts the row that was asked for too many, and tells in the headers that there is more. */
export const onePage = (call: PageCall, views: SessionView[], limit: number): SessionView[] =>
  pageHeaders(call, views, limit, ({ record }) => [record.createdAt.getTime(), record.sessionId]);
