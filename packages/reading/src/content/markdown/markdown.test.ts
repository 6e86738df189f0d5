import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { dropHidden, parse, type Parent } from '../dom.ts';
import { markLayout } from '../main-content/layout.ts';
import { dropCodeFurniture } from './code.ts';
import { toMarkdown } from './markdown.ts';
import { markMath } from './math.ts';
import { Warnings } from '../conversion.ts';

const base = 'https://a.example/dir/';

function markdownOf(html: string): string {
  const root = parse(html).root()[0] as Parent;
  markLayout(root);
  markMath(root);
  dropHidden(root);
  dropCodeFurniture(root);
  return toMarkdown(root, base, new Warnings());
}

function assertMarkdown(cases: readonly (readonly [html: string, markdown: string])[]): void {
  for (const [html, markdown] of cases) assert.equal(markdownOf(html), markdown, html);
}

describe('text', () => {
  it('text in Markdown gets no blank before links or inside words', () => {
    assertMarkdown([
      ['<p>(<a href="/x">here</a>), and “<a href="/x">there</a>”.', '([here](https://a.example/x)), and “[there](https://a.example/x)”.'],
      ['<p>un<b>believ</b>able<sup>2</sup>, H<sub>2</sub>O', 'un**believ**able<sup>2</sup>, H<sub>2</sub>O'],
      ['<p>wo<span>rd</span> wo<wbr>rd <i>wo</i>rd', 'word word *wo*rd'],
      ['<p>汉字<a href="/x">链接</a>汉字<b>粗</b>体', '汉字[链接](https://a.example/x)汉字**粗**体'],
    ]);
  });

  it('text in Markdown keeps the blanks that a page has, outside of the marks', () => {
    assertMarkdown([
      ['<p>a <b> b </b> c<i> d</i>', 'a **b** c *d*'],
      ['<p>a<b> </b>b <i></i> c', 'a b c'],
      ['<p><b>one</b><strong>two</strong> <s>x</s>', '**onetwo** ~~x~~'],
      ['<p>a &nbsp; b<br>c<br><br>d', 'a b  \nc\n\nd'],
    ]);
  });

  it('text in Markdown is escaped where it would be read as Markdown, and nowhere else', () => {
    assertMarkdown([
      ['<p>1 * 2 * 3, snake_case_name, a < b, A&B, [1], C#', '1 * 2 * 3, snake_case_name, a < b, A&B, [1], C#'],
      ['<p>*not* _this_ `or` this', '\\*not\\* \\_this\\_ \\`or\\` this'],
      ['<p># 1<p>- x<p>1. y<p>> z<p>1.5', '\\# 1\n\n\\- x\n\n1\\. y\n\n\\> z\n\n1.5'],
      ['<p>[a](b) &lt;script> &amp;copy; ~~x', '[a\\](b) \\<script> \\&copy; ~~x'],
      ['<p>Look!<a href="/x">x</a>', 'Look\\![x](https://a.example/x)'],
    ]);
  });
});

describe('punctuation of the page', () => {
  it('punctuation of the page begins no block in Markdown', () => {
    assertMarkdown([
      ['<p>1) first<br>+ plus<br>- minus<br>* star<br>2. dot', '1\\) first  \n\\+ plus  \n\\- minus  \n\\* star  \n2. dot'],
      ['<p>===<p>a<br>===<p>b<br>-<p>- - -<p>_ _ _', '===\n\na  \n\\===\n\nb  \n\\-\n\n\\- - -\n\n\\_ _ _'],
      ['<p>a | b<br>--- | ---<p>c<br>:-:', 'a | b  \n\\--- | ---\n\nc  \n\\:-:'],
      ['<p>[x]: /u "t"<p>see [x]: y<p>~~~<p>&lt;div<p>#5 #', '\\[x]: /u "t"\n\nsee [x]: y\n\n\\~~~\n\n\\<div\n\n#5 #'],
      ['<h2>C #</h2><h3>1. # x</h3>', '## C \\#\n\n### 1. # x'],
      ['<ul><li>[x] not a task<li>[1] note', '- \\[x] not a task\n- [1] note'],
    ]);
  });

  it('punctuation of the page is escaped in pairs only', () => {
    assertMarkdown([
      ['<p>* * ** aims*', '\\* * ** aims*'],
      ['<p>5*3 and ~20 and a_ and `', '5*3 and ~20 and a_ and `'],
      ['<p>2*3*4 ~~x~~ `a` <b>x</b>*', '2\\*3\\*4 \\~\\~x\\~\\~ \\`a\\` **x**\\*'],
      ['<p>Sign: ______ a &lt; b &amp; c &lt;d', 'Sign: ______ a < b & c <d'],
      ['<p><span>*</span>not<span>*</span> <i>[</i>x](y)', '\\*not\\* <em>[</em>x\\](y)'],
      ['<p><a href="/x">a ] b</a> <a href="/y">[1]</a>', '[a \\] b](https://a.example/x) [[1]](https://a.example/y)'],
    ]);
  });
});

