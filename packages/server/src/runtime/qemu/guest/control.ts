/**
 * The service's side of `berth.control`: it asks, the agent answers. Every
 * answer is bounded in time and in bytes, and with these in depth; what passes
 * a bound or is no answer ends the connection, because it is not our agent who
 * sends it.
 */
import { connect } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { GuestFault } from './fault.ts';
import { Intake } from './intake.ts';
import { openWindow, sessionLimits } from './limits.ts';
import { GuestStream } from './stream.ts';

/** The agent's answers are a few hundred bytes; the longest has the last lines of a browser's log. */
const answerBytesMax = 64 * 1024;
/** Of what the agent says of a failure, for our log. */
const failureCharsMax = 1000;
/** What DevTools and a picture need to come at full speed when a round trip takes 22 ms. */
const streamWindowBytes = 1024 ** 2;
const connectionWindowBytes = 8 * streamWindowBytes;
/** Viewers, downloads and questions at once. The service has no use for more of one machine. */
const streamsMax = 128;
/** A guest that leaves so many unanswered reads nothing, whatever waits for it. */
const pingEveryMs = 5000;
const pingsUnansweredMax = 3;
/** How long the guest may leave unread what is sent to it. */
const writeMsMax = 30_000;

export interface ControlOptions {
  port: Duplex;
  /** Stretches every deadline. */
  slowness: number;
  /** Told once that the connection is no more, by whoever's doing, and why. */
  onLost: (why: string) => void;
}

export interface GuestRequest {
  method: string;
  path: string;
}

export interface AskOptions {
  /** JSON, or bytes as they are. */
  body?: object | Buffer;
  /** For the whole of a short answer, for the head of a stream. Null for one that may take as long as it likes. */
  msMax: number | null;
  signal?: AbortSignal | undefined;
}

interface Head {
  status: number;
  /** Null where the agent does not tell a length. */
  bytes: number | null;
}

interface Schema<T> {
  parse: (value: unknown) => T;
}

export class GuestControl {
  readonly #options: ControlOptions;
  readonly #session: ClientHttp2Session;
  readonly #intake: Intake;
  #pulse: NodeJS.Timeout | undefined;
  #pingsUnanswered = 0;
  #streams = 0;
  #lost: string | undefined;
  readonly #over = Promise.withResolvers<string>();

  constructor(options: ControlOptions) {
    this.#options = options;
    this.#intake = new Intake(options.port, (limit) => this.lose(limit));
    options.port.on('error', () => {});
    this.#session = connect('http://guest', {
      ...sessionLimits,
      createConnection: () => options.port,
      settings: { ...sessionLimits.settings, enablePush: false, initialWindowSize: streamWindowBytes },
    });
    openWindow(this.#session, connectionWindowBytes);
    this.#session.on('error', (error) => this.lose(error.message));
    this.#session.on('goaway', (code) => this.lose(`the agent left with code ${code}`));
    this.#session.on('close', () => this.lose('the connection closed'));
    if (options.port.destroyed) process.nextTick(() => this.lose('the connection closed'));
    // From the first word on: an agent that is still being booted answers nothing.
    this.#session.once('remoteSettings', () => {
      if (this.#lost === undefined) this.#pulse = setInterval(() => this.#ping(), pingEveryMs * options.slowness).unref();
    });
  }

  /** The answer to a question, by its schema. Throws GuestFault, with what the agent says where it is another status than 200. */
  async ask<T>(request: GuestRequest, schema: Schema<T>, options: AskOptions): Promise<T> {
    const { status, text } = await this.exchange(request, options);
    if (status !== 200) throw new GuestFault(`${request.path}: status ${status}: ${text.slice(0, failureCharsMax)}`);
    try {
      return schema.parse(JSON.parse(text));
    } catch (cause) {
      throw this.#broken(`${request.path}: no such answer`, cause);
    }
  }

  /** A question whose answer is short, whatever its status. Throws GuestFault. */
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

  /** A stream, whose end is the caller's business from then on. One way for GET, both ways for all others. Throws GuestFault. */
  async open(request: GuestRequest, options: Omit<AskOptions, 'body'>): Promise<Head & { stream: GuestStream }> {
    const { stream, head } = this.#send(request);
    if (request.method === 'GET') stream.end();
    return { ...(await this.#inTime(request, stream, { ...options, work: head })), stream };
  }

  /** Ends the connection for a reason, unless it has ended. */
  lose(why: string): void {
    if (this.#lost !== undefined) return;
    this.#lost = why;
    this.#over.resolve(why);
    clearInterval(this.#pulse);
    this.#intake.close();
    this.#session.destroy();
    // A session that is destroyed waits for the guest to read what was sent.
    this.#options.port.destroy();
    this.#options.onLost(why);
  }

  #send({ method, path }: GuestRequest): { stream: GuestStream; head: Promise<Head> } {
    // A session ends a moment before it tells why.
    if (this.#lost !== undefined || this.#session.closed || this.#session.destroyed)
      throw new GuestFault(`${path}: ${this.#lost ?? 'the connection closed'}`);
    if (this.#streams >= streamsMax) throw new GuestFault(`${path}: ${streamsMax} streams are open`);
    const request = this.#session.request({ ':method': method, ':path': path }, { endStream: false });
    this.#streams += 1;
    request.once('close', () => (this.#streams -= 1));
    const head = this.#headOf(path, request);
    const stream = new GuestStream(request, {
      intake: this.#intake,
      writeMsMax: writeMsMax * this.#options.slowness,
      onStalled: () => this.lose(`${path}: what is sent is not read`),
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
      // Why the connection was lost is told after all its streams have closed.
      const why = this.#session.destroyed ? this.#over.promise : Promise.resolve('not answered');
      void why.then((told) => reject(new GuestFault(`${path}: ${told}`)));
    });
    // Heads before the answer may be sent without end.
    request.on('headers', () => this.lose(`${path}: a head before the answer`));
    return promise;
  }

  async #textOf({ path }: GuestRequest, stream: GuestStream): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > answerBytesMax) throw this.#broken(`${path}: an answer of more than ${answerBytesMax} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  async #inTime<T>({ path }: GuestRequest, stream: GuestStream, { work, msMax, signal }: AskOptions & { work: Promise<T> }): Promise<T> {
    const cut = Promise.withResolvers<never>();
    const ms = (msMax ?? 0) * this.#options.slowness;
    const timer = msMax === null ? undefined : setTimeout(() => cut.reject(this.#broken(`${path}: no answer within ${ms} ms`)), ms);
    const onAbort = (): void => cut.reject(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    // Whatever becomes of it once nobody waits any more.
    work.catch(() => {});
    try {
      signal?.throwIfAborted();
      return await Promise.race([work, cut.promise]);
    } catch (error) {
      stream.destroy();
      if (signal?.aborted || error instanceof GuestFault) throw error;
      throw new GuestFault(`${path}: ${this.#lost ?? 'the answer was cut off'}`, { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** It is counted, not timed: a worker that was stopped for a while finds the answers only after its timers. */
  #ping(): void {
    if (this.#pingsUnanswered >= pingsUnansweredMax) return this.lose('pings are not answered');
    this.#pingsUnanswered += 1;
    if (this.#pingsUnanswered === 1) this.#session.ping(() => (this.#pingsUnanswered = 0));
  }

  #broken(why: string, cause?: unknown): GuestFault {
    this.lose(why);
    return new GuestFault(why, { cause });
  }
}
