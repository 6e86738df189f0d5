import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import convert from './convert.ts';
import type { ContentOptions, ContentResult } from './content.ts';

const page = async (html: string, overrides: Partial<ContentOptions> = {}): Promise<ContentResult> =>
  convert({
    html,
    url: 'https://www.shop.example/dir/page?q=1',
    formats: [],
    onlyMainContent: false,
    includeSelectors: [],
    excludeSelectors: [],
    extract: null,
    ...overrides,
  });

const paragraph = '<p class="say">It says this at length, with commas, and so on, and on. <a href="more">More</a></p>';
const article = `<div class="top"><a href="/">Home</a></div><article><h1>The article</h1>${paragraph.repeat(20)}</article>`;

describe('frames', () => {
  const srcdoc = (html: string): string => `<iframe srcdoc="${html.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"></iframe>`;

  it('frames have the document that stands in the page in their place, for each format', async () => {
    const inner = '<h2>Tasks</h2><p class=b>Write. <a href="x">Apply</a></p><table><tr><th>Tea<tr><td>Mint</table>';
    const { markdown, text, links, tables, json, framesLeftOut } = await page(`<p>One ${srcdoc(inner)} two</p><p>Three</p>`, {
      formats: ['markdown', 'text', 'links', 'tables'],
      extract: { fields: { own: { selector: 'iframe .b' }, first: { selector: 'p' }, last: { selector: 'body > p:last-of-type' } } },
    });
    assert.match(
      markdown ?? '',
      /^One\n\n## Tasks\n\nWrite\. \[Apply\]\(https:[^)]*\/dir\/x\)\n\n\| Tea \|\n.*\n\| Mint \|\n\ntwo\n\nThree$/,
    );
    assert.match(text ?? '', /^One\s+Tasks\s+Write\. Apply\s+Tea\s+Mint\s+two\s+Three$/);
    assert.deepEqual([links?.length, tables?.length, framesLeftOut], [1, 1, 0]);
    assert.deepEqual([json?.['own'], json?.['last']], ['Write. Apply', 'Three']);
    assert.match(String(json?.['first']), /^One\s+Tasks\s+Write\. Apply\s+Tea\s+Mint\s+two$/);
  });

  it('frames within frames are read, and counted where they are deeper, more, or only an address', async () => {
    const nested = (depth: number): string => (depth === 0 ? '<p>deep</p>' : `<p>${depth}</p>${srcdoc(nested(depth - 1))}`);
    const of = async (html: string) => {
      const { text, framesLeftOut } = await page(html, { formats: ['text'] });
      return [text?.split(/\s+/).join(' '), framesLeftOut];
    };
    assert.deepEqual(await of(nested(5)), ['5 4 3 2 1 deep', 0]);
    assert.deepEqual(await of(nested(7)), ['7 6 5 4 3 2', 1]);
    const [text, leftOut] = await of(srcdoc('<p>word</p>').repeat(60));
    assert.deepEqual([String(text).split(' ').length, leftOut], [50, 10]);
    assert.deepEqual(await of('a<iframe src="/x"></iframe><frameset><frame src=y></frameset><iframe data-src="/z"></iframe>'), ['a', 2]);
    assert.deepEqual(await of('<frameset><frame src=y><frame src="/z"></frameset>'), ['', 2]);
  });

  it('frames that are not visible are left out without a warning', async () => {
    const unseen = [
      '<iframe src="/x" width=1 height=1></iframe>',
      '<iframe src="/x" style="display:none"></iframe>',
      '<div hidden><iframe src="/x"></iframe></div>',
      '<iframe srcdoc="<p>gone</p>" hidden></iframe>',
      '<iframe srcdoc=" "></iframe>',
      '<iframe src="about:blank"></iframe>',
    ];
    for (const html of unseen) {
      const { text, framesLeftOut } = await page(`seen ${html}`, { formats: ['text'] });
      assert.deepEqual([text, framesLeftOut], ['seen', 0], html);
    }
  });

  it("frames are not in HTML and metadata, which are the document's alone", async () => {
    const { html, page: meta } = await page(
      `<title>t</title><div><p>a</p>${srcdoc('<title>u</title><meta name=description content=d>')}</div>`,
      {
        formats: ['html', 'metadata'],
        includeSelectors: ['div'],
      },
    );
    assert.match(html ?? '', /^<div><p>a<\/p><iframe srcdoc="[^"]+"><\/iframe><\/div>$/);
    assert.deepEqual([meta?.title, meta?.description], ['t', null]);
  });
});

