/** Verifies login tokens: signed by the provider, for this audience, not expired, and an access token. */
import { OwnerId, ServiceError } from '@berth/contract';
import { errors, jwtVerify, type JSONWebKeySet, type JWTHeaderParameters, type JWTPayload, type JWTVerifyGetKey } from 'jose';

/** Signature algorithms of login tokens: asymmetric ones only, never `none`. */
export const loginAlgorithms: readonly string[] = ['RS256', 'PS256', 'ES256', 'EdDSA'];

interface TokenRules {
  /** Required in `aud`. */
  audience: string;
  /** Name of the claim with the organisation. */
  orgClaim: string;
  /** Accepted algorithms, each one of {@link loginAlgorithms}. */
  algorithms: readonly string[];
}

/** A remote identity provider. */
export interface LoginConfig extends TokenRules {
  /** Required in `iss`; base URL of the discovery document. */
  issuer: string;
  /** null: `jwks_uri` of the discovery document. */
  jwksUrl: string | null;
}

/** An issuer in this process, whose keys need not be fetched. */
export interface LocalLogin extends TokenRules {
  isIssuer(issuer: string): boolean;
  keys: JSONWebKeySet;
}

export interface TokenCheck extends TokenRules {
  isIssuer(issuer: string): boolean;
  findKey: JWTVerifyGetKey;
}

interface Identity {
  org: string;
  subject: string;
}

const tokenLengthMax = 8192;
const subjectLengthMax = 255;
const clockToleranceSeconds = 30;

const accessTypes = new Set(['jwt', 'at+jwt']);
/** Claims of ID and logout tokens, which must not grant access. */
const foreignClaims = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events'];
/** Values of the claims `token_use` and `typ` that must not grant access, for providers that set no `typ` header. */
const foreignUses = new Set(['id', 'refresh', 'logout']);

/** @throws ServiceError invalid_login_token, or what `findKey` throws */
export async function verifyLogin(token: string, check: TokenCheck, now: Date): Promise<Identity> {
  if (token.length > tokenLengthMax) throw invalid('it is too long');
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) throw invalid(token.startsWith('brt_') ? 'it is an API key' : 'it is not a signed JWT');
  const { payload, protectedHeader } = await verify(token, check, now);
  if (typeof payload.iss !== 'string' || !check.isIssuer(payload.iss)) throw invalid('it has another issuer');
  if (!isForAccess(protectedHeader, payload)) throw invalid('it is not an access token');
  return identityOf(payload, check.orgClaim);
}

async function verify(
  token: string,
  { audience, algorithms, findKey }: TokenCheck,
  now: Date,
): Promise<{ payload: JWTPayload; protectedHeader: JWTHeaderParameters }> {
  try {
    return await jwtVerify(token, findKey, {
      algorithms: [...algorithms],
      audience,
      currentDate: now,
      clockTolerance: clockToleranceSeconds,
      requiredClaims: ['iss', 'aud', 'exp', 'sub'],
    });
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw invalid(reasonOf(error), error);
  }
}

function isForAccess({ typ }: JWTHeaderParameters, payload: JWTPayload): boolean {
  const uses = [payload['token_use'], payload['typ']];
  return (
    accessTypes.has(wordOf(typ ?? 'jwt').replace(/^application\//, '')) &&
    !uses.some((use) => foreignUses.has(wordOf(use))) &&
    !foreignClaims.some((name) => Object.hasOwn(payload, name))
  );
}

/** The claims of a verified token may still have any type. */
const wordOf = (value: unknown): string => (typeof value === 'string' ? value.toLowerCase() : '');

function identityOf(payload: JWTPayload, orgClaim: string): Identity {
  const org = OwnerId.safeParse(Object.hasOwn(payload, orgClaim) ? payload[orgClaim] : undefined);
  if (!org.success)
    throw invalid(
      `it names no organisation: the claim \`${orgClaim}\` is missing or invalid. Let the provider add it, or let the operator ` +
        'name another claim with BERTH_OIDC_ORG_CLAIM; `sub` works, and makes every user an owner',
    );
  const subject = typeof payload.sub === 'string' ? printable(payload.sub) : '';
  if (subject === '') throw invalid('it has no subject');
  return { org: org.data, subject };
}

/** Shown to operators: removes control characters, line breaks and bidirectional overrides. */
function printable(text: string): string {
  const visible = text.toWellFormed().replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '');
  return [...visible.trim()].slice(0, subjectLengthMax).join('');
}

const claimReasons: Readonly<Record<string, string>> = {
  iss: 'it has no issuer',
  aud: 'it is for another audience',
  exp: 'it has no expiry time',
  nbf: 'it is not valid yet',
  sub: 'it has no subject',
};

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JWTClaimValidationFailed) return claimReasons[error.claim] ?? 'one of its claims is malformed';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its signature algorithm is not accepted';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'it is not signed with a key of the identity provider';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is invalid';
  return error instanceof errors.JOSEError ? 'it is malformed' : 'its signature cannot be checked';
}

const invalid = (reason: string, cause?: unknown): ServiceError =>
  new ServiceError('invalid_login_token', `This login token is not valid: ${reason}.`, { cause });
