/** The frame of every page: head, header, navigation, consent, footer. */
import { categories } from '../data.ts';
import { markup, type Markup } from './markup.ts';
import type { Call, Reply } from '../wire.ts';
import { cartOf } from '../state.ts';

export interface Page {
  title: string;
  description?: string;
  /** Additional head elements. */
  head?: Markup;
  body: Markup;
  /** Additional scripts from `client/`. */
  scripts?: string[];
  status?: number;
}

export const stylesheets: Markup = markup`${['base', 'parts', 'goods'].map((name) => markup`<link rel="stylesheet" href="/assets/${name}.css">`)}`;

/** The origin that the caller used: `http://127.0.0.1:1234`. */
export const baseOf = ({ url }: Call): string => url.origin;

export function page(call: Call, { title, description, head, body, scripts = [], status = 200 }: Page): Reply {
  const { url, state, cookies } = call;
  const about = description ?? `${title} at Quayside Goods: lamps, chairs and things for the house, made to be repaired.`;
  const document = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Quayside Goods</title>
<meta name="description" content="${about}">
<link rel="canonical" href="${baseOf(call)}${url.pathname}${canonicalQuery(url)}">
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="manifest" href="/manifest.webmanifest">
<link rel="search" type="application/opensearchdescription+xml" title="Quayside Goods" href="/opensearch.xml">
${stylesheets}
<meta name="theme-color" content="#0f4c5c">
${head}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
${header(call)}
<main id="main">${body}</main>
${footer}
<div id="toast" role="status" aria-live="polite"></div>
${state.consent && !cookies.consent && consent}
${newsletter}
${['shop', ...scripts].map((name) => markup`<script src="/assets/${name}.js" defer></script>`)}
</body>
</html>`;
  return { status, headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' }, body: document.text };
}

const canonicalQuery = (url: URL): string => (url.searchParams.has('page') ? `?page=${url.searchParams.get('page') ?? ''}` : '');

function header(call: Call): Markup {
  const { visitor, url } = call;
  return markup`<header class="top">
<a class="logo" href="/"><img src="/favicon.svg" alt="" width="32" height="32">Quayside Goods</a>
<form role="search" action="/search" method="get" class="search" autocomplete="off">
<label for="q" class="quiet">Search the shop</label>
<input id="q" name="q" type="search" placeholder="Search 300 things" value="${url.pathname === '/search' ? (url.searchParams.get('q') ?? '') : ''}"
  role="combobox" aria-expanded="false" aria-controls="suggestions" aria-autocomplete="list">
<button type="submit" aria-label="Search">${icon('M10 4a6 6 0 1 0 0 12 6 6 0 0 0 0-12zm5 11 5 5')}</button>
<ul id="suggestions" role="listbox" aria-label="Suggestions" hidden></ul>
</form>
<nav class="main" aria-label="Main"><ul>
<li class="menu"><button type="button" aria-haspopup="true">Departments</button><ul class="drop">
${categories.map(({ slug, name }) => markup`<li><a href="/c/${slug}">${name}</a></li>`)}</ul></li>
<li><a href="/discover">Discover</a></li><li><a href="/journal">Journal</a></li><li><a href="/help">Help</a></li>
</ul></nav>
<div class="mine">
<a href="/wishlist" aria-label="Wishlist" class="icon">${icon('M12 20S4 15 4 9a4 4 0 0 1 8-1 4 4 0 0 1 8 1c0 6-8 11-8 11z')}</a>
<a href="${visitor?.email ? '/account' : '/login'}" class="account">${visitor?.email ? 'Account' : 'Log in'}</a>
<a href="/cart" class="cart" data-testid="cart-link">Cart <span id="cart-count" data-testid="cart-count">${cartOf(visitor).count}</span></a>
</div>
</header>`;
}

export const icon = (path: string): Markup =>
  markup`<svg viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" aria-hidden="true"><path d="${path}"/></svg>`;

const footer = markup`<footer class="bottom"><nav aria-label="Footer"><ul>
<li><a href="/help">Help</a></li><li><a href="/support">Contact support</a></li><li><a href="/downloads">Downloads</a></li>
<li><a href="/jobs">Jobs</a></li><li><a href="/compare">Compare</a></li><li><a href="/widgets">Workshop</a></li>
</ul></nav><p>© 2026 Quayside Goods, Wharf 4. A shop that sells nothing.</p></footer>`;

const consent = markup`<div class="consent" id="consent" role="dialog" aria-modal="true" aria-labelledby="consent-title"><div class="sheet">
<h2 id="consent-title">Cookies at the quay</h2>
<p>We use cookies to keep your cart and, if you agree, to see which pages are read. You can change your mind at any time.</p>
<form id="consent-settings" hidden>
<label><input type="checkbox" checked disabled> Necessary</label>
<label><input type="checkbox" name="statistics"> Statistics</label>
<label><input type="checkbox" name="marketing"> Marketing</label>
<button type="submit">Save choices</button>
</form>
<div class="row"><button type="button" data-consent="all" class="primary">Accept all</button>
<button type="button" data-consent="none">Reject all</button>
<button type="button" data-consent="settings" class="plain">Settings</button></div>
</div></div>`;

const newsletter = markup`<div class="newsletter" id="newsletter" role="dialog" aria-labelledby="newsletter-title" hidden>
<button type="button" class="plain close" aria-label="Close newsletter">×</button>
<h2 id="newsletter-title">News from the quay</h2>
<form action="/newsletter" method="post"><input name="email" type="email" placeholder="Your e-mail address" required> <button>Subscribe</button></form>
</div>`;

export const crumbs = (trail: { name: string; href: string }[]): Markup =>
  markup`<nav aria-label="Breadcrumb" class="crumbs"><ol itemscope itemtype="https://schema.org/BreadcrumbList">
${trail.map(
  ({ name, href }, i) => markup`<li itemprop="itemListElement" itemscope itemtype="https://schema.org/ListItem">
<a itemprop="item" href="${href}"><span itemprop="name">${name}</span></a><meta itemprop="position" content="${i + 1}"></li>`,
)}</ol></nav>`;
