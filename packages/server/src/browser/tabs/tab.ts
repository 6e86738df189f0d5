/** One page of the browser, as the worker sees it. */
import type { Protocol } from 'devtools-protocol';
import type { BrowserSettings, TabInfo } from '../model.ts';
import { TabNotFound } from '../model.ts';
import type { Dialog, DialogAnswer } from '../page/model.ts';

type TargetInfo = Protocol.Target.TargetInfo;
type PausedDocument = Protocol.Fetch.RequestPausedEvent;

/** Enough for any title that a person reads and any address that a server takes; a page may set megabytes. */
export const longestTitle = 1024;
const longestUrl = 8192;

export interface Tab {
  readonly id: string;
  readonly sessionId: string;
  readonly openerId: string | null;
  readonly contextId: string | undefined;
  /** In a browser context of its own that no caller sees. */
  readonly isPrivate: boolean;
  readonly createdAt: Date;
  url: string;
  title: string;
  status: TabInfo['status'];
  /** Status of the document that is shown, where a navigation of ours has seen it. */
  statusCode: number | null;
  closing: boolean;
  viewport: BrowserSettings['viewport'] | null;
  window: { id: number; width: number; height: number } | null;
  /** Who answers this page's dialogs; without it they are dismissed. */
  answersDialogs: ((dialog: Dialog) => DialogAnswer) | null;
  /** Who decides what becomes of a response for a document; without it all go on. */
  takesDocuments: ((paused: PausedDocument) => void) | null;
  /** While storage is filled every site is an empty page of ours: then nobody else judges what waits. */
  showsBlankSites: boolean;
  /** How many want the network's events to stay on. */
  networkWatchers: number;
  ready: Promise<void>;
  /** Aborted when the tab is gone. */
  readonly gone: AbortController;
}

export function newTab(sessionId: string, info: TargetInfo, { isPrivate, createdAt }: { isPrivate: boolean; createdAt: Date }): Tab {
  return {
    id: info.targetId,
    sessionId,
    openerId: info.openerId ?? null,
    contextId: info.browserContextId,
    isPrivate,
    createdAt,
    url: info.url.slice(0, longestUrl),
    title: '',
    status: 'complete',
    statusCode: null,
    closing: false,
    viewport: null,
    window: null,
    answersDialogs: null,
    takesDocuments: null,
    showsBlankSites: false,
    networkWatchers: 0,
    ready: Promise.resolve(),
    gone: new AbortController(),
  };
}

export function describeTab(tab: Tab, info: TargetInfo): void {
  // A tab whose document is just moving in has no address for a moment.
  if (info.type !== 'page' || info.url === '') return;
  tab.url = info.url.slice(0, longestUrl);
  tab.title = titleOf(info);
}

export function moveTab(tab: Tab, url: string): void {
  tab.url = url.slice(0, longestUrl);
}

/** A page without a title is described by its address, which is no title. */
export function titleOf({ title, url }: Pick<TargetInfo, 'title' | 'url'>): string {
  const untitled = title === url || url.replace(/^https?:\/\//, '').replace(/\/$/, '') === title;
  return untitled ? '' : title.slice(0, longestTitle);
}

export const goneTab = (): TabNotFound => new TabNotFound('the tab is closed');
