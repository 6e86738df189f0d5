/**
 * The MCP server at the service. It is a client of the API within this process: what a tool does is a call as its
 * caller, which is limited, charged and audited like one from outside.
 */
import { ServiceError } from '@berth/contract';
import { createHttpHandler, type Family } from '@berth/mcp';
import { Berth } from '@berth/sdk';
import type { Principal } from '../accounts/principals/principals.ts';
import type { ReadableHeader } from '../http/call.ts';
import type { InnerCall } from '../http/inner.ts';

export { mayCallApi } from './rights.ts';

/** What of a request its answer depends on. */
export interface McpCall {
  principal: Principal;
  origin: string;
  target: string;
  rawBody: Buffer;
  signal: AbortSignal;
  header(name: ReadableHeader): string | undefined;
}

export interface McpSettings {
  tools?: Family[] | undefined;
  idle_seconds?: number | undefined;
}

interface McpDeps {
  fetchAs(call: InnerCall): typeof fetch;
  /** The configured public URL of the service. */
  publicUrl: string | null;
}

/** Headers that say which message of the protocol the body is. */
const protocolHeaders = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

export class Mcp {
  readonly #deps: McpDeps;
  readonly #handler = createHttpHandler();

  constructor(deps: McpDeps) {
    this.#deps = deps;
  }

  /** @throws ServiceError origin_not_allowed */
  answer(call: McpCall, { tools: families, idle_seconds: idleSeconds }: McpSettings): Promise<Response> {
    this.#checkOrigin(call.header('origin'));
    const { principal, origin, rawBody, signal } = call;
    const headers = new Headers({ 'content-type': 'application/json' });
    for (const name of protocolHeaders) headers.set(name, call.header(name) ?? '');
    for (const name of protocolHeaders) if (headers.get(name) === '') headers.delete(name);
    const request = new Request(origin + call.target, { method: 'POST', headers, signal });
    return this.#handler(request, rawBody, {
      // The key is not read: the service knows the caller already.
      berth: new Berth({ baseUrl: origin, apiKey: 'caller', fetch: this.#deps.fetchAs({ principal, origin }) }),
      ...(families ? { families } : {}),
      ...(idleSeconds === undefined ? {} : { idleSeconds }),
    });
  }

  /** A page whose name was pointed at this host is refused: programs send no Origin, and pages of this host are its owner's. */
  #checkOrigin(origin: string | undefined): void {
    if (origin === undefined || origin === this.#deps.publicUrl || isLoopbackOrigin(origin)) return;
    throw new ServiceError('origin_not_allowed', 'Pages of other origins must not call this address.');
  }
}

const isLoopbackOrigin = (origin: string): boolean => /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/.test(origin);
