import RFB from '@novnc/novnc';
import { signal } from '@preact/signals';
import { Clipboard } from '../shared/clipboard.ts';
import { Link } from '../shared/link.ts';
import { isMac } from '../shared/platform.ts';
import { Toasts } from '../shared/toasts.tsx';
import { keysymOfKey, keysyms, keysymsOfText } from './keysyms.ts';

/** Leaves the window, which takes every other key. */
export const leaveKey = 'F6';

interface RemoteWindowOptions {
  socketUrl: string;
  pageUrl: string;
}

/** The browser's whole window, on a display of its own, as noVNC draws it. */
export class RemoteWindow {
  readonly link: Link;
  readonly clipboard = new Clipboard();
  readonly toasts = new Toasts();
  readonly hasPicture = signal(false);
  /** Gives the focus back to this page's own controls. */
  onLeave: () => void = () => {};
  #target: HTMLElement | undefined;
  #rfb: RFB | undefined;

  constructor(options: RemoteWindowOptions) {
    this.link = new Link({ ...options, onSocket: (socket) => this.#attach(socket) });
    // Whatever is selected there is told, so a panel each time would be in the way.
    this.clipboard.onRefused = () => this.toasts.say('What was copied in the window is in the clipboard panel.');
  }

  /** Draws into an element, from the first connection on. */
  drawIn(target: HTMLElement): void {
    this.#target = target;
    // Before noVNC, which takes every key for the window.
    target.addEventListener('keydown', (event) => this.#before(event), { capture: true });
    target.addEventListener('paste', (event) => this.#paste(event));
    this.link.open();
  }

  focus(): void {
    this.#rfb?.focus();
  }

  type(text: string): void {
    for (const keysym of keysymsOfText(text)) this.#rfb?.sendKey(keysym, '');
  }

  /** Whether it is a key that types nothing. */
  press(key: string): boolean {
    const keysym = keysymOfKey(key);
    if (keysym !== undefined) this.#rfb?.sendKey(keysym, key);
    return keysym !== undefined;
  }

  /** Puts a text on the clipboard of the session. */
  give(text: string): void {
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
      this.link.end({ title: 'The window does not open', text: 'Its display refused the connection.', canRetry: true }),
    );
    this.#rfb = rfb;
  }

  #connected(rfb: RFB): void {
    if (this.#rfb !== rfb) return;
    const canvas = this.#target?.querySelector('canvas');
    canvas?.setAttribute('tabindex', '0');
    canvas?.setAttribute('role', 'application');
    canvas?.setAttribute('aria-label', `Browser window. What you type goes there. ${leaveKey} leaves it.`);
    this.hasPicture.value = true;
    this.link.live();
    rfb.focus();
  }

  #before(event: KeyboardEvent): void {
    const isShortcut = (event.ctrlKey || event.metaKey) && !event.altKey;
    if (event.key === leaveKey) {
      event.preventDefault();
      event.stopPropagation();
      this.onLeave();
    } else if (isShortcut && event.key.toLowerCase() === 'v') {
      // The browser then tells what is pasted, which it tells nobody without it.
      event.stopPropagation();
    } else if (isMac && event.metaKey && event.key.length === 1) {
      event.preventDefault();
      event.stopPropagation();
      this.#pressWithControl(event.key);
    }
  }

  #paste(event: ClipboardEvent): void {
    event.preventDefault();
    const text = event.clipboardData?.getData('text/plain');
    if (!text) return;
    this.give(text);
    this.#pressWithControl('v');
  }

  /** The window is of Linux, where Control does what Command does on a Mac. noVNC has pressed Alt for Command there. */
  #pressWithControl(character: string): void {
    const [keysym] = keysymsOfText(character);
    if (keysym === undefined) return;
    if (isMac) this.#rfb?.sendKey(keysyms.alt, 'MetaLeft', false);
    this.#rfb?.sendKey(keysyms.control, 'ControlLeft', true);
    this.#rfb?.sendKey(keysym, '');
    this.#rfb?.sendKey(keysyms.control, 'ControlLeft', false);
  }
}
