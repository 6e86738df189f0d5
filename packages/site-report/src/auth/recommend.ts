/** What to do with what the section shows, in the order of the steps. */
import type { InspectAuth } from '@berth/contract';

export function recommend(auth: Omit<InspectAuth, 'recommendations'>): string[] {
  const { mechanisms } = auth;
  if (mechanisms.every(({ type }) => type === 'none')) return ['No request carried a credential: call the endpoints without one.'];
  return [...signIn(auth), ...keys(auth), ...csrf(auth), ...renewal(auth)];
}

function signIn({ mechanisms, login_forms: forms, oidc, sso }: Omit<InspectAuth, 'recommendations'>): string[] {
  const session = mechanisms.find(({ type }) => type === 'cookie_session');
  const bearer = mechanisms.find(({ type }) => type.startsWith('bearer_'));
  if (!session && !bearer) return [];
  const [form] = forms;
  const start = form
    ? `Log in once with the form on ${form.page}${form.captcha ? ', whose captcha a person or a provider must solve' : ''}`
    : oidc?.authorization_endpoint
      ? `Sign in once at ${oidc.authorization_endpoint}`
      : sso[0]
        ? `Sign in once with ${sso[0].provider}`
        : 'Sign in once';
  const save = session ? 'save the storage state of the session' : 'take the token from the response';
  const bearerPart = bearer
    ? [
        `Send the token in the ${bearer.in} ${bearer.name}${bearer.scheme ? ` with the scheme ${bearer.scheme}` : ''}${storedIn(bearer.storage)}.`,
      ]
    : [];
  const called = [...new Set([...(bearer?.endpoints ?? []), ...(session?.endpoints ?? [])])].slice(0, 5);
  const replay = called.length === 0 ? '' : `; then call ${called.join(', ')}`;
  return [`${start} and ${save}${replay}.`, ...bearerPart];
}

const storedIn = (storage: string): string =>
  storage === 'local' ? '; the page stores it in localStorage' : storage === 'session' ? '; the page stores it in sessionStorage' : '';

function keys({ mechanisms }: Omit<InspectAuth, 'recommendations'>): string[] {
  return mechanisms.flatMap(({ type, in: where, name }) => {
    if (type === 'api_key') return [`Send the API key in the ${where === 'query' ? 'query parameter' : where} ${name}.`];
    if (type === 'basic') return ['Send user name and password with the scheme Basic.'];
    return type === 'hmac_signed' ? [`Requests are signed in ${name}: let the page send them.`] : [];
  });
}

const csrf = (auth: Omit<InspectAuth, 'recommendations'>): string[] =>
  auth.csrf.map(({ name, in: where, source, source_name: from }) =>
    source === 'unknown'
      ? `Requests that change something need the CSRF token ${name} in the ${where}.`
      : `Read the CSRF token from the ${sourceNames[source]}${from ? ` ${from}` : ''} and send it as ${name} in the ${where} of requests that change something.`,
  );

const sourceNames = {
  meta: 'meta element',
  cookie: 'cookie',
  hidden: 'hidden field',
  header: 'response header',
  body: 'response body field',
} as const;

function renewal({ token_refresh: refreshes, session_lifetime_hint: seconds }: Omit<InspectAuth, 'recommendations'>): string[] {
  const [refresh] = refreshes;
  const within = seconds === null ? '' : ` within ${seconds} seconds`;
  if (refresh) return [`Renew the token${within} with ${refresh.method} ${refresh.url}.`];
  return seconds === null ? [] : [`Sign in again${within}: no call that renews the credential was seen.`];
}