describe('what stands side by side', () => {
  it('neighbours in the page stay apart in Markdown: code, brackets in a link, emphasis and lines of a cell', () => {
    assertMarkdown([
      ['<p><kbd>Ctrl</kbd><kbd>C</kbd> <span><code>a</code></span><code>b</code>', '`Ctrl`<wbr>`C` `a`<wbr>`b`'],
      ['<p><a href="/x">see [a](b)</a>', '[see \\[a\\](b)](https://a.example/x)'],
      ['<table><tr><th>a **<br>b**<tr><td>*<br>*', '| a \\*\\*<br>b\\*\\* |\n| --- |\n| \\*<br>\\* |'],
      ['<p><s>a</s>~~~b~~~', '~~a~~\\~\\~\\~b\\~\\~\\~'],
    ]);
  });

  it('a paragraph ends before a list that does not begin with 1', () => {
    assertMarkdown([
      ['<p>a</p><ol start=7><li><br></li><li>b</ol>', 'a\n\n8. b'],
      ['<ul><li>a<ol start=7><li><ul><li>b</ul></ol></ul>', '- a\n\n  7. - b'],
      ['<ul><li>a<ul><li>b</ul></ul>', '- a\n  - b'],
      ['<ul><li>a<li><br></ul><table><tr><th>b</table>', '- a\n\n| b |\n| --- |'],
      ['<p>Choose <select><option>One<option selected>Two</select> here', 'Choose Two here'],
    ]);
  });
});

describe('emphasis', () => {
  it('emphasis beside punctuation is read as emphasis', () => {
    assertMarkdown([
      ['<p><b>注意：</b>正文', '**注意**：正文'],
      ['<p>前文<strong>「台湾」</strong>主題', '前文<strong>「台湾」</strong>主題'],
      ['<p><b>Note:</b>next <i>(a)</i>b <s>c.</s>d', '**Note**:next <em>(a)</em>b <del>c.</del>d'],
      ['<p>x<b><a href="/y">y</a></b>z', 'x<strong>[y](https://a.example/y)</strong>z'],
    ]);
  });

  it('emphasis that touches other emphasis, or ends a paragraph, stays what it is', () => {
    assertMarkdown([
      ['<p><i>a</i><i>b</i> <b>c</b><i>d</i>', '*ab* **c**<em>d</em>'],
      ['<p><b>a<br><br>b</b> c', '**a**\n\n**b** c'],
      ['<p><b><i>a</i></b> <b>x <i>y</i></b>', '***a*** **x *y***'],
    ]);
  });
});

describe('formulas', () => {
  const mathml =
    '<math><mfrac><mn>1</mn><mi>x</mi></mfrac><mo>+</mo><msubsup><mi>a</mi><mi>i</mi><mn>2</mn></msubsup><msqrt><mi>n</mi></msqrt></math>';

  it('formulas are in Markdown once, as TeX', () => {
    assertMarkdown([
      [`<p>A ${mathml} b`, 'A $`\\frac{1}{x}+a_i^2\\sqrt{n}`$ b'],
      [
        '<p>A <span class="katex"><span class="katex-mathml"><math><semantics><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></semantics></math></span><span class="katex-html" aria-hidden="true">x2</span></span>',
        'A $`x^2`$',
      ],
      [
        `<p>A <mjx-container><mjx-math aria-hidden="true"></mjx-math><mjx-assistive-mml>${mathml}</mjx-assistive-mml></mjx-container>`,
        'A $`\\frac{1}{x}+a_i^2\\sqrt{n}`$',
      ],
      [
        '<p>A <span class="MathJax_Preview"></span><span class="MathJax"><nobr>x2</nobr></span><script type="math/tex">x_1*y_2</script> b <script type="math/tex">z</script>',
        'A $`x_1*y_2`$ b $`z`$',
      ],
      ['<p>A <math alttext="\\alpha"><mi>α</mi></math>', 'A $`\\alpha`$'],
      [
        '<p>A <span class="mwe-math-element"><span style="display: none"><math><semantics><mi>E</mi><annotation encoding="application/x-tex">E=mc^{2}</annotation></semantics></math></span><img src="/e.svg" alt="E=mc^{2}"></span>',
        'A $`E=mc^{2}`$',
      ],
    ]);
  });

  it('displayed formulas have a block of their own', () => {
    assertMarkdown([
      ['<p>A <math display="block"><mi>x</mi></math> b', 'A\n\n```math\nx\n```\n\nb'],
      [
        '<p>A</p><div class="MathJax_Display"><span class="MathJax">xx</span></div><script type="math/tex; mode=display">x\\\\y</script><p>b',
        'A\n\n```math\nx\\\\y\n```\n\nb',
      ],
    ]);
  });
});

