/** A collector of traces, and the spans that it was sent. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: Record<string, unknown> }[];
  events?: unknown[];
  status: { code?: number; message?: string };
}
interface Export {
  resourceSpans: { resource: Pick<ReceivedSpan, 'attributes'>; scopeSpans: { spans: ReceivedSpan[] }[] }[];
}

export const valuesOf = ({ attributes }: Pick<ReceivedSpan, 'attributes'>): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** Takes OTLP over HTTP as JSON. */
export class Collector {
  readonly spans: ReceivedSpan[] = [];
  readonly resources: Record<string, unknown>[] = [];
  readonly requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  text = '';
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      this.requests.push({ path: request.url ?? '', headers: request.headers });
      void json(request).then((body) => {
        this.#take(body as Export);
        response.setHeader('content-type', 'application/json').end('{}');
      });
    });
  }

  #take(body: Export): void {
    this.text += JSON.stringify(body);
    for (const { resource, scopeSpans } of body.resourceSpans) {
      this.resources.push(valuesOf(resource));
      for (const { spans } of scopeSpans) this.spans.push(...spans);
    }
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  of(traceId: string, name: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId && span.name === name);
  }
}

/** The span of a caller. */
export const parentOfTraces = '00f067aa0ba902b7';

export const traceparentOf = (traceId: string, isSampled = true): Record<string, string> => ({
  traceparent: `00-${traceId}-${parentOfTraces}-${isSampled ? '01' : '00'}`,
});
