/** Credentials of all requests, grouped into mechanisms. */
import type { InspectAuth } from '@berth/contract';
import type { CapturedExchange, ReportInput } from '../exchange.ts';
import { captureStartMs, toEvidence } from '../page/pages.ts';
import type { Secret, SecretKind } from '../secret.ts';
import { purposeOf } from '../site/cookie-purposes.ts';
import { isSentTo, readCookies, sentCookies, type SeenCookie } from '../site/set-cookies.ts';
import { readCredentials, type Credential, Secrets } from './credentials.ts';
import type { Flow } from './flows.ts';

export type Mechanism = InspectAuth['mechanisms'][number];

/** `endpointOf`: the id of the endpoint of the report that a request belongs to. */
export interface AuthContext {
  input: ReportInput;
  secrets: Secrets;
  credentials: readonly Credential[];
  cookies: readonly SeenCookie[];
  endpointOf(exchange: CapturedExchange): string | null;
}

const mechanismsMax = 50;

export function createAuthContext(input: ReportInput, endpointOf: AuthContext['endpointOf']): AuthContext {
  const secrets = new Secrets(input);
  const cookies = readCookies(input);
  const session = new SessionCookies(cookies, input);
  const credentials = input.exchanges.flatMap((exchange) => {
    if (!isOwn(exchange)) return [];
    return [...session.credentialsOf(exchange), ...readCredentials(exchange, secrets)];
  });
  return { input, secrets, credentials, cookies, endpointOf };
}

/** Keys of other sites, such as those of maps and analytics, authenticate nobody to this one. */
const isOwn = (exchange: CapturedExchange): boolean =>
  exchange.resourceType !== 'preflight' && (exchange.isFirstParty || exchange.requestHeaders.has('authorization'));

export function groupMechanisms(context: AuthContext, flows: readonly Flow[]): Mechanism[] {
  const groups = new Map<string, [Credential, ...Credential[]]>();
  for (const credential of context.credentials) {
    const { type, in: where, name, scheme } = credential;
    const key = JSON.stringify([type, where, name, scheme?.toLowerCase() ?? null]);
    const group = groups.get(key);
    if (group) group.push(credential);
    else groups.set(key, [credential]);
  }
  const mechanisms = [
    ...[...groups.values()].map((group) => toMechanism(group, context)),
    ...flows.map((flow) => flowMechanism(flow, context)),
  ].slice(0, mechanismsMax);
  if (mechanisms.length === 0) mechanisms.push(noMechanism(context));
  return mechanisms.map((mechanism, index) => ({ ...mechanism, id: `auth${index + 1}` }));
}

const unique = (values: Iterable<string | null>): string[] => [...new Set(values)].filter((value) => value !== null).slice(0, 100);

function toMechanism(group: [Credential, ...Credential[]], context: AuthContext): Mechanism {
  const [first] = group;
  const exchanges = group.map(({ exchange }) => exchange);
  const cookie = first.in === 'cookie' ? context.cookies.find(({ name }) => name === first.name) : undefined;
  const jwt = group.find(({ secret }) => secret?.jwt)?.secret ?? null;
  return {
    id: '',
    type: first.type,
    in: first.in,
    name: first.name,
    scheme: first.scheme,
    hosts: unique(exchanges.map(({ url }) => url.host)),
    endpoints: unique(exchanges.map((exchange) => context.endpointOf(exchange))),
    storage: storageOf(group, context),
    issued_by: issuersOf(group, context, cookie),
    cookie_flags: cookie
      ? { http_only: cookie.httpOnly, secure: cookie.secure, same_site: cookie.sameSite, expires_in: cookie.lifetimeSeconds }
      : null,
    jwt: jwt ? jwtOf(jwt, context.input) : null,
    confidence: group.some(({ isCertain }) => isCertain) ? 'high' : 'medium',
    evidence: toEvidence(exchanges),
  };
}

const secretsOf = (group: readonly Credential[]): Secret[] => [...new Set(group.flatMap(({ secret }) => secret ?? []))];

function storageOf(group: readonly Credential[], { input }: AuthContext): Mechanism['storage'] {
  if (group.some((credential) => credential.in === 'cookie')) return 'cookie';
  const positions = new Set(secretsOf(group).flatMap(({ locations }) => locations.map(({ position }) => position)));
  if (positions.has('local_storage')) return 'local';
  if (positions.has('session_storage')) return 'session';
  const placeholders = secretsOf(group).map(({ placeholder }) => placeholder);
  const isIn = (items: readonly { value: string }[]): boolean =>
    items.some(({ value }) => placeholders.some((each) => value.includes(each)));
  if (input.capture.pages.some(({ localStorage }) => isIn(localStorage))) return 'local';
  if (input.capture.pages.some(({ sessionStorage }) => isIn(sessionStorage))) return 'session';
  if (isIn(input.capture.cookies) || positions.has('cookie_jar')) return 'cookie';
  // Storage is known only where a browser was captured.
  return positions.has('response_body') && input.capture.pages.length > 0 ? 'memory' : 'unknown';
}

