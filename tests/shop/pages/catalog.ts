/** The home page, product pages, the endless list and articles. */
import { articles, jobs, price, productNamed, productOf, products, reviewsOf, type Product } from '../data.ts';
import { baseOf, crumbs, icon, page } from './layout.ts';
import { card, departmentCards, stars } from './lists.ts';
import { dataScript, markup, type Markup } from './markup.ts';
import type { Call, Reply, Routes } from '../wire.ts';

export const catalogRoutes: Routes = {
  'GET /': home,
  'GET /products/:slug': product,
  'GET /products/:slug/preview': preview,
  'GET /discover': discover,
  'GET /deal': deal,
  'GET /journal': journal,
  'GET /journal/:slug': article,
  'GET /jobs': openings,
  'GET /compare': compare,
};

function home(call: Call): Reply {
  const featured = products.filter(({ id }) => id % 25 === 3);
  const body = markup`<section class="hero"><div><h1>Things for the house, made to be repaired</h1>
<p>Lamps, chairs, kettles and paper from small workshops by the water.</p><a class="button" href="/products">See all products</a></div>
<img src="/img/p62.svg" alt="" width="320" height="320"></section>
<h2>Departments</h2>${departmentCards()}
<h2>Featured</h2><ul class="grid">${featured.map(card)}</ul>
<h2>From the journal</h2><ul class="headlines">${articles.slice(0, 3).map(headline)}</ul>`;
  return page(call, { title: 'Home', body });
}

function product(call: Call): Reply {
  const item = productNamed(call.params.slug ?? '');
  if (!item)
    return page(call, {
      status: 404,
      title: 'Not found',
      body: markup`<h1>This product is gone</h1><p><a href="/products">All products</a></p>`,
    });
  const { category, name, slug } = item;
  const body = markup`${crumbs([
    { name: 'Home', href: '/' },
    { name: category.name, href: `/c/${category.slug}` },
    { name, href: `/products/${slug}` },
  ])}
<article class="product">${gallery(item)}${offer(call, item)}</article>
${details(item)}
<section aria-labelledby="related"><h2 id="related">You may also like</h2><ul class="grid">${relatedTo(item).map(card)}</ul></section>`;
  return page(call, { title: name, description: item.description, head: productHead(call, item), body, scripts: ['product', 'rating'] });
}

function productHead(call: Call, { id, name, description, sku, slug, price: cents, rating, stock }: Product): Markup {
  const url = `${baseOf(call)}/products/${slug}`;
  const image = `${baseOf(call)}/img/p${id}.png`;
  const count = reviewsOf(id).length;
  const offers = {
    '@type': 'Offer',
    url,
    price: (cents / 100).toFixed(2),
    priceCurrency: 'EUR',
    availability: `https://schema.org/${stock > 0 ? 'InStock' : 'OutOfStock'}`,
  };
  const aggregateRating = { '@type': 'AggregateRating', ratingValue: rating, reviewCount: count };
  const linked = { '@context': 'https://schema.org', '@type': 'Product', name, sku, description, image, url, offers, aggregateRating };
  return markup`<meta property="og:type" content="product"><meta property="og:title" content="${name}"><meta property="og:image" content="${image}">
<meta property="og:url" content="${url}"><meta property="og:description" content="${description}">
<meta property="product:price:amount" content="${(cents / 100).toFixed(2)}"><meta property="product:price:currency" content="EUR">
${dataScript('application/ld+json', 'product-data', linked)}`;
}

const gallery = ({
  id,
  name,
}: Product): Markup => markup`<div class="gallery"><img src="/img/p${id}.svg" alt="${name}" width="480" height="480">
<div class="thumbs">${[1, 2, 3].map((n) => markup`<img data-src="/img/p${viewOf(id, n)}.svg" alt="${name}, view ${n}" width="90" height="90">`)}</div></div>`;

/** The picture of another product of the department is used as the back view. */
const viewOf = (id: number, n: number): number => id - ((id - 1) % 50) + ((id - 1 + n * 13) % 50);

