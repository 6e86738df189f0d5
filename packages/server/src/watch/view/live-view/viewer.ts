import { frameHeaderBytes, frameKind, framesInFlightMax, type LiveViewMessage, type ViewCloseReason } from '@berth/contract/live-view';
import type { Browser, ScreencastAttachment, ScreencastClient, ScreencastDemand, ScreencastFrame } from '@berth/devtools';
import type { Clock } from '@berth/lib/clock.ts';
import { parseCommand, type ControlCommand } from './live-view-commands.ts';
import { noPrompt } from './live-view-messages.ts';
import { closeSocket, startHeartbeat, type Socket } from './viewer-socket.ts';
import { ViewerQuality, type Fit } from './viewer-quality.ts';

export type ViewerScope = 'view' | 'control';

/** Messages that replace the one before. */
type LatestKind = 'state' | 'prompt';

export interface ViewerEvents {
  onCommand(command: ControlCommand): void;
  /** Called once, whichever side closes. */
  onClose(): void;
}

/** A viewer with more unsent data than this loses frames, then messages. */
const unsentBytesMax = 1024 * 1024;
/** A viewer that does not acknowledge a frame for this long is not watching. */
const ackTimeoutMs = 60_000;
const checkIntervalMs = 1000;
/** A mouse reports up to 1000 moves a second; our page sends one per animation frame. */
const commandsPerSecondMax = 500;
/** The viewer's size until the page reports it. */
const defaultFit: Fit = { width: 1280, height: 720 };
/** The largest page. */
const fitMax: Fit = { width: 3840, height: 2160 };

/** One viewer's socket, and a client of the screencast that is ready for as many frames as it acknowledges. */
export class Viewer implements ScreencastClient {
  readonly scope: ViewerScope;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #events: ViewerEvents;
  readonly #quality: ViewerQuality;
  #fit = defaultFit;
  #screencast: ScreencastAttachment | null = null;
  /** Oldest first; at most `framesInFlightMax`. */
  #unacknowledged: { seq: number; sentMs: number }[] = [];
  /** The latest state and prompt that have not been sent. */
  readonly #pending = new Map<LatestKind, string>();
  /** The last sent state of each kind, which is not sent again. */
  readonly #sent = new Map<LatestKind, string>([['prompt', noPrompt]]);
  #second = { startMs: 0, commands: 0 };
  #hasEnded = false;

