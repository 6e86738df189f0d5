/** A small live picture of a session: a viewer of its screencast that asks for few pixels and few frames. */
import type { LiveViewMessage } from '@berth/contract/live-view';
import { socketAddress } from '../../../shared/link/address.ts';
import { BackOff } from '../../../shared/link/back-off.ts';
import { parseFrame } from '../../../live-view/frame.ts';
import { Painter } from '../../../live-view/painter.ts';
import { call } from '../../api.ts';

/** Frames are acknowledged this late, and the service sends the next after that. */
const frameIntervalMs = 2000;
/** Only to open the socket. */
const tokenSeconds = 30;

interface ThumbnailOptions {
  sessionId: string;
  canvas: HTMLCanvasElement;
  /** Width of the picture on the screen, in CSS px. */
  width: number;
  onFirst: () => void;
}

export class Thumbnail {
  readonly #options: ThumbnailOptions;
  readonly #painter: Painter;
  readonly #backOff = new BackOff();
  readonly #closing = new AbortController();
  #socket: WebSocket | undefined;

  constructor(options: ThumbnailOptions) {
    this.#options = options;
    this.#painter = new Painter(() => options.onFirst());
    this.#painter.drawOn(options.canvas);
    void this.#open();
  }

  close(): void {
    this.#closing.abort();
    this.#socket?.close();
  }

  async #open(): Promise<void> {
    const { signal } = this.#closing;
    const params = { session_id: this.#options.sessionId };
    try {
      const { token } = await call('createViewToken', { params, body: { scope: 'view', ttl_seconds: tokenSeconds }, signal });
      if (token === null || signal.aborted) return;
      this.#listen(`/v1/session/${encodeURIComponent(params.session_id)}/live-view/socket?token=${encodeURIComponent(token)}`);
    } catch {
      // The session starts, has ended, or has all viewers that it may have.
      this.#retry();
    }
  }

  #listen(path: string): void {
    const socket = new WebSocket(socketAddress(location, path));
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    let hasEnded = false;
    socket.addEventListener('open', () => {
      const width = Math.round(this.#options.width * devicePixelRatio);
      socket.send(JSON.stringify({ type: 'fit', width, height: width }));
    });
    socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === 'string') hasEnded ||= (JSON.parse(data) as LiveViewMessage).type === 'ended';
      else this.#show(data, socket);
    });
    socket.addEventListener('close', () => {
      if (!hasEnded) this.#retry();
    });
  }

  #show(data: ArrayBuffer, socket: WebSocket): void {
    const frame = parseFrame(data);
    if (!frame) return;
    this.#backOff.reset();
    this.#painter.show(frame, () => {
      const acknowledge = () => {
        if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: 'ack', seq: frame.seq }));
      };
      setTimeout(acknowledge, frameIntervalMs);
    });
  }

  #retry(): void {
    const { signal } = this.#closing;
    if (signal.aborted) return;
    const timer = setTimeout(() => void this.#open(), this.#backOff.next() + frameIntervalMs);
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  }
}
