import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readOutline } from './outline.ts';

const titleOf = (html: string): string => readOutline(html).title;

describe('the title', () => {
  it('the title of an outline is the first title’s text, with its entities, in one line', () => {
    assert.equal(titleOf('<!doctype html><head><TITLE lang="a>b">Tides &amp;\n  &#x74;imes</TITLE><title>other</title>'), 'Tides & times');
    assert.equal(titleOf(`<title>${'x'.repeat(5000)}`), 'x'.repeat(2000));
  });

  it('the title of an outline is not read from a comment, a script, an attribute or a picture', () => {
    for (const html of [
      '<!-- <title>a</title> -->',
      '<script>"<title>a</title>"</script>',
      '<p data-x="<title>a">',
      '<svg><title>a</title></svg>',
      '<titles>a',
    ])
      assert.equal(titleOf(html), '', html);
  });
});

describe('the visible text', () => {
  it('the visible text of an outline is counted in the body, without markup and with one space for many', () => {
    assert.equal(readOutline('<head>no</head><body> a  <b>bc</b>\n<!-- no --><svg>no</svg>d e </body>').visibleChars, 6);
  });
});

describe('scripts and refreshes', () => {
  it('scripts and refreshes of an outline are real elements, not text of others', () => {
    const { hasScript, refreshes } = readOutline('<textarea><script></script><meta http-equiv=refresh></textarea><!-- <script> -->');
    assert.deepEqual([hasScript, refreshes], [false, []]);
  });
});
