/** One entry of an uploaded HAR. */
import type { Cookie, Entry, Header, PostData, QueryString } from 'har-format';
import { cutText, toStorableText } from '@berth/lib/text/text.ts';
import { toBodyText, toRequestText } from './body.ts';
import { type Fields, fieldsOf, listOf, numberOf, textOf } from './fields.ts';

/** What bodies of all entries may still take. */
export interface BodyBudget {
  bodyBytesMax: number;
  leftBytes: number;
  droppedBytes: number;
}

const urlCharsMax = 8192;
const valueCharsMax = 8192;
const pairsMax = 200;
const lineCharsMax = 200;
const messagesMax = 500;

/** null for an entry without a URL of the web. */
export function readEntry(entry: Fields, bodies: BodyBudget): Entry | null {
  const request = fieldsOf(entry['request']);
  const response = fieldsOf(entry['response']);
  const url = textOf(request['url'], urlCharsMax);
  if (!/^(https?|wss?):/i.test(url) || !URL.canParse(url)) return null;
  const startedMs = Date.parse(textOf(entry['startedDateTime'], 40));
  return {
    pageref: textOf(entry['pageref'], 100),
    startedDateTime: new Date(Number.isNaN(startedMs) ? 0 : startedMs).toISOString(),
    time: Math.max(0, numberOf(entry['time'], 0)),
    request: readRequest(request, url, bodies),
    response: readResponse(response, bodies),
    cache: {},
    timings: readTimings(fieldsOf(entry['timings'])),
    ...readExtensions(entry, bodies),
  };
}

function readRequest(request: Fields, url: string, bodies: BodyBudget): Entry['request'] {
  const postData = readPostData(fieldsOf(request['postData']), bodies);
  return {
    method: (textOf(request['method'], 32) || 'GET').toUpperCase(),
    url: toStorableText(url),
    httpVersion: textOf(request['httpVersion'], 32),
    cookies: readCookies(request['cookies']),
    headers: readPairs(request['headers']),
    queryString: readPairs(request['queryString']) satisfies QueryString[],
    headersSize: numberOf(request['headersSize'], -1),
    bodySize: numberOf(request['bodySize'], -1),
    ...(postData ? { postData } : {}),
  };
}

function readResponse(response: Fields, bodies: BodyBudget): Entry['response'] {
  const content = fieldsOf(response['content']);
  const text = typeof content['text'] === 'string' ? takeBody(toBodyText(content['text'], content['encoding'] === 'base64'), bodies) : null;
  const transferSize = numberOf(response['_transferSize'], -1);
  const error = textOf(response['_error'], lineCharsMax);
  return {
    status: Math.trunc(numberOf(response['status'], 0)),
    statusText: textOf(response['statusText'], lineCharsMax),
    httpVersion: textOf(response['httpVersion'], 32),
    cookies: readCookies(response['cookies']),
    headers: readPairs(response['headers']),
    content: {
      size: Math.max(0, numberOf(content['size'], 0)),
      mimeType: textOf(content['mimeType'], lineCharsMax),
      ...(text === null ? {} : { text }),
    },
    redirectURL: textOf(response['redirectURL'], urlCharsMax),
    headersSize: numberOf(response['headersSize'], -1),
    bodySize: numberOf(response['bodySize'], -1),
    ...(transferSize >= 0 ? { _transferSize: transferSize } : {}),
    ...(error === '' ? {} : { _error: error }),
  };
}

/** A form without a text has its fields as `params`. */
function readPostData(postData: Fields, bodies: BodyBudget): PostData | null {
  const mimeType = textOf(postData['mimeType'], lineCharsMax);
  const params = readPairs(postData['params']);
  const stated = typeof postData['text'] === 'string' ? postData['text'] : '';
  const text = stated === '' && params.length > 0 ? new URLSearchParams(params.map(({ name, value }) => [name, value])).toString() : stated;
  if (text === '') return null;
  const taken = takeBody(toRequestText(text, mimeType), bodies);
  return taken === null || taken === '' ? null : { mimeType, text: taken };
}