function offer({ state }: Call, { id, slug, sku, name, price: cents, stock, rating, description }: Product): Markup {
  const design = state.redesigned
    ? { id: 'cta-7f3a91', css: 'css-1x2y9 primary', test: 'buy' }
    : { id: 'add-to-cart', css: 'add primary', test: 'add-to-cart' };
  return markup`<div class="offer"><p class="sku">${sku}</p><h1>${name}</h1>
<shop-rating value="${rating}" data-testid="rating"><span>${reviewsOf(id).length} reviews</span></shop-rating>
<p class="price big" data-testid="price">${price(cents)}</p>
<p>${description}</p>
<p class="stock ${stock === 0 && 'out'}" id="stock" data-product="${id}">${stock === 0 ? 'Sold out' : `${stock} in stock`}</p>
<form method="post" action="/cart" class="buy" data-add="${id}">
<input type="hidden" name="product_id" value="${id}">
<label for="quantity">Quantity</label> <input id="quantity" name="quantity" type="number" min="1" max="${Math.max(1, stock)}" value="1">
<button id="${design.id}" class="${design.css}" data-testid="${design.test}" ${stock === 0 && 'disabled'}>Add to cart</button>
</form>
<div class="row"><button type="button" class="plain" aria-label="Add to wishlist" data-wish="${id}">${icon('M12 20S4 15 4 9a4 4 0 0 1 8-1 4 4 0 0 1 8 1c0 6-8 11-8 11z')}</button>
<button type="button" class="plain" data-preview="/products/${slug}/preview">Open preview</button>
<button type="button" class="plain" data-modal="delivery">Delivery times</button></div>
<dialog id="delivery" aria-labelledby="delivery-title"><h2 id="delivery-title">Delivery times</h2><p>Two to four days within the Union, by rail where there is one.</p>
<form method="dialog"><button>Got it</button></form></dialog></div>`;
}

function details(item: Product): Markup {
  const tabs = { Description: markup`<p>${item.description}</p>`, Specification: specification(item), Reviews: renderReviews(item) };
  return markup`<section class="tabs" aria-label="Details"><div role="tablist">${Object.keys(tabs).map(
    (name, n) =>
      markup`<button role="tab" id="tab-${n}" aria-controls="panel-${n}" aria-selected="${n === 0 ? 'true' : 'false'}" type="button">${name}</button>`,
  )}</div>${Object.values(tabs).map((panel, n) => markup`<div role="tabpanel" id="panel-${n}" aria-labelledby="tab-${n}" ${n > 0 && 'hidden'}>${panel}</div>`)}</section>`;
}

const specification = ({
  name,
  material,
  weightGrams,
  size,
  sku,
}: Product): Markup => markup`<table class="spec"><caption>Specification of ${name}</caption>
<thead><tr><th scope="col" colspan="2">Property</th><th scope="col">Value</th></tr></thead>
<tbody><tr><th scope="row" rowspan="3">Size</th><td>Width</td><td>${size.width} cm</td></tr>
<tr><td>Depth</td><td>${size.depth} cm</td></tr><tr><td>Height</td><td>${size.height} cm</td></tr>
<tr><th scope="row" colspan="2">Material</th><td>${material}</td></tr>
<tr><th scope="row" colspan="2">Weight</th><td>${(weightGrams / 1000).toFixed(2)} kg</td></tr>
<tr><th scope="row" colspan="2">Article number</th><td>${sku}</td></tr></tbody></table>`;

const renderReviews = ({ id }: Product): Markup =>
  markup`<ul class="reviews">${reviewsOf(id).map(
    ({ author, date, rating, title, text }) =>
      markup`<li><h3>${title}</h3><p class="by">${author}, <time datetime="${date}">${date}</time> ${stars(rating)}</p><p>${text}</p></li>`,
  )}</ul>`;

const relatedTo = ({ id, category }: Product): Product[] =>
  products.filter((other) => other.category === category && other.id !== id && (other.id - id) % 12 === 0).slice(0, 4);

function preview(call: Call): Reply {
  const item = productNamed(call.params.slug ?? '');
  if (!item) return { status: 404 };
  return page(call, {
    title: `Preview of ${item.name}`,
    body: markup`<h1>${item.name}</h1><img src="/img/p${item.id}.svg" alt="${item.name}" width="320" height="320"><button type="button" data-close>Close preview</button>`,
    scripts: ['product'],
  });
}

