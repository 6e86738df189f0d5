/** Sign-in forms, links to identity providers and to sign out, as the pages show them. */
import type { InspectAuth } from '@berth/contract';
import type { ReportInput } from '../exchange.ts';
import { readPages, resolve, toEvidence, type ReportPage } from '../page/pages.ts';
import { selectorOf } from '../page/selector.ts';
import { closest, textOf, type PageElement } from '../page/tree.ts';
import { captchaOf } from '../site/captchas.ts';
import { csrfName } from './credentials.ts';

type LoginForm = InspectAuth['login_forms'][number];

const formsMax = 20;
const fieldsMax = 30;

export function readLoginForms(input: ReportInput): LoginForm[] {
  const forms = new Map<string, LoginForm>();
  for (const page of readPages(input)) {
    for (const container of containersOf(page)) {
      const form = toLoginForm(container, page);
      if (form) forms.set(`${form.page.split(/[?#]/, 1)[0]} ${form.action} ${form.fields.map(({ name }) => name).join()}`, form);
    }
  }
  return [...forms.values()].slice(0, formsMax);
}

/** Each form; and, for fields outside of one, the nearest element that also has a button. */
function containersOf({ tree }: ReportPage): Set<PageElement> {
  const containers = new Set<PageElement>(tree.named('form').slice(0, 200));
  for (const input of tree.named('input').slice(0, 2000)) {
    if (typeOf(input) !== 'password' || closest(input, 'form')) continue;
    let above = input.parent;
    for (let level = 0; above && level < 6 && !descendants(above).some(isButton); level += 1) above = above.parent;
    if (above) containers.add(above);
  }
  return containers;
}

/** More elements are no form for a person. */
const descendantsMax = 2000;

function descendants(element: PageElement): PageElement[] {
  const all: PageElement[] = [];
  const stack = element.children.toReversed();
  for (let next = stack.pop(); next && all.length < descendantsMax; next = stack.pop()) {
    all.push(next);
    for (let index = Math.min(next.children.length, descendantsMax) - 1; index >= 0; index -= 1)
      stack.push(next.children[index] as PageElement);
  }
  return all;
}

const typeOf = ({ name, attributes }: PageElement): string =>
  name === 'input' ? (attributes.get('type') ?? 'text').toLowerCase().slice(0, 30) : name;
const isButton = (element: PageElement): boolean =>
  (element.name === 'button' && (element.attributes.get('type') ?? 'submit') !== 'reset') || /^(?:submit|image)$/.test(typeOf(element));
const isFilled = (element: PageElement): boolean =>
  /^(?:input|select|textarea)$/.test(element.name) && !/^(?:hidden|submit|button|image|reset|file)$/.test(typeOf(element));

const signInWords =
  /\b(?:log[\s-]?in|sign[\s-]?in|anmelden|einloggen|connexion|se connecter|iniciar sesión|accedi|inloggen|logga in|log ind|zaloguj|entrar)\b/i;
