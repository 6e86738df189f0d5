import { signal, type ReadonlySignal } from '@preact/signals';
import { BackOff } from './back-off.ts';
import { decisionForCloseCode, decisionForStatus, type Ending, type CloseDecision } from './endings.ts';

/** `reconnecting`: the next attempt is at `retryAtMs`, in epoch ms. */
export type LinkState =
  | { status: 'connecting' }
  | { status: 'live' }
  | { status: 'reconnecting'; retryAtMs: number }
  | { status: 'ended'; ending: Ending };

interface LinkOptions {
  socketUrl: string;
  /** Requested to learn why a socket was refused, as browsers do not report it. */
  pageUrl: string;
  /** Receives each new socket before it opens. Calls `live` after the first message. */
  onSocket: (socket: WebSocket) => void;
}

/** A connection that lasted this long resets the backoff. */
const stableMs = 10_000;

/** A WebSocket that reconnects until the service ends it. */
export class Link {
  readonly #options: LinkOptions;
  readonly #state = signal<LinkState>({ status: 'connecting' });
  readonly #backOff = new BackOff();
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #liveSinceMs: number | undefined;
  #decision: CloseDecision;
  readonly #closing = new AbortController();

  constructor(options: LinkOptions) {
    this.#options = options;
    const { signal } = this.#closing;
    addEventListener('online', () => this.reconnectNow(), { signal });
    const onVisible = () => {
      if (document.visibilityState === 'visible') this.reconnectNow();
    };
    document.addEventListener('visibilitychange', onVisible, { signal });
  }

  get state(): ReadonlySignal<LinkState> {
    return this.#state;
  }

  /** Connects, also after it has ended. */
  open(): void {
    clearTimeout(this.#timer);
    const previous = this.#socket;
    this.#decision = undefined;
    this.#liveSinceMs = undefined;
    this.#state.value = { status: 'connecting' };
    const socket = new WebSocket(this.#options.socketUrl);
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('close', ({ code, reason }) => {
      if (this.#socket === socket) void this.#closed(code, reason);
    });
    this.#socket = socket;
    previous?.close();
    this.#options.onSocket(socket);
  }

  live(): void {
    this.#liveSinceMs = performance.now();
    this.#state.value = { status: 'live' };
  }

  /** Sets what happens when the socket closes, from the service's last message. */
  setDecision(decision: CloseDecision): void {
    this.#decision = decision;
  }

  /** Closes the connection for good. */
  end(ending: Ending): void {
    this.#decision = ending;
    this.#socket?.close();
  }

  /** Closes the connection and leaves nothing behind, where the page goes on without it. */
  close(): void {
    this.#closing.abort();
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
  }

  /** Skips the delay before the next attempt. */
  reconnectNow(): void {
    if (this.#state.value.status === 'reconnecting') this.open();
  }

  async #closed(code: number, reason: string): Promise<void> {
    const socket = this.#socket;
    const wasLive = this.#liveSinceMs !== undefined;
    if (this.#liveSinceMs !== undefined && performance.now() - this.#liveSinceMs > stableMs) this.#backOff.reset();
    const decision = this.#decision ?? decisionForCloseCode(code, reason) ?? (wasLive ? 'reconnect' : await this.#probePage());
    if (this.#socket !== socket) return;
    if (typeof decision === 'object') {
      this.#state.value = { status: 'ended', ending: decision };
      return;
    }
    const delayMs = this.#backOff.next();
    this.#state.value = { status: 'reconnecting', retryAtMs: Date.now() + delayMs };
    this.#timer = setTimeout(() => this.open(), delayMs);
  }

  async #probePage(): Promise<CloseDecision> {
    try {
      const response = await fetch(this.#options.pageUrl, { headers: { accept: 'application/json' }, cache: 'no-store' });
      await response.body?.cancel();
      return decisionForStatus(response.status);
    } catch {
      return undefined;
    }
  }
}
