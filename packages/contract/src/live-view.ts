/**
 * What the live view's page and its socket say to each other. Types and numbers
 * alone, so that the page may import them without the schemas.
 *
 * A frame is a binary message of the server: a header of `frameHeaderBytes`,
 * little-endian, and a JPEG. All else is JSON text.
 */

/** Byte 0: `frameKind`. 4: u32 sequence. 8: f64 epoch ms when it was drawn. 16, 18: u16 width and height of the page in CSS px. */
export const frameHeaderBytes = 20;
export const frameKind = 1;

/** Frames that a viewer may have unacknowledged: one on its way, one being drawn. */
export const framesInFlight = 2;

export interface LiveTab {
  tab_id: string;
  title: string;
  url: string;
  active: boolean;
  status: 'loading' | 'complete' | 'crashed';
}

/** From the server. `ended` is the last word before the socket is closed by the service. */
export type LiveViewMessage =
  | { type: 'hello'; session_id: string; scope: 'view' | 'control'; expires_at: string }
  | { type: 'state'; tabs: LiveTab[]; viewers: number }
  | { type: 'clipboard'; text: string }
  | { type: 'failed'; code: string; message: string }
  | { type: 'ended'; reason: string };

/** Bits as DevTools has them. */
export const modifierBits = { alt: 1, control: 2, meta: 4, shift: 8 } as const;

/** From the page. All but `ack` and `fit` need the scope `control`. Places are CSS px of the page that the frame shows. */
export type LiveViewCommand =
  | { type: 'ack'; seq: number }
  | { type: 'fit'; width: number; height: number }
  | {
      type: 'mouse';
      action: 'move' | 'down' | 'up';
      x: number;
      y: number;
      button: 'none' | 'left' | 'middle' | 'right';
      buttons: number;
      clicks: number;
      modifiers: number;
    }
  | { type: 'wheel'; x: number; y: number; dx: number; dy: number; modifiers: number }
  | { type: 'key'; action: 'down' | 'up'; key: string; code: string; modifiers: number; repeat: boolean; location: number }
  | { type: 'text'; text: string }
  | { type: 'compose'; text: string; start: number; end: number }
  | { type: 'copy' }
  | { type: 'tab'; action: 'activate' | 'open' | 'close'; tab_id?: string }
  | { type: 'navigate'; to: 'url' | 'back' | 'forward' | 'reload'; url?: string }
  | { type: 'resize'; width: number; height: number };

/** Bounds of commands: what is above them is refused. */
export const liveViewBounds = { textChars: 100_000, keyChars: 64, urlChars: 8192, commandBytes: 512 * 1024 } as const;

/** Close codes of the live view's and the window's socket, beside those of `/cdp`. */
export const viewCloseCodes = {
  session_ended: 4000,
  unauthorized: 4003,
  browser_crashed: 4008,
  limit: 4009,
  bad_message: 4010,
  service_restart: 1012,
} as const;
export type ViewCloseReason = keyof typeof viewCloseCodes;
