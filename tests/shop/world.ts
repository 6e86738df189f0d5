/** What changes while the shop is open: visitors, their carts, orders. */
import { createHmac } from 'node:crypto';
import { price, productOf, type Product } from './data.ts';

export interface Visitor {
  /** The value of the session cookie. */
  id: string;
  /** What forms and the API must send back. */
  csrf: string;
  /** Product ids and how many of each. */
  cart: Map<number, number>;
  /** Set once logged in. */
  email?: string;
  /** Who has passed the steps of a login before the last one. */
  half?: { email: string; passwordDone: boolean; remember: boolean };
}

export interface Line {
  product: Product;
  quantity: number;
}

export interface Order {
  /** `A-1001` */
  id: string;
  email: string;
  items: { product_id: number; quantity: number }[];
  /** In cents of a euro. */
  total: number;
  address: unknown;
}

export interface World {
  visitors: Map<string, Visitor>;
  /** How many sessions there have been. */
  met: number;
  orders: Order[];
  /** The product of the day, by its id. */
  deal: number;
  /** Whether element ids and class names are those of the second design. */
  redesigned: boolean;
  /** Whether a visitor without a choice sees the consent dialog. */
  consent: boolean;
  /** Calls of the API, for its rate limit headers. */
  apiCalls: number;
  availabilityCalls: number;
  now(): number;
}

// No secret: the same shop gives the same cookies in every run.
const sign = (text: string): string => createHmac('sha256', 'quayside').update(text).digest('base64url').slice(0, 32);

export const openWorld = (consent: boolean, now: () => number): World => ({
  visitors: new Map(),
  met: 0,
  orders: [],
  deal: 1,
  redesigned: false,
  consent,
  apiCalls: 0,
  availabilityCalls: 0,
  now,
});

/** A new session; of a visitor who logs in, with the cart of the old one, which ends. */
export function addVisitor(world: World, from?: Visitor): Visitor {
  if (from) world.visitors.delete(from.id);
  world.met += 1;
  const id = sign(`visitor ${world.met}`);
  const visitor: Visitor = { id, csrf: sign(`csrf ${id}`), cart: from?.cart ?? new Map<number, number>() };
  world.visitors.set(id, visitor);
  return visitor;
}

export const linesOf = (visitor: Visitor | undefined): Line[] =>
  [...(visitor?.cart ?? [])].flatMap(([id, quantity]) => {
    const product = productOf(id);
    return product ? [{ product, quantity }] : [];
  });

export const totalOf = (lines: Line[]): number => lines.reduce((sum, { product, quantity }) => sum + product.price * quantity, 0);

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

export function placeOrder(world: World, visitor: Visitor, address: unknown): Order {
  const lines = linesOf(visitor);
  const items = lines.map(({ product, quantity }) => ({ product_id: product.id, quantity }));
  const order: Order = { id: `A-${1001 + world.orders.length}`, email: visitor.email ?? '', items, total: totalOf(lines), address };
  world.orders.push(order);
  visitor.cart.clear();
  return order;
}
