/**
 * Replaces each secret of a capture by a placeholder, everywhere and in every encoding, before anything else reads it.
 * The same secret has the same placeholder, so what depends on what is still seen.
 */
import type { Capture } from '../capture.ts';
import type { Redactions, Secret, SecretPosition } from '../secret.ts';
import { mergeSpans, type BoundedFinder, type Span } from '@berth/lib/text/bounded-finder.ts';
import { scanHeader, scanCookieValue } from '@berth/lib/secrets/redact/headers.ts';
import type { Hit, ReportHit } from '@berth/lib/secrets/redact/hit.ts';
import { scanForms } from '@berth/lib/secrets/redact/forms.ts';
import { SecretTable, type SearchedForm } from './secret-table.ts';
import { scanInside, scanKey, scanText, within } from '@berth/lib/secrets/redact/texts.ts';
import { readEscapes } from '@berth/lib/secrets/redact/percent.ts';
import { scanPairs, scanUrl } from '@berth/lib/secrets/redact/urls.ts';
import { mapTexts } from '@berth/lib/text/map-texts.ts';
import { mapCapture, type Source, type TextVisitor } from './walk.ts';

export interface Redacted {
  /** The capture without secrets. */
  capture: Capture;
  secrets: Secret[];
  redactions: Redactions;
  warnings: string[];
  /** Replaces the secrets in what was made of the capture: decoding may show one that no text of the capture showed. */
  mask: <T>(value: T) => T;
}

/** Replaces the secrets in time linear in the capture. The capture itself is left as it is. */
export function redact(capture: Capture): Redacted {
  const table = new SecretTable();
  const spans: Spans = new Map();
  const redactions: Redactions = { headers: 0, bodyKeys: 0, bodyValues: 0 };
  mapCapture(capture, collector(table, spans, redactions));
  table.assignPlaceholders();
  const { finder, searchesAll } = table.createFinder();
  const replace = replacer(table, spans, finder);
  const clean = mapCapture(capture, replace);
  const maskText = (text: string): string => replace(text, { reading: 'none', position: 'other', entryIndex: null, name: null });
  const warnings = searchesAll ? [] : ['secrets_not_searched'];
  return { capture: clean, secrets: table.list(maskText), redactions, warnings, mask: (value) => mapTexts(value, maskText) };
}

/** Places of secrets in texts that are read in the same manner, three numbers each: start, end, id. */
type Spans = Map<string, Map<string, Int32Array>>;

const keyOf = ({ reading, name }: Source): string =>
  reading === 'value' || reading === 'cookie' || reading.endsWith('header') ? `${reading} ${name}` : reading;

const headerPositions = new Set<SecretPosition>(['request_header', 'response_header', 'request_cookie', 'set_cookie']);

function collector(table: SecretTable, spans: Spans, redactions: Redactions): TextVisitor {
  return (text, source) => {
    if (source.reading === 'none' || text === '') return text;
    const key = keyOf(source);
    const texts = spans.get(key) ?? new Map<string, Int32Array>();
    spans.set(key, texts);
    const numbers: number[] = [];
    scan(text, source, (hit, position) => {
      if (hit.value === '') return;
      const id = table.add(hit, { position, entryIndex: source.entryIndex, name: hit.name ?? source.name });
      if (hit.end > hit.start) numbers.push(hit.start, hit.end, id);
      count(redactions, position, hit);
    });
    if (numbers.length > 0) texts.set(text, Int32Array.from(numbers));
    return text;
  };
}

function count(redactions: Redactions, position: SecretPosition, { by }: Hit): void {
  if (headerPositions.has(position)) redactions.headers += 1;
  else if (by === 'name') redactions.bodyKeys += 1;
  else redactions.bodyValues += 1;
}

const urlPositions = { userinfo: 'url_userinfo', path: 'url_path', query: 'url_query', fragment: 'url_fragment' } as const;

