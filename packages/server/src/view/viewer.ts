import { framesInFlightMax, type LiveViewMessage, type ViewCloseReason } from '@berth/contract/live-view';
import type { ScreencastDemand } from '../browser/browser.ts';
import type { Clock } from '../lib/clock.ts';
import { parseCommand, type Command } from './live-view-commands.ts';
import type { LiveFrame } from './live-view-frame.ts';
import { closeSocket, startHeartbeat, type Socket } from './viewer-socket.ts';
import { ViewerQuality, type Fit } from './viewer-quality.ts';

export type ViewerScope = 'view' | 'control';

export interface ViewerEvents {
  onCommand(command: Command): void;
  /** Called once, whichever side closes. */
  onClose(): void;
}

/** A viewer with more unsent data than this loses frames, then messages. */
const unsentBytesMax = 1024 * 1024;
/** A viewer that does not acknowledge a frame for this long is not watching. */
const ackTimeoutMs = 60_000;
/** A mouse reports up to 1000 moves a second; our page sends one per animation frame. */
const commandsPerSecondMax = 500;
/** Until the page reports its size. */
const defaultFit: Fit = { width: 1280, height: 720 };
/** The largest page. */
const fitMax: Fit = { width: 3840, height: 2160 };

/**
 * One viewer's socket. Frames are sent as fast as they are acknowledged; a new
 * frame replaces the pending one, so a slow viewer holds at most one.
 */
export class Viewer {
  readonly scope: ViewerScope;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #events: ViewerEvents;
  readonly #quality: ViewerQuality;
  #fit = defaultFit;
  #pendingFrame: LiveFrame | null = null;
  /** Oldest first; at most `framesInFlightMax`. */
  #unacknowledged: { seq: number; sentMs: number }[] = [];
  /** The latest state that has not been sent. */
  #pendingState: string | null = null;
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
  }

  /** Returns the frame size, quality and rate that this viewer can use. */
  demand(): ScreencastDemand {
    return this.#quality.demand(this.#fit);
  }

  show(frame: LiveFrame): void {
    this.#pendingFrame = frame;
    this.#send();
  }

  /** Sends a complete state as JSON. It replaces one that has not been sent. */
  sendState(text: string): void {
    this.#pendingState = text;
    this.#send();
  }

  /** Dropped when the viewer does not read. */
  sendMessage(message: LiveViewMessage): void {
    if (this.#hasRoom()) this.#socket.send(JSON.stringify(message));
  }

  /** Detects missing acknowledgements. Called about once a second. */
  checkAcknowledgements(): void {
    const [oldest] = this.#unacknowledged;
    if (!oldest) return;
    const nowMs = this.#clock.monotonicMs();
    this.#quality.checkSilence(oldest.sentMs, nowMs);
    if (nowMs - oldest.sentMs >= ackTimeoutMs) this.end('limit', 'not_watching');
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
    this.#pendingFrame = null;
    this.#pendingState = null;
    this.#events.onClose();
  }

  #hasRoom(): boolean {
    return !this.#hasEnded && this.#socket.readyState === this.#socket.OPEN && this.#socket.bufferedAmount <= unsentBytesMax;
  }

  /** Sends pending data while the socket has room. Called again when room is made. */
  #send(): void {
    if (!this.#hasRoom()) return;
    if (this.#pendingState !== null) {
      this.#socket.send(this.#pendingState, this.#onSent);
      this.#pendingState = null;
    }
    if (!this.#pendingFrame || this.#unacknowledged.length >= framesInFlightMax) return;
    const { seq, message } = this.#pendingFrame;
    this.#pendingFrame = null;
    this.#unacknowledged.push({ seq, sentMs: this.#clock.monotonicMs() });
    this.#socket.send(message, this.#onSent);
  }

  readonly #onSent = (): void => this.#send();

  #receive(data: Buffer, isBinary: boolean): void {
    if (this.#hasEnded) return;
    const command = this.#countCommand() ? parseCommand(data, isBinary) : null;
    if (!command) return this.end('bad_message');
    if (command.type === 'ack') this.#acknowledge(command.seq);
    else if (command.type === 'fit') this.#fit = minFit(command, fitMax);
    this.#events.onCommand(command);
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
    this.#send();
  }
}

const minFit = (a: Fit, b: Fit): Fit => ({ width: Math.min(a.width, b.width), height: Math.min(a.height, b.height) });
