/**
 * As much of RFB 3.8 as it takes to give a display another size: the
 * ExtendedDesktopSize extension. All numbers are big-endian. The other side is
 * a machine that may be hostile, so nothing that it says is taken on trust.
 */
import { EventEmitter, once } from 'node:events';
import type { Duplex } from 'node:stream';

/** The other side does not say what it should. */
export class RfbError extends Error {}

const extendedDesktopSize = -308;
const askedByUs = 1;
/** Names of displays and clipboards, which are passed over. */
const textBytesMax = 1024 ** 2;
/** An answer comes within the first few. */
const messagesMax = 100;

interface Size {
  width: number;
  height: number;
}

/** Resolves when the display has this size. Throws RfbError and whatever ends the stream or the wait. */
export async function setDesktopSize(stream: Duplex, size: Size, { signal }: { signal: AbortSignal }): Promise<void> {
  const gone = new AbortController();
  stream.once('close', () => gone.abort(new RfbError('the stream has ended')));
  const server = new RfbServer(stream, AbortSignal.any([signal, gone.signal]));
  await server.shakeHands();
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
  /** Tells when more has come. A listener on the stream itself would be told at once of the part that is there already, for ever. */
  readonly #arrivals = new EventEmitter();
  #bytesPerPixel = 4;

  constructor(stream: Duplex, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    stream.on('readable', () => this.#arrivals.emit('more'));
  }

  /** Without a password, and beside all others. */
  async shakeHands(): Promise<void> {
    const version = (await this.#take(12)).toString('latin1');
    if (version !== 'RFB 003.008\n') throw new RfbError('another protocol');
    this.#stream.write(version);
    const types = await this.#take((await this.#take(1)).readUInt8());
    if (!types.includes(1)) throw new RfbError('a password is asked for');
    this.#stream.write(Buffer.from([1]));
    if ((await this.#take(4)).readUInt32BE() !== 0) throw new RfbError('refused');
    this.#stream.write(Buffer.from([1]));
    const display = await this.#take(24);
    this.#bytesPerPixel = display.readUInt8(4) / 8;
    await this.#pass(display.readUInt32BE(20));
  }

  /** Asks for the size, which comes in place of a picture, and waits for one that is told for this reason. */
  async nextSize({ whole, reason }: { whole: boolean; reason: number | null }): Promise<DesktopSize> {
    this.#stream.write(Buffer.from([3, whole ? 0 : 1, 0, 0, 0, 0, 0, 1, 0, 1]));
    for (let messages = 0; messages < messagesMax; messages += 1) {
      const found = await this.#readMessage(reason);
      if (found) return found;
    }
    throw new RfbError('no answer');
  }

  async #readMessage(reason: number | null): Promise<DesktopSize | null> {
    const type = (await this.#take(1)).readUInt8();
    if (type === 0) return this.#readUpdate(reason);
    if (type === 1) await this.#pass((await this.#take(5)).readUInt16BE(3) * 6);
    else if (type === 3) await this.#pass((await this.#take(7)).readUInt32BE(3));
    else if (type !== 2) throw new RfbError(`an unknown message: ${type}`);
    return null;
  }

  async #readUpdate(reason: number | null): Promise<DesktopSize | null> {
    const rectangles = (await this.#take(3)).readUInt16BE(1);
    let found: DesktopSize | null = null;
    for (let read = 0; read < rectangles; read += 1) {
      const header = await this.#take(12);
      const [width, height] = [header.readUInt16BE(4), header.readUInt16BE(6)];
      const encoding = header.readInt32BE(8);
      if (encoding === 0) await this.#pass(width * height * this.#bytesPerPixel);
      else if (encoding === extendedDesktopSize) {
        const screens = await this.#take((await this.#take(4)).readUInt8() * 16);
        const told = { width, height, status: header.readUInt16BE(2), screen: screens.length > 0 ? screens.readUInt32BE() : 0 };
        if (reason === null || header.readUInt16BE(0) === reason) found = told;
      } else throw new RfbError(`an unknown encoding: ${encoding}`);
    }
    return found;
  }

  async #take(bytes: number): Promise<Buffer> {
    if (bytes === 0) return Buffer.alloc(0);
    for (;;) {
      const taken = this.#stream.read(bytes) as Buffer | null;
      if (taken?.length === bytes) return taken;
      // One that ended before anybody listened tells nothing any more.
      if (taken || this.#stream.destroyed) throw new RfbError('the stream has ended');
      await once(this.#arrivals, 'more', { signal: this.#signal });
    }
  }

  async #pass(bytes: number): Promise<void> {
    if (bytes > textBytesMax) throw new RfbError('more than is to be passed over');
    await this.#take(bytes);
  }
}

const int16 = (value: number): number[] => [value >>> 8, value & 0xff];
const int32 = (value: number): number[] => [(value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff];
