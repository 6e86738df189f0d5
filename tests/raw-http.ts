/** Requests that fetch cannot send: repeated headers and WebSocket upgrades. */
import { request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import WebSocket from 'ws';
import { assertIfDeclared } from './contract/declared-replies.ts';
import type { Reply } from './harness.ts';

export interface RawRequest {
  method: string;
  path: string;
  /** Sent in this order, including repeated names. */
  headers: readonly (readonly [string, string])[];
  body?: string;
}

export async function sendAsIs(origin: string, { method, path, headers, body }: RawRequest): Promise<Reply> {
  const { host, hostname, port } = new URL(origin);
  const length: [string, string][] = body === undefined ? [] : [['content-length', String(Buffer.byteLength(body))]];
  const flat = [['host', host] as const, ...headers, ...length].flat();
  const outgoing = request({ hostname, port, method, path, headers: flat, agent: false });
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const isJson = incoming.headers['content-type']?.startsWith('application/json');
  const reply = {
    status: incoming.statusCode ?? 0,
    headers: new Headers(toPairs(incoming.rawHeaders)),
    text,
    body: isJson ? JSON.parse(text) : undefined,
  };
  assertIfDeclared(method, path, reply);
  return reply;
}

function toPairs(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? '', raw[at + 1] ?? '']);
  return pairs;
}

export interface DevtoolsSocket {
  socket: WebSocket;
  /** Sends a command and returns its `result`. Throws on an error response. */
  send(method: string, params?: object, sessionId?: string): Promise<Record<string, unknown>>;
  /** Resolves when the other side has closed the socket. */
  closed: Promise<{ code: number; reason: string }>;
}

/** The reply to a refused upgrade. */
export class RefusedError extends Error {
  readonly reply: Reply;
  constructor(reply: Reply) {
    super(`refused with ${reply.status}: ${reply.text}`);
    this.reply = reply;
  }
}

/** Opens the DevTools socket. @throws RefusedError when the upgrade is refused. */
export async function openSocket(address: string, headers: Record<string, string> = {}): Promise<DevtoolsSocket> {
  const socket = new WebSocket(address, { headers, perMessageDeflate: false });
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })),
  );
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
    socket.once('unexpected-response', (_outgoing, incoming) => {
      let text = '';
      incoming.on('data', (chunk: Buffer) => (text += chunk.toString()));
      incoming.on('end', () => {
        const isJson = incoming.headers['content-type']?.startsWith('application/json');
        reject(
          new RefusedError({
            status: incoming.statusCode ?? 0,
            headers: new Headers(toPairs(incoming.rawHeaders)),
            text,
            body: isJson ? JSON.parse(text) : undefined,
          }),
        );
        socket.terminate();
      });
    });
  });
  socket.on('error', () => socket.terminate());
  const answers = new Map<number, (message: { result?: Record<string, unknown>; error?: { message: string } }) => void>();
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) return;
    const message = JSON.parse(data.toString()) as { id?: number; result?: Record<string, unknown>; error?: { message: string } };
    if (message.id !== undefined) answers.get(message.id)?.(message);
  });
  let lastId = 0;
  const send = async (method: string, params: object = {}, sessionId?: string): Promise<Record<string, unknown>> => {
    const id = ++lastId;
    const answered = new Promise<{ result?: Record<string, unknown>; error?: { message: string } }>((resolve) => answers.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params, ...(sessionId ? { sessionId } : {}) }));
    const { result, error } = await answered;
    if (!result) throw new Error(`${method}: ${error?.message}`);
    return result;
  };
  return { socket, send, closed };
}

/** Returns the reply to a refused upgrade. Fails when it is accepted. */
export async function refusedSocket(address: string, headers: Record<string, string> = {}): Promise<Reply> {
  try {
    const { socket } = await openSocket(address, headers);
    socket.terminate();
  } catch (error) {
    if (error instanceof RefusedError) {
      assertIfDeclared('GET', address, error.reply);
      return error.reply;
    }
    throw error;
  }
  throw new Error('the upgrade was accepted');
}
