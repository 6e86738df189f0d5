import { signal, type ReadonlySignal } from '@preact/signals';
import { BackOff } from './back-off.ts';
import { verdictOfClose, verdictOfStatus, type Ending, type Verdict } from './endings.ts';

/** `lost`: it connects again by itself at a time, in epoch ms. */
export type LinkState = { is: 'connecting' } | { is: 'live' } | { is: 'lost'; againAtMs: number } | { is: 'over'; ending: Ending };

interface LinkOptions {
  socketUrl: string;
  /** A browser does not tell a page why its socket was refused. The status of this address does. */
  pageUrl: string;
  /** Takes each new socket before it opens, and calls `live` when the other side has answered. */
  onSocket: (socket: WebSocket) => void;
}

/** A connection that held this long was a good one: the next loss is a new one. */
const heldMs = 10_000;

/** A socket that is opened again when it is lost, until the service says that there is nothing more to come. */
export class Link {
  readonly #options: LinkOptions;
  readonly #state = signal<LinkState>({ is: 'connecting' });
  readonly #backOff = new BackOff();
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #liveSinceMs: number | undefined;
  #told: Verdict;

  constructor(options: LinkOptions) {
    this.#options = options;
    addEventListener('online', () => this.hurry());
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') this.hurry();
    });
  }

  get state(): ReadonlySignal<LinkState> {
    return this.#state;
  }

  /** Connects anew, also when it was over. */
  open(): void {
    clearTimeout(this.#timer);
    const earlier = this.#socket;
    this.#told = undefined;
    this.#liveSinceMs = undefined;
    this.#state.value = { is: 'connecting' };
    const socket = new WebSocket(this.#options.socketUrl);
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('close', ({ code }) => {
      if (this.#socket === socket) void this.#closed(code);
    });
    this.#socket = socket;
    earlier?.close();
    this.#options.onSocket(socket);
  }

  live(): void {
    this.#liveSinceMs = performance.now();
    this.#state.value = { is: 'live' };
  }

  /** The service has said why it is about to close. */
  tell(verdict: Verdict): void {
    this.#told = verdict;
  }

  /** Ends it here, for a reason that the page found. */
  end(ending: Ending): void {
    this.#told = ending;
    this.#socket?.close();
  }

  /** Does not wait any longer for the next attempt. */
  hurry(): void {
    if (this.#state.value.is === 'lost') this.open();
  }

  async #closed(code: number): Promise<void> {
    const socket = this.#socket;
    const wasLive = this.#liveSinceMs !== undefined;
    if (this.#liveSinceMs !== undefined && performance.now() - this.#liveSinceMs > heldMs) this.#backOff.reset();
    const verdict = this.#told ?? verdictOfClose(code) ?? (wasLive ? 'again' : await this.#askPage());
    if (this.#socket !== socket) return;
    if (typeof verdict === 'object') {
      this.#state.value = { is: 'over', ending: verdict };
      return;
    }
    const waitMs = this.#backOff.next();
    this.#state.value = { is: 'lost', againAtMs: Date.now() + waitMs };
    this.#timer = setTimeout(() => this.open(), waitMs);
  }

  async #askPage(): Promise<Verdict> {
    try {
      const response = await fetch(this.#options.pageUrl, { headers: { accept: 'application/json' }, cache: 'no-store' });
      await response.body?.cancel();
      return verdictOfStatus(response.status);
    } catch {
      return undefined;
    }
  }
}
