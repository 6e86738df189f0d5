/** Templates of the half that no rule was made on. */
import { escape } from './markup.ts';
import { interrupted, titleOf, type Template } from './template.ts';

/** Each paragraph in a block of its own, with lists of links between them. */
const blocks: Template = (parts) => {
  const { text, markup, around: a } = parts;
  const wrap = (name: string, html: string): string =>
    `<div data-component="${name}-block" class="ssrcss-1a"><div class="ssrcss-2b">${html}</div></div>`;
  const body = text.blocks.map((block) => wrap(block.kind, markup.block(block)));
  body.splice(4, 0, wrap('links', a.headlines(3)));
  return `<div id="root"><div><header role="banner"><div>${a.links(9)}</div></header><div class="ssrcss-9x"><main id="main-content"><article>
<header data-component="headline-block"><h1 id="main-heading" tabindex="-1">${titleOf(parts)}</h1></header>${wrap('byline', `<div>${escape(text.author)}</div><div>${a.label()}</div><time>${text.date}</time>`)}
${body.join('\n')}<section data-component="tag-list"><h2>Related Topics</h2>${a.menu(4)}</section></article>
<div data-component="related-stories"><h2>More on this story</h2>${a.cards(3)}</div></main><section aria-label="Top stories"><h2>Top stories</h2>${a.headlines(4)}</section><section><h2>Most read</h2><ol>${[1, 2, 3, 4, 5].map(() => `<li><a href="/m">${a.headline()}</a></li>`).join('')}</ol></section></div>
<footer role="contentinfo">${a.footer()}</footer></div></div>${a.scripts()}`;
};

/** The headline in a hero outside of the story. */
const hero: Template = (parts) => {
  const { text, around: a } = parts;
  return `${a.scripts()}<div class="site-wrap"><div class="utility-nav">${a.links(6)}</div><div class="hero" style="background:#222"><div class="hero-inner"><div class="section-label">${a.label()}</div><h1>${titleOf(parts)}</h1></div></div>
<div class="story-grid"><div class="story-tools">${a.share()}</div><div class="story-body">${a.byline(text)}${interrupted(parts, () => `<div class="inline-offer"><p>${a.sentence()}</p><p><a href="/o">${a.label()}</a></p></div>`, 3)}
<p class="correction-note"><em>${a.sentence()}</em></p></div><div class="story-rail">${a.promo()}<div class="rail-list"><h4>${a.label()}</h4>${a.headlines(7)}</div></div></div>
<div class="recirculation">${a.cards(8)}</div>${a.comments(3)}<div class="site-foot">${a.footer()}</div></div>${a.cookies()}`;
};

const amp: Template = (parts) => {
  const { text, around: a } = parts;
  return `<amp-sidebar id="s" layout="nodisplay"><nav>${a.menu(11)}</nav></amp-sidebar><header class="amp-bar"><a href="/">${a.label()}</a></header>
<article class="amp-article"><h1 class="amp-title">${titleOf(parts)}</h1><p class="amp-author">${escape(text.author)} — ${text.date}</p><amp-social-share type="email"></amp-social-share>
<div class="amp-body">${interrupted(parts, () => `<div class="amp-advert"><span>Advertisement</span><amp-ad width="300" height="250"></amp-ad></div>`, 2)}</div></article>
<section class="amp-related"><h2>${a.label()}</h2>${a.headlines(5)}</section><amp-consent id="c"><div>${a.sentence()}<button>OK</button></div></amp-consent><footer>${a.footer()}</footer>`;
};

const material: Template = (parts) => {
  const { text, markup, around: a } = parts;
  return `<header class="md-header"><nav class="md-header__inner">${a.links(4)}</nav></header><div class="md-container"><nav class="md-tabs">${a.menu(5)}</nav><main class="md-main"><div class="md-main__inner md-grid">
<div class="md-sidebar md-sidebar--primary"><div class="md-sidebar__scrollwrap"><nav class="md-nav md-nav--primary">${a.menu(20)}</nav></div></div>
<div class="md-sidebar md-sidebar--secondary"><nav class="md-nav md-nav--secondary"><label class="md-nav__title">Table of contents</label>${a.contents(text)}</nav></div>
<div class="md-content"><article class="md-content__inner md-typeset"><a href="/edit" title="Edit this page" class="md-content__button md-icon"><svg viewBox="0 0 24 24"><path d="M1 1"/></svg></a>
<h1 id="top">${titleOf(parts)}</h1>${markup.blocks(text.blocks)}<aside class="md-source-file"><span>${text.date}</span></aside>
<form class="md-feedback" name="feedback"><fieldset><legend class="md-feedback__title">Was this page helpful?</legend><button type="submit">Yes</button></fieldset></form></article></div></div></main>
<footer class="md-footer"><nav class="md-footer__inner">${a.links(2)}</nav><div class="md-footer-meta">${a.sentence()}</div></footer></div>`;
};

