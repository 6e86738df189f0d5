/** Settings shared by the HTTP/2 sessions of both ports. */
import type { Http2Session } from 'node:http2';
import type { Duplex } from 'node:stream';

/**
 * Flow-control windows of one stream: on the control port, where DevTools messages
 * are long, and of one connection of the browser. A round trip takes about 5 ms
 * under emulation, and nothing should wait for one.
 */
export const controlWindowBytes = 1024 ** 2;
export const egressWindowBytes = 256 * 1024;

/** Window of a session: enough for 256 unread connections, so that they do not block others. */
const sessionWindowBytes = 64 * 1024 ** 2;

/** Memory in MB above which a session refuses new streams. Node's default is less than one long DevTools message. */
export const sessionMemoryMax = 256;

/** The session ends with its stream, and its errors never end the agent. */
export function configureSession(session: Http2Session, host: Duplex): void {
  session.setLocalWindowSize(sessionWindowBytes);
  // A GOAWAY would be answered, and the next host might receive the answer. So the connection is destroyed.
  session.on('error', () => {}).once('goaway', () => host.destroy());
}
