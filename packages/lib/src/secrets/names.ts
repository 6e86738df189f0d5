/** What the name of a header, parameter, field or cookie says about its value. */
import type { SecretKind } from './kinds.ts';
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
    /^(?:totp|otp|otc|cvv2?|cvc2?)$|(?:otp|onetime|verification|mfa|twofactor|2fa|sms|security|confirmation|login|totp)(?:code|passcode|pin)$|cardcvc|cardcvv/,
  ],
  [
    'password',
    /passw(?:or)?d|passwd|^pwd|pwd$|passphrase|passcode|^pass$|^(?:db|smtp|mail|imap|mysql|pg|sql|ftp|ssh|user|admin|root|login|http|proxy|redis|my|new|old|current|confirm|repeat|retype|j)pass$|^pin$|pincode$/,
  ],
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

/** Fields of requests and of log lines that hold a secret, whatever their value. */
export const secretFields = [
  'authorization',
  'cookie',
  'set-cookie',
  'x-admin-key',
  'password',
  'token',
  'key',
  'proxy-authorization',
  'username',
];
const secretField = /^(?:.*(?:password|passwd|secret|token|authorization|cookie)s?|.*api[-_]?key|value)$/i;
export const isSecretField = (name: string): boolean => secretFields.includes(name.toLowerCase()) || secretField.test(name);

/** Words by which headers that carry a credential are named, and names that have one and carry none. */
const credentialHeader = /auth|cookie|api-?key|access-?key|token|secret|passw|credential|signature|session/i;
const openHeader = /^(?::authority|www-authenticate|proxy-authenticate|access-control-.*)$/i;
/** Whether a header may carry a credential, whatever its value: nothing is lost where one is hidden, or not sent on, that carries none. */
export const isCredentialHeader = (name: string): boolean => credentialHeader.test(name) && !openHeader.test(name);

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);
const plainLetters: Readonly<Record<string, string>> = { ł: 'l', ø: 'o', ß: 'ss', ı: 'i', đ: 'd', æ: 'ae', œ: 'oe' };