/** Documentation of utility classes only. */
const utility: Template = (parts) => {
  const { text, markup, around: a } = parts;
  return `<div class="flex flex-col min-h-screen"><div class="sticky top-0 z-40 flex">${a.links(6)}<button>⌘K</button></div><div class="flex"><div class="w-64 hidden lg:block overflow-y-auto">${a.menu(18)}</div>
<div class="flex-1 px-8"><div class="text-sm text-gray-500">${a.label()}</div><h1 class="text-3xl font-bold">${titleOf(parts)}</h1><div class="prose max-w-none">${markup.blocks(text.blocks)}</div>
<div class="flex justify-between mt-12 border-t"><a href="/p">← ${a.headline()}</a><a href="/n">${a.headline()} →</a></div></div>
<div class="w-56 hidden xl:block"><p class="font-semibold">On this page</p>${a.contents(text)}</div></div><div class="border-t py-8">${a.footer()}</div></div>`;
};

const blogger: Template = (parts) => {
  const { text, markup, around: a } = parts;
  return `<div class="content-outer"><div class="header-outer"><div class="titlewrapper"><p class="title"><a href="/">${a.label()}</a></p></div></div><div class="tabs-outer">${a.menu(5)}</div>
<div class="main-outer"><div class="column-center-outer"><div class="main section" id="main"><div class="widget Blog" id="Blog1"><div class="blog-posts hfeed"><div class="date-outer"><h2 class="date-header"><span>${text.date}</span></h2>
<div class="post-outer"><div class="post hentry"><h1 class="post-title entry-title">${titleOf(parts)}</h1><div class="post-body entry-content">${markup.blocks(text.blocks)}</div>
<div class="post-footer"><span class="post-author">Posted by ${escape(text.author)}</span> <span class="post-labels">Labels: ${a.links(3)}</span></div></div><div class="comments" id="comments"><h4>2 comments:</h4>${a.comments(2)}</div></div></div></div></div></div></div>
<div class="column-right-outer"><div class="sidebar section"><div class="widget Profile"><h2>About Me</h2><p>${a.sentence()}</p></div><div class="widget BlogArchive"><h2>Blog Archive</h2>${a.headlines(9)}</div></div></div></div><div class="footer-outer">${a.links(2)} ${a.sentence()}</div></div>`;
};

const reader: Template = (parts) => {
  const { text, markup, around: a } = parts;
  return `<div id="root"><div class="a b c"><div class="d e">${a.links(3)}<button>Open in app</button></div><article><div class="l"><section><div><div class="fj fk"><h1 class="pw-post-title">${titleOf(parts)}</h1>
<div class="speechify"><div><a href="/@x">${escape(text.author)}</a><button>Follow</button></div><span>5 min read · ${text.date}</span></div><div class="claps"><button>214</button><button>Listen</button><button>Share</button></div>
${markup.blocks(text.blocks)}</div></div></section></div></article><div class="tags">${a.links(4)}</div>
<div class="written-by"><h2>Written by ${escape(text.author)}</h2><p>${a.sentence()}</p><button>Follow</button></div><div class="m n"><h2>More from ${escape(text.author)}</h2>${a.cards(4)}</div><div class="o p"><h2>Recommended</h2>${a.cards(4)}</div><div class="q">${a.links(8)}</div></div></div>`;
};

const minimal: Template = (parts) => {
  const { text, markup, around: a } = parts;
  return `<div class="header"><a href="/">${a.label()}</a> ${a.links(3)}</div><main><h1>${titleOf(parts)}</h1><p class="info">${text.date} — ${a.links(1)}</p>${markup.blocks(text.blocks)}
<p><a href="mailto:x@y.example?subject=Re">Reply by e-mail</a></p></main><footer><p>${a.sentence()}</p></footer>`;
};

