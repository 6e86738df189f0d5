/** What an inspection captures. The report is a pure function of it: the same capture gives the same bytes. */
import type { Har } from 'har-format';
import type { DocumentVitals } from '@berth/page-scripts/read/site/inspect.ts';

export type { DocumentVitals as PageVitals } from '@berth/page-scripts/read/site/inspect.ts';

export interface Capture {
  /** The requested URL; of an uploaded HAR, the URL of its first document. */
  url: string;
  /**
   * HAR 1.2 with bodies, in the form of Chrome's export: `_initiator`, `_resourceType`, `_priority`,
   * `_transferSize`, `_error`, `_fromCache`, `_webSocketMessages`, `_eventSourceMessages`, `_securityDetails`.
   * `pageref` of an entry is the `id` of a page of the HAR, and of `PageSnapshot.pageId`.
   */
  har: Har;
  /** Pages in the order of the visit; empty for an uploaded HAR. */
  pages: PageSnapshot[];
  /** The cookies of the browser context at the end, with values; empty for an uploaded HAR. */
  cookies: CapturedCookie[];
  /** `robots.txt` and `security.txt`, and what was probed. */
  probes: ProbedFile[];
  actions: CapturedAction[];
  loss: CaptureLoss;
}

export interface PageSnapshot {
  pageId: string;
  url: string;
  title: string;
  /** The rendered document, at most `snapshotHtmlCharsMax` characters. */
  html: string;
  isHtmlCut: boolean;
  /** Characters of the rendered page's visible text. */
  textChars: number;
  /** Names of `window` properties that frameworks define, of those that the page script looks for. */
  globals: string[];
  /** Embedded data of frameworks, such as `__NEXT_DATA__`: names of its top keys, and its size. */
  dataBlobs: { name: string; keys: string[]; bytes: number }[];
  localStorage: StorageItem[];
  sessionStorage: StorageItem[];
  hasServiceWorker: boolean;
  usesWebAuthn: boolean;
  vitals: DocumentVitals;
  /** Use of scripts and style sheets. `scriptMs`: how long a script has run; null where it is not known. */
  coverage: { url: string; type: 'js' | 'css'; totalBytes: number; usedBytes: number; scriptMs: number | null }[];
  /** Sizes in CSS pixels; natural sizes in image pixels. */
  images: { url: string; naturalWidth: number; naturalHeight: number; width: number; height: number }[];
  consoleErrors: { text: string; url: string | null; line: number | null }[];
}

export interface StorageItem {
  key: string;
  value: string;
}

/** A cookie of the browser's store. */
export interface CapturedCookie {
  name: string;
  value: string;
  domain: string;
  path: string;
  /** Unix time in seconds; null for a session cookie. */
  expires: number | null;
  httpOnly: boolean;
  secure: boolean;
  sameSite: 'Strict' | 'Lax' | 'None' | null;
  isPartitioned: boolean;
}

export interface ProbedFile {
  /** Path with a leading slash, such as `/robots.txt`. */
  path: string;
  statusCode: number | null;
  contentType: string;
  /** Text of the file, at most 500 KB. */
  body: string;
}

/** A step that ran before or during the capture. */
export interface CapturedAction {
  index: number;
  type: string;
  startedAt: string;
}

/** What the bounds of the capture left out. */
export interface CaptureLoss {
  droppedRequests: number;
  droppedBytes: number;
  reasons: string[];
}
