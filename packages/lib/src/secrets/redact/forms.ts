/** Secrets that their form gives away, under any name. Each search is linear. */
import type { SecretKind } from '../kinds.ts';
import type { ReportHit } from './hit.ts';
import { charClass, eachRun, matchesInRuns, type CharClass } from './runs.ts';

const wordCharsMin = 16;
const wordChars = charClass(/[\w.-]/);

/** Prefixes that issuers give their tokens. */
const prefix =
  /(?<![A-Za-z\d])(?:brt_(?:live|connect|admin)_|[srp]k_(?:live|test)_|whsec_|gh[pousr]_|github_pat_|xox[abceoprs]-|xapp-|A[KS]IA(?=[A-Z\d]{16})|AIza|ya29[.]|GOCSPX-|glpat-|npm_|hf_|sk-|SG[.]|shp(?:at|ca|pa|ss)_|do[op]_v1_|sq0[a-z]{3}-|pypi-|EAA(?=[A-Z])|AGE-SECRET-KEY-1|PMAK-|dckr_pat_|lin_api_|nvapi-|gsk_|r8_|pat_)/;
/** Prefixes that words have, too. */
const wordPrefix = /^(?:sk-|hf_|r8_|pat_|npm_)/;
const afterPrefixMin = 12;
const paseto = /^v[1-4][.](?:local|public)[.]/;
const segmentCharsMin = 8;
const kindsByPrefix: readonly (readonly [string, SecretKind])[] = [
  ['whsec_', 'webhook'],
  ['ya29', 'token'],
  ['gh', 'token'],
  ['xox', 'token'],
];

function scanToken(word: string, index: number, report: ReportHit): void {
  const jwt = jwtIn(word);
  const value = trimmed(jwt ?? prefixedIn(word) ?? (paseto.test(word) ? word : ''));
  if (value === '') return;
  const start = index + word.indexOf(value);
  const kind = jwt === null ? (kindsByPrefix.find(([begin]) => value.startsWith(begin))?.[1] ?? 'api_key') : 'jwt';
  report({ start, end: start + value.length, value, kind, name: null, by: 'form' });
}

/** Finds a JWT: three segments of base64, or the five of an encrypted token. */
function jwtIn(word: string): string | null {
  const start = word.indexOf('eyJ');
  if (start < 0) return null;
  const segments = word.slice(start).split('.', 5);
  if (segments.length < 3 || segments.slice(0, 2).some((segment) => segment.length < segmentCharsMin)) return null;
  return segments.slice(0, segments.length === 5 ? 5 : 3).join('.');
}

function prefixedIn(word: string): string | null {
  const match = prefix.exec(word);
  if (!match) return null;
  const value = word.slice(match.index);
  const random = value.slice(match[0].length);
  const isRandom = !wordPrefix.test(value) || (/\d/.test(random) && /[A-Z]/.test(random));
  return isRandom && value.length - match[0].length >= (match[0].endsWith('IA') ? 0 : afterPrefixMin) ? value : null;
}

function trimmed(value: string): string {
  let end = value.length;
  while (end > 0 && /[.-]/.test(value[end - 1] ?? '')) end -= 1;
  return value.slice(0, end);
}

const pemStart = '-----BEGIN ';
const pemCharsMax = 20_000;

/** Private keys in PEM, also where their line feeds are escaped. */
function scanPem(text: string, report: ReportHit): void {
  for (let start = text.indexOf(pemStart); start >= 0; start = text.indexOf(pemStart, start + pemStart.length)) {
    const label = text.slice(start, start + 64);
    if (!label.includes('PRIVATE KEY')) continue;
    const endAt = text.indexOf('-----END ', start);
    const close = endAt < 0 ? -1 : text.indexOf('-----', endAt + 9);
    const end = Math.min(close < 0 ? text.length : close + 5, start + pemCharsMax);
    const value = text
      .slice(start, end)
      .replaceAll(String.raw`\r`, '')
      .replaceAll(String.raw`\n`, '\n');
    report({ start, end, value, kind: 'private_key', name: null, by: 'form' });
    start = end - pemStart.length;
  }
}

const isLocal = (code: number): boolean =>
  (code >= 48 && code <= 57) ||
  (code >= 65 && code <= 90) ||
  (code >= 97 && code <= 122) ||
  code === 46 ||
  code === 95 ||
  code === 43 ||
  code === 45;
const isDomain = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 46 || code === 45;
const fileEndings = new Set(
  'png jpg jpeg webp gif svg avif ico css js mjs cjs ts tsx jsx json html map woff woff2 ttf mp4 webm pdf vue'.split(' '),
);

