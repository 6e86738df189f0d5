import { createHash } from 'node:crypto';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

/** Responses as sites send them, byte by byte, and what Chromium shows for each: asked directly, without a service. */
export interface OddResponse {
  name: string;
  /** Written as it is, one letter a byte, and then the connection ends. */
  raw: string;
  status: number | null;
  /** null: nothing is shown. */
  text: string | null;
  netError?: string;
  /** Where a browser shows less or more than `http` returns, which warns of it. */
  textOfBrowser?: string | null;
  warnings?: readonly string[];
  /** Where those of a browser are others. */
  warningsOfBrowser?: readonly string[];
}

const body = '<p>body one';
const type = 'Content-Type: text/html';
const length = 'Content-Length: 11';

/** A head whose lines end as the standard has it, and a body. */
const reply = (lines: readonly string[], content = body): string => `${lines.join('\r\n')}\r\n\r\n${content}`;
const shown = (name: string, raw: string, status = 200, text = 'body one'): OddResponse => ({ name, raw, status, text });
const withHeaders = (name: string, ...headers: string[]): OddResponse => shown(name, reply(['HTTP/1.1 200 OK', ...headers]));
const withStatusLine = (name: string, line: string, status = 200): OddResponse => shown(name, reply([line, type, length]), status);
const refused = (name: string, raw: string, netError: string): OddResponse => ({ name, raw, status: null, text: null, netError });
const chunked = (content = body): string => `${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n`;

const lengths = 'net::ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH';
const invalid = 'net::ERR_INVALID_HTTP_RESPONSE';

