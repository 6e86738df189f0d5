/** A bare RFB client: no library and no screen between the clock and the wire. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { within } from './frame-log.ts';

const pictureMsMax = 10_000;
const noneSecurity = 1;
const rawEncoding = 0;
const [setEncodings, updateRequest] = [2, 3];
const [update, bell, cutText] = [0, 2, 3];
const bytesInPixel = 4;

/** What comes over a socket, as one row of bytes. */
class Bytes {
  #chunks: Buffer[] = [];
  #length = 0;
  #wake: (() => void) | null = null;
  #fault: Error | null = null;

  constructor(socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      this.#chunks.push(data);
      this.#length += data.length;
      this.#wake?.();
    });
    socket.on('error', () => undefined);
    socket.on('close', (code, reason) => {
      this.#fault = new Error(`the window's socket closed with ${code} ${reason.toString()}`);
      this.#wake?.();
    });
  }

  async read(length: number): Promise<Buffer> {
    while (this.#length < length) {
      if (this.#fault) throw this.#fault;
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

async function shakeHands(socket: WebSocket, bytes: Bytes): Promise<Size> {
  socket.send(await bytes.read(12));
  const [kinds = 0] = await bytes.read(1);
  if (!(await bytes.read(kinds)).includes(noneSecurity)) throw new Error('the display wants a password');
  socket.send(Buffer.from([noneSecurity]));
  if ((await bytes.read(4)).readUInt32BE() !== 0) throw new Error('the display refused');
  // Others may look at the same time.
  socket.send(Buffer.from([1]));
  const start = await bytes.read(24);
  await bytes.read(start.readUInt32BE(20));
  return { width: start.readUInt16BE(0), height: start.readUInt16BE(2) };
}

function askForAll(socket: WebSocket, { width, height }: Size): void {
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

/** The pixels of the next update, whole. */
async function readUpdate(bytes: Bytes): Promise<Buffer[]> {
  for (;;) {
    const [kind] = await bytes.read(1);
    if (kind === bell) continue;
    if (kind === cutText) await bytes.read((await bytes.read(7)).readUInt32BE(3));
    else if (kind === update) break;
    else throw new Error(`the display said ${kind}, which this client does not know`);
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
  return pixels.every((each) => {
    for (let at = 0; at < each.length; at += bytesInPixel * 7) if (each.readUInt32LE(at) !== first) return false;
    return true;
  });
}

/** Milliseconds from the call until the whole window was there, uncompressed. Throws where there was nothing to be seen on it. */
export async function timeToPicture(address: string): Promise<number> {
  const started = performance.now();
  const socket = new WebSocket(address, { perMessageDeflate: false });
  const bytes = new Bytes(socket);
  const look = async (): Promise<number> => {
    await once(socket, 'open');
    askForAll(socket, await shakeHands(socket, bytes));
    const pixels = await readUpdate(bytes);
    const tookMs = performance.now() - started;
    if (isBlank(pixels)) throw new Error('the window is of one colour');
    return tookMs;
  };
  try {
    return await within(pictureMsMax, 'the picture of the window', look());
  } finally {
    socket.terminate();
  }
}
