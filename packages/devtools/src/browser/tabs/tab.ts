/** The state of one tab. */
import type { Protocol } from 'devtools-protocol';
import { cutText } from '@berth/lib/text/text.ts';
import { type BrowserSettings, type TabInfo, TabNotFoundError } from '../interface.ts';
import type { Dialog, DialogAnswer } from '../page/page.ts';
import type { PromptHandler, Question } from './prompt.ts';

type TargetInfo = Protocol.Target.TargetInfo;
type PausedDocument = Protocol.Fetch.RequestPausedEvent;

/** These limits are enough for any readable title and any URL that servers accept; a page may set megabytes. */
export const titleCharsMax = 1024;
const urlCharsMax = 8192;

export type NetworkBuffers = Required<Pick<Protocol.Network.EnableRequest, 'maxTotalBufferSize' | 'maxResourceBufferSize'>>;
export const noNetworkBuffers: Readonly<NetworkBuffers> = { maxTotalBufferSize: 0, maxResourceBufferSize: 0 };

/** The size that the opener of a window asks for; null where it leaves that to the browser. */
export interface PopupSize {
  width: number | null;
  height: number | null;
}

export interface Tab {
  readonly id: string;
  readonly sessionId: string;
  readonly openerId: string | null;
  readonly contextId: string | undefined;
  /** Whether the tab is in a separate browser context that is invisible to callers. */
  readonly isPrivate: boolean;
  readonly createdAt: Date;
  url: string;
  title: string;
  status: TabInfo['status'];
  /** HTTP status of the current document, where one of our navigations loaded it. */
  statusCode: number | null;
  isClosing: boolean;
  /** Whether the page that crashed was killed by the system, as when memory is used up. */
  wasKilled: boolean;
  failure: TabInfo['failure'];
  /** Rank of its last activation among those of all tabs; 0 while it never was active. */
  activation: number;
  viewport: BrowserSettings['viewport'] | null;
  /** The size that its opener asked for, if any. */
  popupSize: PopupSize | null;
  /** The browser window, with the size of its page outside of an emulation. Null where there is a display. */
  window: { id: number; width: number; height: number } | null;
  /** Answers this page's dialogs; without it they are dismissed. */
  onDialog: ((dialog: Dialog) => DialogAnswer) | null;
  /** Handles a paused document response; without it all continue. */
  onPausedDocument: ((paused: PausedDocument) => void) | null;
  /** Whether every site is served as an empty page, while storage is written. */
  showsBlankSites: boolean;
  /** Whether a DevTools client handles the page, and nobody else has driven it since. */
  isClients: boolean;
  /** Whether the page is visible and focused wherever the tab is. */
  isFocusEmulated: boolean;
  /** Must be called with each command that drives the page. */
  onDriven: () => void;
  /** Number of listeners that need network events. */
  networkWatchers: number;
  /** The `Referer` of navigations that have none of their own: the header that a step has set. */
  referer: string | undefined;
  /** The buffers of the page's process for requests and responses, for `Network` commands. */
  networkBuffers: Readonly<NetworkBuffers>;
  ready: Promise<void>;
  /** Aborted when the tab closes. */
  readonly closed: AbortController;
}

export function createTab(sessionId: string, info: TargetInfo, { isPrivate, createdAt }: { isPrivate: boolean; createdAt: Date }): Tab {
  return {
    id: info.targetId,
    sessionId,
    openerId: info.openerId ?? null,
    contextId: info.browserContextId,
    isPrivate,
    createdAt,
    url: cutText(info.url, urlCharsMax),
    title: '',
    status: 'complete',
    statusCode: null,
    wasKilled: false,
    isClosing: false,
    failure: null,
    activation: 0,
    viewport: null,
    popupSize: null,
    window: null,
    onDialog: null,
    onPausedDocument: null,
    showsBlankSites: false,
    isClients: false,
    isFocusEmulated: true,
    onDriven: () => {},
    networkWatchers: 0,
    referer: undefined,
    networkBuffers: noNetworkBuffers,
    ready: Promise.resolve(),
    closed: new AbortController(),
  };
}

export function describeTab(tab: Tab, info: TargetInfo): void {
  // While a document is committed its tab has no URL for a moment.
  if (info.type !== 'page' || info.url === '') return;
  tab.url = cutText(info.url, urlCharsMax);
  tab.title = titleOf(info);
}

export function moveTab(tab: Tab, url: string): void {
  tab.url = cutText(url, urlCharsMax);
}