describe('headings', () => {
  it('headings are on one line, whatever they hold', () => {
    assertMarkdown([
      ['<h1>One<br>two</h1>', '# One two'],
      ['<h2><div>A</div><div>b <em>c</em></div></h2>', '## A b *c*'],
      ['<h3>x<a href="#x" class="anchor">#</a></h3><h4></h4><h6>y</h6>', '### x\n\n###### y'],
    ]);
  });

  it('headings within a link become links themselves', () => {
    assertMarkdown([
      ['<a href="/n"><h3>News</h3><p>Summary</p></a>', '### [News](https://a.example/n)\n\nSummary'],
      ['<a href="/n"><div><img src="/i.png" alt="i"></div><p>S</p></a>', '[![i](https://a.example/i.png)](https://a.example/n)\n\nS'],
    ]);
  });
});

describe('code', () => {
  it('code in Markdown has fences longer than the backticks in it', () => {
    assertMarkdown([
      ['<pre><code>```\nx\n```</code></pre>', '````\n```\nx\n```\n````'],
      ['<p><code>a`b</code> and <code>`c</code>', '``a`b`` and `` `c ``'],
    ]);
  });

  it('code in Markdown keeps its lines and its language', () => {
    assertMarkdown([
      ['<pre><code class="language-ts">a\n\n  b\n</code></pre>', '```ts\na\n\n  b\n```'],
      ['<div class="highlight-python"><div class="highlight"><pre>x</pre></div></div>', '```python\nx\n```'],
      ['<pre><span class="line">a</span><br><span>b</span></pre><pre><div>c</div><div>d</div></pre>', '```\na\nb\n```\n\n```\nc\nd\n```'],
      ['<ul><li>x<pre>a\nb</pre></ul>', '- x\n\n  ```\n  a\n  b\n  ```'],
    ]);
  });
});

