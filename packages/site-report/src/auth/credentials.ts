/** Credentials in requests: where each stands, and what it is. */
import type { AuthMechanismType } from '@berth/contract';
import type { CapturedExchange, JsonValue, ReportInput } from '../exchange.ts';
import { placeholderPattern, type Secret, type SecretKind } from '../secret.ts';

/** A credential that one request carries. */
export interface Credential {
  type: AuthMechanismType;
  in: 'header' | 'cookie' | 'query' | 'body';
  /** Lower case for headers. */
  name: string;
  scheme: string | null;
  secret: Secret | null;
  exchange: CapturedExchange;
  isCertain: boolean;
}

type Form = Omit<Credential, 'exchange'>;

/** What a request sends as a form or as the top level of JSON. */
export type BodyFields = readonly (readonly [name: string, value: string])[];

export class Secrets {
  readonly #byPlaceholder: ReadonlyMap<string, Secret>;

  constructor({ secrets }: ReportInput) {
    this.#byPlaceholder = new Map(secrets.map((secret) => [secret.placeholder, secret]));
  }

  /** The first secret whose placeholder is in the text. */
  in(text: string): Secret | null {
    if (!text.includes('{{')) return null;
    for (const [placeholder] of text.slice(0, 20_000).matchAll(placeholderPattern)) {
      const secret = this.#byPlaceholder.get(placeholder);
      if (secret) return secret;
    }
    return null;
  }
}

export function readCredentials(exchange: CapturedExchange, secrets: Secrets): Credential[] {
  const forms = [...headerForms(exchange, secrets), ...queryForms(exchange, secrets), ...bodyForms(exchange, secrets)];
  return forms.map((form) => ({ ...form, exchange }));
}

const apiKeyName =
  /(?:^|[-_])(?:api|app|access|subscription|client|developer|dev|license|consumer|write|publishable)[-_]?key(?:$|[-_])|^apikey$|^x-api-token$|^appid$/i;
const tokenName =
  /(?:^|[-_])(?:access|auth|session|id|user|login|bearer|jwt)?[-_]?(?:token|jwt)$|^x-auth(?:orization)?$|^x-session(?:-id)?$/i;
export const csrfName = /csrf|xsrf|^authenticity_token$|^__requestverificationtoken$|^_token$|^_wpnonce$|^x-wp-nonce$/i;
const signatureName = /(?:^|[-_])(?:signature|hmac|digest-sign|sig)(?:$|[-_])|^x-amz-signature$|^x-hub-signature/i;
/** Cache validators and client hints hold what resembles a token. */
const ordinaryHeaders =
  /^(?:cookie|authorization|proxy-|sec-|if-|accept|user-agent|referer|origin|host|content-|etag|range$|:|idempotency-key$|x-request-id$|traceparent$|baggage$|sentry-trace$)/;

const tokenKinds: ReadonlySet<SecretKind> = new Set(['token', 'jwt', 'refresh_token']);
const bearerType = (secret: Secret | null): AuthMechanismType => (secret?.jwt || secret?.kind === 'jwt' ? 'bearer_jwt' : 'bearer_opaque');

function headerForms({ requestHeaders }: CapturedExchange, secrets: Secrets): Form[] {
  const authorization = requestHeaders.get('authorization');
  const form = authorization === undefined ? null : authorizationForm(authorization, secrets);
  const forms = form ? [form] : [];
  for (const [name, value] of requestHeaders) {
    if (ordinaryHeaders.test(name)) continue;
    const named = namedForm(name, value, secrets);
    if (named) forms.push({ ...named, in: 'header', name });
  }
  return forms;
}

const hmacSchemes = /^(?:aws4-hmac-sha256|aws|hmac[\w-]*|signature|hawk|oauth|digest|sharedkey(?:lite)?)$/i;
const emptyCredential = /^(?:[\w-]{1,30} )?(?:null|undefined|false|nan)?$/i;
const keySchemes = /^(?:api-?key|key|apikey|x-api-key)$/i;

