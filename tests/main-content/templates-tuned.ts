/** Templates of the half that rules are made on. */
import { escape } from './markup.ts';
import { interrupted, titleOf, type Template } from './template.ts';

const semantic: Template = (parts) => {
  const { text, around: a } = parts;
  return `<a class="${a.name('skip link')}" href="#main">${a.label()}</a>
<header><a class="${a.name('site logo')}" href="/">${a.label()}</a><nav>${a.menu(9)}</nav></header>
${a.cookies()}
<main id="main"><article><header><h1>${titleOf(parts)}</h1>${a.byline(text)}${a.share()}</header>
${interrupted(parts, () => a.promo())}
${a.tags()}${a.bio(text)}${a.related()}</article>
<aside>${a.sidebar()}</aside></main>
<footer>${a.footer()}</footer>${a.scripts()}`;
};

const grid: Template = (parts) => {
  const { text, around: a } = parts;
  return `${a.scripts()}<div id="page"><div class="${a.name('top bar')}">${a.links(5)}</div>
<div class="${a.name('header')}"><div class="${a.name('logo')}"><a href="/">${a.label()}</a></div><div class="${a.name('main menu')}">${a.menu(10)}</div></div>
<div class="container"><div class="row"><div class="col-md-8">${a.breadcrumb()}
<h1 class="${a.name('headline')}">${titleOf(parts)}</h1>${a.byline(text)}
<div class="${a.name('article body')}">${interrupted(parts, () => `<div class="${a.name('read more')}"><strong>${a.label()}</strong>${a.headlines(2)}</div>`, 2)}</div>
${a.share()}${a.tags()}${a.comments(5)}</div>
<div class="col-md-4 sidebar">${a.sidebar()}</div></div></div>
<div class="${a.name('more stories')}">${a.cards(6)}</div><div class="${a.name('footer')}">${a.footer()}</div></div>`;
};

/** A page of the time before style sheets: tables, and line breaks for paragraphs. */
const tables: Template = (parts) => {
  const { text, around: a } = parts;
  return `<table width="100%" cellpadding="0"><tr><td colspan="3" bgcolor="#003366"><a href="/"><img src="/logo.gif" alt="${a.label()}"></a></td></tr>
<tr><td width="160" valign="top">${a.links(12)}<br>${a.newsletter()}</td>
<td valign="top"><font face="Arial"><h1>${titleOf(parts)}</h1><small>${escape(text.author)}, ${text.date}</small><br>
${interrupted(parts, () => '<hr>')}</font></td>
<td width="180" valign="top"><b>${a.label()}</b>${a.headlines(8)}<p>${a.sentence()}</p></td></tr>
<tr><td colspan="3" align="center"><font size="1">${a.links(6)}<br>${a.sentence()}</font></td></tr></table>`;
};

const sphinx: Template = (parts) => {
  const { text, markup, around: a } = parts;
  return `<div class="related" role="navigation" aria-label="related navigation"><h3>Navigation</h3>${a.menu(4)}</div>
<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main">
<section id="top"><h1>${titleOf(parts)}<a class="headerlink" href="#top" title="Link to this heading">¶</a></h1>
${markup.blocks(text.blocks)}</section><div class="clearer"></div></div></div></div>
<div class="sphinxsidebar" role="navigation" aria-label="Main"><div class="sphinxsidebarwrapper"><h3>Table of Contents</h3>${a.contents(text)}${a.menu(14)}
<div role="search"><form action="search.html"><input name="q"><input type="submit" value="Go"></form></div></div></div></div>
<div class="footer">© 2026 ${a.label()} | Page source</div>`;
};

const docusaurus: Template = (parts) => {
  const { text, markup, around: a } = parts;
  return `<div id="__docusaurus"><div role="region" aria-label="Skip to main content"><a href="#c">Skip to main content</a></div>
<nav class="navbar navbar--fixed-top"><div class="navbar__inner">${a.links(8)}</div></nav>
<div class="main-wrapper"><div class="docsWrapper_h1a"><aside class="theme-doc-sidebar-container">${a.menu(24)}</aside>
<main class="docMainContainer_x9"><div class="container"><div class="row"><div class="col"><div><article>
<nav class="theme-doc-breadcrumbs" aria-label="Breadcrumbs">${a.menu(3)}</nav>
<div class="tocCollapsible_k2"><button type="button">On this page</button></div>
<div class="theme-doc-markdown markdown"><header><h1>${titleOf(parts)}</h1></header>${markup.blocks(text.blocks)}</div>
<footer class="theme-doc-footer"><a href="/edit">Edit this page</a><span>Last updated on ${text.date}</span></footer></article>
<nav class="pagination-nav">${a.links(2)}</nav></div></div>
<div class="col col--3"><div class="tableOfContents_b1 thin-scrollbar">${a.contents(text)}</div></div></div></div></main></div></div>
<footer class="footer">${a.footer()}</footer></div>`;
};

