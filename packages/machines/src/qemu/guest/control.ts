/**
 * Client of `berth.control`. Every response of the agent is limited in time and
 * size. A response that exceeds a limit or does not match its schema closes the
 * connection, as our agent never sends one.
 */
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { FloodGuard, openWindow, sessionLimits } from './flood-guard.ts';
import { GuestStream } from './stream.ts';

/** Responses take a few hundred bytes; the largest has the last lines of a browser's log. */
const answerBytesMax = 64 * 1024;
/** Limit of the agent's error messages, for our log. */
const failureCharsMax = 1000;
/** Enough for DevTools and RFB at full speed with a round trip of 22 ms. */
const streamWindowBytes = 1024 ** 2;
const connectionWindowBytes = 8 * streamWindowBytes;
/** Concurrent viewers, downloads and requests to one machine. The service needs no more. */
const streamsMax = 128;
/** The connection closes after this many unanswered pings. */
const pingEveryMs = 5000;
const pingsUnansweredMax = 3;
/** Time that sent data may stay unread by the guest. */
const writeMsMax = 30_000;

/** The guest broke the protocol or did not answer in time. The message is for our log, never for a caller. */
export class GuestError extends Error {}

interface ControlOptions {
  port: Duplex;
  /** Multiplies every timeout. */
  slowdown: number;
  /** Called once with the reason when the connection closes. */
  onClosed: (why: string) => void;
}

interface GuestRequest {
  method: string;
  path: string;
}

interface AskOptions {
  /** Sent as JSON, or as raw bytes. */
  body?: object | Buffer;
  /** Timeout in ms for a whole short response or the head of a stream; null for none. */
  msMax: number | null;
  signal?: AbortSignal | undefined;
}

interface Head {
  status: number;
  /** content-length; null without one. */
  bytes: number | null;
}

interface Schema<T> {
  parse: (value: unknown) => T;
}

export class GuestControl {
  readonly #options: ControlOptions;
  readonly #session: ClientHttp2Session;
  readonly #floodGuard: FloodGuard;
  #pulse: NodeJS.Timeout | undefined;
  #pingsUnanswered = 0;
  #streams = 0;
  #closeReason: string | undefined;
  readonly #closed = Promise.withResolvers<string>();

