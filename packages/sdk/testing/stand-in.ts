/** A server that answers as a script says, and records what it was asked. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ScriptedReply {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  text?: string;
  events?: string[];
  bytes_at_a_time?: number;
  /** What happens after the events. Default: the body ends. */
  then?: 'drop' | 'hang';
  drop?: boolean;
  hang?: boolean;
}

export interface RecordedRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

export class StandIn {
  readonly requests: RecordedRequest[] = [];
  onRequest: () => void = () => undefined;
  #replies: ScriptedReply[] = [];
  #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.#answer(request, response));
  }

  static async start(): Promise<StandIn> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new StandIn(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  script(replies: readonly ScriptedReply[]): void {
    this.#replies = [...replies];
    this.requests.length = 0;
    this.onRequest = () => undefined;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    this.requests.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) });
    const reply = this.#replies.shift() ?? { status: 500, text: 'no reply is left' };
    this.onRequest();
    if (reply.drop) request.socket.destroy();
    else if (!reply.hang) await send(reply, response);
  }
}

async function send({ status = 200, headers = {}, body, text, events, ...rest }: ScriptedReply, response: ServerResponse): Promise<void> {
  const type = events ? 'text/event-stream' : body === undefined ? 'text/plain' : 'application/json';
  response.writeHead(status, { 'content-type': type, ...headers });
  if (!events) {
    response.end(body === undefined ? text : JSON.stringify(body));
    return;
  }
  const bytes = Buffer.from(events.join(''));
  const size = rest.bytes_at_a_time ?? bytes.length;
  // Each piece is sent before the next is written, so that a reader can get it by itself.
  for (let start = 0; start < bytes.length; start += size)
    await new Promise((resolve) => response.write(bytes.subarray(start, start + size), resolve));
  if (rest.then === 'drop') response.destroy();
  else if (rest.then !== 'hang') response.end();
}