export const oddHeads: readonly OddResponse[] = [
  withHeaders('equal lengths', type, length, length),
  withHeaders('equal lengths in one line', type, 'Content-Length: 11, 11'),
  refused('different lengths', reply(['HTTP/1.1 200 OK', type, length, 'Content-Length: 5']), lengths),
  refused('different lengths in one line', reply(['HTTP/1.1 200 OK', type, 'Content-Length: 5, 11']), lengths),
  refused('lengths of equal value written differently', reply(['HTTP/1.1 200 OK', type, length, 'Content-Length: 011']), lengths),
  withHeaders('a length with a sign', type, 'Content-Length: +5'),
  withHeaders('a negative length', type, 'Content-Length: -5'),
  withHeaders('a length with a unit', type, 'Content-Length: 5 bytes'),
  withHeaders('an empty length', type, 'Content-Length:'),
  withHeaders('a length beyond all numbers', type, `Content-Length: ${'9'.repeat(30)}`),
  shown('a length beside chunks', reply(['HTTP/1.1 200 OK', type, 'Content-Length: 3', 'Transfer-Encoding: chunked'], chunked())),
  shown(
    'two lengths beside chunks',
    reply(['HTTP/1.1 200 OK', type, 'Content-Length: 3', 'Content-Length: 4', 'Transfer-Encoding: chunked'], chunked()),
  ),
  shown('chunks and another coding', reply(['HTTP/1.1 200 OK', type, 'Transfer-Encoding: chunked, identity'], chunked())),
  withHeaders('a coding that is none beside a length', type, 'Transfer-Encoding: identity', length),
  withHeaders('blanks before a colon', 'Content-Type : text/html', 'Content-Length\t: 11'),
  withHeaders('a name with a blank', type, 'X A: 1', length),
  withHeaders('a name that is no token', type, 'X[a]@b: 1', length),
  withHeaders('a name with letters beyond ASCII', type, 'X-Gr\xf6\xdfe: 1', length),
  withHeaders('a name with a control character', type, 'X\x01A: 1', length),
  withHeaders('a line without a name', type, ': 1', length),
  withHeaders('a line without a colon', 'nonsense', type, length),
  withHeaders('a status line twice', 'HTTP/1.1 200 OK', type, length),
  withHeaders('folded lines', 'Content-Type: text/html;', '\tcharset=utf-8', 'X-A: one', '  two', length),
  withHeaders('a folded length', type, 'Content-Length: 1', ' 1'),
  withHeaders('a folded line before the first', ' X: 1', type, length),
  shown('line feeds alone', reply(['HTTP/1.1 200 OK', type, length]).replaceAll('\r\n', '\n')),
  shown('line feeds here and there', `HTTP/1.1 200 OK\n${type}\r\n${length}\n\r\n${body}`),
  withHeaders('a carriage return in a value', type, 'X-A: a\rb', length),
  withHeaders('control characters in a value', type, 'X-A: a\x01\x7fb', length),
  withHeaders('letters beyond ASCII in a value', type, 'X-A: caf\xe9', length),
  withStatusLine('no reason', 'HTTP/1.1 200'),
  withStatusLine('a reason beyond ASCII', 'HTTP/1.1 200 D\xe9j\xe0'),
  withStatusLine('a protocol in small letters', 'http/1.1 200 OK'),
  withStatusLine('a protocol without a version', 'HTTP 200 OK'),
  withStatusLine('a short version', 'HTTP/2 200 OK'),
  withStatusLine('a long version', 'HTTP/1.1.1 200 OK'),
  withStatusLine('blanks in a status line', 'HTTP/1.1   404   None', 404),
  withStatusLine('tabs in a status line', 'HTTP/1.1\t200\tOK'),
  withStatusLine('no status', 'HTTP/1.1'),
  withStatusLine('a reason without a status', 'HTTP/1.1 OK'),
  withStatusLine('a status with its reason attached', 'HTTP/1.1 404None', 404),
  withStatusLine('a status that nobody knows', 'HTTP/1.1 799 Odd', 799),
  refused('a status of two digits', reply(['HTTP/1.1 20 OK', type, length]), invalid),
  refused('a status of four digits', reply(['HTTP/1.1 2000 OK', type, length]), invalid),
  shown('empty lines before the head', `\r\n\r\n${reply(['HTTP/1.1 200 OK', type, length])}`),
  shown('four letters before the head', `abc ${reply(['HTTP/1.1 200 OK', type, length])}`),
  refused('five letters before the head', `abcde${reply(['HTTP/1.1 200 OK', type, length])}`, invalid),
  refused('a body without a head', body, invalid),
  refused('another protocol', 'SSH-2.0-OpenSSH_9.6\r\n', invalid),
  refused('a zero in a value', reply(['HTTP/1.1 200 OK', type, 'X-A: a\0b', length]), invalid),
  refused('a head that is cut short', `HTTP/1.1 200 OK\r\n${type}\r\nX-A: b`, 'net::ERR_RESPONSE_HEADERS_TRUNCATED'),
  refused(
    'a protocol that nobody asked for',
    reply(['HTTP/1.1 101 Switching Protocols', 'Upgrade: h2c', 'Connection: upgrade'], ''),
    invalid,
  ),
  refused(
    'different places to go to',
    reply(['HTTP/1.1 302 Found', 'Location: /a', 'Location: /b', 'Content-Length: 0'], ''),
    'net::ERR_RESPONSE_HEADERS_MULTIPLE_LOCATION',
  ),
  refused(
    'different dispositions',
    reply(['HTTP/1.1 200 OK', type, 'Content-Disposition: inline', 'Content-Disposition: inline; filename=b', length]),
    'net::ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_DISPOSITION',
  ),
  shown(
    'early hints with lengths',
    reply(['HTTP/1.1 103 Early Hints', length, length], '') + reply(['HTTP/1.1 200 OK', type, length, length]),
  ),
  withHeaders('a head of 200 KiB', type, `X-A: ${'x'.repeat(200_000)}`, length),
  refused('a head of 300 KiB', reply(['HTTP/1.1 200 OK', type, `X-A: ${'x'.repeat(300_000)}`]), 'net::ERR_RESPONSE_HEADERS_TOO_BIG'),
  withHeaders('3000 headers', type, ...Array.from({ length: 3000 }, (_, n) => `X-${n}: 1`), length),
  { name: 'no content', raw: reply(['HTTP/1.1 204 No Content'], ''), status: 204, text: null },
  { name: 'a body beside no content', raw: reply(['HTTP/1.1 204 No Content', length]), status: 204, text: null },
  { name: 'a reset of content', raw: reply(['HTTP/1.1 205 Reset Content', type, length]), status: 205, text: null },
  { name: 'a page that has not changed', raw: reply(['HTTP/1.1 304 Not Modified', 'ETag: "x"'], ''), status: 304, text: null },
];

/** Text, and then what no page shows and hardly packs: a body that is cut in the middle has the text. */
const packedPage = `${body}</p><!--${createHash('shake256', { outputLength: 600 }).update('noise').digest('hex')}-->`;
const packers = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync, zstd: zstdCompressSync };
const packed = (encoding: keyof typeof packers): Buffer => packers[encoding](packedPage);
const withWrongChecksum = (bytes: Buffer): Buffer => bytes.fill(1, bytes.length - 8, bytes.length - 4);
const half = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length / 2);

/** A page whose body is these bytes. */
const sent = (bytes: Buffer | string, ...headers: string[]): string =>
  reply(['HTTP/1.1 200 OK', type, ...headers], Buffer.from(bytes).toString('latin1'));
const encoded = (encoding: string, bytes: Buffer | string): string =>
  sent(bytes, `Content-Encoding: ${encoding}`, `Content-Length: ${Buffer.from(bytes).length}`);
