import RFB from '@novnc/novnc';
import { signal } from '@preact/signals';
import { Clipboard } from '../shared/text/clipboard.ts';
import { Link } from '../shared/link/link.ts';
import { isMac } from '../shared/platform.ts';
import { Toasts } from '../shared/toasts.tsx';
import { keysymOfKey, keysyms, keysymsOfText } from './keysyms.ts';

/** Leaves the window, which receives every other key. */
export const leaveKey = 'F6';

interface RemoteWindowOptions {
  socketUrl: string;
  pageUrl: string;
}

/** The browser window, shown by noVNC. */
export class RemoteWindow {
  readonly link: Link;
  readonly clipboard = new Clipboard();
  readonly toasts = new Toasts();
  readonly hasPicture = signal(false);
  /** Returns the focus to the controls of this page. */
  onLeave: () => void = () => {};
  #target: HTMLElement | undefined;
  #rfb: RFB | undefined;

  constructor(options: RemoteWindowOptions) {
    this.link = new Link({ ...options, onSocket: (socket) => this.#attach(socket) });
    // Every selection is sent, so opening the panel each time would disturb.
    this.clipboard.onRefused = () => this.toasts.show('The copied text is in the clipboard panel.');
  }

  /** Connects and shows the window in an element. */
  drawIn(target: HTMLElement): void {
    this.#target = target;
    // In the capture phase, as noVNC handles every key.
    target.addEventListener('keydown', (event) => this.#handleKeyDown(event), { capture: true });
    target.addEventListener('paste', (event) => this.#handlePaste(event));
    this.link.open();
  }

  focus(): void {
    this.#rfb?.focus();
  }

  type(text: string): void {
    for (const keysym of keysymsOfText(text)) this.#rfb?.sendKey(keysym, '');
  }

  /** Presses a non-printing key. Returns whether it is one. */
  press(key: string): boolean {
    const keysym = keysymOfKey(key);
    if (keysym !== undefined) this.#rfb?.sendKey(keysym, key);
    return keysym !== undefined;
  }

  /** Sets the clipboard of the session. */
  sendClipboard(text: string): void {
    this.#rfb?.clipboardPasteFrom(text);
  }

  #attach(socket: WebSocket): void {
    if (!this.#target) return;
    const rfb = new RFB(this.#target, socket, { shared: true });
    rfb.scaleViewport = true;
    rfb.background = 'transparent';
    rfb.addEventListener('connect', () => this.#connected(rfb));
    rfb.addEventListener('disconnect', () => (this.hasPicture.value = this.#rfb === rfb ? false : this.hasPicture.value));
    rfb.addEventListener('clipboard', ({ detail }) => void this.clipboard.receive(detail.text));
    rfb.addEventListener('securityfailure', () =>
      this.link.end({
        title: 'The browser window cannot be opened',
        text: 'The display refused the connection. Try again in a moment.',
        canRetry: true,
      }),
    );
    this.#rfb = rfb;
  }

  #connected(rfb: RFB): void {
    if (this.#rfb !== rfb) return;
    const canvas = this.#target?.querySelector('canvas');
    canvas?.setAttribute('tabindex', '0');
    canvas?.setAttribute('role', 'application');
    canvas?.setAttribute('aria-label', `Browser window. Your keys go to it. Press ${leaveKey} to leave it.`);
    this.hasPicture.value = true;
    this.link.live();
    rfb.focus();
  }

  #handleKeyDown(event: KeyboardEvent): void {
    const isShortcut = (event.ctrlKey || event.metaKey) && !event.altKey;
    if (event.key === leaveKey) {
      event.preventDefault();
      event.stopPropagation();
      this.onLeave();
    } else if (isShortcut && event.key.toLowerCase() === 'v') {
      // noVNC must not handle it, or the browser fires no paste event.
      event.stopPropagation();
    } else if (isMac && event.metaKey && event.key.length === 1) {
      event.preventDefault();
      event.stopPropagation();
      this.#pressWithControl(event.key);
    }
  }

  #handlePaste(event: ClipboardEvent): void {
    event.preventDefault();
    const text = event.clipboardData?.getData('text/plain');
    if (!text) return;
    this.sendClipboard(text);
    this.#pressWithControl('v');
  }

  /** The session runs Linux, where Control is what Command is on a Mac. noVNC sends Alt for Command. */
  #pressWithControl(character: string): void {
    const [keysym] = keysymsOfText(character);
    if (keysym === undefined) return;
    if (isMac) this.#rfb?.sendKey(keysyms.alt, 'MetaLeft', false);
    this.#rfb?.sendKey(keysyms.control, 'ControlLeft', true);
    this.#rfb?.sendKey(keysym, '');
    this.#rfb?.sendKey(keysyms.control, 'ControlLeft', false);
  }
}