describe('markdown', () => {
  const markdown = async (html: string): Promise<string | undefined> => (await page(html, { formats: ['markdown'] })).markdown;

  it('markdown has headings, lists, tables, code and absolute links', async () => {
    assert.equal(
      await markdown(
        '<title>t</title><h1>A</h1><p>b <a href="../c">c</a> <img src=i.png alt=i></p><ul><li>x<ul><li>y</ul></ul><table><tr>' +
          '<th>h|1<th>h2<tr><td>1<td>2</table><pre><code>a\n  b</code></pre><dl><dt>d<dd>e</dl>',
      ),
      '# A\n\nb [c](https://www.shop.example/c) ![i](https://www.shop.example/dir/i.png)\n\n- x\n  - y\n\n| h\\|1 | h2 |\n| ---' +
        ' | --- |\n| 1 | 2 |\n\n```\na\n  b\n```\n\nd: e',
    );
  });

  it('markdown resolves links against the base of the page', async () => {
    assert.equal(await markdown('<head><base href="//cdn.example/b/"></head><a href=x>x</a>'), '[x](https://cdn.example/b/x)');
    assert.equal(await markdown('<head></head><body><p><base href="https://late.example/"><a href=x>x</a>'), '[x](https://late.example/x)');
  });

  it('markdown omits what is not displayed', async () => {
    const hidden =
      '<script>s</script><style>c</style><template>t</template><noscript>n</noscript><p hidden>h</p>' +
      '<div style="color:red;display: none">d</div>';
    assert.equal(await markdown(`<p>a</p>${hidden}<p>b</p>`), 'a\n\nb');
    assert.equal(
      await markdown(`<p>a</p>${hidden}<div style="DISPLAY :none">e</div><dialog>f</dialog><dialog open>g</dialog><p>b</p>`),
      'a\n\ng\n\nb',
    );
    assert.equal(await markdown('<body style="display:none"><p>a</p><p hidden>b</p></body>'), 'a');
  });
});

describe('a long address of the page', () => {
  it('a long address of a page is not prepended to a million links', async () => {
    const { markdown, links, warnings } = await page(
      `<head><base href="https://a.example/${'x'.repeat(8000)}/"></head>${'<a href=y>z</a>'.repeat(10_000)}` +
        Array.from({ length: 1000 }, (_, index) => `<a href=${index}>n</a>`).join(''),
      {
        formats: ['markdown', 'links'],
      },
    );
    assert.ok((markdown?.length ?? 0) < 1_000_000);
    assert.ok((links?.length ?? 0) < 1000);
    assert.deepEqual(warnings, ['links_cut', 'links_left_relative']);
  });
});

