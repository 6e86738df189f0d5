/**
 * The part of RFB 3.8 (RFC 6143) that resizes a display: the ExtendedDesktopSize
 * extension. All numbers are big-endian. The peer may be hostile, so every length
 * is checked.
 */
import { EventEmitter, once } from 'node:events';
import type { Duplex } from 'node:stream';

/** The peer broke the protocol or refused. */
class RfbError extends Error {}

const extendedDesktopSize = -308;
const askedByUs = 1;
/** Limit of skipped texts: display names and clipboards. */
const textBytesMax = 1024 ** 2;
/** The answer is among the first few messages. */
const messagesMax = 100;

interface Size {
  width: number;
  height: number;
}

/** Resolves when the display has this size. @throws RfbError, or the signal's reason */
export async function setDesktopSize(stream: Duplex, size: Size, { signal }: { signal: AbortSignal }): Promise<void> {
  const closed = new AbortController();
  stream.once('close', () => closed.abort(new RfbError('the stream has ended')));
  const server = new RfbServer(stream, AbortSignal.any([signal, closed.signal]));
  await server.handshake();
  stream.write(Buffer.from([2, 0, 0, 1, ...int32(extendedDesktopSize)]));
  const { screen, ...now } = await server.nextSize({ whole: true, reason: null });
  if (now.width === size.width && now.height === size.height) return;
  stream.write(
    Buffer.from([
      251,
      0,
      ...int16(size.width),
      ...int16(size.height),
      1,
      0,
      ...int32(screen),
      0,
      0,
      0,
      0,
      ...int16(size.width),
      ...int16(size.height),
      0,
      0,
      0,
      0,
    ]),
  );
  const then = await server.nextSize({ whole: false, reason: askedByUs });
  if (then.width !== size.width || then.height !== size.height) throw new RfbError(`the display refused its size: status ${then.status}`);
}

interface DesktopSize extends Size {
  screen: number;
  status: number;
}

class RfbServer {
  readonly #stream: Duplex;
  readonly #signal: AbortSignal;
  /** Emits `more` on new data. A new `readable` listener on the stream itself would fire for data that is already buffered, without end. */
  readonly #readable = new EventEmitter();
  #bytesPerPixel = 4;

  constructor(stream: Duplex, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    stream.on('readable', () => this.#readable.emit('more'));
  }

  /** Connects without a password, and shares the display with other viewers. */
  async handshake(): Promise<void> {
    const version = (await this.#read(12)).toString('latin1');
    if (version !== 'RFB 003.008\n') throw new RfbError('another protocol');
    this.#stream.write(version);
    const types = await this.#read((await this.#read(1)).readUInt8());
    if (!types.includes(1)) throw new RfbError('a password is required');
    this.#stream.write(Buffer.from([1]));
    if ((await this.#read(4)).readUInt32BE() !== 0) throw new RfbError('refused');
    this.#stream.write(Buffer.from([1]));
    const display = await this.#read(24);
    this.#bytesPerPixel = display.readUInt8(4) / 8;
    await this.#skip(display.readUInt32BE(20));
  }

  /** Requests an update and waits for a size with this reason. */
  async nextSize({ whole, reason }: { whole: boolean; reason: number | null }): Promise<DesktopSize> {
    this.#stream.write(Buffer.from([3, whole ? 0 : 1, 0, 0, 0, 0, 0, 1, 0, 1]));
    for (let messages = 0; messages < messagesMax; messages += 1) {
      const size = await this.#readMessage(reason);
      if (size) return size;
    }
    throw new RfbError('no answer');
  }

  async #readMessage(reason: number | null): Promise<DesktopSize | null> {
    const type = (await this.#read(1)).readUInt8();
    if (type === 0) return this.#readUpdate(reason);
    if (type === 1) await this.#skip((await this.#read(5)).readUInt16BE(3) * 6);
    else if (type === 3) await this.#skip((await this.#read(7)).readUInt32BE(3));
    else if (type !== 2) throw new RfbError(`an unknown message: ${type}`);
    return null;
  }

  async #readUpdate(reason: number | null): Promise<DesktopSize | null> {
    const rectangles = (await this.#read(3)).readUInt16BE(1);
    let size: DesktopSize | null = null;
    for (let read = 0; read < rectangles; read += 1) {
      const header = await this.#read(12);
      const [width, height] = [header.readUInt16BE(4), header.readUInt16BE(6)];
      const encoding = header.readInt32BE(8);
      if (encoding === 0) await this.#skip(width * height * this.#bytesPerPixel);
      else if (encoding === extendedDesktopSize) {
        const screens = await this.#read((await this.#read(4)).readUInt8() * 16);
        const reported = { width, height, status: header.readUInt16BE(2), screen: screens.length > 0 ? screens.readUInt32BE() : 0 };
        if (reason === null || header.readUInt16BE(0) === reason) size = reported;
      } else throw new RfbError(`an unknown encoding: ${encoding}`);
    }
    return size;
  }

  async #read(bytes: number): Promise<Buffer> {
    if (bytes === 0) return Buffer.alloc(0);
    for (;;) {
      const taken = this.#stream.read(bytes) as Buffer | null;
      if (taken?.length === bytes) return taken;
      // A stream that ended before we listened emits nothing.
      if (taken || this.#stream.destroyed) throw new RfbError('the stream has ended');
      await once(this.#readable, 'more', { signal: this.#signal });
    }
  }

  async #skip(bytes: number): Promise<void> {
    if (bytes > textBytesMax) throw new RfbError('a text is too long');
    await this.#read(bytes);
  }
}

const int16 = (value: number): number[] => [value >>> 8, value & 0xff];
const int32 = (value: number): number[] => [(value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff];
