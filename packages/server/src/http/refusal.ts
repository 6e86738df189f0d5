import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '@berth/contract';
import { answerOf } from './errors.ts';

/** How long a caller may go on sending after it was refused. A close at once would reset the connection and lose the answer. */
const lingerMs = 1000;

const refused = new WeakSet<Duplex>();

/** Writes an answer on a bare socket, for what never became a request or a WebSocket, and closes it. */
export function refuse(socket: Duplex, thrown: unknown, requestId: string, extraHeaders?: Record<string, string>): void {
  // The parser reports each further piece of a request that it has given up.
  if (refused.has(socket)) return;
  refused.add(socket);
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = answerOf(thrown, requestId);
  const all = {
    ...extraHeaders,
    ...headers,
    'x-request-id': requestId,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    connection: 'close',
  };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
  socket.on('error', () => socket.destroy());
  socket.resume();
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${head.join('')}\r\n${body}`);
}

export type ParserError = Error & { code?: string | undefined; rawPacket?: unknown };

/** What was wrong with a request that node's parser has refused. */
export function parserError(error: ParserError, urlBytesMax: number): ServiceError {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ServiceError('request_timeout', 'The request took too long to arrive.');
  if (error.code !== 'HPE_HEADER_OVERFLOW')
    return new ServiceError('bad_request', 'The request is not well-formed HTTP.', { cause: error });
  const firstLine = Buffer.isBuffer(error.rawPacket) ? error.rawPacket.subarray(0, urlBytesMax + 16) : Buffer.alloc(0);
  if (firstLine.length > urlBytesMax && !firstLine.includes('\n') && /^[A-Z]+ \//.test(firstLine.toString('latin1', 0, 16)))
    return urlTooLong(urlBytesMax);
  return new ServiceError('headers_too_large', 'The headers are too large.');
}

export const urlTooLong = (limit: number): ServiceError =>
  new ServiceError('uri_too_long', `The address is longer than ${limit} bytes.`, { details: { limit_bytes: limit } });