const wordpress: Template = (parts) => {
  const { text, around: a } = parts;
  return `<div id="page" class="site"><header id="masthead" class="site-header" role="banner"><p class="site-title"><a href="/">${a.label()}</a></p>
<p class="site-description">${a.sentence()}</p><nav id="site-navigation" class="main-navigation">${a.menu(8)}</nav></header>
<div id="content" class="site-content"><div id="primary" class="content-area"><main id="main" class="site-main">
<article id="post-1" class="post type-post hentry"><header class="entry-header"><h1 class="entry-title">${titleOf(parts)}</h1>
<div class="entry-meta"><span class="posted-on">Posted on <time>${text.date}</time></span><span class="byline"> by ${escape(text.author)}</span></div></header>
<div class="entry-content">${interrupted(parts, () => a.newsletter(), 4)}
<div class="sharedaddy sd-sharing-enabled"><h3>Share this:</h3>${a.menu(4)}</div><div id="jp-relatedposts" class="jp-relatedposts"><h3>Related</h3>${a.cards(3)}</div></div>
<footer class="entry-footer"><span class="cat-links">Posted in ${a.links(2)}</span><span class="tags-links">Tagged ${a.links(3)}</span></footer></article>
<nav class="navigation post-navigation"><h2>Post navigation</h2>${a.headlines(2)}</nav>
<div id="comments" class="comments-area"><h2 class="comments-title">3 thoughts</h2>${a.comments(3)}<div id="respond">${a.sentence()}</div></div></main></div>
<aside id="secondary" class="widget-area">${a.sidebar()}</aside></div><footer id="colophon" class="site-footer">${a.footer()}</footer></div>`;
};

/** A site of components: no element says what it is, and classes say little. */
const components: Template = (parts) => {
  const { text, markup, around: a } = parts;
  return `<div id="__next"><div class="${a.name('shell')}"><div class="${a.name('header')}"><a href="/">${a.label()}</a>${a.links(7)}</div>
<div class="${a.name('layout')}"><div class="${a.name('post')}"><div class="${a.name('hero')}"><h1>${titleOf(parts)}</h1><div><span>${escape(text.author)}</span><span>${text.date}</span><span>6 min</span></div></div>
<div class="${a.name('content')}">${markup.blocks(text.blocks)}</div><div class="${a.name('reactions')}"><button>12</button><button>${a.label()}</button></div></div>
<div class="${a.name('next posts')}"><h2>${a.label()}</h2>${a.cards(4)}</div></div><div class="${a.name('footer')}">${a.footer()}</div></div></div>${a.scripts()}`;
};

const productTabs: Template = (parts) => {
  const { around: a, markup, text } = parts;
  return `<header class="${a.name('header')}">${a.links(6)}<form role="search"><input name="q"></form></header><nav aria-label="Categories">${a.menu(12)}</nav>
<main class="${a.name('product page')}">${a.breadcrumb()}<div class="product"><div class="gallery"><img src="/p/1.jpg" alt=""><img src="/p/2.jpg" alt=""></div>
<div class="summary"><h1 class="product-title">${titleOf(parts)}</h1><p class="price">€ 49.00</p><form action="/cart"><select name="n"><option>1</option><option>2</option></select><button>Add to basket</button></form></div>
<div class="tabs"><div id="tab-description">${markup.blocks(text.blocks)}</div></div></div>
<section class="${a.name('related products')}"><h2>You may also like</h2>${a.cards(4)}</section>
<section class="recently-viewed">${a.cards(3)}</section></main><footer>${a.footer()}</footer>`;
};

const productPlain: Template = (parts) => {
  const { around: a, markup, text } = parts;
  return `<div class="wrap"><div class="top">${a.links(5)}</div><ul class="menu">${a.menu(9)}</ul><div class="content"><div class="left">${a.menu(10)}</div>
<div class="right"><h1>${titleOf(parts)}</h1><div class="box"><img src="/p.jpg" alt="${titleOf(parts)}"><b>€ 18.90</b><input type="text" name="n" value="1"><input type="submit" value="Buy"></div>
<div class="info">${markup.blocks(text.blocks)}</div><div class="also"><h3>Customers also bought</h3>${a.headlines(5)}</div></div></div><div class="foot">${a.footer()}</div></div>`;
};

