/** Secrets in URLs: user information, path segments, query and fragment. */
import type { SecretKind } from '../kinds.ts';
import { decoded, shifted, type ReportHit } from './hit.ts';
import { isPlausible, kindOfName, normalized, schemeCharsOf } from '../names.ts';
import { isOpaque, isTokenLike, readBase64 } from '../opaque.ts';

/** Parameters of paging and of content: random text in them is no credential. */
const harmlessValue = /cursor|codechallenge|etag|hash|integrity|checksum|digest|continuation|revision|fingerprint/;
const harmlessStart = /^(?:next|prev|page|sha|ver|build)/;
const harmlessWhole = /^(?:after|before|v|ids?|[a-z]{1,40}ids?)$/;

export function isHarmlessName(name: string): boolean {
  const compact = normalized(name);
  return harmlessValue.test(compact) || harmlessStart.test(compact) || harmlessWhole.test(compact);
}

interface Pair {
  /** Empty where a value stands alone, as in `?x`. */
  name: string;
  nameStart: number;
  value: string;
  /** Position of the encoded value in the text. */
  start: number;
  end: number;
}

/** A longer text before an equals sign is no name. */
const nameCharsMax = 2000;

/** `a=1&b=2` with where each value stands. One at a time, because a body has millions. */
function* readPairs(text: string): Generator<Pair> {
  let from = 0;
  for (const { index } of text.matchAll(pairSeparator)) {
    if (index > from) yield readPair(text, from, index);
    from = index + 1;
  }
  if (text.length > from) yield readPair(text, from, text.length);
}

const pairSeparator = /[&;]/g;

function readPair(text: string, from: number, to: number): Pair {
  const nameChars = text.slice(from, Math.min(to, from + nameCharsMax)).indexOf('=');
  // The pair has no name, or a name alone.
  if (nameChars < 0) return { name: '', nameStart: from, value: decoded(text.slice(from, to), true), start: from, end: to };
  const equals = from + nameChars;
  return {
    name: decoded(text.slice(from, equals), true),
    nameStart: from,
    value: decoded(text.slice(equals + 1, to), true),
    start: equals + 1,
    end: to,
  };
}

/** Parameters of a request of OAuth stand among its first ones. */
const oauthPairsMax = 100;
const oauthNames = new Set(['state', 'clientid', 'redirecturi', 'granttype', 'responsetype', 'scope', 'sessionstate', 'codeverifier']);

function mayBeOauth(text: string): boolean {
  let pairs = 0;
  for (const { name } of readPairs(text)) {
    if (oauthNames.has(normalized(name))) return true;
    if ((pairs += 1) >= oauthPairsMax) return false;
  }
  return false;
}

/** Secrets of parameters. `scanValue` reads further into a value that is none. */
export function scanPairs(text: string, report: ReportHit, scanValue: (value: string, pair: Pair) => void): void {
  const isOauth = mayBeOauth(text);
  for (const pair of readPairs(text)) {
    const { name, value, start, end } = pair;
    if (name.length >= 20) scanName(text, pair, report);
    const kind = kindOfPair(pair, isOauth);
    const skip = kind ? schemeCharsOf(value, null) : 0;
    if (kind)
      report({ start: text.startsWith(value, start) ? start + skip : start, end, value: value.slice(skip), kind, name, by: 'name' });
    else scanValue(value, pair);
  }
}

/** Parts of the name of a parameter, as in `filter[a]`. */
const namePart = /[^\s[\].:$]{20,}/g;

/** The name of a parameter, or a part of it, that was drawn at random. */
function scanName(text: string, { name, nameStart, start }: Pair, report: ReportHit): void {
  for (const [part] of name.matchAll(namePart)) {
    const at = text.slice(nameStart, start).indexOf(part);
    const range = at < 0 ? { start: nameStart, end: start - 1 } : { start: nameStart + at, end: nameStart + at + part.length };
    if (isOpaque(part)) report({ ...range, value: part, kind: 'token', name: null, by: 'form' });
  }
}

function kindOfPair({ name, value }: Pair, isOauth: boolean): SecretKind | null {
  const kind = kindOfName(name);
  if (kind && isPlausible(kind, value.slice(schemeCharsOf(value, null)))) return kind;
  const compact = normalized(name);
  if (compact === 'code' && (isTokenLike(value) || (isOauth && value.length >= 10 && /\d|[a-z][A-Z]/.test(value)))) return 'oauth_code';
  if ((compact === 'state' || compact === 'nonce') && value.length >= 8 && /\d/.test(value) && !value.includes('/')) return 'csrf_token';
  if (compact === 'key' && isTokenLike(value)) return 'api_key';
  if (isHarmlessName(name)) return null;
  return isOpaque(value) ? 'token' : null;
}

