/** The pages of the development issuer, without scripts. */
import { html, nothing, type Markup } from '@berth/lib/text/html.ts';
import { authorizationFields, type Authorization, type FieldErrors, type SignInFields } from './dev-forms.ts';
import { devIdpPath, type DevToken, type Person } from './dev-issuer.ts';

const mark = html`<svg class="mark" viewBox="0 0 32 32" width="44" height="44" aria-hidden="true">
  <rect width="32" height="32" rx="8" fill="#0b6b6b" />
  <path d="M8 9v9a8 8 0 0 0 16 0V9" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" />
  <circle cx="16" cy="11.5" r="3.5" fill="#8fe3dc" />
</svg>`;
const icon = `data:image/svg+xml,${encodeURIComponent(mark.text.replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" '))}`;

const document = (title: string, content: Markup): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Berth</title>
        <link rel="icon" href="${icon}" />
        <link rel="stylesheet" href="${devIdpPath}/pages.css" />
      </head>
      <body>
        <main class="card">${mark} ${content}</main>
      </body>
    </html> `.text;

/**
 * Headers of a page. `returnsTo` is the redirect after its form, which browsers
 * check against `form-action`, too.
 */
export function pageHeaders(returnsTo?: string): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    'img-src data:',
    `form-action 'self'${returnsTo === undefined ? '' : ` ${sourceOf(returnsTo)}`}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  // With no-referrer a browser would hide the Origin of the form, which requireOwnForm checks.
  return { 'content-security-policy': policy.join('; '), 'referrer-policy': 'same-origin' };
}

/** CSP has no syntax for IPv6 hosts, so their whole scheme is allowed. */
function sourceOf(url: string): string {
  const { origin, protocol, hostname } = new URL(url);
  return hostname.startsWith('[') ? protocol : origin;
}

export interface SignInForm {
  fields?: SignInFields;
  errors?: FieldErrors;
  /** Request of the program that asks for a sign-in; absent: the person signs in for a token to copy. */
  authorization?: Authorization;
}

export function signInPage({ fields, errors = {}, authorization }: SignInForm): string {
  const hasErrors = Object.keys(errors).length > 0;
  const first = errors.email === undefined && errors.organisation !== undefined ? 'organisation' : 'email';
  const hiddenFields = authorization === undefined ? [] : authorizationFields(authorization);
  const purpose =
    authorization === undefined
      ? 'Get a login token to create API keys.'
      : html`To continue to <strong>${new URL(authorization.redirectUri).host}</strong>.`;
  const content = html` <h1>Sign in</h1>
    <p class="lead">${purpose}</p>
    <form method="post" action="${devIdpPath}/${authorization === undefined ? 'sign-in' : 'authorize'}" novalidate>
      ${hiddenFields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
      ${field({ name: 'email', label: 'E-mail', type: 'email', value: fields?.email, error: errors.email, isFirst: first === 'email' })}
      ${field({
        name: 'organisation',
        label: 'Organisation',
        type: 'text',
        value: fields?.organisation,
        hint: 'Keys and credits belong to the organisation. A new name creates a new one. The key of the first start belongs to local.',
        error: errors.organisation,
        isFirst: first === 'organisation',
      })}
      <button class="button" type="submit">Sign in</button>
    </form>
    <p class="note">
      This is the development sign-in of a service on your own machine. It needs no password and does not verify who you are.
    </p>`;
  return document(hasErrors ? 'Not signed in yet' : 'Sign in', content);
}

interface Field {
  name: string;
  label: string;
  type: string;
  value: string | undefined;
  hint?: string;
  error: string | undefined;
  isFirst: boolean;
}

function field({ name, label, type, value = '', hint, error, isFirst }: Field): Markup {
  const described = [...(error === undefined ? [] : [`${name}-fault`]), ...(hint === undefined ? [] : [`${name}-hint`])].join(' ');
  return html` <div class="field">
    <label for="${name}">${label}</label>
    ${error === undefined ? nothing : html`<p class="fault" id="${name}-fault">${error}</p>`}
    <input
      id="${name}"
      name="${name}"
      type="${type}"
      value="${value}"
      required
      autocapitalize="none"
      spellcheck="false"
      autocomplete="${type === 'email' ? 'email' : 'organization'}"
      ${error === undefined ? nothing : html` aria-invalid="true"`}
      ${described === '' ? nothing : html` aria-describedby="${described}"`}
      ${isFirst ? html` autofocus` : nothing}
    />
    ${hint === undefined ? nothing : html`<p class="hint" id="${name}-hint">${hint}</p>`}
  </div>`;
}

/** `origin` is that of the request. */
export function tokenPage({ email, organisation }: Person, { token, expiresAt }: DevToken, origin: string): string {
  const bearer = `-H "Authorization: Bearer $TOKEN"`;
  const until = expiresAt.toISOString();
  const json = `-H 'Content-Type: application/json' -d '{"name":"my key"}'`;
  const createKey = `TOKEN='${token}'\ncurl -X POST ${origin}/v1/keys ${bearer} ${json}`;
  const content = html` <h1>You are signed in</h1>
    <p class="lead">
      <strong>${email}</strong> acts for <strong>${organisation}</strong> until <time datetime="${until}">${until.slice(11, 16)} UTC</time>.
    </p>
    ${copyField('token', 'Login token', token)}
    <h2>Create an API key</h2>
    <p class="note" id="how-to-copy">To copy a field, click into it and press Ctrl+A and Ctrl+C, or ⌘A and ⌘C.</p>
    ${copyField('make', 'Create a key: the response is the only place that shows it', createKey)}
    ${copyField('list', 'List the keys of your organisation', `curl ${origin}/v1/keys ${bearer}`)}
    ${copyField('use', 'Use a key', `curl ${origin}/v1/usage -H 'Authorization: Bearer THE_KEY'`)}
    <p class="note"><a href="${devIdpPath}">Sign in as somebody else</a></p>`;
  return document('Signed in', content);
}

const copyField = (id: string, label: string, text: string): Markup =>
  html` <div class="field">
    <label for="${id}">${label}</label>
    <textarea id="${id}" rows="3" readonly spellcheck="false" aria-describedby="how-to-copy">${text}</textarea>
  </div>`;

/** Page for the author of a program with an invalid request. */
export const problemPage = (problem: string): string =>
  document(
    'This program cannot sign you in',
    html` <h1>This program cannot sign you in</h1>
      <p class="lead">Its request is invalid.</p>
      <p class="fault">${problem}</p>`,
  );