describe('text', () => {
  const text = async (html: string): Promise<string | undefined> => (await page(html, { formats: ['text'] })).text;

  it('text has one line per block, a blank line between paragraphs, tabs between cells', async () => {
    const html =
      '<title>no</title><h1>A\n  b</h1><p>c <b>d</b>e<br>f<br><br><br>g</p><div>h</div><div>i&nbsp;j</div><ul><li>k<ul><li>l' +
      '</ul><li>m</ul><table><tr><td>1<td>2<tr><td><td>4</table><pre> x\n  y</pre>z';
    assert.equal(await text(html), 'A b\n\nc de\nf\n\ng\n\nh\ni j\n\nk\nl\nm\n\n1\t2\n\t4\n\n x\n  y\n\nz');
  });

  it('text keeps the cells of a row on its line, the empty ones before the last word too', async () => {
    assert.equal(
      await text('<table><tr><td><p>1</p></td><td></td><td><div>3</div></td><td></td></tr><tr><td>4</td></tr></table><p>5</p>'),
      '1\t\t3\n4\n\n5',
    );
  });

  it('text keeps numbers and names what they are where they have superscripts and subscripts', async () => {
    assert.equal(await text('<p>10<sup>6</sup> cells, CO<sub>2</sub>, x<sup>n+1</sup>, 5 m<sup>−2</sup>'), '10⁶ cells, CO₂, xⁿ⁺¹, 5 m⁻²');
    assert.equal(
      await text('a claim.<sup>12</sup> the 1<sup>st</sup>, Acme<sup>TM</sup>, it<sup><a href="#c">[3]</a></sup>'),
      'a claim.¹² the 1st, AcmeTM, it[3]',
    );
    assert.equal(await text('2<span style="vertical-align: super">8</span> = 256, x<sub>i</sub>'), '2⁸ = 256, x_i');
  });

  it('text keeps apart what inline styles display apart', async () => {
    assert.equal(await text('<div style="display:flex"><span>Price</span><b>49 EUR</b></div>'), 'Price\n49 EUR');
    assert.equal(
      await text('<p><span style="display: block">Street 1</span><span style="display:block">10115 Berlin</span>'),
      'Street 1\n10115 Berlin',
    );
    assert.equal(await text('<p>Total<span style="float:right">7</span>, <b style="display:inline-block">bo</b>ld'), 'Total 7, bold');
  });

  it('text keeps the lines of preformatted text, however they are marked up', async () => {
    assert.equal(
      await text('<p style="white-space: pre-line">a  b\n  c</p><p style="white-space:pre-wrap">d\n  e</p>'),
      'a b\nc\n\nd\n  e',
    );
    assert.equal(await text('<pre><div>a</div><div>  b</div></pre>'), 'a\n  b');
    assert.equal(
      await text('<pre><span style="display:block">a</span>\n<span style="display:block">  b\n</span><i>c</i>\n</pre>d'),
      'a\n  b\nc\n\nd',
    );
  });

  it('text omits what is not displayed', async () => {
    assert.equal(
      await text('a<script>b</script><p hidden>c</p><p style="display:none">d</p><svg><title>e</title></svg><!-- f --><iframe>g</iframe>'),
      'a',
    );
  });
});

describe('links', () => {
  it('links are absolute, each once with its first text, and marked internal or not', async () => {
    const { links } = await page(
      '<a href="a#x"></a><a href="a#x" rel="nofollow me"> Two\n words </a><a href="https://other.shop.example/">o</a>' +
        '<a href="https://shop.example.org">e</a><a href="mailto:a@b">m</a><a href="javascript:1">j</a><a href="http://[">bad</a><map>' +
        '<area href=/m alt=area></map><a href=/i><img alt=pic></a><a hidden href=/h>h</a><a name=n>n</a>',
      { formats: ['links'] },
    );
    assert.deepEqual(links, [
      { url: 'https://www.shop.example/dir/a#x', text: 'Two words', rel: null, internal: true },
      { url: 'https://other.shop.example/', text: 'o', rel: null, internal: true },
      { url: 'https://shop.example.org/', text: 'e', rel: null, internal: false },
      { url: 'https://www.shop.example/m', text: 'area', rel: null, internal: true },
      { url: 'https://www.shop.example/i', text: 'pic', rel: null, internal: true },
      { url: 'https://www.shop.example/h', text: 'h', rel: null, internal: true },
    ]);
  });

  it('links compare hosts without a registrable domain and hosts under a private suffix as a whole', async () => {
    const internal = async (url: string, href: string): Promise<boolean | undefined> =>
      (await page(`<a href="${href}">x</a>`, { url, formats: ['links'] })).links?.[0]?.internal;
    assert.equal(await internal('http://127.0.0.1:1/', 'http://127.0.0.1:2/'), true);
    assert.equal(await internal('http://127.0.0.1/', 'http://127.0.0.2/'), false);
    assert.equal(await internal('http://localhost/', 'http://localhost:9/x'), true);
    assert.equal(await internal('http://a.github.io/', 'http://b.github.io/'), false);
    assert.equal(await internal('http://a.b.co.uk/', 'https://c.b.co.uk/'), true);
  });

  it('links are cut, with a warning', async () => {
    const { links, warnings } = await page(
      Array.from({ length: 10_050 }, (_, index) => `<a href="/${index}">${'x'.repeat(600)}</a>`).join(''),
      {
        formats: ['links'],
      },
    );
    assert.equal(links?.length, 10_000);
    assert.equal(links?.[0]?.text.length, 500);
    assert.deepEqual(warnings, ['links_cut']);
  });
});