describe('code as the known highlighters show it', () => {
  const code = (language: string): string => `\`\`\`${language}\ngit fetch\n\ngit status\n\`\`\``;

  it('code of the known highlighters has neither line numbers nor buttons', () => {
    assertMarkdown([
      // Chroma, with numbers in the line and in a column.
      [
        '<pre class="chroma"><code class="language-sh"><span class="ln">1</span>git fetch\n<span class="ln">2</span>\n<span class="ln">3</span>git status\n</code></pre>',
        code('sh'),
      ],
      [
        '<div class="highlight"><div class="chroma"><table class="lntable"><tr><td class="lntd"><pre class="chroma"><code><span class="lnt">1\n</span><span class="lnt">2\n</span><span class="lnt">3\n</span></code></pre></td><td class="lntd"><pre class="chroma"><code class="language-sh" data-lang="sh">git fetch\n\ngit status\n</code></pre></td></tr></table></div></div>',
        code('sh'),
      ],
      // The plugin of highlight.js.
      [
        '<pre><code class="hljs language-sh"><table class="hljs-ln"><tr><td class="hljs-ln-line hljs-ln-numbers" data-line-number="1"><div class="hljs-ln-n" data-line-number="1">1</div></td><td class="hljs-ln-line hljs-ln-code">git fetch</td></tr><tr><td class="hljs-ln-numbers" data-line-number="2">2</td><td class="hljs-ln-code">\n</td></tr><tr><td class="hljs-ln-numbers" data-line-number="3">3</td><td class="hljs-ln-code">git status</td></tr></table></code></pre>',
        code('sh'),
      ],
      // Prism with its toolbar.
      [
        '<div class="code-toolbar"><pre class="line-numbers language-sh"><code class="line-numbers language-sh">git fetch\n\ngit status<span aria-hidden="true" class="line-numbers-rows"><span></span><span></span></span></code></pre><div class="toolbar"><div class="toolbar-item"><button class="copy-to-clipboard-button"><span>Copy</span></button></div></div></div>',
        code('sh'),
      ],
      // VitePress with Shiki.
      [
        '<div class="language-sh line-numbers-mode"><button title="Copy Code" class="copy"></button><span class="lang">sh</span><pre class="shiki"><code><span class="line"><span>git fetch</span></span>\n<span class="line"></span>\n<span class="line"><span>git status</span></span></code></pre><div class="line-numbers-wrapper" aria-hidden="true"><span class="line-number">1</span><br><span class="line-number">2</span><br><span class="line-number">3</span></div></div>',
        code('sh'),
      ],
      // Docusaurus: its lines are blocks with a break in each.
      [
        '<div class="language-sh"><pre class="prism-code language-sh"><code><span class="token-line" style="display:block"><span class="codeLineNumber_x">1</span><span>git fetch</span><br></span><span class="token-line" style="display:block"><span></span><br></span><span class="token-line" style="display:block"><span>git status</span><br></span></code></pre><div class="buttonGroup"><button aria-label="Copy code to clipboard" class="clean-btn">Copy</button></div></div>',
        code('sh'),
      ],
      // GitHub's view of a file.
      [
        '<table class="highlight js-file-line-container"><tr><td id="L1" class="blob-num js-line-number" data-line-number="1"></td><td class="blob-code">git fetch</td></tr><tr><td class="blob-num" data-line-number="2"></td><td class="blob-code">\n</td></tr><tr><td class="blob-num" data-line-number="3"></td><td class="blob-code">git status</td></tr></table>',
        code(''),
      ],
      // Rouge.
      [
        '<div class="language-sh highlighter-rouge"><div class="highlight"><pre class="highlight"><code><table class="rouge-table"><tbody><tr><td class="rouge-gutter gl"><pre class="lineno">1\n2\n3\n</pre></td><td class="rouge-code"><pre>git fetch\n\ngit status\n</pre></td></tr></tbody></table></code></pre></div></div>',
        code('sh'),
      ],
      // Pygments in Sphinx, with both kinds of numbers.
      [
        '<div class="highlight-sh notranslate"><div class="highlight"><table class="highlighttable"><tr><td class="linenos"><div class="linenodiv"><pre><span class="normal">1</span>\n<span class="normal">2</span>\n3</pre></div></td><td class="code"><div><pre>git fetch\n\ngit status\n</pre></div></td></tr></table></div></div>',
        code('sh'),
      ],
      [
        '<div class="highlight-sh"><div class="highlight"><pre><span class="linenos"> 1</span>git fetch\n<span class="linenos"> 2</span>\n<span class="linenos"> 3</span>git status\n</pre><button class="copybtn o-tooltip--left">Copy</button></div></div>',
        code('sh'),
      ],
    ]);
  });

  it('code keeps numbers and buttons that are its content', () => {
    assertMarkdown([
      ['<pre><span class="line">1</span>\n<span class="line">2</span></pre>', '```\n1\n2\n```'],
      ['<pre>a</pre><p>b <button>Send</button></p>', '```\na\n```\n\nb Send'],
      ['<table><tr><td>1<td>x<tr><td>2<td>y</table>', '| 1 | x |\n| --- | --- |\n| 2 | y |'],
    ]);
  });
});

describe('lines of code', () => {
  it('lines of code are those that are displayed', () => {
    assertMarkdown([
      ['<p>Run <code>cd app<br>npm test</code> now', 'Run `cd app`  \n`npm test` now'],
      [
        '<pre class="shiki"><code><span style="display:block">alpha()</span><span style="display:block">  beta()</span></code></pre>',
        '```\nalpha()\n  beta()\n```',
      ],
      ['<pre><div>a</div><div><br></div><div>b</div></pre>', '```\na\n\nb\n```'],
      ['<code style="display:block;white-space:pre">a\n  b</code>', '```\na\n  b\n```'],
      ['<p style="white-space:pre-wrap">Dear all,\n\n  thanks\n<b>Ann</b></p>', 'Dear all,\n\n\u00a0\u00a0thanks  \n**Ann**'],
    ]);
  });
});

