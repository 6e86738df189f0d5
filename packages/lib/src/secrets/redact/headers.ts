/** Secrets in headers and cookies. */
import { readAttributes } from './attributes.ts';
import { reportBasic, scanForms } from './forms.ts';
import { decoded, shifted, type ReportHit } from './hit.ts';
import { isLiteral, isPlausible, isStrong, kindOfName, schemeCharsOf } from '../names.ts';
import { isOpaque, isUuid } from '../opaque.ts';
import { scanAssignments, scanInside, scanProtocols, scanText, scanKey, scanUrlWords, within } from './texts.ts';
import { jsonInBase64, scanUrl } from './urls.ts';

/** Headers that browsers, servers and networks write, without credentials. */
const ordinary = new Set(
  (
    'accept accept-encoding accept-language accept-ranges age allow cache-control connection content-encoding content-language ' +
    'content-length content-range content-type cross-origin-embedder-policy ' +
    'cross-origin-opener-policy cross-origin-resource-policy date dnt etag expires host if-match if-modified-since if-none-match keep-alive ' +
    'last-modified permissions-policy pragma priority range referrer-policy retry-after sec-ch-ua sec-ch-ua-mobile ' +
    'sec-ch-ua-platform sec-fetch-dest sec-fetch-mode sec-fetch-site sec-fetch-user sec-websocket-accept sec-websocket-extensions ' +
    'sec-websocket-key sec-websocket-version server strict-transport-security te timing-allow-origin trailer ' +
    'transfer-encoding upgrade upgrade-insecure-requests user-agent vary x-content-type-options x-frame-options x-powered-by ' +
    'x-request-id x-trace-id traceparent tracestate x-amz-cf-id x-amz-request-id x-amz-id-2 cf-ray x-cache ' +
    'access-control-allow-headers access-control-allow-methods access-control-expose-headers access-control-max-age ' +
    'access-control-request-headers access-control-request-method'
  ).split(' '),
);
/** Headers of rules and addresses: a parameter in one may be a credential, other random text in them is none. */
const policies = new Set(
  (
    'content-security-policy content-security-policy-report-only x-content-security-policy x-webkit-csp report-to reporting-endpoints nel ' +
    'expect-ct server-timing via alt-svc access-control-allow-origin link sourcemap x-sourcemap'
  ).split(' '),
);
const urlHeaders = new Set([':path', 'location', 'referer', 'content-location', 'origin', 'refresh', 'x-original-url']);
export const isUrlHeader = (name: string): boolean => urlHeaders.has(name.toLowerCase());

export function scanHeader(name: string, value: string, isRequest: boolean, report: ReportHit): void {
  const lower = name.toLowerCase();
  if (ordinary.has(lower) || (lower.startsWith(':') && lower !== ':path') || value === '') return;
  if (lower === 'cookie') return scanCookies(value, report);
  if (lower === 'set-cookie') return scanSetCookies(value, report);
  if (lower === 'authorization' || lower === 'proxy-authorization') return scanAuthorization(lower, value, report);
  if (policies.has(lower)) return scanPolicy(value, report);
  if (lower === 'refresh') return scanUrlWords(value, report);
  if (lower === 'sec-websocket-protocol') return scanProtocols(value, report);
  if (urlHeaders.has(lower)) {
    scanForms(value, report);
    return scanUrl(
      value,
      () => report,
      (inner, range) => scanInside(inner, within(value, range, report)),
    );
  }
  if (lower === 'www-authenticate') return scanText(value, 'text', report);
  scanCustom(lower, value, isRequest, report);
}

