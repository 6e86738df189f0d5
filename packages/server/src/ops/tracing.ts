/** Sends spans by OTLP over HTTP. Imported only where that is configured. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span as OtelSpan,
  type TextMapGetter,
  type Tracer as OtelTracer,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { ServiceError } from '@berth/contract';
import { installTracer, type RequestSpan, type Span, type SpanAttributes, type Tracer } from '@berth/lib/tracing.ts';
import { withoutTrailing } from '@berth/lib/text/urls.ts';

export interface TracingOptions {
  /** Base URL of the collector, without `/v1/traces`. */
  endpoint: string;
  /** Sent with each export. */
  headers: Record<string, string>;
  serviceName: string;
  version: string;
  workerId: string;
  /** Share of the traces that are sent, from 0 to 1. */
  share: number;
}

/** Spans wait this long for others of their batch. */
const batchMs = 2000;
/** Spans that are not sent yet; more are dropped while the collector does not answer. */
const queuedMax = 4096;
const exportMsMax = 10_000;
/** What is left at a stop is sent for at most this long. */
const stopMsMax = 3000;
/** Longer ones, of callers, are cut. */
const attributeCharsMax = 256;

/** Installs the tracer. The result sends what is left and removes it. */
export function startTracing({ endpoint, headers, serviceName, version, workerId, share }: TracingOptions): () => Promise<void> {
  const exporter = new OTLPTraceExporter({ url: `${withoutTrailing(endpoint, '/')}/v1/traces`, headers, timeoutMillis: exportMsMax });
  const ratio = new TraceIdRatioBasedSampler(share);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': serviceName,
      'service.version': version,
      'service.instance.id': workerId,
    }),
    // A caller may ask for no trace, and never for more than the share.
    sampler: new ParentBasedSampler({ root: ratio, remoteParentSampled: ratio }),
    spanProcessors: [
      new BatchSpanProcessor({ exporter, scheduledDelayMillis: batchMs, maxQueueSize: queuedMax, exportTimeoutMillis: exportMsMax }),
    ],
    spanLimits: { attributeValueLengthLimit: attributeCharsMax },
  });
  installTracer(new OtlpTracer(provider.getTracer('berth', version)));
  return async () => {
    installTracer(null);
    await provider.forceFlush({ timeoutMillis: stopMsMax }).catch(() => undefined);
    await provider.shutdown().catch(() => undefined);
  };
}

/** The span that is around what runs. Timers and events that a span leaves behind run after its end. */
interface Scope {
  context: Context;
  isOpen: boolean;
}

const getter: TextMapGetter<IncomingHttpHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, name) => headers[name],
};

class OtlpTracer implements Tracer {
  readonly #tracer: OtelTracer;
  readonly #scopes = new AsyncLocalStorage<Scope | undefined>();
  readonly #propagator = new W3CTraceContextPropagator();

  constructor(tracer: OtelTracer) {
    this.#tracer = tracer;
  }

  request(headers: IncomingHttpHeaders): RequestSpan {
    const caller = this.#propagator.extract(ROOT_CONTEXT, headers, getter);
    const span = this.#tracer.startSpan('request', { kind: SpanKind.SERVER }, caller);
    const scope: Scope = { context: trace.setSpan(caller, span), isOpen: true };
    return {
      traceparent: traceparentOf(span),
      run: (work) => this.#scopes.run(scope, work),
      end: (name, attributes) => {
        scope.isOpen = false;
        span.updateName(name).setAttributes(attributes);
        if (attributes['http.response.status_code'] >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  }

  span<T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T> {
    return this.#run(name, { kind: SpanKind.INTERNAL, attributes, parent: this.#scopes.getStore()?.context ?? ROOT_CONTEXT }, work);
  }

  childSpan<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T> {
    const scope = this.#scopes.getStore();
    return scope?.isOpen ? this.#run(name, { kind: SpanKind.CLIENT, attributes, parent: scope.context }, work) : work();
  }

  detached<T>(work: () => T): T {
    return this.#scopes.run(undefined, work);
  }

  async #run<T>(
    name: string,
    { kind, attributes, parent }: { kind: SpanKind; attributes: SpanAttributes; parent: Context },
    work: (span: Span) => Promise<T>,
  ): Promise<T> {
    const span = this.#tracer.startSpan(name, { kind, attributes }, parent);
    const scope: Scope = { context: trace.setSpan(parent, span), isOpen: true };
    try {
      return await this.#scopes.run(scope, () => work({ set: (more) => void span.setAttributes(more) }));
    } catch (error) {
      // Not its message, which may hold addresses and text of pages.
      span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', errorTypeOf(error));
      throw error;
    } finally {
      scope.isOpen = false;
      span.end();
    }
  }
}

const errorTypeOf = (error: unknown): string =>
  error instanceof ServiceError ? error.code : error instanceof Error ? error.constructor.name : typeof error;

function traceparentOf(span: OtelSpan): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags & TraceFlags.SAMPLED ? '01' : '00'}`;
}
