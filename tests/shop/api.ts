/** The JSON API and a GraphQL endpoint. */
import { quantityMax } from './pages/checkout.ts';
import { articles, categories, productOf, products, reviews, type Product } from './data.ts';
import { select } from './pages/lists.ts';
import { json, withEtag, type Call, type Reply, type Routes } from './wire.ts';
import { cartOf, linesOf, placeOrder } from './state.ts';

export const apiRoutes: Routes = {
  'GET /api/products': listProducts,
  'GET /api/products/:id': readProduct,
  'GET /api/categories': (call) => withEtag(call, json({ items: categories.map(({ slug, name }) => ({ slug, name })) })),
  'GET /api/suggest': suggest,
  'GET /api/reviews': listReviews,
  'GET /api/session': readSession,
  'GET /api/cart': (call) => json(cartOf(call.visitor)),
  'POST /api/cart': addToCart,
  'DELETE /api/cart/:id': removeFromCart,
  'GET /api/orders': listOrders,
  'POST /api/orders': createOrder,
  'GET /api/availability': availability,
  'GET /api/admin': () => refusal(403, 'forbidden', 'This needs a member of staff.'),
  'POST /api/collect': () => ({ status: 204 }),
  'GET /graphql': persistedGraphql,
  'POST /graphql': (call) => graphql(objectOf(call) ?? {}),
};

const callsPerMinute = 1000;
const reviewsMax = 50;

/** Headers of every API response; `OPTIONS` is answered with only these. */
export function apiHeaders(call: Call): Record<string, string> {
  call.state.apiCalls += 1;
  return {
    'access-control-allow-origin': call.headers.origin ?? '*',
    'access-control-allow-credentials': 'true',
    'access-control-allow-methods': 'GET, POST, PATCH, DELETE, OPTIONS',
    'access-control-allow-headers': 'authorization, content-type, x-api-key, x-csrf-token',
    vary: 'Origin',
    'x-ratelimit-limit': String(callsPerMinute),
    'x-ratelimit-remaining': String(Math.max(0, callsPerMinute - call.state.apiCalls)),
    'x-ratelimit-reset': '60',
  };
}

export const refusal = (status: number, code: string, message: string, fields?: Record<string, string>): Reply =>
  json({ error: { code, message, ...(fields && { fields }) } }, status);

const shown = ({ id, slug, sku, name, category, price, stock, rating, material, description }: Product) => ({
  id,
  sku,
  name,
  category: category.slug,
  price: price / 100,
  currency: 'EUR',
  stock,
  rating,
  material,
  description,
  url: `/products/${slug}`,
  image: `/img/p${id}.svg`,
});

function listProducts(call: Call): Reply {
  const { items, total, page, pages } = select(call.url.searchParams);
  const rels = [
    ['next', page + 1],
    ['prev', page - 1],
  ] as const;
  const links = rels.filter(([, n]) => n >= 1 && n <= pages).map(([rel, n]) => `<${linkTo(call, n)}>; rel="${rel}"`);
  const reply = json({ items: items.map(shown), page, pages, total }, 200, {
    'x-total-count': String(total),
    ...(links.length > 0 && { link: links.join(', ') }),
  });
  return withEtag(call, reply);
}

function linkTo({ url }: Call, page: number): string {
  const query = new URLSearchParams(url.searchParams);
  query.set('page', String(page));
  return `${url.pathname}?${query}`;
}

function readProduct(call: Call): Reply {
  const product = productOf(Number(call.params.id));
  return product ? withEtag(call, json(shown(product))) : refusal(404, 'not_found', 'There is no such product.');
}

const suggestionsMax = 6;

function suggest({ url }: Call): Reply {
  const q = (url.searchParams.get('q') ?? '').trim().toLowerCase();
  const matches = q ? products.filter(({ name }) => name.toLowerCase().includes(q)).slice(0, suggestionsMax) : [];
  return json({ query: q, suggestions: matches.map(({ name, slug }) => ({ name, url: `/products/${slug}` })) });
}

