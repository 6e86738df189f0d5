/** Server-sent events of a session, across dropped connections. */
import type { EventOptions, Events } from './call.ts';
import { BerthError, parse } from './errors.ts';
import type { Request, Transport } from './transport.ts';

/** Characters of one event. Those of the service have some thousand; a stream without an end of an event would fill the memory. */
const eventLengthMax = 1024 * 1024;
/** The service writes at least a comment much more often. A connection that is silent for this long is dead. */
const silenceMsMax = 60_000;

interface StreamedEvent {
  id: number;
  type: string;
}

/**
 * Reads the events until the session ends. A connection that drops, or that the service closes earlier, is opened again after the
 * last event that arrived whole.
 */
export function readEvents<T>(transport: Transport, request: () => Request, options: EventOptions): Events<T> {
  return {
    async *[Symbol.asyncIterator](): AsyncGenerator<T> {
      let { lastEventId } = options;
      let isOpened = false;
      // In a row: whatever arrives ends the row.
      let failures = 0;
      for (;;) {
        try {
          const { data: response } = await transport.attempt<Response>(resumed(request(), lastEventId), options);
          isOpened = true;
          for await (const event of readStream(response, options.signal)) {
            failures = 0;
            if (!event) continue;
            lastEventId = event.id;
            yield event as T;
            if (event.type === 'session.ended') return;
          }
          throw new BerthError({ code: 'connection_failed', message: 'The stream of events ended before the session.', retryable: true });
        } catch (error) {
          if (isOpened && BerthError.is(error, 'session_ended')) return;
          failures++;
          if (!transport.canRetry(error, failures, options)) throw error;
          await transport.pause(failures, error.retryAfterSeconds, options.signal);
        }
      }
    },
  };
}

const resumed = (request: Request, lastEventId: number | undefined): Request => ({
  ...request,
  reply: 'response',
  headers: { accept: 'text/event-stream', ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }) },
});

/** The events of one connection, and null for a comment, which says that it lives. */
async function* readStream(response: Response, signal: AbortSignal | undefined): AsyncGenerator<StreamedEvent | null> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await readWithin(reader, silenceMsMax);
      signal?.throwIfAborted();
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof BerthError) throw error;
    throw new BerthError({ code: 'connection_failed', message: 'The stream of events broke.', retryable: true, cause: error });
  } finally {
    // It fails where the connection has failed already.
    await reader.cancel().catch(() => undefined);
  }
}

async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  milliseconds: number,
): Promise<{ done: boolean; value?: Uint8Array | undefined }> {
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), milliseconds);
  try {
    return await reader.read();
  } finally {
    clearTimeout(timer);
  }
}

/** Puts events together from pieces of text. */
class EventParser {
  #line = '';
  #data: string[] = [];
  #length = 0;
  /** The piece before ended in a carriage return, which a line feed may belong to. */
  #afterReturn = false;

  *push(piece: string): Generator<StreamedEvent | null> {
    const text = this.#afterReturn && piece.startsWith('\n') ? piece.slice(1) : piece;
    if (piece !== '') this.#afterReturn = piece.endsWith('\r');
    const lines = text.split(/\r\n|\n|\r/);
    for (const [index, part] of lines.entries()) {
      this.#line += part;
      this.#length += part.length;
      if (this.#length > eventLengthMax)
        throw new BerthError({ code: 'unexpected_response', message: `An event has more than ${eventLengthMax} characters.` });
      if (index === lines.length - 1) return;
      const event = this.#endLine();
      if (event !== undefined) yield event;
    }
  }

  #endLine(): StreamedEvent | null | undefined {
    const line = this.#line;
    this.#line = '';
    if (line.startsWith('data:')) this.#data.push(line.slice(line[5] === ' ' ? 6 : 5));
    if (line.startsWith(':')) return null;
    if (line !== '') return undefined;
    const data = this.#data.join('\n');
    this.#data = [];
    this.#length = 0;
    return data === '' ? undefined : toEvent(data);
  }
}

function toEvent(data: string): StreamedEvent {
  const event = parse(data) as Partial<StreamedEvent> | null | undefined;
  if (typeof event?.id === 'number' && typeof event.type === 'string') return event as StreamedEvent;
  throw new BerthError({ code: 'unexpected_response', message: 'An event of the stream is none of the service.' });
}