/** Chromium reports the URL as the title of a page without one. */
export function titleOf({ title, url }: Pick<TargetInfo, 'title' | 'url'>): string {
  const untitled = title === url || url.replace(/^https?:\/\//, '').replace(/\/$/, '') === title;
  return untitled ? '' : cutText(title, titleCharsMax);
}

/** The sentence that callers read about a page that crashed. `during` says what it was doing. */
export const crashMessage = ({ wasKilled }: Tab, during = ''): string =>
  wasKilled
    ? `The system ended the page${during}, as it does when a browser uses more memory than it may. Open fewer tabs, or a page with less content and fewer frames.`
    : `The page crashed${during}.`;

export const tabClosedError = (): TabNotFoundError => new TabNotFoundError('the tab is closed');

/** Maps DevTools sessions to tabs: a tab has its page's session, and those of frames and workers in it. */
export class TabSessions {
  readonly #tabs = new Map<string, Tab>();

  add(sessionId: string, tab: Tab): void {
    this.#tabs.set(sessionId, tab);
  }

  remove(sessionId: string): void {
    this.#tabs.delete(sessionId);
  }

  removeAll(tab: Tab): void {
    for (const [sessionId, owner] of this.#tabs) if (owner === tab) this.#tabs.delete(sessionId);
  }

  of(sessionId: string | undefined): Tab | undefined {
    return sessionId === undefined ? undefined : this.#tabs.get(sessionId);
  }

  /** The tab of a page session; undefined for sessions of frames and workers. */
  pageOf(sessionId: string | undefined): Tab | undefined {
    const tab = this.of(sessionId);
    return tab?.sessionId === sessionId ? tab : undefined;
  }

  /** The tab, unless it is private. */
  publicOf(sessionId: string | undefined): Tab | undefined {
    const tab = this.of(sessionId);
    return tab?.isPrivate === false ? tab : undefined;
  }

  /** All sessions of tabs that are not private. */
  public(): (readonly [sessionId: string, tab: Tab])[] {
    return [...this.#tabs].filter(([, { isPrivate }]) => !isPrivate);
  }
}

/** A client that handles dialogs answers in milliseconds; a person at its console needs some seconds. */
const clientGraceMs = 10_000;
/** A person reads the dialog first. Until then its page does nothing else. */
const personGraceMs = 60_000;

interface DialogsDeps {
  /** Whether a customer's client handles this page's dialogs. */
  isClientWatching(targetId: string): boolean;
  /** People who may answer. */
  prompts: { readonly isAttended: boolean; open(tabId: string, question: Question, handler: PromptHandler): void };
  answer(sessionId: string, answer: DialogAnswer): void;
  onDialog(tab: Tab, dialog: Dialog): void;
}

/** Dialogs of pages: answered by the tab's handler, a DevTools client or a person, or dismissed. */
export class Dialogs {
  readonly #deps: DialogsDeps;
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(options: DialogsDeps) {
    this.#deps = options;
  }

  onOpened({ type, message, defaultPrompt }: Protocol.Page.JavascriptDialogOpeningEvent, tab: Tab | undefined): void {
    if (!tab) return;
    const { sessionId } = tab;
    const dialog: Dialog = { type, message: cutText(message, titleCharsMax), defaultValue: cutText(defaultPrompt ?? '', titleCharsMax) };
    const answerGiven = tab.onDialog?.(dialog);
    const answer = (given?: DialogAnswer): void =>
      this.#deps.answer(sessionId, given ?? answerGiven ?? { accept: type === 'beforeunload' });
    this.#deps.onDialog(tab, dialog);
    this.forget(sessionId);
    const isClients = this.#deps.isClientWatching(tab.id);
    const isPersons = !tab.isPrivate && this.#deps.prompts.isAttended;
    if (answerGiven || !(isClients || isPersons)) return answer();
    this.#timers.set(sessionId, setTimeout(answer, isClients ? clientGraceMs : personGraceMs));
    if (tab.isPrivate) return;
    this.#deps.prompts.open(
      tab.id,
      { kind: 'dialog', dialog },
      { answer: async (given) => answer(given), cancel: () => !isClients && answer() },
    );
  }

  forget(sessionId: string | undefined): void {
    if (sessionId === undefined) return;
    clearTimeout(this.#timers.get(sessionId));
    this.#timers.delete(sessionId);
  }

  stop(): void {
    for (const sessionId of this.#timers.keys()) this.forget(sessionId);
  }
}
