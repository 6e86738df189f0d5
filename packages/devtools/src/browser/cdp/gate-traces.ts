/**
 * Network events as of a browser that reaches sites itself.
 *
 * Behind the egress gate each response comes from the gate's own address, and
 * the head of a plain request names its connection to a proxy. What the browser
 * reports is corrected: to the address of the site, where the gate has reached
 * it directly, and to the head that the site got.
 */
import { isIPv6 } from 'node:net';
import { authorityOf, type RemoteAddress } from '@berth/egress';
import { methodStart, originAt, startsWith } from './frame-bytes.ts';

/** Where connections to a host go; null through a proxy. */
export type RemoteAddressOf = (host: string, port: number) => RemoteAddress | null;

/** Events with a response, and how that begins. */
const responses = [
  { event: Buffer.from('Network.responseReceived"'), start: Buffer.from('"response":{"url":"') },
  { event: Buffer.from('Network.requestWillBeSent"'), start: Buffer.from('"redirectResponse":{"url":"') },
];
const addressStart = Buffer.from('"remoteIPAddress":"');
/** Longer than both fields with any address. */
const addressBytesMax = 120;

const requestHead = Buffer.from('Network.requestWillBeSentExtraInfo"');
const headersStart = Buffer.from('"headers":{');
const toProxy = Buffer.from('"Proxy-Connection":');
const toSite = Buffer.from('"Connection":');

export class GateTraces {
  readonly #addressOf: RemoteAddressOf;

  constructor(addressOf: RemoteAddressOf) {
    this.#addressOf = addressOf;
  }

  /** The address of the site of a URL; null where it is unknown. */
  remoteAddress(url: string): RemoteAddress | null {
    const site = authorityOf(url);
    return site && this.#addressOf(site.host, site.port);
  }

  /** The corrected frame. One that has nothing of the gate is returned as it is. */
  apply(frame: Buffer): Buffer {
    // 'N' of Network.
    if (frame[methodStart.length] !== 0x4e || !startsWith(frame, methodStart, 0)) return frame;
    for (const { event, start } of responses) if (startsWith(frame, event, methodStart.length)) return this.#ofSite(frame, start);
    return startsWith(frame, requestHead, methodStart.length) ? asSent(frame) : frame;
  }

  #ofSite(frame: Buffer, responseStart: Buffer): Buffer {
    const start = frame.indexOf(responseStart);
    // A header may have the field's name, and comes before it.
    const at = frame.lastIndexOf(addressStart);
    if (start < 0 || at < start) return frame;
    const origin = originAt(frame, start + responseStart.length);
    const remote = origin === undefined ? null : this.remoteAddress(origin);
    const [reported] = /^"remoteIPAddress":"[^"]*","remotePort":\d+/.exec(frame.toString('latin1', at, at + addressBytesMax)) ?? [];
    if (!remote || reported === undefined) return frame;
    const ip = isIPv6(remote.ip) ? `[${remote.ip}]` : remote.ip;
    return replaced(frame, at, reported.length, Buffer.from(`"remoteIPAddress":"${ip}","remotePort":${remote.port}`));
  }
}

function asSent(frame: Buffer): Buffer {
  const headers = frame.indexOf(headersStart);
  const at = headers < 0 ? -1 : frame.indexOf(toProxy, headers);
  return at < 0 ? frame : replaced(frame, at, toProxy.length, toSite);
}

const replaced = (frame: Buffer, at: number, length: number, by: Buffer): Buffer =>
  Buffer.concat([frame.subarray(0, at), by, frame.subarray(at + length)]);