/** The cursor is the last id in base64url, opaque to callers. */
function listReviews({ url }: Call): Reply {
  const limit = Math.min(reviewsMax, Math.max(1, Math.trunc(Number(url.searchParams.get('limit') ?? 20)) || 20));
  const cursor = url.searchParams.get('cursor');
  const after = cursor === null ? 0 : Number(Buffer.from(cursor, 'base64url').toString());
  if (!Number.isInteger(after)) return refusal(422, 'invalid_cursor', 'This cursor was not given out here.');
  const items = reviews.slice(after, after + limit);
  const last = items.at(-1)?.id ?? after;
  const more = last < reviews.length;
  return json({
    items: items.map(({ productId, ...review }) => ({ ...review, product_id: productId })),
    next_cursor: more ? Buffer.from(String(last)).toString('base64url') : null,
  });
}

function readSession(call: Call): Reply {
  const visitor = call.ensureVisitor();
  return json({ email: visitor.email ?? null, csrf: visitor.csrf });
}

/** Returns the body as an object; undefined when it is not one. */
function objectOf({ body }: Call): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const malformed = refusal(400, 'malformed_json', 'The body is not a JSON object.');

function addToCart(call: Call): Reply {
  const given = objectOf(call);
  if (!given) return malformed;
  const { product_id: id, quantity = 1 } = given;
  const product = typeof id === 'number' ? productOf(id) : undefined;
  const fields: Record<string, string> = {};
  if (!product) fields.product_id = 'must be the id of a product';
  if (typeof quantity !== 'number' || !Number.isInteger(quantity) || quantity < 1 || quantity > quantityMax)
    fields.quantity = `must be 1 to ${quantityMax}`;
  if (!product || typeof quantity !== 'number' || Object.keys(fields).length > 0)
    return refusal(422, 'invalid', 'The item cannot be added.', fields);
  if (product.stock === 0) return refusal(409, 'sold_out', `${product.name} is sold out.`);
  const visitor = call.ensureVisitor();
  visitor.cart.set(product.id, Math.min(quantityMax, (visitor.cart.get(product.id) ?? 0) + quantity));
  return json(cartOf(visitor), 201);
}

function removeFromCart(call: Call): Reply {
  const isRemoved = call.visitor?.cart.delete(Number(call.params.id)) ?? false;
  return isRemoved ? json(cartOf(call.visitor)) : refusal(404, 'not_found', 'This product is not in the cart.');
}

const loginNeeded = refusal(401, 'login_needed', 'Log in first.');

function listOrders({ state, visitor }: Call): Reply {
  return visitor?.email ? json({ items: state.orders.filter(({ email }) => email === visitor.email) }) : loginNeeded;
}

function createOrder(call: Call): Reply {
  const { visitor, headers, state } = call;
  if (!visitor?.email) return loginNeeded;
  if (headers['x-csrf-token'] !== visitor.csrf) return refusal(403, 'csrf', 'The x-csrf-token header does not fit the session.');
  const given = objectOf(call);
  if (!given) return malformed;
  if (linesOf(visitor).length === 0) return refusal(422, 'empty_cart', 'There is nothing in the cart.');
  if (typeof given.address !== 'object') return refusal(422, 'invalid', 'The order is not complete.', { address: 'is needed' });
  const { id, items, total } = placeOrder(state, visitor, given.address);
  return json({ id, items, total: total / 100, currency: 'EUR', url: `/orders/${id}` }, 201, { location: `/orders/${id}` });
}

const callsPerWindow = 3;

/** Refuses every fourth call: a rate limit that needs no clock. */
function availability({ state }: Call): Reply {
  state.availabilityCalls += 1;
  const refused = state.availabilityCalls % (callsPerWindow + 1) === 0;
  if (!refused) return json({ shops: [{ name: 'Wharf 4', open: true }] });
  return {
    ...refusal(429, 'rate_limited', 'Too many calls.'),
    headers: { 'content-type': 'application/json; charset=utf-8', 'retry-after': '1' },
  };
}

function persistedGraphql({ url }: Call): Reply {
  return graphql({ operationName: url.searchParams.get('operationName') });
}

function graphql({ operationName, variables }: Record<string, unknown>): Reply {
  if (operationName === 'ProductById') {
    const { id } = (variables ?? {}) as { id?: unknown };
    const product = productOf(Number(id));
    return json({ data: { product: product ? { __typename: 'Product', ...shown(product) } : null } });
  }
  if (operationName === 'LatestArticles') {
    return json({ data: { articles: articles.map(({ slug, title, date }) => ({ __typename: 'Article', slug, title, date })) } });
  }
  return json(
    { errors: [{ message: `Unknown operation ${JSON.stringify(operationName ?? null)}`, extensions: { code: 'BAD_USER_INPUT' } }] },
    400,
  );
}
