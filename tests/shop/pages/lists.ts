/** Lists of products: departments, search, paging, sorting, filters. */
import { categories, categoryOf, materials, price, products, type Product } from '../data.ts';
import { crumbs, page } from './layout.ts';
import { markup, type Markup } from './markup.ts';
import type { Call, Reply, Routes } from '../wire.ts';

export const perPage = 12;

export const listRoutes: Routes = {
  'GET /products': (call) => listing(call, { title: 'All products', trail: [] }),
  'GET /c/:category': department,
  'GET /search': search,
};

const sorts: Record<string, { name: string; order: (a: Product, b: Product) => number }> = {
  featured: { name: 'Featured', order: (a, b) => a.id - b.id },
  price: { name: 'Price, low to high', order: (a, b) => a.price - b.price || a.id - b.id },
  'price-desc': { name: 'Price, high to low', order: (a, b) => b.price - a.price || a.id - b.id },
  rating: { name: 'Best rated', order: (a, b) => b.rating - a.rating || a.id - b.id },
  name: { name: 'Name', order: (a, b) => (a.name < b.name ? -1 : 1) },
};

export interface Selection {
  items: Product[];
  total: number;
  page: number;
  pages: number;
}

/** Query parameters: `q`, `category`, `min` and `max` in euros, `in_stock`, `material`, `sort`, `page`. */
export function select(query: URLSearchParams): Selection {
  const words = (query.get('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const category = query.get('category');
  const chosen = query.getAll('material');
  const min = Number(query.get('min') ?? 0) * 100;
  const max = Number(query.get('max') || Infinity) * 100;
  const matches = products
    .filter((product) => !category || product.category.slug === category)
    .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
    .filter(({ price }) => price >= min && price <= max)
    .filter(({ stock }) => !query.has('in_stock') || stock > 0)
    .filter(({ material }) => chosen.length === 0 || chosen.includes(material))
    .toSorted(sorts[query.get('sort') ?? '']?.order ?? ((a, b) => a.id - b.id));
  const pages = Math.max(1, Math.ceil(matches.length / perPage));
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(query.get('page') ?? 1)) || 1));
  return { items: matches.slice((page - 1) * perPage, page * perPage), total: matches.length, page, pages };
}

function department(call: Call): Reply {
  const category = categoryOf(call.params.category ?? '');
  if (!category) return page(call, { status: 404, title: 'Not found', body: markup`<h1>There is no such department</h1>` });
  const query = new URLSearchParams(call.url.searchParams);
  query.set('category', category.slug);
  return listing(call, { title: category.name, trail: [{ name: category.name, href: `/c/${category.slug}` }], query });
}

function search(call: Call): Reply {
  const q = call.url.searchParams.get('q') ?? '';
  return listing(call, { title: q ? `Results for “${q}”` : 'Search', trail: [] });
}

interface Listing {
  title: string;
  trail: { name: string; href: string }[];
  query?: URLSearchParams;
}

function listing(call: Call, { title, trail, query = call.url.searchParams }: Listing): Reply {
  const { items, total, page: at, pages } = select(query);
  const head = markup`${at > 1 && markup`<link rel="prev" href="${hrefOf(call, at - 1)}">`}${at < pages && markup`<link rel="next" href="${hrefOf(call, at + 1)}">`}`;
  const results =
    total === 0
      ? markup`<p class="empty">Nothing found. Try one word less.</p>`
      : markup`<ul class="grid" data-testid="results">${items.map((product) => card(product))}</ul>`;
  const body = markup`${crumbs([{ name: 'Home', href: '/' }, ...trail])}
<h1>${title}</h1><p class="count" aria-live="polite">${total} products, page ${at} of ${pages}</p>
<div class="with-side">${filters(call, query)}<section aria-label="Products">${results}${pager(call, at, pages)}</section></div>`;
  return page(call, { title, head, body });
}

function hrefOf({ url }: Call, at: number): string {
  const query = new URLSearchParams(url.searchParams);
  query.set('page', String(at));
  return `${url.pathname}?${query}`;
}

function filters({ url }: Call, query: URLSearchParams): Markup {
  const q = query.get('q');
  return markup`<form class="filters" method="get" action="${url.pathname}" aria-label="Filters">
${q !== null && markup`<input type="hidden" name="q" value="${q}">`}
<label>Sort by <select name="sort" id="sort">${Object.entries(sorts).map(
    ([key, { name }]) => markup`<option value="${key}" ${query.get('sort') === key && 'selected'}>${name}</option>`,
  )}</select></label>
<fieldset><legend>Price in €</legend><div class="row">
<input name="min" type="number" min="0" placeholder="Min" aria-label="Lowest price" value="${query.get('min') ?? ''}">
<input name="max" type="number" min="0" placeholder="Max" aria-label="Highest price" value="${query.get('max') ?? ''}"></div></fieldset>
<fieldset><legend>Material</legend>${materials.map(
    (name) =>
      markup`<label class="check"><input type="checkbox" name="material" value="${name}" ${query.getAll('material').includes(name) && 'checked'}> ${name}</label>`,
  )}</fieldset>
<label class="check"><input type="checkbox" name="in_stock" value="1" ${query.has('in_stock') && 'checked'}> In stock only</label>
<button type="submit">Apply</button>
</form>`;
}

export const stars = (rating: number): Markup =>
  markup`<span class="stars" role="img" aria-label="${rating} out of 5 stars">${'★'.repeat(Math.round(rating))}${'☆'.repeat(5 - Math.round(rating))}</span>`;

export const card = ({ id, slug, name, price: cents, rating, stock }: Product): Markup => markup`<li class="card" data-product="${id}">
<a href="/products/${slug}"><img src="/img/p${id}.svg" alt="" width="320" height="320" loading="lazy"><h3>${name}</h3></a>
<p class="price">${price(cents)}</p><p>${stars(rating)} <span class="stock ${stock === 0 && 'out'}">${stock === 0 ? 'Sold out' : 'In stock'}</span></p></li>`;

/** The first, the last and the neighbouring pages. */
function pager(call: Call, at: number, pages: number): Markup | undefined {
  if (pages === 1) return undefined;
  const shown = Array.from({ length: pages }, (_, i) => i + 1).filter((n) => n === 1 || n === pages || Math.abs(n - at) <= 2);
  return markup`<nav class="pager" aria-label="Pagination">
${at > 1 && markup`<a rel="prev" href="${hrefOf(call, at - 1)}">Previous</a>`}
${shown.map((n, i) => markup`${i > 0 && n - (shown[i - 1] ?? 0) > 1 && markup`<span>…</span>`}<a href="${hrefOf(call, n)}" aria-label="Page ${n}" ${n === at && currentPage}>${n}</a>`)}
${at < pages && markup`<a rel="next" href="${hrefOf(call, at + 1)}">Next</a>`}
</nav>`;
}

const currentPage = markup`aria-current="page"`;

export const departmentCards = (): Markup =>
  markup`<ul class="departments">${categories.map(
    ({ slug, name }, n) =>
      markup`<li><a href="/c/${slug}"><img src="/img/p${n * 50 + 7}.svg" alt="" width="120" height="120">${name}</a></li>`,
  )}</ul>`;
