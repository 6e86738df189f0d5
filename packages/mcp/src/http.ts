/** MCP over HTTP: each request is answered by itself, in both eras of the protocol, by whichever process it reaches. */
import type { Berth } from '@berth/sdk';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { createServer, type ServerOptions } from './server.ts';

/** Older clients may send several messages in one request. Each may be a call that opens a browser. */
const messagesMax = 20;

/** What a request is answered with. */
export interface HttpCaller extends ServerOptions {
  /** The API, as who sent the request. */
  berth: Berth;
}

/** Answers a request whose body was read. Its signal ends what it started. */
export type HttpHandler = (request: Request, body: Uint8Array, caller: HttpCaller) => Promise<Response>;

/** The handler of an address. Who calls was found out before. */
export function createHttpHandler(): HttpHandler {
  const handler = createMcpHandler(({ authInfo }) => serverOf(authInfo?.extra?.['caller']), {
    // Tools do not change while the service runs, so there is nothing to listen to.
    maxSubscriptions: 0,
  });
  return async (request, body, caller) => {
    const message = parse(body);
    if (message === undefined) return failure(-32_700, 'Parse error: the body is not JSON.');
    if (Array.isArray(message) && message.length > messagesMax)
      return failure(-32_600, `Invalid request: a body has at most ${messagesMax} messages.`);
    const authInfo = { token: '', clientId: '', scopes: [], extra: { caller } };
    return handler.fetch(request, { authInfo, parsedBody: message });
  };
}

function serverOf(caller: unknown): ReturnType<typeof createServer> {
  const { berth, ...options } = caller as HttpCaller;
  return createServer(berth, options);
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

const failure = (code: number, message: string): Response =>
  Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status: 400 });
