/** The interface of a page. Everything that waits takes a signal; a page that hangs costs no more than the given timeout. */
import type { Viewport, WaitUntil } from '@berth/contract';
import type { TreeNode } from '@berth/page-scripts/read/accessibility.ts';
import type { TimeoutScale } from '../timeout-scale.ts';

export interface NavigationRequest {
  url: string;
  waitUntil: WaitUntil;
  timeoutMs: number;
  referer?: string | undefined;
  /** The delay up to which a refresh is a redirect, which is waited for and followed. Default: a second, as browsers count it. */
  refreshMsMax?: number | undefined;
}

export interface NavigationResult {
  finalUrl: string;
  title: string;
  /** HTTP status of the main document after redirects; null without HTTP. */
  statusCode: number | null;
  /** Headers of that response, names in lower case; empty without HTTP. */
  headers: Readonly<Record<string, string>>;
  /** Names of the cookies that the response set. */
  cookieNames: readonly string[];
  /** URL and status of each redirect, in order. Pages that led on by themselves are among them. */
  redirects: readonly { url: string; statusCode: number }[];
  /** The URL to which the page is about to lead, without having been followed; null where it stays. */
  leadsTo: string | null;
  /** Milliseconds until the first byte of that response; null without HTTP. */
  ttfbMs: number | null;
  /** The `net::ERR_…` by which the document's body ended before its end; null where it did not. */
  bodyError: string | null;
}

/** A document in the page: the main one, a frame's, or one in another process. */
export interface FrameRef {
  readonly id: string;
  readonly parentId: string | null;
  readonly url: string;
  readonly name: string;
}

