import type { JwtInfo } from '../secret.ts';

const segmentCharsMax = 16_384;
const claimsMax = 50;

/** What a token states about itself by the names of its claims; null for what is no JWT. */
export function readJwt(value: string): JwtInfo | null {
  const [head = '', body = '', signature] = value.split('.', 3);
  if (signature === undefined || !head.startsWith('ey')) return null;
  const header = readSegment(head);
  if (!header) return null;
  const claims = readSegment(body) ?? new Map<string, unknown>();
  const audience = claims.get('aud');
  return {
    alg: textOf(header.get('alg')),
    iss: textOf(claims.get('iss')),
    aud: (Array.isArray(audience) ? audience : [audience]).filter((one) => typeof one === 'string').slice(0, 10),
    claimNames: [...claims.keys()].slice(0, claimsMax),
    issuedAt: numberOf(claims.get('iat')),
    expiresAt: numberOf(claims.get('exp')),
  };
}

function readSegment(segment: string): Map<string, unknown> | null {
  if (segment.length > segmentCharsMax) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(segment, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? new Map(Object.entries(value)) : null;
  } catch {
    return null;
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value.slice(0, 300) : null);
const numberOf = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null);
