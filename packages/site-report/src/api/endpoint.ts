/** One endpoint of the report, from its calls. */
import type { ApiEndpoint } from '@berth/contract';
import type { CapturedExchange, ReportInput } from '../exchange.ts';
import { bodyObject, isGraphql, isJsonRpc, type EndpointCalls } from './calls.ts';
import { readCredentials, type Credentials } from './credentials.ts';
import { readPagination } from './pagination.ts';
import { readParams } from './params.ts';
import { readRequest, readResponses } from './bodies.ts';

const evidenceMax = 20;
const slowMs = 2000;

export interface EndpointContext {
  input: ReportInput;
  /** Origin and path of each preflight request. */
  preflights: ReadonlySet<string>;
  dependencies: ReadonlyMap<string, ApiEndpoint['depends_on']>;
  anonymous: ReadonlySet<string>;
  withSamples: boolean;
}

export function toEndpoint(endpoint: EndpointCalls, context: EndpointContext): ApiEndpoint {
  const { input, preflights, dependencies, anonymous, withSamples } = context;
  const { calls } = endpoint;
  const first = calls[0] as CapturedExchange;
  const example = calls.find(({ statusCode }) => statusCode !== null && statusCode < 400) ?? first;
  const params = readParams(endpoint);
  const credentials = readCredentials(calls, input, anonymous);
  return {
    ...{ id: endpoint.id, method: endpoint.method, host: endpoint.host, path_template: endpoint.template },
    example_url: example.url.href,
    kind: endpoint.kind,
    operation_name: operationOf(calls),
    first_party: first.isFirstParty,
    params,
    request: readRequest(calls, withSamples),
    responses: readResponses(calls, withSamples),
    pagination: endpoint.method === 'GET' || endpoint.kind !== 'rest' ? readPagination(calls, params) : null,
    ...{ auth_required: credentials.required, auth_reason: credentials.reason, auth_refs: credentials.list, csrf: credentials.csrf },
    idempotent_hint: isIdempotent(endpoint),
    rate_limit: readRateLimit(calls),
    cors: readCors(calls, preflights),
    initiator: readInitiator(first, input),
    triggered_by: first.page?.url ?? null,
    calls: calls.length,
    first_seen_ms: first.startedMs,
    flags: flagsOf(calls),
    depends_on: dependencies.get(endpoint.id) ?? [],
    replayable: replayable(endpoint, credentials),
    curl: toCurl(example, withSamples),
    confidence: calls.length > 1 ? 'high' : 'medium',
    evidence: calls.slice(0, evidenceMax).map(({ id }) => id),
  };
}

function operationOf(calls: readonly CapturedExchange[]): string | null {
  const names = new Set(
    calls.map((call) => {
      const body = bodyObject(call.requestJson);
      const name = isJsonRpc(call)
        ? body?.['method']
        : isGraphql(call)
          ? (body?.['operationName'] ?? new Map(call.url.query).get('operationName'))
          : null;
      return typeof name === 'string' ? name : null;
    }),
  );
  const [name] = names;
  return names.size === 1 ? (name ?? null) : null;
}

const idempotentMethods = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']);

const isIdempotent = ({ method, calls }: EndpointCalls): boolean =>
  idempotentMethods.has(method) || calls.every(({ requestHeaders }) => requestHeaders.has('idempotency-key'));

const rateHeader = /^(?:x-)?ratelimit|^x-rate-limit|^retry-after$/;

function readRateLimit(calls: readonly CapturedExchange[]): ApiEndpoint['rate_limit'] {
  const values = new Map<string, string>();
  for (const { responseHeaders } of calls) for (const [name, value] of responseHeaders) if (rateHeader.test(name)) values.set(name, value);
  if (values.size === 0) return null;
  const valueOf = (word: RegExp): string | null => [...values].find(([name]) => word.test(name))?.[1] ?? null;
  return {
    headers: [...values.keys()].toSorted(),
    limit: countOf(valueOf(/limit$/)),
    remaining: countOf(valueOf(/remaining$/)),
    reset: valueOf(/reset$|^retry-after$/),
  };
}

function countOf(text: string | null): number | null {
  const [, digits] = /^\s{0,4}(\d{1,15})/.exec(text ?? '') ?? [];
  return digits === undefined ? null : Number(digits);
}

