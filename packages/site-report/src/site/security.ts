/** Security headers and what the pages load insecurely: observations, no scan. */
import type { InspectSecurity } from '@berth/contract';
import { readLoginForms } from '../auth/forms.ts';
import type { CapturedExchange, ReportInput } from '../exchange.ts';
import { firstDocument, isDocument, isRedirect, readPages, resolve, toEvidence, type ReportPage } from '../page/pages.ts';
import { createCookies } from './cookies.ts';
import { readSecurityTxt } from './robots.ts';
import { metaOf, readTls } from './site.ts';

type Headers = InspectSecurity['headers'];
type Note = InspectSecurity['score_notes'][number];

const urlsMax = 50;
const headerCharsMax = 500;

export function createSecurity(input: ReportInput): InspectSecurity {
  const pages = readPages(input);
  const document = firstDocument(input);
  const section = {
    headers: readHeaders(document, pages[0]),
    mixed_content: readMixedContent(input),
    https_redirect: redirectsToHttps(input),
    sri_missing: readUnprotected(input, pages),
    forms_http: readInsecureForms(pages),
    tls_ok: isTlsGood(input),
  };
  return { ...section, score_notes: noteAll(section, input, document) };
}

function readHeaders(document: CapturedExchange | null, page: ReportPage | undefined): Headers {
  const header = (name: string): string | null => document?.responseHeaders.get(name)?.slice(0, headerCharsMax) || null;
  return {
    hsts: header('strict-transport-security'),
    csp: readPolicy(document, page),
    x_frame_options: header('x-frame-options'),
    x_content_type_options: header('x-content-type-options'),
    referrer_policy: header('referrer-policy') ?? metaOf(page, 'referrer'),
    permissions_policy: header('permissions-policy'),
    coop: header('cross-origin-opener-policy'),
    coep: header('cross-origin-embedder-policy'),
    corp: header('cross-origin-resource-policy'),
  };
}

const policyCharsMax = 16_384;

function readPolicy(document: CapturedExchange | null, page: ReportPage | undefined): Headers['csp'] {
  const fromHeader = document?.responseHeaders.get('content-security-policy') ?? null;
  const meta = page?.tree.named('meta').find(({ attributes }) => attributes.get('http-equiv')?.toLowerCase() === 'content-security-policy');
  const policy = fromHeader ?? meta?.attributes.get('content') ?? null;
  const sources = policy === null ? null : scriptSources(policy);
  // A nonce, a hash or strict-dynamic switches unsafe-inline off.
  const isStrict = sources?.some((source) => /^'(?:nonce-|sha(?:256|384|512)-|strict-dynamic')/.test(source));
  return {
    present: policy !== null,
    unsafe_inline: sources === null || (sources.includes("'unsafe-inline'") && !isStrict),
    unsafe_eval: sources === null || sources.includes("'unsafe-eval'"),
    report_only: document?.responseHeaders.has('content-security-policy-report-only') ?? false,
    in: policy === null ? null : fromHeader === null ? 'meta' : 'header',
  };
}

/** null: the policy does not restrict scripts. */
function scriptSources(policy: string): string[] | null {
  const directives = new Map<string, string[]>();
  for (const part of policy.slice(0, policyCharsMax).split(/[;,]/)) {
    const [name = '', ...sources] = part.trim().toLowerCase().split(/\s+/);
    if (name !== '' && !directives.has(name)) directives.set(name, sources);
  }
  return directives.get('script-src-elem') ?? directives.get('script-src') ?? directives.get('default-src') ?? null;
}

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname.endsWith('.localhost') || /^127\.|^\[?::1\]?$/.test(hostname);

function readMixedContent(input: ReportInput): string[] {
  if (firstDocument(input)?.url.protocol !== 'https:') return [];
  const insecure = input.exchanges.filter(
    ({ url, resourceType }) =>
      (url.protocol === 'http:' || url.protocol === 'ws:') && resourceType !== 'document' && !isLoopback(url.hostname),
  );
  return [...new Set(insecure.map(({ url }) => url.href))].slice(0, urlsMax);
}

function redirectsToHttps(input: ReportInput): boolean | null {
  const plain = input.exchanges.filter(
    (exchange) => isDocument(exchange) && exchange.url.protocol === 'http:' && exchange.isFirstParty && exchange.statusCode !== null,
  );
  if (plain.length === 0) return null;
  return plain.every(
    ({ statusCode, responseHeaders, url }) =>
      isRedirect(statusCode) && (resolve(responseHeaders.get('location') ?? '', url.href) ?? '').startsWith('https:'),
  );
}

function readUnprotected({ site }: ReportInput, pages: readonly ReportPage[]): string[] {
  const urls = new Set<string>();
  for (const { tree, url } of pages) {
    const own = URL.parse(url)?.hostname;
    for (const { name, attributes } of tree.named('script', 'link')) {
      if (name === 'link' && !/(?:^|\s)stylesheet(?:\s|$)/i.test(attributes.get('rel') ?? '')) continue;
      const source = attributes.get(name === 'script' ? 'src' : 'href');
      if (source === undefined || attributes.has('integrity')) continue;
      const address = resolve(source, url);
      const hostname = address === null ? undefined : new URL(address).hostname;
      if (address === null || hostname === undefined || hostname === own || hostname === site || hostname.endsWith(`.${site}`)) continue;
      urls.add(address);
    }
  }
  return [...urls].slice(0, urlsMax);
}

function readInsecureForms(pages: readonly ReportPage[]): string[] {
  const targets = pages.flatMap(({ tree, url }) =>
    tree.named('form').map(({ attributes }) => resolve(attributes.get('action') || url, url)),
  );
  const insecure = targets.filter((target) => target?.startsWith('http:') && !isLoopback(new URL(target).hostname)) as string[];
  return [...new Set(insecure)].slice(0, urlsMax);
}

