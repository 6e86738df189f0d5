/**
 * Network errors in the words of a browser that reaches sites itself.
 *
 * Behind the egress gate a site that cannot be reached fails with one of two
 * errors, which say nothing about the site. The gate knows the reason. The texts
 * of the two are replaced in what the browser reports; what a page sees is a
 * failed load either way.
 */
import { netErrors, authorityOf, type EgressRefusal, type RefusalReport } from '@berth/egress';
import { methodStart, originAt, startsWith } from './frame-bytes.ts';

/** Why the gate recently did not reach a host; null without a failure. */
export type EgressFailureOf = (host: string, port: number) => RefusalReport | null;

/** The browser's errors for the gate's reply to plain HTTP, and for its refusal of a tunnel. */
const gateErrors = /net::ERR_RESPONSE_HEADERS_MULTIPLE_LOCATION|net::ERR_TUNNEL_CONNECTION_FAILED/;
/** The browser's error for a WebSocket that the gate refused, which has no code. */
const socketError = 'Establishing a tunnel via proxy server failed.';

/** Requests whose address is known. A page that has more of them open loses the reasons of the oldest. */
const requestsMax = 4096;
/** A DNS name is shorter. */
const hostCharsMax = 253;

const requestSent = { name: Buffer.from('Network.requestWillBeSent","params":{"requestId":"'), url: Buffer.from('"request":{"url":"') };
const socketCreated = { name: Buffer.from('Network.webSocketCreated","params":{"requestId":"'), url: Buffer.from('"url":"') };
const failures = ['Network.loadingFailed"', 'Network.webSocketFrameError"', 'Log.entryAdded"'].map((name) => Buffer.from(name));

interface FailureEvent {
  method: string;
  params: {
    requestId?: string;
    errorText?: string;
    errorMessage?: string;
    entry?: { text: string; url?: string; networkRequestId?: string };
  };
}

interface FailedRequest {
  requestId?: string | undefined;
  url?: string | undefined;
}

export class NetErrors {
  readonly #failureOf: EgressFailureOf;
  /** The start of each request's address. */
  readonly #addresses = new Map<string, string>();

  constructor(failureOf: EgressFailureOf) {
    this.#failureOf = failureOf;
  }

  /** The frame with the reason of a failure. A frame that reports none is returned as it is. */
  apply(frame: Buffer): Buffer {
    // 'N' of Network or 'L' of Log.
    const first = frame[methodStart.length];
    if ((first !== 0x4e && first !== 0x4c) || !startsWith(frame, methodStart, 0)) return frame;
    if (startsWith(frame, requestSent.name, methodStart.length)) this.#remember(frame, requestSent);
    else if (startsWith(frame, socketCreated.name, methodStart.length)) this.#remember(frame, socketCreated);
    else if (failures.some((name) => startsWith(frame, name, methodStart.length))) return this.#explain(frame);
    return frame;
  }

  /** The error text for a request that failed with this one. */
  textOf(errorText: string, { requestId = '', url = '' }: FailedRequest): string {
    if (!gateErrors.test(errorText)) return errorText;
    return errorText.replace(gateErrors, this.#reasonText(requestId, url) ?? '$&');
  }

  /** The gate's report on a request whose error text is one of its reasons; null for an error of the site. */
  reportOf(errorText: string, { requestId = '', url = '' }: FailedRequest): RefusalReport | null {
    const address = this.#addresses.get(requestId) ?? url;
    const report = this.#report(address);
    if (report?.netError === errorText) return report;
    // The browser itself refuses some names and ports, which then never reach the gate.
    const target = URL.parse(address);
    if (target && errorText === netErrors.dns_failed)
      return {
        reason: 'dns_failed',
        rule: null,
        message: `${target.hostname.slice(0, hostCharsMax)} cannot be resolved`,
        netError: errorText,
      };
    if (target && errorText === 'net::ERR_UNSAFE_PORT')
      return {
        reason: 'blocked_by_policy',
        rule: 'port',
        message: `${target.host.slice(0, hostCharsMax)} is on a port that no browser opens`,
        netError: errorText,
      };
    return null;
  }

  /** The result of `Page.navigate` to the address. */
  inReply(result: unknown, url?: string): unknown {
    const { errorText, loaderId } = (result ?? {}) as { errorText?: unknown; loaderId?: string };
    // A document's request id is its loader id.
    return typeof errorText === 'string'
      ? { ...(result as object), errorText: this.textOf(errorText, { requestId: loaderId, url }) }
      : result;
  }

  #reasonText(requestId: string, url: string): string | null {
    return this.#report(this.#addresses.get(requestId) ?? url)?.netError ?? null;
  }

  /** Why the gate recently did not reach the site of an address; null without a failure. */
  refusalOf(url: string): EgressRefusal | null {
    return this.#report(url)?.reason ?? null;
  }

  #report(url: string): RefusalReport | null {
    const site = authorityOf(url);
    return site && this.#failureOf(site.host, site.port);
  }

  #remember(frame: Buffer, { name, url }: { name: Buffer; url: Buffer }): void {
    const idStart = methodStart.length + name.length;
    const idEnd = frame.indexOf('"', idStart);
    const start = frame.indexOf(url, idEnd) + url.length;
    if (idEnd < 0 || start < url.length) return;
    const origin = originAt(frame, start);
    if (origin === undefined) return;
    const id = frame.toString('latin1', idStart, idEnd);
    // A redirected request has a new address, and counts as new.
    this.#addresses.delete(id);
    this.#addresses.set(id, origin);
    if (this.#addresses.size <= requestsMax) return;
    for (const oldest of this.#addresses.keys()) {
      this.#addresses.delete(oldest);
      return;
    }
  }

  #explain(frame: Buffer): Buffer {
    const text = frame.toString('utf8');
    if (!gateErrors.test(text) && !text.includes(socketError)) return frame;
    const event = JSON.parse(text) as FailureEvent;
    const { requestId, errorText, errorMessage, entry } = event.params;
    if (errorText !== undefined) event.params.errorText = this.textOf(errorText, { requestId });
    if (errorMessage !== undefined) event.params.errorMessage = this.#socketTextOf(errorMessage, requestId ?? '', '');
    if (entry) {
      entry.text = this.textOf(entry.text, { requestId: entry.networkRequestId, url: entry.url });
      entry.text = this.#socketTextOf(entry.text, '', /'(wss?:\/\/[^']+)'/.exec(entry.text)?.[1] ?? '');
    }
    return Buffer.from(JSON.stringify(event));
  }

  #socketTextOf(text: string, requestId: string, url: string): string {
    if (!text.includes(socketError)) return text;
    const reason = this.#reasonText(requestId, url);
    return reason === null ? text : text.replace(socketError, `Error in connection establishment: ${reason}`);
  }
}
