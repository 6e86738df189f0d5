/** The shop's mutable state: visitors, carts, orders. */
import { createHmac } from 'node:crypto';
import { price, productOf, type Product } from './data.ts';

export interface Visitor {
  /** The value of the session cookie. */
  id: string;
  /** The token that forms and the API must send. */
  csrf: string;
  /** Quantities by product id. */
  cart: Map<number, number>;
  /** Set after login. */
  email?: string;
  /** The account of a login that awaits its last step. */
  half?: { email: string; passwordDone: boolean; remember: boolean };
}

export interface CartLine {
  product: Product;
  quantity: number;
}

export interface Order {
  /** `A-1001` */
  id: string;
  email: string;
  items: { product_id: number; quantity: number }[];
  /** Total in cents of a euro. */
  total: number;
  address: unknown;
}

export interface ShopState {
  visitors: Map<string, Visitor>;
  /** The number of sessions so far. */
  visitorCount: number;
  orders: Order[];
  /** The product of the day, by its id. */
  deal: number;
  /** Whether the second design's element ids and class names are used. */
  redesigned: boolean;
  /** Whether visitors without a choice see the consent dialog. */
  consent: boolean;
  /** Calls of the API, for its rate limit headers. */
  apiCalls: number;
  availabilityCalls: number;
  now(): number;
}

// The key is no secret: cookies must be identical in every run.
const sign = (text: string): string => createHmac('sha256', 'quayside').update(text).digest('base64url').slice(0, 32);

export const openState = (consent: boolean, now: () => number): ShopState => ({
  visitors: new Map(),
  visitorCount: 0,
  orders: [],
  deal: 1,
  redesigned: false,
  consent,
  apiCalls: 0,
  availabilityCalls: 0,
  now,
});

/** Creates a session. A login takes over the old session's cart and ends it. */
export function addVisitor(state: ShopState, from?: Visitor): Visitor {
  if (from) state.visitors.delete(from.id);
  state.visitorCount += 1;
  const id = sign(`visitor ${state.visitorCount}`);
  const visitor: Visitor = { id, csrf: sign(`csrf ${id}`), cart: from?.cart ?? new Map<number, number>() };
  state.visitors.set(id, visitor);
  return visitor;
}

export const linesOf = (visitor: Visitor | undefined): CartLine[] =>
  [...(visitor?.cart ?? [])].flatMap(([id, quantity]) => {
    const product = productOf(id);
    return product ? [{ product, quantity }] : [];
  });

export const totalOf = (lines: CartLine[]): number => lines.reduce((sum, { product, quantity }) => sum + product.price * quantity, 0);

export const cartOf = (visitor: Visitor | undefined) => {
  const lines = linesOf(visitor);
  return {
    items: lines.map(({ product, quantity }) => ({ product_id: product.id, name: product.name, quantity, price: product.price / 100 })),
    count: lines.reduce((sum, { quantity }) => sum + quantity, 0),
    total: totalOf(lines) / 100,
    total_text: price(totalOf(lines)),
    currency: 'EUR',
  };
};

export function placeOrder(state: ShopState, visitor: Visitor, address: unknown): Order {
  const lines = linesOf(visitor);
  const items = lines.map(({ product, quantity }) => ({ product_id: product.id, quantity }));
  const order: Order = { id: `A-${1001 + state.orders.length}`, email: visitor.email ?? '', items, total: totalOf(lines), address };
  state.orders.push(order);
  visitor.cart.clear();
  return order;
}