function authorizationForm(value: string, secrets: Secrets): Form | null {
  const space = value.indexOf(' ');
  const scheme = space > 0 && space <= 30 ? value.slice(0, space) : null;
  const secret = secrets.in(value);
  // Scripts send `Bearer null` before they have a token.
  if (!secret && emptyCredential.test(value)) return null;
  const shared = { in: 'header', name: 'authorization', scheme, secret, isCertain: true } as const;
  if (scheme !== null && /^basic$/i.test(scheme)) return { ...shared, type: 'basic' };
  if (scheme !== null && hmacSchemes.test(scheme)) return { ...shared, type: 'hmac_signed' };
  if ((scheme !== null && keySchemes.test(scheme)) || (scheme === null && secret?.kind === 'api_key'))
    return { ...shared, type: 'api_key' };
  return { ...shared, type: bearerType(secret), isCertain: scheme !== null && /^bearer$/i.test(scheme) };
}

/** What a header, parameter or field is by its name and by the secret in it. */
function namedForm(name: string, value: string, secrets: Secrets): Omit<Form, 'in' | 'name'> | null {
  const secret = secrets.in(value);
  const shared = { scheme: null, secret };
  if (csrfName.test(name) || secret?.kind === 'csrf_token') return value === '' ? null : { ...shared, type: 'csrf_token', isCertain: true };
  if (!secret) return null;
  if (apiKeyName.test(name) || secret.kind === 'api_key') return { ...shared, type: 'api_key', isCertain: secret.kind === 'api_key' };
  if (signatureName.test(name) || secret.kind === 'signature')
    return { ...shared, type: 'hmac_signed', isCertain: secret.kind === 'signature' };
  if (tokenName.test(name) || tokenKinds.has(secret.kind)) return { ...shared, type: bearerType(secret), isCertain: tokenName.test(name) };
  return null;
}

/** Parameters of sign-in flows, which are no credential of a call. */
const flowParams =
  /^(?:code|state|nonce|code_challenge|code_verifier|client_id|id_token_hint|login_hint|session_state|samlrequest|samlresponse|relaystate)$/i;

function queryForms({ url }: CapturedExchange, secrets: Secrets): Form[] {
  const forms: Form[] = [];
  for (const [name, value] of url.query) {
    if (flowParams.test(name)) continue;
    const form = namedForm(name, value, secrets);
    // Without a redacted value, the name alone says little about an address.
    if (form?.secret) forms.push({ ...form, in: 'query', name });
  }
  return forms;
}

/** Tokens in bodies belong to sign-in and refresh; API keys and CSRF tokens authenticate the call itself. */
function bodyForms(exchange: CapturedExchange, secrets: Secrets): Form[] {
  const forms: Form[] = [];
  for (const [name, value] of bodyFields(exchange)) {
    if (flowParams.test(name)) continue;
    const form = namedForm(name, value, secrets);
    if (form?.type === 'csrf_token' || (form?.type === 'api_key' && form.isCertain)) forms.push({ ...form, in: 'body', name });
  }
  return forms;
}

const fieldsMax = 200;
const fieldCache = new WeakMap<CapturedExchange, BodyFields>();

export function bodyFields(exchange: CapturedExchange): BodyFields {
  let fields = fieldCache.get(exchange);
  if (!fields) fieldCache.set(exchange, (fields = readFields(exchange).slice(0, fieldsMax)));
  return fields;
}

function readFields({ entry, requestType, requestText, requestJson }: CapturedExchange): BodyFields {
  const { params } = entry.request.postData ?? {};
  if (params && params.length > 0) return params.map(({ name, value }) => [name, value ?? '']);
  if (isObject(requestJson)) return Object.entries(requestJson).map(([name, value]) => [name, typeof value === 'string' ? value : '']);
  if (requestType === 'application/x-www-form-urlencoded') return [...new URLSearchParams(requestText.slice(0, 100_000))];
  if (requestType === 'multipart/form-data')
    return [...requestText.slice(0, 100_000).matchAll(/name="([^"\r\n]{1,100})"\r?\n\r?\n([^\r\n]{0,500})/g)].map(
      ([, name = '', value = '']) => [name, value],
    );
  return [];
}

export const isObject = (value: JsonValue | undefined): value is { [key: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