describe('metadata', () => {
  const metadataOf = async (html: string) => page(html, { formats: ['metadata'] });

  it('metadata has what a page declares', async () => {
    const {
      page: result,
      title,
      warnings,
    } = await metadataOf(
      `<html lang=de-AT><head><title> A\n b </title><meta name=Description content=" d "><link rel="canonical" href="/c">
      <link rel="shortcut icon" href="f.ico"><meta property="og:title" content="one"><meta property="og:title" content="two">` +
        `<meta name="twitter:card" content="s"></head>
      <body><script type="application/ld+json">{"@type":"Thing"}</script><script type="application/ld+json"><!-- [1,"a
      b"] --></script><script type="application/ld+json">{nope}</script>`,
    );
    assert.equal(title, 'A b');
    assert.deepEqual(result, {
      title: 'A b',
      description: 'd',
      language: 'de-AT',
      canonical: 'https://www.shop.example/c',
      favicon: 'https://www.shop.example/dir/f.ico',
      open_graph: { 'og:title': 'one', 'twitter:card': 's' },
      json_ld: [{ '@type': 'Thing' }, [1, 'a       b']],
    });
    assert.deepEqual(warnings, ['json_ld_invalid']);
  });

  it('metadata is null for what a page does not declare', async () => {
    assert.deepEqual(await metadataOf('<svg><title>drawing</title></svg><p>x'), {
      title: '',
      framesLeftOut: 0,
      warnings: [],
      page: {
        title: null,
        description: null,
        language: null,
        canonical: null,
        favicon: 'https://www.shop.example/favicon.ico',
        open_graph: {},
        json_ld: [],
      },
    });
  });

  it('metadata has the title wherever it stands', async () => {
    assert.equal((await page('<p>x</p><title>late</title>')).title, 'late');
    assert.equal((await page('<head><script>"<body>"</script><title>after</title></head><body>')).title, 'after');
  });

  it('metadata has JSON-LD in comments and CDATA sections, and with errors that browsers forgive', async () => {
    const blocks = [
      '<!-- {"a":1} -->',
      '<!--\n{"a":1}\n//-->',
      '//<![CDATA[\n{"a":1}\n//]]>',
      '// <![CDATA[ {"a":1} // ]]>',
      '/* <![CDATA[ */ {"a":1} /* ]]> */',
      '<![CDATA[{"a":1}]]>',
      '{"a":1,}',
      '{"a":1 , \n } ;',
      '/* a note */ {"a": 1 // one\n }',
    ];
    for (const block of blocks) {
      const { page: result, warnings } = await metadataOf(`<script type="application/ld+json">${block}</script>`);
      assert.deepEqual([result?.json_ld, warnings], [[{ a: 1 }], []], block);
    }
    const text = '{"url":"https://a.example/*x*/","list":["a, ]","<!--b-->",],"quote":"\\\\\\",}",}';
    const { page: result } = await metadataOf(`<script type="application/ld+json">${text}</script>`);
    assert.deepEqual(result?.json_ld, [{ url: 'https://a.example/*x*/', list: ['a, ]', '<!--b-->'], quote: '\\",}' }]);
    const { warnings } = await metadataOf(
      '<script type="application/ld+json">{"a":1,,}</script><script type="application/ld+json">/*</script>',
    );
    assert.deepEqual(warnings, ['json_ld_invalid']);
  });

  it('metadata has absolute addresses for social networks', async () => {
    const metas =
      '<base href="/shop/"><meta property="og:image" content="i.png"><meta property="og:url" content="/a"><meta name="twitter:image:src" content="//cdn.example/t.png">' +
      '<meta property="og:video:secure_url" content="https://v.example/v"><meta property="og:image:alt" content="i.png"><meta property="og:title" content="/a">';
    assert.deepEqual((await metadataOf(metas)).page?.open_graph, {
      'og:image': 'https://www.shop.example/shop/i.png',
      'og:url': 'https://www.shop.example/a',
      'twitter:image:src': 'https://cdn.example/t.png',
      'og:video:secure_url': 'https://v.example/v',
      'og:image:alt': 'i.png',
      'og:title': '/a',
    });
  });

  it('metadata skips JSON that is nested too deep', async () => {
    const { page: result, warnings } = await metadataOf(
      `<script type="application/ld+json">${'['.repeat(5000)}${']'.repeat(5000)}</script>`,
    );
    assert.deepEqual([result?.json_ld, warnings], [[], ['json_ld_invalid']]);
  });
});

