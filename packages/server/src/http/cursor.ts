import { ValidationError } from '@berth/contract';
import type { z } from 'zod';
import type { Call } from './call.ts';
import { fault } from './faults.ts';

/** The place where a page ends: the values of the columns that the list is sorted by. */
export const encodeCursor = (place: readonly (string | number)[]): string => Buffer.from(JSON.stringify(place)).toString('base64url');

/** The place that `schema` describes. Throws the ValidationError of `query.cursor` for a text that is none of ours. */
export function decodeCursor<T>(cursor: string, schema: z.ZodType<T>): T {
  try {
    const place = schema.safeParse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
    if (place.success) return place.data;
  } catch {
    // Broken JSON is answered like a place that does not fit.
  }
  throw new ValidationError([
    fault(['query', 'cursor'], { type: 'value_error', msg: 'Input should be a cursor from `X-Next-Cursor`' }, cursor),
  ]);
}

/**
 * The rows of one page. Ask the store for one row more than `limit`: that it is
 * there tells that another page follows, without counting.
 */
export function pageHeaders<Row>(
  call: Call<never>,
  rows: readonly Row[],
  limit: number,
  placeOf: (row: Row) => readonly (string | number)[],
): Row[] {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > limit && last !== undefined;
  call.setHeader('x-has-more', String(more));
  if (more) {
    const cursor = encodeCursor(placeOf(last));
    const next = new URL(call.target, call.origin);
    next.searchParams.set('cursor', cursor);
    call.setHeader('x-next-cursor', cursor);
    call.setHeader('link', `<${call.origin}${next.pathname}${next.search}>; rel="next"`);
  }
  return page;
}
