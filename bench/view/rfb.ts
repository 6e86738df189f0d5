/** A minimal RFB client, without library and rendering overhead. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { within } from './frame-log.ts';

const pictureTimeoutMs = 10_000;
const noneSecurity = 1;
const rawEncoding = 0;
const [setEncodings, updateRequest] = [2, 3];
const [update, bell, cutText] = [0, 2, 3];
const bytesInPixel = 4;

/** The data of a socket as a byte stream. */
class Bytes {
  #chunks: Buffer[] = [];
  #length = 0;
  #wake: (() => void) | null = null;
  #error: Error | null = null;

  constructor(socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      this.#chunks.push(data);
      this.#length += data.length;
      this.#wake?.();
    });
    socket.on('error', () => undefined);
    socket.on('close', (code, reason) => {
      this.#error = new Error(`the window's socket closed with ${code} ${reason.toString()}`);
      this.#wake?.();
    });
  }

  async read(length: number): Promise<Buffer> {
    while (this.#length < length) {
      if (this.#error) throw this.#error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const all = this.#chunks.length === 1 ? (this.#chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#chunks, this.#length);
    this.#chunks = [all.subarray(length)];
    this.#length -= length;
    return all.subarray(0, length);
  }
}

interface Size {
  width: number;
  height: number;
}

async function handshake(socket: WebSocket, bytes: Bytes): Promise<Size> {
  socket.send(await bytes.read(12));
  const [kinds = 0] = await bytes.read(1);
  if (!(await bytes.read(kinds)).includes(noneSecurity)) throw new Error('the display requires a password');
  socket.send(Buffer.from([noneSecurity]));
  if ((await bytes.read(4)).readUInt32BE() !== 0) throw new Error('the display refused the connection');
  // Shared session.
  socket.send(Buffer.from([1]));
  const start = await bytes.read(24);
  await bytes.read(start.readUInt32BE(20));
  return { width: start.readUInt16BE(0), height: start.readUInt16BE(2) };
}

function requestFullUpdate(socket: WebSocket, { width, height }: Size): void {
  const encodings = Buffer.alloc(8);
  encodings.writeUInt8(setEncodings, 0);
  encodings.writeUInt16BE(1, 2);
  encodings.writeInt32BE(rawEncoding, 4);
  const request = Buffer.alloc(10);
  request.writeUInt8(updateRequest, 0);
  request.writeUInt16BE(width, 6);
  request.writeUInt16BE(height, 8);
  socket.send(Buffer.concat([encodings, request]));
}

/** Returns the pixels of the next update. */
async function readUpdate(bytes: Bytes): Promise<Buffer[]> {
  for (;;) {
    const [kind] = await bytes.read(1);
    if (kind === bell) continue;
    if (kind === cutText) await bytes.read((await bytes.read(7)).readUInt32BE(3));
    else if (kind === update) break;
    else throw new Error(`unknown message type ${kind} of the display`);
  }
  const count = (await bytes.read(3)).readUInt16BE(1);
  const pixels: Buffer[] = [];
  for (let rectangle = 0; rectangle < count; rectangle += 1) {
    const head = await bytes.read(12);
    pixels.push(await bytes.read(head.readUInt16BE(4) * head.readUInt16BE(6) * bytesInPixel));
  }
  return pixels;
}

function isBlank(pixels: readonly Buffer[]): boolean {
  const first = pixels[0]?.readUInt32LE(0);
  return pixels.every((rectangle) => {
    for (let offset = 0; offset < rectangle.length; offset += bytesInPixel * 7) if (rectangle.readUInt32LE(offset) !== first) return false;
    return true;
  });
}

/** Returns the ms from the call to a full uncompressed update. @throws Error when the window is blank */
export async function timeToPicture(address: string): Promise<number> {
  const started = performance.now();
  const socket = new WebSocket(address, { perMessageDeflate: false });
  const bytes = new Bytes(socket);
  const measure = async (): Promise<number> => {
    await once(socket, 'open');
    requestFullUpdate(socket, await handshake(socket, bytes));
    const pixels = await readUpdate(bytes);
    const tookMs = performance.now() - started;
    if (isBlank(pixels)) throw new Error('the window is of one colour');
    return tookMs;
  };
  try {
    return await within(pictureTimeoutMs, 'the first window update', measure());
  } finally {
    socket.terminate();
  }
}
