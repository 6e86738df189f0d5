import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hostileRobots } from '../../../../tests/hostile-text/robots.ts';
import { parseRobots, parseRobotsAtOnce, robotsLimits } from './robots-rules.ts';

/** Both forms of the matcher, which must agree. */
async function allows(lines: readonly string[], path: string): Promise<boolean> {
  const url = new URL(path, 'http://site.test').href;
  const allowed = await (await parseRobots(lines.join('\n'), 'Berth')).allows(url);
  assert.equal(parseRobotsAtOnce(lines.join('\n'), 'Berth').allowsAtOnce(url), allowed);
  return allowed;
}
const forAll = (...rules: string[]): string[] => ['User-agent: *', ...rules];

describe('a pattern', () => {
  it('a robots.txt pattern matches the beginning of a path, with its query', async () => {
    const rules = forAll('Disallow: /fish', 'Disallow: /a?b=');
    for (const path of ['/fish', '/fish.html', '/fish/salmon', '/fishheads', '/fish?id=1', '/a?b=c'])
      assert.equal(await allows(rules, path), false, path);
    for (const path of ['/Fish', '/catfish', '/?fish', '/a', '/']) assert.equal(await allows(rules, path), true, path);
  });

  it('a robots.txt pattern has `*` for any characters and a final `$` for the end', async () => {
    const cases: [pattern: string, matching: string[], others: string[]][] = [
      ['/*.php', ['/index.php', '/folder/file.php?a=b', '/a.php/', '/.php'], ['/', '/windows.PHP']],
      ['/*.php$', ['/file.php', '/a/file.php', '/.php.php'], ['/file.php?a=b', '/file.php/', '/file.php5']],
      ['/fish*.php', ['/fish.php', '/fishheads/catfish.php?x=1'], ['/Fish.PHP', '/fis.php']],
      ['/a*b*c$', ['/abc', '/a-b-c', '/abcbc'], ['/abcd', '/acb', '/ab']],
      ['/a$', ['/a'], ['/ab', '/a$']],
      ['/a$b', ['/a$b', '/a%24b'], ['/a', '/ab']],
      ['*/x', ['/x', '/y/x'], ['/yx']],
      ['/**/*x', ['/a/x', '/b//x'], ['/x']],
      ['/*ab$', ['/ab', '/aab'], ['/a', '/b']],
      ['*', ['/', '/x'], []],
      ['$', [], ['/', '/x']],
    ];
    for (const [pattern, matching, others] of cases) {
      for (const path of matching) assert.equal(await allows(forAll(`Disallow: ${pattern}`), path), false, `${pattern} matches ${path}`);
      for (const path of others)
        assert.equal(await allows(forAll(`Disallow: ${pattern}`), path), true, `${pattern} does not match ${path}`);
    }
  });

  it('a robots.txt pattern is the same in every spelling of its characters', async () => {
    const cases: [pattern: string, path: string][] = [
      ['/foo/bar?baz=http://foo.bar', '/foo/bar?baz=http://foo.bar'],
      ['/foo/bar/ツ', '/foo/bar/%E3%83%84'],
      ['/foo/bar/%e3%83%84', '/foo/bar/ツ'],
      ['/foo/bar/%62%61%7A', '/foo/bar/baz'],
      ['/file-%2A.html', '/file-*.html'],
      ['/a%2fb', '/a%2Fb'],
      ['/{x}', '/%7Bx%7D'],
    ];
    for (const [pattern, path] of cases) assert.equal(await allows(forAll(`Disallow: ${pattern}`), path), false, `${pattern} ${path}`);
    assert.equal(await allows(forAll('Disallow: /a%2Fb'), '/a/b'), true, 'an escaped slash separates nothing');
    assert.equal(await allows(forAll('Disallow: /\ud800'), '/%ED%A0%80'), true, 'half a character');
  });
});

