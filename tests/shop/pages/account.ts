/** Logins in one step, in two steps and with a one-time code, and the account pages. */
import { price } from '../data.ts';
import { page } from './layout.ts';
import { markup, type Markup } from './markup.ts';
import { fits } from '../totp.ts';
import { formOf, redirect, text, type Call, type Reply, type Route, type Routes } from '../wire.ts';
import { addVisitor, type Visitor } from '../state.ts';

export interface Customer {
  name: string;
  email: string;
  password: string;
  /** Base32; accounts with a secret need a one-time code. */
  otpSecret?: string;
}

export const ada: Customer = { name: 'Ada Vermeer', email: 'ada@example.com', password: 'correct horse battery' };
export const grace: Customer = {
  name: 'Grace Olsen',
  email: 'grace@example.com',
  password: 'staple staple staple',
  otpSecret: 'JBSWY3DPEHPK3PXP',
};
const customers = [ada, grace];

const rememberSeconds = 30 * 86_400;

export const accountRoutes: Routes = {
  'GET /login': (call) => (call.visitor?.email ? redirect('/account') : loginPage(call)),
  'POST /login': withCsrf(login),
  'GET /login/steps': (call) => stepPage(call, call.visitor?.half),
  'POST /login/steps': withCsrf(stepEmail),
  'POST /login/steps/password': withCsrf(stepPassword),
  'GET /login/otp': (call) => (call.visitor?.half?.passwordDone ? otpPage(call) : redirect('/login')),
  'POST /login/otp': withCsrf(oneTimeCode),
  'POST /logout': withCsrf(logout),
  'GET /account': forCustomers(accountPage),
  'GET /account/report.csv': forCustomers(report),
  'GET /orders/:id': forCustomers(orderPage),
  'GET /admin': (call) =>
    page(call, { status: 403, title: 'Forbidden', body: markup`<h1>Forbidden</h1><p>This part of the shop is for its staff.</p>` }),
};

/** Allows only paths of this shop, to prevent open redirects. */
const nextOf = (wanted: string | null): string => (wanted && /^\/(?![/\\])/.test(wanted) ? wanted : '/account');

export function forCustomers(route: Route): Route {
  return (call) => (call.visitor?.email ? route(call) : redirect(`/login?next=${encodeURIComponent(call.url.pathname)}`, 302));
}

export function withCsrf(route: Route): Route {
  return (call) => {
    if (call.visitor && formOf(call).get('csrf') === call.visitor.csrf) return route(call);
    return page(call, {
      status: 403,
      title: 'Expired',
      body: markup`<h1>This form has expired</h1><p><a href="${call.url.pathname}">Try again</a></p>`,
    });
  };
}

export const csrfField = (visitor: Visitor): Markup => markup`<input type="hidden" name="csrf" value="${visitor.csrf}">`;

const alert = (message: string | undefined): Markup | undefined =>
  message ? markup`<p role="alert" class="error">${message}</p>` : undefined;
const wrong = 'The e-mail address or the password is wrong.';

function loginPage(call: Call, error?: string): Reply {
  const form = formOf(call);
  const body = markup`<div class="narrow"><h1>Log in</h1>${alert(error)}
<form method="post" action="/login" class="stack" id="login">${csrfField(call.ensureVisitor())}
<input type="hidden" name="next" value="${nextOf(call.url.searchParams.get('next') ?? form.get('next'))}">
<label for="email">E-mail address</label><input id="email" name="email" type="email" autocomplete="username" required value="${form.get('email') ?? ''}">
<label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" required>
<label class="check"><input type="checkbox" name="remember" value="1"> Remember me</label>
<button type="submit" class="primary">Log in</button></form>
<p>Or <a href="/login/steps">log in step by step</a>.</p></div>`;
  return page(call, { title: 'Log in', body, status: error ? 422 : 200 });
}

function login(call: Call): Reply {
  const form = formOf(call);
  const customer = customerWith(form.get('email'), form.get('password'));
  if (!customer) return loginPage(call, wrong);
  return passwordDone(call, { customer, remember: form.has('remember'), next: nextOf(form.get('next')) });
}

const customerWith = (email: string | null, password: string | null): Customer | undefined =>
  customers.find((customer) => customer.email === email?.toLowerCase() && customer.password === password);

interface Entry {
  customer: Customer;
  remember: boolean;
  next: string;
}

function passwordDone(call: Call, { customer, remember, next }: Entry): Reply {
  if (!customer.otpSecret) return enter(call, { customer, remember, next });
  call.ensureVisitor().half = { email: customer.email, passwordDone: true, remember };
  return redirect('/login/otp');
}

function enter(call: Call, { customer, remember, next }: Entry): Reply {
  const visitor = addVisitor(call.state, call.visitor);
  visitor.email = customer.email;
  call.setCookie(sessionCookie(visitor, remember));
  return redirect(next);
}

