/**
 * The protocol between the live view page and its WebSocket. Only types and
 * constants, so that the page can import them without the schemas.
 *
 * A frame is a binary message from the server: a little-endian header of
 * `frameHeaderBytes` and a JPEG. All other messages are JSON text.
 */

/** Byte 0: `frameKind`. 4: u32 sequence. 8: f64 capture time in epoch ms. 16, 18: u16 width and height of the page in CSS px. */
export const frameHeaderBytes = 20;
export const frameKind = 1;

/** Maximum number of unacknowledged frames of a viewer: one in transit, one being drawn. */
export const framesInFlightMax = 2;

export interface LiveTab {
  tab_id: string;
  title: string;
  url: string;
  active: boolean;
  status: 'loading' | 'complete' | 'crashed';
  /** Why the tab shows no page; null where it shows one. */
  failure: LiveTabFailure | null;
}

export type LiveTabFailure =
  | 'dns_failed'
  | 'blocked_by_policy'
  | 'connection_refused'
  | 'connection_reset'
  | 'timeout'
  | 'proxy_error'
  | 'unknown';

/** An option of a list. `index` counts all options of the list, also those that are not sent. */
export interface LiveOption {
  index: number;
  label: string;
  /** Label of its group. */
  group: string | null;
  selected: boolean;
  disabled: boolean;
}

/** Inputs that a page opens a picker for. `min`, `max` and `step` are those of the input; empty for none. */
export type LivePickerType = 'date' | 'time' | 'datetime-local' | 'month' | 'week' | 'color';

/** What the active tab waits for. A dialog blocks its page until it is answered. */
export type LivePrompt = { prompt_id: number } & (
  | { kind: 'dialog'; dialog: 'alert' | 'confirm' | 'prompt' | 'beforeunload'; message: string; default_value: string }
  | { kind: 'list'; options: LiveOption[]; box: { x: number; y: number; width: number; height: number } }
  | ({ kind: 'picker'; type: LivePickerType; value: string } & Record<'min' | 'max' | 'step', string>)
  | { kind: 'files'; multiple: boolean }
);

export interface LiveDownload {
  download_id: string;
  name: string;
  status: 'in_progress' | 'completed' | 'cancelled' | 'too_large';
  bytes: number;
}

/** Everything that changes slowly. Each state replaces the one before. */
export interface LiveState {
  tabs: LiveTab[];
  viewers: number;
  session: { name: string | null; expires_at: string };
  /** Who can drive the session: viewers with control, and DevTools clients; whether calls of the API have driven it just now. */
  drivers: { people: number; clients: number; api: boolean };
  /** Whether the active tab has earlier and later pages. */
  history: { back: boolean; forward: boolean };
  /** Newest first; empty for viewers without control. */
  downloads: LiveDownload[];
}

/** Messages from the server. `ended` is the last one before the server closes the WebSocket. */
export type LiveViewMessage =
  | { type: 'hello'; session_id: string; scope: 'view' | 'control'; expires_at: string }
  | ({ type: 'state' } & LiveState)
  | { type: 'prompt'; prompt: LivePrompt | null }
  | { type: 'uploaded'; upload: number; file_id: string }
  | { type: 'clipboard'; text: string }
  | { type: 'failed'; code: string; message: string }
  | { type: 'ended'; reason: string };

/** Modifier bits as in DevTools. */
export const modifierBits = { alt: 1, control: 2, meta: 4, shift: 8 } as const;

/** Messages from the page. All except `ack` and `fit` require the scope `control`. Coordinates are CSS px of the page in the frame. */
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
  | { type: 'resize'; width: number; height: number }
  | { type: 'answer'; prompt_id: number; accept: boolean; text?: string; option?: number; file_ids?: string[] }
  /** A part of a file in base64. Files come one after another; `upload` numbers them. */
  | { type: 'upload'; upload: number; name: string; data: string; is_last: boolean };

/** Maximum sizes of commands and uploaded files. Larger ones are rejected. */
export const liveViewBounds = {
  textChars: 100_000,
  keyChars: 64,
  urlChars: 8192,
  commandBytes: 512 * 1024,
  uploadBytes: 32 * 1024 * 1024,
} as const;

/** Close codes of the live view and VNC WebSockets, in addition to those of `/cdp`. */
export const viewCloseCodes = {
  session_ended: 4000,
  unauthorized: 4003,
  browser_crashed: 4008,
  limit: 4009,
  bad_message: 4010,
  service_restart: 1012,
} as const;
export type ViewCloseReason = keyof typeof viewCloseCodes;
