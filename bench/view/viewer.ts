import { once } from 'node:events';
import type { ViewTokenResponse } from '@berth/contract';
import { type LiveViewCommand, type LiveViewMessage, frameHeaderBytes, frameKind } from '@berth/contract/live-view';
import { WebSocket } from 'ws';
import type { Berth } from '../berth.ts';
import { FrameLog, type ReceivedFrame, within } from './frame-log.ts';

const openTimeoutMs = 5000;
export const firstFrameTimeoutMs = 10_000;
/** The size of the session's page. */
const fitCommand: LiveViewCommand = { type: 'fit', width: 1280, height: 720 };

/** Creates a view token and returns the live view's socket URL. */
export async function liveAddress(berth: Berth, sessionId: string, scope: 'view' | 'control' = 'view'): Promise<string> {
  const { token } = (await berth.post(`/v1/session/${sessionId}/view-token`, { scope })) as ViewTokenResponse;
  return `${berth.url.replace(/^http/, 'ws')}/v1/session/${sessionId}/live-view/socket?token=${token}`;
}

export interface FirstFrame {
  sinceOpen: number;
  sinceCall: number;
}

/** A minimal live view client that acknowledges each frame at once. */
export class Viewer {
  readonly frames = new FrameLog();
  readonly first: Promise<ReceivedFrame>;
  readonly #socket: WebSocket;
  readonly #startedMs = performance.now();
  #openedMs = Number.NaN;
  /** Why the service closed the socket. */
  #closeError: Error | null = null;

  private constructor(address: string) {
    this.first = this.frames.next();
    this.#socket = new WebSocket(address, { perMessageDeflate: false });
    this.#socket.on('open', () => {
      this.#openedMs = performance.now();
      this.#socket.send(JSON.stringify(fitCommand));
    });
    this.#socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) return this.#receive(data);
      const message = JSON.parse(data.toString()) as LiveViewMessage;
      if (message.type === 'failed') this.failures.push(message.message);
    });
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', (code, reason) => {
      this.#closeError = new Error(`the live view's socket closed with ${code} ${reason.toString()}`);
    });
  }

  /** Resolves when the socket is open. */
  static async open(address: string): Promise<Viewer> {
    const viewer = new Viewer(address);
    await within(openTimeoutMs, 'opening a live view', once(viewer.#socket, 'open'));
    return viewer;
  }

  /** Returns the ms to the first frame, from the open socket and from the call. */
  async firstFrameMs(): Promise<FirstFrame> {
    const { atMs } = await within(firstFrameTimeoutMs, 'the first frame', this.first);
    return { sinceOpen: atMs - this.#openedMs, sinceCall: atMs - this.#startedMs };
  }

  /** Messages about inputs that failed. */
  readonly failures: string[] = [];

  send(command: LiveViewCommand): void {
    this.#socket.send(JSON.stringify(command));
  }

  /** Stops reading, and so acknowledging. */
  stall(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Throws if the service has closed the socket. */
  assertOpen(): void {
    if (this.#closeError) throw this.#closeError;
  }

  async close(): Promise<void> {
    if (this.#socket.readyState === WebSocket.CLOSED) return;
    const closed = once(this.#socket, 'close');
    this.#socket.resume();
    this.#socket.close();
    await closed;
  }

  /** Disconnects without a close frame, like a closed laptop. */
  terminate(): void {
    this.#socket.terminate();
  }

  #receive(data: Buffer): void {
    if (data[0] !== frameKind) return;
    const ack: LiveViewCommand = { type: 'ack', seq: data.readUInt32LE(4) };
    this.#socket.send(JSON.stringify(ack));
    this.frames.add(data.readDoubleLE(8), data.length - frameHeaderBytes);
  }
}

/** Returns the session's viewer count. */
export async function viewersOf(berth: Berth, sessionId: string): Promise<number> {
  const { connections } = (await berth.read(sessionId)) as { connections: { viewers: number } };
  return connections.viewers;
}