function readCors(calls: readonly CapturedExchange[], preflights: ReadonlySet<string>): ApiEndpoint['cors'] {
  const call = calls.find(({ responseHeaders }) => responseHeaders.has('access-control-allow-origin'));
  const preflight = calls.some(({ url }) => preflights.has(url.origin + url.path));
  if (!call) return preflight ? { allow_origin: '', credentials: false, preflight } : null;
  return {
    allow_origin: call.responseHeaders.get('access-control-allow-origin') ?? '',
    credentials: call.responseHeaders.get('access-control-allow-credentials') === 'true',
    preflight,
  };
}

interface Initiator {
  type?: unknown;
  url?: unknown;
  lineNumber?: unknown;
  stack?: { callFrames?: { url?: unknown; lineNumber?: unknown }[] };
}

function readInitiator({ entry }: CapturedExchange, { capture }: ReportInput): ApiEndpoint['initiator'] {
  const initiator = (entry as { _initiator?: Initiator })._initiator;
  const started = Date.parse(entry.startedDateTime);
  const action = capture.actions.findLast(({ startedAt }) => Date.parse(startedAt) <= started)?.index ?? null;
  if (!initiator || typeof initiator.type !== 'string')
    return action === null ? null : { type: 'other', script_url: null, line: null, action_index: action };
  const frame = initiator.stack?.callFrames?.find(({ url }) => typeof url === 'string' && url !== '');
  const url = frame?.url ?? initiator.url;
  const line = frame?.lineNumber ?? initiator.lineNumber;
  return {
    type: initiator.type,
    script_url: typeof url === 'string' && url !== '' ? url : null,
    line: typeof line === 'number' && line >= 0 ? Math.trunc(line) : null,
    action_index: action,
  };
}

function flagsOf(calls: readonly CapturedExchange[]): string[] {
  const some = (test: (call: CapturedExchange) => boolean): boolean => calls.some(test);
  const flags: [string, boolean][] = [
    ['cached', some(({ entry }) => '_fromCache' in entry && Boolean(entry._fromCache))],
    ['deprecated', some(({ responseHeaders }) => responseHeaders.has('deprecation') || responseHeaders.has('sunset'))],
    ['failed', calls.every(({ statusCode }) => statusCode === null || statusCode >= 400)],
    ['redirected', some(({ statusCode }) => statusCode !== null && statusCode >= 300 && statusCode < 304)],
    ['slow', some(({ entry }) => entry.time > slowMs)],
    ['third_party', some(({ isFirstParty }) => !isFirstParty)],
  ];
  return flags.filter(([, isSet]) => isSet).map(([flag]) => flag);
}

const onceOnly = /\{\{(?:otp|oauth_code|pkce_verifier|saml|recovery_code)_\d+\}\}/;

/** Such as a password in the body of a sign-in. */
const sendsSecret = ({ requestText }: CapturedExchange): boolean => requestText.includes('{{');

function replayable({ calls }: EndpointCalls, { list, csrf, required }: Credentials): ApiEndpoint['replayable'] {
  if (calls.every(({ requestText, url }) => onceOnly.test(requestText) || onceOnly.test(url.href))) return 'no';
  // A cookie goes with every call of a site, also with those that do not need it.
  return (list.length > 0 && required !== 'no') || csrf !== null || calls.some(sendsSecret) ? 'needs_token' : 'yes';
}

const bodyCharsMax = 4000;
/** What curl, the connection or the browser sets by itself. */
const automatic =
  /^(?::|host$|connection$|content-length$|accept-encoding$|sec-|user-agent$|origin$|referer$|priority$|upgrade|dnt$|accept-language$|pragma$|cache-control$|te$|if-|cookie$)/;

/** A command that repeats a call; placeholders stand for secrets, and without samples a file for the body. */
function toCurl({ method, url, requestHeaders, requestText }: CapturedExchange, withSamples: boolean): string {
  const words = ['curl'];
  if (method !== 'GET') words.push('-X', quoted(method));
  words.push(quoted(url.href));
  for (const [name, value] of requestHeaders) if (!automatic.test(name)) words.push('-H', quoted(`${name}: ${value}`));
  const cookies = requestHeaders.get('cookie');
  if (cookies !== undefined) words.push('-b', quoted(cookies));
  if (requestText !== '')
    words.push(...(withSamples ? ['--data-raw', quoted(requestText.slice(0, bodyCharsMax))] : ['--data-binary', '@body']));
  return words.join(' ');
}

/** One word of a POSIX shell. */
const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`);
