/**
 * The trade desk: an application for business customers, whose script uses an API in all the ways that inspections
 * recognise. `answer-key.ts` says what is there.
 */
import { createHash } from 'node:crypto';
import { ada } from './account.ts';
import { products } from '../data.ts';
import { page } from './layout.ts';
import { markup } from './markup.ts';
import { tokenOf, tradeKeys, withToken } from '../tokens.ts';
import { json, text, type Call, type Reply, type Routes } from '../wire.ts';

export const tradeRoutes: Routes = {
  'GET /trade': tradePage,
  'POST /api/v2/auth/login': logIn,
  'POST /api/v2/auth/refresh': refresh,
  'GET /api/v2/me': withToken(me),
  'GET /api/v2/customers/:customer/orders': withToken(listOrders),
  'GET /api/v2/customers/:customer/orders/:order': withToken(readOrder),
  'GET /api/v2/customers/:customer/orders/:order/lines': withToken(listLines),
  'GET /api/v2/activity': withToken(listActivity),
  'GET /api/v2/notices': listNotices,
  'GET /api/v2/rates': rates,
  'GET /api/v2/maps/tiles/:z/:x/:y': tile,
  'POST /api/v2/notes': withCsrfHeader(createNote),
  'PATCH /api/v2/notes/:note': withCsrfHeader(editNote),
  'DELETE /api/v2/notes/:note': withCsrfHeader(() => ({ status: 204 })),
  'POST /api/v2/attachments': withToken(attach),
  'GET /api/v2/legacy/export': exportLegacy,
  'GET /api/v2/reports/:year': withToken(report),
  'GET /api/v2/stock-levels/:sku': withToken(stockLevel),
  'POST /rpc': rpc,
};

const customerId = 4711;
const orderCount = 12;
const activityCount = 30;
const statuses = ['open', 'paid', 'shipped'] as const;

function tradePage(call: Call): Reply {
  const visitor = call.ensureVisitor();
  const { protocol, hostname, port } = call.url;
  const sibling = `${protocol}//${hostname === '127.0.0.1' ? 'localhost' : '127.0.0.1'}:${port}`;
  return page(call, {
    title: 'Trade desk',
    head: markup`<meta name="csrf-token" content="${visitor.csrf}">`,
    body: markup`<h1>Trade desk</h1><div class="narrow" id="desk" data-sibling="${sibling}" data-rates-key="${tradeKeys.rates}" data-maps-key="${tradeKeys.maps}" data-export-password="${tradeKeys.exportPassword}">
<form class="stack" id="desk-login"><label for="desk-email">E-mail address</label>
<input id="desk-email" name="email" type="email" autocomplete="username" required>
<label for="desk-password">Password</label><input id="desk-password" name="password" type="password" autocomplete="current-password" required>
<button type="submit" class="primary">Open the desk</button></form>
<p><button type="button" id="harbour">Sign in with Harbour ID</button></p><p id="desk-state" role="status">Not signed in.</p></div>`,
    scripts: ['trade'],
  });
}

function bodyOf({ body }: Call): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const problem = (status: number, code: string, message: string): Reply => json({ error: { code, message } }, status);
const notFound = problem(404, 'not_found', 'There is nothing here.');

function logIn(call: Call): Reply {
  const { email, password } = bodyOf(call);
  if (email !== ada.email || password !== ada.password)
    return problem(401, 'wrong_credentials', 'The e-mail address or the password is wrong.');
  return json({
    access_token: tokenOf(call, 'access'),
    refresh_token: tradeKeys.refresh,
    token_type: 'Bearer',
    expires_in: 900,
    customer: { id: customerId, name: ada.name },
  });
}

function refresh(call: Call): Reply {
  if (bodyOf(call)['refresh_token'] !== tradeKeys.refresh) return problem(401, 'wrong_token', 'This token is unknown.');
  return json({ access_token: tokenOf(call, 'refreshed'), token_type: 'Bearer', expires_in: 900 });
}

function me(): Reply {
  return json({ id: customerId, name: ada.name, email: ada.email, roles: ['buyer'], created_at: '2024-03-01T09:30:00Z', vat_id: null });
}

/** A version 4 UUID that is the same in every run. */
function uuidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const orders = Array.from({ length: orderCount }, (_, i) => ({
  id: uuidOf(`order ${i}`),
  number: `T-${2001 + i}`,
  status: statuses[i % statuses.length] as string,
  total: 19.5 + i * 10.25,
  placed_at: `2026-0${1 + (i % 9)}-14`,
}));

const numberOf = ({ url }: Call, name: string, otherwise: number): number => Number(url.searchParams.get(name) ?? otherwise) || otherwise;

function listOrders(call: Call): Reply {
  if (Number(call.params.customer) !== customerId) return notFound;
  const at = numberOf(call, 'page', 1);
  const size = numberOf(call, 'per_page', 5);
  const meta = { page: at, per_page: size, total_pages: Math.ceil(orders.length / size), total: orders.length };
  return json({ data: orders.slice((at - 1) * size, at * size), meta });
}