const storefront: Template = (parts) => {
  const { text, markup, around: a } = parts;
  return `<div id="shopify-section-announcement-bar"><p>${a.sentence()}</p></div><div id="shopify-section-header"><header class="header-wrapper">${a.menu(6)}</header></div>
<main id="MainContent" class="content-for-layout"><section id="shopify-section-template--main" class="section"><div class="page-width"><div class="product grid"><div class="grid__item product__media-wrapper"><img src="/a.jpg" alt=""></div>
<div class="product__info-wrapper grid__item"><p class="product__text caption-with-letter-spacing">${a.label()}</p><div class="product__title"><h1>${titleOf(parts)}</h1></div><div class="price">€ 32.00</div><div class="product-form"><button type="submit">Add to cart</button></div>
<div class="product__description rte">${markup.blocks(text.blocks)}</div><share-button class="share-button"><button>Share</button></share-button></div></div></div></section>
<section id="shopify-section-recommendations" class="section"><product-recommendations><h2>You may also like</h2>${a.cards(4)}</product-recommendations></section>
<section id="shopify-section-reviews" class="section"><div class="jdgm-widget"><h2>Customer Reviews</h2>${a.comments(3)}</div></section></main>
<div id="shopify-section-footer"><footer>${a.newsletter()}${a.footer()}</footer></div>`;
};

const marketplace: Template = (parts) => {
  const { text, markup, around: a } = parts;
  return `<div id="a-page"><div id="nav-belt">${a.links(12)}</div><div id="dp" class="en_GB"><div id="wayfinding">${a.breadcrumb()}</div><div id="leftCol"><img src="/l.jpg" alt=""></div><div id="centerCol"><div id="title_feature_div"><h1 id="title">${titleOf(parts)}</h1></div><a href="/brand">Visit the store</a><div id="averageReviews"><span>4.4 out of 5</span> <a href="#r">212 ratings</a></div>
<div id="feature-bullets">${markup.blocks(text.blocks.slice(0, 4))}</div></div><div id="rightCol"><span>€ 27.10</span><input type="submit" value="Buy now"><p>${a.sentence()}</p></div>
<div id="sims-consolidated"><h2>Products related to this item</h2>${a.cards(5)}</div><div id="descriptionAndDetails">${markup.blocks(text.blocks.slice(4))}</div></div><div id="navFooter">${a.footer()}</div></div>`;
};

const questions: Template = (parts) => {
  const { text, markup, around: a } = parts;
  const post = (author: string, date: string, html: string, id: string): string =>
    `<div class="${id}" data-score="4"><div class="post-layout"><div class="votecell"><div class="js-voting-container"><button>▲</button><div>4</div><button>▼</button></div></div><div class="postcell"><div class="s-prose js-post-body">${html}</div>
<div class="post-menu"><a href="/s">Share</a> <a href="/i">Improve this answer</a></div><div class="user-info">answered ${date} <a href="/u">${escape(author)}</a> <span>1,204</span></div><div class="comments-list"><span class="comment-copy">${a.sentence()}</span> – <a href="/u">${a.label()}</a></div></div></div></div>`;
  return `<header class="s-topbar">${a.links(5)}</header><div class="container"><div id="left-sidebar">${a.menu(7)}</div><div id="content"><div id="question-header"><h1><a href="/q/1" class="question-hyperlink">${titleOf(parts)}</a></h1></div>
<div id="mainbar" role="main">${post(text.author, text.date, markup.blocks(text.blocks), 'question')}<div id="answers"><h2>${text.posts.length} Answers</h2>${text.posts.map((one) => post(one.author, one.date, markup.blocks(one.blocks), 'answer')).join('\n')}</div></div>
<div id="sidebar" role="complementary"><h4>Related</h4>${a.headlines(8)}</div></div></div><footer id="footer">${a.footer()}</footer>`;
};

/** Comments as rows of a table. */
const rows: Template = (parts) => {
  const { text, markup, around: a } = parts;
  const comment = (author: string, html: string, depth: number): string =>
    `<tr class="athing comtr"><td><table><tr><td class="ind" width="${depth * 40}"></td><td class="default"><div><span class="comhead"><a href="/u" class="hnuser">${escape(author)}</a> <span class="age">3 hours ago</span></span></div><div class="comment"><div class="commtext c00">${html}</div><div class="reply"><a href="/r">reply</a></div></div></td></tr></table></td></tr>`;
  return `<center><table id="hnmain"><tr><td bgcolor="#ff6600"><table><tr><td><span class="pagetop"><b><a href="/">${a.label()}</a></b>${a.links(5)}</span></td></tr></table></td></tr><tr><td><table class="fatitem"><tr class="athing submission"><td class="title"><h1 class="titleline"><a href="/x">${titleOf(parts)}</a></h1></td></tr><tr><td class="subtext">87 points by <a href="/u">${escape(text.author)}</a> | <a href="/h">hide</a></td></tr><tr><td><div class="toptext">${markup.blocks(text.blocks)}</div></td></tr></table>
<table class="comment-tree">${text.posts.map(({ author, blocks: own }, at) => comment(author, markup.blocks(own), at % 3)).join('\n')}</table></td></tr><tr><td><center><span class="yclinks">${a.links(7)}</span></center></td></tr></table></center>`;
};

