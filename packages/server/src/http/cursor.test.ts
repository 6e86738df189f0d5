import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ValidationError, endpoint, pageQuery } from '@berth/contract';
import * as fc from 'fast-check';
import { z } from 'zod';
import { decodeCursor, encodeCursor, pageHeaders } from './cursor.ts';
import { auth, serve } from '../../testing/server.ts';

const Position = z.tuple([z.string(), z.number()]);

test('a cursor decodes to the position that it was encoded from', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer(), (text, number) => {
      assert.deepEqual(decodeCursor(encodeCursor([text, number]), Position), [text, number]);
    }),
  );
});

test('an invalid cursor is reported as an issue of the query', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.base64String(),
        fc.json().map((json) => Buffer.from(json).toString('base64url')),
      ),
      (text) => {
        try {
          assert.equal(Position.safeParse(decodeCursor(text, Position)).success, true);
        } catch (error) {
          assert.ok(error instanceof ValidationError);
          assert.deepEqual(error.detail[0]?.loc, ['query', 'cursor']);
        }
      },
    ),
  );
});

test('a cursor leads through a list without a gap and keeps the other filters', async (t) => {
  const list = endpoint({
    id: 'list',
    method: 'GET',
    path: '/list',
    tag: 'Health',
    summary: 'A test.',
    auth: 'bearer',
    query: z.strictObject({ ...pageQuery, name: z.string() }),
    reply: z.array(z.int()),
    status: 200,
    errors: [],
  });
  const rows = Array.from({ length: 7 }, (_, index) => index);
  const { origin } = await serve(t, (http) =>
    http.on(list, (call) => {
      const [after] = call.query.cursor === undefined ? [-1] : decodeCursor(call.query.cursor, z.tuple([z.number()]));
      return pageHeaders(call, rows.filter((row) => row > after).slice(0, call.query.limit + 1), call.query.limit, (row) => [row]);
    }),
  );
  const seen: unknown[] = [];
  let next: string | undefined = `${origin}/list?limit=3&name=a%20b`;
  while (next !== undefined) {
    const response: Response = await fetch(next, { headers: auth });
    seen.push(...((await response.json()) as unknown[]));
    next = /^<(.+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
    assert.equal(response.headers.get('x-has-more'), String(next !== undefined));
    if (next !== undefined) assert.equal(new URL(next).searchParams.get('name'), 'a b');
  }
  assert.deepEqual(seen, rows);
});
