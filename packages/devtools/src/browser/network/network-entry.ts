/** An entry of the network log, with bounded texts. */
import { cutText } from '@berth/lib/text/text.ts';
import type { NetworkEntry } from '../page/private-model.ts';

export const urlCharsMax = 8192;
/** Status texts, MIME types and the like. */
export const lineCharsMax = 200;
const headerCharsMax = 4096;
const headersMax = 100;

export const emptyTimings: NetworkEntry['timings'] = {
  blockedMs: -1,
  dnsMs: -1,
  connectMs: -1,
  sslMs: -1,
  sendMs: 0,
  waitMs: 0,
  receiveMs: 0,
};

type Sent = Pick<NetworkEntry, 'requestId' | 'startedAt' | 'method' | 'url' | 'resourceType'>;

/** A request without a response yet. */
export const createEntry = ({ requestId, startedAt, method, url, resourceType }: Sent): NetworkEntry => ({
  requestId,
  startedAt,
  method: cutText(method, 32),
  url: cutText(url, urlCharsMax),
  resourceType,
  requestHeaders: {},
  requestBytes: 0,
  status: 0,
  statusText: '',
  protocol: '',
  responseHeaders: {},
  mimeType: '',
  redirectUrl: '',
  remoteAddress: null,
  fromCache: false,
  fromServiceWorker: false,
  bodyBytes: 0,
  wireBytes: 0,
  error: null,
  timings: emptyTimings,
  totalMs: 0,
});

/** Bytes of the request head as HTTP/1.1; the browser does not count bodies. */
export const sizeOf = ({ method, url }: NetworkEntry, requestHeaders: Readonly<Record<string, string>>): number =>
  method.length + url.length + 12 + Object.entries(requestHeaders).reduce((sum, [name, value]) => sum + name.length + value.length + 4, 2);

export const toSentHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .slice(0, headersMax)
      .map(([name, value]) => [cutText(name, 256), cutText(value, headerCharsMax)]),
  );

/** UTF-16 code units of headers. */
export const charsOf = (headers: Readonly<Record<string, string>>): number =>
  Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0);

/** Headers are kept up to this total of UTF-16 code units. Those of a request may come to 800 KB, usually to 2 KB. */
const headerCharsTotalMax = 12 * 1024 ** 2;
/** Addresses are kept up to this total, headers included: up to 32 MiB of memory where they are not Latin. */
const charsTotalMax = 16 * 1024 ** 2;

/** Counts the texts that one log holds. Requests beyond the limit keep their first line, then nothing. */
export class TextBudget {
  #chars = 0;

  /** Whether a request may be held with this address. */
  get hasRoom(): boolean {
    return this.#chars < charsTotalMax;
  }

  add(chars: number): void {
    this.#chars += chars;
  }

  /** The headers, or none where they do not fit beside what is held; `before` is given back. */
  fit(headers: Record<string, string>, before: Readonly<Record<string, string>>): Record<string, string> {
    const [more, less] = [charsOf(headers), charsOf(before)];
    const fits = this.#chars - less + more <= headerCharsTotalMax;
    this.#chars += (fits ? more : 0) - less;
    return fits ? headers : {};
  }
}
