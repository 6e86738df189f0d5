import { computed, signal } from '@preact/signals';
import { liveViewBounds, type LivePrompt, type LiveState, type LiveViewCommand, type LiveViewMessage } from '@berth/contract/live-view';
import { Clipboard } from '../shared/text/clipboard.ts';
import { decisionForReason } from '../shared/link/endings.ts';
import { Link } from '../shared/link/link.ts';
import { splitText } from '../shared/text/text-input.ts';
import { Toasts } from '../shared/toasts.tsx';
import { parseFrame } from './frame.ts';
import { Painter } from './painter.ts';
import { Uploads } from './uploads.ts';
import type { Size } from './geometry.ts';

/** Unsent data above which mouse moves are dropped: only the last position matters. */
const backlogBytesMax = 64 * 1024;
/** Chunks of pasted text stay below the command limit even if every character is escaped. */
const textPartChars = Math.min(liveViewBounds.textChars, Math.floor(liveViewBounds.commandBytes / 8));
const textCharsMax = 1_000_000;
/** Delay before a failed navigation is reported: the state of the failed tab has arrived by then. */
const stateDelayMs = 300;

/** State of the live view page. */
export class LiveView {
  /** Path of this page. */
  readonly pageUrl: string;
  /** null until the service has sent it. */
  readonly state = signal<LiveState | null>(null);
  readonly tabs = computed(() => this.state.value?.tabs ?? []);
  /** What the page of the session waits for. */
  readonly prompt = signal<LivePrompt | null>(null);
  /** null until the service has sent it. */
  readonly scope = signal<'view' | 'control' | null>(null);
  /** Size of the page in the last frame, in CSS px; null before the first. */
  readonly pageSize = signal<Size | null>(null);
  /** Epoch ms. */
  readonly drawnAtMs = signal(0);
  readonly canControl = computed(() => this.scope.value === 'control' && this.link.state.value.status !== 'ended');
  readonly activeTab = computed(() => this.tabs.value.find(({ active }) => active));
  readonly toasts = new Toasts();
  readonly clipboard = new Clipboard();
  readonly uploads = new Uploads({
    send: (command) => this.send(command),
    unsentBytes: () => this.#socket?.bufferedAmount ?? 0,
  });
  readonly painter: Painter;
  readonly link: Link;
  /** Whether it is a part of another page, which has its own title and main part. */
  readonly isEmbedded: boolean;
  #socket: WebSocket | undefined;
  #fit: Size | undefined;

  constructor({ socketUrl, pageUrl, isEmbedded = false }: { socketUrl: string; pageUrl: string; isEmbedded?: boolean }) {
    this.pageUrl = pageUrl;
    this.isEmbedded = isEmbedded;
    this.painter = new Painter((frame) => this.#drawn(frame));
    this.link = new Link({ socketUrl, pageUrl, onSocket: (socket) => this.#listen(socket) });
  }

  send(command: LiveViewCommand): void {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) return;
    const canDrop = command.type === 'mouse' && command.action === 'move';
    if (canDrop && socket.bufferedAmount > backlogBytesMax) return;
    socket.send(JSON.stringify(command));
  }

  sendText(text: string): void {
    if (text.length > textCharsMax)
      return this.toasts.show(`The text is too long. Send at most ${textCharsMax.toLocaleString()} characters.`);
    for (const part of splitText(text, textPartChars)) this.send({ type: 'text', text: part });
  }

  /** Answers what the page of the session waits for. */
  answer(given: { accept: boolean; text?: string; option?: number; file_ids?: string[] }): void {
    const prompt = this.prompt.value;
    if (!prompt) return;
    this.prompt.value = null;
    this.send({ type: 'answer', prompt_id: prompt.prompt_id, ...given });
  }

  /** Sends the available size in device pixels, now and after each reconnect. */
  fit(space: Size): void {
    this.#fit = space;
    this.send({ type: 'fit', ...space });
  }

  #listen(socket: WebSocket): void {
    this.#socket = socket;
    this.uploads.onFailed();
    socket.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (socket !== this.#socket) return;
      if (typeof data === 'string') this.#handleMessage(data);
      else this.#show(data, socket);
    });
  }

  #show(data: ArrayBuffer, socket: WebSocket): void {
    const frame = parseFrame(data);
    if (!frame) return;
    this.painter.show(frame, () => {
      if (socket === this.#socket) this.send({ type: 'ack', seq: frame.seq });
    });
  }

  #drawn({ width, height, drawnAtMs }: Size & { drawnAtMs: number }): void {
    const size = this.pageSize.peek();
    if (size?.width !== width || size.height !== height) this.pageSize.value = { width, height };
    this.drawnAtMs.value = drawnAtMs;
  }

  /** Shows why a navigation failed, unless the tab shows no page: then the stage explains it. */
  #reportNavigation(text: string): void {
    if (!this.activeTab.value?.failure) this.toasts.show(text);
  }

  #announceDownloads({ downloads }: LiveState): void {
    const before = this.state.value?.downloads;
    for (const { download_id: id, name, status } of before ? downloads : []) {
      const isNew = before?.find(({ download_id: earlier }) => earlier === id)?.status !== 'completed';
      if (status === 'completed' && isNew) this.toasts.show(`${name} was downloaded. Save it from the downloads.`);
    }
  }

  #handleMessage(text: string): void {
    const message = JSON.parse(text) as LiveViewMessage;
    switch (message.type) {
      case 'hello':
        this.scope.value = message.scope;
        // It may have been answered while the connection was lost.
        this.prompt.value = null;
        this.link.live();
        if (this.#fit) this.fit(this.#fit);
        return;
      case 'state':
        this.#announceDownloads(message);
        this.state.value = message;
        return;
      case 'prompt':
        this.prompt.value = message.prompt;
        return;
      case 'uploaded':
        this.uploads.onUploaded(message);
        return;
      case 'clipboard':
        void this.clipboard.receive(message.text);
        return;
      case 'failed':
        this.uploads.onFailed();
        if (message.code === 'navigation_failed') setTimeout(() => this.#reportNavigation(message.message), stateDelayMs);
        else this.toasts.show(message.message);
        return;
      case 'ended':
        this.link.setDecision(decisionForReason(message.reason));
        return;
      default:
        // A newer service may send messages that this page does not know.
        return;
    }
  }
}
