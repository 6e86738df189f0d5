/** Sends the response of another worker to the client of this one. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Exchange } from '../server/exchange.ts';
import { closeFrame, FrameBoundary } from '../server/frame-boundary.ts';
import { workerHeader, type ForwardedResponse, type ForwardedSocket } from './forward.ts';

/** Time that a client has to close its side, once the other worker's side has closed. */
const closeGraceMs = 2000;

interface RelayOptions {
  /** The worker that answered. */
  workerId: string;
  /** Whether the client is asked to close the connection. */
  isClosing: boolean;
}

/** Resolves when the response is sent. One that breaks off breaks the client's connection, too. */
export async function relayResponse(
  exchange: Exchange,
  { status, headers, body }: ForwardedResponse,
  options: RelayOptions,
): Promise<void> {
  const { response } = exchange;
  if (!response || response.destroyed) return void body.destroy();
  // Node takes names and values in turn; its types know only objects.
  response.writeHead(status, [...headers, ...ownHeaders(exchange, options)] as unknown as OutgoingHttpHeaders);
  // A short one has come whole by now: one write, without the wait for its parts.
  if (body.complete && !body.errored) return void response.end(body.read());
  if (!exchange.isEndless) return pipeline(body, response);
  // The end of an event stream is no failure: clients reconnect.
  exchange.signal.addEventListener('abort', () => endStream(response, body), { once: true });
  body.pipe(response);
  body.on('error', () => response.end());
  response.once('close', () => body.destroy());
}

function endStream(response: ServerResponse, body: ForwardedResponse['body']): void {
  body.unpipe(response);
  body.destroy();
  if (!response.destroyed) response.end();
}

/** Completes the handshake with the client, and passes bytes both ways from then on. */
export function relaySocket(exchange: Exchange, client: { socket: Duplex; head: Buffer }, other: ForwardedSocket, workerId: string): void {
  const { socket } = client;
  const head = headOf(101, [
    ...other.headers,
    'connection',
    'Upgrade',
    'upgrade',
    'websocket',
    ...ownHeaders(exchange, { workerId, isClosing: false }),
  ]);
  for (const each of [socket, other.socket]) noDelay(each);
  socket.write(head);
  if (other.head.length > 0) socket.write(other.head);
  if (client.head.length > 0) other.socket.write(client.head);
  other.socket.on('error', () => other.socket.destroy());
  socket.once('close', () => other.socket.destroy());
  // What it sent last is on its way: the end of the pipe ends the client's side.
  other.socket.once('close', () => endSocket(socket));
  const frames = new FrameBoundary();
  frames.pass(other.head);
  other.socket.on('data', (bytes: Buffer) => void frames.pass(bytes));
  socket.pipe(other.socket);
  other.socket.pipe(socket);
  exchange.signal.addEventListener('abort', () => closeBetweenFrames(socket, other.socket, frames), { once: true });
}

/** This worker stops: the client is informed as soon as the frame that is on its way has passed. */
function closeBetweenFrames(socket: Duplex, other: Duplex, frames: FrameBoundary): void {
  if (socket.destroyed || socket.writableEnded) return;
  const close = (): void => {
    if (!frames.hasClosed) socket.write(closeFrame(1012, 'service_restart'));
    endSocket(socket);
  };
  other.unpipe(socket);
  if (frames.isReached) close();
  else {
    other.removeAllListeners('data');
    other.on('data', (bytes: Buffer) => {
      const end = frames.pass(bytes);
      if (!socket.writableEnded) socket.write(end === null ? bytes : bytes.subarray(0, end));
      if (end !== null && !socket.writableEnded) close();
    });
  }
  other.resume();
}

/** A client that does not close its side holds nothing for longer. */
function endSocket(socket: Duplex): void {
  if (!socket.writableEnded) socket.end();
  const timer = setTimeout(() => socket.destroy(), closeGraceMs).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** Relays a refusal of the handshake. The connection is closed after it. */
export async function relayRefusal(
  exchange: Exchange,
  socket: Duplex,
  { status, headers, body }: ForwardedResponse,
  workerId: string,
): Promise<void> {
  socket.write(headOf(status, [...headers, ...ownHeaders(exchange, { workerId, isClosing: true })]));
  await pipeline(body, socket);
}

function ownHeaders({ rateHeaders = {}, traceparent }: Exchange, { workerId, isClosing }: RelayOptions): string[] {
  return [
    ...Object.entries(rateHeaders).flat(),
    ...(traceparent === undefined ? [] : ['traceparent', traceparent]),
    workerHeader,
    workerId,
    ...(isClosing ? ['connection', 'close'] : []),
  ];
}

function headOf(status: number, headers: readonly string[]): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
  return `${text}\r\n`;
}

function noDelay(socket: Duplex): void {
  if ('setNoDelay' in socket && typeof socket.setNoDelay === 'function') socket.setNoDelay(true);
}