function readOrder({ params }: Call): Reply {
  const order = orders.find(({ id }) => id === params.order);
  if (!order) return notFound;
  const isShipped = order.status === 'shipped';
  const tracking = isShipped ? `https://tracking.example/${order.number}` : null;
  return json({ ...order, lines_count: 25, is_gift: false, shipping: { carrier: 'Barge', tracking_url: tracking } });
}

function listLines(call: Call): Reply {
  const offset = Number(call.url.searchParams.get('offset') ?? 0);
  const limit = numberOf(call, 'limit', 10);
  const items = products
    .slice(offset, Math.min(25, offset + limit))
    .map(({ sku, name, price }, i) => ({ sku, name, quantity: 1 + (i % 3), unit_price: price / 100 + 0.005 }));
  return json({ items, offset, limit, total: 25 });
}

/** The cursor is opaque to callers. */
function listActivity(call: Call): Reply {
  const cursor = call.url.searchParams.get('cursor');
  const from = cursor === null ? 0 : Number(Buffer.from(cursor, 'base64url').toString().split(':')[1]);
  const to = Math.min(activityCount, from + numberOf(call, 'limit', 10));
  const items = Array.from({ length: to - from }, (_, i) => ({
    id: from + i + 1,
    kind: i % 2 === 0 ? 'order.placed' : 'note.added',
    at: '2026-02-03T10:00:00Z',
  }));
  return json({ items, next_cursor: to < activityCount ? Buffer.from(`after:${to}`).toString('base64url') : null });
}

/** Open to everybody; the next page is only in the Link header. */
function listNotices(call: Call): Reply {
  const after = numberOf(call, 'after', 100);
  const items = [1, 2, 3].map((i) => ({ id: after + i, title: `Notice ${after + i}` }));
  return json(items, 200, after < 106 ? { link: `</api/v2/notices?after=${after + 3}>; rel="next"` } : {});
}

function rates({ headers }: Call): Reply {
  if (headers['x-api-key'] !== tradeKeys.rates) return problem(401, 'no_key', 'Send your key in x-api-key.');
  return json({ base: 'EUR', as_of: '2026-02-03', rates: { USD: 1.0825, SEK: 11.205 } }, 200, { 'cache-control': 'max-age=60' });
}

function tile({ url, params }: Call): Reply {
  if (url.searchParams.get('key') !== tradeKeys.maps) return problem(403, 'no_key', 'Send your key as key.');
  return json({ tile: `${params.z}/${params.x}/${params.y}`, features: Number(params.x) % 7 });
}

function withCsrfHeader(route: (call: Call) => Reply): (call: Call) => Reply {
  return (call) =>
    call.visitor && call.headers['x-csrf-token'] === call.visitor.csrf
      ? route(call)
      : problem(403, 'csrf', 'The x-csrf-token header does not fit the session.');
}

function createNote(call: Call): Reply {
  const { order_id: orderId, text: note } = bodyOf(call);
  if (typeof note !== 'string' || note === '') return problem(422, 'invalid', 'A note needs a text.');
  return json({ id: 881, order_id: orderId, text: note, created_at: '2026-02-03T10:00:00Z' }, 201, { location: '/api/v2/notes/881' });
}

function editNote(call: Call): Reply {
  return json({ id: Number(call.params.note), text: bodyOf(call)['text'] ?? '', edited: true });
}

function attach({ body }: Call): Reply {
  return json({ id: uuidOf('attachment'), name: 'delivery.txt', bytes: body.length }, 201);
}

function exportLegacy({ headers }: Call): Reply {
  const given = Buffer.from((headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString();
  if (given !== `export:${tradeKeys.exportPassword}`)
    return {
      ...problem(401, 'basic', 'Log in.'),
      headers: { 'www-authenticate': 'Basic realm="export"', 'content-type': 'application/json' },
    };
  return text('number,total\nT-2001,19.50\n', 'text/csv; charset=utf-8');
}

function report({ params }: Call): Reply {
  if (params.year === '2023') return problem(503, 'rebuilding', 'This report is being rebuilt.');
  return json({ year: Number(params.year), revenue: 12_400.75, orders: 31, by_month: [{ month: 1, revenue: 1000.5 }] });
}

function stockLevel({ params }: Call): Reply {
  const product = products.find(({ sku }) => sku === params.sku);
  return product ? json({ sku: product.sku, on_hand: product.stock, updated_at: '2026-02-03T10:00:00Z' }) : notFound;
}

function rpc(call: Call): Reply {
  const { id, method } = bodyOf(call);
  if (method !== 'inventory.count') return json({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Unknown method' } });
  return json({ jsonrpc: '2.0', id, result: { count: products.length } });
}