describe('the rules', () => {
  it('robots.txt rules are decided by the longest match, and of equal ones by the one that allows', async () => {
    assert.equal(await allows(forAll('Disallow: /shop', 'Allow: /shop/open'), '/shop/open/now'), true);
    assert.equal(await allows(forAll('Allow: /shop', 'Disallow: /shop/open'), '/shop/open/now'), false);
    assert.equal(await allows(forAll('Disallow: /page', 'Allow: /page'), '/page'), true);
    assert.equal(await allows(forAll('Allow: /page', 'Disallow: /*.htm'), '/page.htm'), false);
    assert.equal(await allows(forAll('Allow: /$', 'Disallow: /'), '/'), true);
    assert.equal(await allows(forAll('Allow: /$', 'Disallow: /'), '/page'), false);
  });

  it('robots.txt rules never forbid robots.txt itself', async () => assert.equal(await allows(forAll('Disallow: /'), '/robots.txt'), true));

  it('robots.txt rules of several groups for one agent are combined, whatever other agents these name', async () => {
    const rules = ['User-agent: a', 'user-agent : BERTH/2.0 # us', 'disallow:/x', 'Sitemap: /map', 'Disallow: /y', '', 'User-agent: *'];
    const more = [...rules, 'Disallow: /z', 'User-agent: berth', 'Disallow: /w'];
    for (const [path, expected] of Object.entries({ '/x': false, '/y': false, '/w': false, '/z': true }))
      assert.equal(await allows(more, path), expected, path);
  });

  it('robots.txt rules of an empty group allow everything', async () => {
    assert.equal(await allows(['User-agent: Berth', 'Disallow:', '', ...forAll('Disallow: /')], '/x'), true);
    assert.equal(await allows([...forAll('Disallow: /'), 'User-agent: Berth'], '/x'), true);
  });

  it('robots.txt rules that belong to no group, and lines that are no rule, are ignored', async () => {
    assert.equal(await allows(['Disallow: /', 'User-agent: *', 'nonsense', ':', 'Disallow /', '<html>'], '/x'), true);
  });

  it('robots.txt rules are read with any line ends, and without a comment', async () => {
    for (const end of ['\n', '\r', '\r\n', '\n\n'])
      assert.equal(await allows([['User-agent: *', 'Disallow: /x # not /y', ''].join(end)], '/x'), false, JSON.stringify(end));
  });

  it('robots.txt rules hold no more memory than their patterns', async () => {
    const { bytes } = await parseRobots(
      [...forAll('Disallow: /x'), '#'.repeat(500_000), 'User-agent: other', ...Array<string>(10_000).fill('Disallow: /')].join('\n'),
      'Berth',
    );
    assert.ok(bytes < 1000, `${bytes}`);
  });

  it('robots.txt rules beyond their limits are ignored', async () => {
    const { rulesMax, wildcardRulesMax, patternCharsMax, pathCharsMax } = robotsLimits;
    const many = (count: number, rule: (i: number) => string): string[] => Array.from({ length: count }, (_, i) => rule(i));
    assert.equal(await allows(forAll(...many(rulesMax, (i) => `Allow: /${i}`), 'Disallow: /x'), '/x'), true);
    assert.equal(await allows(forAll(...many(rulesMax - 1, (i) => `Allow: /${i}`), 'Disallow: /x'), '/x'), false);
    assert.equal(await allows(forAll(...many(wildcardRulesMax, (i) => `Allow: /*${i}`), 'Disallow: /*x', 'Disallow: /y'), '/x'), true);
    assert.equal(await allows(forAll(...many(wildcardRulesMax, (i) => `Allow: /*${i}`), 'Disallow: /*x', 'Disallow: /y'), '/y'), false);
    assert.equal(await allows(forAll(`Disallow: /${'x'.repeat(patternCharsMax + 200)}`), `/${'x'.repeat(patternCharsMax + 200)}`), true);
    assert.equal(await allows(forAll(`Disallow: /*y`), `/${'x'.repeat(pathCharsMax)}y`), true);
    assert.equal(await allows(forAll(`Disallow: /x`), `/${'x'.repeat(pathCharsMax)}y`), false);
  });
});

describe('a hostile robots.txt', () => {
  // Also seen: 6 s for each page with the first, 17 minutes and 4.6 GB with the second.
  it('a hostile robots.txt is read, applied to a hostile path and forgotten', async () => {
    for (const [name, text] of Object.entries(hostileRobots.texts)) {
      const rules = await parseRobots(text, 'Berth');
      assert.ok(rules.bytes < 3 * 1024 * 1024, name);
      for (const path of hostileRobots.paths) assert.equal(typeof (await rules.allows(`http://site.test${path}`)), 'boolean', name);
    }
  });
});
