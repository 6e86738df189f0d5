/** How a site authenticates its callers, as an inspection reports it. Never a value of a credential. */
import { z } from 'zod';
import {
  claimFields,
  countField,
  countOrNull,
  csrfSources,
  csrfSourceText,
  flagField,
  RequestIds,
  textField,
  textOrNull,
  textsField,
} from './inspect-claims.ts';

export const authMechanismTypes = [
  'cookie_session',
  'bearer_jwt',
  'bearer_opaque',
  'api_key',
  'basic',
  'oauth2',
  'oidc',
  'saml',
  'hmac_signed',
  'csrf_token',
  'none',
] as const;
export type AuthMechanismType = (typeof authMechanismTypes)[number];

export const ssoProviders = [
  'google',
  'microsoft',
  'apple',
  'github',
  'gitlab',
  'facebook',
  'linkedin',
  'x',
  'amazon',
  'slack',
  'okta',
  'auth0',
  'cognito',
  'keycloak',
  'onelogin',
  'saml',
  'other',
] as const;

const CookieFlags = z
  .object({
    http_only: flagField('Whether scripts of the page cannot read the cookie.'),
    secure: flagField('Whether the cookie is sent over HTTPS only.'),
    same_site: z.enum(['strict', 'lax', 'none']).nullable().describe('The `SameSite` attribute; null if it is not set.'),
    expires_in: countOrNull('Lifetime in seconds; null for a cookie that ends with the browser session.'),
  })
  .meta({ id: 'InspectCookieFlags' });

const JwtClaims = z
  .object({
    alg: textOrNull('Signature algorithm of the header, such as `RS256`.'),
    iss: textOrNull('Issuer.'),
    aud: textsField('Audiences.'),
    exp_in_seconds: z.int().nullable().describe('Lifetime that was left when the token was seen, in seconds; null without `exp`.'),
    claim_names: textsField('Names of all claims. Values of other claims are never reported.'),
  })
  .meta({ id: 'InspectJwt' });

export const AuthMechanism = z
  .object({
    id: textField('Id of the mechanism within the report, such as `auth1`.'),
    type: z.enum(authMechanismTypes).describe('Kind of mechanism. `none`: no request carried a credential.'),
    in: z.enum(['header', 'cookie', 'query', 'body']).nullable().describe('Where requests carry it; null for `none`.'),
    name: textOrNull('Name of the header, cookie, query parameter or body field.'),
    scheme: textOrNull('Scheme of the `Authorization` header, such as `Bearer`; the flow of `oauth2` and `oidc`.'),
    hosts: textsField('Hosts that receive it.'),
    endpoints: textsField('Ids of the endpoints in `api.endpoints` that receive it.'),
    storage: z
      .enum(['local', 'session', 'cookie', 'memory', 'unknown'])
      .describe('Where the page stores it: `localStorage`, `sessionStorage`, a cookie, or only a variable of a script.'),
    issued_by: RequestIds.describe('Ids of the requests whose response carried the credential first.'),
    cookie_flags: CookieFlags.nullable().describe('Attributes of the cookie; null for what is no cookie.'),
    jwt: JwtClaims.nullable().describe('Header and claim names of the token; null for what is no JWT.'),
    ...claimFields,
  })
  .meta({ id: 'InspectAuthMechanism' });

const LoginField = z
  .object({
    name: textField('Name of the field; empty if it has none.'),
    type: textField('Type of the input, such as `email`.'),
    autocomplete: textOrNull('The `autocomplete` attribute.'),
    selector: textField('CSS selector of the field.'),
  })
  .meta({ id: 'InspectLoginField' });

const LoginForm = z
  .object({
    page: textField('URL of the page that has the form.'),
    action: textField('URL that the form is sent to; the page itself where a script sends it.'),
    method: z.enum(['get', 'post']).describe('Method of the form.'),
    fields: z.array(LoginField).describe('Fields that a person fills, in the order of the page, at most 30.'),
    submit_selector: textOrNull('CSS selector of the button that sends the form.'),
    password_field: textOrNull('CSS selector of the password field; null in the first step of a form that asks for the user name alone.'),
    mfa_hint: flagField('Whether the form asks for a one-time code.'),
    captcha: textOrNull('Vendor of the captcha on the page.'),
    csrf_field: textOrNull('Name of the hidden field with a CSRF token.'),
    over_https: flagField('Whether page and action use HTTPS.'),
    ...claimFields,
  })
  .meta({ id: 'InspectLoginForm' });

