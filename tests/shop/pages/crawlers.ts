/** Files for crawlers, and redirects. */
import { articles, categories, productOf, products } from '../data.ts';
import { baseOf, page } from './layout.ts';
import { markup } from './markup.ts';
import { redirect, text, type Call, type Reply, type Routes } from '../wire.ts';

export const signpostRoutes: Routes = {
  'GET /robots.txt': robots,
  'GET /sitemap.xml': sitemap,
  'GET /.well-known/security.txt': securityText,
  'GET /llms.txt': llms,
  'GET /opensearch.xml': openSearch,
  'GET /manifest.webmanifest': manifest,
  'GET /old-product': () => redirect('/old-product/moved', 301),
  'GET /old-product/moved': () => redirect(`/products/${productOf(1)?.slug ?? ''}`, 302),
  'GET /moved-meta': (call) =>
    page(call, {
      title: 'Moved',
      head: markup`<meta http-equiv="refresh" content="0; url=/journal">`,
      body: markup`<p>We have <a href="/journal">moved</a>.</p>`,
    }),
  'GET /moved-script': (call) =>
    page(call, { title: 'Moved', body: markup`<p id="moved" data-to="/journal">One moment…</p>`, scripts: ['moved'] }),
  'GET /status/:code': status,
};

function robots(call: Call): Reply {
  return text(
    `User-agent: *\nDisallow: /account\nDisallow: /admin\nCrawl-delay: 1\n\nUser-agent: GreedyBot\nDisallow: /\n\nSitemap: ${baseOf(call)}/sitemap.xml\n`,
  );
}

function sitemap(call: Call): Reply {
  const paths = [
    '/',
    '/products',
    '/journal',
    ...categories.map(({ slug }) => `/c/${slug}`),
    ...products.map(({ slug }) => `/products/${slug}`),
  ];
  const dated = [...paths.map((path) => [path, '2026-01-15']), ...articles.map(({ slug, date }) => [`/journal/${slug}`, date])];
  const urls = dated.map(([path, date]) => `<url><loc>${baseOf(call)}${path}</loc><lastmod>${date}</lastmod></url>`).join('\n');
  return text(
    `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${urls}\n</urlset>\n`,
    'application/xml; charset=utf-8',
  );
}

function securityText(call: Call): Reply {
  return text(
    `Contact: mailto:security@example.com\nExpires: 2035-01-01T00:00:00.000Z\nPreferred-Languages: en\nCanonical: ${baseOf(call)}/.well-known/security.txt\n`,
  );
}

function llms(call: Call): Reply {
  return text(
    `# Quayside Goods\n\n> A shop for lamps, chairs and paper.\n\n## Catalogue\n\n${categories.map(({ slug, name }) => `- [${name}](${baseOf(call)}/c/${slug})`).join('\n')}\n`,
  );
}

function openSearch(call: Call): Reply {
  return text(
    `<?xml version="1.0" encoding="UTF-8"?>\n<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/"><ShortName>Quayside</ShortName><Description>Search Quayside Goods</Description><Url type="text/html" template="${baseOf(call)}/search?q={searchTerms}"/><Url type="application/json" template="${baseOf(call)}/api/products?q={searchTerms}"/></OpenSearchDescription>\n`,
    'application/opensearchdescription+xml',
  );
}

function manifest(): Reply {
  return text(
    JSON.stringify({
      name: 'Quayside Goods',
      short_name: 'Quayside',
      start_url: '/',
      display: 'standalone',
      theme_color: '#0f4c5c',
      background_color: '#ffffff',
      icons: [{ src: '/favicon.svg', sizes: 'any', type: 'image/svg+xml' }],
    }),
    'application/manifest+json',
  );
}

function status(call: Call): Reply {
  const code = Number(call.params.code);
  if (!Number.isInteger(code) || code < 200 || code > 599)
    return page(call, { status: 404, title: 'Not found', body: markup`<h1>No such status</h1>` });
  return page(call, { status: code, title: `Status ${code}`, body: markup`<h1>Status ${code}</h1>` });
}
