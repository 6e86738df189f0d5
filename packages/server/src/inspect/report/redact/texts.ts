/** Secrets in texts of every kind: bodies, messages, documents, scripts, console lines. */
import { readAttributes } from './attributes.ts';
import { scanForms } from './forms.ts';
import { shifted, type ReportHit } from './hit.ts';
import { readJson, unescaped } from './json.ts';
import { isPlausible, kindOfName, normalized } from './names.ts';
import { isOpaque } from './opaque.ts';
import { isHarmlessName, jsonInBase64, scanPairs, scanUrl } from './urls.ts';

export type TextFormat = 'json' | 'form' | 'multipart' | 'html' | 'xml' | 'script' | 'style' | 'text';

/** Values nested in values, such as JSON in a string of JSON, are read to this depth. */
const nestingMax = 3;
const opaqueWordsCharsMax = 200_000;

export function scanText(text: string, format: TextFormat, report: ReportHit, nesting = 0): void {
  if (format === 'style') return;
  if (format !== 'form' && format !== 'multipart') scanForms(text, report);
  scanByFormat(text, format, report, nesting);
}

/** What the forms of secrets do not give away. */
function scanByFormat(text: string, format: TextFormat, report: ReportHit, nesting: number): void {
  if (format === 'json') return scanJsonText(text, report, nesting);
  if (format === 'form') return scanPairs(text, report, nested(text, report, nesting));
  if (format === 'multipart') return scanMultipart(text, report, nesting);
  scanUrls(text, report, nesting);
  scanAssignments(text, format === 'script', report);
  if (format === 'html') scanMarkup(text, report, nesting);
  if (format === 'xml') scanElements(text, report);
  if (format === 'text' && text.length <= opaqueWordsCharsMax) scanOpaqueWords(text, report);
}

