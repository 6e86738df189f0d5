/**
 * The head of a reply as Chromium reads it, written as every parser of HTTP reads it.
 *
 * Node's parser refuses much that browsers accept, even when it is lenient, and accepts some that they refuse. So the
 * service would fail where the same page opens in a browser that reaches its site by TLS. What frames the body is
 * decided here, once: the head that is passed on has one `Content-Length`, or `Transfer-Encoding: chunked`, or neither.
 */

/** Maximum bytes of a reply's head: as much as Chromium reads. */
export const replyHeadBytesMax = 256 * 1024;
/** Maximum lines of a head, more than any site sends: each costs the main thread a microsecond. */
const linesMax = 5000;
/** Maximum bytes of the head that is written: each line may gain a blank and a carriage return. */
export const writtenHeadBytesMax = replyHeadBytesMax + 2 * linesMax + 64;
/** Bytes that Chromium skips before a status line, such as the line break after a body that was not counted. */
const bytesBeforeMax = 4;
/** The statuses that a site may send: Node passes on no other. */
const statusMin = 100;
const statusMax = 999;

export type RefusedHead = 'invalid' | 'too_big' | 'truncated' | 'lengths' | 'locations' | 'dispositions';

export interface ReplyHead {
  status: number;
  text: string;
  /** Whether the body comes in chunks. */
  isChunked: boolean;
}

/** The end of a head that begins with these bytes; null while it has none. Bytes before `from` were searched already. */
export function endOfHead(bytes: Buffer, from: number): number | null {
  for (let at = bytes.indexOf(lineFeed, from); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) {
    const before = bytes[at - 1] === carriageReturn ? at - 2 : at - 1;
    if (bytes[before] === lineFeed) return at + 1;
  }
  return null;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** The start of the status line; null where there is none, undefined while it may still come. */
export function startOfHead(bytes: Buffer): number | null | undefined {
  const start = bytes
    .toString('latin1', 0, bytesBeforeMax + protocol.length)
    .toLowerCase()
    .indexOf(protocol);
  if (start >= 0) return start;
  return bytes.length < bytesBeforeMax + protocol.length ? undefined : null;
}

const protocol = 'http';

/** Reads a whole head, from the status line to the empty line. */
export function readHead(bytes: Buffer): ReplyHead | RefusedHead {
  if (bytes.includes(0)) return 'invalid';
  const [statusLine = '', ...lines] = linesOf(bytes.toString('latin1'));
  if (lines.length > linesMax) return 'too_big';
  const { version, status, reason } = readStatusLine(statusLine);
  if (status < statusMin || status > statusMax || status === switchingProtocols) return 'invalid';
  const { lines: headerLines, lengths, codings, locations, dispositions } = readLines(lines);
  const framing = framingOf({ lengths, codings, version });
  if (framing === null) return 'lengths';
  if (dispositions.size > 1) return 'dispositions';
  if (locations.size > 1) return 'locations';
  const text = `HTTP/1.${version} ${status} ${reason}\r\n${headerLines}${framing}\r\n`;
  return { status, text, isChunked: framing === chunkedLine };
}

/** Nobody asked for it. */
const switchingProtocols = 101;

/** A carriage return alone ends a line as well. */
function linesOf(text: string): string[] {
  const lines = text.split('\r\n').join('\n').split('\n');
  return text.includes('\r') && lines.some((line) => line.includes('\r')) ? lines.flatMap((line) => line.split('\r')) : lines;
}

/** Reads the status line. The defaults for missing parts are Chromium's: version 1.0, and status 200. */
function readStatusLine(line: string): { version: 0 | 1; status: number; reason: string } {
  const [, major, minor] = /^http\/(\d)\.(\d)/i.exec(line) ?? [];
  const version = Number(major) > 1 || (major === '1' && minor !== '0') ? 1 : 0;
  const blank = line.indexOf(' ');
  const rest = blank < 0 ? '' : line.slice(blank).trim();
  const digits = /^\d+/.exec(rest)?.[0] ?? '';
  return { version, status: digits === '' ? 200 : Number(digits), reason: rest.slice(digits.length).trim() };
}

/** The lines of a head that mean something, as text, and the values of those by which it may be refused. */
interface ReadLines {
  lines: string;
  lengths: Set<string>;
  /** Transfer codings. */
  codings: Set<string>;
  locations: Set<string>;
  dispositions: Set<string>;
}

/** Folded lines are one; a line without a name that is a token is none, as if it were not there. */
function readLines(lines: readonly string[]): ReadLines {
  const read: ReadLines = { lines: '', lengths: new Set(), codings: new Set(), locations: new Set(), dispositions: new Set() };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const colon = line.indexOf(':');
    if (colon <= 0 || isBlank(line.charCodeAt(0))) continue;
    const parts = [line.slice(colon + 1)];
    while (isBlank((lines[at + 1] ?? '').charCodeAt(0))) parts.push(trimBlanks(lines[(at += 1)] ?? ''));
    const name = trimBlanks(line.slice(0, colon));
    if (token.test(name)) addHeader(read, name, trimBlanks(parts.length > 1 ? parts.join(' ') : (parts[0] ?? '')));
  }
  return read;
}

/** The characters of a header's name (RFC 9110, 5.6.2). */
const token = /^[\w!#$%&'*+.^`|~-]+$/;

function addHeader(read: ReadLines, name: string, value: string): void {
  const lower = name.toLowerCase();
  if (lower === 'content-length') for (const length of value.split(',')) read.lengths.add(trimBlanks(length));
  else if (lower === 'transfer-encoding') for (const coding of value.split(',')) read.codings.add(trimBlanks(coding).toLowerCase());
  else {
    if (lower === 'location') read.locations.add(value);
    if (lower === 'content-disposition') read.dispositions.add(value);
    read.lines += `${name}: ${value}\r\n`;
  }
}

const chunkedLine = 'Transfer-Encoding: chunked\r\n';

/**
 * The one line that frames the body; null for lengths that differ: who took another one than the site, or the proxy
 * before us, would read one reply as two. A length that is no number is none: the body is all until the connection ends.
 */
function framingOf({ lengths, codings, version }: Pick<ReadLines, 'lengths' | 'codings'> & { version: 0 | 1 }): string | null {
  if (version === 1 && codings.has('chunked')) return chunkedLine;
  if (lengths.size > 1) return null;
  const [length = ''] = lengths;
  return /^\d+$/.test(length) && Number.isSafeInteger(Number(length)) ? `Content-Length: ${length}\r\n` : '';
}

/** Trims blanks by index: a regular expression for those at the end would start again at each of them. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;
