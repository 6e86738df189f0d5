import { framesInFlight, type LiveViewMessage, type ViewCloseReason } from '@berth/contract/live-view';
import type { ScreencastDemand } from '../browser/browser.ts';
import type { Clock } from '../lib/clock.ts';
import { readCommand, type Command } from './live-view-commands.ts';
import type { LiveFrame } from './live-view-frame.ts';
import { closeSocket, keepPulse, type Socket } from './viewer-socket.ts';
import { ViewerQuality, type Fit } from './viewer-quality.ts';

export type ViewerScope = 'view' | 'control';

export interface ViewerEvents {
  onCommand(command: Command): void;
  /** Called once, at the end, whoever ended it. */
  onLeft(): void;
}

/** More than this waits for no viewer: it loses frames instead, and words after that. */
const unsentBytesMax = 1024 * 1024;
/** A viewer that has been shown a frame and says nothing for so long is not there. */
const silentMsMax = 60_000;
/** A mouse tells of each move, a thousand times a second at most; a page gathers those of one frame. */
const commandsPerSecondMax = 500;
/** Before the page has told how much room it has. */
const usualFit: Fit = { width: 1280, height: 720 };
/** No page is larger. */
const largestFit: Fit = { width: 3840, height: 2160 };

/**
 * One person's socket. Frames go out as fast as they are acknowledged, the
 * newest wins, and none is kept but that one, which all viewers share.
 */
export class Viewer {
  readonly scope: ViewerScope;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #events: ViewerEvents;
  readonly #quality: ViewerQuality;
  #fit = usualFit;
  #nextFrame: LiveFrame | null = null;
  /** Oldest first; at most `framesInFlight`. */
  #unanswered: { seq: number; sentMs: number }[] = [];
  /** What is to be told as soon as there is room; the latest only. */
  #nextState: string | null = null;
  #second = { startMs: 0, commands: 0 };
  #isOver = false;

  constructor(socket: Socket, { scope, clock, events }: { scope: ViewerScope; clock: Clock; events: ViewerEvents }) {
    this.scope = scope;
    this.#socket = socket;
    this.#clock = clock;
    this.#events = events;
    this.#quality = new ViewerQuality(clock.monotonicMs());
    socket.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary));
    // An error is followed by the close, which does the clearing away.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#leave());
    keepPulse(socket, clock, (ms) => this.#quality.noteRoundTrip(ms));
  }

  /** What this viewer can use of the picture. */
  demand(): ScreencastDemand {
    return this.#quality.demand(this.#fit);
  }

  show(frame: LiveFrame): void {
    this.#nextFrame = frame;
    this.#send();
  }

  /** A whole state as JSON: it takes the place of one that has not been sent yet. */
  tellState(text: string): void {
    this.#nextState = text;
    this.#send();
  }

  /** Left out for a viewer that does not read. */
  say(message: LiveViewMessage): void {
    if (this.#hasRoom()) this.#socket.send(JSON.stringify(message));
  }

  /** Looks after what does not happen; called about once a second. */
  look(): void {
    const [oldest] = this.#unanswered;
    if (!oldest) return;
    const nowMs = this.#clock.monotonicMs();
    this.#quality.noteSilence(oldest.sentMs, nowMs);
    if (nowMs - oldest.sentMs >= silentMsMax) this.end('limit', 'not_watching');
  }

  /** Idempotent. `told` is the reason in the last message, where it says more than the close code. */
  end(reason: ViewCloseReason, told: string = reason): void {
    if (this.#isOver) return;
    this.say({ type: 'ended', reason: told });
    this.#leave();
    closeSocket(this.#socket, reason);
  }

  #leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#nextFrame = null;
    this.#nextState = null;
    this.#events.onLeft();
  }

  #hasRoom(): boolean {
    return !this.#isOver && this.#socket.readyState === this.#socket.OPEN && this.#socket.bufferedAmount <= unsentBytesMax;
  }

  /** Sends what waits, as far as there is room; called again by whatever makes room. */
  #send(): void {
    if (!this.#hasRoom()) return;
    if (this.#nextState !== null) {
      this.#socket.send(this.#nextState, this.#sent);
      this.#nextState = null;
    }
    if (!this.#nextFrame || this.#unanswered.length >= framesInFlight) return;
    const { seq, message } = this.#nextFrame;
    this.#nextFrame = null;
    this.#unanswered.push({ seq, sentMs: this.#clock.monotonicMs() });
    this.#socket.send(message, this.#sent);
  }

  readonly #sent = (): void => this.#send();

  #receive(data: Buffer, isBinary: boolean): void {
    if (this.#isOver) return;
    const command = this.#countCommand() ? readCommand(data, isBinary) : null;
    if (!command) return this.end('bad_message');
    if (command.type === 'ack') this.#acknowledge(command.seq);
    else if (command.type === 'fit') this.#fit = smaller(command, largestFit);
    this.#events.onCommand(command);
  }

  #countCommand(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#second.startMs >= 1000) this.#second = { startMs: nowMs, commands: 0 };
    this.#second.commands += 1;
    return this.#second.commands <= commandsPerSecondMax;
  }

  /** Frames arrive in order, so that one stands for those before it. Of a frame that was never sent there is nothing to note. */
  #acknowledge(seq: number): void {
    const place = this.#unanswered.findIndex((frame) => frame.seq === seq);
    const frame = this.#unanswered[place];
    if (!frame) return;
    this.#quality.noteAck(frame.sentMs, this.#clock.monotonicMs());
    this.#unanswered.splice(0, place + 1);
    this.#send();
  }
}

const smaller = (one: Fit, other: Fit): Fit => ({ width: Math.min(one.width, other.width), height: Math.min(one.height, other.height) });
