/** Invalid credentials of every kind. */
import { SignJWT } from 'jose';
import type { Auth, ErrorCode } from '@berth/contract';
import { newRawKey } from '../../packages/server/src/accounts/keys/keys.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { adminKey } from '../harness.ts';
import type { Issuer } from '../services/issuer.ts';

type Headers = [string, string][];

export interface InvalidCredential {
  what: string;
  code: ErrorCode;
  headers: Headers;
  query?: string;
  /** Path parameters, for tokens in the path. */
  params?: Record<string, string>;
}

/** Valid credentials from which the invalid ones are derived. */
export interface ValidCredentials {
  apiKey: string;
  metricsToken: string;
  revokedKey: string;
  expiredKey: string;
  /** Tokens for one session: of the requested one, of another one, and an expired one. */
  token: string;
  otherToken: string;
  staleToken: string;
  connectToken: string;
  /** Connect tokens that are invalid, by their defect. */
  wrongConnectTokens: Record<string, string>;
  /** Link tokens, likewise. */
  viewToken: string;
  vncToken: string;
  otherViewToken: string;
  staleViewToken: string;
  revokedViewToken: string;
  viewCookie: string;
  otherViewCookie: string;
  /** Invalid logins by their defect, see {@link wrongLogins}. */
  logins: Record<string, string>;
}

export const wrongCredentials = (valid: ValidCredentials): Record<Auth, InvalidCredential[]> => ({
  none: [],
  bearer: bearerCases(valid),
  connect: connectCases(valid),
  connectPath: connectPathCases(valid),
  view: viewCases(valid),
  vnc: vncCases(valid),
  recording: recordingCases(valid),
  report: recordingCases(valid),
  // No endpoint of the contract has it: the tests of MCP send wrong ones.
  agent: [],
  login: loginCases(valid),
  metrics: metricsCases(valid),
  admin: adminCases(valid),
});

