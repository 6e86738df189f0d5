import { ValidationError } from '@berth/contract';
import type { z } from 'zod';
import type { Call } from './call.ts';
import { validationIssue } from '@berth/lib/validation/issues.ts';

/** Encodes the position at which a page ends: the values of the columns that the list is sorted by. */
export const encodeCursor = (position: readonly (string | number)[]): string => Buffer.from(JSON.stringify(position)).toString('base64url');

/** @throws ValidationError of `query.cursor` for a text that is not a cursor of this list */
export function decodeCursor<T>(cursor: string, schema: z.ZodType<T>): T {
  try {
    const position = schema.safeParse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
    if (position.success) return position.data;
  } catch {
    // Invalid JSON is reported like a position that does not match.
  }
  throw new ValidationError([
    validationIssue(['query', 'cursor'], { type: 'value_error', msg: 'Input should be a cursor from `X-Next-Cursor`' }, cursor),
  ]);
}

/**
 * Returns the rows of one page and sets the paging headers. Query one row more
 * than `limit`: it shows that another page follows, without counting.
 */
export function pageHeaders<Row>(
  call: Call<never>,
  rows: readonly Row[],
  limit: number,
  toPosition: (row: Row) => readonly (string | number)[],
): Row[] {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > limit && last !== undefined;
  call.setHeader('x-has-more', String(more));
  if (more) {
    const cursor = encodeCursor(toPosition(last));
    const next = new URL(call.target, call.origin);
    next.searchParams.set('cursor', cursor);
    call.setHeader('x-next-cursor', cursor);
    call.setHeader('link', `<${call.origin}${next.pathname}${next.search}>; rel="next"`);
  }
  return page;
}
