/** HTTP/2 limits shared by both connections of a guest. */
import type { Http2Session, SessionOptions } from 'node:http2';

/** In MB: unsent data, and HTTP/2 state of streams and headers. */
const sessionMemoryMb = 32;
/** Our messages have three headers. Bytes count as in HPACK, plus 32 per header. */
const headerPairsMax = 16;
const headerBytesMax = 4096;

export const sessionLimits = {
  maxSessionMemory: sessionMemoryMb,
  maxHeaderListPairs: headerPairsMax,
  maxSettings: 16,
  maxOutstandingPings: 2,
  // The agent sends neither invalid frames nor streams above the limit.
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  settings: { maxHeaderListSize: headerBytesMax, headerTableSize: 4096 },
} as const satisfies SessionOptions & { maxSessionInvalidFrames: number; maxSessionRejectedStreams: number };

/** Sets the receive window of the session. Each stream also has its own, so one that is not read does not block others. */
export function openWindow(session: Http2Session, bytes: number): void {
  session.once('connect', () => {
    if (!session.destroyed) session.setLocalWindowSize(bytes);
  });
}
