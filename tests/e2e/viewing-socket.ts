/** A viewer's socket without its page: for what no page of ours would say, or not say. */
import { once } from 'node:events';
import { frameHeaderBytes, type LiveViewMessage } from '@berth/contract/live-view';
import WebSocket from 'ws';

/** All that one file of tests has opened, so that a test that fails leaves nobody watching. */
const opened = new Set<WebSocket>();

export function closeViewers(): void {
  for (const socket of opened) socket.terminate();
  opened.clear();
}

export interface ViewerSocket {
  readonly socket: WebSocket;
  /** What came as text. */
  readonly told: readonly LiveViewMessage[];
  /** How many pictures came. */
  pictures(): number;
  /** The code that the service closes it with. */
  readonly closed: Promise<number>;
}

/** `answers`: whether pictures are acknowledged. Throws where the upgrade is refused. */
export async function openViewer(
  address: string,
  { headers = {}, answers = false }: { headers?: Record<string, string>; answers?: boolean } = {},
): Promise<ViewerSocket> {
  const socket = new WebSocket(address, { headers, perMessageDeflate: false });
  opened.add(socket);
  const told: LiveViewMessage[] = [];
  let pictures = 0;
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (!isBinary) told.push(JSON.parse(data.toString()) as LiveViewMessage);
    else if (data.length > frameHeaderBytes) {
      pictures += 1;
      if (answers) socket.send(JSON.stringify({ type: 'ack', seq: data.readUInt32LE(4) }));
    }
  });
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  await once(socket, 'open');
  // What breaks later is told by the close.
  socket.on('error', () => socket.terminate());
  return { socket, told, pictures: () => pictures, closed };
}
