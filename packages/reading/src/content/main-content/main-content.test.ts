import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contentPages } from '../../../../../tests/main-content/corpus.ts';
import { meanScore, scorePage } from '../../../../../tests/main-content/score.ts';
import convert from '../convert.ts';
import type { ContentResult } from '../conversion.ts';

const mainOf = (html: string, url = 'https://a.example/dir/'): ContentResult =>
  convert({
    html,
    url,
    formats: ['text', 'markdown', 'html'],
    onlyMainContent: true,
    includeSelectors: [],
    excludeSelectors: [],
    extract: null,
  });

const sentence = 'It says this at length, with commas, and so on, and on, until nobody doubts it any more. ';
const paragraphs = `<p>${sentence.repeat(3)}</p>`.repeat(6);

describe('the main content of pages with ground truth', () => {
  const results = contentPages.map((page) => ({ page, text: mainOf(page.html, page.url).text ?? '' }));

  // The halves have no template in common; rules were made on the tuned one only. The score is that of `npm run bench -- content`.
  for (const half of ['tuned', 'unseen'] as const) {
    it(`the main content of pages with ground truth scores at least 0.966 on the ${half} half`, (t) => {
      const own = results.filter(({ page }) => page.half === half);
      assert.ok(own.length >= 30, `${own.length} pages`);
      const { precision, recall, f1 } = meanScore(own.map(({ page, text }) => scorePage(text, page)));
      t.diagnostic(`F1 ${f1.toFixed(4)}, precision ${precision.toFixed(4)}, recall ${recall.toFixed(4)}`);
      assert.ok(f1 >= 0.966, `F1 ${f1}, precision ${precision}, recall ${recall}`);
    });
  }

  it('the main content has the heading of every page with ground truth', () => {
    assert.deepEqual(
      results.filter(({ page, text }) => !text.startsWith(page.heading)).map(({ page }) => page.name),
      [],
    );
  });

  it('the main content of short pages with ground truth has no navigation', () => {
    for (const { page, text } of results.filter(({ page: { kind } }) => kind === 'short')) {
      assert.deepEqual(scorePage(text, page), { precision: 1, recall: 1 }, page.name);
    }
  });
});

describe('the main content', () => {
  it('the main content of a short page is all but its navigation, with its heading', () => {
    const { markdown, warnings } = mainOf(
      '<title>Opening hours</title><nav><a href="/">Home</a> <a href="/c">Contact</a></nav><main><h1>Opening hours</h1><p>Open daily.</p><p>Closed on Monday.</p></main>',
    );
    assert.deepEqual([markdown, warnings], ['# Opening hours\n\nOpen daily.\n\nClosed on Monday.', []]);
  });

  it('the main content keeps the heading of the first level, also when it is the title', () => {
    const long = (head: string): string => mainOf(`<title>The harbour opens</title>${head}${paragraphs}</article>`).markdown ?? '';
    assert.match(long('<article><h1>The harbour opens</h1>'), /^# The harbour opens\n\nIt says/);
    assert.match(long('<header><h1>The harbour opens</h1></header><article>'), /^# The harbour opens\n\nIt says/);
    assert.match(long('<h1 class="logo"><a href="/">Paper</a></h1><article><h1>The harbour opens</h1>'), /^# The harbour opens\n\nIt says/);
    assert.match(long('<article><h2>The harbour opens</h2>'), /^## The harbour opens\n\nIt says/);
    assert.match(long('<article><h1>The harbour opens<a href="#top">¶</a></h1>'), /^# The harbour opens\n\nIt says/);
  });

  it('the main content keeps headings, notes, code and check boxes as they are', () => {
    const { markdown = '' } = mainOf(
      `<main><article><h1>A</h1>${paragraphs}<h1>B</h1><aside class="admonition note"><p>Mind the gap between the quay and the boat.</p></aside>` +
        `<pre><code>x = 1</code></pre><ul><li><input type="checkbox" checked> rope, coiled and dry</ul>${paragraphs}</article></main>`,
    );
    for (const part of [/^# A$/m, /^# B$/m, /Mind the gap/, /```\nx = 1\n```/, /^- \[x\] rope, coiled/m]) assert.match(markdown, part);
  });

  it('the main content omits what accompanies an article', () => {
    const { text = '' } = mainOf(
      `<div id="wrap"><div class="header"><nav><a href="/">Home</a></nav></div><div class="post"><h1>A title of the page</h1><p class="byline">By Ann</p>${paragraphs}` +
        `<figure><img src="/i.jpg" alt="i"><figcaption>A caption of the picture</figcaption></figure>${paragraphs}` +
        `<div class="relatedPosts"><h3>Read on</h3><p>Another story that stands elsewhere at length.</p></div>` +
        `<h3>More</h3><ul><li><a href="/1">One more story</a><li><a href="/2">Two more stories</a><li><a href="/3">Three more stories</a></ul></div>` +
        `<footer>All rights reserved</footer></div>`,
    );
    assert.match(text, /It says this at length/);
    assert.doesNotMatch(text, /Home|By Ann|caption|Another story|more stor|Read on|More|rights/);
  });

  it('the main content keeps what is named like an accompaniment, but is most of the page', () => {
    const comments = Array.from({ length: 8 }, (_, at) => `<div class="comment"><p>Answer ${at}. ${sentence.repeat(2)}</p></div>`).join('');
    const { text = '' } = mainOf(`<nav><a href="/">Home</a></nav><main><h1>How do I tie this knot?</h1>${comments}</main>`);
    for (let at = 0; at < 8; at += 1) assert.match(text, new RegExp(`Answer ${at}\\.`));
    assert.doesNotMatch(text, /Home/);
  });

  it('the main content has absolute addresses, and the page is not changed', () => {
    const { html = '' } = mainOf(`<article><h1>A</h1><p><a href="../x">x</a> <img src="i.png"></p>${paragraphs}</article>`);
    assert.match(html, /href="https:\/\/a.example\/x".*src="https:\/\/a.example\/dir\/i.png"/s);
  });

  it('the main content is found in any markup', () => {
    for (const html of [
      '<o:p>x</o:p><a<b>y',
      '<svg><title/>a</svg>b',
      `<p style="display">${sentence}`,
      '<p =x "y" a:b="c">z',
      '<template><p>q</template>w',
    ])
      assert.equal(typeof mainOf(`<body>${html}${paragraphs}`).text, 'string', html);
  });
});
