/** What sessions of HTTP/2 on both ports have in common. */
import type { Http2Session } from 'node:http2';
import type { Duplex } from 'node:stream';

/**
 * How much may be on its way to us before we have asked for more: of one stream
 * of the control port, where messages of DevTools are long, and of one
 * connection of the browser. A round trip takes some 5 ms under emulation, and
 * nothing should wait for one.
 */
export const controlWindowBytes = 1024 ** 2;
export const egressWindowBytes = 256 * 1024;

/** Of all streams together: as much as 256 connections that nobody reads, which therefore hold nobody up. */
const sessionWindowBytes = 64 * 1024 ** 2;

/** In MB. A session that holds more takes no new streams, and one long message of DevTools is more than what Node allows by itself. */
export const sessionMemoryMax = 256;

/** The session ends with its stream, and never brings the agent down. */
export function tend(session: Http2Session, host: Duplex): void {
  session.setLocalWindowSize(sessionWindowBytes);
  // A farewell would be answered, and the answer might be met by the next host. Whoever says it has left.
  session.on('error', () => {}).once('goaway', () => host.destroy());
}
