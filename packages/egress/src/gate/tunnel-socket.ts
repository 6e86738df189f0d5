/** A stream of a tunnel with what Node's HTTP agent and the gate ask of a socket: counts of bytes, and a timeout. */
import type { ClientHttp2Stream } from 'node:http2';
import { Socket } from 'node:net';

type Done = (error?: Error | null) => void;
type Chunk = { chunk: string | Buffer; encoding: BufferEncoding };

export class TunnelSocket extends Socket {
  readonly #stream: ClientHttp2Stream;
  #read = 0;
  #dispatched = 0;

  /** `stream`: open in both directions. It is closed with the socket. */
  constructor(stream: ClientHttp2Stream) {
    super({ allowHalfOpen: false });
    this.#stream = stream;
    // Accessors of the base class count what its handle has passed.
    Object.defineProperties(this, {
      bytesRead: { get: () => this.#read },
      bytesWritten: { get: () => this.#dispatched + this.writableLength },
    });
    stream.on('data', (chunk: Buffer) => {
      this.#read += chunk.length;
      if (!this.push(chunk)) stream.pause();
    });
    stream.once('end', () => this.push(null));
    stream.once('error', (error) => this.destroy(error));
    // A stream that closes before its end was reset by the other side.
    stream.once('close', () => stream.readableEnded || this.destroy(new Error('the stream of the tunnel was reset')));
    stream.on('timeout', () => this.emit('timeout'));
    stream.pause();
  }

  override setTimeout(ms: number, listener?: () => void): this {
    if (listener) this.once('timeout', listener);
    // Node's agent compares it before it sets another one.
    Object.assign(this, { timeout: ms });
    this.#stream.setTimeout(ms);
    return this;
  }

  /** The tunnel's own connection decides whether the process waits. */
  override ref(): this {
    return this;
  }

  override unref(): this {
    return this;
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(chunk: string | Buffer, encoding: BufferEncoding, done: Done): void {
    const bytes = toBytes({ chunk, encoding });
    this.#dispatched += bytes.length;
    this.#stream.write(bytes, done);
  }

  override _writev(chunks: Chunk[], done: Done): void {
    this._write(Buffer.concat(chunks.map(toBytes)), 'binary', done);
  }

  override _final(done: Done): void {
    this.#stream.end(done);
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#stream.destroy();
    super._destroy(error, done);
  }
}

/** A socket leaves text to its handle. */
const toBytes = ({ chunk, encoding }: Chunk): Buffer => (typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);
