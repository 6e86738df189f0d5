/** The pure parts of flows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTemplate } from '@berth/contract';
import * as fc from 'fast-check';
import { boundedIn } from '@berth/contract/testing/bounded-schemas.ts';
import { isWanted, matches } from './catalog/crawl.ts';
import { findControl } from './catalog/form-fill.ts';
import { fillSearchTemplate, toResults } from './catalog/search.ts';
import { toJsonSchema } from './flow.ts';
import { literal } from './inputs.ts';
import { diffLines } from './catalog/checks.ts';
import { flows, templates } from './registry.ts';
import { toCsv } from './templates/lists.ts';

test('every flow and template takes its own example, and its schemas are plain JSON', () => {
  for (const { name, inputs, output, example } of [...flows, ...templates]) {
    assert.ok(inputs.safeParse(structuredClone(example)).success, name);
    for (const schema of [toJsonSchema(inputs, 'input'), toJsonSchema(output, 'output')])
      assert.deepEqual(JSON.parse(JSON.stringify(schema)), schema, name);
  }
});

test('every string, list and record of the inputs of flows and templates has a maximum', () => {
  const inputs = [...flows, ...templates].flatMap((flow) => [...boundedIn(flow.inputs, flow.name)]);
  assert.ok(inputs.length > 100, 'the walk finds next to nothing');
  assert.deepEqual(
    inputs.filter(({ max }) => max === undefined).map(({ path, kind }) => `${path} ${kind}`),
    [],
  );
});

test('a caller’s text is literal in a flow, whatever it contains', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[{}a-z.|" ]{0,30}$/), (text) => {
      const { parts, problem } = parseTemplate(literal(text));
      assert.equal(problem, undefined);
      assert.ok(parts.every((part) => typeof part === 'string'));
      assert.equal(parts.join(''), text);
    }),
  );
});

test('a pattern of URLs has at most five stars', () => {
  const { inputs } = flows.find(({ name }) => name === 'crawl') ?? assert.fail();
  const accepts = (pattern: string): boolean => inputs.safeParse({ url: 'https://x.test/', include: [pattern] }).success;
  assert.deepEqual(['/a', '*', '*a*b*c*d*', '*'.repeat(5), '*a*b*c*d*e*'].map(accepts), [true, true, true, true, false]);
});

test('patterns of URLs are substrings, or whole URLs with stars', () => {
  const cases: [string, string, boolean][] = [
    ['/blog/', 'https://x.test/blog/1', true],
    ['https://x.test/*/1', 'https://x.test/blog/1', true],
    ['https://x.test/*/1', 'https://x.test/blog/12', false],
    ['*a*b*', 'xaxbx', true],
    ['a*a', 'a', false],
    ['*', '', true],
  ];
  for (const [pattern, url, expected] of cases) assert.equal(matches(pattern, url), expected, `${pattern} ${url}`);
  assert.equal(matches(`${'a*'.repeat(200)}b`, 'a'.repeat(100_000)), false);
});

test('a crawl stays on its host and follows web addresses only', () => {
  const scope = { host: 'x.test', include: [], exclude: ['/out'] };
  for (const [link, expected] of [
    ['https://x.test/b', true],
    ['https://y.test/b', false],
    ['mailto:a@x.test', false],
    ['https://x.test/out/1', false],
    ['no url', false],
  ] as const)
    assert.equal(isWanted(link, scope), expected, link);
  assert.equal(isWanted('https://y.test/b', { ...scope, host: null }), true);
});

test('a diff lists lines that differ once for each time', () => {
  assert.deepEqual(diffLines(['a', 'b', 'b'], ['b', 'c', 'a', 'c']), { added: ['c', 'c'], removed: ['b'] });
  assert.deepEqual(diffLines([], []), { added: [], removed: [] });
});

test('a table is written as CSV that no spreadsheet runs', () => {
  assert.equal(
    toCsv([
      ['a', 'b "c"', 'd,e'],
      ['=1+1', '-5', '-x\n'],
    ]),
    `a,"b ""c""","d,e"\r\n'=1+1,-5,"'-x\n"\r\n`,
  );
});

test('fields are matched by name, label or their beginning, and by kind', () => {
  const field = (selector: string, kind: 'text' | 'check' | 'file', ...names: string[]) => ({
    selector,
    kind,
    names,
    label: names[0] ?? '',
    groups: [],
  });
  const controls = [field('#a', 'text', 'E-mail address', 'email'), field('#b', 'check', 'Remember me'), field('#c', 'file', 'Photo')];
  const selectorOf = (key: string, value: string | boolean): string | undefined => findControl(controls, key, value)?.selector;
  assert.deepEqual(
    [
      selectorOf('EMAIL', 'x'),
      selectorOf('e-mail', 'x'),
      selectorOf('remember', true),
      selectorOf('remember', 'x'),
      selectorOf('Photo', 'x'),
    ],
    ['#a', '#a', '#b', undefined, undefined],
  );
});

test('results have the first line as their title', () => {
  assert.deepEqual(
    toResults(
      [
        { text: ' Lamp\n12 €  now', url: null },
        { text: 'x', url: 'u' },
      ],
      1,
    ),
    [{ title: 'Lamp', url: null, snippet: 'Lamp 12 € now' }],
  );
});

test('templates of OpenSearch are filled in, and only where nothing else is needed', () => {
  const base = 'https://x.test/a';
  for (const [template, expected] of [
    ['https://x.test/s?q={searchTerms}', 'https://x.test/s?q=a%20%26b'],
    ['/s/{searchTerms?}?p={startPage?}&x={ext:lang?}', 'https://x.test/s/a%20%26b?p=&x='],
    ['https://x.test/s?q={searchTerms}&key={apiKey}', null],
    ['javascript:alert({searchTerms})', null],
  ] as const)
    assert.equal(fillSearchTemplate(template, 'a &b', base), expected, template);
});