/** `X-Api-Key`, `apiKey` and `api_key` alike, and `Contraseña` as `contrasena`: letters of any script without their marks. */
export function normalized(name: string): string {
  const lower = name.toLowerCase();
  if (isAscii(lower)) return lower.replaceAll(/[^a-z\d]/g, '');
  return lower
    .normalize('NFKD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .replaceAll(/[łøßıđæœ]/g, (letter) => plainLetters[letter] ?? letter);
}

/** Words of other languages that no other word contains. */
const foreignWords: readonly (readonly [SecretKind, string])[] = [
  [
    'password',
    'passwort kennwort zugangscode motdepasse contraseña contrasenia contrasenya palabradepaso palavrapasse paroladordine wachtwoord ' +
      'toegangscode hasło heslo jelszó salasana lösenord adgangskode passord kodeord пароль пароля lozinka şifreniz kullanıcışifresi ' +
      '密码 密碼 口令 暗証番号 パスワード 비밀번호 كلمةالمرور كلمةالسر סיסמה पासवर्ड รหัสผ่าน mậtkhẩu katasandi κωδικόςπρόσβασης',
  ],
  [
    'api_key',
    'zugangsschlüssel zugriffsschlüssel apischlüssel claveapi clavedeapi chaveapi chavedeapi cléapi clédapi chiaveapi kluczapi ключapi ' +
      'apiключ apiキー api密钥 api密鑰 privaterschlüssel claveprivada chaveprivada cléprivée chiaveprivata',
  ],
  [
    'secret',
    'geheimnis segredo clavesecreta llavesecreta chavesecreta clésecrète chiavesegreta секретный секрет シークレット 秘密鍵 密钥 密鑰 비밀키 gizlianahtar',
  ],
  ['token', 'токен 令牌 トークン 토큰 zugangsdaten'],
  [
    'otp',
    'codigodeverificacion codigodeseguridad codedeverification bestätigungscode einmalpasswort кодподтверждения 验证码 驗證碼 確認コード 인증번호',
  ],
  ['card', 'kartennummer numerodetarjeta numerodecarte numerodocartao номеркарты 卡号 カード番号 카드번호'],
  ['phone', 'telefon teléfono telefone телефон 电话 電話番号 전화번호 puhelin'],
  ['cookie', 'sitzungskennung sitzungsid iddesesion idsesion idsessao'],
];
const byForeignWord = foreignWords.flatMap(([kind, words]) => words.split(' ').map((word) => [kind, normalized(word)] as const));

/** Words that stand in others, as `senha` in `desenhar`: they count where they are a whole part of a name, as in `nova_senha`. */
const foreignParts = new Map(
  (
    [
      ['password', 'senha clave mdp parola şifre şifresi parole 암호 пин'],
      ['secret', 'geheim secreto segreto sekret'],
      ['token', 'jeton żeton'],
    ] as const
  ).flatMap(([kind, words]) => words.split(' ').map((word) => [normalized(word), kind] as const)),
);
/** `palabra_clave` is a keyword. */
const harmlessParts = /^(?:palabras?|palavras?|parol[ae]|keyword)$/;

function kindOfParts(name: string): SecretKind | null {
  const parts = name
    .replaceAll(/(\p{Ll})(?=\p{Lu})/gu, '$1 ')
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .map(normalized);
  const at = parts.findIndex((part) => foreignParts.has(part));
  if (at < 0 || (at > 0 && harmlessParts.test(parts[at - 1] ?? '')) || parts[at + 1] === 'chiave') return null;
  return foreignParts.get(parts[at] ?? '') ?? null;
}

const kindCacheMax = 20_000;
const kindCache = new Map<string, SecretKind | null>();
/** A longer name is a path, such as that of a nested form: what it names stands at its end, or at its beginning. */
const nameCharsMax = 100;
/** Longer ones are not remembered. */
const cachedCharsMax = 200;

/** The kind of secret that a name states, in any of its spellings and in the languages of the tables above; else null. */
export function kindOfName(name: string): SecretKind | null {
  const cached = kindCache.get(name);
  if (cached !== undefined) return cached;
  const isLong = name.length > nameCharsMax;
  const kind = isLong ? (kindOf(name.slice(-nameCharsMax)) ?? kindOf(name.slice(0, nameCharsMax))) : kindOf(name);
  if (name.length > cachedCharsMax) return kind;
  if (kindCache.size >= kindCacheMax) kindCache.clear();
  kindCache.set(name, kind);
  return kind;
}

function kindOf(name: string): SecretKind | null {
  const compact = normalized(name);
  if (harmless.some((pattern) => pattern.test(compact))) return null;
  const kind = byName.find(([, pattern]) => pattern.test(compact))?.[0] ?? byForeignWord.find(([, word]) => compact.includes(word))?.[0];
  return kind ?? kindOfParts(name);
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
  if (kind === 'otp' && value.length <= 12) return /^[A-Za-z\d -]{3,12}$/.test(value) && /\d/.test(value);
  if (kind === 'card') return value.replaceAll(/\D/g, '').length >= 12;
  if (kind === 'iban') return value.length >= 8 && /\d{4}/.test(value);
  if (kind === 'webhook') return value.includes('://') || (value.length >= 16 && /\d/.test(value));
  if (value.includes('://') || value.startsWith('/')) return false;
  if (value.length < 6) return false;
  if (/\s/.test(value.trim())) return phraseKinds.has(kind) && phrase.test(value.trim());
  return !isWords(value);
}

const phraseKinds = new Set<SecretKind>(['secret', 'api_key', 'totp_seed', 'token']);
/** Words without punctuation where a secret is due, or groups of letters and digits; no sentence, and no time. */
const phrase = /^(?!\d{1,4}[-/.:]|[A-Z][a-z]+ )(?=.{12})(?:[a-z\d]+(?: [a-z\d]+){2,24}|[A-Z\d]+(?: [A-Z\d]+){2,24})$/;

/** Whether a value has what words lack: for values that are named from afar, as by the head of a column. */
export const isStrong = (value: string): boolean => value.length >= 6 && !/\s/.test(value) && /\d|[^\w\s.,:;!?-]/.test(value);

const scheme = /^(?:bearer|basic|token|jwt|apikey|api-key|oauth|ssws|geniekey|dpop|negotiate|digest|psk|hmac|key)\b[ :=]{1,3}/i;
const anyScheme = /^[a-z][a-z\d-]{1,20}:? {1,3}(?=\S+$)/i;

/** How many characters of a value are the scheme before a credential, as in `Bearer x`; of one named as a credential, any word. */
export function schemeCharsOf(value: string, kind: SecretKind | null): number {
  const match = scheme.exec(value) ?? (kind === null ? null : anyScheme.exec(value));
  return match && !/\s/.test(value.slice(match[0].length).trim()) ? match[0].length : 0;
}
