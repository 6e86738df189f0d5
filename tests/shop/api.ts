/** The JSON API and its neighbour that looks like GraphQL. */
import { quantityMax } from './checkout.ts';
import { articles, categories, productOf, products, reviews, type Product } from './data.ts';
import { select } from './lists.ts';
import { json, withEtag, type Call, type Reply, type Routes } from './wire.ts';
import { cartOf, linesOf, placeOrder } from './world.ts';

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
  'GET /api/admin': () => fault(403, 'forbidden', 'This needs a member of staff.'),
  'POST /api/collect': () => ({ status: 204 }),
  'POST /graphql': graphql,
};

const callsPerMinute = 1000;
const reviewsMax = 50;

/** What every answer of the API carries; `OPTIONS` is answered with these alone. */
export function apiHeaders(call: Call): Record<string, string> {
  call.world.apiCalls += 1;
  return {
    'access-control-allow-origin': call.headers.origin ?? '*',
    'access-control-allow-credentials': 'true',
    'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
    'access-control-allow-headers': 'content-type, x-csrf-token',
    vary: 'Origin',
    'x-ratelimit-limit': String(callsPerMinute),
    'x-ratelimit-remaining': String(Math.max(0, callsPerMinute - call.world.apiCalls)),
    'x-ratelimit-reset': '60',
  };
}

export const fault = (status: number, code: string, message: string, fields?: Record<string, string>): Reply =>
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
  return product ? withEtag(call, json(shown(product))) : fault(404, 'not_found', 'There is no such product.');
}

const suggestionsMax = 6;

function suggest({ url }: Call): Reply {
  const q = (url.searchParams.get('q') ?? '').trim().toLowerCase();
  const found = q ? products.filter(({ name }) => name.toLowerCase().includes(q)).slice(0, suggestionsMax) : [];
  return json({ query: q, suggestions: found.map(({ name, slug }) => ({ name, url: `/products/${slug}` })) });
}

/** The cursor is the last id that was seen, in base64url: callers are not to count on its shape. */
function listReviews({ url }: Call): Reply {
  const limit = Math.min(reviewsMax, Math.max(1, Math.trunc(Number(url.searchParams.get('limit') ?? 20)) || 20));
  const cursor = url.searchParams.get('cursor');
  const after = cursor === null ? 0 : Number(Buffer.from(cursor, 'base64url').toString());
  if (!Number.isInteger(after)) return fault(422, 'invalid_cursor', 'This cursor was not given out here.');
  const items = reviews.slice(after, after + limit);
  const last = items.at(-1)?.id ?? after;
  const more = last < reviews.length;
  return json({
    items: items.map(({ productId, ...review }) => ({ ...review, product_id: productId })),
    next_cursor: more ? Buffer.from(String(last)).toString('base64url') : null,
  });
}

function readSession(call: Call): Reply {
  const visitor = call.meet();
  return json({ email: visitor.email ?? null, csrf: visitor.csrf });
}

/** The body as an object; undefined when it is not one. */
function objectOf({ body }: Call): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const malformed = fault(400, 'malformed_json', 'The body is not a JSON object.');

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
    return fault(422, 'invalid', 'The item cannot be added.', fields);
  if (product.stock === 0) return fault(409, 'sold_out', `${product.name} is sold out.`);
  const visitor = call.meet();
  visitor.cart.set(product.id, Math.min(quantityMax, (visitor.cart.get(product.id) ?? 0) + quantity));
  return json(cartOf(visitor), 201);
}

function removeFromCart(call: Call): Reply {
  const gone = call.visitor?.cart.delete(Number(call.params.id)) ?? false;
  return gone ? json(cartOf(call.visitor)) : fault(404, 'not_found', 'This product is not in the cart.');
}

const loginNeeded = fault(401, 'login_needed', 'Log in first.');

function listOrders({ world, visitor }: Call): Reply {
  return visitor?.email ? json({ items: world.orders.filter(({ email }) => email === visitor.email) }) : loginNeeded;
}

function createOrder(call: Call): Reply {
  const { visitor, headers, world } = call;
  if (!visitor?.email) return loginNeeded;
  if (headers['x-csrf-token'] !== visitor.csrf) return fault(403, 'csrf', 'The x-csrf-token header does not fit the session.');
  const given = objectOf(call);
  if (!given) return malformed;
  if (linesOf(visitor).length === 0) return fault(422, 'empty_cart', 'There is nothing in the cart.');
  if (typeof given.address !== 'object') return fault(422, 'invalid', 'The order is not complete.', { address: 'is needed' });
  const { id, items, total } = placeOrder(world, visitor, given.address);
  return json({ id, items, total: total / 100, currency: 'EUR', url: `/orders/${id}` }, 201, { location: `/orders/${id}` });
}

const callsPerWindow = 3;

/** Refuses every fourth call, so that a caller can meet a limit without a clock. */
function availability({ world }: Call): Reply {
  world.availabilityCalls += 1;
  const refused = world.availabilityCalls % (callsPerWindow + 1) === 0;
  if (!refused) return json({ shops: [{ name: 'Wharf 4', open: true }] });
  return {
    ...fault(429, 'rate_limited', 'Too many calls.'),
    headers: { 'content-type': 'application/json; charset=utf-8', 'retry-after': '1' },
  };
}

function graphql(call: Call): Reply {
  const { operationName, variables } = objectOf(call) ?? {};
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
