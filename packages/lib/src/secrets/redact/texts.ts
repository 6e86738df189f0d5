/** Secrets in texts of every kind: bodies, messages, documents, scripts, console lines. */
import type { SecretKind } from '../kinds.ts';
import { scanForms } from './forms.ts';
import { decoded, shifted, type Hit, type ReportHit } from './hit.ts';
import { readJson, unescaped, type JsonScalar } from './json.ts';
import type { SourceText } from '../../text/html-tokens.ts';
import { labelAttributes, readMarkup, type MarkupElement, type NamedText } from './markup.ts';
import { isPlausible, isStrong, kindOfName, normalized, schemeCharsOf } from '../names.ts';
import { isOpaque } from '../opaque.ts';
import { readScript, textOfLiteral, type Literal } from './script.ts';
import { isHarmlessName, jsonInBase64, scanPairs, scanUrl } from './urls.ts';

export type TextFormat = 'json' | 'form' | 'multipart' | 'html' | 'xml' | 'script' | 'style' | 'text';

/** Values nested in values, such as JSON in a string of JSON, are read to this depth: there, each quote has 65,535 escapes before it. */
const nestingMax = 16;

export function scanText(text: string, format: TextFormat, report: ReportHit, nesting = 0): void {
  if (format !== 'form' && format !== 'multipart') scanForms(text, report);
  scanByFormat(text, format, report, nesting);
}

/** Finds the secrets that their form does not give away. */
function scanByFormat(text: string, format: TextFormat, report: ReportHit, nesting: number): void {
  if (format === 'json') return scanJsonText(text, report, nesting);
  if (format === 'form') return scanPairs(text, report, nested(text, report, nesting));
  if (format === 'multipart') return scanMultipart(text, report, nesting);
  if (format === 'style') return scanStyle(text, report, nesting);
  scanUrls(text, report, nesting);
  if (format === 'script') return scanScript(text, report, nesting);
  scanAssignments(text, false, report);
  if (format === 'html' || format === 'xml') scanMarkup(text, format === 'xml', report, nesting);
  if (format !== 'text') return;
  scanTable(text, report);
  scanOpaqueWords(text, report);
}

/** The format of a text without a declared type. */
export function formatOf(text: string): TextFormat {
  const start = text.slice(0, 200).trimStart();
  if (isJson(start)) return 'json';
  if (isMultipart(text)) return 'multipart';
  if (start.startsWith('<'))
    return /^<(?:!doctype html|[a-z][\da-z]{0,12}[\s>])/i.test(start) && !/^<(?:root|xml|soap)/i.test(start) ? 'html' : 'xml';
  return /^[\w.[\]%-]{1,80}=[^\s]*$/.test(text.slice(0, 4000)) ? 'form' : 'text';
}

/** Parts of a form, without a type that says so. */
function isMultipart(text: string): boolean {
  const head = text.slice(0, preambleCharsMax);
  return (head.startsWith('--') || head.includes('\n--')) && /form-data[;\s]/i.test(head);
}