  constructor(socket: Socket, { scope, clock, events }: { scope: ViewerScope; clock: Clock; events: ViewerEvents }) {
    this.scope = scope;
    this.#socket = socket;
    this.#clock = clock;
    this.#events = events;
    this.#quality = new ViewerQuality(clock.monotonicMs());
    socket.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary));
    // `close` follows every error and cleans up.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#handleClose());
    startHeartbeat(socket, clock, (ms) => this.#quality.recordRoundTrip(ms));
    const timer = setInterval(() => this.#checkAcknowledgements(), checkIntervalMs).unref();
    socket.once('close', () => clearInterval(timer));
  }

  /** Sends frames from then on, until the socket closes. */
  watch(browser: Pick<Browser, 'attachScreencast'>): void {
    if (!this.#hasEnded) this.#screencast = browser.attachScreencast(this);
  }

  demand(): ScreencastDemand {
    return this.#quality.demand(this.#fit);
  }

  isReady(): boolean {
    return this.#hasRoom() && this.#unacknowledged.length < framesInFlightMax;
  }

  onFrame(frame: ScreencastFrame): void {
    const { seq, message } = toLiveFrame(frame);
    this.#unacknowledged.push({ seq, sentMs: this.#clock.monotonicMs() });
    this.#socket.send(message, this.#onSent);
  }

  /** Sends a complete state or prompt as JSON. It replaces one that has not been sent. */
  sendLatest(kind: LatestKind, text: string): void {
    if (this.#sent.get(kind) === text) this.#pending.delete(kind);
    else this.#pending.set(kind, text);
    this.#sendPending();
  }

  /** Dropped when the viewer does not read. */
  sendMessage(message: LiveViewMessage): void {
    if (this.#hasRoom()) this.#socket.send(JSON.stringify(message));
  }

  /** Idempotent. `detail` is the reason in the last message, where it is more specific than the close code. */
  end(reason: ViewCloseReason, detail: string = reason): void {
    if (this.#hasEnded) return;
    this.sendMessage({ type: 'ended', reason: detail });
    this.#handleClose();
    closeSocket(this.#socket, reason);
  }

  #handleClose(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#pending.clear();
    this.#screencast?.detach();
    this.#events.onClose();
  }

  #hasRoom(): boolean {
    return !this.#hasEnded && this.#socket.readyState === this.#socket.OPEN && this.#socket.bufferedAmount <= unsentBytesMax;
  }

  #sendPending(): void {
    for (const [kind, text] of this.#pending) {
      if (!this.#hasRoom()) return;
      this.#pending.delete(kind);
      this.#sent.set(kind, text);
      this.#socket.send(text, this.#onSent);
    }
  }

  /** The socket may have room again. */
  readonly #onSent = (): void => {
    this.#sendPending();
    this.#screencast?.update();
  };

  #checkAcknowledgements(): void {
    const [oldest] = this.#unacknowledged;
    if (!oldest) return;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - oldest.sentMs >= ackTimeoutMs) return this.end('limit', 'not_watching');
    this.#quality.checkSilence(oldest.sentMs, nowMs);
    this.#screencast?.update();
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (this.#hasEnded) return;
    const command = this.#countCommand() ? parseCommand(data, isBinary) : null;
    if (!command) return this.end('bad_message');
    if (command.type === 'ack') return this.#acknowledge(command.seq);
    if (command.type !== 'fit') return this.#events.onCommand(command);
    this.#fit = { width: Math.min(command.width, fitMax.width), height: Math.min(command.height, fitMax.height) };
    this.#screencast?.update();
  }

  #countCommand(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#second.startMs >= 1000) this.#second = { startMs: nowMs, commands: 0 };
    this.#second.commands += 1;
    return this.#second.commands <= commandsPerSecondMax;
  }

  /** Frames arrive in order, so one acknowledges all before it. Unknown numbers are ignored. */
  #acknowledge(seq: number): void {
    const index = this.#unacknowledged.findIndex((frame) => frame.seq === seq);
    const frame = this.#unacknowledged[index];
    if (!frame) return;
    this.#quality.recordAck(frame.sentMs, this.#clock.monotonicMs());
    this.#unacknowledged.splice(0, index + 1);
    this.#screencast?.update();
  }
}

/** A frame as it is sent over the socket. */
interface LiveFrame {
  /** The number that a viewer acknowledges. */
  seq: number;
  message: Buffer;
}

const u16Max = 0xffff;
const u32Values = 2 ** 32;
/** Each frame is encoded once for all viewers. */
const liveFrames = new WeakMap<ScreencastFrame, LiveFrame>();

/** Puts the contract's header before the JPEG. The 32-bit sequence number wraps around. */
export function toLiveFrame(frame: ScreencastFrame): LiveFrame {
  const encoded = liveFrames.get(frame);
  if (encoded) return encoded;
  const { data, width, height, drawnAtMs } = frame;
  const seq = frame.seq % u32Values;
  const header = Buffer.alloc(frameHeaderBytes);
  header.writeUInt8(frameKind, 0);
  header.writeUInt32LE(seq, 4);
  header.writeDoubleLE(drawnAtMs, 8);
  header.writeUInt16LE(Math.min(u16Max, Math.round(width)), 16);
  header.writeUInt16LE(Math.min(u16Max, Math.round(height)), 18);
  const liveFrame = { seq, message: Buffer.concat([header, data]) };
  liveFrames.set(frame, liveFrame);
  return liveFrame;
}
