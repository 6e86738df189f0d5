/**
 * Spans of OpenTelemetry, where the service is configured to send them.
 *
 * What is traced knows only this file. Without a tracer a span is one
 * comparison, and nothing of OpenTelemetry is imported. There is one tracer for
 * the process, so it is state of the module, as the sections are.
 *
 * Attributes hold ids, kinds, host names and codes: no secrets, no paths and
 * queries of pages, no text of callers and no messages of errors.
 */
import type { IncomingHttpHeaders } from 'node:http';

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  set(attributes: SpanAttributes): void;
}

/** The span of a request of this service. */
export interface RequestSpan {
  /** The `traceparent` header of the reply: W3C Trace Context, version 00. */
  readonly traceparent: string;
  /** Runs a part of the request: spans in it are its children. */
  run<T>(work: () => T): T;
  end(name: string, attributes: SpanAttributes & { 'http.response.status_code': number }): void;
}

export interface Tracer {
  /** Continues the caller's trace, if the headers name one. */
  request(headers: IncomingHttpHeaders): RequestSpan;
  span<T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T>;
  /** A span only as part of another one that has not ended. */
  childSpan<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T>;
  /** Runs work that is no part of what caused it. */
  detached<T>(work: () => T): T;
}

let tracer: Tracer | null = null;
const noSpan: Span = { set: () => undefined };

export function installTracer(next: Tracer | null): void {
  tracer = next;
}

export const beginRequest = (headers: IncomingHttpHeaders): RequestSpan | null => tracer && tracer.request(headers);

/** @throws what `work` throws; the span then has its kind as `error.type` */
export const traced = <T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T> =>
  tracer ? tracer.span(name, attributes, work) : work(noSpan);

/** Traces frequent work, such as statements of the database, only within another span: background work has no spans of it. */
export const tracedChild = <T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T> =>
  tracer ? tracer.childSpan(name, attributes, work) : work();

export const detached = <T>(work: () => T): T => (tracer ? tracer.detached(work) : work());