const board: Template = (parts) => {
  const { text, markup, around: a } = parts;
  const all = [{ author: text.author, date: text.date, blocks: text.blocks }, ...text.posts];
  return `<div class="p-nav">${a.links(8)}</div><div class="p-body"><div class="p-body-header"><h1 class="p-title-value">${titleOf(parts)}</h1><ul class="listInline"><li>${escape(text.author)}</li><li>${text.date}</li></ul></div><div class="p-body-main"><div class="p-body-content">
${all.map(({ author, date, blocks: own }) => `<article class="message message--post"><div class="message-cell message-cell--user"><section class="message-user"><h4 class="message-name">${escape(author)}</h4><h5>Member</h5></section></div><div class="message-cell message-cell--main"><header class="message-attribution"><time>${date}</time> #1</header><div class="message-content"><div class="message-userContent"><article class="message-body"><div class="bbWrapper">${markup.blocks(own)}</div></article></div></div><footer class="message-footer"><a href="/l">Like</a> <a href="/r">Reply</a></footer></div></article>`).join('\n')}
</div><div class="p-body-sidebar"><div class="block"><h3>Members online</h3>${a.links(9)}</div></div></div></div><footer class="p-footer">${a.footer()}</footer>`;
};

const microdata: Template = (parts) => {
  const { text, markup, around: a } = parts;
  return `<div id="head">${a.menu(9)}</div><div id="cols"><div id="main"><div itemscope itemtype="https://schema.org/Recipe"><h1 itemprop="name">${titleOf(parts)}</h1><div class="stars">★★★★☆ <a href="#rate">31 ratings</a></div>${a.share()}
${markup.blocks(text.blocks)}</div>${a.related(5)}${a.comments(5)}</div><div id="right">${a.sidebar()}</div></div><div id="foot">${a.footer()}</div>`;
};

/** Steps as cards, as magazines print them. */
const magazine: Template = (parts) => {
  const { text, markup, around: a } = parts;
  const body = text.blocks.map((block) =>
    block.kind === 'steps'
      ? `<div class="${a.name('steps')}">${block.items.map((item, at) => `<div class="${a.name('step')}"><p>${escape(item)}</p>${at === 1 ? '<img src="/s.jpg" alt="">' : ''}</div>`).join('\n')}</div>`
      : markup.block(block),
  );
  return `<header>${a.links(10)}</header><main><div class="${a.name('recipe header')}"><h1>${titleOf(parts)}</h1><p>${escape(text.author)}</p></div><div class="${a.name('recipe content')}">${body.join('\n')}</div><div class="${a.name('recipe collection')}"><h2>${a.label()}</h2>${a.cards(6)}</div></main><footer>${a.newsletter()}${a.footer()}</footer>`;
};

const notice: Template = (parts) =>
  `<div class="menu">${parts.around.menu(4)}</div><div class="box"><h1>${titleOf(parts)}</h1>${parts.markup.blocks(parts.text.blocks)}</div><div class="footer">${parts.around.links(3)}</div>`;

const sectioned: Template = (parts) =>
  `<nav class="top" aria-label="Main">${parts.around.links(6)}</nav><main role="main"><section><header><h1>${titleOf(parts)}</h1></header>${parts.markup.blocks(parts.text.blocks)}</section></main><footer>${parts.around.footer()}</footer>`;

const nested: Template = (parts) =>
  `<div id="app"><div role="navigation">${parts.around.menu(5)}</div><div role="main"><div class="card"><h1>${titleOf(parts)}</h1><div class="card-body">${parts.markup.blocks(parts.text.blocks)}</div></div></div><div role="contentinfo">${parts.around.sentence()}</div></div>`;

export const unseen: Readonly<Record<string, readonly Template[]>> = {
  news: [blocks, hero, amp, reader, blocks],
  docs: [material, utility, material, utility],
  blog: [blogger, reader, minimal, hero],
  shop: [storefront, marketplace, storefront, marketplace],
  forum: [questions, rows, board, questions],
  recipe: [microdata, magazine, microdata],
  short: [notice, sectioned, nested, sectioned],
  cjk: [blocks, blogger, hero],
  rtl: [hero, reader, amp],
};