/** A handle of an element, valid until it is released or its document is replaced. */
export interface ElementRef {
  readonly frameId: string;
  readonly objectId: string;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type Argument = Json | ElementRef;

export interface CallOptions {
  signal: AbortSignal;
  /** Milliseconds that the page may take. */
  timeoutMs: number;
  /** Limit of the result as JSON text; a larger one is a PageError `too_large`. */
  maxBytes?: number;
  /** Leaves NUL and unpaired surrogates in the result's strings; by default they become U+FFFD. */
  exactText?: boolean;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}
export interface Point {
  x: number;
  y: number;
}

export type MouseButton = 'left' | 'middle' | 'right' | 'back' | 'forward';
export type Modifier = 'Alt' | 'Control' | 'Meta' | 'Shift';

/** The frames in which an HTML drag began and ends. */
export interface DragFrames {
  from: string;
  to: string;
}

export interface Mouse {
  /** Where it is, in CSS px of the main viewport. */
  readonly position: Point;
  move(to: Point, options: { signal: AbortSignal; steps?: number; modifiers?: readonly Modifier[] }): Promise<void>;
  down(options: { signal: AbortSignal; button: MouseButton; clickCount: number; modifiers?: readonly Modifier[] }): Promise<void>;
  up(options: {
    signal: AbortSignal;
    button: MouseButton;
    clickCount: number;
    modifiers?: readonly Modifier[];
    dragged?: DragFrames | undefined;
  }): Promise<void>;
  wheel(delta: Point, options: { signal: AbortSignal; modifiers?: readonly Modifier[] }): Promise<void>;
}

export interface Keyboard {
  /** One key or a chord such as `Enter`, `Control+A`, `Shift+Tab`, `é`. @throws PageError `unknown_key` */
  press(keys: string, options: { signal: AbortSignal; delayMs?: number }): Promise<void>;
  /** Types key by key; characters without a key are inserted. Returns the number of `keydown` events that were sent. */
  type(text: string, options: { signal: AbortSignal; delayMs?: number }): Promise<number>;
  /** Inserts text at once, as an input method does. */
  insertText(text: string, options: { signal: AbortSignal }): Promise<void>;
  down(key: string, options: { signal: AbortSignal }): Promise<void>;
  up(key: string, options: { signal: AbortSignal }): Promise<void>;
}

export interface ScreenshotOptions {
  format: 'png' | 'jpeg' | 'webp';
  /** 0…100, for jpeg and webp. */
  quality?: number | undefined;
  fullPage: boolean;
  /** Scrolls through the page first, so that lazy images load. */
  scrollFirst: boolean;
  element?: ElementRef | undefined;
  omitBackground?: boolean;
  /** Pixels of the image for each CSS px of the viewport, which takes the place of the device scale factor. */
  imageScale?: number | undefined;
  /** Whether a PNG is rather made quickly than small. */
  isQuick?: boolean;
  /** Draws the references of what can be operated. */
  annotate?: boolean | undefined;
}

/** A reference that is drawn on a picture, with its place in the picture in CSS px. */
export interface Annotation {
  ref: string;
  role: string;
  name: string;
  box: Box;
}

/**
 * One image; a page above 16384 px comes in tiles, top to bottom.
 * All lengths are in pixels of the image: CSS px times the device scale factor.
 * Warnings: `page_keeps_growing` if `scrollFirst` did not reach the end, `page_cut` if the page exceeds the maximum image size,
 * `scroll_area_cut` if a full page is mostly an element that scrolls by itself, `page_hidden` if styles hide the whole page,
 * `annotations_cut` if there is more to operate than is drawn.
 */
export interface Screenshot {
  tiles: { data: Buffer; width: number; height: number; y: number }[];
  contentType: string;
  width: number;
  height: number;
  warnings: string[];
  /** The references that are drawn on the picture; absent without `annotate`. */
  annotations?: Annotation[];
}

export interface PdfOptions {
  landscape?: boolean | undefined;
  printBackground?: boolean | undefined;
  scale?: number | undefined;
  paperWidthInches?: number | undefined;
  paperHeightInches?: number | undefined;
  marginInches?: number | undefined;
  pageRanges?: string | undefined;
  headerTemplate?: string | undefined;
  footerTemplate?: string | undefined;
  preferCssPageSize?: boolean | undefined;
  /** Scrolls through the page first, so that lazy images load. */
  scrollFirst?: boolean | undefined;
}

export interface Dialog {
  type: 'alert' | 'confirm' | 'prompt' | 'beforeunload';
  message: string;
  defaultValue: string;
}
export type DialogAnswer = { accept: boolean; text?: string | undefined };

/** An operation on a page failed. The message is safe for the caller. */
export class PageError extends Error {
  readonly reason:
    | 'timeout'
    | 'too_large'
    | 'script_failed'
    | 'context_lost'
    | 'element_detached'
    | 'frame_detached'
    | 'unknown_key'
    | 'page_crashed'
    | 'not_possible';
  constructor(reason: PageError['reason'], message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'PageError';
    this.reason = reason;
  }
}

/** A reference has no element. The message is safe for the caller. */
export class RefError extends Error {
  /** `unknown`: no snapshot of this tab has it. `stale`: its element or its document is gone. */
  readonly reason: 'unknown' | 'stale';
  /** The elements that are most like it, best first. */
  readonly candidates: readonly RefCandidate[];
  constructor(reason: RefError['reason'], ref: string, candidates: readonly RefCandidate[]) {
    super(
      reason === 'unknown'
        ? `No snapshot of this tab has the ref ${ref.slice(0, 50)}. Take a snapshot and use a ref of it.`
        : `The element of ${ref.slice(0, 50)} is no longer in the page, or has become another one. Take a new snapshot, or use one of the candidates.`,
    );
    this.name = 'RefError';
    this.reason = reason;
    this.candidates = candidates;
  }
}

export interface RefCandidate {
  ref: string;
  role: string;
  name: string;
}

export interface AccessibilityTreeOptions extends CallOptions {
  /** `interactive`: what can be operated, with headings, landmarks and messages. */
  mode: 'interactive' | 'full';
  /** Only what is in this element. */
  root?: ElementRef | undefined;
  /** Marks the nodes that match: a part of the text, `"the whole text"`, or `/a regular expression/`, which runs in the page. */
  find?: string | undefined;
  boxes?: boolean | undefined;
  urls?: boolean | undefined;
  /** CSS paths of the elements that have references, and of frames. */
  paths?: boolean | undefined;
}

export interface AccessibilityNode extends Omit<TreeNode, 'ref' | 'frame' | 'box'> {
  /** The reference of the element in this tab; null for an element that nobody operates or refers to. */
  ref: string | null;
  frameId: string;
  /** In the viewport of the main frame. */
  box: Box | null;
}

export interface AccessibilityTree {
  title: string;
  /** The nodes in document order. */
  nodes: AccessibilityNode[];
  isTruncated: boolean;
  /** Frames that did not answer, are too large or too many. */
  framesLeftOut: number;
}

export interface SnapshotRequest {
  mode: 'interactive' | 'full';
  /** Only what is in this element. The caller releases it. */
  root?: ElementRef | undefined;
  find?: string | undefined;
  boxes: boolean;
  urls: boolean;
  maxTokens: number;
  /** False: the lines have no references. */
  withRefs?: boolean;
  /** The cursor of the snapshot before. */
  after?: string | undefined;
  /** The id of an earlier snapshot: only what has changed. */
  since?: string | undefined;
  /** What is asked for beside `mode`: snapshots of two parts of a page cannot be compared. */
  part?: string | undefined;
}

export interface PageSnapshot {
  id: string;
  tabId: string;
  url: string;
  title: string;
  /** The lines, indented by two spaces for each level. */
  text: string;
  /** The nodes of the lines. */
  nodes: AccessibilityNode[];
  tokens: number;
  /** What the tokens did not suffice for. */
  left: { nodes: number; tokens: number; after: string } | null;
  /** References of the earlier snapshot whose elements are gone; null without `since`. */
  removed: string[] | null;
  warnings: string[];
}

export interface Page {
  readonly tabId: string;
  /** Scales time limits to the speed of the machine. */
  readonly timeoutScale: TimeoutScale;
  /** Aborted when the tab closes. */
  readonly closed: AbortSignal;
  readonly mouse: Mouse;
  readonly keyboard: Keyboard;
  url(): string;
  /** The main frame first, parents before their children. */
  frames(options: { signal: AbortSignal }): Promise<FrameRef[]>;
  mainFrame(): string;
  navigate(request: NavigationRequest, options: { signal: AbortSignal }): Promise<NavigationResult>;
  /** -1 goes back, 1 forward; returns null at the end of the history. Throws like `navigate`. */
  history(by: -1 | 1, request: Omit<NavigationRequest, 'url'>, options: { signal: AbortSignal }): Promise<NavigationResult | null>;
  reload(request: Omit<NavigationRequest, 'url'>, options: { signal: AbortSignal }): Promise<NavigationResult>;
  /**
   * Calls a function, given as source text, in an isolated context of the frame's
   * document, which the page's scripts cannot see or change. Promises are awaited.
   * @throws PageError
   */
  call<T>(frameId: string, functionSource: string, args: readonly Argument[], options: CallOptions): Promise<T>;
  /**
   * Ends the script that keeps the page from answering. A page that is called again afterwards answers, unless it goes on
   * with its next loop. Call it where the page did not answer in time.
   */
  stopScript(options: { signal: AbortSignal }): Promise<void>;
  /** Evaluates an expression of the caller, like `call` but in the page's main context. */
  evaluate<T>(frameId: string, expression: string, options: CallOptions): Promise<T>;
  /** Calls, like `call`, a function that returns an element, a list of them, or null. */
  find(frameId: string, functionSource: string, args: readonly Argument[], options: CallOptions): Promise<ElementRef[]>;
  /** Searches the browser's accessibility tree, through open and closed shadow roots. Returns matches in document order. */
  findByRole(
    frameId: string,
    by: { role?: string; name?: string; exact?: boolean; root?: ElementRef },
    options: CallOptions,
  ): Promise<ElementRef[]>;
  /** The accessibility tree of the page, with its frames in their place. Each of its references finds its element. @throws PageError */
  accessibilityTree(options: AccessibilityTreeOptions): Promise<AccessibilityTree>;
  /** A snapshot of the page: its accessibility tree as text. @throws PageError */
  snapshot(request: SnapshotRequest, options: CallOptions): Promise<PageSnapshot>;
  /** The element of a reference, even if the page has drawn it anew. The caller releases it. @throws RefError, PageError */
  resolveRef(ref: string, options: CallOptions): Promise<ElementRef>;
  /** The document in a frame element; null for any other element. */
  contentFrame(element: ElementRef, options: CallOptions): Promise<FrameRef | null>;
  /** The result of `contentFrame` for each of several elements. */
  contentFrames(elements: readonly ElementRef[], options: CallOptions): Promise<(FrameRef | null)[]>;
  /** The element that holds a frame; null for the main frame. @throws PageError `frame_detached` */
  frameOwner(frameId: string, options: CallOptions): Promise<ElementRef | null>;
  /** The closed shadow root of an element, which scripts cannot reach from outside; null for any other element. */
  closedShadowRoot(element: ElementRef, options: CallOptions): Promise<ElementRef | null>;
  release(elements: readonly ElementRef[]): void;
  scrollIntoView(element: ElementRef, options: CallOptions): Promise<void>;
  /** The box in the main viewport, for elements of any frame; null if it is not rendered. */
  box(element: ElementRef, options: CallOptions): Promise<Box | null>;
  /** Points of a frame's viewport in the main viewport, as the browser draws them now. */
  toMain(frameId: string, points: readonly Point[], options: CallOptions): Promise<Point[]>;
  /** The frames around a frame, the main one first. */
  ancestors(frameId: string, options: CallOptions): Promise<string[]>;
  /** Whether a click at the point hits the element or a descendant. `instead` describes the element in front for the error message. */
  receives(element: ElementRef, at: Point, options: CallOptions): Promise<{ receives: boolean; instead: string }>;
  focus(element: ElementRef, options: CallOptions): Promise<void>;
  /** Paths inside the machine. */
  setFiles(element: ElementRef, paths: readonly string[], options: CallOptions): Promise<void>;
  screenshot(options: ScreenshotOptions, limits: { signal: AbortSignal; timeoutMs: number; maxBytes: number }): Promise<Screenshot>;
  pdf(options: PdfOptions, limits: { signal: AbortSignal; timeoutMs: number; maxBytes: number }): Promise<Buffer>;
  setViewport(viewport: Viewport, options: { signal: AbortSignal }): Promise<void>;
  /** Sets headers for this page, in addition to those of the session. */
  setExtraHeaders(headers: Readonly<Record<string, string>>, options: { signal: AbortSignal }): Promise<void>;
  /** Answers dialogs of this page until the returned function is called; without a handler they are dismissed. */
  onDialog(answer: (dialog: Dialog) => DialogAnswer): () => void;
  /** Resolves after 500 ms without network requests. @throws PageError `timeout` */
  networkIdle(options: { signal: AbortSignal; timeoutMs: number }): Promise<void>;
}