/** Invalid tokens of the identity provider by their defect. */
export async function wrongLogins({
  issuer,
  stranger,
  clock,
}: {
  issuer: Issuer;
  stranger: Issuer;
  clock: Clock;
}): Promise<Record<string, string>> {
  const seconds = Math.floor(clock.now().getTime() / 1000);
  const good = await issuer.token();
  const [header = '', payload = '', signature = ''] = good.split('.');
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  return {
    'that has expired': await issuer.token({ exp: seconds - 61 }),
    'that is not valid yet': await issuer.token({ nbf: seconds + 61 }),
    'that never expires': await issuer.token({ exp: undefined }),
    'for another service': await issuer.token({ aud: 'another-service' }),
    'for no service': await issuer.token({ aud: undefined }),
    'that names another issuer': await issuer.token({ iss: stranger.url }),
    'of another issuer': await stranger.token(),
    'of another issuer that names ours': await stranger.token({ iss: issuer.url, aud: 'berth-test' }),
    'without an organisation': await issuer.token({ org_id: undefined }),
    'of an organisation with an invalid name': await issuer.token({ org_id: '../local' }),
    'without a subject': await issuer.token({ sub: undefined }),
    'signed with an unknown key': await issuer.token({}, { kid: 'two' }),
    'that is an ID token': await issuer.token({ nonce: 'n' }),
    'whose claims were changed': `${header}.${encoded({ ...claims, org_id: 'victim' })}.${signature}`,
    'whose signature was changed': `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
    'without a signature': `${encoded({ alg: 'none' })}.${payload}.`,
    'signed with a public value': await new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .sign(Buffer.from(issuer.url)),
  };
}

/** Requests without a bearer credential. */
const noBearer = ({ apiKey }: ValidCredentials): InvalidCredential[] => [
  { what: 'no credential', code: 'missing_api_key', headers: [] },
  { what: 'an empty Authorization header', code: 'missing_api_key', headers: [['authorization', '']] },
  { what: 'a bearer without a key', code: 'missing_api_key', headers: [['authorization', 'Bearer ']] },
  { what: 'the API key in ?api_key=', code: 'missing_api_key', headers: [], query: `api_key=${apiKey}` },
  {
    what: 'the API key in a cookie',
    code: 'missing_api_key',
    headers: [['cookie', `api_key=${apiKey}; token=${apiKey}; authorization=Bearer ${apiKey}`]],
  },
  { what: 'the API key in x-api-key', code: 'missing_api_key', headers: [['x-api-key', apiKey]] },
  { what: 'the admin key in x-admin-key', code: 'missing_api_key', headers: [['x-admin-key', adminKey]] },
];

/** Requests whose Authorization header is not one bearer credential. */
const malformedBearer = ({ apiKey }: ValidCredentials): InvalidCredential[] => [
  {
    what: 'Basic instead of Bearer',
    code: 'invalid_api_key',
    headers: [['authorization', `Basic ${Buffer.from(`user:${apiKey}`).toString('base64')}`]],
  },
  { what: 'a key without the word Bearer', code: 'invalid_api_key', headers: [['authorization', apiKey]] },
  { what: 'a key and another word', code: 'invalid_api_key', headers: [['authorization', `Bearer ${apiKey} x`]] },
  { what: 'two Authorization headers', code: 'invalid_api_key', headers: [...bearer(apiKey), ...bearer(apiKey)] },
];

/** Bearer credentials that are not a valid key. */
export const wrongBearer = ({ apiKey, revokedKey, expiredKey, token }: ValidCredentials): InvalidCredential[] => [
  { what: 'an unknown key', code: 'invalid_api_key', headers: bearer(newRawKey()) },
  { what: 'a key with a wrong checksum', code: 'invalid_api_key', headers: bearer(mistyped(apiKey)) },
  { what: 'a text that is not a key', code: 'invalid_api_key', headers: bearer('not-a-key') },
  { what: 'a very long text', code: 'invalid_api_key', headers: bearer('x'.repeat(8000)) },
  { what: 'a revoked key', code: 'invalid_api_key', headers: bearer(revokedKey) },
  { what: 'an expired key', code: 'invalid_api_key', headers: bearer(expiredKey) },
  { what: 'the admin key as bearer', code: 'invalid_api_key', headers: bearer(adminKey) },
  { what: 'a token of the session as bearer', code: 'invalid_api_key', headers: bearer(token) },
];

/** Requests without a link token. */
const noLink = ({ apiKey, viewToken, viewCookie }: ValidCredentials): InvalidCredential[] => [
  { what: 'no credential', code: 'missing_view_token', headers: [] },
  { what: 'an empty ?token=', code: 'missing_view_token', headers: [], query: 'token=' },
  { what: 'two tokens', code: 'missing_view_token', headers: [], query: `token=${viewToken}&token=${viewToken}` },
  { what: 'the API key in ?api_key=', code: 'missing_view_token', headers: [], query: `api_key=${apiKey}` },
  {
    what: 'a token in a cookie of another name',
    code: 'missing_view_token',
    headers: [['cookie', `token=${viewToken}; berth_view=${viewToken}`]],
  },
  { what: 'a cookie without a value', code: 'missing_view_token', headers: [['cookie', 'berth-view=']] },
  { what: 'the cookie of an address with TLS', code: 'missing_view_token', headers: [['cookie', `__Secure-${viewCookie}`]] },
  { what: 'the admin key in x-admin-key', code: 'missing_view_token', headers: [['x-admin-key', adminKey]] },
];

/** Link tokens and cookies that are invalid. */
export const wrongLink = ({
  apiKey,
  token,
  viewToken,
  otherViewToken,
  staleViewToken,
  revokedViewToken,
  viewCookie,
  otherViewCookie,
}: ValidCredentials): InvalidCredential[] => [
  { what: 'the API key in ?token=', code: 'invalid_view_token', headers: [], query: `token=${apiKey}` },
  { what: 'the admin key in ?token=', code: 'invalid_view_token', headers: [], query: `token=${adminKey}` },
  { what: 'a connect token', code: 'invalid_view_token', headers: [], query: `token=${token}` },
  { what: 'a link to another session', code: 'invalid_view_token', headers: [], query: `token=${otherViewToken}` },
  { what: 'an expired link', code: 'invalid_view_token', headers: [], query: `token=${staleViewToken}` },
  { what: 'a revoked link', code: 'invalid_view_token', headers: [], query: `token=${revokedViewToken}` },
  { what: 'a link whose claims were changed', code: 'invalid_view_token', headers: [], query: `token=${forged(viewToken)}` },
  { what: 'a link without a signature', code: 'invalid_view_token', headers: [], query: `token=${viewToken.split('.')[0]}` },
  { what: 'a very long token', code: 'invalid_view_token', headers: [], query: `token=${'x'.repeat(5000)}` },
  { what: 'a token as cookie', code: 'invalid_view_token', headers: [['cookie', `berth-view=${viewToken}`]] },
  { what: 'the cookie of another session', code: 'invalid_view_token', headers: [['cookie', otherViewCookie]] },
  { what: 'an unknown cookie', code: 'invalid_view_token', headers: [['cookie', `berth-view=${'x'.repeat(43)}`]] },
  { what: 'a wrong token beside a valid cookie', code: 'invalid_view_token', headers: [['cookie', viewCookie]], query: 'token=x' },
];

const keyIsNoLink = (valid: ValidCredentials): InvalidCredential[] => [
  { what: 'an API key as bearer', code: 'missing_view_token', headers: bearer(valid.apiKey) },
  ...malformedBearer(valid).map((wrong): InvalidCredential => ({ ...wrong, code: 'missing_view_token' })),
];

const bearerCases = (valid: ValidCredentials): InvalidCredential[] => {
  const { apiKey, token, connectToken } = valid;
  return [
    ...noBearer(valid),
    ...malformedBearer(valid),
    ...wrongBearer(valid),
    { what: 'the API key in ?token=', code: 'missing_api_key', headers: [], query: `token=${apiKey}` },
    { what: 'a token of the session in ?token=', code: 'missing_api_key', headers: [], query: `token=${token}` },
    { what: 'a connect token in ?token=', code: 'missing_api_key', headers: [], query: `token=${connectToken}` },
    { what: 'a connect token as bearer', code: 'invalid_api_key', headers: bearer(connectToken) },
  ];
};

const connectCases = (valid: ValidCredentials): InvalidCredential[] => {
  const { apiKey, token, otherToken, staleToken, wrongConnectTokens } = valid;
  return [
    ...Object.entries(wrongConnectTokens).flatMap(([what, secret]): InvalidCredential[] => [
      { what: `a connect token ${what}`, code: 'invalid_connect_token', headers: [], query: `token=${secret}` },
      { what: `a connect token as bearer ${what}`, code: 'invalid_connect_token', headers: bearer(secret) },
    ]),
    ...noBearer(valid),
    ...malformedBearer(valid),
    ...wrongBearer(valid),
    { what: 'an empty ?token=', code: 'missing_api_key', headers: [], query: 'token=' },
    { what: 'the API key in ?token=', code: 'invalid_connect_token', headers: [], query: `token=${apiKey}` },
    { what: 'the token of another session', code: 'invalid_connect_token', headers: [], query: `token=${otherToken}` },
    { what: 'an expired token', code: 'invalid_connect_token', headers: [], query: `token=${staleToken}` },
    { what: 'a token whose claims were changed', code: 'invalid_connect_token', headers: [], query: `token=${forged(token)}` },
    { what: 'a token whose signature was changed', code: 'invalid_connect_token', headers: [], query: `token=${token.slice(0, -2)}AA` },
    { what: 'a token without a signature', code: 'invalid_connect_token', headers: [], query: `token=${token.split('.')[0]}` },
    { what: 'two tokens', code: 'missing_api_key', headers: [], query: `token=${token}&token=${token}` },
    { what: 'a wrong key beside a valid token', code: 'invalid_api_key', headers: bearer('not-a-key'), query: `token=${token}` },
  ];
};

/** Every endpoint is called with an unknown token unless `params` has another. */
const connectPathCases = ({ apiKey, token, wrongConnectTokens }: ValidCredentials): InvalidCredential[] => {
  const code = 'invalid_connect_token';
  const inPath = (what: string, secret: string): InvalidCredential => ({ what, code, headers: [], params: { token: secret } });
  return [
    { what: 'an unknown token', code, headers: [] },
    { what: 'an unknown token beside a valid API key', code, headers: bearer(apiKey), query: `token=${apiKey}` },
    inPath('an API key', apiKey),
    inPath('the admin key', adminKey),
    inPath('a token of a session', token),
    inPath('a very long text', 'x'.repeat(5000)),
    ...Object.entries(wrongConnectTokens).map(([what, secret]) => inPath(`a connect token ${what}`, secret)),
  ];
};

const viewCases = (valid: ValidCredentials): InvalidCredential[] => {
  const { vncToken } = valid;
  return [
    ...noLink(valid),
    ...wrongLink(valid),
    ...keyIsNoLink(valid),
    { what: 'a link to the window', code: 'invalid_view_token', headers: [], query: `token=${vncToken}` },
  ];
};

const vncCases = (valid: ValidCredentials): InvalidCredential[] => {
  const { viewToken, viewCookie } = valid;
  return [
    ...noLink(valid),
    ...wrongLink(valid),
    ...keyIsNoLink(valid),
    { what: 'a link to the live view', code: 'invalid_view_token', headers: [], query: `token=${viewToken}` },
    { what: 'the cookie of the live view', code: 'invalid_view_token', headers: [['cookie', viewCookie]] },
  ];
};

const recordingCases = (valid: ValidCredentials): InvalidCredential[] => {
  const { vncToken } = valid;
  return [
    ...noLink(valid),
    ...wrongLink(valid),
    ...malformedBearer(valid),
    ...wrongBearer(valid),
    { what: 'a bearer without a key', code: 'missing_view_token', headers: [['authorization', 'Bearer ']] },
    { what: 'a link to the window', code: 'invalid_view_token', headers: [], query: `token=${vncToken}` },
    {
      what: 'a wrong key beside an invalid cookie',
      code: 'invalid_api_key',
      headers: [['cookie', 'berth-view=x'], ...bearer('not-a-key')],
    },
  ];
};

const loginCases = (valid: ValidCredentials): InvalidCredential[] => [
  ...[...noBearer(valid), ...malformedBearer(valid)].map((wrong): InvalidCredential => ({ ...wrong, code: 'missing_login_token' })),
  { what: 'a link', code: 'missing_login_token', headers: [], query: `token=${valid.viewToken}` },
  ...wrongBearer(valid).map((wrong): InvalidCredential => ({ ...wrong, code: 'invalid_login_token' })),
  { what: 'a valid API key', code: 'invalid_login_token', headers: bearer(valid.apiKey) },
  ...Object.entries(valid.logins).map(([what, login]): InvalidCredential => ({
    what: `a login token ${what}`,
    code: 'invalid_login_token',
    headers: bearer(login),
  })),
];

const metricsCases = ({ apiKey, metricsToken }: ValidCredentials): InvalidCredential[] => [
  { what: 'no credential', code: 'missing_metrics_token', headers: [] },
  { what: 'the admin key alone', code: 'missing_metrics_token', headers: [['x-admin-key', adminKey]] },
  { what: 'the token in x-admin-key', code: 'missing_metrics_token', headers: [['x-admin-key', metricsToken]] },
  { what: 'the token in the query', code: 'missing_metrics_token', headers: [], query: `token=${metricsToken}` },
  { what: 'two Authorization headers', code: 'missing_metrics_token', headers: [...bearer(metricsToken), ...bearer(metricsToken)] },
  { what: 'an API key', code: 'invalid_metrics_token', headers: bearer(apiKey) },
  { what: 'the admin key as bearer', code: 'invalid_metrics_token', headers: bearer(adminKey) },
  { what: 'a wrong token', code: 'invalid_metrics_token', headers: bearer(mistyped(metricsToken)) },
  { what: 'a prefix of the token', code: 'invalid_metrics_token', headers: bearer(metricsToken.slice(0, -1)) },
  {
    what: 'a wrong token beside the admin key',
    code: 'invalid_metrics_token',
    headers: [...bearer('wrong'), ['x-admin-key', adminKey]],
  },
];

const adminCases = ({ apiKey }: ValidCredentials): InvalidCredential[] => [
  { what: 'no credential', code: 'missing_admin_key', headers: [] },
  { what: 'an empty x-admin-key', code: 'missing_admin_key', headers: [['x-admin-key', '']] },
  { what: 'the admin key as bearer', code: 'missing_admin_key', headers: bearer(adminKey) },
  { what: 'an API key as bearer', code: 'missing_admin_key', headers: bearer(apiKey) },
  { what: 'the admin key in the query', code: 'missing_admin_key', headers: [], query: `x-admin-key=${adminKey}&admin_key=${adminKey}` },
  { what: 'the admin key in a cookie', code: 'missing_admin_key', headers: [['cookie', `x-admin-key=${adminKey}`]] },
  { what: 'an API key as x-admin-key', code: 'invalid_admin_key', headers: [['x-admin-key', apiKey]] },
  { what: 'a wrong x-admin-key', code: 'invalid_admin_key', headers: [['x-admin-key', mistyped(adminKey)]] },
  { what: 'a prefix of the admin key', code: 'invalid_admin_key', headers: [['x-admin-key', adminKey.slice(0, -1)]] },
  { what: 'a very long x-admin-key', code: 'invalid_admin_key', headers: [['x-admin-key', adminKey.repeat(200)]] },
  { what: 'a list as x-admin-key', code: 'invalid_admin_key', headers: [['x-admin-key', `["${adminKey}"]`]] },
  {
    what: 'two x-admin-key headers',
    code: 'invalid_admin_key',
    headers: [
      ['x-admin-key', adminKey],
      ['x-admin-key', adminKey],
    ],
  },
];

const bearer = (key: string): Headers => [['authorization', `Bearer ${key}`]];
/** Changes the last character, so that the checksum is wrong. */
export const mistyped = (key: string): string => key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');

/** Changes the claims and keeps the signature. */
function forged(good: string): string {
  const [payload = '', signature] = good.split('.');
  const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return `${Buffer.from(JSON.stringify({ ...(claims as object), owner: 'somebody-else' })).toString('base64url')}.${signature}`;
}
