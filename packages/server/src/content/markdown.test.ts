import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { dropHidden, parse, type Parent } from './dom.ts';
import { toMarkdown } from './markdown.ts';
import { Warnings } from './model.ts';

const base = 'https://a.example/dir/';

function markdownOf(html: string): string {
  const root = parse(html).root()[0] as Parent;
  dropHidden(root);
  return toMarkdown(root, base, new Warnings());
}

function assertMarkdown(cases: readonly (readonly [html: string, markdown: string])[]): void {
  for (const [html, markdown] of cases) assert.equal(markdownOf(html), markdown, html);
}

describe('text', () => {
  it('gets no blank before links or inside words', () => {
    assertMarkdown([
      ['<p>(<a href="/x">here</a>), and “<a href="/x">there</a>”.', '([here](https://a.example/x)), and “[there](https://a.example/x)”.'],
      ['<p>un<b>believ</b>able<sup>2</sup>, H<sub>2</sub>O', 'un**believ**able2, H2O'],
      ['<p>wo<span>rd</span> wo<wbr>rd <i>wo</i>rd', 'word word *wo*rd'],
      ['<p>汉字<a href="/x">链接</a>汉字<b>粗</b>体', '汉字[链接](https://a.example/x)汉字**粗**体'],
    ]);
  });

  it('keeps the blanks that a page has, outside of the marks', () => {
    assertMarkdown([
      ['<p>a <b> b </b> c<i> d</i>', 'a **b** c *d*'],
      ['<p>a<b> </b>b <i></i> c', 'a b c'],
      ['<p><b>one</b><strong>two</strong> <s>x</s>', '**onetwo** ~~x~~'],
      ['<p>a &nbsp; b<br>c<br><br>d', 'a b  \nc\n\nd'],
    ]);
  });

  it('is escaped where it would be read as Markdown, and nowhere else', () => {
    assertMarkdown([
      ['<p>1 * 2 * 3, snake_case_name, a < b, A&B, [1], C#', '1 * 2 * 3, snake_case_name, a < b, A&B, [1], C#'],
      ['<p>*not* _this_ `or` this', '\\*not\\* \\_this\\_ \\`or\\` this'],
      ['<p># 1<p>- x<p>1. y<p>> z<p>1.5', '\\# 1\n\n\\- x\n\n1\\. y\n\n\\> z\n\n1.5'],
      ['<p>[a](b) &lt;script> &amp;copy; ~~x', '[a\\](b) \\<script> \\&copy; \\~~x'],
      ['<p>Look!<a href="/x">x</a>', 'Look\\![x](https://a.example/x)'],
    ]);
  });
});

describe('headings', () => {
  it('are on one line, whatever they hold', () => {
    assertMarkdown([
      ['<h1>One<br>two</h1>', '# One two'],
      ['<h2><div>A</div><div>b <em>c</em></div></h2>', '## A b *c*'],
      ['<h3>x<a href="#x" class="anchor">#</a></h3><h4></h4><h6>y</h6>', '### x\n\n###### y'],
    ]);
  });

  it('within a link link themselves', () => {
    assertMarkdown([
      ['<a href="/n"><h3>News</h3><p>Summary</p></a>', '### [News](https://a.example/n)\n\nSummary'],
      ['<a href="/n"><div><img src="/i.png" alt="i"></div><p>S</p></a>', '[![i](https://a.example/i.png)](https://a.example/n)\n\nS'],
    ]);
  });
});

describe('code', () => {
  it('has fences longer than what it holds', () => {
    assertMarkdown([
      ['<pre><code>```\nx\n```</code></pre>', '````\n```\nx\n```\n````'],
      ['<p><code>a`b</code> and <code>`c</code>', '``a`b`` and `` `c ``'],
    ]);
  });

  it('keeps its lines and its language', () => {
    assertMarkdown([
      ['<pre><code class="language-ts">a\n\n  b\n</code></pre>', '```ts\na\n\n  b\n```'],
      ['<div class="highlight-python"><div class="highlight"><pre>x</pre></div></div>', '```python\nx\n```'],
      ['<pre><span class="line">a</span><br><span>b</span></pre><pre><div>c</div><div>d</div></pre>', '```\na\nb\n```\n\n```\nc\nd\n```'],
      ['<ul><li>x<pre>a\nb</pre></ul>', '- x\n\n  ```\n  a\n  b\n  ```'],
    ]);
  });
});