  constructor(options: ControlOptions) {
    this.#options = options;
    this.#floodGuard = new FloodGuard(options.port, (limit) => this.close(limit));
    options.port.on('error', () => {});
    this.#session = connect('http://guest', {
      ...sessionLimits,
      createConnection: () => options.port,
      settings: { ...sessionLimits.settings, enablePush: false, initialWindowSize: streamWindowBytes },
    });
    openWindow(this.#session, connectionWindowBytes);
    this.#session.on('error', (error) => this.close(error.message));
    this.#session.on('goaway', (code) => this.close(`the agent left with code ${code}`));
    this.#session.on('close', () => this.close('the connection closed'));
    if (options.port.destroyed) process.nextTick(() => this.close('the connection closed'));
    // Pings start with the first frame: an agent that is still booting answers nothing.
    this.#session.once('remoteSettings', () => {
      if (this.#closeReason === undefined) this.#pulse = setInterval(() => this.#ping(), pingEveryMs * options.slowdown).unref();
    });
  }

  /** Sends a request and parses the response. @throws GuestError, with the agent's message for a status other than 200 */
  async ask<T>(request: GuestRequest, schema: Schema<T>, options: AskOptions): Promise<T> {
    const { status, text } = await this.exchange(request, options);
    if (status !== 200) throw new GuestError(`${request.path}: status ${status}: ${text.slice(0, failureCharsMax)}`);
    try {
      return schema.parse(JSON.parse(text));
    } catch (cause) {
      throw this.#fail(`${request.path}: no such answer`, cause);
    }
  }

  /** Sends a request with a short response of any status. @throws GuestError */
  async exchange(request: GuestRequest, options: AskOptions): Promise<{ status: number; text: string }> {
    const { stream, head } = this.#send(request);
    const { body } = options;
    if (body) stream.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
    else stream.end();
    const answer = async (): Promise<{ status: number; text: string }> => ({
      status: (await head).status,
      text: await this.#textOf(request, stream),
    });
    return this.#inTime(request, stream, { ...options, work: answer() });
  }

  /** Opens a stream, which the caller must end: readable for GET, duplex otherwise. @throws GuestError */
  async open(request: GuestRequest, options: Omit<AskOptions, 'body'>): Promise<Head & { stream: GuestStream }> {
    const { stream, head } = this.#send(request);
    if (request.method === 'GET') stream.end();
    return { ...(await this.#inTime(request, stream, { ...options, work: head })), stream };
  }

  /** Closes the connection with a reason. Idempotent. */
  close(why: string): void {
    if (this.#closeReason !== undefined) return;
    this.#closeReason = why;
    this.#closed.resolve(why);
    clearInterval(this.#pulse);
    this.#floodGuard.close();
    this.#session.destroy();
    // A destroyed session waits for the guest to read what was sent.
    this.#options.port.destroy();
    this.#options.onClosed(why);
  }

  #send({ method, path }: GuestRequest): { stream: GuestStream; head: Promise<Head> } {
    // A session closes shortly before it reports the reason.
    if (this.#closeReason !== undefined || this.#session.closed || this.#session.destroyed)
      throw new GuestError(`${path}: ${this.#closeReason ?? 'the connection closed'}`);
    if (this.#streams >= streamsMax) throw new GuestError(`${path}: ${streamsMax} streams are open`);
    const request = this.#session.request({ ':method': method, ':path': path }, { endStream: false });
    this.#streams += 1;
    request.once('close', () => (this.#streams -= 1));
    const head = this.#headOf(path, request);
    const stream = new GuestStream(request, {
      floodGuard: this.#floodGuard,
      writeMsMax: writeMsMax * this.#options.slowdown,
      onStalled: () => this.close(`${path}: what is sent is not read`),
    });
    return { stream, head };
  }

  #headOf(path: string, request: ClientHttp2Stream): Promise<Head> {
    const { promise, resolve, reject } = Promise.withResolvers<Head>();
    request.once('response', (headers) => {
      const length = headers['content-length'];
      resolve({ status: Number(headers[':status']), bytes: /^\d{1,15}$/.test(length ?? '') ? Number(length) : null });
    });
    request.once('close', () => {
      // The reason is known only after all streams have closed.
      const why = this.#session.destroyed ? this.#closed.promise : Promise.resolve('not answered');
      void why.then((reason) => reject(new GuestError(`${path}: ${reason}`)));
    });
    // Informational headers could be sent without end.
    request.on('headers', () => this.close(`${path}: a head before the answer`));
    return promise;
  }

  async #textOf({ path }: GuestRequest, stream: GuestStream): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > answerBytesMax) throw this.#fail(`${path}: an answer of more than ${answerBytesMax} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  async #inTime<T>({ path }: GuestRequest, stream: GuestStream, { work, msMax, signal }: AskOptions & { work: Promise<T> }): Promise<T> {
    const cut = Promise.withResolvers<never>();
    const ms = (msMax ?? 0) * this.#options.slowdown;
    const timer = msMax === null ? undefined : setTimeout(() => cut.reject(this.#fail(`${path}: no answer within ${ms} ms`)), ms);
    const onAbort = (): void => cut.reject(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    // The result may be ignored after a timeout.
    work.catch(() => {});
    try {
      signal?.throwIfAborted();
      return await Promise.race([work, cut.promise]);
    } catch (error) {
      stream.destroy();
      if (signal?.aborted || error instanceof GuestError) throw error;
      throw new GuestError(`${path}: ${this.#closeReason ?? 'the response was cut off'}`, { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Counts pings instead of measuring time: a worker that was paused runs its timers before it reads the answers. */
  #ping(): void {
    if (this.#pingsUnanswered >= pingsUnansweredMax) return this.close('pings are not answered');
    this.#pingsUnanswered += 1;
    if (this.#pingsUnanswered === 1) this.#session.ping(() => (this.#pingsUnanswered = 0));
  }

  #fail(why: string, cause?: unknown): GuestError {
    this.close(why);
    return new GuestError(why, { cause });
  }
}