/** Filled by its script, one API page at a time. */
function discover(call: Call): Reply {
  return page(call, {
    title: 'Discover',
    head: dataScript('application/json', '__SHOP_STATE__', { feed: 'discover', pageSize: 12, currency: 'EUR' }),
    body: markup`<h1>Discover</h1><p class="count" id="discovered" aria-live="polite">Loading…</p><ul class="grid" id="feed" aria-busy="true"></ul><div id="sentinel"></div><p id="feed-end" hidden>You have seen everything.</p>`,
    scripts: ['discover'],
  });
}

function deal(call: Call): Reply {
  const item = productOf(call.state.deal);
  const offer =
    item &&
    markup`<h2 class="deal-name">${item.name}</h2><p class="price big">${price(item.price)}</p><a class="button" href="/products/${item.slug}">See it</a>`;
  return page(call, { title: 'Deal of the day', body: markup`<h1>Deal of the day</h1>${offer}` });
}

const headline = ({ slug, title, author, date }: (typeof articles)[number]): Markup =>
  markup`<li><article><h3><a href="/journal/${slug}">${title}</a></h3><p class="by">${author}, <time datetime="${date}">${date}</time></p></article></li>`;

function journal(call: Call): Reply {
  return page(call, { title: 'Journal', body: markup`<h1>Journal</h1><ul class="headlines">${articles.map(headline)}</ul>` });
}

function article(call: Call): Reply {
  const item = articles.find(({ slug }) => slug === call.params.slug);
  if (!item) return page(call, { status: 404, title: 'Not found', body: markup`<h1>No such article</h1>` });
  const { title, author, date, paragraphs } = item;
  const linked = {
    '@context': 'https://schema.org',
    '@type': 'Article',
    headline: title,
    datePublished: date,
    author: { '@type': 'Person', name: author },
  };
  const body = markup`${crumbs([
    { name: 'Home', href: '/' },
    { name: 'Journal', href: '/journal' },
  ])}<article class="prose"><h1>${title}</h1><p class="by">By ${author}, <time datetime="${date}">${date}</time></p>
${paragraphs.map((text, n) => markup`${n % 3 === 0 && markup`<h2>Part ${n / 3 + 1}</h2>`}<p>${text}</p>`)}
<aside><h2>Read on</h2><ul>${articles.filter((other) => other !== item).map((other) => markup`<li><a href="/journal/${other.slug}">${other.title}</a></li>`)}</ul></aside></article>`;
  return page(call, { title, head: dataScript('application/ld+json', 'article-data', linked), body });
}

function openings(call: Call): Reply {
  return page(call, {
    title: 'Jobs',
    body: markup`<h1>Work with us</h1><ul class="jobs">${jobs.map(
      ({ title, team, place }, n) =>
        markup`<li class="job"><h2><a href="/support?about=job-${n + 1}">${title}</a></h2><p><span class="team">${team}</span>, <span class="place">${place}</span></p></li>`,
    )}</ul>`,
  });
}

function compare(call: Call): Reply {
  return page(call, {
    title: 'Compare',
    body: markup`<h1>Compare lamps</h1><table id="comparison"><caption>Five desk lamps side by side</caption><thead><tr><th>Name</th><th>Price</th><th>Material</th><th>Stock</th></tr></thead>
<tbody>${[1, 6, 11, 16, 21].flatMap((id) => productOf(id) ?? []).map(({ name, slug, price: cents, material, stock }) => markup`<tr><td><a href="/products/${slug}">${name}</a></td><td>${price(cents)}</td><td>${material}</td><td>${stock}</td></tr>`)}</tbody></table>
<h2>Links of this page</h2><ul id="links"><li><a href="/journal">Works</a></li><li><a href="/nowhere">Broken</a></li><li><a href="/status/410">Gone</a></li><li><a href="/status/500">Fails</a></li><li><a href="/old-product">Moved</a></li></ul>`,
  });
}