describe('tables', () => {
  const tables = async (html: string) => page(html, { formats: ['tables'] });

  it('tables repeat a cell over all that it spans', async () => {
    const { tables: result } = await tables(
      '<table><caption>C</caption><thead><tr><th rowspan=2>N<th colspan=2>Y<tr><th>a<th>b<tbody><tr><td rowspan=0>x' +
        '<td colspan=2>1<tr><td>2<td>3<tfoot><tr><td>s</table>',
    );
    assert.deepEqual(result, [{ caption: 'C', headers: ['N', 'Y a', 'Y b'], rows: [['x', '1', '1'], ['x', '2', '3'], ['s']] }]);
  });

  it('tables use a first row of header cells as the headers', async () => {
    assert.deepEqual((await tables('<table><tr><th>a<th>b<tr><th>1<td>2</table>')).tables, [
      { caption: null, headers: ['a', 'b'], rows: [['1', '2']] },
    ]);
    assert.deepEqual((await tables('<table><tr><th>a<td>b</table>')).tables, [{ caption: null, headers: [], rows: [['a', 'b']] }]);
  });

  it('nested tables are separate', async () => {
    const { tables: result } = await tables('<table><tr><td>o<table><tr><td>i</table><td>p</table><table><tr><td>l</table>');
    assert.deepEqual(
      result?.map(({ rows }) => rows),
      [[['o', 'p']], [['i']], [['l']]],
    );
  });

  it('tables are cut, with a warning', async () => {
    const many = await tables('<table><tr><td>x</table>'.repeat(201));
    assert.deepEqual([many.tables?.length, many.warnings], [200, ['tables_cut']]);
    const long = await tables(`<table>${'<tr><td>x'.repeat(10_001)}</table>`);
    assert.deepEqual([long.tables?.[0]?.rows.length, long.warnings], [10_000, ['table_rows_cut']]);
    const wide = await tables(`<table>${'<tr><td colspan=1000 rowspan=65534>x'.repeat(500)}</table>`);
    assert.ok((wide.tables?.[0]?.rows.flat().length ?? 0) <= 201_000);
    assert.deepEqual(wide.warnings, ['table_rows_cut']);
  });
});