/** An object or a list of JSON begins, and neither a literal of a script nor a section of settings. */
export const isJson = (start: string): boolean => /^[[{]\s*(?:["[{}\]\d-]|true|false|null|$)/.test(start);

interface Range {
  start: number;
  end: number;
}

/**
 * Reads further into a value that stands encoded in a text. Where decoding changed it, a hit covers what it is known
 * to cover: the whole encoded value. `isScanned`: forms were found in the text.
 */
function nested(
  text: string,
  report: ReportHit,
  nesting: number,
  { isScanned = false, scan = scanValue }: { isScanned?: boolean; scan?: typeof scanValue } = {},
): (value: string, range: Range) => void {
  return (value, { start, end }) => {
    if (nesting >= nestingMax || value.length < 6) return;
    const isVerbatim = value.length === end - start && text.startsWith(value, start);
    let searches = 0;
    const locateHit = (hit: Hit): Range =>
      (searches += 1) > searchesMax(end - start) ? { start, end } : locate(text, { start, end }, hit.value);
    const inner: ReportHit = isVerbatim ? shifted(report, start) : (hit) => report({ ...hit, ...locateHit(hit) });
    scan(value, inner, nesting + 1, isScanned && isVerbatim);
  };
}

/** Characters of an encoded value that are searched for its hits, in some hundredths of a second. A value with more is a secret as a whole. */
const searchedCharsMax = 50_000_000;
const searchesMax = (chars: number): number => Math.ceil(searchedCharsMax / chars);

/** Range of a value in an encoded one: verbatim or escaped, else the whole of it. */
function locate(text: string, { start, end }: Range, value: string): Range {
  if (value === '') return { start, end: start };
  const within = text.slice(start, end);
  for (const form of [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value.toWellFormed())]) {
    const at = within.lastIndexOf(form);
    if (at >= 0) return { start: start + at, end: start + at + form.length };
  }
  return { start, end };
}

/** Reads one value: a URL, JSON, base64 of JSON, pairs, or text. */
function scanValue(value: string, report: ReportHit, nesting: number, isScanned: boolean): void {
  const json = jsonInBase64(value);
  if (json !== null) return scanBase64(value, json, report, nesting);
  if (!isScanned) scanForms(value, report);
  if (isUrl(value)) return scanUrl(value, () => report, nested(value, report, nesting));
  scanByFormat(value, formatOf(value), report, nesting);
}

const isUrl = (value: string): boolean => /^(?:(?:[a-z][a-z\d+.-]{0,20}:)?\/\/?\S+|[\w%./~-]{1,200}\?[^\s"'<>]{3,})$/i.test(value);

/** A value of a parameter or of the storage. */
export const scanInside = (value: string, report: ReportHit): void => scanValue(value, report, 0, false);

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

/** Signs of what may hold more than itself: escapes, pairs, JSON, markup, URLs with parameters, sentences that name a code. */
const compound = /[\\={%<?]|[:：] ?\S|:\/\/| is /;
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
  const scanNested = nested(text, counted, nesting, { isScanned: true });
  const scalar = (at: JsonScalar): void => {
    const { name, nearName, start, end, isString } = at;
    if (end === start) return;
    if (!isString) return scanNumber(text, at, report);
    const raw = text.slice(start, end);
    const value = unescaped(raw);
    const kind = name === null ? null : kindOfName(name);
    if (kind && scanNamed(value, { kind, name, raw, start, end }, report)) return;
    if (kind === 'cookie' || kind === 'csrf_token' || name === 'cookie') scanCookieLine(value, { start, end }, counted);
    if (name?.toLowerCase() === 'sec-websocket-protocol') scanProtocols(value, within(text, { start, end }, counted));
    const nearKind = kind === null && nearName !== null && isStrong(value) ? kindOfName(nearName) : null;
    if (nearKind && !timestamp.test(value) && isPlausible(nearKind, value))
      report({ start, end, value, kind: nearKind, name: nearName, by: 'name' });
    else if (isOpaque(value) && !isHarmlessName(name ?? '') && !isContent(value))
      report({ start, end, value, kind: 'token', name, by: 'form' });
    else if (value.startsWith('ey') || (value.length >= compoundCharsMin && compound.test(raw) && !timestamp.test(value))) {
      if (quiet.has(raw)) return;
      const before = hits;
      scanNested(value, { start, end });
      if (hits === before && raw.length <= quietCharsMax && quiet.size < quietMax) quiet.add(raw);
    }
  };
  readJson(text, { scalar, key: (start, end) => scanKey(text.slice(start, end), shifted(report, start)) });
}

/** A value that its name gives away, whole or behind its scheme. @returns whether it did */
function scanNamed(
  value: string,
  { kind, name, raw, start, end }: Range & { kind: SecretKind; name: string | null; raw: string },
  report: ReportHit,
): boolean {
  const skip = kind === 'password' ? 0 : schemeCharsOf(value, kind);
  const credential = value.slice(skip);
  if (!isPlausible(kind, credential)) return false;
  const from = raw.length === value.length ? start + skip : start;
  report({ start: from, end, value: credential, kind, name, by: 'name' });
  return true;
}

/** `Set-Cookie` and `Cookie` among the values of JSON: their values are secrets as those of the headers are. */
function scanCookieLine(value: string, range: Range, report: ReportHit): void {
  if (!/^[\w!#$%&'*.^`|~+-]{1,100}=[^\s;]{6,}(?:;|$)/.test(value)) return;
  for (const part of value.split(';', 50)) {
    const cookie = part.slice(part.indexOf('=') + 1).trim();
    if (part.includes('=') && cookie.length >= 12 && /\d/.test(cookie) && !cookie.includes(' '))
      report({
        start: range.start,
        end: range.start,
        value: cookie,
        kind: 'cookie',
        name: part.slice(0, part.indexOf('=')).trim(),
        by: 'name',
      });
  }
}

/** Browsers can send a credential of a WebSocket only as one of its protocols: `bearer, x`. */
export function scanProtocols(value: string, report: ReportHit): void {
  let start = 0;
  let before = '';
  for (const part of value.split(',')) {
    const protocol = part.trim();
    const kind = kindOfName(before);
    const at = { start: start + part.indexOf(protocol), end: start + part.indexOf(protocol) + protocol.length, value: protocol };
    if (kind && isPlausible(kind, protocol)) report({ ...at, kind, name: 'sec-websocket-protocol', by: 'name' });
    else scanKey(protocol, shifted(report, at.start));
    before = protocol;
    start += part.length + 1;
  }
}

/** Parts of names between separators. */
const keyPart = /[^_.:/[\]$]{20,}/g;

/** A key, or the name of a parameter, a cookie or a header, that was drawn at random, or holds what was. */
export function scanKey(key: string, report: ReportHit): void {
  if (key.length < 6) return;
  scanForms(key, report);
  let hasRandomPart = false;
  for (const { 0: part, index } of key.matchAll(keyPart))
    if (isOpaque(part)) {
      hasRandomPart = true;
      report({ start: index, end: index + part.length, value: part, kind: 'token', name: null, by: 'form' });
    }
  if (!hasRandomPart && isOpaque(key)) report({ start: 0, end: key.length, value: key, kind: 'token', name: null, by: 'form' });
}

/** Integrity values and embedded files are content. */
const isContent = (value: string): boolean => /^(?:sha\d{3}-|data:)/.test(value);

const numericKinds = new Set(['otp', 'password', 'card', 'phone']);
const numberDigitsMin = 3;

function scanNumber(text: string, { name, start, end }: JsonScalar, report: ReportHit): void {
  const value = text.slice(start, end);
  const kind = name === null ? null : kindOfName(name);
  if (kind && numericKinds.has(kind) && value.length >= numberDigitsMin && /^\d+$/.test(value))
    report({ start, end, value, kind, name, by: 'name' });
}

/** Fields of a multipart body: each part has a name in its header. What precedes the first part is none. */
function scanMultipart(text: string, report: ReportHit, nesting: number): void {
  const match = /(?:^|\n)(--[^\r\n]{1,200})\r?\n/.exec(text.slice(0, preambleCharsMax));
  const boundary = match?.[1];
  if (!match || !boundary) return scanText(text, 'text', report, nesting);
  let start = match.index + match[0].indexOf(boundary);
  while (start >= 0) {
    const next = text.indexOf(boundary, start + boundary.length);
    const end = next < 0 ? text.length : next;
    scanPart(text, { start: start + boundary.length, end }, report, nesting);
    start = next;
  }
}

const preambleCharsMax = 4000;

const nameParameter = /[;\s]name(\*?) ?= ?/gi;

/** `name="a"`, `NAME=a` and `name*=UTF-8''a` of a part. */
function partName(head: string): string {
  const [match] = head.matchAll(nameParameter);
  if (!match) return '';
  const rest = head.slice(match.index + match[0].length);
  const bare = rest.split(/[;\s]/, 1)[0] ?? '';
  if (match[1] === '*') return decoded(bare.slice(bare.lastIndexOf("'") + 1), false);
  const quote = rest[0] === '"' || rest[0] === "'" ? rest[0] : null;
  return quote === null ? bare : (rest.slice(1).split(quote, 1)[0] ?? '');
}

function scanPart(text: string, { start, end }: Range, report: ReportHit, nesting: number): void {
  const headEnd = /\r?\n\r?\n/.exec(text.slice(start, Math.min(end, start + 4000)));
  if (!headEnd) return;
  const head = text.slice(start, start + headEnd.index);
  const from = start + headEnd.index + headEnd[0].length;
  const value = text.slice(from, end).replace(/\r?\n$/, '');
  const name = partName(head);
  const kind = kindOfName(name);
  if (kind && isPlausible(kind, value)) report({ start: from, end: from + value.length, value, kind, name, by: 'name' });
  else scanText(value, formatOf(value), shifted(report, from), nesting + 1);
}

const urlEnd = /[\s"'<>`\\)}\]|]/g;

/** Finds secrets in the absolute URLs of a text. */
function scanUrls(text: string, report: ReportHit, nesting: number): void {
  let done = 0;
  for (let mark = text.indexOf('://'); mark >= 0; mark = text.indexOf('://', Math.max(done, mark + 3))) {
    let start = mark;
    while (start > done && mark - start < 20 && /[a-z\d+.-]/i.test(text[start - 1] ?? '')) start -= 1;
    urlEnd.lastIndex = mark + 3;
    const end = urlEnd.exec(text)?.index ?? text.length;
    done = end;
    const at: ReportHit = shifted(report, start);
    scanUrl(text.slice(start, end), () => at, nested(text.slice(start, end), at, nesting));
  }
}

const secretWords =
  /token|secret|passw|passphrase|passcode|pwd|api[_-]?key|access[_-]?key|private[_-]?key|csrf|xsrf|jwt|bearer|basic|auth|credential|session|sess?id|sid|signature|sig|verifier|otp|recovery|backup|seed|pin|code|samlresponse|samlrequest|cookie|webhook|phone|cvc|cvv|iban|kennwort|contrase|senha|mot_?de_?passe|mdp|wachtwoord|has[łl]o|heslo|parola|ifre|salasana|l[öo]senord|adgangskode|geheim|segredo|clave|chave|jeton|schl[üu]ssel|парол|токен|секрет|密[码碼钥鑰]|令牌|パスワード|トークン|비밀번호|토큰|كلمة/gi;
/** A name may be the path of a nested field. */
const wordCharsMax = 256;
const isWordChar = (code: number): boolean =>
  (code >= 48 && code <= 57) ||
  (code >= 65 && code <= 90) ||
  (code >= 97 && code <= 122) ||
  code === 95 ||
  code === 45 ||
  (code >= 0xc0 && code <= 0xd7ff && !(code >= 0x2000 && code <= 0x303f));

/** `token: x`, `"apiKey":"x"`, `password=x` and `Bearer x` in a text of any kind. */
export function scanAssignments(text: string, isScript: boolean, report: ReportHit): void {
  const ends = new ValueEnds(text);
  let done = 0;
  for (const { index } of text.matchAll(secretWords)) {
    if (index < done) continue;
    let start = index;
    while (start > done && index - start < wordCharsMax && isWordChar(text.charCodeAt(start - 1))) start -= 1;
    let end = index;
    while (end < text.length && end - index < wordCharsMax && isWordChar(text.charCodeAt(end))) end += 1;
    done = end;
    const name = text.slice(start, end);
    const at = valueAfter(text, end, { name, ends });
    if (!at) continue;
    const value = text.slice(at.start, at.end);
    const kind = kindOfAssignment(name, value.slice(0, classifiedChars), isScript);
    if (!kind) continue;
    report({ ...at, value, kind, name, by: 'name' });
    done = at.end;
  }
}

function kindOfAssignment(name: string, value: string, isScript: boolean): ReturnType<typeof kindOfName> {
  const compact = normalized(name);
  const kind =
    compact === 'bearer' || compact === 'basic' || compact === 'authorization'
      ? 'token'
      : compact === 'code' || compact === 'codes'
        ? codeKind(value)
        : kindOfName(name);
  if (!kind || !isPlausible(kind, value)) return null;
  if (/^[\w$]+[.(]/.test(value) && !/\d/.test(value)) return null;
  const isStrong = value.length >= 6 && /\d/.test(value) && /[A-Za-z+\d]/.test(value);
  if (isScript) return isStrong && value.length >= 8 && !value.includes('${') ? kind : null;
  return isStrong || kind === 'recovery_code' || (kind === 'password' && /[^a-z]/i.test(value) && value.length >= 6) ? kind : null;
}

/** A code is a one-time code if it has digits only, and else what OAuth calls a code. */
const codeKind = (value: string): 'otp' | 'oauth_code' | null => (/^\d{6,8}$/.test(value) ? 'otp' : isOpaque(value) ? 'oauth_code' : null);

/** Range of the value that is assigned to the word before `from`. */
function valueAfter(text: string, from: number, { name, ends }: { name: string; ends: ValueEnds }): Range | null {
  const after = text.slice(from, from + 80);
  const operator = assignment.exec(after);
  const option = name.startsWith('--') ? /^ {1,4}(?=[^\s-])/.exec(after) : null;
  const scheme = /^(?:bearer|basic|token)$/i.test(name) ? /^(?:\s{1,4}|%20)/.exec(after) : null;
  const lead = operator ?? option ?? scheme;
  if (!lead) return null;
  const word = valueScheme.exec(text.slice(from + lead[0].length, from + lead[0].length + 24));
  const start = from + lead[0].length + (word?.[0].length ?? 0);
  const quote = /["'`]$/.exec(lead[0])?.[0];
  const end = ends.after(start, quote);
  return end > start ? { start, end } : null;
}

/** `:`, `=`, `=>`, `is`, the comma of a call or a list, and an object that holds the value, with the quotes around them. */
const assignment =
  /^\\{0,7}["'\]]{0,2}\s{0,8}(?:(?:=>|[:=：]|(?:is|lautet|ist|est|es|è|é|jest):?\s)\s{0,8}(?:\{\s{0,8}\\{0,7}["']?(?:value|val|raw|text)\\{0,7}["']?\s{0,4}:\s{0,8})?(?:\\{0,7}["'`])?|,\s{0,8}\\{0,7}["'`])/;
const valueScheme = /^(?:bearer|basic|token|jwt|apikey|digest|custom|key)(?:\s{1,3}|%20)/i;

/** Maximum characters of a value: in a text of names without an end between them, each has all that follows for its value. */
const classifiedChars = 1024;
const stopsOf: Readonly<Record<string, RegExp>> = {
  // oxlint-disable-next-line no-control-regex -- A NUL ends a value in binary texts.
  '': /[ \t\n\r"'`<>&;,)}\]|\\。，\u0000]/g,
  '"': /["\n]/g,
  "'": /['\n]/g,
  '`': /[`\n]/g,
};

/** What ends a sentence, or escapes the quote, is not part of a value. */
const isTrailing = (char: string | undefined, quote: string): boolean =>
  quote === '' ? char === '.' || char === ',' || char === ':' : char === '\\';

/** Ends of values. For all that end at the same place it is searched for once, however many they are. */
class ValueEnds {
  readonly #text: string;
  readonly #last = new Map<string, Range & { valueEnd: number }>();

  constructor(text: string) {
    this.#text = text;
  }

  /** The end of a value in these quotes, or in none; before `start` where there is no value. */
  after(start: number, quote = ''): number {
    const last = this.#last.get(quote);
    const stops = stopsOf[quote];
    if (last && start >= last.start && start <= last.end) return last.valueEnd;
    if (!stops) return start;
    stops.lastIndex = start;
    const end = stops.exec(this.#text)?.index ?? this.#text.length;
    let valueEnd = end;
    while (valueEnd > start && isTrailing(this.#text[valueEnd - 1], quote)) valueEnd -= 1;
    this.#last.set(quote, { start, end, valueEnd });
    return valueEnd;
  }
}

const words = /(?<![\w.~+/=%:|-])[\w.~+/=%:|-]{20,}/g;

/** Random words of a text, such as a console line. */
function scanOpaqueWords(text: string, report: ReportHit): void {
  for (const { 0: word, index } of text.matchAll(words)) {
    const skip = Math.max(word.lastIndexOf('=', word.length - 3), word.lastIndexOf(':'), word.lastIndexOf('//') + 1) + 1;
    const value = word.slice(skip);
    if (isContent(word) || word.includes('://') || !isOpaque(value)) continue;
    report({ start: index + skip, end: index + word.length, value, kind: 'token', name: null, by: 'form' });
  }
}

const recoveryHeading = /(?:recovery|backup)[ -]codes?/gi;
const recoveryCode = /(?<![\w-])(?=[\w-]{0,11}\d)[A-Za-z\d]{4,8}(?:-[A-Za-z\d]{4,8}){1,5}(?![\w-])/g;
const recoveryChars = 3000;

/** Attributes and texts of elements, and lists of recovery codes. */
function scanMarkup(text: string, isXml: boolean, report: ReportHit, nesting: number): void {
  readMarkup(text, isXml, {
    element: (element) => scanAttributes(element, text, report, nesting),
    text: (at) => scanElementText(at, text, report, nesting),
  });
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

/** `<Password>x</…>`, `<key>password</key><string>x</string>`, `<textarea name="token">x</…>`, cells below or beside a heading. */
function scanElementText(
  { value, start, end, element, name, nearName }: NamedText,
  text: string,
  report: ReportHit,
  nesting: number,
): void {
  const tag = element?.tag.toLowerCase();
  if (tag === 'style') return scanStyle(value, within(text, { start, end }, report), nesting);
  if (tag === 'script') return scanScriptElement(element, { value, start, end }, text, report, nesting);
  const kind = name === null ? null : kindOfName(name);
  const isOwnName = kind !== null && (element?.tag === name || tag === 'textarea' || tag === 'output');
  if (kind && (isOwnName || isStrong(value)) && scanNamed(value, { kind, name, raw: text.slice(start, end), start, end }, report)) return;
  const near = nearName === null || !isStrong(value) ? null : kindOfName(nearName);
  if (near && isPlausible(near, value)) return report({ start, end, value, kind: near, name: nearName, by: 'name' });
  // Entities or CDATA hide such a value from those who read the text itself.
  if (value.length !== end - start || tag === 'textarea') nested(text, report, nesting)(value, { start, end });
}

function scanScriptElement(
  element: MarkupElement | null,
  { value, start, end }: SourceText,
  text: string,
  report: ReportHit,
  nesting: number,
): void {
  const isData = /json/i.test(element?.attributes.get('type')?.value ?? '') || isJson(value.slice(0, 200));
  scanByFormat(value, isData ? 'json' : 'script', within(text, { start, end }, report), nesting + 1);
}

/** Assignments, JSON such as the state that a page begins with, and what string literals hold. */
function scanScript(text: string, report: ReportHit, nesting: number): void {
  scanAssignments(text, true, report);
  if (nesting >= nestingMax) return;
  const { literals, json } = readScript(text);
  for (const { start, end } of json) scanJsonText(text.slice(start, end), shifted(report, start), nesting + 1);
  const scanInner = nested(text, report, nesting, { scan: scanLiteral });
  for (const [i, { start, end }] of literals.entries()) {
    const raw = text.slice(start, end);
    const next = literals[i + 1];
    if (next && raw.endsWith('=')) scanJoined(text, raw, next, end, report);
    if (raw.length >= compoundCharsMin && literalCompound.test(raw)) scanInner(textOfLiteral(raw), { start, end });
    else if (raw.length <= opaqueLiteralCharsMax && isOpaque(raw) && !isContent(raw))
      report({ start, end, value: raw, kind: 'token', name: null, by: 'form' });
  }
}

/** Signs of more than a word in a script's literal: pairs, JSON, markup, an address, a part of a form, base64 of JSON. */
const literalCompound = /[={<?\\]|^ey|^\/./;
/** Maximum length of a random literal: longer ones in a program are more often a picture or a table than a token. */
const opaqueLiteralCharsMax = 512;
const joined = /^\s{0,20}(?:\+|\.concat\()\s{0,20}(?:(?:encodeURIComponent|encodeURI|escape|String|btoa)\()?\s{0,20}$/;
const joinCharsMax = 80;
const joinedNameCharsMax = 200;

/** `"user=ann&password=" + "x"`. */
function scanJoined(text: string, raw: string, next: Literal, end: number, report: ReportHit): void {
  if (next.start - end > joinCharsMax || !joined.test(text.slice(end + 1, next.start - 1))) return;
  const name = decoded(
    raw
      .slice(-joinedNameCharsMax, -1)
      .split(/[&?;\s]/)
      .at(-1) ?? '',
    true,
  );
  const kind = kindOfName(name);
  const value = textOfLiteral(text.slice(next.start, next.end));
  if (kind && isPlausible(kind, value)) report({ ...next, value, kind, name, by: 'name' });
}

/** A literal is read further where its form says what it is. Words and sentences of a program are none of it. */
function scanLiteral(value: string, report: ReportHit, nesting: number): void {
  const json = jsonInBase64(value);
  if (json !== null) return scanBase64(value, json, report, nesting);
  const format = formatOf(value);
  if (format !== 'text' && format !== 'form') return scanByFormat(value, format, report, nesting);
  if (isUrl(value)) return scanUrl(value, () => report, nested(value, report, nesting));
  if (pairsStart.test(value)) scanPairs(value, report, nested(value, report, nesting));
}

/** The name of a first pair. That of an attribute, as in `[name=value]`, is none. */
const pairsStart = /^[^\s=&<>{}()'"`]{1,200}=(?!=)/;

/** Hits of a decoded part at where they stand in the text. */
export function within(text: string, range: Range, report: ReportHit): ReportHit {
  return (hit) => {
    const isVerbatim = text.startsWith(hit.value, range.start + hit.start) && hit.end - hit.start === hit.value.length;
    report(
      isVerbatim ? { ...hit, start: range.start + hit.start, end: range.start + hit.end } : { ...hit, ...locate(text, range, hit.value) },
    );
  };
}

/** Fields whose value is a caption or a choice. */
const captions = new Set(['submit', 'reset', 'checkbox', 'radio', 'image', 'range', 'color', 'date', 'month', 'week', 'time']);
/** Attributes whose value is for people or for styles, and the nonce, which the response shows to everybody who reads it. */
const plainAttributes = new Set(
  'class title alt placeholder aria-label aria-describedby aria-labelledby for rel type nonce integrity crossorigin lang dir role d points autocomplete'.split(
    ' ',
  ),
);

function scanAttributes(element: MarkupElement, text: string, report: ReportHit, nesting: number): void {
  const { attributes } = element;
  const type = attributes.get('type')?.value.toLowerCase() ?? '';
  const label = element.label ?? attributes.get('name')?.value ?? attributes.get('id')?.value ?? '';
  for (const [name, at] of attributes) {
    if (at.value.length < 2 || plainAttributes.has(name)) continue;
    const isField = name === 'value' || name === 'content';
    if (isField && captions.has(type)) continue;
    const kind = kindOfName(isField ? label : name) ?? (name === 'value' && type === 'password' ? 'password' : null);
    if (
      kind &&
      !isName(name) &&
      scanNamed(at.value, { ...at, kind, name: isField ? label : name, raw: text.slice(at.start, at.end) }, report)
    )
      continue;
    const isRandom = (isField ? type === 'hidden' || name === 'content' : name.startsWith('data-')) && isOpaque(at.value);
    if (isRandom && publicName.test(name)) continue;
    if (isRandom && !isHarmlessName(label)) report({ ...at, kind: 'token', name: label || name, by: 'form' });
    else scanAttribute(name, at, text, report, nesting);
  }
}

/** Keys that a page shows to everybody, as those of captchas. */
const publicName = /site-?key$/;
const isName = (attribute: string): boolean => (labelAttributes as readonly string[]).includes(attribute);

/** Reads the content of an attribute: styles, scripts, markup, addresses, JSON. */
function scanAttribute(name: string, at: SourceText, text: string, report: ReportHit, nesting: number): void {
  const { value } = at;
  if (value.length < 6 || nesting >= nestingMax) return;
  const inner = within(text, at, report);
  if (name === 'style') return scanStyle(value, inner, nesting + 1);
  if (name.startsWith('on')) return scanScript(value, inner, nesting + 1);
  if (name === 'srcdoc') return scanByFormat(value, 'html', inner, nesting + 1);
  if (name === 'srcset' || name === 'imagesrcset' || name === 'ping') return scanUrlWords(value, inner);
  if (name === 'content' && /^\d{0,6};? ?url=/i.test(value)) return scanUrlWords(value, inner);
  if (urlAttributes.has(name) || /^(?:[./]|[a-z]{2,8}:\/\/)|^[\w./-]{0,100}\?/.test(value))
    return scanUrl(value, () => inner, nested(text, report, nesting));
  if (/^[[{]|^ey/.test(value)) nested(text, report, nesting)(value, at);
}

const urlAttributes = new Set([
  'href',
  'src',
  'action',
  'content',
  'formaction',
  'poster',
  'xlink:href',
  'data',
  'cite',
  'background',
  'manifest',
]);

/** Addresses between blanks, commas, semicolons, quotes and brackets. */
export function scanUrlWords(text: string, report: ReportHit): void {
  for (const { 0: word, index } of text.matchAll(urlWord)) {
    if (!/[/?]/.test(word)) continue;
    const skip = /^url=/i.test(word) ? 4 : 0;
    scanUrl(
      word.slice(skip),
      () => shifted(report, index + skip),
      () => {},
    );
  }
}

const urlWord = /[^\s,;"'<>()]{6,}/g;
const styleUrl = /url\( ?["']?|@import ["']/gi;
const styleUrlEnd = /["')\s]/g;

/** Addresses in a style sheet, and assignments in its comments. */
function scanStyle(text: string, report: ReportHit, nesting: number): void {
  let done = 0;
  for (const { 0: lead, index } of text.matchAll(styleUrl)) {
    if (index < done) continue;
    const start = index + lead.length;
    styleUrlEnd.lastIndex = start;
    const url = text.slice(start, styleUrlEnd.exec(text)?.index);
    done = start + url.length;
    if (url !== '' && !url.startsWith('data:')) scanUrl(url, () => shifted(report, start), nested(url, shifted(report, start), nesting));
  }
  for (let start = text.indexOf('/*'); start >= 0; start = text.indexOf('/*', start)) {
    const close = text.indexOf('*/', start + 2);
    const end = close < 0 ? text.length : close;
    scanAssignments(text.slice(start, end), false, shifted(report, start));
    start = end;
  }
}

/** Columns of a table whose first row names them: separated by commas, semicolons, tabs or, as in Markdown, bars. */
function scanTable(text: string, report: ReportHit): void {
  const headEnd = text.indexOf('\n');
  if (headEnd < 3 || headEnd > tableHeadCharsMax) return;
  const head = text.slice(0, headEnd);
  const separator = ['|', '\t', ';', ','].find((one) => head.includes(one));
  if (separator === undefined) return;
  const kinds = cellsOf(head, 0, separator).map(({ value }) => (value.length <= 60 ? kindOfName(value) : null));
  if (kinds.every((kind) => kind === null)) return;
  let start = headEnd + 1;
  while (start < text.length) {
    const lineEnd = text.indexOf('\n', start);
    const end = lineEnd < 0 ? text.length : lineEnd;
    const row = cellsOf(text.slice(start, Math.min(end, start + tableRowCharsMax)), start, separator);
    if (row.length === kinds.length)
      for (const [i, cell] of row.entries()) {
        const kind = kinds[i];
        if (kind && isStrong(cell.value) && isPlausible(kind, cell.value)) report({ ...cell, kind, name: null, by: 'name' });
      }
    start = end + 1;
  }
}

const tableHeadCharsMax = 4000;
const tableRowCharsMax = 20_000;

function cellsOf(line: string, offset: number, separator: string): SourceText[] {
  const cells: SourceText[] = [];
  let from = 0;
  while (from <= line.length) {
    const quoteEnd = line[from] === '"' ? line.indexOf('"', from + 1) : -1;
    const next = line.indexOf(separator, Math.max(from, quoteEnd));
    const to = next < 0 ? line.length : next;
    const raw = line.slice(from, to);
    const value = raw.trim().replace(/^"([^"]*)"$/, '$1');
    const start = offset + from + Math.max(0, raw.indexOf(value));
    cells.push({ value, start, end: start + value.length });
    from = to + 1;
  }
  return cells;
}
