/** Secrets in headers and cookies. */
import { readAttributes } from './attributes.ts';
import { scanForms } from './forms.ts';
import { decoded, shifted, type ReportHit } from './hit.ts';
import { isLiteral, isPlausible, kindOfName } from './names.ts';
import { isOpaque, isUuid } from './opaque.ts';
import { scanText } from './texts.ts';
import { jsonInBase64, scanUrl } from './urls.ts';

/** Headers that browsers, servers and networks write, without credentials. */
const ordinary = new Set(
  (
    'accept accept-encoding accept-language accept-ranges age allow alt-svc cache-control connection content-encoding content-language ' +
    'content-length content-range content-security-policy content-security-policy-report-only content-type cross-origin-embedder-policy ' +
    'cross-origin-opener-policy cross-origin-resource-policy date dnt etag expires host if-match if-modified-since if-none-match keep-alive ' +
    'last-modified nel permissions-policy pragma priority range referrer-policy report-to retry-after sec-ch-ua sec-ch-ua-mobile ' +
    'sec-ch-ua-platform sec-fetch-dest sec-fetch-mode sec-fetch-site sec-fetch-user sec-websocket-accept sec-websocket-extensions ' +
    'sec-websocket-key sec-websocket-version server server-timing strict-transport-security te timing-allow-origin trailer ' +
    'transfer-encoding upgrade upgrade-insecure-requests user-agent vary via x-content-type-options x-frame-options x-powered-by ' +
    'x-request-id x-trace-id traceparent tracestate x-amz-cf-id x-amz-request-id x-amz-id-2 cf-ray x-cache access-control-allow-origin ' +
    'access-control-allow-headers access-control-allow-methods access-control-expose-headers access-control-max-age ' +
    'access-control-request-headers access-control-request-method'
  ).split(' '),
);
const urlHeaders = new Set(['location', 'referer', 'content-location', 'origin', 'refresh', 'x-original-url']);

export function scanHeader(name: string, value: string, isRequest: boolean, report: ReportHit): void {
  const lower = name.toLowerCase();
  if (ordinary.has(lower) || lower.startsWith(':') || value === '') return;
  if (lower === 'cookie') return scanCookies(value, report);
  if (lower === 'set-cookie') return scanSetCookies(value, report);
  if (lower === 'authorization' || lower === 'proxy-authorization') return scanAuthorization(lower, value, report);
  if (urlHeaders.has(lower)) {
    scanForms(value, report);
    return scanUrl(
      value,
      () => report,
      () => {},
    );
  }
  if (lower === 'link' || lower === 'www-authenticate') return scanText(value, 'text', report);
  scanCustom(lower, value, isRequest, report);
}

function scanCustom(name: string, value: string, isRequest: boolean, report: ReportHit): void {
  const kind = kindOfName(name);
  const scheme = /^(?:Bearer|Basic|Token)\s+/i.exec(value);
  const start = scheme?.[0].length ?? 0;
  const whole = { start, end: value.length, value: value.slice(start), name };
  if (kind && isPlausible(kind, whole.value)) return report({ ...whole, kind, by: 'name' });
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
  if (scheme.toLowerCase() === 'basic') scanBasic(credentials, start, report);
  const kind = scheme.toLowerCase() === 'basic' ? 'password' : /^eyJ[\w-]+[.]/.test(credentials) ? 'jwt' : 'token';
  report({ start, end: value.length, value: credentials, kind, name, by: 'name' });
}

/** User and password of basic authentication are secrets by themselves, too. */
function scanBasic(credentials: string, start: number, report: ReportHit): void {
  const text = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) return;
  const range = { start, end: start, name: 'authorization', by: 'name' as const };
  if (colon > 0) report({ ...range, value: text.slice(0, colon), kind: 'username' });
  if (colon + 1 < text.length) report({ ...range, value: text.slice(colon + 1), kind: 'password' });
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
    scanCookie(line.split(';', 1)[0] ?? '', shifted(report, start));
    start += line.length + 1;
  }
}

function scanCookie(pair: string, report: ReportHit): void {
  const equals = pair.indexOf('=');
  if (equals < 0) return;
  const name = pair.slice(0, equals).trim();
  const raw = pair.slice(equals + 1);
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