describe('the selection', () => {
  const formats = ['html', 'markdown', 'text', 'links'] as const;

  it('the selection is the unchanged page by default', async () => {
    const html = '<!doctype html><p CLASS=a>x<script>1</script>';
    assert.equal((await page(html, { formats: ['html', 'text'] })).html, html);
  });

  it('the selection of an include selector is the outermost matches, in the order of the page', async () => {
    const html = '<div id=a>1<p>2</p></div><i>3</i><p>4 <b>5</b></p>';
    const result = await page(html, { formats, includeSelectors: ['p', '#a', 'b'] });
    assert.equal(result.html, '<div id="a">1<p>2</p></div><p>4 <b>5</b></p>');
    assert.equal(result.text, '1\n\n2\n\n4 5');
    const none = await page(html, { formats, includeSelectors: ['h1'] });
    assert.deepEqual(
      [none.html, none.markdown, none.text, none.links, none.warnings],
      ['', '', '', [], ['include_selectors_matched_nothing']],
    );
  });

  it('the selection omits what is excluded', async () => {
    const { html, text } = await page('<p>a <b class=x>b</b></p><nav>n</nav>', { formats, excludeSelectors: ['.x', 'nav'] });
    assert.equal(html, '<html><head></head><body><p>a </p></body></html>');
    assert.equal(text, 'a');
  });

  it('the selection of the main content is the main content', async () => {
    const own = await page(`<!doctype html><title>x</title><style>p{}</style>${article}`, {
      formats,
      onlyMainContent: true,
      excludeSelectors: ['h1', 'b'],
    });
    assert.match(own.html ?? '', /It says this at length/);
    assert.doesNotMatch(own.html ?? '', /Home|The article/);
    assert.deepEqual(own.links, [{ url: 'https://www.shop.example/dir/more', text: 'More', rel: null, internal: true }]);
    assert.deepEqual(own.warnings, []);
  });

  it('the selection of the main content is the whole page, with a warning, where there is no main content', async () => {
    const { text, warnings } = await page('<title>t</title>', { formats, onlyMainContent: true });
    assert.deepEqual([text, warnings], ['', ['main_content_not_found']]);
  });

  it('the selection does not affect metadata and extraction', async () => {
    const { page: metadata, json } = await page('<title>t</title><h1>h</h1><p>x</p>', {
      formats: ['metadata', 'html'],
      includeSelectors: ['p'],
      extract: { fields: { h: { selector: 'h1' } } },
    });
    assert.deepEqual([metadata?.title, json], ['t', { h: 'h' }]);
  });
});

describe('any input', () => {
  const formats = ['html', 'markdown', 'text', 'links', 'metadata', 'tables'] as const;
  const fragmentPool = [
    '<table>',
    '<tr>',
    '<td rowspan=0 colspan=3>',
    '</table>',
    '<p>',
    '</p>',
    '<b>',
    '<svg>',
    '<title>',
    '<a href="',
    '">',
    '<!--',
    '-->',
    '<![CDATA[',
    '\0',
    '&#0;',
    '<base href=x:y>',
    '<select>',
    '<template>',
    '<script>',
    '</script>',
    'text ',
    '\ud800',
    '<frameset>',
    '<plaintext>',
    '<form>',
    '<math><mi>',
    'é',
  ];

  it('a conversion of any input returns a result', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...fragmentPool), { maxLength: 40 }),
        fc.constantFrom('https://a.example/', 'about:blank', 'data:text/html,x', ''),
        async (fragments, url) => {
          const { text, markdown } = await page(fragments.join(''), { formats, url, excludeSelectors: ['i'] });
          assert.equal(typeof text, 'string');
          assert.equal(typeof markdown, 'string');
        },
      ),
      { numRuns: 150 },
    );
  });

  it('the input of a conversion may be nested deeper than any stack', async () => {
    const { text, markdown, html } = await page(`<title>t</title>${'<i>a'.repeat(3000)}`, { formats, excludeSelectors: ['u'] });
    assert.equal(text?.length, 3000);
    assert.equal(markdown?.replace(/[^a]/g, '').length, 3000);
    assert.equal(html?.split('<i>').length, 3001);
  });
});
