import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readMarkup, textLimit, type Markup } from './markup.ts';

const read = (html: string): Markup => readMarkup(html, /mark/g);
const elementsIn = (html: string): string[] => read(html).elements.map(({ tag, attributes }) => [tag, ...[...attributes].flat()].join(' '));

describe('elements', () => {
  it('elements in markup are read with their attributes, however these are written', () => {
    assert.deepEqual(elementsIn(`<DIV ID=mark Class = 'a b' data-x="1 > 0 &amp; &#34;" hidden>`), [
      `div id mark class a b data-x 1 > 0 & " hidden `,
    ]);
    assert.deepEqual(elementsIn('<iframe src="/mark?a=1"/>'), ['iframe src /mark?a=1']);
    assert.deepEqual(elementsIn('<p it\'s id="mark">'), ['p it  s  id mark']);
  });

  it('elements in an attribute, a comment, a text or a sample are not read', () => {
    for (const html of [
      '<!-- <p id="mark"> -->',
      '&lt;p id="mark"&gt;',
      '<textarea><p id="mark"></textarea>',
      '<title><p id="mark"></title>',
      '<style><p id="mark"></style>',
      '<pre><b><p id="mark"></b></pre>',
      '<p><CODE><p id="mark"></CODE>',
      '<template><p id="mark"></template>',
      '<noscript><p id="mark"></noscript>',
      '< p id="mark">',
      '</p id="mark">',
      '<p id="mark',
    ])
      assert.deepEqual(elementsIn(html), [], html);
    assert.deepEqual(elementsIn(`<p title='<b id="mark">'>`), [`p title <b id="mark">`]);
  });

  it('elements are read again after a sample, and after an end tag that nothing opened', () => {
    assert.deepEqual(elementsIn('<pre>a</pre></pre><p id="mark">'), ['p id mark']);
    assert.deepEqual(elementsIn('<!-- a --><preface><p id="mark">'), ['p id mark']);
  });
});

describe('scripts', () => {
  it('scripts in markup are those that run', () => {
    for (const type of ['', ' type="module"', ' type=text/javascript', ' type="application/x-javascript"'])
      assert.deepEqual(read(`<script${type}>mark</script>`).scripts, ['mark'], type);
    for (const type of [' type="application/json"', ' type=text/template', " type='importmap'"])
      assert.deepEqual(read(`<script${type}>mark</script>`).scripts, [], type);
    assert.deepEqual(read('<pre><script>mark</script></pre><script>other</script>').scripts, []);
  });
});

describe('text', () => {
  it('text of markup is what a visitor reads, with its entities and white space as they show', () => {
    const { text, textLength } = read(
      '<title>no</title><p>Reference&#32;&#35;18&#46;2d <b>is&nbsp;here</b>\n\n  &amp; &#x2026;</p><script>no</script><style>no</style>',
    );
    assert.equal(text, 'Reference #18.2d is here & …');
    assert.equal(textLength, text.length + 1);
  });

  it('text of markup is counted little further than its limit', () => {
    const { text, textLength } = read(`<p>${'word '.repeat(100_000)}`);
    assert.equal(text.length, textLimit);
    assert.ok(textLength > textLimit && textLength < 5 * textLimit);
  });

  it('reaching the text limit does not end the search for marks', () =>
    assert.equal(elementsIn(`<p>${'word '.repeat(20_000)}</p><i id="mark">`).length, 1));
});