export const sessionCookie = ({ id }: Visitor, remember = false): string =>
  `sid=${id}; Path=/; HttpOnly; SameSite=Lax${remember ? `; Max-Age=${rememberSeconds}` : ''}`;

function stepPage(call: Call, half: Visitor['half'], error?: string): Reply {
  const csrf = csrfField(call.ensureVisitor());
  const email = markup`<form method="post" action="/login/steps" class="stack">${csrf}
<label for="identifier">E-mail address</label><input id="identifier" name="identifier" type="text" inputmode="email" autocomplete="username" required autofocus>
<button type="submit" class="primary">Continue</button></form>`;
  const password = markup`<p>Hello, <strong>${half?.email ?? ''}</strong></p><form method="post" action="/login/steps/password" class="stack">${csrf}
<label for="secret">Password</label><input id="secret" name="secret" type="password" autocomplete="current-password" required autofocus>
<button type="submit" class="primary">Log in</button></form>`;
  const body = markup`<div class="narrow"><h1>Log in</h1>${alert(error)}${half ? password : email}</div>`;
  return page(call, { title: 'Log in', body, status: error ? 422 : 200 });
}

function stepEmail(call: Call): Reply {
  const email = formOf(call).get('identifier')?.toLowerCase() ?? '';
  if (!customers.some((customer) => customer.email === email)) return stepPage(call, undefined, 'There is no account with this address.');
  call.ensureVisitor().half = { email, passwordDone: false, remember: false };
  return redirect('/login/steps');
}

function stepPassword(call: Call): Reply {
  const half = call.visitor?.half;
  if (!half) return redirect('/login/steps');
  const customer = customerWith(half.email, formOf(call).get('secret'));
  return customer ? passwordDone(call, { customer, remember: false, next: '/account' }) : stepPage(call, half, 'The password is wrong.');
}

function otpPage(call: Call, error?: string): Reply {
  const body = markup`<div class="narrow"><h1>One more step</h1>${alert(error)}<p>Enter the six digits from your authenticator.</p>
<form method="post" action="/login/otp" class="stack">${csrfField(call.ensureVisitor())}
<label for="otp">Code</label><input id="otp" name="otp" inputmode="numeric" autocomplete="one-time-code" maxlength="6" pattern="[0-9]{6}" required>
<button type="submit" class="primary">Verify</button></form></div>`;
  return page(call, { title: 'Two-step login', body, status: error ? 422 : 200 });
}

function oneTimeCode(call: Call): Reply {
  const half = call.visitor?.half;
  const customer = customers.find(({ email }) => email === half?.email);
  if (!half?.passwordDone || !customer?.otpSecret) return redirect('/login');
  if (!fits(formOf(call).get('otp') ?? '', customer.otpSecret, call.state.now()))
    return otpPage(call, 'This code is not right, or has expired.');
  return enter(call, { customer, remember: half.remember, next: '/account' });
}

function logout(call: Call): Reply {
  if (call.visitor) call.state.visitors.delete(call.visitor.id);
  call.setCookie('sid=; Path=/; HttpOnly; Max-Age=0');
  return redirect('/');
}

const ordersOf = ({ state, visitor }: Call) => state.orders.filter(({ email }) => email === visitor?.email);

function accountPage(call: Call): Reply {
  const visitor = call.ensureVisitor();
  const customer = customers.find(({ email }) => email === visitor.email);
  const orders = ordersOf(call);
  const body = markup`<h1>Hello, ${customer?.name ?? ''}</h1><p>You are logged in as <span data-testid="email">${visitor.email}</span>.</p>
<h2>Orders</h2>${orders.length === 0 ? markup`<p>No orders yet.</p>` : markup`<ul>${orders.map(({ id, total }) => markup`<li><a href="/orders/${id}">${id}</a>, ${price(total)}</li>`)}</ul>`}
<h2>Papers</h2><ul><li><a href="/invoices/1.pdf">Invoice 1 (PDF)</a></li><li><a href="/account/report.csv">Report of your orders (CSV)</a></li></ul>
<form method="post" action="/logout">${csrfField(visitor)}<button>Log out</button></form>`;
  return page(call, { title: 'Account', body });
}

function report(call: Call): Reply {
  const rows = ordersOf(call).map(({ id, total }) => `${id},${(total / 100).toFixed(2)}\n`);
  return text(`order,total\n${rows.join('')}`, 'text/csv; charset=utf-8', { 'content-disposition': 'attachment; filename="report.csv"' });
}

function orderPage(call: Call): Reply {
  const order = ordersOf(call).find(({ id }) => id === call.params.id);
  if (!order) return page(call, { status: 404, title: 'Not found', body: markup`<h1>No such order</h1>` });
  return page(call, {
    title: `Order ${order.id}`,
    body: markup`<h1>Thank you</h1><p>Order <strong data-testid="order-id">${order.id}</strong> over ${price(order.total)} is on its way.</p>`,
  });
}
