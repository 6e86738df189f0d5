/** What the name of a header, parameter, field or cookie says about its value. */
import type { SecretKind } from '../secret.ts';
import { isWords } from './opaque.ts';

/** Names that contain a secret's word and hold none: paging, limits, states, addresses, settings. */
const harmless = [
  /^x?(?:next|prev|previous|page|paging|pagination|continuation|sync|start|starting|resume|scroll|marker)(?:page|results?)?tokens?$/,
  /tokens?(?:type|endpoint|ur[li]|limit|count|used|usage|name|expiry|expires|expiresin|expiresat|lifetime|ttl|size|length|hint)$/,
  /^(?:max|min|total|num|prompt|completion|input|output|used)(?:new)?tokens?$/,
  /passw(?:or)?d(?:field|hint|policy|rules|length|strength|label|placeholder|changedat|updatedat|changed|required|enabled|type|url|page)$/,
  /^(?:has|is|show|hide|forgot|change|use|no|needs?|requires?|required|supports?)(?:a|new|the|your)?(?:pass|token|otp|secret|csrf|jwt|auth)/,
  /^xamz(?:algorithm|date|expires|signedheaders|contentsha256|userAgent)$/,
  /(?:signature|signing|auth|jwt|token)(?:version|algorithm|alg|method|headers?|type|mode|status|state|scheme|provider|endpoint|ur[li]|server|domain)$/,
  /(?:apikey|secret|key|session|credential|token)s?(?:name|ids?arn|arn|header|prefix|status|timeout|ttl|count|storage|duration|location)$/,
  /^codechallenge/,
  /^(?:author|authors|authority|authorname|passenger|passengers|passport|passive|bypass|compass|seedling|monkey|keyboard|keyword|keywords|key)$/,
];

const byName: readonly (readonly [SecretKind, RegExp])[] = [
  ['refresh_token', /refreshtoken/],
  ['csrf_token', /csrf|xsrf|antiforgery|authenticitytoken|requestverificationtoken/],
  ['pkce_verifier', /codeverifier/],
  ['oauth_code', /^(?:auth|oauth|authorization)code$|oauthverifier$/],
  ['saml', /^saml(?:response|request|art)$|assertion$|^wresult$/],
  ['totp_seed', /(?:totp|otp|mfa|twofactor|2fa|authenticator)(?:secret|seed|key|ur[li])$|^otpauth/],
  ['recovery_code', /(?:recovery|backup|scratch)(?:codes?|keys?|phrase)$|mnemonic|seedphrase/],
  [
    'otp',
    /^(?:totp|otp|otc|cvv2?|cvc2?)$|(?:otp|onetime|verification|mfa|twofactor|2fa|sms|security|confirmation|login|totp)(?:code|password|passcode|pin)$|cardcvc|cardcvv/,
  ],
  ['password', /passw(?:or)?d|passwd|^pwd|pwd$|passphrase|passcode|^pass$|userpass$|^pin$|pincode$/],
  ['webhook', /webhook|hookur[li]$/],
  [
    'api_key',
    /apikey|appkey|accesskey|subscriptionkey|secretkey|privatekey|clientkey|masterkey|licen[sc]ekey|functionskey|signingkey|encryptionkey|publishablekey|accountkey|apitoken|authkey/,
  ],
  ['signature', /signature$|^sig$|hmac|^xamzcredential$|^xgoogcredential$|^keypairid$/],
  ['card', /cardnumber|ccnumber|creditcard$|^pan$|ccnum/],
  ['iban', /iban|accountnumber|routingnumber|^ssn$|socialsecurity|taxid$|passportn/],
  ['phone', /phone|mobile|^tel$|msisdn|^fax$/],
  ['cookie', /^(?:connect)?sid$|sessionid|sess?id$|sessiontoken|sessionkey|^session$/],
  ['jwt', /jwt/],
  [
    'token',
    /token|bearer|^auth$|authorization|credentials?$|^ticket$|magiclink|magiccode|invitecode|accesscode|^access$|^refresh$|^nonce$/,
  ],
  ['secret', /secret|^seed$/],
];

const kindCacheMax = 20_000;
const kindCache = new Map<string, SecretKind | null>();
const nameCharsMax = 80;

/** `X-Api-Key`, `apiKey` and `api_key` alike. */
export const normalized = (name: string): string => name.toLowerCase().replaceAll(/[^a-z\d]/g, '');

/** The kind of secret that a name states, else null. */
export function kindOfName(name: string): SecretKind | null {
  if (name.length > nameCharsMax) return null;
  const cached = kindCache.get(name);
  if (cached !== undefined) return cached;
  const compact = normalized(name);
  const kind = harmless.some((pattern) => pattern.test(compact))
    ? null
    : (byName.find(([, pattern]) => pattern.test(compact))?.[0] ?? null);
  if (kindCache.size >= kindCacheMax) kindCache.clear();
  kindCache.set(name, kind);
  return kind;
}

const literals = new Set(['true', 'false', 'null', 'undefined', 'none', 'nan', 'yes', 'no', 'on', 'off', '*', '-', '[object object]']);
/** What scripts send where they have no value. */
export const isLiteral = (value: string): boolean => literals.has(value.trim().toLowerCase());
const phoneDigitsMin = 7;

/** Whether a value can be what its name states: `"token":"expired"` holds no token. */
export function isPlausible(kind: SecretKind, value: string): boolean {
  if (value === '' || value.startsWith('{{') || isLiteral(value)) return false;
  if (kind === 'phone') return /^[+\d() ./-]{7,25}$/.test(value) && value.replaceAll(/\D/g, '').length >= phoneDigitsMin;
  if (kind === 'password' || kind === 'recovery_code') return true;
  if (kind === 'otp') return /^[A-Za-z\d -]{3,12}$/.test(value) && /\d/.test(value);
  if (kind === 'card') return value.replaceAll(/\D/g, '').length >= 12;
  if (kind === 'iban') return value.length >= 8 && /\d{4}/.test(value);
  if (kind === 'webhook') return value.includes('://') || (value.length >= 16 && /\d/.test(value));
  if (value.includes('://') || value.startsWith('/')) return false;
  if (value.length < 6 || /\s/.test(value.trim())) return false;
  return !isWords(value);
}
