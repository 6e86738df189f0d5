/** The cart and the checkout: an address form in a frame, a payment form in a cross-origin frame. */
import { forCustomers } from './account.ts';
import { price, productOf } from '../data.ts';
import { baseOf, page, stylesheets } from './layout.ts';
import { markup } from './markup.ts';
import { formOf, redirect, text, type Call, type Reply, type Routes } from '../wire.ts';
import { linesOf, totalOf } from '../state.ts';

export const checkoutRoutes: Routes = {
  'GET /cart': cart,
  'POST /cart': addToCart,
  'POST /cart/remove': removeFromCart,
  'GET /checkout': forCustomers(checkout),
  'GET /checkout/address': addressFrame,
  'GET /payment': paymentFrame,
};

export const quantityMax = 99;

function cart(call: Call): Reply {
  const lines = linesOf(call.visitor);
  if (lines.length === 0)
    return page(call, {
      title: 'Cart',
      body: markup`<h1>Cart</h1><p class="empty">Your cart is empty. <a href="/products">See all products</a></p>`,
    });
  const body = markup`<h1>Cart</h1><table class="cart" data-testid="cart"><thead><tr><th>Product</th><th>Quantity</th><th>Price</th><th><span class="quiet">Remove</span></th></tr></thead>
<tbody>${lines.map(
    ({
      product,
      quantity,
    }) => markup`<tr><td><a href="/products/${product.slug}">${product.name}</a></td><td>${quantity}</td><td>${price(product.price * quantity)}</td>
<td><form method="post" action="/cart/remove"><input type="hidden" name="product_id" value="${product.id}"><button class="plain" aria-label="Remove ${product.name}">×</button></form></td></tr>`,
  )}</tbody><tfoot><tr><th colspan="2">Total</th><td colspan="2" data-testid="total">${price(totalOf(lines))}</td></tr></tfoot></table>
<p><a class="button" href="/checkout">Check out</a></p>`;
  return page(call, { title: 'Cart', body });
}

function addToCart(call: Call): Reply {
  const form = formOf(call);
  const product = productOf(Number(form.get('product_id')));
  const quantity = Number(form.get('quantity') ?? 1);
  if (!product || !Number.isInteger(quantity) || quantity < 1 || quantity > quantityMax) return redirect('/cart');
  const { cart } = call.ensureVisitor();
  cart.set(product.id, Math.min(quantityMax, (cart.get(product.id) ?? 0) + quantity));
  return redirect('/cart');
}

function removeFromCart(call: Call): Reply {
  call.visitor?.cart.delete(Number(formOf(call).get('product_id')));
  return redirect('/cart');
}

/** The same server under another host name is another origin. */
function otherOrigin(call: Call): string {
  const { protocol, hostname, port } = new URL(baseOf(call));
  return `${protocol}//${hostname === '127.0.0.1' ? 'localhost' : '127.0.0.1'}:${port}`;
}

function checkout(call: Call): Reply {
  const visitor = call.ensureVisitor();
  const lines = linesOf(visitor);
  if (lines.length === 0) return redirect('/cart', 302);
  const body = markup`<h1>Check out</h1><p>Your order: <strong data-testid="total">${price(totalOf(lines))}</strong></p>
<div class="frames" id="checkout" data-csrf="${visitor.csrf}">
<iframe name="address" title="Delivery address" src="/checkout/address"></iframe>
<iframe name="payment" title="Payment" src="${otherOrigin(call)}/payment"></iframe></div>
<p><button type="button" id="place-order" class="primary" disabled>Place order</button> <span id="checkout-state" role="status">Fill in both forms.</span></p>`;
  return page(call, { title: 'Check out', body, scripts: ['checkout'] });
}

const frame = (title: string, body: string): Reply =>
  text(
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>${stylesheets.text}</head><body class="frame">${body}<script src="/assets/frames.js"></script></body></html>`,
    'text/html; charset=utf-8',
  );

function addressFrame(): Reply {
  return frame(
    'Delivery address',
    `<h2>Delivery address</h2><form id="address" class="stack">
<label>Name <input name="name" autocomplete="name" required></label><label>Street <input name="street" autocomplete="street-address" required></label>
<label>Postcode <input name="postcode" autocomplete="postal-code" required pattern="[0-9A-Za-z -]{4,8}"></label><label>City <input name="city" autocomplete="address-level2" required></label>
<button>Use this address</button><p role="status"></p></form>`,
  );
}

function paymentFrame(): Reply {
  return frame(
    'Payment',
    `<h2>Payment</h2><form id="payment" class="stack"><label>Card number <input name="card" inputmode="numeric" autocomplete="cc-number" required pattern="[0-9 ]{12,23}"></label>
<label>Expires <input name="expires" placeholder="MM/YY" autocomplete="cc-exp" required></label><label>Security code <input name="code" inputmode="numeric" autocomplete="cc-csc" required></label>
<button>Use this card</button><p role="status"></p></form>`,
  );
}