/** E-mail addresses, also with a percent-encoded at sign. */
function scanEmails(text: string, report: ReportHit): void {
  scanEmailsAt(text, '@', report);
  if (text.includes('%40')) scanEmailsAt(text, '%40', report);
}

function scanEmailsAt(text: string, at: string, report: ReportHit): void {
  let done = 0;
  for (let i = text.indexOf(at); i >= 0; i = text.indexOf(at, i + at.length)) {
    let start = i;
    while (start > done && i - start < 64 && isLocal(text.charCodeAt(start - 1))) start -= 1;
    let end = i + at.length;
    while (end < text.length && end - i < 250 && isDomain(text.charCodeAt(end))) end += 1;
    while (end > i && /[.-]/.test(text[end - 1] ?? '')) end -= 1;
    const domain = text.slice(i + at.length, end);
    const ending = domain.slice(domain.lastIndexOf('.') + 1).toLowerCase();
    done = i + at.length;
    if (start === i || !/^[a-z]{2,24}$/.test(ending) || !domain.includes('.') || fileEndings.has(ending)) continue;
    while (start < i && /[.+-]/.test(text[start] ?? '')) start += 1;
    const isEscaped = text[start - 1] === '\\' && /[nrt]/.test(text[start] ?? '');
    if (isEscaped) start += 1;
    if (start >= i) continue;
    report({ start, end, value: `${text.slice(start, i)}@${domain}`, kind: 'email', name: null, by: 'form' });
    done = end;
  }
}

const cardNumber = /(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])/g;
const cardChars = charClass(/[\d -]/);
const cardRanges: readonly (readonly [RegExp, number])[] = [
  [/^4/, 16],
  [/^(?:5[1-5]|2[2-7])/, 16],
  [/^3[47]/, 15],
  [/^6(?:011|4[4-9]|5)/, 16],
  [/^35/, 16],
  [/^3(?:0[0-5]|[68])/, 14],
];

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48;
    sum += i % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2;
  }
  return sum % 10 === 0;
}

function scanCards(text: string, report: ReportHit): void {
  matchesInRuns(text, { inClass: cardChars, min: 13, pattern: cardNumber }, (value, start) => {
    const digits = value.replaceAll(/\D/g, '');
    if (!cardRanges.some(([range, length]) => digits.length === length && range.test(digits)) || !passesLuhn(digits)) return;
    report({ start, end: start + value.length, value, kind: 'card', name: null, by: 'form' });
  });
}

const iban = /(?<!\w)[A-Z]{2}\d{2}(?:[ ]?[A-Z\d]{4}){2,7}(?:[ ]?[A-Z\d]{1,3})?(?!\w)/g;
const ibanChars = charClass(/[A-Z\d ]/);