const cut = (name: string, raw: string): OddResponse => ({ ...shown(name, raw), warnings: ['body_truncated'] });
/** Chromium does not say that it left something out, or that the response names an encoding which does not exist. */
const shownUnaware = (name: string, raw: string, warning: string): OddResponse => ({
  ...shown(name, raw),
  warnings: [warning],
  warningsOfBrowser: [],
});
const withType = (name: string, ...headers: string[]): OddResponse =>
  shown(name, reply(['HTTP/1.1 200 OK', ...headers, 'Content-Length: 17'], `<html>${body}`));
const blank = (name: string, raw: string, status = 200): OddResponse => ({ name, raw, status, text: null });

const mismatch = 'net::ERR_CONTENT_LENGTH_MISMATCH';
const decodingFailed = 'net::ERR_CONTENT_DECODING_FAILED';
const chunks = 'Transfer-Encoding: chunked';
const encodings = ['gzip', 'br', 'deflate', 'zstd'] as const;

/** Parts, each of which is to replace the one before it. */
const multipart = (partType: string, ...parts: string[]): string =>
  reply(
    ['HTTP/1.1 200 OK', 'Content-Type: multipart/x-mixed-replace; boundary=b'],
    `${parts.map((part) => `--b\r\nContent-Type: ${partType}\r\n\r\n${part}\r\n`).join('')}--b--\r\n`,
  );

