/** Credentials of an endpoint's calls, whether it needs them, and its token against cross-site requests. */
import type { ApiEndpoint } from '@berth/contract';
import { csrfSource } from '../csrf-source.ts';
import type { CapturedExchange, ReportInput } from '../exchange.ts';
import type { Secret } from '../secret.ts';

type Credential = ApiEndpoint['auth_refs'][number];

export interface Credentials {
  list: Credential[];
  required: 'yes' | 'no' | 'unknown';
  reason: string;
  csrf: ApiEndpoint['csrf'];
}

const credentialKinds = /^\{\{(?:token|jwt|api_key|signature|secret|password|refresh_token)_\d+\}\}/;
const csrfPlaceholder = /\{\{csrf_token_\d+\}\}/;
const headerName = /^(?:proxy-)?authorization$|api-?key|token|secret|signature|credential|session/;
const sessionCookie = /sess|sid$|auth|token|jwt|login|remember|identity/i;

export function readCredentials(calls: readonly CapturedExchange[], input: ReportInput, anonymous: ReadonlySet<string>): Credentials {
  const perCall = calls.map((call) => credentialsOf(call));
  const list = [...new Map(perCall.flat().map((one) => [`${one.in} ${one.name} ${one.scheme}`, one])).values()];
  const csrf = csrfOf(calls, input);
  const needed = csrf ? perCall : perCall.map((own) => own.filter(({ in: where, name }) => where !== 'cookie' || !anonymous.has(name)));
  return { list, ...requirement(calls, needed), csrf };
}

/** Names of cookies that every visitor gets, on a site that authenticates by tokens: they are no credentials. */
export function anonymousCookies({ exchanges }: ReportInput): Set<string> {
  const names = new Set<string>();
  if (!exchanges.some(({ requestHeaders }) => requestHeaders.get('authorization')?.startsWith('Bearer {{'))) return names;
  for (const { method, requestHeaders, responseHeaders } of exchanges) {
    if (method !== 'GET' || requestHeaders.has('authorization')) continue;
    const sent = cookieNames(requestHeaders.get('cookie') ?? '');
    for (const line of (responseHeaders.get('set-cookie') ?? '').split('\n')) {
      const name = (line.split('=', 1)[0] ?? '').trim();
      if (name !== '' && !sent.includes(name)) names.add(name);
    }
  }
  return names;
}

function credentialsOf({ requestHeaders, url }: CapturedExchange): Credential[] {
  const list: Credential[] = [];
  for (const [name, value] of requestHeaders) {
    if (name === 'cookie') for (const cookie of sessionCookies(value)) list.push({ in: 'cookie', name: cookie, scheme: null });
    else if (headerName.test(name) && !csrfPlaceholder.test(value) && value.includes('{{'))
      list.push({ in: 'header', name, scheme: schemeOf(name, value) });
    else if (credentialKinds.test(value)) list.push({ in: 'header', name, scheme: null });
  }
  for (const [name, value] of url.query) if (credentialKinds.test(value)) list.push({ in: 'query', name, scheme: null });
  return list;
}

const cookieNames = (header: string): string[] => header.split(';').map((pair) => (pair.split('=', 1)[0] ?? '').trim());
const sessionCookies = (header: string): string[] => cookieNames(header).filter((name) => sessionCookie.test(name));

const schemeOf = (name: string, value: string): string | null =>
  name.endsWith('authorization') ? (/^([A-Za-z][\w-]{0,40}) /.exec(value)?.[1]?.toLowerCase() ?? null) : null;

const isRefused = ({ statusCode }: CapturedExchange): boolean => statusCode === 401 || statusCode === 403;
const isDone = ({ statusCode }: CapturedExchange): boolean => statusCode !== null && statusCode < 400;

function requirement(calls: readonly CapturedExchange[], perCall: readonly Credential[][]): Pick<Credentials, 'required' | 'reason'> {
  const strong = perCall.map((list) => list.some((one) => one.in !== 'cookie'));
  const any = perCall.map((list) => list.length > 0);
  const has = (test: (call: CapturedExchange) => boolean, flags: readonly boolean[], wanted: boolean): boolean =>
    calls.some((call, i) => test(call) && flags[i] === wanted);
  if (has(isDone, any, false)) return { required: 'no', reason: 'A call without a credential succeeded.' };
  if (has(isRefused, strong, false) && has(isDone, strong, true))
    return { required: 'yes', reason: 'A call without the credential was refused, and one with it succeeded.' };
  if (calls.some(isRefused) && !calls.some(isDone)) return { required: 'yes', reason: 'Calls were refused with 401 or 403.' };
  if (strong.every(Boolean)) return { required: 'yes', reason: 'Every call had a credential; none was made without.' };
  if (any.every(Boolean)) return { required: 'unknown', reason: 'Every call had a cookie of the session; none was made without.' };
  return { required: 'unknown', reason: 'No call succeeded.' };
}

function csrfOf(calls: readonly CapturedExchange[], input: ReportInput): ApiEndpoint['csrf'] {
  for (const { requestHeaders, url, requestText } of calls) {
    for (const [name, value] of requestHeaders) {
      const token = name === 'cookie' ? null : csrfPlaceholder.exec(value);
      if (token) return toCsrf('header', name, token[0], input);
    }
    const inQuery = url.query.find(([name, value]) => csrfPlaceholder.test(value) && name !== 'state' && name !== 'nonce');
    if (inQuery) return toCsrf('query', inQuery[0], inQuery[1], input);
    const token = csrfPlaceholder.exec(requestText)?.[0];
    if (token !== undefined) return toCsrf('body', fieldOf(token, input.secrets), token, input);
  }
  return null;
}

function toCsrf(where: 'header' | 'query' | 'body', name: string, token: string, input: ReportInput): ApiEndpoint['csrf'] {
  const { source } = csrfSource(new Set([token]), input, name);
  return { in: where, name, source };
}

function fieldOf(placeholder: string, secrets: readonly Secret[]): string {
  const secret = secrets.find((one) => one.placeholder === placeholder);
  return secret?.locations.find(({ position, name }) => position === 'request_body' && name !== null)?.name ?? 'csrf';
}
