/** The pages of the fake Stripe: checkout and customer portal. */

interface Offer {
  price: string;
  metadata: Record<string, string>;
  cancelUrl: string;
}

export const payPage = ({ price, metadata: { owner = 'Somebody' }, cancelUrl }: Offer): string =>
  page(
    'Checkout',
    `<p>${escaped(owner)} subscribes to <b>${escaped(price)}</b>.</p>
     <form method="post"><button>Pay</button></form>
     <p><a href="${escaped(cancelUrl)}">Cancel</a></p>`,
  );

export const paidPage = (successUrl: string): string => page('This is paid', `<p><a href="${escaped(successUrl)}">Go on</a></p>`);

/** The form sends `act` and the id of its `subscription`. */
export function portalPage(subscriptions: readonly { id: string; status: string; price: string }[], returnUrl: string): string {
  const buttons = ['change', 'cancel', 'fail', 'renew'].map((act) => `<button name="act" value="${act}">${act}</button>`).join(' ');
  const rows = subscriptions.map(
    ({ id, status, price }) => `<form method="post"><p><b>${id}</b> ${status}</p>
      <input type="hidden" name="subscription" value="${id}">
      <label>Price <input name="price" value="${escaped(price)}"></label> ${buttons}</form>`,
  );
  return page('Subscriptions', `${rows.join('')}<p><a href="${escaped(returnUrl)}">Back</a></p>`);
}

export const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1><p>This is not a real payment: it is a fake Stripe for tests.</p>${body}</html>`;

const escaped = (value: string): string => value.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
