/** What a page holds now: read in the page, and made into what was asked for beside it. */
import type { PageContentResponse } from '@berth/contract';
import { snapshotScript, snapshotSource, type Content, type Snapshot } from '../content/content.ts';
import type { Page } from '../browser/browser.ts';

export type PageContent = PageContentResponse;

export interface ContentOrder {
  format: PageContent['format'];
  onlyMainContent: boolean;
  tabId: string | undefined;
}

/** A page that is busy for longer is told to be. */
const snapshotMsMax = 15_000;
const htmlBytesMax = 8 * 1024 * 1024;
/** The HTML, the main part of it and the text, as JSON. */
const answerBytesMax = 4 * htmlBytesMax;

export interface TakenSnapshot {
  tabId: string;
  url: string;
  snapshot: Snapshot;
}

/** @throws PageError */
export async function takeSnapshot(page: Page, { onlyMainContent }: ContentOrder, signal: AbortSignal): Promise<TakenSnapshot> {
  const script = onlyMainContent ? snapshotSource() : snapshotScript;
  const options = { visibleOnly: false, mainContent: onlyMainContent, readability: onlyMainContent, maxBytes: htmlBytesMax };
  const timeoutMs = page.patience.ms(snapshotMsMax);
  const snapshot = await page.call<Snapshot>(page.mainFrame(), script, [options], { signal, timeoutMs, maxBytes: answerBytesMax });
  return { tabId: page.tabId, url: page.url(), snapshot };
}

/** @throws ContentFailed */
export async function convertSnapshot(
  content: Pick<Content, 'convert'>,
  { tabId, url, snapshot }: TakenSnapshot,
  { order, signal }: { order: ContentOrder; signal: AbortSignal },
): Promise<PageContent> {
  const { format, onlyMainContent } = order;
  const told = { tab_id: tabId, url, title: snapshot.title, format };
  const cut = snapshot.truncated ? ['content_cut'] : [];
  // As it stands: nothing of it is to be made anew.
  if (format === 'html' && !onlyMainContent) return { ...told, content: snapshot.html, links: null, warnings: cut };
  const asked = { url, formats: [format], onlyMainContent, includeSelectors: [], excludeSelectors: [], extract: null };
  const result = await content.convert({ ...asked, html: snapshot.html, mainHtml: snapshot.mainHtml }, { signal });
  const links = format === 'links' ? (result.links ?? []) : null;
  return { ...told, content: format === 'links' ? null : (result[format] ?? ''), links, warnings: [...cut, ...result.warnings] };
}
