/** A reader of server-sent events, as an EventSource reads them. */
import assert from 'node:assert/strict';
import { SessionEvent, type SessionEventResponse } from '@berth/contract';

export interface EventStream {
  headers: Headers;
  /** Resolves with the next event, or undefined at the end of the stream. Fails after `waitMsMax`. */
  next(): Promise<SessionEventResponse | undefined>;
  /** Resolves with the next event of this type and skips others. */
  nextOf(type: SessionEventResponse['type']): Promise<SessionEventResponse>;
  close(): void;
}

const waitMsMax = 30_000;

/** Opens the event stream of a session. Expects 200. */
export async function openEvents(
  url: string,
  sessionId: string,
  { key, lastEventId }: { key: string; lastEventId?: number | string },
): Promise<EventStream> {
  const controller = new AbortController();
  const headers = { authorization: `Bearer ${key}`, ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }) };
  const response = await fetch(`${url}/v1/session/${sessionId}/events`, { headers, signal: controller.signal });
  assert.equal(response.status, 200);
  const chunks = (response.body ?? assert.fail('no body')).pipeThrough(new TextDecoderStream()).getReader();
  let unread = '';
  const next = async (): Promise<SessionEventResponse | undefined> => {
    for (;;) {
      const end = unread.indexOf('\n\n');
      if (end < 0) {
        const { done, value } = await within(chunks.read());
        if (done) return undefined;
        unread += value;
        continue;
      }
      const block = unread.slice(0, end);
      unread = unread.slice(end + 2);
      const event = parse(block);
      if (event) return event;
    }
  };
  const nextOf = async (type: SessionEventResponse['type']): Promise<SessionEventResponse> => {
    for (let event = await next(); ; event = await next()) {
      if (!event) return assert.fail(`the stream ended before ${type}`);
      if (event.type === type) return event;
    }
  };
  return { headers: response.headers, next, nextOf, close: () => controller.abort() };
}

/** Returns null for comments and retry hints. */
function parse(block: string): SessionEventResponse | null {
  const fields = Object.fromEntries(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
  if (fields['data'] === undefined) return null;
  const event = SessionEvent.parse(JSON.parse(fields['data']));
  assert.deepEqual([fields['id'], fields['event']], [String(event.id), event.type]);
  return event;
}

async function within<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('no event arrived in time')), waitMsMax);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}
