/** How the site authenticates its callers. */
import type { InspectAuth } from '@berth/contract';
import { csrfSource } from '../csrf-source.ts';
import type { CapturedExchange, ReportInput } from '../exchange.ts';
import { isDocument, isRedirect, readPages, toEvidence, withoutValues, type ReportPage } from '../page/pages.ts';
import { readFlows, readProvider, readRefreshes } from './flows.ts';
import { readLoginForms, readLogoutUrls, readSso } from './forms.ts';
import { createAuthContext, groupMechanisms, type AuthContext, type Mechanism } from './mechanisms.ts';
import { recommend } from './recommend.ts';
import { isObject } from './credentials.ts';

/** `endpointOf` returns the id of the endpoint in `api.endpoints` that a request belongs to. */
export function createAuth(input: ReportInput, endpointOf: (exchange: CapturedExchange) => string | null = () => null): InspectAuth {
  const context = createAuthContext(input, endpointOf);
  const flows = readFlows(input);
  const mechanisms = groupMechanisms(context, flows);
  const section = {
    required_for_page: isSignInRequired(input),
    mechanisms,
    login_forms: readLoginForms(input),
    sso: readSso(input),
    oidc: readProvider(input, flows),
    token_refresh: readRefreshes(input, endpointOf),
    logout_urls: readLogoutUrls(input),
    csrf: readCsrf(mechanisms, context),
    unauthenticated_probes: readRefusals(context),
    session_lifetime_hint: lifetimeHint(mechanisms, input),
    webauthn: webAuthnOf(input),
  };
  return { ...section, recommendations: recommend(section) };
}

const signInPath = /(?:^|[/_.-])(?:log-?in|sign-?in|auth|sso|session\/new|authorize)(?:$|[/_.?#-])/i;

function isSignInRequired(input: ReportInput): boolean {
  const requested = URL.parse(input.capture.url);
  const documents = input.exchanges.filter(isDocument);
  const [first] = documents;
  if (!first || !requested || signInPath.test(requested.pathname)) return false;
  if (first.statusCode === 401 || first.statusCode === 403) return first.statusCode === 401;
  if (!isRedirect(first.statusCode)) return false;
  const end = documents.find(({ statusCode }) => !isRedirect(statusCode));
  return end !== undefined && (signInPath.test(end.url.path) || new Map(end.url.query).has('response_type'));
}

type Csrf = InspectAuth['csrf'][number];

function readCsrf(mechanisms: readonly Mechanism[], context: AuthContext): Csrf[] {
  return mechanisms.flatMap(({ type, in: where, name, endpoints, confidence, evidence }): Csrf[] => {
    if (type !== 'csrf_token' || name === null || where === null || where === 'cookie') return [];
    const placeholders = context.credentials.flatMap((each) =>
      each.type === type && each.name === name ? (each.secret?.placeholder ?? []) : [],
    );
    const source = csrfSource(new Set(placeholders), context.input, name);
    return [{ name, in: where, ...source, endpoint_ids: endpoints, confidence, evidence }];
  });
}

type Refusal = InspectAuth['unauthenticated_probes'][number];

function readRefusals({ input, credentials, endpointOf }: AuthContext): Refusal[] {
  // A session cookie of a visitor who did not sign in is no credential.
  const withCredential = new Set(
    credentials.flatMap(({ type, exchange }) => (type === 'cookie_session' || type === 'csrf_token' ? [] : [exchange])),
  );
  const refusals = new Map<string, CapturedExchange[]>();
  for (const exchange of input.exchanges) {
    const { isFirstParty, resourceType, statusCode, method, url } = exchange;
    if (!isFirstParty || !/^(?:xhr|fetch|eventsource|websocket)$/.test(resourceType)) continue;
    if ((statusCode !== 401 && statusCode !== 403) || withCredential.has(exchange)) continue;
    const key = `${method} ${url.origin}${url.path} ${statusCode}`;
    refusals.set(key, [...(refusals.get(key) ?? []), exchange]);
  }
  return [...refusals.values()].slice(0, 50).flatMap((group): Refusal[] => {
    const [first] = group;
    if (!first) return [];
    const confidence = first.statusCode === 401 ? 'high' : 'medium';
    return [
      {
        endpoint_id: endpointOf(first),
        url: withoutValues(first.url),
        status_code: first.statusCode ?? 0,
        confidence,
        evidence: toEvidence(group),
      },
    ];
  });
}

function lifetimeHint(mechanisms: readonly Mechanism[], { exchanges }: ReportInput): number | null {
  const seconds = mechanisms.flatMap(({ type, jwt, cookie_flags: flags }) => [
    jwt?.exp_in_seconds ?? null,
    type === 'cookie_session' ? (flags?.expires_in ?? null) : null,
  ]);
  for (const { isFirstParty, method, responseJson } of exchanges) {
    if (!isFirstParty || method !== 'POST' || !isObject(responseJson) || !Object.hasOwn(responseJson, 'expires_in')) continue;
    const { expires_in: value } = responseJson;
    if (typeof value === 'number' && Object.keys(responseJson).some((key) => /token/i.test(key))) seconds.push(Math.round(value));
  }
  const positive = seconds.filter((value) => value !== null && value > 0) as number[];
  return positive.length === 0 ? null : positive.reduce((least, value) => Math.min(least, value));
}

function webAuthnOf(input: ReportInput): InspectAuth['webauthn'] {
  const pages = readPages(input);
  if (pages.some(({ snapshot }) => snapshot?.usesWebAuthn)) return 'used';
  return pages.some(offersPasskeys) ? 'available' : 'no';
}

const offersPasskeys = ({ tree }: ReportPage): boolean =>
  tree.named('input').some(({ attributes }) => /\bwebauthn\b/.test(attributes.get('autocomplete') ?? ''));
