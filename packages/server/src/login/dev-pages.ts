/** The pages of the development issuer: made here, whole, and without scripts. */
import { escapeHtml } from '../http/error-page.ts';
import type { Person } from './dev-codes.ts';
import { authorizationFields, type Authorization, type FieldFaults, type SignInFields } from './dev-forms.ts';
import { devIdpPath, type DevToken } from './dev-issuer.ts';

/** Markup, as opposed to text that is still to be escaped. */
class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | Markup | readonly Markup[];

const toText = (part: Part): string => {
  if (typeof part === 'string') return escapeHtml(part);
  return part instanceof Markup ? part.text : part.map(({ text }) => text).join('');
};

/** What is put into it is escaped, unless `html` has made it. */
const html = (texts: TemplateStringsArray, ...parts: Part[]): Markup => new Markup(String.raw({ raw: texts }, ...parts.map(toText)));
const nothing = html``;

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
 * Headers of a page. `returnsTo`: where the answer to its form sends people on;
 * browsers hold that against the page's policy as well.
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
  // With no-referrer a browser hides the origin of its forms, by which they are told from those of other pages.
  return { 'content-security-policy': policy.join('; '), 'referrer-policy': 'same-origin' };
}

/** A policy has no words for a host in brackets, so that one stands for all of its scheme. */
function sourceOf(url: string): string {
  const { origin, protocol, hostname } = new URL(url);
  return hostname.startsWith('[') ? protocol : origin;
}

export interface SignInForm {
  fields?: SignInFields;
  faults?: FieldFaults;
  /** The program that asks; absent: the person does, for a token to use by hand. */
  authorization?: Authorization;
}

export function signInPage({ fields, faults = {}, authorization }: SignInForm): string {
  const isFaulty = Object.keys(faults).length > 0;
  const first = faults.email === undefined && faults.organisation !== undefined ? 'organisation' : 'email';
  const kept = authorization === undefined ? [] : authorizationFields(authorization);
  const content = html` <h1>Sign in</h1>
    <p class="lead">
      ${authorization === undefined ? 'For a login token to make API keys with.' : html`To go on to <strong>${new URL(authorization.redirectUri).host}</strong>.`}
    </p>
    <form method="post" action="${devIdpPath}/${authorization === undefined ? 'sign-in' : 'authorize'}" novalidate>
      ${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
      ${field({ name: 'email', label: 'E-mail', type: 'email', value: fields?.email, fault: faults.email, isFirst: first === 'email' })}
      ${field({
        name: 'organisation',
        label: 'Organisation',
        type: 'text',
        value: fields?.organisation,
        hint: 'Keys and credits belong to it. A new name makes a new one. The key of the first start belongs to local.',
        fault: faults.organisation,
        isFirst: first === 'organisation',
      })}
      <button class="button" type="submit">Sign in</button>
    </form>
    <p class="note">
      This is the development sign-in of a service on your own machine. It asks for no password and believes who you say you are.
    </p>`;
  return document(isFaulty ? 'Not signed in yet' : 'Sign in', content);
}

interface Field {
  name: string;
  label: string;
  type: string;
  value: string | undefined;
  hint?: string;
  fault: string | undefined;
  isFirst: boolean;
}

function field({ name, label, type, value = '', hint, fault, isFirst }: Field): Markup {
  const described = [...(fault === undefined ? [] : [`${name}-fault`]), ...(hint === undefined ? [] : [`${name}-hint`])].join(' ');
  return html` <div class="field">
    <label for="${name}">${label}</label>
    ${fault === undefined ? nothing : html`<p class="fault" id="${name}-fault">${fault}</p>`}
    <input
      id="${name}"
      name="${name}"
      type="${type}"
      value="${value}"
      required
      autocapitalize="none"
      spellcheck="false"
      autocomplete="${type === 'email' ? 'email' : 'organization'}"
      ${fault === undefined ? nothing : html` aria-invalid="true"`}${described === '' ? nothing : html` aria-describedby="${described}"`}${isFirst ? html` autofocus` : nothing}
    />
    ${hint === undefined ? nothing : html`<p class="hint" id="${name}-hint">${hint}</p>`}
  </div>`;
}

/** `origin`: where the person reaches us. */
export function tokenPage({ email, organisation }: Person, { token, expiresAt }: DevToken, origin: string): string {
  const bearer = `-H "Authorization: Bearer $TOKEN"`;
  const until = expiresAt.toISOString();
  const content = html` <h1>You are signed in</h1>
    <p class="lead">
      <strong>${email}</strong> acts for <strong>${organisation}</strong> until <time datetime="${until}">${until.slice(11, 16)} UTC</time>.
    </p>
    ${copyField('token', 'Login token', token)}
    <h2>Make an API key</h2>
    <p class="note" id="how-to-copy">To copy a field, go into it and press Ctrl+A and Ctrl+C, or ⌘A and ⌘C.</p>
    ${copyField('make', 'Make a key: it is in the reply, and nowhere else', `TOKEN='${token}'\ncurl -X POST ${origin}/v1/keys ${bearer} -H 'Content-Type: application/json' -d '{"name":"my key"}'`)}
    ${copyField('list', 'See the keys of your organisation', `curl ${origin}/v1/keys ${bearer}`)}
    ${copyField('use', 'Use a key', `curl ${origin}/v1/usage -H 'Authorization: Bearer THE_KEY'`)}
    <p class="note"><a href="${devIdpPath}">Sign in as somebody else</a></p>`;
  return document('Signed in', content);
}

const copyField = (id: string, label: string, text: string): Markup =>
  html` <div class="field">
    <label for="${id}">${label}</label>
    <textarea id="${id}" rows="3" readonly spellcheck="false" aria-describedby="how-to-copy">${text}</textarea>
  </div>`;

/** For the author of a program whose request cannot be answered. */
export const problemPage = (problem: string): string =>
  document(
    'This program cannot sign you in',
    html` <h1>This program cannot sign you in</h1>
      <p class="lead">What it asked for is not right, so it is not told anything.</p>
      <p class="fault">${problem}</p>`,
  );
