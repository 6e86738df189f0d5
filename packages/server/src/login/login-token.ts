/** What makes a token one that somebody may act with: signed by the provider, for us, now, and meant for access. */
import { OwnerId, ServiceError } from '@berth/contract';
import { errors, jwtVerify, type JWTHeaderParameters, type JWTPayload, type JWTVerifyGetKey } from 'jose';

export interface TokenCheck {
  isIssuer(issuer: string): boolean;
  audience: string;
  orgClaim: string;
  algorithms: readonly string[];
  findKey: JWTVerifyGetKey;
}

/** Who acts, and for whom. */
export interface Identity {
  org: string;
  subject: string;
}

const tokenLengthMax = 8192;
const subjectLengthMax = 255;
const clockToleranceSeconds = 30;

const accessTypes = new Set(['jwt', 'at+jwt']);
/** What only tokens have that tell a client who signed in or out, and that open nothing. */
const foreignClaims = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events'];
/** What providers without a `typ` header call such a token inside it. */
const foreignUses = new Set(['id', 'refresh', 'logout']);

/** Throws invalid_login_token for everything else, and what `findKey` throws. */
export async function verifyLogin(token: string, check: TokenCheck, now: Date): Promise<Identity> {
  if (token.length > tokenLengthMax) throw invalid('it is too long');
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) throw invalid(token.startsWith('brt_') ? 'it is an API key' : 'it is no signed JWT');
  const { payload, protectedHeader } = await verify(token, check, now);
  if (typeof payload.iss !== 'string' || !check.isIssuer(payload.iss)) throw invalid('it is of another issuer');
  if (!isForAccess(protectedHeader, payload)) throw invalid('it is no access token');
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

/** A verified token is the provider's, and still of whatever types it likes. */
const wordOf = (value: unknown): string => (typeof value === 'string' ? value.toLowerCase() : '');

function identityOf(payload: JWTPayload, orgClaim: string): Identity {
  const org = OwnerId.safeParse(Object.hasOwn(payload, orgClaim) ? payload[orgClaim] : undefined);
  if (!org.success) throw invalid(`it names no organisation: the claim \`${orgClaim}\` is missing, or is no name that can be kept`);
  const subject = typeof payload.sub === 'string' ? printable(payload.sub) : '';
  if (subject === '') throw invalid('it names nobody');
  return { org: org.data, subject };
}

/** It is shown to operators: nothing in it may break a line or turn its direction. */
function printable(text: string): string {
  const visible = text.toWellFormed().replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '');
  return [...visible.trim()].slice(0, subjectLengthMax).join('');
}

const claimReasons: Readonly<Record<string, string>> = {
  iss: 'it names no issuer',
  aud: 'it is for another audience',
  exp: 'it says no time at which it expires',
  nbf: 'it is not valid yet',
  sub: 'it names nobody',
};

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JWTClaimValidationFailed) return claimReasons[error.claim] ?? 'a claim of it is malformed';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'it is signed with an algorithm that is not taken';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'none of the identity provider’s keys has signed it';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong';
  return error instanceof errors.JOSEError ? 'it is malformed' : 'its signature cannot be checked';
}

const invalid = (reason: string, cause?: unknown): ServiceError =>
  new ServiceError('invalid_login_token', `This login token is not valid: ${reason}.`, { cause });