describe('links and images', () => {
  it('that show an icon have its name and their address', () => {
    assertMarkdown([
      ['<a href="/g" aria-label="GitHub"><svg></svg></a>', '[GitHub](https://a.example/g)'],
      ['<a href="/g"><svg><title>GitHub</title></svg></a>', '[GitHub](https://a.example/g)'],
      ['<a href="/g" title="Feed"><i class="icon"></i></a>', '[Feed](https://a.example/g)'],
      ['<a href="/g"><i></i></a>', '<https://a.example/g>'],
      ['<a href="/g"><img src="i.png" alt="I"></a>', '[![I](https://a.example/dir/i.png)](https://a.example/g)'],
    ]);
  });

  it('have their real address', () => {
    assertMarkdown([
      ['<img src="data:image/gif;base64,R0l" data-src="/real.jpg" alt="a">', '![a](https://a.example/real.jpg)'],
      ['<img src="/img/placeholder.png" data-original="/real.jpg">', '![](https://a.example/real.jpg)'],
      ['<img srcset="/s.jpg 300w, /l.jpg 1200w, /m.jpg 600w" alt="b">', '![b](https://a.example/l.jpg)'],
      [
        '<picture><source srcset="/p.webp 2x, /q.webp 1x"><img src="data:image/svg+xml,x" alt="c"></picture>',
        '![c](https://a.example/p.webp)',
      ],
      ['<img src="data:image/png;base64,AAAA" alt="only data"><img src="/t.gif" width="1" height="1">', 'only data'],
      [
        '<a href="https://b.example/a_(b)">x</a> <a href="https://b.example/a)">y</a>',
        '[x](https://b.example/a_(b)) [y](https://b.example/a%29)',
      ],
      ['<a href="javascript:go()">x</a> <a>y</a>', 'x y'],
    ]);
  });
});

describe('lists', () => {
  it('nest, count and hold blocks', () => {
    assertMarkdown([
      ['<ol start="3"><li>a<li><p>b</p><p>c</p></ol>', '3. a\n4. b\n\n   c'],
      ['<ul><li>a<ol><li>b<ul><li>c</ul></ol><li>d</ul>', '- a\n  1. b\n     - c\n- d'],
      ['<ul><li>a</li><ul><li>b</li></ul></ul>', '- a\n  - b'],
      ['<blockquote><p>a<ul><li>b<li>c</ul></blockquote>', '> a\n>\n> - b\n> - c'],
    ]);
  });

  it('of tasks show what is done', () => {
    assertMarkdown([
      ['<ul><li><input type="checkbox" checked disabled> done<li><label><input type=checkbox>open</label></ul>', '- [x] done\n- [ ] open'],
      ['<ul><li>text <input type=checkbox></ul>', '- text'],
    ]);
  });
});

describe('tables', () => {
  it('hold lists, paragraphs and breaks in one line', () => {
    assertMarkdown([
      [
        '<table><tr><th>a<th>b<tr><td><ul><li>x<li>y</ul><td>1<br>2<p>3|4</p></table>',
        '| a | b |\n| --- | --- |\n| - x<br>- y | 1<br>2<br>3\\|4 |',
      ],
      [
        '<table><tr><th>a<th>b<th>c<tr><td colspan=2>1<td>2<tr><td rowspan=2>3<td>4<td>5<tr><td>6<td>7</table>',
        '| a | b | c |\n| --- | --- | --- |\n| 1 |  | 2 |\n| 3 | 4 | 5 |\n|  | 6 | 7 |',
      ],
    ]);
  });

  it('may be nested, and may only arrange the page', () => {
    assertMarkdown([
      ['<table><tr><td>x<table><tr><th>a<th>b<tr><td>1<td>2</table></table>', 'x\n\n| a | b |\n| --- | --- |\n| 1 | 2 |'],
      [
        '<table><tr><th>h<th>i<tr><td>x<td><table><tr><td>1<td>2<tr><td>3<td>4</table></table>',
        '| h | i |\n| --- | --- |\n| x | 1, 2<br>3, 4 |',
      ],
      ['<table role="presentation"><tr><td>a<td><h2>b</h2></table>', 'a\n\n## b'],
      ['<table><caption>C</caption><tr><td>1<td>2</table>', 'C\n\n| 1 | 2 |\n| --- | --- |'],
    ]);
  });
});

describe('details', () => {
  it('follow their summary', () => {
    assertMarkdown([['<details><summary>More</summary><p>a<ul><li>b</ul></details>', '**More**\n\na\n\n- b']]);
  });
});

describe('any page', () => {
  const pieces = [
    '<ul>',
    '<li>',
    '</ul>',
    '<b>',
    '</b>',
    '<a href=x>',
    '</a>',
    '<p>',
    '<table>',
    '<tr>',
    '<td colspan=2>',
    '</table>',
    '<pre>',
    '`',
    '*x*',
    ' ',
    'w',
    '<br>',
    '<blockquote>',
    '</blockquote>',
    '<h2>',
    '</h2>',
    '<img src=y>',
    '<details>',
    '<summary>',
  ];

  it('keeps all its words', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 40 }), (html) => {
        const words = html.filter((piece) => piece === 'w' || piece === '*x*').length;
        assert.equal(markdownOf(html.join('')).match(/w|\*x\\?\*/g)?.length ?? 0, words, html.join(''));
      }),
      { numRuns: 300 },
    );
  });

  it('takes no more than linear time and space', () => {
    const deep = markdownOf(`${'<ul><li>'.repeat(250)}${'x<p>'.repeat(20_000)}`);
    assert.ok(deep.length < 2_000_000, `${deep.length}`);
    const emphasis = markdownOf(`${'<b><i><s><q>'.repeat(100)}${'x '.repeat(100_000)}`);
    assert.ok(emphasis.length < 300_000, `${emphasis.length}`);
    const spans = markdownOf(`<table><tr><th>a${'<tr><td colspan=1000 rowspan=65534>x'.repeat(2000)}</table>`);
    assert.ok(spans.length < 1_000_000, `${spans.length}`);
  });
});