const Sso = z
  .object({
    provider: z.enum(ssoProviders).describe('The identity provider.'),
    start_url: textOrNull('URL that starts the sign-in, without the values of its parameters.'),
    selector: textOrNull('CSS selector of the link or button.'),
    client_id: textOrNull('The public client id, where the address carries one.'),
    ...claimFields,
  })
  .meta({ id: 'InspectSso' });

const Oidc = z
  .object({
    issuer: textOrNull('Issuer of the discovery document or of the tokens.'),
    authorization_endpoint: textOrNull('URL where the sign-in begins.'),
    token_endpoint: textOrNull('URL that issues tokens.'),
    scopes_supported: textsField('Scopes of the discovery document; else those that were requested.'),
    pkce: z
      .enum(['S256', 'plain', 'none', 'unknown'])
      .describe('The challenge method of the authorization code flow. `unknown`: no flow was seen.'),
    discovery: flagField('Whether the discovery document was read.'),
    ...claimFields,
  })
  .meta({ id: 'InspectOidc' });

const TokenRefresh = z
  .object({
    endpoint_id: textOrNull('Id of the endpoint in `api.endpoints`.'),
    url: textField('URL that returns a new token, without the values of its parameters.'),
    method: textField('Method of the request.'),
    interval_s: countOrNull('Median seconds between two calls; null after one call.'),
    ...claimFields,
  })
  .meta({ id: 'InspectTokenRefresh' });

const Csrf = z
  .object({
    name: textField('Name of the header, field or parameter that carries the token.'),
    in: z.enum(['header', 'body', 'query']).describe('Where requests carry it.'),
    source: z.enum(csrfSources).describe(csrfSourceText),
    source_name: textOrNull('Name of the meta element, cookie, hidden field or header.'),
    endpoint_ids: textsField('Ids of the endpoints that receive it.'),
    ...claimFields,
  })
  .meta({ id: 'InspectCsrf' });

const UnauthenticatedProbe = z
  .object({
    endpoint_id: textOrNull('Id of the endpoint in `api.endpoints`.'),
    url: textField('The URL, without the values of its parameters.'),
    status_code: countField('The response to the request that carried no credential.'),
    ...claimFields,
  })
  .meta({ id: 'InspectUnauthenticatedProbe' });

export const InspectAuth = z
  .object({
    required_for_page: flagField('Whether the page itself needs a sign-in: it redirected to one, or showed only a sign-in form.'),
    mechanisms: z.array(AuthMechanism).describe('How requests authenticate, at most 50.'),
    login_forms: z.array(LoginForm).describe('Sign-in forms of the pages, at most 20.'),
    sso: z.array(Sso).describe('Sign-in by an identity provider, at most 20.'),
    oidc: Oidc.nullable().describe('The OpenID Connect or OAuth provider; null if none was seen.'),
    token_refresh: z.array(TokenRefresh).describe('Calls that renew a credential.'),
    logout_urls: textsField('URLs that end the session, at most 20.'),
    csrf: z.array(Csrf).describe('CSRF tokens of requests, and where they come from.'),
    unauthenticated_probes: z
      .array(UnauthenticatedProbe)
      .describe('Endpoints that the page called without a credential and that answered 401 or 403. Nothing is called for this.'),
    session_lifetime_hint: countOrNull('Seconds until the shortest known credential expires; null if none has an expiry.'),
    webauthn: z.enum(['used', 'available', 'no']).describe('Passkeys. `used`: the page called them. `available`: a field offers them.'),
    recommendations: textsField('What to do to call the API of this site, in the order of the steps.'),
  })
  .meta({ id: 'InspectAuth' });
export type InspectAuth = z.infer<typeof InspectAuth>;
