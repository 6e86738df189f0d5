import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '@berth/contract';
import { toErrorResponse } from './errors.ts';

/** A refused client may go on sending for this long. An immediate close would reset the connection and lose the response. */
const lingerMs = 1000;

const refused = new WeakSet<Duplex>();

/** Writes an error response to a raw socket that never became a request or WebSocket, and closes it. */
export function refuse(socket: Duplex, thrown: unknown, requestId: string, extraHeaders?: Record<string, string>): void {
  // The parser reports an error for each further chunk of a rejected request.
  if (refused.has(socket)) return;
  refused.add(socket);
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body: text } = toErrorResponse(thrown, requestId);
  const body = `${text}\n`;
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

/** The error of a request that Node's parser has rejected. */
export function parserError(error: ParserError, urlBytesMax: number): ServiceError {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ServiceError('request_timeout', 'The request took too long to arrive. Send it again.');
  if (error.code !== 'HPE_HEADER_OVERFLOW')
    return new ServiceError('bad_request', 'The request is not well-formed HTTP. Correct the request.', { cause: error });
  const firstLine = Buffer.isBuffer(error.rawPacket) ? error.rawPacket.subarray(0, urlBytesMax + 16) : Buffer.alloc(0);
  if (firstLine.length > urlBytesMax && !firstLine.includes('\n') && /^[A-Z]+ \//.test(firstLine.toString('latin1', 0, 16)))
    return urlTooLong(urlBytesMax);
  return new ServiceError('headers_too_large', 'The request headers are too large. Send fewer or shorter headers.');
}

export const urlTooLong = (limit: number): ServiceError =>
  new ServiceError('uri_too_long', `The URL is longer than ${limit} bytes. Shorten it.`, { details: { limit_bytes: limit } });
