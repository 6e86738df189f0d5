import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import convert from '../convert.ts';

function markdownOf(html: string, onlyMainContent = false): string {
  const options = {
    html,
    url: 'https://www.site.example/dir/',
    formats: ['markdown'] as const,
    includeSelectors: [],
    excludeSelectors: [],
  };
  return convert({ ...options, onlyMainContent, extract: null }).markdown ?? '';
}
const at = (path: string): string => `https://www.site.example${path}`;

describe('a picture that is loaded late', () => {
  it('a picture that is loaded late has the address that its loader will use, in any attribute of loaders', () => {
    const attributes =
      'data-src data-original data-lazy-src data-lazyload data-actualsrc data-srv data-img-src data-echo data-hi-res-src data-orig-file';
    for (const name of attributes.split(' ')) assert.equal(markdownOf(`<img ${name}="/a?id=1" alt=a>`), `![a](${at('/a?id=1')})`, name);
    assert.equal(markdownOf('<img data-any-loader="/a.jpg?w=9" alt=a>'), `![a](${at('/a.jpg?w=9')})`);
    assert.equal(markdownOf('<img data-fallback="/no.jpg" data-src-thumb="/small.jpg" alt=a>'), 'a');
  });

  it('a placeholder of a picture that is loaded late is not used', () => {
    for (const src of ['data:image/gif;base64,R0lGOD', '#', '', 'about:blank', '/img/blank.gif', '/lazy-placeholder.svg'])
      assert.equal(markdownOf(`<img src="${src}" data-src="/a.jpg" alt=a>`), `![a](${at('/a.jpg')})`, src);
    assert.equal(markdownOf('<img src="/real.jpg" data-src="/other.jpg" alt=a>'), `![a](${at('/real.jpg')})`);
  });

  it('a picture that is loaded late has the largest address of a set, its own or of the sources around it', () => {
    assert.equal(markdownOf('<img data-lazy-srcset="/s.jpg 1x, /l.jpg 2x" alt=a>'), `![a](${at('/l.jpg')})`);
    assert.equal(markdownOf('<picture><source data-srcset="/w.avif 900w, /n.avif 300w"><img alt=a></picture>'), `![a](${at('/w.avif')})`);
    assert.equal(markdownOf('<img src="data:," srcset="/a.jpg 320w, /b.jpg 640w" alt=a>'), `![a](${at('/b.jpg')})`);
  });

  it('a picture that is loaded late has the address that readers without scripts get', () => {
    const twin = '<noscript><img src="/n.jpg" alt="n"></noscript>';
    assert.equal(markdownOf(`<div><img alt=n src="data:image/svg+xml,x">${twin}</div>`), `![n](${at('/n.jpg')})`);
    assert.equal(markdownOf(`<div>${twin}<img alt=n></div>`), `![n](${at('/n.jpg')})`);
    assert.equal(markdownOf(`<figure><picture><img alt=n></picture>${twin}</figure>`), `![n](${at('/n.jpg')})`);
    assert.equal(markdownOf(`<div><div class=lazy></div>${twin}</div>`), `![n](${at('/n.jpg')})`);
    assert.equal(markdownOf(`<div><img alt=o src="/own.jpg">${twin}</div>`), `![o](${at('/own.jpg')})`);
    assert.equal(markdownOf('<div>text<noscript><img src="/visit" width=1 height=1></noscript></div>'), 'text');
    assert.equal(markdownOf(`<body>text${twin}`), 'text');
  });

  it('a picture that is loaded late stays in the main content', () => {
    const text = `<p>${'The harbour office keeps a ledger, for every quay, and for every ship. '.repeat(20)}</p>`;
    const html = `<nav>Menu</nav><article><h1>Quays</h1>${text}<p><img alt=n><noscript><img src="/n.jpg" alt=n></noscript></p>${text}</article>`;
    assert.match(markdownOf(html, true), /!\[n\]\(https:\/\/www\.site\.example\/n\.jpg\)/);
  });
});

describe('what a page embeds', () => {
  it('what a page embeds becomes a link, with its title or the name of its file', () => {
    const embeds: [string, string][] = [
      ['<iframe src="https://video.example/embed/abc" title="Intro film"></iframe>', '[Intro film](https://video.example/embed/abc)'],
      ['<iframe src="about:blank" data-src="https://video.example/e/1"></iframe>', '[1](https://video.example/e/1)'],
      ['<video src="/film.mp4" title="Film"></video>', `[Film](${at('/film.mp4')})`],
      ['<video><source src="/a%20b.webm"><source src="/b.mp4">No films here.</video>', `[a b.webm](${at('/a%20b.webm')})`],
      ['<audio controls aria-label="Talk"><source src="/talk.mp3"></audio>', `[Talk](${at('/talk.mp3')})`],
      ['<object data="/plan.pdf" type="application/pdf"><p>Get a reader.</p></object>', `[plan.pdf](${at('/plan.pdf')})`],
      ['<object><param name="movie" value="/old.swf"></object>', `[old.swf](${at('/old.swf')})`],
      ['<object data="/drawing.svg" type="image/svg+xml" title="Drawing"></object>', `![Drawing](${at('/drawing.svg')})`],
      ['<embed src="/song.mid">', `[song.mid](${at('/song.mid')})`],
      ['<lite-youtube videoid="abc" playlabel="Play: Tides"></lite-youtube>', '[Play: Tides](https://www.youtube.com/watch?v=abc)'],
      ['<iframe src="https://maps.example/"></iframe>', '[maps.example](https://maps.example/)'],
    ];
    for (const [html, markdown] of embeds) assert.equal(markdownOf(`<p>x</p>${html}<p>y</p>`), `x\n\n${markdown}\n\ny`, html);
    assert.equal(
      markdownOf(
        embeds
          .slice(2, 4)
          .map(([html]) => html)
          .join(''),
      ),
      `[Film](${at('/film.mp4')})\n\n[a b.webm](${at('/a%20b.webm')})`,
    );
  });

  it('what a page embeds is left out where nobody sees it or nothing can be opened', () => {
    const hidden = [
      '<iframe src="https://count.example/" width="0" height="0"></iframe>',
      '<iframe src="https://count.example/" style="display: none"></iframe>',
      '<iframe src="https://count.example/" hidden></iframe>',
      '<iframe src="javascript:void 0"></iframe>',
      '<video src="blob:https://a.example/1"></video>',
      '<noscript><iframe src="https://tags.example/"></iframe></noscript>',
      '<video></video>',
    ];
    for (const html of hidden) assert.equal(markdownOf(`<p>x</p>${html}`), 'x', html);
  });

  it('what a page embeds stays in the main content', () => {
    const text = `<p>${'The harbour office keeps a ledger, for every quay, and for every ship. '.repeat(20)}</p>`;
    const film = '<figure><div class="wrapper"><iframe src="https://video.example/embed/abc" title="Intro film"></iframe></div></figure>';
    const html = `<nav>Menu</nav><article><h1>Quays</h1>${text}${film}${text}</article>`;
    assert.match(markdownOf(html, true), /\n\[Intro film\]\(https:\/\/video\.example\/embed\/abc\)\n/);
  });
});
