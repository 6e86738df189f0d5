import type { Duplex } from 'node:stream';
import { createWebSocketStream } from 'ws';
import type { RawData, WebSocket } from 'ws';

/**
 * A WebSocket as a stream of bytes. Reading slowly slows the other side down;
 * a write is done when the connection has taken it. A text is no bytes: it is
 * dropped, and closes the socket with 1003.
 */
export function binaryStream(socket: WebSocket): Duplex {
  const stream = createWebSocketStream(socket);
  const [take] = socket.listeners('message') as ((data: RawData, isBinary: boolean) => void)[];
  if (!take) throw new Error('the stream of a WebSocket does not listen to its messages');
  // The library's stream takes a text for its bytes, so that it is shown only what is none.
  socket.off('message', take);
  socket.on('message', (data, isBinary) => {
    if (isBinary) take(data, true);
    else socket.close(1003, 'binary_only');
  });
  // Its close follows, which is what its users wait for.
  stream.on('error', () => undefined);
  return stream;
}