function takeBody(text: string | null, bodies: BodyBudget): string | null {
  if (text === null || bodies.bodyBytesMax === 0) return null;
  if (text.length > bodies.bodyBytesMax || text.length > bodies.leftBytes) {
    bodies.droppedBytes += text.length;
    return null;
  }
  bodies.leftBytes -= text.length;
  return toStorableText(text);
}

const readPairs = (value: unknown): Header[] =>
  listOf(value)
    .slice(0, pairsMax)
    .map((pair) => {
      const { name, value: text } = fieldsOf(pair);
      return { name: toStorableText(textOf(name, 256)), value: toStorableText(textOf(text, valueCharsMax)) };
    })
    // HTTP/2 pseudo-headers repeat the request line.
    .filter(({ name }) => name !== '' && !name.startsWith(':'));

const readCookies = (value: unknown): Cookie[] =>
  listOf(value)
    .slice(0, pairsMax)
    .map((cookie) => {
      const { name, value: text, path, domain, expires, httpOnly, secure, sameSite } = fieldsOf(cookie);
      return {
        name: toStorableText(textOf(name, 256)),
        value: toStorableText(textOf(text, valueCharsMax)),
        httpOnly: httpOnly === true,
        secure: secure === true,
        ...optionalTexts({ path, domain, expires, sameSite }),
      };
    });

const optionalTexts = (fields: Fields): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (typeof value === 'string' ? [[name, cutText(value, 256)]] : [])));

const timingNames = ['blocked', 'dns', 'connect', 'ssl'] as const;

function readTimings(timings: Fields): Entry['timings'] {
  const optional = Object.fromEntries(timingNames.map((name) => [name, Math.max(-1, numberOf(timings[name], -1))]));
  const [send, wait, receive] = ['send', 'wait', 'receive'].map((name) => Math.max(0, numberOf(timings[name], 0)));
  return { ...optional, send: send ?? 0, wait: wait ?? 0, receive: receive ?? 0 };
}

/** What Chrome adds to the standard. */
function readExtensions(entry: Fields, bodies: BodyBudget): Partial<Entry> {
  const { type, url, lineNumber } = fieldsOf(entry['_initiator']);
  const resourceType = textOf(entry['_resourceType'], 32).toLowerCase();
  const messages = listOf(entry['_webSocketMessages']);
  const events = listOf(entry['_eventSourceMessages']);
  const address = textOf(entry['serverIPAddress'], 64);
  return {
    ...(address === '' ? {} : { serverIPAddress: address }),
    ...(resourceType === '' ? {} : { _resourceType: resourceType as NonNullable<Entry['_resourceType']> }),
    ...(typeof entry['_priority'] === 'string' ? { _priority: textOf(entry['_priority'], 32) } : {}),
    ...(typeof type === 'string'
      ? { _initiator: { type: cutText(type, 32), ...optionalTexts({ url }), ...(typeof lineNumber === 'number' ? { lineNumber } : {}) } }
      : {}),
    ...(entry['_fromCache'] === 'disk' || entry['_fromCache'] === 'memory' ? { _fromCache: entry['_fromCache'] } : {}),
    ...(messages.length > 0 ? { _webSocketMessages: readMessages(messages, bodies) } : {}),
    ...(events.length > 0 ? { _eventSourceMessages: readEvents(events, bodies) } : {}),
  };
}

const readMessages = (messages: readonly unknown[], bodies: BodyBudget): NonNullable<Entry['_webSocketMessages']> =>
  messages.slice(0, messagesMax).flatMap((message) => {
    const { type, time, opcode, data } = fieldsOf(message);
    const text = takeBody(typeof data === 'string' ? data : null, bodies);
    if (text === null) return [];
    return [{ type: type === 'send' ? 'send' : 'receive', time: numberOf(time, 0), opcode: numberOf(opcode, 1), data: text }] as const;
  });

const readEvents = (events: readonly unknown[], bodies: BodyBudget) =>
  events.slice(0, messagesMax).flatMap((event) => {
    const { time, eventName, eventId, data } = fieldsOf(event);
    const text = takeBody(typeof data === 'string' ? data : null, bodies);
    if (text === null) return [];
    return [{ time: numberOf(time, 0), eventName: textOf(eventName, lineCharsMax), eventId: textOf(eventId, lineCharsMax), data: text }];
  });