function issuersOf(group: readonly Credential[], { input }: AuthContext, cookie: SeenCookie | undefined): string[] {
  const issuing = new Set(['response_body', 'response_header', 'set_cookie']);
  const indexes = secretsOf(group).flatMap(({ locations }) => {
    const first = locations.find(({ position, entryIndex }) => issuing.has(position) && entryIndex !== null);
    return first?.entryIndex ?? [];
  });
  const issuers = indexes.map((index) => input.exchanges[index] ?? null);
  return toEvidence(cookie?.setBy ? [...issuers, cookie.setBy] : issuers);
}

function jwtOf({ jwt, locations }: Secret, input: ReportInput): Mechanism['jwt'] {
  if (!jwt) return null;
  const seen = input.exchanges[locations.find(({ entryIndex }) => entryIndex !== null)?.entryIndex ?? 0];
  const seenSeconds = (captureStartMs(input) + (seen?.startedMs ?? 0)) / 1000;
  return {
    alg: jwt.alg,
    iss: jwt.iss,
    aud: jwt.aud,
    exp_in_seconds: jwt.expiresAt === null ? null : Math.round(jwt.expiresAt - seenSeconds),
    claim_names: jwt.claimNames,
  };
}

function flowMechanism({ type, grant, hosts, exchanges, isCertain }: Flow, context: AuthContext): Mechanism {
  return {
    ...emptyMechanism,
    type,
    scheme: grant,
    hosts,
    endpoints: unique(exchanges.map((exchange) => context.endpointOf(exchange))),
    confidence: isCertain ? 'high' : 'medium',
    evidence: toEvidence(exchanges),
  };
}

const emptyMechanism: Mechanism = {
  id: '',
  type: 'none',
  in: null,
  name: null,
  scheme: null,
  hosts: [],
  endpoints: [],
  storage: 'unknown',
  issued_by: [],
  cookie_flags: null,
  jwt: null,
  confidence: 'medium',
  evidence: [],
};

function noMechanism({ input }: AuthContext): Mechanism {
  const calls = input.exchanges.filter(({ isFirstParty, resourceType }) => isFirstParty && /^(?:xhr|fetch|document)$/.test(resourceType));
  return { ...emptyMechanism, hosts: unique(calls.map(({ url }) => url.host)), evidence: toEvidence(calls) };
}

const passwordKinds: ReadonlySet<SecretKind> = new Set(['password', 'otp', 'recovery_code']);

/** Which cookies hold a session: by their names, or because a sign-in set them. */
class SessionCookies {
  readonly #cookies = new Map<string, { cookie: SeenCookie; isCertain: boolean }[]>();
  readonly #secrets: ReadonlyMap<string, Secret>;

  constructor(cookies: readonly SeenCookie[], input: ReportInput) {
    const signIns = new Set(
      input.secrets
        .filter(({ kind }) => passwordKinds.has(kind))
        .flatMap(({ locations }) => locations.flatMap(({ position, entryIndex }) => (position === 'request_body' ? [entryIndex] : []))),
    );
    for (const cookie of cookies) {
      const { purpose, confidence } = purposeOf(cookie.name);
      const isOfSignIn = cookie.setBy !== null && signIns.has(cookie.setBy.index) && purpose === 'unknown' && cookie.httpOnly;
      if (purpose !== 'auth' && !isOfSignIn) continue;
      const named = this.#cookies.get(cookie.name) ?? [];
      named.push({ cookie, isCertain: confidence === 'high' || cookie.httpOnly });
      this.#cookies.set(cookie.name, named);
    }
    this.#secrets = new Map(
      input.secrets.flatMap((secret) =>
        secret.locations.flatMap(({ position, name }) => (/cookie/.test(position) && name !== null ? [[name, secret] as const] : [])),
      ),
    );
  }

  credentialsOf(exchange: CapturedExchange): Credential[] {
    if (!exchange.isFirstParty) return [];
    return [...new Set(sentCookies(exchange))].flatMap((name): Credential[] => {
      const isKnownHere = this.#cookies.get(name)?.find(({ cookie }) => isSentTo(cookie, exchange.url.hostname));
      const { purpose, confidence } = purposeOf(name);
      // A cookie from before the capture of a HAR has only its name.
      if (!isKnownHere && (this.#cookies.has(name) || purpose !== 'auth')) return [];
      const isCertain = isKnownHere?.isCertain ?? confidence === 'high';
      return [{ type: 'cookie_session', in: 'cookie', name, scheme: null, secret: this.#secrets.get(name) ?? null, exchange, isCertain }];
    });
  }
}