const signInPath = /(?:^|[/_.-])(?:log-?in|sign-?in|auth|session|sso|authenticate)(?:$|[/_.?#-])/i;
const signUpWords = /\b(?:register|sign[\s-]?up|create (?:an |your )?account|registrieren|konto erstellen|s'inscrire|crear cuenta)\b/i;
const userNameHint = /^(?:username|email|login|user|identifier|userid|user_id|loginid|account)$/i;
const otpHint = /(?:^|[-_])(?:otp|totp|mfa|2fa|one[-_]?time|verification[-_]?code|auth[-_]?code|passcode)(?:$|[-_])/i;

function toLoginForm(container: PageElement, page: ReportPage): LoginForm | null {
  const elements = descendants(container);
  const fields = elements.filter(isFilled).slice(0, fieldsMax);
  const passwords = fields.filter((field) => typeOf(field) === 'password');
  const submit = elements.find(isButton) ?? null;
  const action = resolve(container.attributes.get('action') || page.url, page.url) ?? page.url;
  const label = `${submit ? `${textOf(submit, 60)} ${submit.attributes.get('value') ?? ''}` : ''} ${container.attributes.get('aria-label') ?? ''}`;
  const isSignUp = passwords.length > 1 || passwords.some(({ attributes }) => /new-password/.test(attributes.get('autocomplete') ?? ''));
  const mentions = signInWords.test(label) || signInPath.test(pathOf(action)) || signInPath.test(pathOf(page.url));
  const isCode = fields.some(isOneTimeCode);
  if (isSignUp || (signUpWords.test(label) && !signInWords.test(label))) return null;
  const isFirstStep = passwords.length === 0 && fields.length <= 3 && fields.some(isUserName) && mentions;
  if (passwords.length === 0 && !isFirstStep && !(isCode && mentions)) return null;
  const selector = (element: PageElement | undefined): string | null => (element ? selectorOf(element, page.tree) : null);
  const hidden = elements.find((element) => typeOf(element) === 'hidden' && csrfName.test(element.attributes.get('name') ?? ''));
  return {
    page: page.url,
    action,
    method: methodOf(container),
    fields: fields.map((field) => ({
      name: field.attributes.get('name') ?? '',
      type: typeOf(field),
      autocomplete: field.attributes.get('autocomplete') ?? null,
      selector: selectorOf(field, page.tree),
    })),
    submit_selector: selector(submit ?? undefined),
    password_field: selector(passwords[0]),
    mfa_hint: isCode,
    captcha: captchaOf(page.tree),
    csrf_field: hidden?.attributes.get('name') ?? null,
    over_https: page.url.startsWith('https:') && action.startsWith('https:'),
    confidence: passwords.length === 1 ? 'high' : 'medium',
    evidence: toEvidence([page.document]),
  };
}

/** A form with neither method nor action is sent by a script. */
function methodOf({ attributes }: PageElement): 'get' | 'post' {
  const method = attributes.get('method')?.toLowerCase();
  return method === 'get' || (method === undefined && attributes.has('action')) ? 'get' : 'post';
}

const pathOf = (url: string): string => URL.parse(url)?.pathname ?? '';

function isUserName({ attributes }: PageElement): boolean {
  const type = (attributes.get('type') ?? 'text').toLowerCase();
  if (!/^(?:text|email|tel)$/.test(type)) return false;
  return (
    type === 'email' ||
    /\b(?:username|email)\b/.test(attributes.get('autocomplete') ?? '') ||
    userNameHint.test(attributes.get('name') ?? '')
  );
}

const isOneTimeCode = ({ attributes }: PageElement): boolean =>
  (attributes.get('autocomplete') ?? '').includes('one-time-code') ||
  otpHint.test(attributes.get('name') ?? '') ||
  otpHint.test(attributes.get('id') ?? '');

const linksMax = 20;

export function readLogoutUrls(input: ReportInput): string[] {
  const urls = new Set<string>();
  const path = /(?:^|[/_.?=-])(?:log-?out|log-?off|sign-?out|sign-?off|end_?session)(?:$|[/_.?&=-])/i;
  for (const { tree, url } of readPages(input)) {
    for (const element of tree.named('a', 'form')) {
      const target = element.attributes.get(element.name === 'a' ? 'href' : 'action');
      if (target !== undefined && target.length < 2048 && path.test(target)) urls.add(resolve(target, url) ?? target);
    }
  }
  for (const { url, isFirstParty } of input.exchanges) if (isFirstParty && path.test(url.path)) urls.add(`${url.origin}${url.path}`);
  return [...urls].slice(0, linksMax);
}

type Sso = InspectAuth['sso'][number];

/** Hosts and paths of identity providers. */
const providers: readonly { provider: Sso['provider']; host: RegExp; word: RegExp }[] = [
  { provider: 'google', host: /^accounts\.google\.com$/, word: /\bgoogle\b/i },
  {
    provider: 'microsoft',
    host: /^login\.(?:microsoftonline\.com|live\.com|windows\.net)$|\.b2clogin\.com$/,
    word: /\b(?:microsoft|azure(?: ad)?|entra)\b/i,
  },
  { provider: 'apple', host: /^appleid\.apple\.com$/, word: /\bapple\b/i },
  { provider: 'github', host: /^github\.com$/, word: /\bgithub\b/i },
  { provider: 'gitlab', host: /^gitlab\.com$/, word: /\bgitlab\b/i },
  { provider: 'facebook', host: /^(?:www\.|m\.)?facebook\.com$/, word: /\bfacebook\b/i },
  { provider: 'linkedin', host: /^(?:www\.)?linkedin\.com$/, word: /\blinkedin\b/i },
  { provider: 'x', host: /^(?:api\.)?(?:twitter|x)\.com$/, word: /\btwitter\b/i },
  { provider: 'amazon', host: /^(?:www|api)\.amazon\.com$/, word: /\bamazon\b/i },
  { provider: 'slack', host: /(?:^|\.)slack\.com$/, word: /\bslack\b/i },
  { provider: 'okta', host: /\.okta(?:preview)?\.com$/, word: /\bokta\b/i },
  { provider: 'auth0', host: /\.auth0\.com$/, word: /\bauth0\b/i },
  { provider: 'cognito', host: /\.amazoncognito\.com$/, word: /\bcognito\b/i },
  { provider: 'onelogin', host: /\.onelogin\.com$/, word: /\bonelogin\b/i },
];
const ssoPhrase = /\b(?:sign|log|continue|weiter|anmelden|connect)\b.{0,20}\b(?:with|mit|using|via|avec|con)\b|\b(?:sso|single sign-on)\b/i;
const authorizePath = /\/(?:oauth2?|authorize|openid-connect|saml2?|sso|auth|connect|signin|login)(?:[/.?_-]|$)/i;

export function readSso(input: ReportInput): Sso[] {
  const results = new Map<string, Sso>();
  for (const page of readPages(input)) {
    for (const element of page.tree.named('a', 'button')) {
      const sso = ssoOf(element, page);
      if (sso && !results.has(sso.provider)) results.set(sso.provider, sso);
    }
  }
  for (const { url, ...exchange } of input.exchanges) {
    const provider = providerOfUrl(url.href);
    if (!provider || exchange.resourceType !== 'document') continue;
    const before = results.get(provider);
    const clientId = new Map(url.query).get('client_id') ?? null;
    const start = `${url.origin}${url.path}`;
    const evidence = [...(before?.evidence ?? []), `r${exchange.index}`].slice(0, 20);
    const clean = clientId?.includes('{{') ? null : clientId;
    results.set(provider, {
      provider,
      start_url: before?.start_url ?? start,
      selector: before?.selector ?? null,
      client_id: clean,
      confidence: 'high',
      evidence,
    });
  }
  return [...results.values()].slice(0, linksMax);
}

function ssoOf(element: PageElement, page: ReportPage): Sso | null {
  const href = element.attributes.get('href');
  const target = href === undefined ? null : resolve(href, page.url);
  const text = textOf(element, 80) || (element.attributes.get('aria-label') ?? element.attributes.get('title') ?? '').slice(0, 80);
  const says = ssoPhrase.test(text);
  const provider = (target ? providerOfUrl(target) : null) ?? (says ? providerOfText(text) : null) ?? providerOfPath(target, says);
  if (!provider) return null;
  const start = target === null ? null : (target.split(/[?#]/, 1)[0] ?? null);
  const clientId = target === null ? null : (URL.parse(target)?.searchParams.get('client_id') ?? null);
  return {
    provider,
    start_url: start,
    selector: selectorOf(element, page.tree),
    client_id: clientId?.includes('{{') ? null : clientId,
    confidence: target !== null && providerOfUrl(target) === provider ? 'high' : 'medium',
    evidence: toEvidence([page.document]),
  };
}

function providerOfUrl(href: string): Sso['provider'] | null {
  const url = URL.parse(href.slice(0, 8192));
  if (!url || !authorizePath.test(url.pathname)) return null;
  if (/\/realms\/[^/]{1,100}\/protocol\//.test(url.pathname)) return url.pathname.includes('/saml') ? 'saml' : 'keycloak';
  return providers.find(({ host }) => host.test(url.hostname))?.provider ?? (url.searchParams.has('SAMLRequest') ? 'saml' : null);
}

const providerOfText = (text: string): Sso['provider'] | null =>
  providers.find(({ word }) => word.test(text))?.provider ?? (/\bsaml\b/i.test(text) ? 'saml' : 'other');

/** Such as `/auth/google`, of a link that says nothing. */
function providerOfPath(target: string | null, says: boolean): Sso['provider'] | null {
  const path = target === null ? '' : pathOf(target);
  const [, name] = /\/(?:auth|oauth2?|login|connect|sso|signin|social)\/(?:[a-z]{1,20}\/)?([a-z0-9]{1,20})(?:\/|$)/i.exec(path) ?? [];
  const provider = name === undefined ? undefined : providers.find(({ provider }) => provider === name.toLowerCase());
  return provider?.provider ?? (says ? 'other' : null);
}