function scanPolicy(value: string, report: ReportHit): void {
  if (!/[?=@{]|:\/\//.test(value)) return;
  if (/^\s*[[{]/.test(value)) return scanText(value, 'json', report);
  scanAssignments(value, false, report);
  scanUrlWords(value, report);
}

function scanCustom(name: string, value: string, isRequest: boolean, report: ReportHit): void {
  const kind = kindOfName(name);
  const start = schemeCharsOf(value, kind);
  const whole = { start, end: value.length, value: value.slice(start), name };
  if (kind && isPlausible(kind, whole.value)) return report({ ...whole, kind, by: 'name' });
  if (start > 0 && isStrong(whole.value) && whole.value.length >= 8) return report({ ...whole, kind: 'token', by: 'form' });
  if (isRequest && isOpaque(value) && !isUuid(value)) return report({ ...whole, kind: 'token', by: 'form' });
  if (jsonInBase64(value) !== null) scanText(`{"value":"${value}"}`, 'json', shifted(report, -10));
  else scanText(value, 'text', report);
}

function scanAuthorization(name: string, value: string, report: ReportHit): void {
  const [, scheme = '', gap = '', credentials = ''] = /^([A-Za-z][\w-]{0,40})(\s+)(.*)$/s.exec(value) ?? [];
  if (credentials === '') return report({ start: 0, end: value.length, value, kind: 'token', name, by: 'name' });
  const start = scheme.length + gap.length;
  if (isLiteral(credentials)) return;
  if (/^(?:AWS4|Digest|Signature|OAuth|Hawk)/i.test(scheme)) return scanParameters(credentials, name, shifted(report, start));
  if (scheme.toLowerCase() === 'basic') reportBasic(credentials, start, report);
  const kind = scheme.toLowerCase() === 'basic' ? 'password' : /^eyJ[\w-]+[.]/.test(credentials) ? 'jwt' : 'token';
  report({ start, end: value.length, value: credentials, kind, name, by: 'name' });
}

const publicParameters = new Set([
  'realm',
  'qop',
  'algorithm',
  'signedheaders',
  'headers',
  'nc',
  'uri',
  'oauth_version',
  'oauth_signature_method',
  'oauth_timestamp',
]);

/** `Credential=…, SignedHeaders=…, Signature=…` and its like. */
function scanParameters(text: string, header: string, report: ReportHit): void {
  for (const { name, value, start, end } of readAttributes(text, /[\s,"]/))
    if (!publicParameters.has(name.toLowerCase()) && value !== '')
      report({ start, end, value, kind: 'signature', name: header, by: 'name' });
}

/** All values of cookies: `a=1; b=2`. */
export function scanCookies(text: string, report: ReportHit): void {
  let start = 0;
  for (const part of text.split(';')) {
    scanCookie(part, shifted(report, start));
    start += part.length + 1;
  }
}

function scanSetCookies(text: string, report: ReportHit): void {
  let start = 0;
  for (const line of text.split('\n')) {
    const pair = line.split(';', 1)[0] ?? '';
    scanCookie(pair, shifted(report, start));
    const attributes = line.slice(pair.length);
    if (/; ?path=/i.test(attributes)) scanUrlWords(attributes.replaceAll('=', ' '), shifted(report, start + pair.length));
    start += line.length + 1;
  }
}

function scanCookie(pair: string, report: ReportHit): void {
  const equals = pair.indexOf('=');
  if (equals < 0) return;
  const name = pair.slice(0, equals).trim();
  const raw = pair.slice(equals + 1);
  scanKey(name, shifted(report, pair.indexOf(name)));
  const start = equals + 1 + (raw.length - raw.trimStart().length);
  const value = raw.trim().replace(/^"(.*)"$/s, '$1');
  if (value === '') return;
  const at = raw.trim() === value ? start : start + 1;
  scanCookieValue(name, value, shifted(report, at));
}

/** The value of a cookie is never shown, whatever it is; what stands in it is a secret elsewhere, too. */
export function scanCookieValue(name: string, value: string, report: ReportHit): void {
  const whole = { start: 0, end: value.length };
  const stated = kindOfName(name);
  const kind = stated === 'csrf_token' || stated === 'jwt' ? stated : 'cookie';
  report({ ...whole, value, kind, name, by: stated ? 'name' : 'form' });
  if (value.length < 12) return;
  const plain = decoded(value, false);
  const inner = (text: string): void => scanText(text, 'text', (hit) => report({ ...hit, ...whole, name }));
  inner(plain);
  const json = jsonInBase64(plain);
  if (json !== null) inner(json);
}