function scan(text: string, source: Source, report: (hit: Hit, position: SecretPosition) => void): void {
  const { reading, position, name } = source;
  const here: ReportHit = (hit) => report(hit, position);
  if (reading === 'url') {
    const isRequest = position === 'url_query';
    scanForms(text, here);
    return scanUrl(
      text,
      (part) => (isRequest ? (hit) => report(hit, urlPositions[part]) : here),
      (value, range) => scanInside(value, within(text, range, here)),
    );
  }
  if (reading === 'request_header' || reading === 'response_header') {
    const cookies = name === 'cookie' ? 'request_cookie' : name === 'set-cookie' ? 'set_cookie' : position;
    return scanHeader(name ?? '', text, reading === 'request_header', (hit) => report(hit, cookies));
  }
  if (reading === 'key') return scanKey(text, here);
  if (reading === 'cookie') return scanCookieValue(name ?? '', text, here);
  if (reading === 'value') return scanNamed(name ?? '', text, here);
  if (reading !== 'none') scanText(text, reading, here);
}

/** The value of a parameter or of the storage, by its name and by what stands in it. */
function scanNamed(name: string, value: string, report: ReportHit): void {
  const lead = `${name.replaceAll(/[&;=#?]/g, '_')}=`;
  scanPairs(
    lead + encodeURIComponent(value.toWellFormed()),
    (hit) => report({ ...hit, start: 0, end: value.length }),
    () => scanInside(value, report),
  );
}

interface SecretSpan extends Span {
  id: number;
}

const cachedCharsMax = 300;
const cacheSizeMax = 50_000;

function replacer(table: SecretTable, spans: Spans, finder: BoundedFinder<SearchedForm>): TextVisitor {
  const unchanged = new Set<string>();
  return (text, source) => {
    if (text === '') return text;
    const local = spans.get(keyOf(source))?.get(text);
    if (!local && unchanged.has(text)) return text;
    const matches = [...searched(finder, text), ...searchedInEscapes(finder, text)];
    for (const id of new Set(matches.map((match) => match.id)))
      table.addSeen(id, { position: source.position, entryIndex: source.entryIndex, name: null });
    const all = mergeSpans([...matches, ...toSpans(local)]);
    if (all.length > 0) return replaced(text, all, table);
    if (text.length <= cachedCharsMax && unchanged.size < cacheSizeMax && !local) unchanged.add(text);
    return text;
  };
}

function toSpans(numbers: Int32Array | undefined): SecretSpan[] {
  if (!numbers) return [];
  return Array.from({ length: numbers.length / 3 }, (_, i) => ({
    start: numbers[i * 3] ?? 0,
    end: numbers[i * 3 + 1] ?? 0,
    id: numbers[i * 3 + 2] ?? 0,
  }));
}

function searched(finder: BoundedFinder<SearchedForm>, text: string): SecretSpan[] {
  return finder
    .search(text)
    .filter(({ start, end, value }) => !value.needsBoundary || (isBoundary(text, start - 1) && !isWord(text.charCodeAt(end))))
    .map(({ start, end, value }) => ({ start, end, id: value.id }));
}

/** Secrets that a text writes with some characters in escapes of URLs, and others as they are. */
function searchedInEscapes(finder: BoundedFinder<SearchedForm>, text: string): SecretSpan[] {
  const unescaped = text.includes('%') ? readEscapes(text) : null;
  if (!unescaped) return [];
  const { starts } = unescaped;
  return searched(finder, unescaped.text).map(({ start, end, id }) => ({ start: starts[start] ?? 0, end: starts[end] ?? 0, id }));
}

const isWord = (code: number): boolean => (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);

/** Whether the character is no letter or digit, or the last one of an escape such as `%22`, `\n` or `\u0022`. */
function isBoundary(text: string, at: number): boolean {
  if (at < 0 || !isWord(text.charCodeAt(at))) return true;
  return text[at - 2] === '%' || text[at - 1] === '\\' || text.startsWith(String.raw`\u`, at - 5);
}

function replaced(text: string, spans: readonly SecretSpan[], table: SecretTable): string {
  const isJson = /^\s*(?:\)\]\}'\s*)?[[{]/.test(text.slice(0, 200));
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end, id } of spans) {
    const isNumber = isJson && /^-?\d[\d.eE+-]*$/.test(text.slice(start, Math.min(end, start + 40))) && isBare(text, start, end);
    pieces.push(text.slice(from, start), isNumber ? '0' : table.placeholderOf(id));
    from = end;
  }
  pieces.push(text.slice(from));
  return pieces.join('');
}

/** Whether a number of JSON stands here: a placeholder in its stead would make the JSON invalid. */
const isBare = (text: string, start: number, end: number): boolean =>
  /[:,[\s]/.test(text[start - 1] ?? '') && /[,\]}\s]|^$/.test(text[end] ?? '');