const phpbb: Template = (parts) => {
  const { text, markup, around: a } = parts;
  const post = (author: string, date: string, html: string): string =>
    `<div class="post bg1"><div class="inner"><dl class="postprofile"><dt><a href="/u">${escape(author)}</a></dt><dd>Posts: 214</dd><dd>${a.label()}</dd></dl>
<div class="postbody"><h3><a href="#p">Re: ${titleOf(parts)}</a></h3><p class="author">by <strong>${escape(author)}</strong> » ${date}</p><div class="content">${html}</div><div class="signature">${a.sentence()}</div></div></div></div>`;
  const posts = text.posts.map(({ author, date, blocks }) => post(author, date, markup.blocks(blocks)));
  return `<div id="wrap"><div id="page-header"><div class="headerbar">${a.links(4)}</div><div class="navbar">${a.menu(6)}</div></div>
<div id="page-body"><h2 class="topic-title"><a href="/t">${titleOf(parts)}</a></h2><div class="action-bar">${a.links(3)} ${text.posts.length + 1} posts</div>
${post(text.author, text.date, markup.blocks(text.blocks))}${posts.join('\n')}<div class="action-bar pagination">${a.links(4)}</div></div><div id="page-footer">${a.footer()}</div></div>`;
};

const discussion: Template = (parts) => {
  const { text, markup, around: a } = parts;
  const all = [{ author: text.author, date: text.date, blocks: text.blocks }, ...text.posts];
  return `<header><a href="/">${a.label()}</a></header><div id="main-outlet" class="wrap" role="main"><div id="topic-title"><h1><a href="/t/1">${titleOf(parts)}</a></h1><div class="topic-category">${a.links(2)}</div></div>
${all
  .map(
    ({
      author,
      date,
      blocks,
    }) => `<div class="topic-body crawler-post"><div class="crawler-post-meta"><span class="creator"><a href="/u/1">${escape(author)}</a></span><span class="crawler-post-infos"><time>${date}</time></span></div>
<div class="post" itemprop="text">${markup.blocks(blocks)}</div><div class="post-likes">2 Likes</div></div>`,
  )
  .join('\n')}
<div id="related-topics" class="more-topics__container"><h3>Related topics</h3><table>${[1, 2, 3, 4].map(() => `<tr><td><a href="/t/2">${a.headline()}</a></td><td>3</td><td>120</td></tr>`).join('')}</table></div></div>
<footer>${a.links(5)}</footer>`;
};

const recipeCard: Template = (parts) => {
  const { text, markup, around: a } = parts;
  return `<header class="site-header"><nav>${a.menu(8)}</nav></header><div class="site-inner"><main class="content"><article class="entry"><header class="entry-header"><h1 class="entry-title">${titleOf(parts)}</h1><p class="entry-meta">${text.date} by ${escape(text.author)}</p></header>
<div class="entry-content"><div class="recipe-buttons"><a href="#r">Jump to Recipe</a> <a href="/print">Print Recipe</a></div>${markup.blocks(text.blocks.slice(0, 2))}
<div class="recipe-container" id="r">${markup.blocks(text.blocks.slice(2))}</div>${a.share()}</div></article>${a.comments(4)}</main><aside class="sidebar">${a.sidebar()}</aside></div><footer>${a.footer()}</footer>`;
};

const recipeColumns: Template = (parts) => {
  const { text, markup, around: a } = parts;
  return `<div class="nav">${a.links(9)}</div><div class="recipe"><h1>${titleOf(parts)}</h1>${markup.blocks(text.blocks.slice(0, 1))}
<div class="columns"><div class="column ingredients">${markup.blocks(text.blocks.slice(2, 4))}</div><div class="column method">${markup.blocks(text.blocks.slice(4))}</div></div></div>
<div class="more">${a.cards(6)}</div><div class="bottom">${a.footer()}</div>`;
};

const shortMain: Template = (parts) =>
  `<nav>${parts.around.links(4)}</nav><main><h1>${titleOf(parts)}</h1>${parts.markup.blocks(parts.text.blocks)}</main>`;

const shortPlain: Template = (parts) =>
  `<header><nav>${parts.around.menu(5)}</nav></header><h1>${titleOf(parts)}</h1>${parts.markup.blocks(parts.text.blocks)}<footer>${parts.around.links(3)}</footer>`;

const shortArticle: Template = ({ around: a, ...parts }) =>
  `<div class="header"><nav>${a.menu(7)}</nav></div><article><h1>${titleOf({ around: a, ...parts })}</h1>${parts.markup.blocks(parts.text.blocks)}</article><aside>${a.headlines(4)}</aside>`;

export const tuned: Readonly<Record<string, readonly Template[]>> = {
  news: [semantic, grid, tables, wordpress, components],
  docs: [sphinx, docusaurus, sphinx, docusaurus],
  blog: [wordpress, components, semantic, grid],
  shop: [productTabs, productPlain, productTabs, productPlain],
  forum: [phpbb, discussion, phpbb, discussion],
  recipe: [recipeCard, recipeColumns, recipeCard],
  short: [shortMain, shortPlain, shortArticle, shortMain],
  cjk: [grid, semantic, wordpress],
  rtl: [semantic, components, grid],
};
