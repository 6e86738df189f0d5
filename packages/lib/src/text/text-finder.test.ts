import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { TextFinder } from './text-finder.ts';

function finish<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

const replace = (text: string, patterns: readonly string[]): string =>
  finish(
    finish(TextFinder.create(patterns)).replace(
      text,
      (pattern) => `<${pattern}>`,
      () => undefined,
    ),
  );

/** The same by looking at every place for every pattern. */
function replaceSlowly(text: string, patterns: readonly string[]): string {
  const matches = Array.from(text, (_, end) => end + 1).flatMap((end) => {
    const longest = patterns
      .map((pattern, index) => ({ pattern: index, start: end - pattern.length, end }))
      .filter(({ start }, index) => start >= 0 && text.startsWith(patterns[index] ?? '', start))
      .toSorted((one, other) => one.start - other.start)[0];
    return longest ? [longest] : [];
  });
  const lengthOf = (index: number): number => patterns[index]?.length ?? 0;
  const spans: typeof matches = [];
  for (let span of matches) {
    for (let last = spans.at(-1); last && last.end > span.start; last = spans.at(-1)) {
      const pattern = lengthOf(last.pattern) >= lengthOf(span.pattern) ? last.pattern : span.pattern;
      span = { start: Math.min(last.start, span.start), end: span.end, pattern };
      spans.pop();
    }
    spans.push(span);
  }
  let [shown, copied] = ['', 0];
  for (const { start, end, pattern } of spans) {
    shown += `${text.slice(copied, start)}<${pattern}>`;
    copied = end;
  }
  return shown + text.slice(copied);
}

describe('texts that are replaced at once', () => {
  it('texts that are replaced at once are found as by looking at every place for each of them', () => {
    const word = (max: number): fc.Arbitrary<string> => fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: max });
    fc.assert(
      fc.property(word(60), fc.uniqueArray(word(6), { maxLength: 6 }), (text, patterns) =>
        assert.equal(replace(text, patterns), replaceSlowly(text, patterns)),
      ),
      { numRuns: 2000 },
    );
  });

  it('texts that are replaced at once are found across slices, and what is inserted is not read again', () => {
    const text = `${'x'.repeat(65_534)}secret${'x'.repeat(70_000)}`;
    assert.equal(replace(text, ['secret', '<0>']), text.replace('secret', '<0>'));
  });

  it('texts that are replaced at once are counted as they are written', () => {
    let chars = 0;
    const finder = finish(TextFinder.create(['aaa']));
    const written = finish(
      finder.replace(
        'aaabaaa',
        () => 'long name',
        (more) => (chars += more),
      ),
    );
    assert.deepEqual([written, chars], ['long nameblong name', written.length]);
  });
});
