/** The interface of live view: screencast, console and remote input. */
import type { MouseButton } from '../page/page.ts';

/** An image of the active tab. */
export interface ScreencastFrame {
  /** Counts the frames that were drawn, also those that a client skips. */
  seq: number;
  /** JPEG. Shared by all clients: read only. */
  data: Buffer;
  tabId: string;
  /** Size of the page that it shows, in CSS px. */
  width: number;
  height: number;
  /** Epoch ms when it was drawn. */
  drawnAtMs: number;
}

/** The largest images that a client can use. The browser draws for the largest demand of all clients. */
export interface ScreencastDemand {
  /** The maximum size of the image in pixels; integers. */
  maxWidth: number;
  maxHeight: number;
  /** JPEG quality, 1…100. */
  quality: number;
  framesPerSecond: number;
}

/** A live view's viewer or a recorder. */
export interface ScreencastClient {
  demand(): ScreencastDemand;
  /** Whether it takes a frame now. If not, it gets the newest one when it is ready again; those before are skipped. */
  isReady(): boolean;
  /** Must not throw. */
  onFrame(frame: ScreencastFrame): void;
}

export interface ScreencastAttachment {
  /** Call when the client's demand may have changed, or when it is ready again. */
  update(): void;
  /** Idempotent. The browser stops drawing within a second after the last client detaches. */
  detach(): void;
}

/** A line of a page's console, or an uncaught error. Text is truncated. */
export interface ConsoleEntry {
  tabId: string;
  level: 'log' | 'debug' | 'info' | 'warning' | 'error';
  text: string;
  url: string | null;
  line: number | null;
}

/** Remote mouse and keyboard; events are forwarded as they come. Coordinates are CSS px of the page. Modifiers are DevTools' bits. */
export interface RemoteInput {
  mouse(event: {
    action: 'move' | 'down' | 'up';
    x: number;
    y: number;
    button: MouseButton | 'none';
    buttons: number;
    clicks: number;
    modifiers: number;
  }): Promise<void>;
  wheel(event: { x: number; y: number; dx: number; dy: number; modifiers: number }): Promise<void>;
  key(event: { action: 'down' | 'up'; key: string; code: string; modifiers: number; repeat: boolean; location: number }): Promise<void>;
  /** Inserts text at once, as an input method or the clipboard does. */
  insertText(text: string): Promise<void>;
  /** Shows an input method's composition; an empty text ends it. */
  compose(text: string, start: number, end: number): Promise<void>;
  /** Returns the selected text of the focused frame and field, at most 1 MiB. */
  selection(): Promise<string>;
  /** Releases all held keys and buttons, when the client disconnects. Never rejects. */
  release(): Promise<void>;
}