export const oddBodies: readonly OddResponse[] = [
  cut('a length beyond the body', sent(body, 'Content-Length: 500')),
  cut('chunks without a last one', sent(`b\r\n${body}\r\n`, chunks)),
  cut('a chunk that is cut short', sent(`50\r\n${body}`, chunks)),
  cut('a last chunk without an end', sent(`b\r\n${body}\r\n0\r\n`, chunks)),
  cut('a length beyond a packed body', sent(packed('gzip'), 'Content-Encoding: gzip', 'Content-Length: 5000')),
  cut('a length beyond half a packed body', sent(half(packed('br')), 'Content-Encoding: br', 'Content-Length: 5000')),
  // Chromium drops what it has read when it meets the error.
  { ...cut('a chunk of more than its size', sent(`5\r\n${body}\r\n0\r\n\r\n`, chunks)), text: 'bo', textOfBrowser: null },
  cut('a second chunk without a size', sent(`b\r\n${body}\r\nwords\r\n0\r\n\r\n`, chunks)),
  shown('a length before the end of the body', sent(`${body} and more`, length)),
  shown('a length without the compression', sent(packed('gzip'), 'Content-Encoding: gzip', `Content-Length: ${packedPage.length}`)),
  shown('chunks whose lines end with line feeds', sent(`b\n${body}\n0\n\n`, chunks)),
  shown('chunks and trailers whose lines end with line feeds', sent(`b\n${body}\n0\nX-Sum: 1\n\n`, chunks)),
  shown('two chunks whose lines end in two ways', sent(`5\n${body.slice(0, 5)}\r\n6\r\n${body.slice(5)}\n0\n\r\n`, chunks)),
  shown('chunks with empty extensions', sent(`b;\r\n${body}\r\n0;\r\n\r\n`, chunks)),
  shown('chunks with blanks and odd letters in extensions', sent(`b ; a = \xe9\x01\r\n${body}\r\n0\r\n\r\n`, chunks)),
  shown('trailers without a colon', sent(`b\r\n${body}\r\n0\r\nnonsense\r\n\r\n`, chunks)),
  cut('a last chunk without an end in line feeds', sent(`b\n${body}\n0\n`, chunks)),
  cut('an empty line before the last chunk', sent(`b\r\n${body}\r\n\r\n0\r\n\r\n`, chunks)),
  refused('chunks with a tab behind a size', sent(`b\t\r\n${body}\r\n0\r\n\r\n`, chunks), 'net::ERR_INCOMPLETE_CHUNKED_ENCODING'),
  shown('chunks with blanks behind their sizes', sent(`b  \r\n${body}\r\n0\r\n\r\n`, chunks)),
  shown('chunks with sizes in capitals and zeros', sent(`000B\r\n${body}\r\n000\r\n\r\n`, chunks)),
  refused('chunks with a sign', sent(`+b\r\n${body}\r\n0\r\n\r\n`, chunks), 'net::ERR_INCOMPLETE_CHUNKED_ENCODING'),
  refused('chunks with a size in C', sent(`0xb\r\n${body}\r\n0\r\n\r\n`, chunks), 'net::ERR_INCOMPLETE_CHUNKED_ENCODING'),
  {
    ...shownUnaware(
      'gzip of two members',
      encoded('gzip', Buffer.concat([packed('gzip'), gzipSync('<p>body two')])),
      'content_decoding_failed',
    ),
    text: 'body one\n\nbody two',
    textOfBrowser: 'body one',
  },
  shown('raw deflate', encoded('deflate', deflateRawSync(packedPage))),
  shown('deflate', encoded('deflate', packed('deflate'))),
  {
    ...shownUnaware(
      'zstd of two frames',
      encoded('zstd', Buffer.concat([packed('zstd'), zstdCompressSync('<p>body two')])),
      'content_decoding_failed',
    ),
    textOfBrowser: 'body one\n\nbody two',
  },
  ...(['br', 'deflate'] as const).map((encoding) =>
    shownUnaware(
      `bytes after ${encoding}`,
      encoded(encoding, Buffer.concat([packed(encoding), Buffer.from('more')])),
      'content_decoding_failed',
    ),
  ),
  blank('a page in parts that replace each other', multipart('text/html', body, '<p>body two')),
  blank('words in parts that replace each other', multipart('text/plain', 'body one', 'body two')),
  blank('one part that is never replaced', multipart('text/html', body)),
  blank('parts without a boundary', reply(['HTTP/1.1 200 OK', 'Content-Type: multipart/x-mixed-replace'], body)),
  refused('a length and nothing else', sent('', 'Content-Length: 500'), mismatch),
  refused('chunks that never come', sent('', chunks), 'net::ERR_INCOMPLETE_CHUNKED_ENCODING'),
  ...(['gzip', 'br', 'deflate'] as const).map((encoding) =>
    shownUnaware(`half of what ${encoding} packed`, encoded(encoding, half(packed(encoding))), 'body_truncated'),
  ),
  shownUnaware('half of raw deflate', encoded('deflate', half(deflateRawSync(packedPage))), 'body_truncated'),
  shownUnaware('gzip without its checksum', encoded('gzip', packed('gzip').subarray(0, -8)), 'body_truncated'),
  shownUnaware('gzip with a wrong checksum', encoded('gzip', withWrongChecksum(packed('gzip'))), 'content_decoding_failed'),
  shownUnaware('bytes after gzip', encoded('gzip', Buffer.concat([packed('gzip'), Buffer.from('more')])), 'content_decoding_failed'),
  ...encodings.map((encoding) => refused(`a page that is not packed by ${encoding}`, encoded(encoding, body), decodingFailed)),
  ...['none', 'utf-8', 'compress', 'aws-chunked'].map((encoding) =>
    shownUnaware(`the encoding ${encoding}`, encoded(encoding, body), 'content_encoding_unknown'),
  ),
  ...['GZIP', 'x-gzip'].map((encoding) => shown(`the encoding ${encoding}`, encoded(encoding, packed('gzip')))),
  shown('the encoding identity', encoded('identity', body)),
  shown('an encoding without a name', encoded('', body)),
  shown('two encodings', encoded('gzip, br', brotliCompressSync(packed('gzip')))),
  shown('an encoding twice', encoded('gzip, gzip', gzipSync(packed('gzip')))),
  blank('a page of no bytes', sent('', 'Content-Length: 0')),
  blank('a page that ends at once', sent('')),
  blank('no type and no bytes', reply(['HTTP/1.1 200 OK', 'Content-Length: 0'], '')),
  blank('an error of no bytes', reply(['HTTP/1.1 404 Not Found', 'Content-Length: 0'], ''), 404),
  blank('a packed page of no bytes', encoded('gzip', '')),
  withType('no type'),
  withType('an empty type', 'Content-Type:'),
  withType('a type without a slash', 'Content-Type: nonsense'),
  withType('any type', 'Content-Type: */*'),
  withType('an unknown type', 'Content-Type: unknown/unknown'),
  withType('a type in capitals', 'Content-Type: TEXT/HTML ;charset=utf-8'),
  withType('HTML that may not be sniffed', type, 'X-Content-Type-Options: nosniff'),
  withType('two types', 'Content-Type: text/plain', type),
  shown('no type and words', reply(['HTTP/1.1 200 OK', 'Content-Length: 8'], 'body one')),
  shown('continue before the head', `HTTP/1.1 100 Continue\r\n\r\n${sent(body)}`),
  shown('all that may come before the head', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${sent(body)}`),
  refused('nothing after continue', 'HTTP/1.1 100 Continue\r\n\r\n', 'net::ERR_EMPTY_RESPONSE'),
  shown('trailers', sent(`b\r\n${body}\r\n0\r\nX-Sum: 1\r\n\r\n`, chunks)),
  shown('chunks with extensions', sent(`b;a=b\r\n${body}\r\n0\r\n\r\n`, chunks)),
  shown('bytes after the last chunk', sent(`b\r\n${body}\r\n0\r\n\r\nmore`, chunks)),
  shown(
    'an event stream that ends',
    reply(['HTTP/1.1 200 OK', 'Content-Type: text/event-stream'], 'data: body one\n\n'),
    200,
    'data: body one',
  ),
];