function isTlsGood({ exchanges }: ReportInput): boolean | null {
  const documents = exchanges.filter(
    (exchange) => isDocument(exchange) && exchange.isFirstParty && exchange.statusCode !== null && !isRedirect(exchange.statusCode),
  );
  if (documents.length === 0) return null;
  if (documents.some(({ url }) => url.protocol !== 'https:')) return false;
  const versions = documents.flatMap((document) => readTls(document)?.version ?? []);
  return versions.length === 0 ? null : versions.every((version) => /^(?:TLS 1\.[23]|QUIC)/i.test(version));
}

const yearHalfSeconds = 15_768_000;

interface Check {
  level: Note['level'];
  code: string;
  applies: boolean | null | undefined;
  text: string;
}

function noteAll(section: Omit<InspectSecurity, 'score_notes'>, input: ReportInput, document: CapturedExchange | null): Note[] {
  if (!document) return [];
  const evidence = toEvidence([document]);
  return [...headerChecks(section, document), ...contentChecks(section, input)]
    .filter(({ applies }) => applies)
    .map(({ level, code, text }) => ({ level, code, text, confidence: 'high' as const, evidence }));
}

function headerChecks({ headers }: Omit<InspectSecurity, 'score_notes'>, { url, responseHeaders }: CapturedExchange): Check[] {
  const isSecure = url.protocol === 'https:';
  const [, maxAge] = /max-age\s?=\s?"?(\d{1,12})/i.exec(headers.hsts ?? '') ?? [];
  const hasFrameRule =
    headers.x_frame_options !== null || /\bframe-ancestors\b/i.test(responseHeaders.get('content-security-policy') ?? '');
  return [
    {
      level: 'warning',
      code: 'hsts_missing',
      applies: isSecure && headers.hsts === null,
      text: 'No Strict-Transport-Security header: a first visit over HTTP can be intercepted.',
    },
    {
      level: 'info',
      code: 'hsts_short',
      applies: isSecure && headers.hsts !== null && Number(maxAge ?? 0) < yearHalfSeconds,
      text: 'Strict-Transport-Security lasts less than six months.',
    },
    {
      level: 'warning',
      code: 'csp_missing',
      applies: !headers.csp.present,
      text: 'No Content-Security-Policy: any injected script would run.',
    },
    {
      level: 'warning',
      code: 'csp_unsafe_inline',
      applies: headers.csp.present && headers.csp.unsafe_inline,
      text: 'The Content-Security-Policy lets inline scripts run.',
    },
    {
      level: 'info',
      code: 'csp_unsafe_eval',
      applies: headers.csp.present && headers.csp.unsafe_eval,
      text: 'The Content-Security-Policy allows eval.',
    },
    {
      level: 'warning',
      code: 'framing_allowed',
      applies: !hasFrameRule,
      text: 'Neither X-Frame-Options nor frame-ancestors: other sites can frame the page.',
    },
    {
      level: 'info',
      code: 'nosniff_missing',
      applies: headers.x_content_type_options?.toLowerCase() !== 'nosniff',
      text: 'No X-Content-Type-Options: nosniff.',
    },
    {
      level: 'info',
      code: 'referrer_policy_missing',
      applies: headers.referrer_policy === null,
      text: "No Referrer-Policy: the browser's default applies.",
    },
    {
      level: 'info',
      code: 'server_version',
      applies: /\/\d/.test(`${responseHeaders.get('server') ?? ''} ${responseHeaders.get('x-powered-by') ?? ''}`),
      text: 'Response headers name the version of the server.',
    },
  ];
}

function contentChecks(section: Omit<InspectSecurity, 'score_notes'>, input: ReportInput): Check[] {
  const sessions = createCookies(input).filter(({ purpose, first_party: isOwn }) => purpose === 'auth' && isOwn);
  const names = (cookies: typeof sessions): string => [...new Set(cookies.map(({ name }) => name))].slice(0, 5).join(', ');
  const [readable, insecure] = [sessions.filter((cookie) => !cookie.http_only), sessions.filter((cookie) => !cookie.secure)];
  const isPlainLogin = readLoginForms(input).some(
    ({ over_https: isSecure, page }) => !isSecure && !isLoopback(URL.parse(page)?.hostname ?? ''),
  );
  return [
    {
      level: 'warning',
      code: 'session_cookie_readable',
      applies: readable.length > 0,
      text: `Scripts can read session cookies: ${names(readable)}.`,
    },
    {
      level: 'warning',
      code: 'session_cookie_insecure',
      applies: insecure.length > 0,
      text: `Session cookies are also sent over HTTP: ${names(insecure)}.`,
    },
    {
      level: 'warning',
      code: 'mixed_content',
      applies: section.mixed_content.length > 0,
      text: 'A page over HTTPS loads resources over HTTP.',
    },
    { level: 'warning', code: 'forms_http', applies: section.forms_http.length > 0, text: 'Forms are sent over HTTP.' },
    { level: 'warning', code: 'login_over_http', applies: isPlainLogin, text: 'A sign-in form is shown or sent over HTTP.' },
    { level: 'warning', code: 'tls_old', applies: section.tls_ok === false, text: 'A document came without TLS 1.2 or later.' },
    {
      level: 'info',
      code: 'sri_missing',
      applies: section.sri_missing.length > 0,
      text: 'Scripts or style sheets of other sites have no integrity attribute.',
    },
    {
      level: 'info',
      code: 'security_txt_missing',
      applies: !readSecurityTxt(input).present && input.capture.probes.length > 0,
      text: 'No security.txt names a contact for vulnerabilities.',
    },
  ];
}
