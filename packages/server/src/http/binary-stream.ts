import type { Duplex } from 'node:stream';
import { createWebSocketStream } from 'ws';
import type { RawData, WebSocket } from 'ws';

/**
 * A WebSocket as a byte stream with back-pressure in both directions. A text
 * message is dropped and closes the socket with 1003.
 */
export function binaryStream(socket: WebSocket): Duplex {
  const stream = createWebSocketStream(socket);
  const [forwardMessage] = socket.listeners('message') as ((data: RawData, isBinary: boolean) => void)[];
  if (!forwardMessage) throw new Error('the WebSocket stream has no message listener');
  // The library's stream would also pass on the bytes of text messages.
  socket.off('message', forwardMessage);
  socket.on('message', (data, isBinary) => {
    if (isBinary) forwardMessage(data, true);
    else socket.close(1003, 'binary_only');
  });
  // The close event follows, and users wait for that.
  stream.on('error', () => undefined);
  return stream;
}
