/** Paging through a list that changes meanwhile. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { endSession, listAllSessions, listSessions } from '@berth/contract';
import { startApp, type TestApp } from '../harness.ts';
import { ManualClock } from '@berth/lib/clock.ts';

const clock = new ManualClock();
let served: TestApp;
before(async () => {
  served = await startApp({ clock });
});
after(() => served.close());

type Step = { do: 'create'; sameInstant: boolean } | { do: 'end'; which: number } | { do: 'read' };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('create' as const), sameInstant: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(20) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('read' as const) }) },
);

let owners = 0;

/** Applies a history of changes to a list and reads it page by page meanwhile. */
async function readWhile(
  limit: number,
  atFirst: number,
  steps: Step[],
  asOperator: boolean,
): Promise<{ seen: string[]; atStart: string[] }> {
  const owner = `reader-${++owners}`;
  const key = await served.ownerKey(owner);
  const made: string[] = [];
  const create = async (sameInstant: boolean): Promise<void> => {
    if (!sameInstant) clock.advance(1);
    made.push((await served.create({}, { key })).session_id);
  };
  const end = (which: number) => served.call(endSession, { key, params: { session_id: made[which % made.length] ?? '' } });
  for (let n = 0; n < atFirst; n += 1) await create(n % 2 === 0);
  const atStart = [...made];
  const seen: string[] = [];
  let cursor: string | null = null;
  const reading = { done: false };
  const read = async (): Promise<void> => {
    const query: Record<string, string> = { limit: String(limit), ...(cursor === null ? {} : { cursor }) };
    const page: { body: { session_id: string }[]; headers: Headers } = asOperator
      ? await served.call(listAllSessions, { query: { ...query, owner } })
      : await served.call(listSessions, { key, query });
    seen.push(...page.body.map(({ session_id }) => session_id));
    assert.ok(page.body.length <= limit);
    cursor = page.headers.get('x-next-cursor');
    reading.done = cursor === null;
  };
  await read();
  for (const next of steps) {
    if (next.do === 'create') await create(next.sameInstant);
    else if (next.do === 'end') await (made.length > 0 ? end(next.which) : undefined);
    else if (!reading.done) await read();
  }
  while (!reading.done) await read();
  await Promise.all(made.map((_, which) => end(which)));
  return { seen, atStart };
}

describe('pages', () => {
  for (const asOperator of [false, true])
    it(`pages of ${asOperator ? 'all owners’' : 'one’s own'} sessions have no gaps or repeats while the list changes`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 4 }),
          fc.integer({ min: 0, max: 9 }),
          fc.array(step, { maxLength: 10 }),
          async (limit, atFirst, steps) => {
            const { seen, atStart } = await readWhile(limit, atFirst, steps, asOperator);
            assert.equal(new Set(seen).size, seen.length, 'a session came twice');
            assert.deepEqual(
              atStart.filter((id) => !seen.includes(id)),
              [],
              'a session was skipped',
            );
          },
        ),
        { numRuns: 20 },
      );
    });

  it('pages of a list end, also when the last page is full', async () => {
    const key = await served.ownerKey('even');
    for (let n = 0; n < 4; n += 1) await served.create({}, { key });
    const first = await served.call(listSessions, { key, query: { limit: '2' } });
    const second = await served.call(listSessions, { key, query: { limit: '2', cursor: first.headers.get('x-next-cursor') ?? '' } });
    assert.deepEqual(
      [second.body.length, second.headers.get('x-has-more'), second.headers.get('x-next-cursor'), second.headers.get('link')],
      [2, 'false', null, null],
    );
  });
});