describe('links and images', () => {
  it('links and images that show an icon have its name and their address', () => {
    assertMarkdown([
      ['<a href="/g" aria-label="GitHub"><svg></svg></a>', '[GitHub](https://a.example/g)'],
      ['<a href="/g"><svg><title>GitHub</title></svg></a>', '[GitHub](https://a.example/g)'],
      ['<a href="/g" title="Feed"><i class="icon"></i></a>', '[Feed](https://a.example/g)'],
      ['<a href="/g"><i></i></a>', '<https://a.example/g>'],
      ['<a href="/g"><img src="i.png" alt="I"></a>', '[![I](https://a.example/dir/i.png)](https://a.example/g)'],
    ]);
  });

  it('links and images have their real address', () => {
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
  it('lists nest, count and hold blocks', () => {
    assertMarkdown([
      ['<ol start="3"><li>a<li><p>b</p><p>c</p></ol>', '3. a\n4. b\n\n   c'],
      ['<ul><li>a<ol><li>b<ul><li>c</ul></ol><li>d</ul>', '- a\n  1. b\n     - c\n- d'],
      ['<ul><li>a</li><ul><li>b</li></ul></ul>', '- a\n  - b'],
      ['<blockquote><p>a<ul><li>b<li>c</ul></blockquote>', '> a\n>\n> - b\n> - c'],
    ]);
  });

  it('lists have the numbers of the page, also where they are not in turn', () => {
    assertMarkdown([
      ['<ol reversed><li>a<li>b<li>c</ol>', '3. a\n2) b\n1. c'],
      ['<ol><li>a<li value="7">b<li>c</ol>', '1. a\n7) b\n8) c'],
      ['<ol><li>a</ol><ol><li>b</ol><p>c</p><ol><li>d</ol>', '1. a\n\n1) b\n\nc\n\n1. d'],
      ['<ul><li>a<ol start="4"><li>b</ol></ul>', '- a\n\n  4. b'],
      ['<ol start="-1"><li>a<li>b</ol>', '- a\n0. b'],
    ]);
  });

  it('lists of tasks show what is done', () => {
    assertMarkdown([
      ['<ul><li><input type="checkbox" checked disabled> done<li><label><input type=checkbox>open</label></ul>', '- [x] done\n- [ ] open'],
      ['<ul><li>text <input type=checkbox></ul>', '- text'],
    ]);
  });
});

describe('tables', () => {
  it('tables in Markdown hold lists, paragraphs and breaks in one line', () => {
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

  it('tables may be nested, and layout tables are recognized', () => {
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

describe('what inline styles display apart', () => {
  it('what inline styles display apart is apart in Markdown', () => {
    assertMarkdown([
      [
        '<div style="display:flex"><span>Price</span><a href="/b">Buy</a><button>Later</button></div>',
        'Price\n\n[Buy](https://a.example/b)\n\nLater',
      ],
      ['<p><b style="display:block">Street 1</b><span style="display:block">10115 Berlin</span>', '**Street 1**\n\n10115 Berlin'],
      [
        '<p>See <a href="/d" style="display:inline-flex"><i></i><span>the</span><span>docs</span></a>.',
        'See [the docs](https://a.example/d).',
      ],
      [
        '<table><tr><th>a<th>b<tr><td style="display:flex"><span>1</span><span>2</span><td>3</table>',
        '| a | b |\n| --- | --- |\n| 1<br>2 | 3 |',
      ],
    ]);
  });
});

describe('details', () => {
  it('the content of details follows their summary', () => {
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

  it('the Markdown of any page keeps all its words', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 40 }), (html) => {
        const words = html.filter((piece) => piece === 'w' || piece === '*x*').length;
        assert.equal(markdownOf(html.join('')).match(/w|\*x\\?\*/g)?.length ?? 0, words, html.join(''));
      }),
      { numRuns: 300 },
    );
  });

  it('the conversion of any page to Markdown takes no more than linear time and space', () => {
    const deep = markdownOf(`${'<ul><li>'.repeat(250)}${'x<p>'.repeat(20_000)}`);
    assert.ok(deep.length < 2_000_000, `${deep.length}`);
    const emphasis = markdownOf(`${'<b><i><s><q>'.repeat(100)}${'x '.repeat(100_000)}`);
    assert.ok(emphasis.length < 300_000, `${emphasis.length}`);
    const spans = markdownOf(`<table><tr><th>a${'<tr><td colspan=1000 rowspan=65534>x'.repeat(2000)}</table>`);
    assert.ok(spans.length < 1_000_000, `${spans.length}`);
  });
});
