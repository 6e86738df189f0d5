import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { problemOf, regexesIn } from '../../scripts/checks/regexes.ts';

const sourcesIn = (code: string): (string | null)[] =>
  regexesIn('file.ts', code).map(({ source, flags }) => source && `/${source}/${flags}`);

describe('the regular expressions of a file', () => {
  it('the regular expressions of a file are its literals, and those made from its constants', () => {
    const code = [
      "const word = '[a-z]{1,20}';",
      'const path = `${word}/${word}`;',
      'text.replace(/a\\/b/gi, (part) => `${part.split(/c/)}`);',
      "new RegExp(`^${path}$`, 'u');",
      "RegExp('d+');",
      'new RegExp(/e/.source);',
    ].join('\n');
    assert.deepEqual(sourcesIn(code), ['/a\\/b/gi', '/c/', '/^[a-z]{1,20}/[a-z]{1,20}$/u', '/d+/', '/e/', '/e/']);
  });

  it('a regular expression that is put together while the code runs is unknown', () => {
    assert.deepEqual(sourcesIn('const f = (name: string) => new RegExp(`^${name}`); new RegExp(names.join("|"));'), [null, null]);
  });
});

describe('a regular expression', () => {
  const problem = (code: string): string | null => problemOf(regexesIn('file.ts', code)[0] ?? assert.fail(code));

  it('a regular expression is refused when it is exponential, when it is quadratic, and when it is unknown', () => {
    assert.match(problem('/(a+)+$/') ?? '', /exponential/);
    assert.match(problem('/[.]+$/') ?? '', /2nd degree/);
    assert.match(problem('new RegExp(names)') ?? '', /put together/);
  });

  it('a linear regular expression is accepted', () => assert.equal(problem('/^[.]+$/'), null));
});
