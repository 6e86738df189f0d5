/** A viewer's socket without the page, to send messages that the page never sends. */
import { once } from 'node:events';
import { frameHeaderBytes, type LiveViewMessage } from '@berth/contract/live-view';
import WebSocket from 'ws';

/** All sockets of a test file, closed even when a test fails. */
const opened = new Set<WebSocket>();

export function closeViewers(): void {
  for (const socket of opened) socket.terminate();
  opened.clear();
}

export interface ViewerSocket {
  readonly socket: WebSocket;
  /** The received text messages. */
  readonly messages: readonly LiveViewMessage[];
  /** The number of received frames. */
  frames(): number;
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
}

/** `answers`: whether frames are acknowledged. Throws when the upgrade is refused. */
export async function openViewer(
  address: string,
  { headers = {}, acknowledges = false }: { headers?: Record<string, string>; acknowledges?: boolean } = {},
): Promise<ViewerSocket> {
  const socket = new WebSocket(address, { headers, perMessageDeflate: false });
  opened.add(socket);
  const messages: LiveViewMessage[] = [];
  let frames = 0;
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (!isBinary) messages.push(JSON.parse(data.toString()) as LiveViewMessage);
    else if (data.length > frameHeaderBytes) {
      frames += 1;
      if (acknowledges) socket.send(JSON.stringify({ type: 'ack', seq: data.readUInt32LE(4) }));
    }
  });
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  await once(socket, 'open');
  // Later errors are reported by the close event.
  socket.on('error', () => socket.terminate());
  return { socket, messages, frames: () => frames, closed };
}
