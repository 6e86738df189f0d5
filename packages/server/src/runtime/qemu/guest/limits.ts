/** What both connections of a guest are held to, below everything that is asked and answered over them. */
import type { Http2Session, SessionOptions } from 'node:http2';

/** In MB: what waits to be sent, and what HTTP/2 keeps of its streams and headers. */
const sessionMemoryMb = 32;
/** Ours have three headers; bytes count as HPACK does, 32 more for each. */
const headerPairsMax = 16;
const headerBytesMax = 4096;

export const sessionLimits = {
  maxSessionMemory: sessionMemoryMb,
  maxHeaderListPairs: headerPairsMax,
  maxSettings: 16,
  maxOutstandingPings: 2,
  // Frames that do not belong, and streams above the limit: the agent sends neither.
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  settings: { maxHeaderListSize: headerBytesMax, headerTableSize: 4096 },
} as const satisfies SessionOptions & { maxSessionInvalidFrames: number; maxSessionRejectedStreams: number };

/** What may be on its way to us on all streams together. Each has a window of its own, so nobody is held up by one that is not read. */
export function openWindow(session: Http2Session, bytes: number): void {
  session.once('connect', () => {
    if (!session.destroyed) session.setLocalWindowSize(bytes);
  });
}
