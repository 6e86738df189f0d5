/** The words in which a browser is watched, and driven by hand. */
import type { MouseButton } from '../page/model.ts';

/** A picture of the active tab, as the browser drew it. */
export interface ScreencastFrame {
  /** JPEG. Shared by all who get it: never to be changed. */
  data: Buffer;
  tabId: string;
  /** Of the page that it shows, in CSS px: what a place in the picture is multiplied up to. */
  width: number;
  height: number;
  /** Epoch ms at which it was drawn. */
  drawnAtMs: number;
}

/** What a watcher can use. The browser draws for the one who can use most; the others leave frames out. */
export interface ScreencastDemand {
  /** No frame is wider or higher, in pixels of the picture. */
  maxWidth: number;
  maxHeight: number;
  /** JPEG, 1…100. */
  quality: number;
  framesPerSecond: number;
}

export interface ScreencastWatch {
  change(demand: ScreencastDemand): void;
  /** Idempotent. The browser stops drawing within a second of the last one's end. */
  end(): void;
}

/** A line of a page's console, an uncaught error among them. Text is cut. */
export interface ConsoleEntry {
  tabId: string;
  level: 'log' | 'debug' | 'info' | 'warning' | 'error';
  text: string;
  url: string | null;
  line: number | null;
}

/** Mouse and keyboard as a person's hands give them, sent on as they come. Places are CSS px of the page. Modifiers are DevTools' bits. */
export interface Hands {
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
  /** All at once, as an input method or the clipboard gives it. */
  insertText(text: string): Promise<void>;
  /** What an input method shows before it is settled; empty ends it. */
  compose(text: string, start: number, end: number): Promise<void>;
  /** What is selected in the page, in the frame and field that has the focus; at most 1 MiB of it. */
  selection(): Promise<string>;
  /** Lifts all keys and buttons that are held: whoever held them has gone. Never rejects. */
  release(): Promise<void>;
}