function scanIbans(text: string, report: ReportHit): void {
  matchesInRuns(text, { inClass: ibanChars, min: 12, pattern: iban }, (value, start) => {
    const compact = value.replaceAll(' ', '');
    const digits = (compact.slice(4) + compact.slice(0, 4)).replaceAll(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
    if (BigInt(digits) % 97n !== 1n) return;
    report({ start, end: start + value.length, value, kind: 'iban', name: null, by: 'form' });
  });
}

const phone = /(?<![\w.+=-])(?:\+|%2[Bb]|tel:)\d(?:[ ().-]{0,2}\d){7,14}(?![\w-])|(?<![\w.-])\(\d{3}\) ?\d{3}-\d{4}(?![\w-])/g;
const phoneMarks = ['+', '%2B', '%2b', 'tel:', '('];

function scanPhones(text: string, report: ReportHit): void {
  if (!phoneMarks.some((mark) => text.includes(mark))) return;
  for (const match of text.matchAll(phone)) {
    const skip = match[0].startsWith('tel:') ? 4 : 0;
    const value = match[0].slice(skip).replace(/^%2b/i, '+');
    report({ start: match.index + skip, end: match.index + match[0].length, value, kind: 'phone', name: null, by: 'form' });
  }
}

const base32 = /^(?=.*\d.*\d)(?=.*[A-Z])[A-Z2-7]{16,64}$/;
const distinctCharsMin = 7;

/** Seeds of one-time passwords stand as base32 in pages that set up an authenticator. */
function scanSeed(text: string, value: string, start: number, report: ReportHit): void {
  const end = start + value.length;
  if (value.length > 64 || !base32.test(value) || new Set(value).size < distinctCharsMin) return;
  if (/[+/=]/.test(text[start - 1] ?? '') || /[+/=]/.test(text[end] ?? '')) return;
  report({ start, end, value, kind: 'totp_seed', name: null, by: 'form' });
}

const hooks =
  /(?:hooks[.]slack[.]com\/(?:services|workflows|triggers)\/|discord(?:app)?[.]com\/api\/webhooks\/|hooks[.]zapier[.]com\/hooks\/catch\/|webhook[.]site\/|webhook[.]office[.]com\/webhookb2\/|chat[.]googleapis[.]com\/v1\/spaces\/)([\w/@?&=%.-]{8,400})/g;

function scanWebhooks(text: string, report: ReportHit): void {
  if (!text.includes('hook') && !text.includes('chat.googleapis')) return;
  for (const match of text.matchAll(hooks)) {
    const [whole, value = ''] = match;
    const start = match.index + whole.length - value.length;
    report({ start, end: start + value.length, value, kind: 'webhook', name: null, by: 'form' });
  }
}

/** `Bearer x` and its like, under any name and in any sentence. */
const scheme = /(?<![\w-])(?:bearer|basic|token|jwt|apikey)(?:[ \t:]|%20|u0020)/gi;
/** `curl -u user:password`. */
const userOption = /\s(?:-u|--user)[ =]/g;
/** Matches `oauth:x`, a password as of chat servers. */
const oauthPass = /\boauth:/g;
const blank = charClass(/[ \t:]/);
const credentialChars = charClass(/[\w.~+/=-]/);
const quoteChars = charClass(/["'=]/);
const argumentChars = charClass(/[!#-&(-~]/);
const blanksMax = 4;

/** End of the run of characters of a class that begins at `from`. */
function endOfRun(text: string, from: number, inClass: CharClass, max: number): number {
  let end = from;
  while (end < text.length && end - from < max && inClass[text.charCodeAt(end)] === 1) end += 1;
  return end;
}

/** Ends of runs of the characters of a credential. A run is read once, however many of its places are asked about. */
function credentialEnds(text: string): (start: number) => number {
  let last = { start: 0, end: -1 };
  return (start) => {
    if (start < last.start || start > last.end) last = { start, end: endOfRun(text, start, credentialChars, Infinity) };
    return last.end;
  };
}

/** Reports what follows a scheme if it has letters and digits: a word after `token` has not. */
function scanCredentials(text: string, report: ReportHit): void {
  const endAfter = credentialEnds(text);
  for (const { 0: whole, index } of text.matchAll(scheme)) {
    const start = endOfRun(text, index + whole.length, blank, blanksMax);
    const end = endAfter(start);
    const value = text.slice(start, end);
    const isBearer = /^bearer/i.test(whole);
    if (value.length < (isBearer ? 8 : 12) || !/\d/.test(value) || !/[a-z]/i.test(value) || /^\d{4}-\d\d-\d\d/.test(value)) continue;
    const isBasic = /^basic/i.test(whole);
    report({ start, end, value, kind: isBasic ? 'password' : 'token', name: null, by: 'form' });
    if (isBasic) reportBasic(value, start, report);
  }
  if (text.includes('oauth:')) for (const { 0: whole, index } of text.matchAll(oauthPass)) scanOauth(text, index + whole.length, report);
  if (text.includes('-u')) for (const { 0: whole, index } of text.matchAll(userOption)) scanUser(text, index + whole.length, report);
}

function scanOauth(text: string, start: number, report: ReportHit): void {
  const end = endOfRun(text, start, credentialChars, Infinity);
  if (end - start >= wordCharsMin) report({ start, end, value: text.slice(start, end), kind: 'token', name: null, by: 'form' });
}

function scanUser(text: string, from: number, report: ReportHit): void {
  const user = endOfRun(text, endOfRun(text, from, blank, blanksMax), quoteChars, 1);
  const end = endOfRun(text, user, argumentChars, userCharsMax);
  const start = user + text.slice(user, end).indexOf(':') + 1;
  if (start > user + 1 && end - start >= 4) report({ start, end, value: text.slice(start, end), kind: 'password', name: null, by: 'form' });
}

const userCharsMax = 400;

/** User and password of basic authentication are secrets by themselves, too. */
export function reportBasic(credentials: string, at: number, report: ReportHit): void {
  const text = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) return;
  const range = { start: at, end: at, name: 'authorization', by: 'name' as const };
  if (colon > 0) report({ ...range, value: text.slice(0, colon), kind: 'username' });
  if (colon + 1 < text.length) report({ ...range, value: text.slice(colon + 1), kind: 'password' });
}

/** Reports secrets of all forms. */
export function scanForms(text: string, report: ReportHit): void {
  if (text.length < 6) return;
  eachRun(text, wordChars, wordCharsMin, (start, end) => {
    const word = text.slice(start, end);
    scanToken(word, start, report);
    scanSeed(text, word, start, report);
  });
  scanPem(text, report);
  scanEmails(text, report);
  scanCards(text, report);
  scanIbans(text, report);
  scanPhones(text, report);
  scanWebhooks(text, report);
  scanCredentials(text, report);
}