/** What a text without a declared type holds. */
export function formatOf(text: string): TextFormat {
  const start = text.slice(0, 200).trimStart();
  if (/^[[{]/.test(start)) return 'json';
  if (start.startsWith('<')) return /^<!doctype html|^<html/i.test(start) ? 'html' : 'xml';
  return /^[\w.[\]%-]{1,80}=[^\s]*$/.test(text.slice(0, 4000)) ? 'form' : 'text';
}

interface Range {
  start: number;
  end: number;
}

/**
 * Reads further into a value that stands encoded in a text. Where decoding changed it, a hit covers what it is known
 * to cover: the whole encoded value. `isScanned`: forms were found in the text.
 */
function nested(text: string, report: ReportHit, nesting: number, isScanned = false): (value: string, range: Range) => void {
  return (value, { start, end }) => {
    if (nesting >= nestingMax || value.length < 6) return;
    const isVerbatim = value.length === end - start && text.startsWith(value, start);
    const inner: ReportHit = isVerbatim ? shifted(report, start) : (hit) => report({ ...hit, ...locate(text, { start, end }, hit.value) });
    scanValue(value, inner, nesting + 1, isScanned && isVerbatim);
  };
}

/** Where a value stands verbatim in an encoded one; an empty range where it does not. */
function locate(text: string, { start, end }: Range, value: string): Range {
  const at = text.slice(start, end).lastIndexOf(value);
  return at < 0 || value === '' ? { start, end: start } : { start: start + at, end: start + at + value.length };
}

/** One value: a URL, JSON, base64 of JSON, pairs, or text. */
function scanValue(value: string, report: ReportHit, nesting: number, isScanned: boolean): void {
  const json = jsonInBase64(value);
  if (json !== null) return scanBase64(value, json, report, nesting);
  if (!isScanned) scanForms(value, report);
  if (/^[[{]/.test(value)) return scanByFormat(value, 'json', report, nesting);
  if (/^(?:[a-z][a-z\d+.-]{0,20}:)?\/\/?[^\s]+$/i.test(value)) {
    return scanUrl(
      value,
      () => report,
      () => {},
    );
  }
  scanByFormat(value, formatOf(value) === 'html' ? 'html' : 'text', report, nesting);
}

/** Base64 of JSON is a secret as a whole if there is one in it, unlike a cursor. */
function scanBase64(value: string, json: string, report: ReportHit, nesting: number): void {
  let holdsSecret = false;
  scanText(
    json,
    'json',
    (hit) => {
      holdsSecret = true;
      report({ ...hit, start: 0, end: value.length });
    },
    nesting + 1,
  );
  if (holdsSecret) report({ start: 0, end: value.length, value, kind: 'token', name: null, by: 'form' });
}

/** What may hold more than itself: escapes, pairs, JSON, URLs with parameters, sentences that name a code. */
const compound = /[\\={%]|: ?\S|:\/\/| is /;
const timestamp = /^[\d:.TZ +-]+$/;
const compoundCharsMin = 6;
/** Values without a secret that come again are not read again. */
const quietCharsMax = 300;
const quietMax = 20_000;

function scanJsonText(text: string, report: ReportHit, nesting: number): void {
  const quiet = new Set<string>();
  let hits = 0;
  const counted: ReportHit = (hit) => {
    hits += 1;
    report(hit);
  };
  const scanNested = nested(text, counted, nesting, true);
  readJson(text, ({ name, start, end, isString }) => {
    if (end === start) return;
    if (!isString) return scanNumber(text, { name, start, end }, report);
    const raw = text.slice(start, end);
    const value = unescaped(raw);
    const kind = name === null ? null : kindOfName(name);
    if (kind && isPlausible(kind, value)) report({ start, end, value, kind, name, by: 'name' });
    else if (isOpaque(value) && !isHarmlessName(name ?? '') && !isContent(value))
      report({ start, end, value, kind: 'token', name, by: 'form' });
    else if (value.startsWith('ey') || (value.length >= compoundCharsMin && compound.test(raw) && !timestamp.test(value))) {
      if (quiet.has(raw)) return;
      const before = hits;
      scanNested(value, { start, end });
      if (hits === before && raw.length <= quietCharsMax && quiet.size < quietMax) quiet.add(raw);
    }
  });
}

/** Integrity values and embedded files are content. */
const isContent = (value: string): boolean => /^(?:sha\d{3}-|data:)/.test(value);

const numericKinds = new Set(['otp', 'password', 'card', 'phone']);
const numberDigitsMin = 3;

function scanNumber(text: string, { name, start, end }: Range & { name: string | null }, report: ReportHit): void {
  const value = text.slice(start, end);
  const kind = name === null ? null : kindOfName(name);
  if (kind && numericKinds.has(kind) && value.length >= numberDigitsMin && /^\d+$/.test(value))
    report({ start, end, value, kind, name, by: 'name' });
}

const partsMax = 2000;

/** Fields of a multipart body: each part has a name in its header. */
function scanMultipart(text: string, report: ReportHit, nesting: number): void {
  const boundary = /^--[^\r\n]{1,200}/.exec(text)?.[0];
  if (!boundary) return scanText(text, 'text', report, nesting);
  let start = 0;
  for (let parts = 0; parts < partsMax && start >= 0; parts += 1) {
    const next = text.indexOf(boundary, start + boundary.length);
    const end = next < 0 ? text.length : next;
    scanPart(text, { start: start + boundary.length, end }, report, nesting);
    start = next;
  }
}

function scanPart(text: string, { start, end }: Range, report: ReportHit, nesting: number): void {
  const headEnd = /\r?\n\r?\n/.exec(text.slice(start, Math.min(end, start + 4000)));
  if (!headEnd) return;
  const head = text.slice(start, start + headEnd.index);
  const from = start + headEnd.index + headEnd[0].length;
  const value = text.slice(from, end).replace(/\r?\n$/, '');
  const name = /\bname="([^"]{1,200})"/.exec(head)?.[1] ?? '';
  const kind = kindOfName(name);
  if (kind && isPlausible(kind, value)) report({ start: from, end: from + value.length, value, kind, name, by: 'name' });
  else scanText(value, formatOf(value), shifted(report, from), nesting + 1);
}

const urlCharsMax = 8192;
const urlEnd = /[\s"'<>`\\)}\]|]/g;

/** Absolute URLs in a text. */
function scanUrls(text: string, report: ReportHit, nesting: number): void {
  let done = 0;
  for (let mark = text.indexOf('://'); mark >= 0; mark = text.indexOf('://', Math.max(done, mark + 3))) {
    let start = mark;
    while (start > done && mark - start < 20 && /[a-z\d+.-]/i.test(text[start - 1] ?? '')) start -= 1;
    urlEnd.lastIndex = mark + 3;
    const end = Math.min(urlEnd.exec(text)?.index ?? text.length, mark + urlCharsMax);
    done = end;
    scanUrl(
      text.slice(start, end).replaceAll('&amp;', '&    ').replaceAll('&    ', '&'),
      () => shifted(report, start),
      () => {},
    );
    if (nesting > nestingMax) return;
  }
}

const secretWords =
  /token|secret|passw|passphrase|passcode|pwd|api[_-]?key|access[_-]?key|private[_-]?key|csrf|xsrf|jwt|bearer|basic|auth|credential|session|sess?id|sid|signature|sig|verifier|otp|recovery|backup|seed|pin|code|samlresponse|samlrequest|cookie|webhook|phone|cvc|cvv|iban/gi;
const wordCharsMax = 64;
const valueCharsMax = 8192;
const isWordChar = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95 || code === 45;

/** `token: x`, `"apiKey":"x"`, `password=x` and `Bearer x` in a text of any kind. */
function scanAssignments(text: string, isScript: boolean, report: ReportHit): void {
  let done = 0;
  for (const { index } of text.matchAll(secretWords)) {
    if (index < done) continue;
    let start = index;
    while (start > done && index - start < wordCharsMax && isWordChar(text.charCodeAt(start - 1))) start -= 1;
    let end = index;
    while (end < text.length && end - index < wordCharsMax && isWordChar(text.charCodeAt(end))) end += 1;
    done = end;
    const name = text.slice(start, end);
    const at = valueAfter(text, end, name);
    if (!at) continue;
    const value = text.slice(at.start, at.end);
    const kind = kindOfAssignment(name, value, isScript);
    if (!kind) continue;
    report({ ...at, value, kind, name, by: 'name' });
    done = at.end;
  }
}

function kindOfAssignment(name: string, value: string, isScript: boolean): ReturnType<typeof kindOfName> {
  const compact = normalized(name);
  const kind =
    compact === 'bearer' || compact === 'basic' ? 'token' : compact === 'code' || compact === 'codes' ? codeKind(value) : kindOfName(name);
  if (!kind || !isPlausible(kind, value)) return null;
  if (/^[\w$]+[.(]/.test(value) && !/\d/.test(value)) return null;
  const isStrong = value.length >= 6 && /\d/.test(value) && /[A-Za-z+\d]/.test(value);
  if (isScript) return isStrong && value.length >= 8 && !value.includes('${') ? kind : null;
  return isStrong || kind === 'recovery_code' || (kind === 'password' && /[^a-z]/i.test(value) && value.length >= 6) ? kind : null;
}

/** A code is a one-time code if it has digits only, and else what OAuth calls a code. */
const codeKind = (value: string): 'otp' | 'oauth_code' | null => (/^\d{6,8}$/.test(value) ? 'otp' : isOpaque(value) ? 'oauth_code' : null);

/** Where the value stands that is assigned to the word before `from`. */
function valueAfter(text: string, from: number, name: string): Range | null {
  const operator = /^\\?["'\]]{0,2}\s{0,8}(?:(?:=>|[:=]|\bis:?\s)\s{0,8}(?:\\?["'`])?|,\s{0,8}\\?["'`])/.exec(text.slice(from, from + 32));
  const scheme = /^(?:bearer|basic|token)$/i.test(name) ? /^(?:\s{1,4}|%20)/.exec(text.slice(from, from + 8)) : null;
  const lead = operator ?? scheme;
  if (!lead) return null;
  const word = /^(?:Bearer|Basic|Token)(?:\s|%20)/.exec(text.slice(from + lead[0].length, from + lead[0].length + 12));
  const start = from + lead[0].length + (word?.[0].length ?? 0);
  const quote = /["'`]$/.exec(lead[0])?.[0];
  const stop = quote ? new Set([quote, '\n']) : plainStops;
  let end = start;
  while (end < text.length && end - start < valueCharsMax && !stop.has(text[end] ?? '')) end += 1;
  if (quote) while (text[end - 1] === '\\' && end > start) end -= 1;
  else while (end > start && /[.,:]/.test(text[end - 1] ?? '')) end -= 1;
  return end > start ? { start, end } : null;
}

const plainStops = new Set([' ', '\t', '\n', '\r', '"', "'", '`', '<', '>', '&', ';', ',', ')', '}', ']', '|', '\\']);

const words = /(?<![\w.~+/=%:|-])[\w.~+/=%:|-]{20,}/g;

/** Random words of a short text, such as a console line. */
function scanOpaqueWords(text: string, report: ReportHit): void {
  for (const { 0: word, index } of text.matchAll(words)) {
    const skip = Math.max(word.lastIndexOf('=', word.length - 3), word.lastIndexOf(':'), word.lastIndexOf('//') + 1) + 1;
    const value = word.slice(skip);
    if (isContent(word) || word.includes('://') || !isOpaque(value)) continue;
    report({ start: index + skip, end: index + word.length, value, kind: 'token', name: null, by: 'form' });
  }
}

const tags = /<(input|meta|a|form|img|link|script|iframe|div|body|html|button)\b([^<>]{1,8000})>/gi;
const urlAttributes = new Set(['href', 'src', 'action', 'content']);
const recoveryHeading = /(?:recovery|backup)[ -]codes?/gi;
const recoveryCode = /(?<![\w-])(?=[\w-]{0,11}\d)[A-Za-z\d]{4,8}(?:-[A-Za-z\d]{4,8}){1,5}(?![\w-])/g;
const recoveryChars = 3000;

/** Attributes of elements: hidden fields, meta elements, data attributes and links; and lists of recovery codes. */
function scanMarkup(text: string, report: ReportHit, nesting: number): void {
  for (const { 0: tag, 2: body = '', index } of text.matchAll(tags)) {
    const from = index + tag.length - 1 - body.length;
    const values = new Map<string, Range & { value: string }>();
    for (const { name, value, start, end } of readAttributes(body, /[\s"'>]/))
      values.set(name.toLowerCase(), { start: from + start, end: from + end, value: fromEntities(value) });
    scanAttributes(values, text, report, nesting);
  }
  let last = -recoveryChars;
  for (const { index } of text.matchAll(recoveryHeading)) {
    if (index < last + recoveryChars) continue;
    last = index;
    for (const code of text.slice(index, index + recoveryChars).matchAll(recoveryCode)) {
      const start = index + code.index;
      report({ start, end: start + code[0].length, value: code[0], kind: 'recovery_code', name: null, by: 'form' });
    }
  }
}

function scanAttributes(values: ReadonlyMap<string, Range & { value: string }>, text: string, report: ReportHit, nesting: number): void {
  const label = (values.get('name') ?? values.get('property') ?? values.get('id'))?.value ?? '';
  const type = values.get('type')?.value.toLowerCase() ?? '';
  for (const [name, { start, end, value }] of values) {
    const isField = name === 'value' || name === 'content';
    const kind = kindOfName(isField ? label : name) ?? (name === 'value' && type === 'password' ? 'password' : null);
    if (kind && (isField || name.startsWith('data-')) && isPlausible(kind, value))
      report({ start, end, value, kind, name: label || name, by: 'name' });
    else if ((isField ? type === 'hidden' || name === 'content' : name.startsWith('data-')) && isOpaque(value) && !isHarmlessName(label))
      report({ start, end, value, kind: 'token', name: label || name, by: 'form' });
    else if (urlAttributes.has(name) && value.length >= 6)
      scanUrl(
        value,
        () => inRange(text, { start, end }, report),
        () => {},
      );
    else if (value.length >= 20 && nesting < nestingMax && /^[[{]|^ey/.test(value)) nested(text, report, nesting)(value, { start, end });
  }
}

/** Hits of a decoded attribute at where they stand in the text. */
const inRange =
  (text: string, range: Range, report: ReportHit): ReportHit =>
  (hit) =>
    report({ ...hit, ...locate(text, range, hit.value) });

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  quot: '"',
  lt: '<',
  gt: '>',
  apos: "'",
  '#39': "'",
  '#x27': "'",
  '#34': '"',
  '#x2F': '/',
  '#43': '+',
  '#x3D': '=',
};

function fromEntities(text: string): string {
  return text.includes('&')
    ? text.replaceAll(/&(#?\w{1,6});/g, (whole, name: string) => (Object.hasOwn(entities, name) ? (entities[name] ?? whole) : whole))
    : text;
}

const elements = /<([\w:.-]{1,64})(?:\s[^<>]{0,400})?>([^<>]{1,8000})<\//g;

/** `<wsse:Password>x</…>` in XML. */
function scanElements(text: string, report: ReportHit): void {
  for (const match of text.matchAll(elements)) {
    const [whole, tag = '', value = ''] = match;
    const name = tag.slice(tag.indexOf(':') + 1);
    const kind = kindOfName(name);
    const start = match.index + whole.length - 2 - value.length;
    if (kind && isPlausible(kind, value)) report({ start, end: start + value.length, value, kind, name, by: 'name' });
  }
}
