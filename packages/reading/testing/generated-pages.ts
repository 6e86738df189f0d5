/** Pages of random structure whose text has the punctuation of Markdown in every place. */
import fc from 'fast-check';

const words = [
  'tea',
  'Mint',
  'snake_case',
  'über',
  '汉字',
  '한국',
  'a',
  '5',
  '1.5',
  'x=1',
  'C#',
  'e.g.',
  '“q”',
  '（注）',
  '注意：',
  'AT&T',
  '😀',
];
const signs = [
  ...['*', '**', '*a*', '**b**', '_', '__', '_c_', '`', '``', '`d`', '```', '~', '~~', '~~e~~', '~~~', '|', '||'],
  ...['[', ']', '[x]', '[x]:', '[a](b)', '](', '![', '!', '#', '##', '-', '+', '--', '---', '===', '>', '<', '<b>', '</b>', '<!--', '-->'],
  ...['1.', '2)', '10.', '&', '&amp;', '&copy;', '&#65;', '\\', '\\*', '\\\\', '$', '$x$', ':', '://', 'http://a.example/b_c', '<a@b.c>'],
  ...['.', ',', ';', '!', '?', '(', ')', '{', '}', '@', '^', '%', '"', "'", '/', '='],
];

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** Signs and words, with and without blanks between them. */
const text: fc.Arbitrary<string> = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom(...words), fc.constantFrom(...signs)), fc.constantFrom('', ' ', ' ')), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => escaped(parts.map(([part, blank]) => part + blank).join('')));

const wrapped = (before: string, inner: fc.Arbitrary<string>, after: string): fc.Arbitrary<string> =>
  inner.map((content) => `${before}${content}${after}`);
const inlineTags = ['b', 'i', 'strong', 'em', 's', 'sup', 'sub', 'span', 'u'];

const inline = (depth: number, isInLink = false): fc.Arbitrary<string> => {
  const part = fc.oneof(
    { arbitrary: text, weight: 6 },
    { arbitrary: fc.constant('<br>'), weight: 1 },
    { arbitrary: wrapped('<code>', text, '</code>'), weight: 1 },
    ...(depth > 0 ? [{ arbitrary: tagged(depth - 1, isInLink), weight: 4 }] : []),
    ...(depth > 0 && !isInLink ? [{ arbitrary: link(depth - 1), weight: 1 }] : []),
  );
  return fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
};
const tagged = (depth: number, isInLink: boolean): fc.Arbitrary<string> =>
  fc.tuple(fc.constantFrom(...inlineTags), inline(depth, isInLink)).map(([tag, inner]) => `<${tag}>${inner}</${tag}>`);
/** A link that has text, because the address stands for a link without any. */
const link = (depth: number): fc.Arbitrary<string> =>
  fc.tuple(text, inline(depth, true)).map(([start, inner]) => `<a href="/x">${start}${inner}</a>`);

const several = (inner: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.array(inner, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''));

const table = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.array(inline(1), { minLength: 9, maxLength: 9 })).map(([width, cells]) => {
  const rowOf = (tag: string, row: number): string =>
    `<tr>${cells
      .slice(3 * row, 3 * row + width)
      .map((cell) => `<${tag}>${cell}</${tag}>`)
      .join('')}</tr>`;
  return `<table>${rowOf('th', 0)}${rowOf('td', 1)}${rowOf('td', 2)}</table>`;
});

const block = (depth: number): fc.Arbitrary<string> => {
  const content = depth > 0 ? fc.oneof(inline(2), several(block(depth - 1))) : inline(2);
  const item = wrapped('<li>', content, '</li>');
  return fc.oneof(
    { arbitrary: wrapped('<p>', inline(2), '</p>'), weight: 4 },
    wrapped('<h2>', inline(1), '</h2>'),
    wrapped('<div>', content, '</div>'),
    wrapped('<blockquote>', content, '</blockquote>'),
    wrapped('<ul>', several(item), '</ul>'),
    wrapped('<ol>', several(item), '</ol>'),
    wrapped('<ol start="7">', several(item), '</ol>'),
    wrapped('<pre>', several(wrapped('', text, '\n')), '</pre>'),
    wrapped('<div style="display:flex">', several(wrapped('<span>', inline(1), '</span>')), '</div>'),
    wrapped('<div style="white-space:pre-line">', several(wrapped('', text, '\n')), '</div>'),
    table,
    fc.constant('<hr>'),
  );
};

export const generatedPages = (seed: number, count: number): string[] => fc.sample(several(block(2)), { seed, numRuns: count });