/** Words of paths behind which a token stands. */
const tokenWords =
  /^(?:magic(?:-?links?)?|verify(?:-?e?mail)?|confirm(?:ation|-?e?mail)?|reset(?:-?password)?|password-?reset|invite|invitation|unsubscribe|activate|activation|recover|recovery|passwordless|tokens?|t|hooks?|webhooks?|share|shared|secret|one-?time|otp|login|signin|sign-in|sso|session-?token|auth|access|download-?token)$/;

/** The path's segments: random ones, and what stands behind a word such as `magic`. */
function scanPath(path: string, report: ReportHit): void {
  let start = 0;
  let before = '';
  for (const segment of path.split('/')) {
    const value = decoded(segment, false);
    const isHidden = tokenWords.test(before) ? isTokenLike(value) : isOpaque(value) && !/[.][a-z\d]{2,5}$/i.test(value);
    if (isHidden)
      report({
        start,
        end: start + segment.length,
        value,
        kind: hookWords.test(before) ? 'webhook' : 'token',
        name: before || null,
        by: 'form',
      });
    else if (segment.includes('='))
      scanPairs(segment.slice(segment.indexOf(';') + 1), shifted(report, start + segment.indexOf(';') + 1), () => {});
    before = value.toLowerCase();
    start += segment.length + 1;
  }
}

const hookWords = /^(?:web)?hooks?$/;

export interface UrlPart {
  part: 'userinfo' | 'path' | 'query' | 'fragment';
}

/**
 * Secrets of an absolute or relative URL. `scanValue` reads further into values of parameters.
 */
export function scanUrl(url: string, report: (part: UrlPart['part']) => ReportHit, scanValue: ScanValue): void {
  const hashAt = url.indexOf('#');
  const beforeHash = hashAt < 0 ? url : url.slice(0, hashAt);
  const queryAt = beforeHash.indexOf('?');
  const hierarchy = queryAt < 0 ? beforeHash : beforeHash.slice(0, queryAt);
  const schemeAt = hierarchy.indexOf('://');
  const authorityAt = schemeAt < 0 ? 0 : schemeAt + 3;
  const slash = schemeAt < 0 ? 0 : hierarchy.indexOf('/', authorityAt);
  const pathAt = slash < 0 ? hierarchy.length : slash;
  if (schemeAt >= 0) scanUserinfo(hierarchy.slice(authorityAt, pathAt), shifted(report('userinfo'), authorityAt));
  if (hierarchy.startsWith('data:') || hierarchy.startsWith('blob:')) return;
  scanPath(hierarchy.slice(pathAt), shifted(report('path'), pathAt));
  if (queryAt >= 0) scanPairs(beforeHash.slice(queryAt + 1), shifted(report('query'), queryAt + 1), movedBy(queryAt + 1, scanValue));
  if (hashAt >= 0) scanFragment(url.slice(hashAt + 1), shifted(report('fragment'), hashAt + 1), movedBy(hashAt + 1, scanValue));
}

/** Reads further into a decoded value, which stands there encoded. */
type ScanValue = (value: string, range: { start: number; end: number }) => void;

const movedBy =
  (offset: number, scanValue: ScanValue): ScanValue =>
  (value, { start, end }) =>
    scanValue(value, { start: start + offset, end: end + offset });

function scanUserinfo(authority: string, report: ReportHit): void {
  const at = authority.lastIndexOf('@');
  const colon = authority.indexOf(':');
  if (at <= 0) return;
  const userEnd = colon >= 0 && colon < at ? colon : at;
  const user = decoded(authority.slice(0, userEnd), false);
  if (userEnd === at) report({ start: 0, end: at, value: user, kind: 'token', name: null, by: 'form' });
  else {
    report({ start: 0, end: userEnd, value: user, kind: 'username', name: null, by: 'form' });
    report({
      start: userEnd + 1,
      end: at,
      value: decoded(authority.slice(userEnd + 1, at), false),
      kind: 'password',
      name: null,
      by: 'form',
    });
  }
}

function scanFragment(fragment: string, report: ReportHit, scanValue: ScanValue): void {
  const queryAt = fragment.indexOf('?');
  const pairsAt = queryAt < 0 ? 0 : queryAt + 1;
  const isQuery = fragment.includes('=', pairsAt) && !/^[\w+/-]+={1,2}$/.test(fragment);
  if (isQuery) scanPairs(fragment.slice(pairsAt), shifted(report, pairsAt), movedBy(pairsAt, scanValue));
  const route = isQuery ? fragment.slice(0, queryAt < 0 ? 0 : queryAt) : fragment;
  if (route.includes('/')) scanPath(route, report);
  else if (isOpaque(route)) report({ start: 0, end: route.length, value: route, kind: 'token', name: null, by: 'form' });
}

/** The text inside of base64 that holds JSON, else null. */
export function jsonInBase64(value: string): string | null {
  const text = value.startsWith('ey') || value.startsWith('W') ? readBase64(value) : null;
  return text !== null && /^\s*[[{]/.test(text) ? text : null;
}
