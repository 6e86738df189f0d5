/** The words in which one page is driven and captured. Everything that waits takes a signal; a page that hangs costs the time given and nothing more. */
import type { Viewport, WaitUntil } from '@berth/contract';
import type { Patience } from '../timeout-scale.ts';

export interface NavigationOrder {
  url: string;
  waitUntil: WaitUntil;
  timeoutMs: number;
  referer?: string | undefined;
}

export interface NavigationOutcome {
  finalUrl: string;
  title: string;
  /** The last main-document response's real status after redirects; null where there was no HTTP. */
  statusCode: number | null;
  /** Of that response, names in lower case; empty where there was no HTTP. */
  headers: Readonly<Record<string, string>>;
  /** Names of the cookies that it set. */
  cookieNames: readonly string[];
  /** Where each redirect was, and how it redirected, in order. */
  redirects: readonly { url: string; statusCode: number }[];
  /** Until the first byte of that response; null where there was no HTTP. */
  ttfbMs: number | null;
}

/** A document in the page: the main one, a frame's, or one in another process. */
export interface FrameRef {
  readonly id: string;
  readonly parentId: string | null;
  readonly url: string;
  readonly name: string;
}

/** An element that the page keeps for us until it is released or its document goes. */
export interface ElementRef {
  readonly frameId: string;
  readonly objectId: string;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type Argument = Json | ElementRef;

export interface CallOptions {
  signal: AbortSignal;
  /** How long the page may take for it. */
  timeoutMs: number;
  /** The answer's size as JSON text; a page that gives more is a PageError `too_large`. */
  maxBytes?: number;
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

export type MouseButton = 'left' | 'middle' | 'right';
export type Modifier = 'Alt' | 'Control' | 'Meta' | 'Shift';

export interface Mouse {
  move(to: Point, options: { signal: AbortSignal; steps?: number; modifiers?: readonly Modifier[] }): Promise<void>;
  down(options: { signal: AbortSignal; button: MouseButton; clickCount: number; modifiers?: readonly Modifier[] }): Promise<void>;
  up(options: { signal: AbortSignal; button: MouseButton; clickCount: number; modifiers?: readonly Modifier[] }): Promise<void>;
  wheel(delta: Point, options: { signal: AbortSignal }): Promise<void>;
}

export interface Keyboard {
  /** One key or a chord such as `Enter`, `Control+A`, `Shift+Tab`, `é`. Throws PageError `unknown_key`. */
  press(keys: string, options: { signal: AbortSignal; delayMs?: number }): Promise<void>;
  /** Key by key, as a person types; characters without a key are inserted. */
  type(text: string, options: { signal: AbortSignal; delayMs?: number }): Promise<void>;
  /** All at once, as an input method does. */
  insertText(text: string, options: { signal: AbortSignal }): Promise<void>;
  down(key: string, options: { signal: AbortSignal }): Promise<void>;
  up(key: string, options: { signal: AbortSignal }): Promise<void>;
}

export interface ScreenshotOrder {
  format: 'png' | 'jpeg' | 'webp';
  /** 0…100, for jpeg and webp. */
  quality?: number | undefined;
  fullPage: boolean;
  /** Scrolls through the page first, and waits for what that loads, so that lazy images are there. */
  scrollFirst: boolean;
  element?: ElementRef | undefined;
  omitBackground?: boolean;
}
/**
 * One picture; a page above 16384 px comes in tiles, top to bottom. All lengths are in pixels of the picture: CSS px times the screen's scale.
 * Warnings: `page_keeps_growing` where `scrollFirst` came to no end, `page_cut` where the page is wider or higher than pictures can be.
 */
export interface Screenshot {
  tiles: { data: Buffer; width: number; height: number; y: number }[];
  contentType: string;
  width: number;
  height: number;
  warnings: string[];
}

export interface PdfOrder {
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
}

export interface Dialog {
  type: 'alert' | 'confirm' | 'prompt' | 'beforeunload';
  message: string;
  defaultValue: string;
}
export type DialogAnswer = { accept: boolean; text?: string | undefined };

/** What a page could not do. The message may be told to the caller. */
export class PageError extends Error {
  readonly reason:
    | 'timeout'
    | 'too_large'
    | 'script_failed'
    | 'context_lost'
    | 'element_gone'
    | 'frame_gone'
    | 'unknown_key'
    | 'page_crashed'
    | 'not_possible';
  constructor(reason: PageError['reason'], message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'PageError';
    this.reason = reason;
  }
}

export interface Page {
  readonly tabId: string;
  /** How long to wait for what it does. */
  readonly patience: Patience;
  /** Aborted when the tab is gone. */
  readonly gone: AbortSignal;
  readonly mouse: Mouse;
  readonly keyboard: Keyboard;
  url(): string;
  /** The main frame first, parents before their children. */
  frames(options: { signal: AbortSignal }): Promise<FrameRef[]>;
  mainFrame(): string;
  navigate(order: NavigationOrder, options: { signal: AbortSignal }): Promise<NavigationOutcome>;
  /** -1 back, 1 forward; null where the history ends. Fails as `navigate` does. */
  history(by: -1 | 1, order: Omit<NavigationOrder, 'url'>, options: { signal: AbortSignal }): Promise<NavigationOutcome | null>;
  reload(order: Omit<NavigationOrder, 'url'>, options: { signal: AbortSignal }): Promise<NavigationOutcome>;
  /**
   * Calls a function, given as source text, in our own world of the frame's
   * document: the page's scripts neither see nor change it. Promises are waited for.
   * @throws PageError
   */
  call<T>(frameId: string, functionSource: string, args: readonly Argument[], options: CallOptions): Promise<T>;
  /** As `call`, in the page's own world, for an expression of the caller. */
  evaluate<T>(frameId: string, expression: string, options: CallOptions): Promise<T>;
  /** As `call`, for a function that gives an element, a list of them, or null. */
  find(frameId: string, functionSource: string, args: readonly Argument[], options: CallOptions): Promise<ElementRef[]>;
  /** By the browser's own accessibility tree, in document order, through open and closed shadow roots. */
  findByRole(
    frameId: string,
    by: { role?: string; name?: string; exact?: boolean; root?: ElementRef },
    options: CallOptions,
  ): Promise<ElementRef[]>;
  /** The document in a frame element; null for any other element. */
  contentFrame(element: ElementRef, options: CallOptions): Promise<FrameRef | null>;
  release(elements: readonly ElementRef[]): void;
  scrollIntoView(element: ElementRef, options: CallOptions): Promise<void>;
  /** In the page's own viewport, whatever frames it stands in; null where it is not drawn. */
  box(element: ElementRef, options: CallOptions): Promise<Box | null>;
  /** Whether a click at the point reaches the element or something in it. The other element is described for the error text. */
  receives(element: ElementRef, at: Point, options: CallOptions): Promise<{ receives: boolean; instead: string }>;
  focus(element: ElementRef, options: CallOptions): Promise<void>;
  /** Paths as the machine sees them. */
  setFiles(element: ElementRef, paths: readonly string[], options: CallOptions): Promise<void>;
  screenshot(order: ScreenshotOrder, options: { signal: AbortSignal; timeoutMs: number; maxBytes: number }): Promise<Screenshot>;
  pdf(order: PdfOrder, options: { signal: AbortSignal; timeoutMs: number; maxBytes: number }): Promise<Buffer>;
  setViewport(viewport: Viewport, options: { signal: AbortSignal }): Promise<void>;
  /** For this page from now on, added to those of the session. */
  setExtraHeaders(headers: Readonly<Record<string, string>>, options: { signal: AbortSignal }): Promise<void>;
  /** Answers dialogs of this page until undone; without it they are dismissed. */
  onDialog(answer: (dialog: Dialog) => DialogAnswer): () => void;
  /** Resolves when nothing has been asked of the network for 500 ms. Throws PageError `timeout`. */
  networkIdle(options: { signal: AbortSignal; timeoutMs: number }): Promise<void>;
}
