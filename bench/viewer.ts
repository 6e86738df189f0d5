import { once } from 'node:events';
import type { ViewTokenResponse } from '@berth/contract';
import { type LiveViewCommand, frameHeaderBytes, frameKind } from '@berth/contract/live-view';
import { WebSocket } from 'ws';
import type { Berth } from './berth.ts';
import { FrameLog, type TakenFrame, within } from './frame-log.ts';

const openMsMax = 5000;
export const firstFrameMsMax = 10_000;
/** As much room as the session's page takes, which is what a link opened in a window of that size has. */
const fit: LiveViewCommand = { type: 'fit', width: 1280, height: 720 };

/** Where a link to watch a session leads a program. */
export async function liveAddress(berth: Berth, sessionId: string): Promise<string> {
  const { token } = (await berth.post(`/v1/session/${sessionId}/view-token`, { scope: 'view' })) as ViewTokenResponse;
  return `${berth.url.replace(/^http/, 'ws')}/v1/session/${sessionId}/live-view/socket?token=${token}`;
}

export interface FirstFrame {
  sinceOpen: number;
  sinceCall: number;
}

/** A bare viewer of the live view: no page, and no time between a frame's coming and its acknowledgement. */
export class Viewer {
  readonly frames = new FrameLog();
  readonly first: Promise<TakenFrame>;
  readonly #socket: WebSocket;
  readonly #startedMs = performance.now();
  #openedMs = Number.NaN;
  /** Why it closed, when nobody here closed it. */
  #fault: Error | null = null;

  private constructor(address: string) {
    this.first = this.frames.next();
    this.#socket = new WebSocket(address, { perMessageDeflate: false });
    this.#socket.on('open', () => {
      this.#openedMs = performance.now();
      this.#socket.send(JSON.stringify(fit));
    });
    this.#socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.#take(data);
    });
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', (code, reason) => {
      this.#fault = new Error(`the live view's socket closed with ${code} ${reason.toString()}`);
    });
  }

  /** Resolves when the socket is open. */
  static async open(address: string): Promise<Viewer> {
    const viewer = new Viewer(address);
    await within(openMsMax, 'opening a live view', once(viewer.#socket, 'open'));
    return viewer;
  }

  /** Milliseconds from the opening of the socket to the first frame, and from the call before its handshake. */
  async firstFrameMs(): Promise<FirstFrame> {
    const { atMs } = await within(firstFrameMsMax, 'the first frame', this.first);
    return { sinceOpen: atMs - this.#openedMs, sinceCall: atMs - this.#startedMs };
  }

  /** Reads nothing more, and so acknowledges nothing. */
  stall(): void {
    this.#socket.pause();
  }

  readOn(): void {
    this.#socket.resume();
  }

  /** Throws if the service has closed the socket. */
  check(): void {
    if (this.#fault) throw this.#fault;
  }

  async close(): Promise<void> {
    if (this.#socket.readyState === WebSocket.CLOSED) return;
    const closed = once(this.#socket, 'close');
    this.#socket.resume();
    this.#socket.close();
    await closed;
  }

  /** Goes without a word, as a laptop that is shut. */
  cut(): void {
    this.#socket.terminate();
  }

  #take(data: Buffer): void {
    if (data[0] !== frameKind) return;
    const ack: LiveViewCommand = { type: 'ack', seq: data.readUInt32LE(4) };
    this.#socket.send(JSON.stringify(ack));
    this.frames.add(data.readDoubleLE(8), data.length - frameHeaderBytes);
  }
}

/** As the session itself says. */
export async function viewersOf(berth: Berth, sessionId: string): Promise<number> {
  const { connections } = (await berth.read(sessionId)) as { connections: { viewers: number } };
  return connections.viewers;
}
